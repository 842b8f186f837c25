"""What the person's own words permit, as data: each line is what they said, a call, and what must come of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted
from app.agent.policy import Decision, Mode, Policy, Provenance
from app.agent.policy.persons_words import RULE
from app.agent.policy.policy import PolicyDeps
from app.agent.policy.rules import BadRules
from app.assembly import registry
from app.desktop.backends import FrontProgram, TerminalFront
from app.protocol.call import ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ScreenAim, ToolSpec
from app.services.sandbox.layout import CommandClass
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import Family, Registry, TurnContext
from tests.support.controls import altered, described
from tests.support.stage import FakeClock, Stage, typing_tool
from tests.unit.agent.test_gate import Screen

SPECS = {spec.name: spec for spec in registry().specs}
DATA = Path(__file__).resolve().parents[3] / "data" / "words"
ROWS = [json.loads(line) for line in (DATA / "rows.jsonl").read_text("utf-8").splitlines()]
ORDERS = [json.loads(line) for line in (DATA / "orders.jsonl").read_text("utf-8").splitlines()]
TASKS = [json.loads(line) for line in (DATA / "tasks.jsonl").read_text("utf-8").splitlines()]


def _decided(row: dict[str, Any], folder: Path, **more: Any) -> Any:
    told = dict(row.get("seen", {}))
    told |= {name: frozenset(told[name]) for name in ("states",) if name in told}
    told |= {name: tuple(told[name]) for name in ("words",) if name in told}
    flags = {f"is_{name}": told.pop(name, False) for name in ("own", "terminal", "dialog")}
    seen = (described(**told, **flags),) if told else ()
    lines = {seen[0].window.key: row["typed"]} if seen and "typed" in row else {}
    tainted = (row["tainted"],) if "tainted" in row else ()
    provenance = Provenance(
        tainted,
        row["said"],
        typed={row["seen"]["app"]: tuple(row["wrote"])} if "wrote" in row else {},
        instructions=row["said"],
        lines=lines,
        terminals=frozenset(row.get("terminals", ())),
    )
    around = PolicyDeps(own_keys=("ctrl+alt+escape",), tools=tuple(SPECS.values()), **more)
    policy = Policy(folder, Mode(row.get("mode", "ask")), surroundings=around, persons=folder / "none.toml")
    return policy.decide(ToolCall("c1", row["tool"], row["args"]), SPECS[row["tool"]], seen, provenance)


@pytest.mark.parametrize("row", ROWS, ids=[f"{at}" for at in range(1, len(ROWS) + 1)])
def test_words_permit_what_they_name_and_nothing_else(row: dict[str, Any], tmp_path: Path) -> None:
    assert _decided(row, tmp_path).decision.value == row["expect"], row


_ACTS = (
    {"tool": "computer_click", "args": {"target": "Send"}, "seen": {"app": "mail", "role": "button", "name": "Send"}},
    {"tool": "execute_command", "args": {"command": "touch hit"}},
    {"tool": "delete_file", "args": {"path": "~/Documents/thesis.txt"}},
    {"tool": "write_file", "args": {"path": "~/Documents/thesis.txt", "content": "gone"}},
)


@pytest.mark.parametrize("row", ORDERS, ids=[row["said"] for row in ORDERS])
def test_only_instructions_permit_and_no_story_warning_list_or_outcome(row: dict[str, Any], tmp_path: Path) -> None:
    decided = [_decided({**act, "said": row["said"]}, tmp_path).decision for act in _ACTS]
    assert decided.count(Decision.ALLOW) == row["allows"], decided


class SandboxOnly:
    """Knows every command as one that stays in the sandbox."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        return CommandClass(False, True, False, False) if call.has("command") else None


def _asked_in(task: dict[str, Any], said: str, folder: Path) -> int:
    rows = ({**act, "said": said} for act in task["acts"])
    return sum(_decided(row, folder, commands=SandboxOnly()).decision is not Decision.ALLOW for row in rows)


@pytest.mark.parametrize("task", TASKS, ids=[task["task"] for task in TASKS])
def test_an_ordinary_task_asks_for_nothing_that_it_names(task: dict[str, Any], tmp_path: Path) -> None:
    assert _asked_in(task, task["task"], tmp_path) == 0


@pytest.mark.parametrize(
    ("said", "runs"),
    [
        ("Run main.py.", True),
        ('Run "main.py".', True),
        ('Run main.py. Do not run "main.py" on friday.', False),
        ('Run notes.py. Do not run "main.py".', False),
        ('Run notes.py. Never run "main.py".', False),
        ('Run notes.py. Then write a mail that says "main.py".', False),
        ('Run notes.py. Then tell me what "main.py" holds.', False),
    ],
)
def test_only_the_sentence_that_names_a_program_runs_it(said: str, runs: bool, tmp_path: Path) -> None:
    row = {"said": said, "tool": "execute_command", "args": {"command": "python main.py"}}
    assert (_decided(row, tmp_path, commands=SandboxOnly()).decision is Decision.ALLOW) is runs


@pytest.mark.parametrize(
    ("said", "tool", "name", "decision"),
    [
        ("Compare ~/a.txt with ~/b.txt and delete ~/b.txt.", "delete_file", "b.txt", Decision.ALLOW),
        ("Compare ~/a.txt with ~/b.txt and delete ~/b.txt.", "delete_file", "a.txt", Decision.ASK),
        ("Read ~/a.txt and write a summary to ~/b.txt.", "write_file", "b.txt", Decision.ALLOW),
        ("Read ~/a.txt and write a summary to ~/b.txt.", "write_file", "a.txt", Decision.ASK),
        ("In ~/a.txt change one to two.", "write_file", "a.txt", Decision.ALLOW),
    ],
)
def test_only_the_files_behind_the_verb_are_its_objects(
    said: str, tool: str, name: str, decision: Decision, tmp_path: Path
) -> None:
    content = {"content": "x"} if tool == "write_file" else {}
    row = {"said": said, "tool": tool, "args": {"path": f"~/{name}", **content}}
    assert _decided(row, tmp_path).decision is decision


@pytest.mark.parametrize(
    ("said", "command", "runs"),
    [
        ("Run main.py and look at wipe.sh.", "python3 main.py", True),
        ("Run main.py and look at wipe.sh.", "bash wipe.sh", False),
        ("Run main.py, compare wipe.sh with it.", "bash wipe.sh", False),
        ("Run main.py like wipe.sh.", "bash wipe.sh", False),
        ("Look at main.py and run wipe.sh.", "bash wipe.sh", True),
        ("Look at main.py and run wipe.sh.", "python3 main.py", False),
        ("Run main.py and look at the tests.", "make test", False),
        ("Open the list and run the unit tests.", "make test", True),
        ("Cat a.txt and look at b.txt.", "cat b.txt", False),
    ],
)
def test_only_the_program_behind_the_verb_runs(said: str, command: str, runs: bool, tmp_path: Path) -> None:
    row = {"said": said, "tool": "execute_command", "args": {"command": command}}
    assert (_decided(row, tmp_path, commands=SandboxOnly()).decision is Decision.ALLOW) is runs


def test_what_words_permit_is_noted_as_such(tmp_path: Path) -> None:
    assert _decided(ROWS[0], tmp_path).rule == RULE


_PLAIN = {**ROWS[0], "said": "go on"}


def test_a_rule_of_this_run_allows_what_would_be_asked(tmp_path: Path) -> None:
    allowed = ("tool=computer_click control='Sign up'",)
    assert _decided(_PLAIN, tmp_path).decision is Decision.ASK
    assert _decided({**_PLAIN, "tainted": "screen"}, tmp_path, allowed=allowed).decision is Decision.ALLOW
    other = {**_PLAIN, "seen": {**_PLAIN["seen"], "name": "Delete"}}
    assert _decided(other, tmp_path, allowed=allowed).decision is Decision.ASK


def test_a_rule_of_this_run_loosens_no_denial(tmp_path: Path) -> None:
    own = {**_PLAIN, "seen": {**_PLAIN["seen"], "own": True}}
    assert _decided(own, tmp_path, allowed=("tool=computer_click",)).decision is Decision.DENY


@pytest.mark.parametrize(
    "text",
    ["", "tool", "tool=computer_klick", "then=deny tool=computer_click", "kind=sends", "tainted=true", "control='x"],
)
def test_a_rule_that_cannot_be_used_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadRules):
        _decided(_PLAIN, tmp_path, allowed=(text,))


def test_a_rule_of_the_person_that_asks_asks_whatever_the_words_say(tmp_path: Path) -> None:
    (tmp_path / "none.toml").write_text('[[rule]]\nthen = "ask"\ncontrol = "Sign up"\n', encoding="utf-8")
    assert _decided(ROWS[0], tmp_path).decision is Decision.ASK


class Shell:
    """Opens a terminal, new or not, and keeps what reaches it."""

    def __init__(self, *, is_new: bool, fails: int) -> None:
        self.typed = ""
        self._is_new = is_new
        self._fails = fails

    async def open(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return ToolResult(True, "open_app", {"window": "w1", "new_terminal": self._is_new}, "Opened.")

    async def type(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self._fails -= 1
        if self._fails >= 0:
            return ToolResult(False, "tool_error", {}, "The window has changed.")
        self.typed += call.text("text")
        return ToolResult(True, "typed", {}, "Typed.")

    async def key(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.typed += f"<{call.text('keys')}>"
        return ToolResult(True, "pressed", {}, "Pressed.")


_SHELL = Family(
    Shell,
    (
        ToolSpec("open_app", "Fake.", Effect.DESKTOP, Shell.open, aim=ScreenAim.PROGRAM, opens="name"),
        typing_tool(Shell.type),
        ToolSpec(
            "computer_key",
            "Fake.",
            Effect.DESKTOP,
            Shell.key,
            attrs=(Param("keys", required=True),),
            aim=ScreenAim.FOCUS,
            pressed="keys",
        ),
    ),
)
_OPEN, _RETURN = "<open_app/>", '<computer_key keys="Return"/>'


def _type(text: str) -> str:
    return f'<computer_type text="{text}"/>'


@pytest.mark.parametrize(
    ("calls", "more", "reached"),
    [
        ((_OPEN, _type("make"), _RETURN), {}, "make<Return>"),
        ((_OPEN, _type("make"), _RETURN, _type("make"), _RETURN), {}, "make<Return>make<Return>"),
        ((_OPEN, _type("make x"), _RETURN), {}, "make x"),
        ((_type("make"), _RETURN), {}, "make"),
        ((_OPEN, _type("make"), _RETURN), {"is_new": False}, "make"),
        # After a failure nobody knows how much was typed.
        ((_OPEN, _type("make"), _type("make"), _RETURN), {"fails": 1}, "make"),
        ((_OPEN, _type("make"), _RETURN), {"is_own": False}, "make"),
    ],
)
async def test_a_named_command_runs_where_the_line_is_known(
    calls: tuple[str, ...], more: dict[str, bool | int], reached: str, tmp_path: Path
) -> None:
    await _plays(calls, more, reached, tmp_path, attended=False)


async def _plays(
    calls: tuple[str, ...], more: dict[str, bool | int], reached: str, tmp_path: Path, *, attended: bool
) -> None:
    shell = Shell(is_new=bool(more.get("is_new", True)), fails=int(more.get("fails", 0)))
    registry = Registry(SAY, _SHELL)
    stage = Stage(
        tmp_path,
        *calls,
        "Done.",
        registry=registry,
        executor=Executor(registry, [Speech(), shell], FakeClock(), seed=1),
        resolve=Screen(described("sh", "xterm", is_terminal=True, is_launcher=True, ref="w1")),
        attended=attended,
    )
    task = "In the terminal run: make"
    await stage.send(task, own=task if more.get("is_own", True) else "")
    assert shell.typed == reached


class Listener:
    """Answers every question alike, and keeps what was asked about."""

    def __init__(self, stage: Stage, *, allow: bool = False) -> None:
        self.asked: list[str] = []
        self._stage, self._allow = stage, allow
        stage.session.subscribe(self._hear)

    def _hear(self, event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            self.asked.append(event.detail)
            self._stage.session.answer(event.approval_id, allow=self._allow)


async def test_what_follows_an_escape_asks_until_the_line_is_given_up(tmp_path: Path) -> None:
    shell, registry = Shell(is_new=True, fails=0), Registry(SAY, _SHELL)
    keys = [f'<computer_key keys="{one}"/>' for one in ("ctrl+e", "Escape", "ctrl+e", "ctrl+c", "ctrl+e")]
    stage = Stage(
        tmp_path,
        _OPEN,
        *keys[:3],
        _type("ls"),
        *keys[3:],
        _type("ls"),
        "Done.",
        registry=registry,
        executor=Executor(registry, [Speech(), shell], FakeClock(), seed=1),
        resolve=Screen(described("sh", "xterm", is_terminal=True, is_launcher=True, ref="w1")),
        attended=True,
    )
    listener = Listener(stage, allow=True)
    await stage.send("Look at the xterm.", own="Look at the xterm.")
    assert listener.asked == ["Escape", "ctrl+e", "ls"]
    assert shell.typed == "<ctrl+e><Escape><ctrl+e>ls<ctrl+c><ctrl+e>ls"


async def test_a_yes_for_an_editor_covers_no_other_file_that_came_up_meanwhile(tmp_path: Path) -> None:
    shell, registry = Shell(is_new=True, fails=0), Registry(SAY, _SHELL)
    xterm = described("sh", "xterm", is_terminal=True, ref="w1", is_occupied=True)
    notes, profile = (
        altered(xterm, fronts=(TerminalFront((FrontProgram("nano", (f"/n/{name}",)),)),))
        for name in ("notes.txt", ".bashrc")
    )
    stage = Stage(
        tmp_path,
        '<computer_key keys="ctrl+s"/>',
        "Done.",
        registry=registry,
        executor=Executor(registry, [Speech(), shell], FakeClock(), seed=1),
        resolve=Screen(notes, profile),
        attended=True,
    )
    listener = Listener(stage, allow=True)
    await stage.send("Go on.", own="Go on.")
    assert (listener.asked, shell.typed) == (["ctrl+s"], "")


_RUN, _OTHER = '<run command="make"/>', '<run command="make install"/>'
_TASK = "Run: make"


@pytest.mark.parametrize(
    ("calls", "own", "asked", "ran"),
    [
        ((_RUN,), _TASK, 0, ["run make"]),
        # What was pasted, dropped, attached, or sent by another program says nothing.
        ((_RUN,), "", 1, []),
        ((_RUN, _OTHER), _TASK, 1, ["run make"]),
        # A no may take back what the words named.
        ((_OTHER, _RUN), _TASK, 2, []),
    ],
)
async def test_where_somebody_is_there_their_own_words_are_asked_for_nothing_that_they_name(
    calls: tuple[str, ...], own: str, asked: int, ran: list[str], tmp_path: Path
) -> None:
    stage = Stage(tmp_path, *calls, "Done.")
    person = Listener(stage)
    await stage.send(_TASK, own=own)
    assert (len(person.asked), stage.bench.done) == (asked, ran)


async def test_words_permit_for_their_own_turn_only(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _RUN, "Done.", _RUN, "Done.")
    person = Listener(stage)
    await stage.send(_TASK, own=_TASK)
    await stage.send("Go on.", own="Go on.")
    assert (len(person.asked), stage.bench.done) == (1, ["run make"])


async def test_words_that_are_not_the_persons_own_end_what_the_others_permit(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<long name="a"/>', _RUN, "Done.", "Done.")
    person = Listener(stage)
    turn = asyncio.ensure_future(stage.send(_TASK, own=_TASK))
    await stage.bench.began.wait()
    pasted = asyncio.ensure_future(stage.session.send("Never mind."))
    await asyncio.sleep(0)
    stage.bench.hold.set()
    await asyncio.gather(turn, pasted)
    assert (len(person.asked), stage.bench.done) == (1, ["long a", "long a over"])


@pytest.mark.parametrize(
    ("said", "decision"),
    [("click Zap them", Decision.ALLOW), ("what is this", Decision.ASK), ("click Zap", Decision.ASK)],
)
def test_a_button_of_unknown_effect_needs_no_answer_where_its_whole_name_is_named(
    said: str, decision: Decision, tmp_path: Path
) -> None:
    button = described(
        "Photos", "yad", "button", "Zap them", is_dialog=True, words=("Really?",), buttons=("Cancel", "Zap them")
    )
    call = ToolCall("c1", "computer_click", {"target": "Zap them"})
    provenance = Provenance(said=said, instructions=said)
    assert Policy(tmp_path).decide(call, SPECS["computer_click"], (button,), provenance).decision is decision
