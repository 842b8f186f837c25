"""`wisp policy`: show the person's rules. `wisp policy explain CALL`: what the policy decides about a call, and why.

The call is written as a model writes it: `<computer_click target="Send"/>`, or a JSON batch. Nothing runs and nothing
is looked at; what a click would find there is said by `--program`, `--role` and `--name` (a target's own words where
they are left out). Exit code 0 where all would run, 1 where something is asked or denied, 2 for no call at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from app import options as shared
from app.agent.asking import way_on
from app.agent.policy import Control, ControlWindow, Decision, Mode, Policy, Trust, Verdict
from app.base.clock import SystemClock
from app.base.errors import ToolMisuse, WispError
from app.base.values import replace
from app.desktop.backends import Owner
from app.desktop.choose import programs_here
from app.desktop.programs import choose, owner_of
from app.protocol.arguments import to_call
from app.protocol.call import Block, JsonValue, ToolCall
from app.protocol.dialects.choose import by_name
from app.protocol.message import CallClosed
from app.protocol.spec import ScreenAim, ToolSpec
from app.services.files import origins
from app.tools.computer import steps_of

_MISUSED = 2
_STOPS = 1
_BATCH = "["
_AIMS = {
    "window": "the title of the window that the call would act on",
    "program": "the program that it would act on",
    "role": "what it would press, such as button or link",
    "name": "what is written on what it would press",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = parser.add_subparsers(dest="what", metavar="WHAT")
    explain = words.add_parser(
        "explain", help="say whether Wisp would run a call, ask you, or refuse, and why; nothing runs"
    )
    explain.add_argument(
        "call", metavar="CALL", help="the call, as a model writes it, such as '<computer_click target=\"Send\"/>'"
    )
    shared.add_mode_option(explain, argparse.SUPPRESS)
    explain.add_argument(
        "--tainted",
        metavar="SOURCE",
        help="as if Wisp had read it before: screen, web, clipboard, workspace, mcp or conversation",
    )
    explain.add_argument("--secret", metavar="FILE", help="as if Wisp had read this file with keys or passwords before")
    explain.add_argument("--said", default="", help="as if you had said this")
    for name, about in _AIMS.items():
        explain.add_argument(f"--{name}", default="", help=about)
    explain.add_argument("--default", default="", help="the button that Return presses in that window")
    explain.add_argument(
        "--json", action="store_true", help="print the results for programs, as one JSON object for each call"
    )
    trust = words.add_parser(
        "trust",
        help="tell Wisp that it may believe what is in a downloaded folder, because it is yours or you have read it",
    )
    trust.add_argument(
        "folder",
        metavar="FOLDER",
        type=shared.folder,
        nargs="?",
        help="the folder; otherwise those that you trust are listed",
    )
    shared.add_mode_option(parser)


def run(options: argparse.Namespace) -> int:
    from app.assembly import commands_of, judged_by, registry

    if options.what == "trust":
        return _trusted(options.folder)
    settings = shared.settings_of(options)
    _, commands = commands_of(settings, SystemClock())
    policy = judged_by(settings, commands)
    for problem in policy.book.problems:
        print(f"wisp: {problem}", file=sys.stderr)
    return _explained(options, policy, registry().specs) if options.what else _listed(policy)


def _trusted(folder: Path | None) -> int:
    if folder is None:
        print(*origins.trusted(), sep="\n", end="\n" if origins.trusted() else "")
        if not origins.trusted():
            shared.say("You trust no downloaded folder. To trust this one: wisp policy trust .")
        return 0
    origins.trust(folder)
    shared.say("Wisp trusts {folder} now: what it reads there counts as yours.", folder=str(folder))
    return 0


def _listed(policy: Policy) -> int:
    """Print the person's rules and the mode. Returns 1 if a rule file cannot be used, else 0."""
    for decision in (Decision.DENY, Decision.ASK, Decision.ALLOW):
        for rule in policy.book.of(decision):
            conditions = ", ".join(f"{name} {' | '.join(given)}" for name, given in rule.conditions.items())
            print(f"{decision.value:5}  {rule.name:28}  {conditions}  ({rule.where})")
    shared.say("mode   {mode}. To list what Wisp may always use: wisp grants", mode=policy.mode.value)
    return int(bool(policy.book.broken))


def _explained(options: argparse.Namespace, policy: Policy, specs: Sequence[ToolSpec]) -> int:
    known = {name: spec for spec in specs for name in (spec.name, *spec.aliases)}
    trust = Trust(
        words=options.said,
        tainted_by=(options.tainted,) if options.tainted else (),
        secrets=(options.secret,) if options.secret else (),
    )
    told: list[Verdict] = []
    for block in _blocks(options.call, specs):
        spec = known.get(block.name)
        if spec is None:
            print(f"{block.name}: there is no such tool. To list them all: wisp tools")
            told.append(Verdict(Decision.DENY))
            continue
        try:
            call = to_call(spec, block)
        except WispError as error:
            print(f"{spec.name}: {error} Nothing would run.")
            told.append(Verdict(Decision.DENY))
            continue
        for step, shape in _steps(call, spec, known):
            seen = _seen(options, step, shape)
            verdict = policy.decide(step, shape, seen, trust)
            ways = _ways(policy, step, shape, seen, trust) if verdict.decision is not Decision.ALLOW else ()
            print((_as_json if options.json else _as_text)(shape, verdict, ways))
            told.append(verdict)
    if not told:
        otherwise = "There is no call in that. Write one like '<computer_click target=\"Send\"/>'."
        print(f"wisp: {shared.name_no_call(options.call, known, otherwise)}", file=sys.stderr)
        return _MISUSED
    return _STOPS if any(verdict.decision is not Decision.ALLOW for verdict in told) else 0


def _blocks(text: str, specs: Sequence[ToolSpec]) -> list[Block]:
    is_batch = text.lstrip().startswith((_BATCH, "<execute>"))
    dialect = by_name("batch" if is_batch else "xml")
    reader = dialect.reader(specs)
    given = f"<execute>\n{text}\n</execute>" if text.lstrip().startswith(_BATCH) else text
    events = [*reader.feed(given), *reader.flush()]
    return [event.block for event in events if isinstance(event, CallClosed)]


def _steps(call: ToolCall, spec: ToolSpec, known: Mapping[str, ToolSpec]) -> Iterator[tuple[ToolCall, ToolSpec]]:
    """Yield the call itself, and then each action inside it that the policy judges separately."""
    yield call, spec
    inner = {step: one for one in known.values() for step in one.steps}
    actions = call.arguments.get("action", ())
    for action in actions if isinstance(actions, (list, tuple)) else ():
        try:
            steps = steps_of(call, action)
        except ToolMisuse:  # because what is no action is never run
            continue
        yield from (
            (replace(step, name=inner[step.name].name), inner[step.name]) for step in steps if step.name in inner
        )


def _seen(options: argparse.Namespace, call: ToolCall, spec: ToolSpec) -> tuple[Control, ...]:
    """Return the control that the call would act on, as the options describe it, or else the call's own arguments."""
    if not spec.aim or spec.aim in (ScreenAim.AWAY, ScreenAim.WINDOW):
        return ()
    program = call.text("name") if spec.aim is ScreenAim.PROGRAM else options.program
    name = options.name or next((value for key in ("target", "to") if (value := call.text(key))), "")
    role = options.role or ("button" if name and spec.aim in (ScreenAim.POINT, ScreenAim.ENDS) else "")
    window = ControlWindow(title=options.window, app=program, owner=_owner(program))
    return (Control(role=role, name=name, window=window, default=options.default),)


def _owner(program: str) -> Owner:
    """An installed program by its name, or one of that name that is not installed."""
    apps = programs_here()
    try:
        return owner_of(choose(program, apps.installed(), apps.command, apps.preferred)) if program else Owner()
    except WispError:
        return Owner(program.lower(), program, (program.lower(),), (), (program.lower(),))


def _ways(policy: Policy, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], trust: Trust) -> tuple[str, ...]:
    """What would make the call run. Names are needed together; each mode was tried on the policy."""
    found: list[str] = []
    verdict = policy.decide(call, spec, seen, trust)
    if verdict.decision is Decision.ASK:
        found.append("the person's yes")
        # What could carry a secret away is asked about whatever is allowed by name.
        named = [need for need in verdict.needs if not (need.is_outward and trust.secrets)]
        found += [f"--allow {name!r}" for name in way_on(named)]
    mode = policy.mode
    for other in Mode:
        policy.switch(other)
        if policy.decide(call, spec, seen, trust).decision is Decision.ALLOW:
            found.append(f"{other.value} mode")
    policy.switch(mode)
    return tuple(found)


def _as_text(spec: ToolSpec, verdict: Verdict, ways: Sequence[str]) -> str:
    place = f" ({verdict.where})" if verdict.where else ""
    kinds = ", ".join(sorted(verdict.act.kinds)) if verdict.act else ""
    parts = [
        f"{spec.name}: {verdict.decision.value}, by {verdict.rule!r}{place}.",
        verdict.sentence,
        f"It is: {kinds}." if kinds else "",
        "" if verdict.decision is Decision.ALLOW else f"What would make it run: {'; '.join(ways) or 'nothing'}.",
    ]
    return " ".join(filter(None, parts))


def _as_json(spec: ToolSpec, verdict: Verdict, ways: Sequence[str]) -> str:
    told: dict[str, JsonValue] = {
        "tool": spec.name,
        "decision": verdict.decision.value,
        "rule": verdict.rule,
        "where": verdict.where,
        "sentence": verdict.sentence,
        "kinds": sorted(verdict.act.kinds) if verdict.act else [],
        "needs": [{"for": need.subject.value, "name": need.name} for need in verdict.needs],
        "would_run_by": list(ways),
    }
    return json.dumps(told, ensure_ascii=False)
