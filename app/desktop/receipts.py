"""What an action really did, in one line: no more is claimed than was seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

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
        is_told_enough = self.proof == "confirmed" and not self.regions
        parts = [*self.evidence, *([] if is_told_enough else [_SEEN[self.verdict]])]
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
        """The same where the program says something else than was meant, or where silence means nothing."""
        return replace(self, proof="unverifiable", evidence=(*self.evidence, sentence))


_SEEN = {
    "changed": "The screen changed there.",
    "elsewhere": "The screen changed, but elsewhere.",
    "unchanged": "Nothing on the screen changed.",
}


def receipt(
    changed: Sequence[Rect],
    where: Rect | None,
    windows: tuple[Window, ...],
    after: tuple[Window, ...],
    meant: Window | None = None,
) -> Receipt:
    """From the areas that changed, the place of the action (None: the active window), and the windows around it.

    `meant` is the window that was acted on: what other programs' windows do is told, and proves nothing.
    """
    regions = tuple(merged(_without_caret(changed)))
    active = _active(after)
    place = where or (active.area if active else None)
    changes = window_changes(windows, after, meant, at_a_place=where is not None)
    evidence = tuple(change.sentence for change in changes)
    is_proven = any(change.is_effect for change in changes)
    verdict = "unchanged"
    if regions or evidence:
        is_there = place is None or any(_wide(place).overlap(region) for region in regions)
        verdict = "changed" if is_there or is_proven else "elsewhere"
    proof = "confirmed" if is_proven else "unverifiable" if regions or evidence else "suspected no-op"
    return Receipt(verdict, proof, regions, evidence, active.title if active else "")


def proven(evidence: Sequence[str], after: Sequence[Window]) -> Receipt:
    """Of an action whose effect a program told before the screen was looked at."""
    active = _active(after)
    return Receipt("changed", "confirmed", (), tuple(evidence), active.title if active else "")


def _without_caret(changed: Sequence[Rect]) -> Sequence[Rect]:
    bounds = bounds_of(changed)
    return () if bounds is None or is_caret(bounds) else changed


def _wide(area: Rect) -> Rect:
    return Rect(area.x - _NEAR_PX, area.y - _NEAR_PX, area.width + 2 * _NEAR_PX, area.height + 2 * _NEAR_PX)


def _active(windows: Sequence[Window]) -> Window | None:
    return next((window for window in windows if window.is_active), None)


@dataclass(frozen=True, slots=True)
class WindowChange:
    """`is_effect`: it belongs to what was acted on, so that it proves that the action did something."""

    sentence: str
    is_effect: bool


def window_changes(
    before: Sequence[Window], after: Sequence[Window], meant: Window | None, *, at_a_place: bool = False
) -> list[WindowChange]:
    """What came, went and changed. `at_a_place`: a window that only comes forward there is no effect."""
    old, new = {w.ref: w for w in before}, {w.ref: w for w in after}
    told = [_change(f"The window {w.title!r} opened.", w, meant) for ref, w in new.items() if ref not in old]
    told += [_change(f"The window {w.title!r} closed.", w, meant) for ref, w in old.items() if ref not in new]
    for ref, window in new.items():
        if ref in old:
            told += _differences(old[ref], window, meant)
    one, other = _active(before), _active(after)
    if one and other and one.ref != other.ref and other.ref in old:
        is_only_raised = at_a_place and meant is not None and other.ref == meant.ref
        is_effect = not is_only_raised and (not at_a_place or _is_caused(other, meant))
        told.append(WindowChange(f"{other.title!r} became active.", is_effect))
    return told


def _differences(old: Window, new: Window, meant: Window | None) -> Iterator[WindowChange]:
    is_effect = _is_caused(new, meant)
    if new.title != old.title and (is_effect or new.is_active):
        yield WindowChange(f"The window {old.title!r} is now called {new.title!r}.", is_effect)
    if new.is_minimised and not old.is_minimised:
        yield WindowChange(f"The window {new.title!r} is minimised.", is_effect)
    elif new.area != old.area and is_effect:
        yield WindowChange(f"The window {new.title!r} is at ({new.area.x}, {new.area.y}) now.", is_effect=True)


def _change(sentence: str, window: Window, meant: Window | None) -> WindowChange:
    return WindowChange(sentence, _is_caused(window, meant))


def _is_caused(window: Window, meant: Window | None) -> bool:
    """Whether a window belongs to the program that was acted on, or to one that it started."""
    if meant is None or window.ref == meant.ref:
        return True
    if not (window.pid and meant.pid):
        return window.app == meant.app
    return window.pid == meant.pid or meant.pid in _ancestors(window.pid)


def _ancestors(pid: int) -> Iterator[int]:
    """The processes that a process was started by, where the system tells (Linux does)."""
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        yield pid
