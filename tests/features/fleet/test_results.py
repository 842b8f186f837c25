"""Results of a batch: a task that has begun never begins again by itself, and none is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.agent.agent_events import Outcome
from app.base import resources
from app.base.errors import NeedsPerson
from app.features.fleet.attempts import Ended, Result, Snapshot
from app.features.fleet.desk import outcome_name
from app.features.fleet.results import Results
from app.features.fleet.tasks import Task

_TASKS = [Task(id=name, words=f"do {name}") for name in ("one", "two", "three", "four")]


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Results]:
    with Results(tmp_path) as opened:
        yield opened


def _died(folder: Path) -> Results:
    """The folder as the next process finds it."""
    return Results(folder)


def _ids(tasks: list[Task]) -> list[str]:
    return [task.id for task in tasks]


def _told(folder: Path) -> dict[str, str]:
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len({line["id"] for line in lines}) == len(lines)
    return {line["id"]: line["outcome"] for line in lines}


def test_a_task_begins_once(results: Results) -> None:
    results.plan(_TASKS)
    assert results.begin("one", "here")
    assert not results.begin("one", "there")


def test_the_next_process_does_what_never_began_and_tells_what_was_interrupted(
    results: Results, tmp_path: Path
) -> None:
    results.plan(_TASKS)
    results.begin("one", "here")
    results.finish(Result("one", {"outcome": "done", "passed": True}))
    results.begin("two", "here")  # and then this process dies
    with _died(tmp_path) as next_one:
        assert _ids(next_one.plan(_TASKS)) == ["three", "four"]
        assert _told(tmp_path) == {"one": "done", "two": "interrupted"}
        assert not next_one.begin("two", "here")


def test_a_node_that_asks_again_for_a_task_it_had_begun_gets_a_no_and_keeps_the_first_result(results: Results) -> None:
    results.plan(_TASKS)
    results.begin("one", "here")
    results.finish(Result("one", {"outcome": "done", "passed": True}))
    assert not results.begin("one", "there")
    assert [one["outcome"] for one in results.settle({"one": "its node died"})] == ["done"]


def test_what_could_not_begin_begins_next_time(results: Results, tmp_path: Path) -> None:
    results.plan(_TASKS)
    results.settle({"one": "no desktop"})
    results.begin("two", "here")
    results.finish(Result("two", {"outcome": "not begun", "passed": None}))
    results.settle({"two": ""})
    with _died(tmp_path) as next_one:
        assert _ids(next_one.plan(_TASKS)) == ["one", "two", "three", "four"]
        assert next_one.begin("two", "here")


def test_only_words_of_the_person_let_a_task_run_again(results: Results, tmp_path: Path) -> None:
    results.plan(_TASKS)
    for name, passed in (("one", True), ("two", False), ("three", False)):
        results.begin(name, "here")
        results.finish(Result(name, {"outcome": "done", "passed": passed}))
    with _died(tmp_path) as next_one:
        assert _ids(next_one.plan(_TASKS)) == ["four"]
        assert _ids(next_one.plan(_TASKS, ["one"])) == ["one", "four"]
        assert _ids(next_one.plan(_TASKS, ["failed"])) == ["one", "two", "three", "four"]
        assert next_one.begin("two", "here")
        next_one.finish(Result("two", {"outcome": "done", "passed": True}))
        next_one.settle({"two": ""})
        assert {one["id"]: (one["attempt"], one["passed"]) for one in next_one.newest()}["two"] == (2, True)
        assert _told(tmp_path) == {"two": "done"}


def test_a_word_that_names_nothing_to_do_again_is_refused(results: Results) -> None:
    with pytest.raises(NeedsPerson):
        results.plan(_TASKS, ["interupted"])
    assert len(results.plan(_TASKS, ["interrupted", "failed"])) == len(_TASKS)


def test_a_task_that_has_run_and_reads_otherwise_is_not_taken_for_the_same(results: Results) -> None:
    results.plan(_TASKS)
    results.begin("one", "here")
    results.finish(Result("one", {"outcome": "done", "passed": True}))
    changed = [Task(id="one", words="do something else"), *_TASKS[1:]]
    with pytest.raises(NeedsPerson):
        results.plan(changed)
    assert _ids(results.plan(changed, ["one"])) == ["one", "two", "three", "four"]


def test_after_a_halt_nothing_begins_and_what_waits_stays_open(results: Results, tmp_path: Path) -> None:
    results.plan(_TASKS)
    results.halt()
    assert not results.begin("one", "here")
    with _died(tmp_path) as next_one:
        assert len(next_one.plan(_TASKS)) == len(_TASKS)


def test_the_lines_are_whole_again_after_a_death_in_the_middle_of_one(results: Results, tmp_path: Path) -> None:
    results.plan(_TASKS)
    picture = Snapshot(0.5, "Clicked", "image/jpeg", b"\xff\xd8")
    results.begin("one", "here")
    results.finish(Result("one", {"outcome": "done", "passed": True}, [picture]))
    results.settle({"one": ""})
    lines = tmp_path / "results.jsonl"
    lines.write_text(lines.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    with _died(tmp_path) as next_one:
        next_one.plan(_TASKS)
    told = json.loads(lines.read_text(encoding="utf-8"))
    assert (tmp_path / told["pictures"][0]["path"]).read_bytes() == picture.data


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_way_to_end_has_a_name_for_people(language: str) -> None:
    named = resources.in_language("report.toml", language)["outcomes"]
    assert {outcome_name(one) for one in Outcome} | {one.value for one in Ended} <= set(named)
