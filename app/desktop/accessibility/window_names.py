"""Find the window that a person or a model names. Of several that fit, say how a person tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from app.base import resources
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Candidate, Missing, Named, Several
from app.base.phrases import Phrase
from app.base.program_kinds import is_of_kind
from app.desktop.backends import Window

_ALIKE = 78
_NONE = "No window is open."
_TOLD = 8
_APART_PX = 40
"""Windows whose middles are nearer to each other than this are told apart by what lies in front."""


def find(title: str, windows: Sequence[Window], made: Collection[str]) -> Window:
    """Return the window with that ref, title or program name, perhaps with its place: `galculator on the left`.

    `windows` are the open ones, topmost first. Of several that fit, the only one counts whose ref is in `made`, because
    Wisp itself opened it. Raises ToolFailed if none or several fit.
    """
    wanted = " ".join(title.lower().split())
    if not wanted:
        raise ToolMisuse('title is empty. Name a window as list_windows shows it, as in title="Untitled 1".')
    windows = [window for window in windows if not window.is_own]
    found = _fitting(wanted, windows, _SURE) or list(_placed(wanted, windows)) or _fitting(wanted, windows, (_is_like,))
    own = [window for window in found if window.ref in made]
    found = own if len(own) == 1 else found
    if len(found) == 1:
        return found[0]
    if found:
        listed = _listed(found, _places(found))
        what = Phrase("Several windows fit {title!r}{list!s}.", {"title": title, "list": f": {listed}"})
        raise ToolFailed(what, "Name one by its ref.", facts=[_several(found)])
    what = Phrase("No window is called {title!r}.", {"title": title})
    raise ToolFailed(what, _open_now(windows), advice=Phrase("" if windows else _NONE), facts=[Missing(title)])


def _fitting(wanted: str, windows: Sequence[Window], tests: Sequence[Callable[[Window, str], bool]]) -> list[Window]:
    return next((found for fits in tests if (found := [one for one in windows if fits(one, wanted)])), [])


def _placed(wanted: str, windows: Sequence[Window]) -> Iterator[Window]:
    """Yield the window that the name ends on by its place, among those that the rest of the name fits."""
    for place, spoken in _words().items():
        for one in spoken:
            name = wanted.removesuffix(f" {one}")
            fitting = _fitting(name, windows, (*_SURE, _is_like)) if name != wanted else []
            told = zip(fitting, _places(fitting), strict=True)
            yield from (window for window, there in told if there == place)


def _words() -> dict[str, list[str]]:
    """The words for each place, in every language; the first are those that Wisp says."""
    return dict(resources.table("screen/words.toml", resources.Table)["places"])


def _places(windows: Sequence[Window]) -> list[str]:
    """For each window, topmost first, where a person sees it among the others: a place, or "" for none."""
    if len(windows) != 2:
        return ["front", *[""] * (len(windows) - 1)] if windows else []
    one, other = (window.area.center for window in windows)
    if abs(one.x - other.x) > max(_APART_PX, abs(one.y - other.y)):
        return ["left", "right"] if one.x < other.x else ["right", "left"]
    if abs(one.y - other.y) > _APART_PX:
        return ["top", "bottom"] if one.y < other.y else ["bottom", "top"]
    return ["front", "behind"]


def _is_called(window: Window, wanted: str) -> bool:
    return wanted in (window.ref, window.title.lower())


def _holds(window: Window, wanted: str) -> bool:
    return wanted in window.title.lower() or wanted in window.app.lower()


def _is_like(window: Window, wanted: str) -> bool:
    from rapidfuzz import fuzz

    names = (window.title.lower(), window.app.lower())
    return max(fuzz.ratio(wanted, name) for name in names) >= _ALIKE


def _is_of_kind(window: Window, wanted: str) -> bool:
    return is_of_kind(window.app, wanted)


_SURE = (_is_called, lambda window, app: window.app.lower() == app, _holds, _is_of_kind)
"""How a name fits a window as it is written, the surest first. A resemblance counts only after a place in the name."""


def _listed(windows: Sequence[Window], places: Sequence[str] = ()) -> str:
    titles = [window.title for window in windows]
    alike = [bool(places) and titles.count(window.title) > 1 for window in windows]
    told = (
        f'{window.ref} "{window.title}"' + (f" ({_words()[places[at]][0]})" if alike[at] and places[at] else "")
        for at, window in enumerate(windows[:_TOLD])
    )
    return ", ".join(told)


def _open_now(windows: Sequence[Window]) -> str:
    return f"Open are: {_listed(windows)}." if windows else _NONE


def _several(windows: Sequence[Window]) -> Several:
    places = zip(windows, _places(windows), strict=True)
    return Several(tuple(Candidate(one.ref, Named("window", one.title), place) for one, place in places))
