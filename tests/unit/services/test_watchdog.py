"""When the watchdog acts: words and moments in, deeds out."""

from __future__ import annotations

from app.services.watchdog import Deed, Vigil, WatchdogWord


def _played(*steps: tuple[float, str]) -> list[tuple[float, Deed]]:
    """Words at their times, '' for a moment without one; what was done, and when."""
    vigil = Vigil(0.0)
    found = [(now, vigil.heard(word, now) if word else vigil.due(now)) for now, word in steps]
    return [(now, deed) for now, deed in found if deed]


def test_a_program_that_beats_is_left_alone() -> None:
    assert _played(*[(float(now), WatchdogWord.BEAT) for now in range(30)], (30.0, "")) == []


def test_a_stop_that_the_loop_does_not_notice_is_carried_out_once() -> None:
    steps = [(1.0, WatchdogWord.BEAT), (1.1, WatchdogWord.STOP), (2.5, ""), (2.7, ""), (3.0, "")]
    assert _played(*steps) == [(2.7, Deed.END_ALL)]


def test_a_stop_that_was_noticed_may_take_its_time_to_wind_up() -> None:
    assert _played(
        (1.0, WatchdogWord.STOP), (1.1, WatchdogWord.HEARD), (6.0, WatchdogWord.BEAT), (10.0, ""), (11.2, "")
    ) == [(11.2, Deed.END_ALL)]


def test_a_stop_that_has_ended_the_turn_needs_nothing() -> None:
    assert (
        _played(
            (1.0, WatchdogWord.STOP),
            (1.1, WatchdogWord.HEARD),
            (1.4, WatchdogWord.STOPPED),
            (5.0, WatchdogWord.BEAT),
            (9.0, ""),
        )
        == []
    )


def test_silence_is_told_once_and_again_after_a_recovery() -> None:
    steps = [(1.0, WatchdogWord.BEAT), (8.0, ""), (9.5, ""), (12.0, ""), (13.0, WatchdogWord.BEAT), (22.0, "")]
    assert _played(*steps) == [(9.5, Deed.TELL_HUNG), (22.0, Deed.TELL_HUNG)]


def test_a_program_that_is_gone_without_a_word_may_have_left_keys_pressed() -> None:
    vigil = Vigil(0.0)
    assert (vigil.heard(WatchdogWord.GONE, 1.0), vigil.is_over) == (Deed.LET_GO, True)


def test_after_goodbye_nothing_is_done() -> None:
    vigil = Vigil(0.0)
    assert (vigil.heard(WatchdogWord.BYE, 1.0), vigil.is_over) == (None, True)
