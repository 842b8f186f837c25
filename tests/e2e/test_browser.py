"""browser_action on a real Chromium: honest tasks by refs and names, receipts, the gate, and all three dialects."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, Outcome, ToolFinished
from app.agent.inspection import DesktopInspector
from app.agent.policy import Mode, Policy, Trust
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry as known
from app.base.clock import SystemClock
from app.base.errors import NeedsPerson
from app.desktop.desktop import Desktop
from app.features.browser import starting
from app.features.browser.starting import BrowserWishes, program
from app.features.browser.tools import BROWSER, Browsing, JudgedElements
from app.features.browser.transfers import PageFiles
from app.protocol.call import Block, ToolCall, ToolResult
from app.protocol.dialects.choose import NAMES, by_name
from app.providers.anthropic.browser_toolset import to_browser_call
from app.providers.scripted import native_call
from app.services.files import origins
from app.services.files.changes import Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.places import Workspace
from app.tools.computer import COMPUTER
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import DOCS, Family, Registry, ToolDocs, TurnContext, admitted
from app.tools.screen import SCREEN
from tests.support.sampling import first_of
from tests.support.stage import Stage
from tests.support.waiting import until
from tests.support.web_world import World, world

pytest.importorskip("playwright", reason="the browser is an extra")
pytestmark = pytest.mark.skipif(not program(), reason="no Chromium on this machine")

_ECHO = "<script>for (const form of document.forms) form.onsubmit = () => { document.body.insertAdjacentHTML("
_ECHO += "'beforeend', '<p>Got ' + new URLSearchParams(new FormData(form)) + '</p>'); return false }</script>"


# The choices of a combobox are made on a click, elsewhere in the document. Some come only once letters are typed.
_PORTAL = """<main></main><p>Large</p><script>
const box = document.querySelector('[role=combobox]');
const show = (text) => 'value' in box && box.tagName === 'INPUT' ? box.value = text : box.textContent = text;
const open = (names) => {
  document.querySelector('[role=listbox]')?.remove();
  document.body.insertAdjacentHTML('beforeend', '<div><div role=listbox>' + names.map((name) =>
    `<div role=option>${name}</div>`).join('') + '</div></div>');
  for (const one of document.querySelectorAll('[role=option]')) one.onclick = () => {
    if (!globalThis.stubborn) show(one.textContent);
    document.querySelector('[role=listbox]').remove(); box.ariaExpanded = 'false';
  };
  box.ariaExpanded = 'true';
};
box.onclick = () => open(['Small', 'Large']);
box.oninput = () => open(['Small', 'Large', 'Extra large'].filter((name) => name.startsWith(box.value)));
</script>"""


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
        "<button onclick=\"this.textContent = prompt('Your name?', 'Bo')\">Ask</button>",
        (_act("click", target="Ask"), _act("accept", text="Ada")),
        'button "Ada"',
    ),
    Task(
        "alert",
        "<button onclick=\"alert('Low ink'); this.textContent = 'Went on'\">Print</button>",
        (_act("click", target="Print"), READ),
        'button "Went on"',
    ),
    Task(
        "leaving",
        "<input aria-label=Note><script>onbeforeunload = (event) => event.preventDefault()</script>",
        (_act("type", target="Note", text="x"), _act("launch", url="http://shop.example/two"), _act("accept"), READ),
        "second",
        {"/two": "second"},
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
    Task(
        "download",
        "<a href=/report.bin>Report</a>",
        (_act("download", target="Report"),),
        "Saved downloads/report.bin (5 bytes)",
        {"/report.bin": "12345"},
    ),
    Task(
        "upload",
        "<label>Letter <input type=file id=f></label><p id=p></p>"
        "<script>f.onchange = async () => { p.textContent = 'Got: ' + await f.files[0].text() }</script>",
        (_act("upload", target="Letter", path="letter.txt"), READ),
        "Got: Dear page",
    ),
    Task(
        "upload by a button",
        "<button onclick=f.click()>Attach</button><input type=file id=f hidden><p id=p></p>"
        "<script>f.onchange = async () => { p.textContent = 'Got: ' + await f.files[0].text() }</script>",
        (_act("upload", target="Attach", path="letter.txt"), READ),
        "Got: Dear page",
    ),
    Task(
        "choose and tick by value",
        "<form><select name=s aria-label=Size><option>S<option>Large</select>"
        f"<label><input type=checkbox name=c>Gift</label><button>Go</button></form>{_ECHO}",
        (
            _act("type", target="Size", text="Large"),
            _act("type", target="Gift", text="true"),
            _act("type", target="Gift", text="true"),
            _act("click", target="Go"),
            READ,
        ),
        "Got s=Large&amp;c=on|Got s=Large&c=on",
    ),
    Task(
        "open again",
        "<button onclick='this.textContent=`Changed`'>Fresh</button>",
        (_act("click", target="Fresh"), _act("reload"), READ),
        'button "Fresh"',
    ),
    Task(
        "scroll inside",
        "<style>body{margin:0}</style><div style='height:100px;overflow:auto' onscroll='this.title=`Moved`;"
        "p.textContent=`Moved`'><p style='height:3000px'>Long</div><p id=p>Still</p>",
        (_act("scroll_down", coordinate="50,50"), READ),
        "Moved",
    ),
    Task(
        "no wheel over a number",
        "<style>body{margin:0}</style><input type=number value=1 autofocus style='height:90px;width:200px'>",
        (_act("scroll_down", coordinate="50,50"),),
        "the wheel would change a value",
    ),
    Task(
        "no such choice",
        f"<button role=combobox aria-label=Size>Small</button>{_PORTAL}",
        (_act("select", target="Size", text="Huge"),),
        "shows no choice 'Huge'",
    ),
    Task("no such ref", "<p>x", (_act("click", ref="e999"),), "e999 is no longer there"),
)


def browsing(here: World, space: Path) -> Browsing:
    workspace = Workspace(space)
    return Browsing(here.browser, PageFiles(workspace, Changes(workspace, Checkpoints(space.parent / "kept"))))


class Hands:
    """The tool with a browser on the small web, called by the person."""

    def __init__(self, here: World, space: Path) -> None:
        self.registry = Registry(BROWSER)
        self.executor = Executor(self.registry, [browsing(here, space)], SystemClock(), attempts=1)

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


@pytest.fixture
def space(tmp_path: Path) -> Path:
    folder = tmp_path / "space"
    folder.mkdir()
    (folder / "letter.txt").write_text("Dear page")
    return folder


@pytest.mark.long
async def test_honest_tasks_are_done_through_names_and_refs(here: World, space: Path) -> None:
    hands, failed = Hands(here, space), []
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


_CHOICES = (
    ("<button role=combobox aria-label=Size>Small</button>", "Large", "confirmed"),
    ("<input role=combobox aria-label=Size>", "Extra large", "confirmed"),
    ("<button role=combobox aria-label=Size>Small</button><script>stubborn = 1</script>", "Large", "suspected no-op"),
    ("<select aria-label=Size><option>Small<option value=l>Large</select><i role=combobox>", "Large", "confirmed"),
)


async def test_a_choice_is_made_and_read_back_however_the_page_draws_it(here: World, space: Path) -> None:
    hands, found = Hands(here, space), []
    for number, (page, choice, _) in enumerate(_CHOICES):
        here.pages[f"/{number}"] = f"{page}{_PORTAL}"
        await hands.do(action="launch", url=f"http://shop.example/{number}")
        result = await hands.do(action="select", target="Size", text=choice)
        found.append((result.payload.get("proof"), *re.findall("It shows: (.*)", result.llm_echo)))
    assert found == [(proof, choice if proof == "confirmed" else "Small") for _, choice, proof in _CHOICES]


async def test_what_the_browser_asks_for_itself_is_told_to_nobody_and_nothing_of_it_is_left_in_the_home_folder(
    here: World, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    here.pages["/"] = "<script>fetch('http://inner.example/').catch(() => document.title = 'Asked')</script>"
    hands = Hands(here, space)
    told = (await hands.do(action="launch", url="http://shop.example/")).llm_echo
    proxy = here.browser._proxy
    assert proxy
    await until(lambda: "inner.example" in proxy.refused)
    proxy.refused["update.example"] = "There is no host called update.example."
    told += (await hands.do(action="wait")).llm_echo
    assert ("inner.example" in told, "update.example" in told) == (True, False)
    await here.browser.close()
    assert not (home / ".config").exists()


async def test_an_action_may_name_its_tab(here: World, space: Path) -> None:
    page = "<a href=/two target=_blank>Open</a><button onclick='this.textContent=`Hit`'>Here</button>"
    here.pages |= {"/": page, "/two": "second"}
    hands = Hands(here, space)
    await hands.do(action="launch", url="http://shop.example/")
    await hands.do(action="click", target="Open")
    assert "second" in (await hands.do(action="read", number=2)).llm_echo
    assert (await hands.do(action="click", target="Here", number=1)).ok
    assert 'button "Hit"' in (await hands.do(action="read")).llm_echo


async def test_a_task_is_done_by_calls_of_claudes_own_browser_tools(here: World, space: Path) -> None:
    here.pages["/"] = TASKS[2].page
    hands, outline = Hands(here, space), ""
    for member, args in (
        ("navigate", {"url": "http://shop.example/"}),
        ("read_page", {"filter": "interactive"}),
        ("form_input", {"target": {"type": "ref", "ref": "{Size}"}, "value": "Large"}),
        ("form_input", {"target": {"type": "ref", "ref": "{Gift}"}, "value": True}),
        ("left_click", {"target": {"type": "ref", "ref": "{Go}"}}),
        ("get_page_text", {}),
    ):
        tool, ours = to_browser_call(member, args)
        assert tool == "browser_action"
        result = await hands.do(**_with_refs(dict(ours), outline))
        assert result.ok, result.llm_echo
        outline = result.llm_echo if member == "read_page" else outline
    assert re.search(r"Got s=Large&(amp;)?c=on", result.llm_echo)


async def test_each_answer_has_a_picture_of_the_page_and_its_new_console_lines(here: World, space: Path) -> None:
    here.pages["/"] = "<title>Shop</title><script>console.log('one')</script>"
    hands = Hands(here, space)
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


@pytest.mark.parametrize("dialect", first_of(NAMES))
async def test_a_page_taints_the_turn_and_what_sends_is_asked(
    here: World, space: Path, tmp_path: Path, dialect: str
) -> None:
    """The same in every dialect: a host is asked for once, sending asks, a password is never typed."""
    here.pages["/"] = (
        "<form><label>Text <input name=t></label><label>PIN <input type=password></label>"
        f"<button>Send message</button></form>{_ECHO}"
    )
    judged = [Family(Nothing, family.tools) for family in (COMPUTER, SCREEN)]
    registry = Registry(SAY, DOCS, BROWSER, *judged)
    executor = Executor(registry, [Speech(), ToolDocs(registry.specs), browsing(here, space), Nothing()], SystemClock())
    steps = (
        _act("launch", url="http://shop.example/"),
        _act("type", target="PIN", text="1234"),
        _act("type", target="Text", text="hello"),
        _act("hover", target="Send message"),
        _act("click", target="Send message"),
        _act("close"),
    )
    replies = [_reply(dialect, number, registry.specs, **step) for number, step in enumerate(steps)]
    policy = Policy(tmp_path, Mode.ASK, surroundings=PolicyDeps(tools=known().specs))
    inspector = DesktopInspector(cast(Desktop, None), lambda: JudgedElements(here.browser))
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
    assert [bool(one) for one in told] == [False, True, False, False, False, False]
    let = [sentence.partition("?")[0] for sentence in asked]
    assert let == ["Let Wisp use shop.example", "Let Wisp press “Send message”"]
    assert not here.browser.is_open


async def test_a_page_that_asks_is_answered_and_dismissed_by_what_is_no_answer(here: World, space: Path) -> None:
    asks = "p.textContent += confirm('Delete all of the 35 messages?')"
    here.pages["/"] = f'<button onclick="{asks}; {asks}">Go</button><p id=p></p>'
    hands, told = Hands(here, space), list[str]()
    await hands.do(action="launch", url="http://shop.example/")
    for step in (_act("click", target="Go"), _act("accept"), _act("dismiss"), _act("click", target="Go"), READ):
        told.append((await hands.do(**step)).llm_echo)
    is_asked = ["Delete all of the 35 messages?" in echo.split("---")[2] for echo in told]
    assert is_asked == [True, True, False, True, True]
    assert "truefalse" in told[2]
    assert "truefalsefalsefalse" in (await hands.do(action="read")).llm_echo


@pytest.mark.long
async def test_a_page_with_a_query_is_opened_again_only_as_it_was_opened_first(here: World, space: Path) -> None:
    here.pages |= {"/": "<p>Plain</p>", "/pay?go=1": "<p>Paid</p>"}
    hands, asked = Hands(here, space), list[Any]()

    async def refused(call: ToolCall) -> str:
        asked.append(call.arguments["url"])
        return "The person says no."

    done = []
    for path in ("/", "/pay?go=1"):
        await hands.do(action="launch", url=f"http://shop.example{path}")
        block = Block("c1", "browser_action", args={"action": "reload"})
        done.append((await hands.executor.run(block, WrittenByThePerson(), TurnContext(refused))).result.ok)
    assert (done, asked) == ([True, False], ["http://shop.example/pay?go=1"])
    assert hands.registry.find_step("page_open") is hands.registry.find_step("page_give")


@pytest.mark.long
@pytest.mark.parametrize("action", ["scroll_down", "scroll_up", "hover"])
async def test_the_pointer_comes_to_rest_only_where_it_may(here: World, space: Path, action: str) -> None:
    here.pages["/"] = (
        "<style>body{margin:0}</style><button onmouseover='document.body.textContent=`Deleted`' "
        "style='width:300px;height:200px'>Delete account</button>"
    )
    hands, asked = Hands(here, space), list[str]()

    async def refused(call: ToolCall) -> str:
        asked.append(call.name)
        return "" if call.name != "page_hover" else "The person says no."

    await hands.do(action="launch", url="http://shop.example/")
    block = Block("c1", "browser_action", args={"action": action, "coordinate": "50,40"})
    done = (await hands.executor.run(block, WrittenByThePerson(), TurnContext(refused))).result
    assert (done.ok, asked) == (False, ["page_hover"])
    assert 'button "Delete account"' in (await hands.do(action="read")).llm_echo


@pytest.mark.long
async def test_downloads_land_in_the_workspace_as_a_strangers_and_can_be_undone(here: World, space: Path) -> None:
    here.pages |= {"/": "<a href=/a.bin>A</a><script>setTimeout(() => { location = '/b.bin' }, 300)</script>"}
    here.pages |= {"/a.bin": "first", "/b.bin": "unasked"}
    hands = Hands(here, space)
    seen = (await hands.do(action="launch", url="http://shop.example/")).llm_echo
    seen += (await hands.do(action="wait", text="never", seconds=1.5)).llm_echo
    assert "[download refused] b.bin" in seen
    for name in ("downloads/a.bin", "downloads/a (2).bin"):
        assert f"Saved {name}" in (await hands.do(action="download", target="A")).llm_echo
        assert (space / name).read_text() == "first"
        assert origins.foreign_folder(space / name) == space / name
    assert (
        "Saved kept.txt"
        in (await hands.do(action="download", url="http://shop.example/a.bin", path="kept.txt")).llm_echo
    )
    outside = await hands.do(action="download", target="A", path="/tmp/a.bin")
    assert (outside.ok, "downloads go into the workspace" in outside.llm_echo) == (False, True)
    assert "No download began" in (await hands.do(action="download", url="http://shop.example/page")).llm_echo
    changes = Changes(Workspace(space), Checkpoints(space.parent / "kept"))
    assert Path(changes.undo_last().path) == space / "kept.txt"
    assert not (space / "kept.txt").exists()


async def test_no_page_gets_keys_or_passwords(here: World, space: Path) -> None:
    here.pages["/"] = "<label>File <input type=file id=f></label>"
    (space / ".env").write_text("TOKEN=abc")
    (space / "pem.txt").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n")
    hands = Hands(here, space)
    await hands.do(action="launch", url="http://shop.example/")
    for name in (".env", "pem.txt", str(Path.home() / ".ssh" / "id_rsa")):
        assert not (await hands.do(action="upload", target="File", path=name)).ok
    assert "value" not in (await hands.do(action="read")).llm_echo


@pytest.fixture
async def persons(tmp_path: Path) -> AsyncIterator[Path]:
    """The profile folder of a running browser that is not Wisp's."""
    folder = tmp_path / "persons"
    switches = ["--headless", "--remote-debugging-port=0", "--no-first-run", f"--user-data-dir={folder}"]
    switches += ["--no-sandbox"] if os.geteuid() == 0 else []
    running = await asyncio.create_subprocess_exec(
        program(), *switches, "about:blank", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert running.stderr
    while b"DevTools listening" not in await running.stderr.readline():
        pass
    try:
        yield folder
        assert running.returncode is None  # because closing only detaches
    finally:
        running.terminate()
        await running.communicate()


@pytest.mark.long
async def test_the_persons_own_browser_is_attached_to_with_a_banner_and_left_running(
    here: World, space: Path, persons: Path
) -> None:
    here.pages["/"] = "<title>Mine</title><button onclick=\"this.textContent='Done'\">Go</button>"
    hands, url = Hands(here, space), f"http://127.0.0.1:{here.port}/"
    here.own_ports.add(here.port)
    unset = await hands.do(action="launch", attach=True, url=url)
    assert (unset.ok, "browser.attach" in unset.llm_echo) == (False, True), unset.llm_echo
    here.wishes = BrowserWishes(attach=str(persons))
    first = await hands.do(action="launch", attach=True, url=url)
    assert (first.ok, first.payload["attached"]) == (True, True)
    assert here.browser.is_attached
    await hands.do(action="click", target="Go")
    read = await hands.do(action="read")
    assert 'button "Done"' in read.llm_echo
    assert "Wisp is acting" not in read.llm_echo  # because the banner is for the person's eyes
    assert "of the person's own browser" not in (await hands.do(action="tab")).llm_echo
    assert not (await hands.do(action="download", target="Done")).ok
    inner = await hands.do(action="launch", attach=True, url="http://192.168.1.1/")
    assert not inner.ok
    assert await _banners(persons) == [True]
    await hands.do(action="close")
    assert not here.browser.is_open
    assert await _banners(persons) == [False]
    again = await hands.do(action="launch", attach=True)
    assert "Mine" in again.llm_echo
    await hands.do(action="close")


async def _banners(persons: Path) -> list[bool]:
    """Whether each page of the browser shows the banner, as somebody else sees it."""
    from playwright.async_api import async_playwright

    async with async_playwright() as other:
        browser = await other.chromium.connect_over_cdp(starting.endpoint(str(persons)))
        pages = [page for context in browser.contexts for page in context.pages if page.url != "about:blank"]
        return [await page.locator("#wisp-acts-here").count() > 0 for page in pages]


@pytest.mark.parametrize(
    "attach", first_of(["http://10.0.0.7:9222", "http://example.com:9222", "https://127.0.0.1", "/nowhere"])
)
def test_only_a_browser_of_this_machine_is_attached_to(attach: str) -> None:
    with pytest.raises(NeedsPerson, match=r"browser\.attach"):
        starting.endpoint(attach)


@pytest.mark.long
def test_firefox_is_refused_in_a_sentence_that_says_what_to_do() -> None:
    with pytest.raises(NeedsPerson, match=r"Firefox.*open_app"):
        starting.needed_program("/usr/bin/firefox-esr")
    with pytest.raises(NeedsPerson, match="netscape"):
        starting.needed_program("netscape")
    assert starting.needed_program("chromium") == starting.program("chromium")


def _verdict(tmp_path: Path, **arguments: Any) -> tuple[str, str]:
    """What the policy says in mode auto about a step of the tool."""
    policy = Policy(tmp_path, Mode.AUTO, surroundings=PolicyDeps(tools=known().specs))
    spec = known().find("browser_action")
    assert spec is not None
    verdict = policy.decide(ToolCall("c1", spec.name, arguments), spec, (), Trust(words="go to shop.example"))
    return verdict.decision.value, verdict.sentence


def test_what_is_given_to_a_page_asks_with_its_name_and_the_host(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    asked = _verdict(tmp_path, action="upload", path="a.txt", url="http://shop.example/")
    assert asked == ("ask", "a.txt would leave this computer.")
    outside = _verdict(tmp_path, action="upload", path="/etc/hosts", url="http://shop.example/")
    assert outside == ("ask", "hosts would leave this computer.")
    assert _verdict(tmp_path, action="upload", path="a.txt", url="http://192.168.1.1/")[0] == "deny"
    secret = str(Path.home() / ".ssh" / "id_rsa")
    assert _verdict(tmp_path, action="upload", path=secret, url="http://shop.example/")[0] == "deny"
    assert _verdict(tmp_path, action="upload", path=secret)[0] == "deny"
    assert _verdict(tmp_path, action="download", path=".git/hooks/pre-commit")[0] == "deny"
    assert _verdict(tmp_path, action="download", path="downloads/a.pdf")[0] == "allow"
    assert _verdict(tmp_path, action="download", path="/opt/a.pdf")[0] == "ask"
    assert _verdict(tmp_path, action="launch", attach=True)[0] == "ask"
