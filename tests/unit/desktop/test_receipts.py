"""No more is claimed than was seen."""

from __future__ import annotations

from app.base.facts import Became, FieldHolds, Holding, Named, Seen, StateNow, WindowChanged, WindowEvent
from app.base.geometry import Rect
from app.desktop.backends import Window
from app.desktop.verification import Proof, Receipt, receipt, remember_gone, window_changes

_BELOW = Window("w1", "Notes", "Mousepad", Rect(0, 0, 400, 300), is_active=True)
_DIALOG = Window("w2", "Save As", "Mousepad", Rect(50, 50, 100, 100), is_active=True, is_dialog=True)
_INACTIVE = Window("w1", "Notes", "Mousepad", Rect(0, 0, 400, 300))
_SPOT = Rect(100, 100, 20, 10)
_TICKED, _EMPTY = StateNow(Named("", "Agree"), "checked", is_on=True), FieldHolds(Holding.EMPTY)


def _receipt(changed: list[Rect], where: Rect, before: tuple[Window, ...], after: tuple[Window, ...]) -> Receipt:
    active = next(window for window in after if window.is_active)
    return receipt(changed, where, window_changes(before, after, None, at_a_place=True), active)


def test_a_change_at_the_place_is_no_proof_by_itself() -> None:
    told = _receipt([Rect(105, 100, 30, 20)], _SPOT, (_BELOW,), (_BELOW,))
    assert told == Receipt("changed", "unverifiable", (Rect(105, 100, 30, 20),), (), "Notes")
    assert told.sentence == "The screen changed there. The keyboard is in 'Notes'. (unverifiable)"


def test_a_change_far_away_is_told_as_such() -> None:
    assert _receipt([Rect(900, 700, 30, 20)], _SPOT, (_BELOW,), (_BELOW,)).verdict == "elsewhere"


def test_nothing_at_all_is_suspected_to_be_no_effect() -> None:
    told = _receipt([], _SPOT, (_BELOW,), (_BELOW,))
    assert (told.verdict, told.proof) == ("unchanged", "suspected no-op")


def test_a_caret_that_blinked_is_no_change() -> None:
    assert _receipt([Rect(110, 100, 1, 16)], _SPOT, (_BELOW,), (_BELOW,)).verdict == "unchanged"


def test_a_window_that_opened_confirms() -> None:
    told = _receipt([_DIALOG.area], _SPOT, (_BELOW,), (_DIALOG, _INACTIVE))
    assert (told.verdict, told.proof, told.focus) == ("changed", "confirmed", "Save As")
    assert told.evidence == (WindowChanged(WindowEvent.OPENED, "Save As"),)


def test_a_window_that_closed_and_a_new_title_confirm() -> None:
    after = (Window("w1", "*Notes", "Mousepad", Rect(0, 0, 400, 300), is_active=True),)
    told = _receipt([_DIALOG.area], _SPOT, (_DIALOG, _INACTIVE), after)
    assert told.proof == "confirmed"
    assert told.evidence == (
        WindowChanged(WindowEvent.CLOSED, "Save As"),
        WindowChanged(WindowEvent.RENAMED, "*Notes", "Notes"),
        WindowChanged(WindowEvent.ACTIVE, "*Notes"),
    )


def test_what_a_program_denies_is_never_confirmed() -> None:
    told = _receipt([_SPOT], _SPOT, (_BELOW,), (_BELOW,)).with_evidence(_TICKED).with_doubt(_EMPTY)
    assert told.facts == (_TICKED, _EMPTY, Seen("unverifiable"))


def test_a_screen_that_still_moves_is_told() -> None:
    told = _receipt([_SPOT], _SPOT, (_BELOW,), (_BELOW,)).restless()
    assert "The screen is still moving." in told.sentence


def test_a_few_changes_stand_in_the_line_and_many_below_it() -> None:
    told = _receipt([], _SPOT, (_BELOW,), (_BELOW,)).with_evidence()
    assert told.with_changes([Became(Named("label", "0"), "1")]).sentence == (
        'label "0" became "1". The keyboard is in \'Notes\'. (confirmed)'
    )
    many = [StateNow(Named("check box", str(count)), "checked", is_on=True) for count in range(12)]
    assert told.with_changes(many).sentence.splitlines() == [
        "The keyboard is in 'Notes'. (confirmed)",
        *(one.said for one in many),
    ]


async def test_a_control_that_was_seen_gone_is_still_gone_while_its_program_is_silent() -> None:
    answers = [Proof(), Proof(is_gone=True), Proof(), Proof(evidence=(_TICKED,))]

    async def ask() -> Proof:
        return answers[len(told)]

    told: list[Proof] = []
    asking = remember_gone(ask)
    for _ in answers:
        told.append(await asking())
    assert told == [Proof(), Proof(is_gone=True), Proof(is_gone=True), Proof(evidence=(_TICKED,))]


def test_a_receipt_has_a_limit_and_says_how_much_more_there_is() -> None:
    many = [Became(Named("label", f"{'before ' * 9}{count}"), f"{'after ' * 9}{count}") for count in range(30)]
    told = _receipt([], _SPOT, (_BELOW,), (_BELOW,)).with_changes(many).sentence
    shown = told.count(" became ")
    assert len(told) < 1300
    assert told.endswith(f"And {30 - shown} more changes.")
