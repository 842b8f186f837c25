"""What an action really did, in one line: no more is claimed than was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.base.geometry import Rect
from app.desktop.api import Window
from app.desktop.frames import bounds_of, merged
from app.desktop.settle import is_caret

_NEAR_PX = 48


@dataclass(frozen=True, slots=True)
class Receipt:
    """`verdict`: changed (where the action was, or the active window), elsewhere, or unchanged.

    `proof`: confirmed only where something besides pixels says so (`evidence`), suspected no-op where nothing at all
    changed, otherwise unverifiable. `regions` are screen pixels; `focus` is the window with the keyboard afterwards.
    """

    verdict: str
    proof: str
    regions: tuple[Rect, ...] = ()
    evidence: tuple[str, ...] = ()
    focus: str = ""
    is_calm: bool = True

    @property
    def sentence(self) -> str:
        """The line for the model."""
        parts = [*self.evidence, _SEEN[self.verdict]]
        if not self.is_calm:
            parts.append("The screen is still moving.")
        if self.focus:
            parts.append(f"The keyboard is in {self.focus!r}.")
        return f"{' '.join(parts)} ({self.proof})"

    def restless(self) -> Receipt:
        """The same, of a screen that did not come to rest."""
        return replace(self, is_calm=False)

    def with_evidence(self, *evidence: str) -> Receipt:
        """The same with something besides pixels that says that it worked."""
        return replace(self, proof="confirmed", evidence=(*self.evidence, *evidence))

    def with_doubt(self, sentence: str) -> Receipt:
        """The same where the program says something else than was meant."""
        return replace(self, proof="unverifiable", evidence=(*self.evidence, sentence))


_SEEN = {
    "changed": "The screen changed there.",
    "elsewhere": "The screen changed, but elsewhere.",
    "unchanged": "Nothing on the screen changed.",
}


def receipt(
    changed: Sequence[Rect], where: Rect | None, windows: tuple[Window, ...], after: tuple[Window, ...]
) -> Receipt:
    """From the areas that changed, the place of the action (None: the active window), and the windows around it."""
    regions = tuple(merged(_without_caret(changed)))
    active = _active(after)
    place = where or (active.area if active else None)
    evidence = tuple(_window_changes(windows, after))
    verdict = "unchanged"
    if regions:
        is_there = place is None or any(_wide(place).overlap(region) for region in regions)
        verdict = "changed" if is_there or evidence else "elsewhere"
    proof = "confirmed" if evidence else "unverifiable" if regions else "suspected no-op"
    return Receipt(verdict, proof, regions, evidence, active.title if active else "")


def _without_caret(changed: Sequence[Rect]) -> Sequence[Rect]:
    bounds = bounds_of(changed)
    return () if bounds is None or is_caret(bounds) else changed


def _wide(area: Rect) -> Rect:
    return Rect(area.x - _NEAR_PX, area.y - _NEAR_PX, area.width + 2 * _NEAR_PX, area.height + 2 * _NEAR_PX)


def _active(windows: Sequence[Window]) -> Window | None:
    return next((window for window in windows if window.is_active), None)


def _window_changes(before: Sequence[Window], after: Sequence[Window]) -> list[str]:
    old, new = {w.ref: w for w in before}, {w.ref: w for w in after}
    told = [f"The window {new[ref].title!r} opened." for ref in new if ref not in old]
    told += [f"The window {old[ref].title!r} closed." for ref in old if ref not in new]
    told += [
        f"The window {old[ref].title!r} is now called {new[ref].title!r}."
        for ref in new
        if ref in old and new[ref].title != old[ref].title
    ]
    one, other = _active(before), _active(after)
    if one and other and one.ref != other.ref and other.ref in old:
        told.append(f"{other.title!r} became active.")
    return told
