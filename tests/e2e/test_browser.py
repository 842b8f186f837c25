"""browser_action on a real Chromium: honest tasks by refs and names, receipts, the gate, and all three dialects."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, Outcome, ToolFinished
from app.agent.inspection import DesktopInspector
from app.agent.policy import Mode, Policy
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry as known
from app.base.clock import SystemClock
from app.desktop.desktop import Desktop
from app.protocol.call import Block, ToolCall, ToolResult
from app.protocol.dialects.choose import NAMES, by_name
from app.providers.scripted import native_call
from app.services.browser.session import program
from app.tools.browser import BROWSER, Browsing
from app.tools.computer import COMPUTER
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import DOCS, Family, Registry, ToolDocs, TurnContext, admitted
from app.tools.screen import SCREEN
from tests.support.stage import Stage
from tests.support.web_world import World, world

pytest.importorskip("playwright", reason="the browser is an extra")
pytestmark = pytest.mark.skipif(not program(), reason="no Chromium on this machine")

_ECHO = "<script>for (const form of document.forms) form.onsubmit = () => { document.body.insertAdjacentHTML("
_ECHO += "'beforeend', '<p>Got ' + new URLSearchParams(new FormData(form)) + '</p>'); return false }</script>"


@dataclass(frozen=True)
class Task:
    """A page, what is done there, and what the last answer then holds. `{NAME}` in a step is the ref of that name."""

    name: str
    page: str
    steps: tuple[dict[str, Any], ...]
    holds: str
    more: dict[str, str] = field(default_factory=dict)


def _act(action: str, **given: Any) -> dict[str, Any]:
    return {"action": action, **given}


READ = _act("read")
TASKS = (
    Task(
        "form by name",
        f"<form><label>Name <input name=n></label><button>Send</button></form>{_ECHO}",
        (_act("type", target="Name", text="Ada"), _act("click", target="Send")),
        "Got n=Ada",
    ),
    Task(
        "form by ref",
        f"<form><input name=n aria-label=Name><button>Go</button></form>{_ECHO}",
        (READ, _act("type", ref="{Name}", text="Bo"), _act("click", ref="{Go}")),
        "Got n=Bo",
    ),
    Task(
        "select and tick",
        "<form><select name=s aria-label=Size><option>S<option>Large</select>"
        f"<label><input type=checkbox name=c>Gift</label><button>Go</button></form>{_ECHO}",
        (_act("select", target="Size", text="Large"), _act("click", target="Gift"), _act("click", target="Go"), READ),
        "Got s=Large&amp;c=on|Got s=Large&c=on",
    ),
    Task(
        "enter in a search field",
        f"<form><input name=q placeholder='Find'></form>{_ECHO}",
        (_act("click", target="Find"), _act("type", text="tea"), _act("press", keys="Return")),
        "Got q=tea",
    ),
    Task(
        "link and back",
        "<a href=/two>Two</a>",
        (_act("click", target="Two"), _act("back"), READ),
        'link "Two"',
        {"/two": "second"},
    ),
    Task(
        "table",
        "<table><tr><th>Item<th>Price<tr><td>Pen<td>3<tr><td>Ink<td>9</table>",
        (READ,),
        "Ink",
    ),
    Task(
        "frame",
        "<iframe srcdoc=\"<button onclick='this.textContent=`Done`'>Inside</button>\"></iframe>",
        (READ, _act("click", ref="{Inside}"), READ),
        'button "Done"',
    ),
    Task(
        "shadow DOM",
        "<div id=h></div><script>h.attachShadow({mode: 'open'}).innerHTML = "
        "'<button onclick=\"this.textContent=`Well`\">Deep</button>'</script>",
        (_act("click", target="Deep"), READ),
        'button "Well"',
    ),
    Task(
        "infinite scroll",
        "<div id=l></div><script>let n = 0; const add = () => { for (let i = 0; i < 30; i++) { n++; "
        "l.insertAdjacentHTML('beforeend', `<p style='height:40px'>Row ${n}`) } }; add(); "
        "onscroll = () => { if (innerHeight + scrollY > document.body.scrollHeight - 200) add() }</script>",
        (_act("scroll_down"), _act("scroll_down"), READ),
        "Row 45",
    ),
    Task(
        "late text",
        "<p id=p>Loading</p><script>setTimeout(()=>p.textContent='Ready now',700)</script>",
        (_act("wait", text="Ready now", seconds=10),),
        "is there",
    ),
    Task(
        "new tab",
        "<a href=/two target=_blank>Open</a>",
        (_act("click", target="Open"), _act("tab", number=2), READ),
        "second",
        {"/two": "second"},
    ),
    Task(
        "coordinate",
        "<style>body{margin:0} button{width:300px;height:99px}</style>"
        "<button onclick='this.textContent=`Hit`'>Here</button>",
        (_act("click", coordinate="150,50"), READ),
        'button "Hit"',
    ),
    Task(
        "dialog",
        "<button onclick=\"document.title=String(confirm('Sure?'))\">Ask</button>",
        (_act("click", target="Ask"),),
        "[dialog] Sure? (declined)",
    ),
    Task(
        "console",
        "<button onclick=\"console.warn('low ink')\">Print</button>",
        (_act("click", target="Print"),),
        "[warning] low ink",
    ),
    Task("dead button", "<button>Dead</button>", (_act("click", target="Dead"),), "Nothing on the page changed"),
    Task(
        "two of a name",
        "<button>A</button><button>A</button>",
        (_act("click", target="A"),),
        "2 elements are called 'A'",
    ),
    Task(
        "password",
        "<label>Password <input type=password></label>",
        (_act("type", target="Password", text="x"),),
        "Typed 1 characters",
    ),
    Task(
        "long page",
        "".join(f"<p>Line {n}</p>" for n in range(2000)),
        (READ, _act("read", start=12000)),
        "Characters 12000-24000",
    ),
    Task("no such ref", "<p>x", (_act("click", ref="e999"),), "e999 is no longer there"),
)


class Hands:
    """The tool with a browser on the small web, called by the person."""

    def __init__(self, here: World) -> None:
        self.registry = Registry(BROWSER)
        self.executor = Executor(self.registry, [Browsing(here.browser)], SystemClock(), attempts=1)

    async def do(self, **arguments: Any) -> ToolResult:
        block = Block("c1", "browser_action", args=arguments)
        return (await self.executor.run(block, WrittenByThePerson(), TurnContext(admitted))).result


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


def _with_refs(step: dict[str, Any], outline: str) -> dict[str, Any]:
    wanted = re.fullmatch(r"\{(.*)\}", step.get("ref", ""))
    if wanted is None:
        return step
    [ref] = re.findall(rf'"{wanted[1]}"[^\n]*?\[ref=(\w+)\]', outline)
    return {**step, "ref": ref}


async def test_honest_tasks_are_done_through_names_and_refs(here: World) -> None:
    hands, failed = Hands(here), []
    for number, task in enumerate(TASKS):
        here.pages |= {f"/{number}": f"<title>T</title>{task.page}", **task.more}
        result = await hands.do(action="launch", url=f"http://shop.example/{number}")
        outline = ""
        for step in task.steps:
            result = await hands.do(**_with_refs(step, outline))
            outline = result.llm_echo if step == READ else outline
        if not any(one in result.llm_echo for one in task.holds.split("|")):
            failed.append((task.name, result.llm_echo))
    assert dict(failed) == {}


async def test_each_answer_has_a_picture_of_the_page_and_its_new_console_lines(here: World) -> None:
    here.pages["/"] = "<title>Shop</title><script>console.log('one')</script>"
    hands = Hands(here)
    first = await hands.do(action="launch", url="http://shop.example/")
    [picture] = first.llm_media
    assert (picture.width, picture.height, picture.media_type) == (1024, 720, "image/jpeg")
    assert first.payload["console"] == ["[log] one"]
    assert (await hands.do(action="read")).payload["console"] == []
    closed = await hands.do(action="close")
    assert (closed.ok, closed.llm_media) == (True, ())
    assert "begin with action launch" in (await hands.do(action="read")).llm_echo


class Nothing:
    """Handlers of tools that the gate judges acts in pages as; none of them runs here."""


def _reply(dialect: str, number: int, specs: Any, **arguments: Any) -> Any:
    if dialect == "native":
        return [*native_call(f"c{number}", "browser_action", arguments)]
    return by_name(dialect).write([ToolCall("", "browser_action", arguments)], specs)


@pytest.mark.parametrize("dialect", NAMES)
async def test_a_page_taints_the_turn_and_what_sends_is_asked(here: World, tmp_path: Path, dialect: str) -> None:
    """The same in every dialect: plain acts run, sending asks, a password is never typed, another closes it."""
    here.pages["/"] = (
        "<form><label>Text <input name=t></label><label>PIN <input type=password></label>"
        f"<button>Send message</button></form>{_ECHO}"
    )
    judged = [Family(Nothing, family.tools) for family in (COMPUTER, SCREEN)]
    registry = Registry(SAY, DOCS, BROWSER, *judged)
    executor = Executor(
        registry, [Speech(), ToolDocs(registry.specs), Browsing(here.browser), Nothing()], SystemClock()
    )
    steps = (
        _act("launch", url="http://shop.example/"),
        _act("type", target="PIN", text="1234"),
        _act("type", target="Text", text="hello"),
        _act("click", target="Send message"),
        _act("close"),
    )
    replies = [_reply(dialect, number, registry.specs, **step) for number, step in enumerate(steps)]
    policy = Policy(tmp_path, Mode.ASK, surroundings=PolicyDeps(tools=known().specs))
    inspector = DesktopInspector(cast(Desktop, None), here.browser)
    kept: dict[str, Any] = {"registry": registry, "executor": executor, "policy": policy, "resolve": inspector}
    stage = Stage(tmp_path, *replies, "Done.", dialect=dialect, **kept)
    asked: list[str] = []

    def answer(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            asked.append(event.sentence)
            stage.session.answer(event.approval_id, allow=True)

    stage.session.subscribe(answer)
    ended = await stage.send("Look at shop.example and fill in its form.")
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, "Done.")
    results = [event for event in stage.events if isinstance(event, ToolFinished)]
    told = [event.payload.get("reason", "") for event in results]
    assert len(results) == len(steps)
    assert "password" in str(told[1])
    assert [bool(one) for one in told] == [False, True, False, False, False]
    assert any("Send message" in sentence for sentence in asked)
    assert any("hello" in sentence for sentence in asked)  # because these are not the person's words
    assert not here.browser.is_open
