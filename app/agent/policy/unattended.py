"""Say in advance what a scheduled task would have to ask when it runs with nobody there, and which rules allow it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.agent.policy.policy import Policy
from app.agent.policy.rules import check_lasting
from app.agent.policy.values import Action, Decision, Provenance, Verdict
from app.base.errors import ToolMisuse
from app.base.texts import for_people, shell_word
from app.base.values import dataclass
from app.protocol.call import ToolCall
from app.protocol.spec import ToolSpec

_WAITS = "Nobody is there when it runs, so this will wait for your answer:"
_MAY_WAIT = "Nobody is there when it runs, so this may wait for your answer:"
_NOBODYS_WORDS = Provenance(planned=True)
"""The task is not what the person says at that moment, so it names nothing."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An act that would wait for the person's answer. `why` is a sentence; `rule` would allow the act, "" if none can.

    `is_sure` is False if it depends on what is on the screen when the task runs.
    """

    why: str
    rule: str = ""
    is_sure: bool = True


def waiting(policy: Policy, calls: Iterable[tuple[ToolCall, ToolSpec]], specs: Sequence[ToolSpec]) -> list[Waiting]:
    """Return the calls that would wait for an answer or be denied, each described once."""
    found: dict[Waiting, None] = {}
    for call, spec in calls:
        verdict = policy.decide(call, spec, (), _NOBODYS_WORDS)
        if verdict.decision is not Decision.ALLOW:
            found[_described(policy, call, spec, verdict, specs)] = None
    return list(found)


def _described(policy: Policy, call: ToolCall, spec: ToolSpec, verdict: Verdict, specs: Sequence[ToolSpec]) -> Waiting:
    is_asked = verdict.decision is Decision.ASK and verdict.act is not None
    rule = _lasting_rule(policy, call, spec, verdict.act, specs) if is_asked and verdict.act else ""
    return Waiting(for_people(verdict.sentence), rule, is_sure=not spec.aim or verdict.decision is Decision.DENY)


def _lasting_rule(policy: Policy, call: ToolCall, spec: ToolSpec, act: Action, specs: Sequence[ToolSpec]) -> str:
    """Return the rule in short form that allows the call and may be kept; "" if there is none."""
    rule = policy.rule_for(call, spec, (), _NOBODYS_WORDS, act)
    return rule if rule and may_last(rule, specs) else ""


def may_last(rule: str, specs: Sequence[ToolSpec]) -> bool:
    """Return whether a schedule may keep the rule: only if the rule limits one known tool narrowly."""
    try:
        check_lasting([rule], specs)
    except ToolMisuse:
        return False
    return True


def told(waits: Sequence[Waiting]) -> str:
    """Return a text for the person: one opening sentence, then one line for each act in `waits`. "" if it is empty."""
    if not waits:
        return ""
    head = _WAITS if any(one.is_sure for one in waits) else _MAY_WAIT
    return "\n".join([head, *(f"- {one.why}" for one in waits)])


def command_to_add(
    schedule: str, task: str, rules: Sequence[str], until: str = "", workspace: str = "", instead_of: int = 0
) -> str:
    """Return the command that schedules the task with these rules, as it can be copied into a shell.

    `workspace` is "" where the shell's own folder is meant. `instead_of` is the id of the schedule that it replaces.
    """
    words = ["wisp", "schedule", "add", shell_word(schedule), shell_word(task)]
    words += [part for rule in rules for part in ("--allow", shell_word(rule))]
    words += ["--until", until] if until else []
    words += ["--workspace", shell_word(workspace)] if workspace else []
    return f"{f'wisp schedule remove {instead_of} && ' if instead_of else ''}{' '.join(words)}"
