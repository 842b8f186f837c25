"""What a surface asks is judged as its own wish, answered within a budget, and refused in plain sentences."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from PIL import Image

from app.agent.agent_events import ApprovalWanted, Scope
from app.agent.gate import ApprovalAnswer
from app.agent.policy import Decision, Mode, Trust
from app.base import paths
from app.base.errors import BadAnswer, OverLimit
from app.base.values import replace
from app.features.apps.bridge import SurfaceWish
from app.features.apps.chromium import CONTROL
from app.features.apps.client import SurfaceEngine
from app.features.apps.store import standard_folder
from app.features.schedule import timer
from app.protocol.call import JsonValue, ToolCall
from app.protocol.message import ImagePart, TextPart
from app.providers.api import Request, StreamEvent, TextDelta, Usage
from app.providers.scripted import Fail, Scripted
from app.providers.scripted import Reply as ModelReply
from app.settings.store import Settings
from app.tools.registry import Registry
from tests.support.answering import PAGE, AnsweringRoom, answering_room, wish
from tests.support.mcp_world import World
from tests.support.waiting import until
from tests.support.walls import needs_wall


@pytest.fixture
def room(tmp_path: Path) -> Iterator[AnsweringRoom]:
    replies = ["400 kcal", [Usage(300, 200), "1"], "2"]
    with answering_room(tmp_path, *replies) as made:
        yield made


def _picture() -> str:
    data = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(data, "PNG")
    return f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"


async def test_the_model_answers_one_short_request_without_tools(room: AnsweringRoom) -> None:
    asked = wish("askAI", prompt="How many?", system="You count.", images=[_picture()])
    assert await room.answers.answered(asked) == ("400 kcal", "")
    [request] = room.model.requests
    [message] = request.messages
    picture, words = message.parts
    assert isinstance(picture, ImagePart)
    assert words == TextPart("You count.\n\nHow many?")
    assert request.tools == ()
    assert "no tools" in request.system
    assert (room.asked, room.audited) == ([], ["surface_asked"])


async def test_the_web_is_searched_and_read_once_the_person_allows_it(room: AnsweringRoom) -> None:
    answers = room.answers
    found, why = await answers.answered(wish("webSearch", query="clock museum"))
    assert why == ""
    assert found == [{"title": "Clock museum", "url": "https://museum.example/", "snippet": "Open daily."}]
    assert await answers.answered(wish("webFetch", url=PAGE)) == (
        {"url": PAGE, "status": 200, "text": "Open from ten to five."},
        "",
    )
    assert [one.tool for one in room.asked] == ["web_search", "web_fetch"]
    assert room.asked[0].sentence.startswith(
        "The app “Meals” asks for this. Let Wisp use the web? Wisp wants to search the web for"
    )
    assert room.asked[0].sources == ("what is saved in an app",)
    assert room.audited == ["allowed", "web_searched", "allowed", "page_fetched"]


async def test_a_no_is_a_sentence_and_is_not_asked_again(room: AnsweringRoom) -> None:
    room.denies()
    answers = room.answers
    for said in ("You did not allow that.", "You did not allow that before"):
        value, why = await answers.answered(wish("webFetch", url=PAGE))
        assert (value, why[: len(said)]) == (None, said)
    assert len(room.asked) == 1
    assert room.web.asked == []


async def test_an_answer_for_this_task_counts_for_this_surface_and_host_alone(room: AnsweringRoom) -> None:
    room.allows(Scope.TASK)
    answers = room.answers
    for url, of in ((PAGE, "app-meals"), (PAGE, "app-meals"), (PAGE, "app-b"), ("https://b.example/", "app-meals")):
        await answers.answered(wish("webFetch", url=url, of=of))
    assert len(room.asked) == 3


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        ("webFetch", {"url": "http://127.0.0.1:8080/"}, "address of this machine"),
        ("webFetch", {"url": "http://169.254.169.254/latest/meta-data/"}, "address of this machine or of the local"),
        ("askAI", {"prompt": " "}, "prompt is empty"),
        ("askAI", {"prompt": "x", "images": ["data:image/png;base64,AAAA"]}, "picture"),
        ("askAI", {"prompt": "x", "images": ["data:image/png;base64,AAAA"] * 9}, "3 pictures"),
        ("cron", {"schedule": "now and then", "task": "x"}, "schedule"),
        ("execute_command", {"command": "id"}, "Nobody answers execute_command"),
        ("ui/message", {"text": "\u200b "}, "message is empty"),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_refused_in_a_sentence(
    room: AnsweringRoom, kind: str, arguments: dict[str, object], says: str
) -> None:
    value, why = await room.answers.answered(wish(kind, **arguments))  # type: ignore[arg-type]
    assert value is None
    assert says in why
    assert (room.model.requests, room.web.asked, room.agenda.all()) == ([], [], [])


@pytest.mark.parametrize("kind", ["webSearch", "webFetch", "cron", "generateImage", "tools/call"])
async def test_a_wish_whose_feature_is_switched_off_is_refused_in_a_sentence(room: AnsweringRoom, kind: str) -> None:
    assert room.parts
    room.parts = replace(room.parts, registry=Registry(), servers=lambda: None)
    value, why = await room.answers.answered(wish(kind, url=PAGE, query="clock"))
    assert (value, f"answers {kind} is switched off" in why) == (None, True)
    assert (room.asked, room.audited) == ([], [])


async def test_a_schedule_is_asked_and_kept_as_somebody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timer, "set_for", lambda _due: "")
    with answering_room(tmp_path) as room:
        value, why = await room.answers.answered(wish("cron", schedule="daily 9:00", task="Say how much was eaten"))
        assert (why, value["title"]) == ("", "Meals")
        [job] = room.agenda.all()
        assert (job.task, job.made_by, job.tainted_by, job.allowed) == (
            "Say how much was eaten", "model", ("surface",), (),
        )  # fmt: skip
        [asked] = room.asked
        assert asked.scopes == (Scope.ONCE,)
        assert "Say how much was eaten" in asked.sentence


async def test_the_words_of_the_person_permit_nothing_that_a_surface_asks(tmp_path: Path) -> None:
    words = "clock museum"
    with answering_room(tmp_path, mode=Mode.AUTO) as room:
        assert room.parts
        search = room.parts.registry.find("web_search")
        assert search
        call = ToolCall("c1", "web_search", {"query": words})
        persons = Trust(words=f"Search the web for {words}.")
        assert room.parts.policy.decide(call, search, (), persons).decision is Decision.ALLOW
        room.denies()
        value, why = await room.answers.answered(wish("webSearch", query=words))
        assert (value, why) == (None, "You did not allow that.")
        assert [one.tool for one in room.asked] == ["web_search"]
        assert room.web.asked == []


async def test_what_plan_mode_denies_is_not_asked_for_a_surface(tmp_path: Path) -> None:
    with answering_room(tmp_path, mode=Mode.PLAN) as room:
        value, why = await room.answers.answered(wish("webSearch", query="clock museum"))
        assert (value, room.asked) == (None, [])
        assert "only look" in why


@pytest.mark.parametrize("prompt", ["a red cat", "KEY=hunter2"])
async def test_each_picture_of_a_surface_is_asked_with_its_words_and_nobody_draws_without_a_yes(
    room: AnsweringRoom, prompt: str
) -> None:
    room.denies()
    assert await room.answers.answered(wish("generateImage", prompt=prompt)) == (None, "You did not allow that.")
    [asked] = room.asked
    assert (asked.tool, f"a picture drawn of “{prompt}”" in asked.sentence) == ("generate_image", True)


async def test_calls_of_an_hour_are_counted_for_each_surface(room: AnsweringRoom) -> None:
    room.settings = Settings({}, {}).with_values(surfaces__calls_an_hour=2)
    answers = room.answers
    told = [(await answers.answered(wish("askAI", prompt="x")))[1] for _ in range(3)]
    assert told[:2] == ["", ""]
    assert "2 times in the last hour" in told[2]
    assert (await answers.answered(wish("askAI", prompt="x", of="app-b")))[0] == "2"


async def test_tokens_of_an_hour_are_counted_for_each_surface(room: AnsweringRoom) -> None:
    room.settings = Settings({}, {}).with_values(surfaces__tokens_an_hour=400)
    answers = room.answers
    told = [(await answers.answered(wish("askAI", prompt="x")))[1] for _ in range(3)]
    assert told[:2] == ["", ""]
    assert "400 tokens" in told[2]
    assert len(room.model.requests) == 2


async def test_an_answer_that_broke_off_is_paid_for_and_one_that_never_began_is_not(tmp_path: Path) -> None:
    broken: list[ModelReply] = [["a" * 800, Fail(BadAnswer("Cut off."))] for _ in range(3)]
    with answering_room(tmp_path, [Fail(OverLimit("Later."))], *broken) as room:
        room.settings = Settings({}, {}).with_values(surfaces__tokens_an_hour=400)
        answers = room.answers
        told = [(await answers.answered(wish("askAI", prompt="x" * 800)))[1] for _ in range(3)]
        assert told[:2] == ["Later.", "Cut off."]
        assert "400 tokens" in told[2]


async def test_questions_that_wait_for_each_other_do_not_pass_the_budget_together(room: AnsweringRoom) -> None:
    room.settings = Settings({}, {}).with_values(surfaces__tokens_an_hour=1)
    answers = room.answers
    told = await asyncio.gather(*(answers.answered(wish("askAI", prompt="x" * 400)) for _ in range(4)))
    assert len(room.model.requests) == 1
    assert sorted("1 tokens" in why for _, why in told) == [False, True, True, True]


async def test_a_page_whose_questions_wait_for_the_model_holds_up_no_other_page(tmp_path: Path) -> None:
    ends, answered = asyncio.Event(), asyncio.Queue[int]()
    wishes = [*(wish("askAI", prompt=f"{n}?", of="app-b") for n in range(5)), wish("webFetch", url=PAGE)]
    numbered = [replace(one, number=number) for number, one in enumerate(wishes)]

    class Worker(SurfaceEngine):
        """A worker whose pages ask all of this at once."""

        is_running = True

        async def wishes(self) -> list[SurfaceWish] | None:
            return [numbered.pop(0)] if numbered else await ends.wait() and None

        async def answer(self, number: int, value: object = None, error: str = "") -> None:
            answered.put_nowait(number)

    class Silent(Scripted):
        """A model that says nothing until the test ends."""

        async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
            await ends.wait()
            yield TextDelta("Late.")

    with answering_room(tmp_path, engine=Worker(tmp_path)) as room:
        assert room.parts
        room.parts = replace(room.parts, provider=Silent(()))
        answers = room.answers
        answers.begin()
        try:
            async with asyncio.timeout(30):
                assert await answered.get() == 5
        finally:
            await answers.close()


@pytest.mark.parametrize(
    ("kind", "arguments"), [("webSearch", {"query": "clock museum"}), ("generateImage", {"prompt": "a clock"})]
)
async def test_words_are_asked_each_time_and_no_answer_is_offered_for_a_task(
    room: AnsweringRoom, kind: str, arguments: dict[str, JsonValue]
) -> None:
    room.allows(Scope.TASK)
    answers = room.answers
    for _ in range(2):
        await answers.answered(wish(kind, **arguments))
    assert [one.scopes for one in room.asked] == [(Scope.ONCE,)] * 2


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.YOLO])
async def test_a_message_of_a_page_is_asked_word_for_word_in_every_mode(tmp_path: Path, mode: Mode) -> None:
    with answering_room(tmp_path, mode=mode) as room:
        answers = room.answers
        for text in ("Buy milk.", "Buy bread."):
            assert await answers.answered(wish("ui/message", text=text)) == ({}, "")
        room.denies()
        assert (await answers.answered(wish("ui/message", text="Buy it all.")))[1] == "You did not allow that."
        await until(lambda: room.passed_on == [("Meals", "Buy milk."), ("Meals", "Buy bread.")])
        assert [one.detail for one in room.asked] == ["text: Buy milk.", "text: Buy bread.", "text: Buy it all."]
        assert all("Meals" in one.sentence and one.scopes == (Scope.ONCE,) for one in room.asked)


async def test_a_page_that_was_written_anew_is_asked_about_its_hosts_again(room: AnsweringRoom) -> None:
    room.allows(Scope.TASK)
    page = standard_folder() / "app-meals" / "index.html"
    page.parent.mkdir(parents=True)
    answers = room.answers
    for written, times in ((1, 1), (1, 1), (2, 2)):
        page.write_text("<html>")
        os.utime(page, (written, written))
        assert (await answers.answered(wish("webFetch", url=PAGE)))[1] == ""
        assert len(room.asked) == times
    assert room.asked[0].scopes == (Scope.ONCE, Scope.TASK)


@needs_wall
async def test_a_yes_to_a_servers_page_covers_these_arguments_of_this_server_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    world = World(tmp_path)
    entry = world.entry({"tools": [{"name": "write"}], "calls": {"write": [{"echo": True}]}})
    with answering_room(tmp_path, servers=world.servers) as room:
        room.allows(Scope.TASK)
        answers = room.answers
        place = {"server": entry.name, "pin": entry.pin, "mark": entry.fingerprint, "tool": "write"}
        for said in ("one", "one", "two"):
            assert (await answers.answered(wish("tools/call", **place, arguments={"q": said})))[1] == ""
        assert len(room.asked) == 2
        _, why = await answers.answered(wish("tools/call", **{**place, "mark": "another"}, arguments={"q": "one"}))
        assert "is another tool server now" in why
    await world.servers.close()


async def test_one_question_of_a_surface_waits_at_a_time(room: AnsweringRoom) -> None:
    assert room.parts
    waits = asyncio.Event()

    async def ask(wanted: ApprovalWanted) -> ApprovalAnswer:
        room.asked.append(wanted)
        await waits.wait()
        return ApprovalAnswer()

    room.parts = replace(room.parts, ask=ask)
    answers = room.answers
    many = [asyncio.ensure_future(answers.answered(wish("webSearch", query=f"clock {n}"))) for n in range(20)]
    _, pending = await asyncio.wait(many, return_when=asyncio.FIRST_COMPLETED)
    while len(pending) > 1:
        _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    waits.set()
    told = [why for _, why in await asyncio.gather(*many)]
    assert (len(room.asked), told.count("")) == (1, 1)
    assert all("waits for your answer" in why for why in told if why)


async def test_a_failing_or_missing_model_is_told_in_a_sentence(tmp_path: Path) -> None:
    with answering_room(tmp_path, [Fail(OverLimit("The limit is reached."))], "  ") as room:
        assert room.parts
        answers = room.answers
        assert await answers.answered(wish("askAI", prompt="x")) == (None, "The limit is reached.")
        assert "gave no answer" in (await answers.answered(wish("askAI", prompt="x")))[1]
        room.parts = replace(room.parts, can_answer=False)
        assert "without a model" in (await room.answers.answered(wish("askAI", prompt="x")))[1]


OWN = {"number": 7, "surface": "app-meals", "name": "Meals", "kind": "askAI", "arguments": {"prompt": "x"}}


@pytest.mark.long
@pytest.mark.parametrize("odd", [[{**OWN, "number_of_window": 3}], [{"number": 1}], ["x"], 5], ids=str)
async def test_a_worker_that_another_version_started_is_still_listened_to(room: AnsweringRoom, odd: object) -> None:
    """Such a worker sends other fields first, and then what this version knows."""
    sent, answered, over = [odd, [OWN]], asyncio.Event(), list[asyncio.Task[None]]()

    async def worker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError), closing(writer):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().casefold()
            asked = json.loads(await reader.readexactly(int(head.partition("content-length: ")[2].split()[0])))
            if asked == {"op": "answer", "number": 7, "value": "400 kcal", "error": ""}:
                answered.set()
            body = json.dumps({"ok": sent.pop(0) if asked["op"] == "wishes" and sent else []})
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()
        with suppress(OSError):
            await writer.wait_closed()

    def begun(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        over.append(asyncio.ensure_future(worker(reader, writer)))

    server = await asyncio.start_server(begun, "127.0.0.1", 0)
    control = paths.runtime_dir() / CONTROL
    control.write_text(json.dumps({"port": server.sockets[0].getsockname()[1], "secret": "s"}))
    answers = room.answers
    answers.begin()
    try:
        async with asyncio.timeout(30):
            await answered.wait()
    finally:
        await answers.close()
        control.unlink()
        server.close()
        await asyncio.gather(*over)
