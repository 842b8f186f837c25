"""Read and check the policy's rules, from files and from their short form, and write the rules that a person saves.

One error rejects a whole file, because a rule that was misread could let something through (SECURITY.md: "A rule that
can never fire is an error"). `policy` says when a rule holds.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from app.agent.policy.sentences import table
from app.agent.policy.values import OWN_FOLDER, Action, Consequence, Decision, Mode
from app.base import paths, resources
from app.base.errors import NeedsPerson, ToolMisuse
from app.base.values import dataclass, field
from app.protocol.spec import Effect, Param, ToolSpec, ValueType

if TYPE_CHECKING:
    from tomlkit.items import Table

_OF_THE_CALL = ("tool", "effect", "kind", "path", "host", "keys", "command", "flag")
_OF_THE_SCREEN = ("window", "app", "role", "control")
LISTS = (*_OF_THE_CALL, *_OF_THE_SCREEN, "mode")
"""Conditions that name what fits: a text, or a list of texts."""
FACTS = ("tainted", "planned", "secret", "personal", "local")
"""Conditions that are true or false."""
_KNOWN = frozenset((*LISTS, *FACTS, "name", "then", "says"))
_EXACT = {"effect": {effect.value for effect in Effect}, "mode": {mode.value for mode in Mode}}
"""Conditions whose values are written out, without * and ?."""
_KINDS = frozenset(kind.value for kind in Consequence)
_OLD_KINDS = {"walled": Consequence.SANDBOXED.value, "unwalled": Consequence.UNSANDBOXED.value}
"""Names that kinds had before, which stand in people's files: "Always" wrote them there."""
_DECISIONS = [decision.value for decision in Decision]
_WILD = re.compile(r"[*?\[]")
_LITERAL = re.compile(r"\[[*?[]\]")
_HEAD = re.compile(r"^\s*\[\[\s*rule\s*\]\]", re.MULTILINE)
_BOUNDS = "path=notes/*.md, path=*.md, host=example.com, command='git pull' or control=Save"
_LONGEST = 300
_MOST = 1000
_NEAR = 60
"""Of 100: how like a word of a rule must be to one that is known, so that it is offered."""


class BadRules(ValueError):
    """A rule file cannot be used. The sentence says where the error is and what to write instead."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. `where` is its file and line. `conditions` maps names of `LISTS` to patterns, `facts` maps names of
    `FACTS` to the value that they must have. The rule applies if all of them hold.
    """

    name: str
    then: Decision
    where: str
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    facts: Mapping[str, bool] = field(default_factory=dict)
    says: str = ""
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tool and flag names that a rule may use. If no tool is known, names are not checked."""

    tools: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()

    @classmethod
    def of(cls, specs: Sequence[ToolSpec]) -> Vocabulary:
        return cls(
            frozenset(spec.name for spec in specs),
            {alias: spec.name for spec in specs for alias in spec.aliases},
            frozenset(name for spec in specs for name in _flags_of(spec.params)),
        )

    def check(self, rule: Rule) -> None:
        """Raise BadRules if a condition can never match: a deny rule with a typing error would deny nothing."""
        for kind in rule.conditions.get("kind", ()):
            _check_known("kind", kind, _KINDS, rule.where)
        if not self.tools:
            return
        tools = rule.conditions.get("tool", ())
        for tool in tools:
            if not _is_of_a_family(tool):
                _check_known("tool", tool, self.tools, rule.where, self.aliases)
        if not any(_is_of_a_family(tool) for tool in tools):
            for flag in rule.conditions.get("flag", ()):
                _check_known("flag", flag, self.flags, rule.where)


def rules_of(text: str, source: Path | str, vocabulary: Vocabulary, *, is_ours: bool = False) -> list[Rule]:
    """Return the rules of a file. Raises BadRules at the first error."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRules(f"{source} is not TOML: {error}.") from None
    told = tree.get("rule", [])
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
        raise BadRules(f"{source}: write each rule below a line [[rule]].")
    if not is_ours and (strange := next((key for key in tree if key != "rule"), "")):
        raise BadRules(f"{source}: {strange!r} is nothing a rule file holds; write rules below lines [[rule]].")
    if len(told) > _MOST:
        raise BadRules(f"{source}: {len(told)} rules are too many, at most {_MOST}.")
    lines = _lines(text, len(told))
    places = [f"{source}:{line}" if line else f"{source}" for line in lines]
    rules = [_rule(one, where, is_ours) for one, where in zip(told, places, strict=True)]
    for rule in rules:
        vocabulary.check(rule)
    return rules


def rule_in_short(text: str, vocabulary: Vocabulary) -> Rule:
    """Read a short rule that allows something for one run: `tool=computer_click control='Sign up'`. Raises BadRules."""
    where = f"--allow {text!r}"
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise BadRules(f"{where}: {error}.") from None
    told: dict[str, Any] = {}
    for part in parts:
        name, is_given, value = part.partition("=")
        if not is_given or name not in (*LISTS, *FACTS):
            known = ", ".join((*LISTS, *FACTS))
            raise BadRules(f"{where}: write conditions like tool=computer_click control='Sign up'. Known are {known}.")
        if name in FACTS:
            told[name] = {"true": True, "false": False}.get(value, value)
        else:
            told.setdefault(name, []).append(value)
    if not told.keys() & set(LISTS):
        raise BadRules(f"{where}: a rule may not allow everything; name at least a tool.")
    rule = _rule({**told, "then": Decision.ALLOW.value, "name": "allowed for this run"}, where, is_ours=False)
    vocabulary.check(rule)
    return rule


def check_lasting(texts: Sequence[str], specs: Sequence[ToolSpec]) -> None:
    """Raise ToolMisuse unless each short rule limits one known tool narrowly: it will apply with nobody there."""
    for text in texts:
        try:
            _check_lasting(text, specs)
        except BadRules as error:
            raise ToolMisuse(f"allow: {error}") from None


def _check_lasting(text: str, specs: Sequence[ToolSpec]) -> None:
    where = f"--allow {text!r}"
    if not text.isprintable():
        raise BadRules(f"{where}: write what a schedule may do on one line, without hidden characters.")
    rule = rule_in_short(text, Vocabulary.of(specs))
    tools = rule.conditions.get("tool", ())
    if len(tools) != 1 or tools[0] not in {spec.name for spec in specs}:
        raise BadRules(f"{where}: name one tool by its whole name, as in tool=web_search.")
    known = table("calls")["lasting"]
    bounding = [(name, one) for name, all_ in rule.conditions.items() if name in known["named"] for one in all_]
    if tools[0] not in known["alone"] and not bounding:
        raise BadRules(f"{where}: say also to what, as in {_BOUNDS}.")
    if wide := next((f"{name}={one}" for name, one in bounding if not _is_narrow(name, one)), ""):
        raise BadRules(f"{where}: {wide!r} covers too much. Say it as in {_BOUNDS}.")


def _is_narrow(name: str, value: str) -> bool:
    """Return whether a condition with this value is narrow enough to allow a call with nobody there."""
    named = _LITERAL.sub("_", value)
    forms = table("calls")["lasting"]["patterns" if _WILD.search(named) else "named"]
    return name in forms and re.fullmatch(forms[name], named, re.DOTALL) is not None


def _lines(text: str, count: int) -> Sequence[int]:
    """Return the line of each `[[rule]]`, or zeros if a quoted `[[rule]]` makes the count wrong."""
    # Count to the end of the match, because it may begin with the blank lines before the rule.
    found = [text[: match.end()].count("\n") + 1 for match in _HEAD.finditer(text)]
    return found if len(found) == count else [0] * count


def _rule(told: Mapping[str, Any], where: str, is_ours: bool) -> Rule:  # noqa: FBT001 - a fact about the file
    if strange := next((key for key in told if key not in _KNOWN), ""):
        known = ", ".join(sorted(_KNOWN))
        raise BadRules(f"{where}: {strange!r} is no part of a rule.{_hint(strange, _KNOWN)} Known are {known}.")
    then = told.get("then")
    if then not in _DECISIONS:
        hint = _hint(then, _DECISIONS) if isinstance(then, str) else ""
        raise BadRules(f'{where}: then must be "deny", "ask" or "allow", not {then!r}.{hint}')
    conditions = {name: _list(told[name], name, where) for name in LISTS if name in told}
    facts = {name: _fact(told[name], name, where) for name in FACTS if name in told}
    if not conditions and not facts and then == Decision.ALLOW.value:
        raise BadRules(f"{where}: a rule may not allow everything; name at least a tool.")
    name, says = (_short(told.get(key, ""), key, where) for key in ("name", "says"))
    return Rule(name or where, Decision(then), where, conditions, facts, says, is_ours)


def _list(value: Any, name: str, where: str) -> tuple[str, ...]:
    given: list[str] = value if isinstance(value, list) else [value]
    if not given or not all(isinstance(one, str) and one and len(one) <= _LONGEST for one in given):
        raise BadRules(f"{where}: {name} must be a text or a list of texts, each of 1 to {_LONGEST} characters.")
    if name == "kind":
        return tuple(_OLD_KINDS.get(one.casefold().strip(), one) for one in given)
    known = _EXACT.get(name, set(given))
    if wrong := next((one for one in given if one not in known), ""):
        raise BadRules(f"{where}: there is no {name} {wrong!r}.{_hint(wrong, known)} Known are {_listed(known)}.")
    return tuple(given)


def _check_known(
    name: str, pattern: str, known: Collection[str], where: str, aliases: Mapping[str, str] | None = None
) -> None:
    wanted = pattern.casefold().strip()
    if (wanted in known) if not _WILD.search(wanted) else any(fnmatchcase(one, wanted) for one in known):
        return
    if real := (aliases or {}).get(wanted):
        raise BadRules(f"{where}: rules call the {name} {pattern!r} by its own name, {real!r}.")
    if _WILD.search(pattern):
        raise BadRules(f"{where}: no {name} fits {pattern!r}.{_hint(pattern, known)}")
    listed = f" Known are {_listed(known)}." if name == "kind" else ""
    raise BadRules(f"{where}: there is no {name} {pattern!r}.{_hint(pattern, known)}{listed}")


def _is_of_a_family(tool: str) -> bool:
    """Return whether the pattern names tools that exist only while Wisp runs, such as those of added tool servers."""
    return tool.casefold().startswith(tuple(table("calls")["families"]["prefixes"]))


def _hint(word: str, known: Iterable[str]) -> str:
    from rapidfuzz import process

    found = process.extractOne(word.casefold(), sorted(known), score_cutoff=_NEAR)
    return f" Did you mean {found[0]!r}?" if found else ""


def _listed(known: Iterable[str]) -> str:
    return ", ".join(sorted(known))


def _flags_of(params: Iterable[Param]) -> Iterator[str]:
    for param in params:
        if param.kind is ValueType.FLAG:
            yield param.name
        yield from _flags_of(param.attrs)


def _fact(value: object, name: str, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadRules(f"{where}: {name} must be true or false.")
    return value


def _short(value: object, name: str, where: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise BadRules(f"{where}: {name} must be a text of at most {_LONGEST} characters.")
    return value


NAME = "policy.toml"
_MOST_BYTES = 256_000
_MENDING = (
    "Until that is mended, everything but looking and talking asks first, and so does reading outside the workspace."
)
_LOOSENS = "{where}: a workspace's rules cannot allow anything; the rule {name!r} is passed over."


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules that apply. `modes` is the table of modes in Wisp's own file. `broken` is a sentence about a rule file
    that cannot be used, or ""; `problems` are all sentences for the person.
    """

    rules: tuple[Rule, ...]
    modes: Mapping[str, Any]
    broken: str = ""
    problems: tuple[str, ...] = ()

    def of(self, then: Decision) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.then is then)


def persons_file() -> Path:
    """Return the path of the person's own rules."""
    return paths.config_dir() / NAME


def workspace_file(workspace: Path) -> Path:
    """Return the path of a workspace's rules."""
    return workspace / OWN_FOLDER / NAME


def shipped_file() -> Path:
    return resources.path("policy/default.toml")


def load(workspace: Path, persons: Path | None, vocabulary: Vocabulary) -> Rulebook:
    """Load the current rules. Raises OSError or ValueError only if Wisp's own file is damaged."""
    shipped = shipped_file()
    rules = rules_of(shipped.read_text(encoding="utf-8"), shipped.name, vocabulary, is_ours=True)
    problems: list[str] = []
    broken = ""
    for source, may_allow in ((persons or persons_file(), True), (workspace_file(workspace), False)):
        try:
            found = _read(source, vocabulary)
        except BadRules as error:
            broken = broken or f"{error} {_MENDING}"
            problems.append(f"{error} {_MENDING}")
            continue
        loose = [] if may_allow else [rule for rule in found if rule.then is Decision.ALLOW]
        problems += [_LOOSENS.format(where=rule.where, name=rule.name) for rule in loose]
        rules += [rule for rule in found if rule not in loose]
    return Rulebook(tuple(rules), table("default")["modes"], broken, tuple(problems))


def _read(source: Path, vocabulary: Vocabulary) -> list[Rule]:
    """Return the rules of a file; none if the file does not exist."""
    try:
        if not source.exists():
            return []
        if not source.is_file() or source.stat().st_size > _MOST_BYTES:
            raise BadRules(f"{source} is no file of at most {_MOST_BYTES} bytes.")
        return rules_of(source.read_text(encoding="utf-8"), source, vocabulary)
    except OSError as error:
        raise BadRules(f"{source} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise BadRules(f"{source} is not UTF-8 text.") from None


def described(act: Action) -> dict[str, tuple[str, ...]]:
    """Return the values of an action that each condition is compared with, except the mode."""
    return {
        "tool": (act.tool,),
        "effect": tuple(effect.value for effect in act.effects),
        "kind": tuple(sorted(act.kinds)),
        "path": act.paths,
        "host": act.hosts or _server_of(act),
        "window": tuple(control.window.title for control in act.controls),
        "app": tuple(control.window.app for control in act.controls),
        "role": tuple(control.role for control in act.controls),
        # A control without a name is called by the button that Return would press there.
        "control": tuple(control.name or control.scene.default for control in act.controls),
        "keys": act.keys,
        "command": (act.command,) if act.command else (),
        "flag": tuple(name for name, value in act.arguments.items() if value is True),
    }


def _server_of(act: Action) -> tuple[str, ...]:
    """Return the host that the act sends to where the person's settings, not the call, choose the server."""
    is_sent = act.tool in table("calls")["lasting"]["with_host"] and Effect.NETWORK in act.effects
    try:
        found = urlsplit(str(act.arguments.get("server", ""))).hostname if is_sent else None
    except ValueError:  # because the setting may be no address
        return ()
    return (found,) if found else ()


_FIELDS = ("kind", "command", "path", "host", "app", "role", "control", "keys")
_TELLING = ("command", "path", "host", "control", "keys")
_PASSING = frozenset({Consequence.NEW_HOST, Consequence.NEW_WORDS})
"""Kinds that a host has only until the person names it."""

_MENDABLE = "Mend it, or allow this once."


def can(act: Action) -> bool:
    """Return whether a rule can describe this action. What is typed, opened or run in a terminal differs each time."""
    if act.text or act.kinds & {Consequence.TERMINAL, Consequence.LAUNCHES}:
        return False
    told = _conditions(act)
    is_short = all(len(text) <= _LONGEST for texts in told.values() for text in texts)
    return is_short and any(name in told for name in _TELLING)


def in_short(act: Action) -> str:
    """Return the short rule that allows only this action; "" if a rule would allow others of its tool as well."""
    conditions = _conditions(act)
    if not any(name in conditions for name in _TELLING):
        return ""
    told = (f"{name}={shlex.quote(one)}" for name, all_ in conditions.items() for one in all_)
    return " ".join([f"tool={act.tool}", *told])


def write(act: Action, file: Path, vocabulary: Vocabulary) -> str:
    """Add a rule that allows the act to the person's file. Returns a sentence about it. Raises NeedsPerson."""
    import tomlkit  # late, because only writing needs it

    conditions = _conditions(act)
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        rules_of(text, file, vocabulary)
        document = tomlkit.parse(text)
        rules = document.setdefault("rule", tomlkit.aot())
        rules.append(_saved_rule(tomlkit.table(), act, conditions))
        written = tomlkit.dumps(document)
        rules_of(written, file, vocabulary)
        _replace(file, written)
    except (BadRules, OSError, UnicodeDecodeError) as error:
        raise NeedsPerson(f"The rule could not be written: {error} {_MENDABLE}") from None
    return f"{file} allows this from now on."


def _saved_rule(rule: Table, act: Action, conditions: Mapping[str, list[str]]) -> Table:
    rule["name"] = f"always {act.tool}"
    rule["then"] = Decision.ALLOW.value
    rule["tool"] = act.tool
    for name, values in conditions.items():
        rule[name] = values
    return rule


def _conditions(act: Action) -> dict[str, list[str]]:
    """Return the conditions of a rule that fits only this act: for each name, the act's values word for word."""
    known = {**described(act), "kind": tuple(sorted(act.kinds - _PASSING))}
    return {name: [_literal(one) for one in known[name]] for name in _FIELDS if known[name] and all(known[name])}


def _literal(text: str) -> str:
    """Return a pattern that fits only this text."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in text)


def _replace(file: Path, text: str) -> None:
    beside = file.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.chmod(0o600)
    os.replace(beside, file)
