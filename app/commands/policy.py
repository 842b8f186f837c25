"""`wisp policy`: show the rules. `wisp policy explain CALL`: show what the policy decides about a call, and why.

The call is written as a model writes it: `<computer_click target="Send"/>`, or a JSON batch. Nothing runs and nothing
is looked at; what a click would find there is said by `--window`, `--app`, `--role` and `--name` (a target's own words
where they are left out). Exit code 0 where all would run, 1 where something is asked or denied, 2 for no call at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from app.agent.policy import (
    Control,
    ControlKeyboard,
    ControlScene,
    ControlWindow,
    Decision,
    Mode,
    Policy,
    Provenance,
    Verdict,
    call_analysis,
    sentences,
)
from app.agent.policy.sentences import table
from app.base.clock import SystemClock
from app.base.errors import ToolMisuse, WispError
from app.base.texts import clip_line
from app.base.values import dataclass, replace
from app.commands import options as shared
from app.desktop.choose import launcher_named
from app.desktop.programs import is_terminal
from app.protocol.arguments import to_call
from app.protocol.call import Block, JsonValue, ToolCall
from app.protocol.dialects.choose import by_name
from app.protocol.message import CallClosed
from app.protocol.spec import Effect, ScreenAim, ToolSpec
from app.services.files import origins
from app.tools.computer import step_of

_MISUSED = 2
_STOPS = 1
_BATCH = "["
_TERMINAL = "terminal"
_SHOWN_CHARS = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = parser.add_subparsers(dest="what", metavar="WHAT")
    explain = words.add_parser("explain", help="what would become of a call, and which rule says so")
    explain.add_argument("call", metavar="CALL", help="as a model writes it, inline XML or a JSON batch")
    shared.add_mode_option(explain, argparse.SUPPRESS)
    explain.add_argument(
        "--tainted", metavar="SOURCE", help="after reading it: screen, web, clipboard, outside, workspace, mcp"
    )
    explain.add_argument("--secret", metavar="FILE", help="after it may have read this file with keys or passwords")
    explain.add_argument("--personal", metavar="SOURCE", help="after reading the person's own: files, screen, command")
    explain.add_argument("--said", default="", help="what the person said")
    for name in ("window", "app", "role", "name"):
        explain.add_argument(f"--{name}", default="", help=f"the {name} of what it would act on")
    explain.add_argument("--default", default="", help="the default button of its dialog")
    explain.add_argument("--address", default="", help="what stands in the browser's address bar that it would act on")
    explain.add_argument("--dialog", action="append", default=[], metavar="TEXT", help="what the dialog around it says")
    explain.add_argument("--pasted", metavar="TEXT", help="what the clipboard or the selection holds")
    explain.add_argument("--json", action="store_true", help="one JSON object for each call")
    trust = words.add_parser("trust", help="what stands in a cloned or downloaded folder is yours, or you have read it")
    trust.add_argument(
        "folder", metavar="FOLDER", type=shared.folder, nargs="?", help="lists the trusted ones if left out"
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
        print("\n".join(map(str, origins.trusted())) or "None is trusted. To trust this folder: wisp policy trust .")
        return 0
    origins.trust(folder)
    print(f"{folder} is trusted: reading in it does not count as reading somebody else's words.")
    return 0


def _listed(policy: Policy) -> int:
    """Print the deny, ask and allow rules and then the mode. Returns 1 if a rule file cannot be used, else 0."""
    for decision in (Decision.DENY, Decision.ASK, Decision.ALLOW):
        for rule in policy.book.of(decision):
            conditions = ", ".join(f"{name} {' | '.join(given)}" for name, given in rule.conditions.items())
            facts = "".join(f", {name} {str(wanted).lower()}" for name, wanted in rule.facts.items())
            print(f"{decision.value:5}  {rule.name:28}  {conditions}{facts}  ({rule.where})")
    rules = {name: value for name, value in policy.book.modes[policy.mode.value].items() if isinstance(value, str)}
    kinds = policy.book.modes[policy.mode.value].get("kinds", {})
    told = ", ".join(f"{name} {value}" for name, value in {**rules, **kinds}.items())
    print(f"mode   {policy.mode.value:28}  {told}")
    return int(bool(policy.book.broken))


def _explained(options: argparse.Namespace, policy: Policy, specs: Sequence[ToolSpec]) -> int:
    known = {name: spec for spec in specs for name in (spec.name, *spec.aliases)}
    secrets = (options.secret,) if options.secret else ()
    personal = (options.personal,) if options.personal else ()
    tainted = (options.tainted,) if options.tainted else ()
    provenance = Provenance(tainted, options.said, instructions=options.said, secrets=secrets, personal=personal)
    told: list[Verdict] = []
    for block in _blocks(options.call, specs):
        spec = known.get(block.name)
        if spec is None:
            print(f"{block.name}: there is no such tool, so nothing would run.")
            told.append(Verdict(Decision.DENY))
            continue
        try:
            call = to_call(spec, block)
        except WispError as error:
            print(f"{spec.name}: {error} Nothing would run.")
            told.append(Verdict(Decision.DENY))
            continue
        for step, shape in _steps(call, spec, known):
            explained = _explanation(policy, step, shape, _seen(options, step, shape), provenance)
            print(_as_json(explained) if options.json else _as_text(explained))
            told.append(explained.verdict)
    if not told:
        otherwise = "that holds no call; write one as in '<computer_click target=\"Send\"/>'."
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
            step = step_of(call, action)
        except ToolMisuse:  # because what is no action is never run
            continue
        if acted := inner.get(step.name):
            yield replace(step, name=acted.name), acted


def _seen(options: argparse.Namespace, call: ToolCall, spec: ToolSpec) -> tuple[Control, ...]:
    """Return the control that the call would act on, as the options describe it, or else the call's own arguments."""
    if not spec.aim or spec.aim in (ScreenAim.PROGRAM, ScreenAim.AWAY, ScreenAim.WINDOW):
        return ()
    name = options.name or next((value for key in ("target", "to") if (value := call.text(key))), "")
    role = options.role or ("button" if name and spec.aim in (ScreenAim.POINT, ScreenAim.ENDS) else "")
    is_shell = role == _TERMINAL or is_terminal(options.app)
    starts, builds = launcher_named(options.app, role) if options.app else (False, False)
    return (
        Control(
            role=role,
            name=name,
            window=ControlWindow(
                title=options.window,
                app=options.app,
                is_terminal=is_shell,
                is_launcher=starts,
                builds=builds,
                is_dialog=bool(options.dialog),
            ),
            scene=ControlScene(default=options.default, words=tuple(options.dialog)),
            keyboard=ControlKeyboard(pasted=options.pasted),
            is_known=bool(role),
            address=options.address,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Explained:
    """A verdict on one call. `follows` are the sources read before the call, `brings` those whose words it adds. `ways`
    are what would make it run if it does not.
    """

    spec: ToolSpec
    verdict: Verdict
    follows: tuple[str, ...]
    brings: tuple[str, ...]
    ways: tuple[str, ...]

    @property
    def does(self) -> str:
        """Return what the call would do, and where."""
        act = self.verdict.act
        if act is None:
            return ""
        if act.effect is Effect.DESKTOP and not act.controls:
            given = ", ".join(
                f"{name} {clip_line(str(value), _SHOWN_CHARS)!r}" for name, value in act.arguments.items()
            )
            return f"It {table('sentences')['does']['desktop']}{given and f': {given}'}"
        told, where = sentences.what(act), sentences.who(act)
        return told if where in told else f"{told}: {where}"


def _explanation(
    policy: Policy, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance
) -> _Explained:
    verdict = policy.decide(call, spec, seen, provenance)
    brought = call_analysis.source_of(verdict.act, spec) if verdict.act else ""
    follows, brings = (sentences.sources(words) for words in (provenance.tainted_by, filter(None, [brought])))
    ways = () if verdict.decision is Decision.ALLOW else tuple(_ways(policy, call, spec, seen, provenance, verdict))
    return _Explained(spec, verdict, follows, brings, ways)


def _ways(
    policy: Policy, call: ToolCall, spec: ToolSpec, seen: Sequence[Control], provenance: Provenance, verdict: Verdict
) -> Iterator[str]:
    """Yield what would make the call run, such as another mode. Each was tried on the policy."""
    if verdict.decision is Decision.ASK:
        yield "the person's yes" + (", once or always" if verdict.may_remember else "")
    mode = policy.mode
    for other in Mode:
        policy.switch(other)
        if policy.decide(call, spec, seen, provenance).decision is Decision.ALLOW:
            yield f"{other.value} mode"
    policy.switch(mode)
    if provenance.tainted_by:
        spoken = policy.decide(call, spec, seen, replace(provenance, tainted_by=())).decision
        if spoken is Decision.ALLOW:
            yield "the person's next message, since nothing of others was read after it"
    own = next(
        (rule for rule in policy.book.of(verdict.decision) if rule.name == verdict.rule and not rule.is_ours), None
    )
    if own is not None:
        yield f"a change of your rule in {own.where}"


def _as_text(explained: _Explained) -> str:
    spec, verdict = explained.spec, explained.verdict
    place = f" ({verdict.where})" if verdict.where else ""
    kinds = ", ".join(sorted(verdict.act.kinds)) if verdict.act else ""
    parts = [
        f"{spec.name}: {verdict.decision.value}, by {verdict.rule!r}{place}.",
        verdict.sentence or f"{explained.does}.",
        *(verdict.act.reasons if verdict.act else ()),
        f"It is: {kinds}." if kinds else "",
        _known(verdict),
        f"It follows words of {', '.join(explained.follows)}." if explained.follows else "It follows your words alone.",
        f"It brings in words of {', '.join(explained.brings)}." if explained.brings else "",
        ""
        if verdict.decision is Decision.ALLOW
        else f"What would make it run: {'; '.join(explained.ways) or 'nothing'}.",
    ]
    return " ".join(filter(None, parts))


def _known(verdict: Verdict) -> str:
    """Return a sentence on what the verdict is based on: whether the effect is known, and the control; or ""."""
    act = verdict.act
    if act is None or act.effect is not Effect.DESKTOP or not act.controls:
        return ""
    control = act.control
    there = " ".join(filter(None, [control.role or "nothing that is described", control.name and f"“{control.name}”"]))
    kind = "in a terminal" if control.window.is_terminal else "in a launcher" if control.window.is_launcher else ""
    return f"Its effect is {act.stakes.value}: {' '.join(filter(None, [there, kind]))}."


def _as_json(explained: _Explained) -> str:
    spec, verdict = explained.spec, explained.verdict
    told: dict[str, JsonValue] = {
        "tool": spec.name,
        "decision": verdict.decision.value,
        "rule": verdict.rule,
        "where": verdict.where,
        "sentence": verdict.sentence,
        "does": explained.does,
        "kinds": sorted(verdict.act.kinds) if verdict.act else [],
        "stakes": verdict.act.stakes.value if verdict.act else "",
        "follows": list(explained.follows),
        "brings": list(explained.brings),
        "would_run_by": list(explained.ways),
    }
    return json.dumps(told, ensure_ascii=False)
