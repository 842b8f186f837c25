"""A question from another process reaches the person in the presence, and the answer comes back; an error is a no."""

from __future__ import annotations

import asyncio
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.agent.agent_events import ApprovalWanted, Media, Scope
from app.agent.gate import ApprovalAnswer
from app.base import paths
from app.base.phrases import Phrase
from app.base.values import replace
from app.features.serve.questions import ask_in_presence, hear_questions
from app.protocol.call import GateRefusal
from tests.support.asked import is_presence_running
from tests.support.waiting import until, within

WANTED = ApprovalWanted(
    "",
    "call_1",
    "computer_click",
    "Let “Claude Code”, through Wisp, use Mousepad? 🖱",
    "text: Zwölf\nlines",
    who="Mousepad",
    undo="It cannot be undone.",
    rule="mode ask",
    why="Mousepad was not named.",
    sources=("the screen",),
    reasons=("It presses a button.",),
    scopes=(Scope.TASK,),
    picture=Media(bytes(range(256)) * 4000, "image/png", 640, 400, "the place"),
    ring=(12, 34),
    deed="use Mousepad",
    strong=((0, 3), (30, 33)),
    icon="org.xfce.mousepad",
)
DYING = """
import asyncio, sys
from app.features.serve.questions import hear_questions

async def ask(wanted):
    print("asked", flush=True)
    await asyncio.Event().wait()

asyncio.run(hear_questions(print, ask))
"""


class Person:
    """The person at a presence: what they are asked, and what they answer once they have decided."""

    def __init__(self) -> None:
        self.asked: list[ApprovalWanted] = []
        self.withdrawn = 0
        self.decided: asyncio.Future[ApprovalAnswer] = asyncio.get_running_loop().create_future()

    async def ask(self, wanted: ApprovalWanted, /) -> ApprovalAnswer:
        self.asked.append(wanted)
        try:
            return await asyncio.shield(self.decided)
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise

    def answers(self, answer: ApprovalAnswer) -> None:
        self.decided.set_result(answer)


@pytest.fixture(autouse=True)
def nobody_runs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path_factory.mktemp("w")))  # because a socket's path is short
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


def _told(level: str, sentence: str, /, *, beside: bool = False) -> None:
    raise AssertionError(sentence)


@asynccontextmanager
async def presence() -> AsyncIterator[Person]:
    person = Person()
    hearing = asyncio.create_task(hear_questions(_told, person.ask))
    await until(is_presence_running)
    try:
        yield person
    finally:
        hearing.cancel()
        await asyncio.wait([hearing])


async def test_the_whole_question_is_shown_and_allowed_as_far_as_the_person_says() -> None:
    async with presence() as person:
        person.answers(ApprovalAnswer(scope=Scope.TASK))
        assert await within(ask_in_presence(WANTED)) == ApprovalAnswer(scope=Scope.TASK)
    assert person.asked == [WANTED]


async def test_nothing_is_allowed_for_always() -> None:
    async with presence() as person:
        person.answers(ApprovalAnswer(scope=Scope.ALWAYS))
        assert await ask_in_presence(replace(WANTED, scopes=(Scope.ALWAYS,))) == ApprovalAnswer(scope=Scope.ONCE)
        assert await ask_in_presence(replace(WANTED, scopes=tuple(Scope))) == ApprovalAnswer(scope=Scope.ONCE)
    assert [one.scopes for one in person.asked] == [(Scope.ONCE,), (Scope.ONCE, Scope.TASK)]


async def test_a_no_brings_the_persons_words() -> None:
    async with presence() as person:
        person.answers(ApprovalAnswer.denied("Use the other editor, 本当に."))
        answer = await ask_in_presence(WANTED)
    assert answer == ApprovalAnswer.denied("Use the other editor, 本当に.")
    assert answer.is_denied


async def test_a_presence_that_cannot_ask_says_why_and_nobody_is_said_to_have_denied() -> None:
    async with presence() as person:
        person.answers(ApprovalAnswer.unasked(Phrase("There is no key.")))
        answer = await ask_in_presence(WANTED)
    assert answer is not None
    assert (answer.refusal, answer.is_denied) == ("There is no key.", False)
    assert isinstance(answer.refusal, GateRefusal)


async def test_a_cancelled_question_is_withdrawn() -> None:
    async with presence() as person:
        asking = asyncio.create_task(ask_in_presence(WANTED))
        await until(lambda: person.asked)
        asking.cancel()
        await until(lambda: person.withdrawn == 1)


@pytest.mark.parametrize(
    "line",
    [b"\n", b"{}\n", b'{"wanted": 5}\n', b"\xff\xfe\n", b'{"wanted":{"approval_id":"","call_id":"","tool":"t"}}\n',
     b'{"wanted":{"approval_id":"","call_id":"","tool":"t","sentence":"s","ring":[9,9]}}\n', b"x" * (17 << 20)],
    ids=["empty", "nothing in it", "a number", "no text", "no sentence", "a ring on nothing", "endless"],
)  # fmt: skip
async def test_what_is_no_question_is_refused(line: bytes) -> None:
    async with presence() as person:
        reader, writer = await asyncio.open_unix_connection(paths.display_socket("questions"))
        writer.write(line)
        said = await within(reader.readline())
        writer.close()
    assert b'"allowed":false' in said
    assert person.asked == []


async def test_a_presence_that_ends_meanwhile_has_allowed_nothing() -> None:
    async with presence() as person:
        asking = asyncio.create_task(ask_in_presence(WANTED))
        await until(lambda: person.asked)
    answer = await within(asking)
    assert answer is not None
    assert answer.refusal
    assert not answer.is_denied


async def test_a_killed_presence_has_allowed_nothing_and_the_next_one_takes_its_place() -> None:
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, stdout=asyncio.subprocess.PIPE)
    await until(is_presence_running)
    asking = asyncio.create_task(ask_in_presence(WANTED))
    assert killed.stdout
    assert await within(killed.stdout.readline()) == b"asked\n"
    killed.kill()
    answer = await within(asking)
    await killed.wait()
    assert answer is not None
    assert answer.refusal
    assert paths.display_socket("questions").is_socket()
    assert not is_presence_running()
    async with presence() as person:
        person.answers(ApprovalAnswer())
        assert await ask_in_presence(WANTED) == ApprovalAnswer()


async def test_only_this_person_can_reach_it_and_nothing_is_left_behind() -> None:
    place = paths.display_socket("questions")
    async with presence():
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert not place.exists()


async def test_without_a_presence_and_a_display_nobody_can_be_asked() -> None:
    assert await ask_in_presence(WANTED) is None


async def test_a_display_that_does_not_answer_gets_no_presence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":9731")
    assert await ask_in_presence(WANTED) is None


async def test_a_place_that_cannot_be_had_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / ("long" * 40)))
    told = list[str]()

    def tell(level: str, sentence: str, /, *, beside: bool = False) -> None:
        told.append(level)

    await within(hear_questions(tell, Person().ask))
    assert told == ["warning"]
