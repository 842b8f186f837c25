"""The small pure parts: what cards say, folding, pacing, recall, and text with nothing hidden in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base import paths
from app.ui.composer.attachments import Attached, in_words
from app.ui.composer.field import Recall
from app.ui.composer.home import fitting
from app.ui.presenter.presenter import same
from app.ui.presenter.view import Asked, Card, SpokenItem, Status
from app.ui.presenter.wording import Captions, Fold, Pacer, folded, unmarked, visible, without_attached, words_for


def small(number: int, status: Status = Status.OK) -> Card:
    return Card(f"c{number}:{number}", "computer_click", "pointer", "Clicked", str(number), status=status)


def test_the_first_template_whose_words_are_known_is_used() -> None:
    words = words_for("computer_click")
    assert words.object_of({"target": "Save", "x": 1, "y": 2}, same) == "Save"
    assert words.object_of({"x": 412, "y": 80.0}, same) == "a place on the screen"
    assert words.object_of({"x": 412}, same, "7") == "7"


def test_a_theme_is_called_in_the_persons_language_and_other_names_stay() -> None:
    def german(text: str) -> str:
        return "Dunkel" if text == "Dark" else text

    assert words_for("set_theme").object_of({"theme": "Dark"}, german) == "Dunkel"
    assert words_for("open_app").object_of({"name": "Dark"}, german) == "Dark"


def test_values_that_are_not_words_are_not_said() -> None:
    assert words_for("open_app").object_of({"name": ["a", "c"], "app": {"b": 1}}, same) == ""


@pytest.mark.parametrize("own", ["what does this say", "", "The person attached: a thing\nand more"])
def test_what_the_model_reads_about_attachments_is_split_from_the_persons_words(own: str) -> None:
    attached = [
        Attached("region", "Part of the screen", place="75,85,616,176"),
        Attached("file", "a (1 kB).txt", "/home/ada/a (1 kB).txt", 2500),
        Attached("folder", "Trips", "/home/ada/Trips"),
    ]
    assert without_attached(in_words(own, attached)) == (own, ("Part of the screen", "a (1 kB).txt", "Trips"))
    assert without_attached(own) == (own, ())


def test_long_objects_are_one_short_line() -> None:
    said = words_for("open_app").object_of({"name": "very long\n" * 100}, same)
    assert len(said) <= 80
    assert "\n" not in said


def test_every_card_has_its_glyph_and_its_words() -> None:
    table = {text: words_for(text) for text in ("generic", "computer_type", "wait", "execute_command")}
    for entry in table.values():
        assert (paths.resources() / "icons" / f"{entry.glyph}.svg").is_file()
        assert entry.present and entry.past and entry.failed


def test_while_it_runs_the_steps_that_have_ended_are_one_line_and_the_newest_stays() -> None:
    cards = [small(number) for number in range(5)]
    assert folded(cards, running=True) == (Fold("fc0:0", tuple(cards[:4])), cards[4])


def test_an_open_fold_shows_its_steps() -> None:
    cards = [small(number) for number in range(4)]
    rows = folded(cards, frozenset({"fc0:0"}), running=True)
    assert rows == (Fold("fc0:0", tuple(cards[:3]), is_open=True), *cards)


def test_while_it_runs_what_failed_and_what_was_said_stay_in_sight() -> None:
    said = SpokenItem("i9", "s", "", "Now.")
    mixed = [small(1), said, small(3, Status.FAILED), small(4), small(6, Status.RUNNING)]
    assert folded(mixed, running=True) == tuple(mixed)


def test_once_it_has_ended_the_answer_stands_below_one_line_for_all_that_led_to_it() -> None:
    asked, doing = Asked("i0", "go"), SpokenItem("i1", "s", "", "Looking.")
    cards, answer = [small(1), small(2, Status.FAILED)], SpokenItem("i9", "t", "", "84")
    waiting = Asked("i10", "and then", waits=True)
    rows = folded([waiting, asked, cards[0], doing, cards[1], answer])
    assert rows == (asked, Fold("fc1:1", tuple(cards), rest=(doing,)), answer, waiting)


def test_the_only_words_of_a_turn_stay_in_sight_also_where_a_step_came_after_them() -> None:
    doing, cards = SpokenItem("i1", "s", "", "Looking."), [small(1), small(2)]
    assert folded([cards[0], doing, cards[1]]) == (Fold("fc1:1", tuple(cards)), doing)


def paced(text: str, seconds: float, **pace: float) -> int:
    pacer = Pacer(**{"chars_per_s": 10, "comma_s": 0.5, "stop_s": 1.0, "behind_s": 100, **pace})
    pacer.arrive(len(text))
    shown = 0
    for _ in range(round(seconds * 100)):
        shown = pacer.advance(text, 0.01)
    return shown


def test_speech_appears_at_its_pace() -> None:
    assert paced("x" * 100, 2.05) == 20


def test_commas_and_stops_take_a_breath() -> None:
    assert paced("aaaa, bbbb", 0.46) == 4
    assert paced("aaaa, bbbb", 1.05) == 5
    assert paced("aaaa. bbbb", 1.05) == 4


def test_speech_is_never_more_than_a_second_behind_the_stream() -> None:
    assert paced("x" * 10_000, 0.9, behind_s=1.0) < 20
    assert paced("x" * 10_000, 1.05, behind_s=1.0) == 10_000


def test_without_a_pace_everything_is_shown_at_once() -> None:
    assert paced("x" * 500, 0.01, chars_per_s=0) == 500


@given(st.text(min_size=1), st.lists(st.floats(0, 0.5), min_size=1, max_size=30))
def test_what_is_shown_only_grows_and_never_exceeds_the_text(text: str, steps: list[float]) -> None:
    pacer = Pacer(45, 0.1, 0.2, 1.0)
    pacer.arrive(len(text))
    shown = [pacer.advance(text, step) for step in steps]
    assert shown == sorted(shown)
    assert shown[-1] <= len(text)


def test_recall_goes_back_and_forth_and_keeps_the_draft() -> None:
    recall = Recall()
    for text in ("one", "two", "two"):
        recall.sent(text)
    assert [recall.earlier("draft"), recall.earlier(""), recall.earlier("")] == ["two", "one", None]
    assert [recall.later(), recall.later(), recall.later()] == ["two", "draft", None]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("rm -r a\n\tb", "rm -r a\n\tb"),
        ("safe\u202egpj.exe", "safe⟨U+202E⟩gpj.exe"),
        ("a\u200bb\u00a0c", "a⟨U+200B⟩b⟨U+00A0⟩c"),
        ("\x1b[2J", "⟨U+001B⟩[2J"),
        ("Grüße 你好", "Grüße 你好"),
    ],
)
def test_nothing_can_hide_in_what_is_to_be_approved(text: str, seen: str) -> None:
    assert visible(text) == seen


def _say(key: str, text: str, *, done: bool = True, tone: str = "warm") -> SpokenItem:
    return SpokenItem(key, key, tone, text, done=done)


def _lines(captions: Captions, seconds: float = 60.0) -> list[str]:
    """The lines that were current, one after the other."""
    seen: list[str] = []
    for _ in range(round(seconds / 0.05)):
        if captions.current is not None and seen[-1:] != [captions.current[1]]:
            seen.append(captions.current[1])
        captions.advance(0.05)
    return seen


def test_what_is_said_becomes_lines_one_after_another() -> None:
    captions = Captions(45)
    captions.hear([_say("i1", "I look. Then **I click** it."), _say("i2", "Done.")], running=True)
    assert captions.current == ("warm", "I look.")
    assert _lines(captions) == ["I look.", "Then I click it.", "Done."]
    assert captions.is_done


def test_a_line_that_still_grows_waits_for_its_end() -> None:
    captions = Captions(45)
    captions.hear([_say("i1", "I look. Then I cl", done=False)], running=True)
    assert _lines(captions) == ["I look."]
    captions.hear([_say("i1", "I look. Then I click it.", done=True)], running=True)
    assert _lines(captions)[-1:] == ["Then I click it."]


def test_a_long_line_is_cut_at_a_space_and_none_is_lost() -> None:
    text = " ".join(f"word{number}" for number in range(80))
    captions = Captions(45)
    captions.hear([_say("i1", text)], running=False)
    lines = _lines(captions)
    assert " ".join(lines).split() == text.split()
    assert max(map(len, lines)) <= 64


def test_what_was_seen_in_the_surface_is_not_said_again() -> None:
    captions = Captions(45)
    seen = [_say("i1", "Seen.")]
    captions.skip(seen)
    captions.hear([*seen, _say("i2", "New.")], running=True)
    assert _lines(captions) == ["New."]


def test_captions_that_wait_make_the_current_one_shorter() -> None:
    def spent(count: int) -> float:
        captions = Captions(45)
        captions.hear([_say(f"i{at}", f"Line {at}.") for at in range(count)], running=True)
        seconds = 0.0
        while captions.current == ("warm", "Line 0."):
            captions.advance(0.01)
            seconds += 0.01
            if seconds > 20:
                break
        return seconds

    assert spent(5) < spent(2) < 2


@pytest.mark.parametrize(
    ("window", "has_model", "expected"),
    [
        ("Mousepad letter.txt - Mousepad", False, "Press ctrl+s"),
        ("firefox Wisp - Mozilla Firefox", True, "Summarise this page"),
        ("Chromium News", True, "Summarise this page"),
        ("XTerm root@here", True, "Explain the last error"),
        ("Galculator galculator", False, "Type 12*7="),
        ("libreoffice-writer Letter", True, "Check this for mistakes"),
        ("Thunar Downloads", True, "Find the newest document here"),
        ("Unknown Thing", False, "What is on the screen?"),
        ("", True, "What can you do?"),
    ],
)
def test_what_is_offered_fits_the_window_in_front(window: str, has_model: bool, expected: str) -> None:
    assert expected in fitting(window, has_model=has_model)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**84**", "84"),
        ("The answer is **84**, see `calc`.", "The answer is 84, see calc."),
        ("# Three files\n> quoted\n*soft*", "Three files\nquoted\nsoft"),
        ("12 * 7 * 1 = 84, C# and _x_ | y", "12 * 7 * 1 = 84, C# and _x_ | y"),
        ("I typed “12*7=”. It shows “12*7”.", "I typed “12*7=”. It shows “12*7”."),
    ],
)
def test_places_without_markdown_show_its_words_alone(text: str, plain: str) -> None:
    assert unmarked(text) == plain
