"""Questions, plans, the checklist, a fresh start."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.base import paths
from app.protocol.call import FINISHED, WAITING
from app.services.tasks import Checklist, Item, parse, parse_options, render
from app.settings import store
from app.settings.catalog import NAME
from app.tools.conversation import Keeper
from tests.support.workbench import Bench

_QUESTION = "<ask_followup_question><question>Which?</question><options>{}</options></ask_followup_question>"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('["OAuth2", "SAML"]', ["OAuth2", "SAML"]),
        ('["A"] ["B"]', ["A", "B"]),
        ("A, B and C, D", ["A", "B and C", "D"]),
        ("Red\nGreen", ["Red", "Green"]),
        ("['It's here', 'There']", ["It's here", "There"]),
        ("only one", ["only one"]),
        ('["A", "A", " "]', ["A"]),
    ],
)
async def test_answers_are_separate_however_they_are_written(bench: Bench, text: str, options: list[str]) -> None:
    result = await bench.xml(_QUESTION.format(text))
    assert (result.payload["options"], result.ends_turn) == (options, WAITING)


async def test_json_calls_give_answers_as_a_list(bench: Bench) -> None:
    result = await bench.call("ask_followup_question", question="Which?", options=["a, b", "c"])
    assert result.payload == {"question": "Which?", "options": ["a, b", "c"], "text": "Which?"}


async def test_nobody_is_asked_in_yolo_mode(bench: Bench) -> None:
    bench.talk.yolo = True
    result = await bench.xml(_QUESTION.format("[]"))
    assert (result.ok, "Nobody answers questions in this mode" in result.llm_echo) == (False, True)


@pytest.mark.parametrize("text", ["[" * 100_000, "'" * 10_000, '"\\' * 10_000, "[" + '"a' * 10_000])
def test_hostile_lists_do_no_harm(text: str) -> None:
    assert isinstance(parse_options(text), tuple)


async def test_a_plan_is_shown_in_plan_mode_only(bench: Bench) -> None:
    call = "<plan_mode_respond><response>First this.</response></plan_mode_respond>"
    refused = await bench.xml(call)
    bench.talk.planning = True
    shown = await bench.xml(call)
    assert (refused.ok, shown.ok, shown.ends_turn, shown.payload["text"]) == (False, True, WAITING, "First this.")


async def test_a_plan_that_needs_more_goes_on(bench: Bench) -> None:
    bench.talk.planning = True
    result = await bench.call("plan_mode_respond", response="So far.", needs_more_exploration=True)
    assert (result.ends_turn, result.llm_echo) == (None, "The plan so far was shown. Go on exploring.")


async def test_a_summary_goes_to_a_fresh_conversation(bench: Bench) -> None:
    result = await bench.xml("<new_task><context>\nGoal: x\nLeft: y\n</context></new_task>")
    assert (result.ends_turn, bench.talk.done) == (FINISHED, ["handed over: Goal: x\nLeft: y"])


async def test_the_conversation_is_cleared(bench: Bench) -> None:
    result = await bench.xml("<reset_chat/>")
    assert (result.ends_turn, bench.talk.done) == (FINISHED, ["reset"])


async def test_the_name_is_kept_until_it_is_undone(bench: Bench) -> None:
    result = await bench.xml('<set_ai_name name="  Robin "/>')
    assert (result.llm_echo, bench.talk.done) == ("From now on your name is Robin.", ["named Robin"])
    assert store.load()[NAME] == "Robin"
    await bench.xml("<undo_last_change/>")
    assert store.load()[NAME] == NAME.default


@pytest.mark.parametrize("name", ["x" * 41, "a\u202eb", ""])
async def test_a_name_that_is_none_is_refused(bench: Bench, name: str) -> None:
    result = await bench.call("set_ai_name", name=name)
    assert (result.ok, "name" in result.llm_echo, bench.talk.done) == (False, True, [])


async def test_the_name_of_another_presence_is_refused(bench: Bench) -> None:
    (paths.config_dir("ada") / "settings.toml").write_text('[presence]\nname = "Robin"\n')
    result = await bench.xml('<set_ai_name name="robin"/>')
    assert (result.ok, "Another presence is called robin" in result.llm_echo, bench.talk.done) == (False, True, [])
    assert store.load()[NAME] == NAME.default


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("<ask_followup_question><question> </question></ask_followup_question>", "question is empty"),
        ("<ask_followup_question/>", "needs question"),
        ("<new_task><context>\n\n</context></new_task>", "context is empty"),
        ("<new_task/>", "needs context"),
    ],
)
async def test_missing_words_name_the_argument(bench: Bench, call: str, words: str) -> None:
    result = await bench.xml(call)
    assert (result.ok, words in result.llm_echo, bench.talk.done) == (False, True, [])


async def test_the_checklist_is_read_as_the_person_left_it(bench: Bench, tmp_path: Path) -> None:
    empty = await bench.xml("<focus_chain/>")
    bench.checklist.update("- [x] Look\n- Write ☐\n")
    mine = await bench.xml("<focus_chain/>")
    path = tmp_path / "task.md"
    path.write_text(path.read_text() + "- [ ] And this\n")
    edited = await bench.xml("<focus_chain/>")
    assert [empty.llm_echo, mine.llm_echo, edited.llm_echo] == [
        "There is no checklist yet: give task_progress.",
        "The checklist:\n- [x] Look\n- [ ] Write\n",
        "The checklist: The person has edited it.\n- [x] Look\n- [ ] Write\n- [ ] And this\n",
    ]
    assert (edited.payload["done"], edited.payload["total"]) == (1, 3)


async def test_reports_of_any_call_are_kept_and_shown(bench: Bench, tmp_path: Path) -> None:
    shown = await Keeper(bench.checklist)("- Look ✅\n- [ ] Write")
    items = [{"text": "Look", "done": True}, {"text": "Write", "done": False}]
    assert shown == {"items": items, "done": 1, "total": 2}
    assert (tmp_path / "task.md").read_text() == "# Task\n\n- [x] Look\n- [ ] Write\n"


async def test_a_checklist_that_cannot_be_kept_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert await Keeper(Checklist(tmp_path / "file" / "task.md"))("- [ ] a") == {}


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ("- [ ] a", Item("a")),
        ("* [X] a", Item("a", True)),
        ("- [] a", Item("a")),
        ("- Fetch ☐", Item("Fetch")),
        ("- ✔️ Done", Item("Done", True)),
        ("# Title", None),
        ("", None),
    ],
)
def test_every_kind_of_box_is_read(line: str, item: Item | None) -> None:
    assert parse(line) == ((item,) if item else ())


def test_what_is_written_is_read_again() -> None:
    items = (Item("a", True), Item("b [x] ✅ c"), Item("é"))
    assert parse(render(items)) == items


def test_a_report_without_items_changes_nothing(tmp_path: Path) -> None:
    checklist = Checklist(tmp_path / "task.md")
    checklist.update("- [ ] a")
    assert (checklist.update("no list"), checklist.was_edited()) == ((Item("a"),), False)
    checklist.clear()
    assert checklist.items() == ()
