"""Say in words what a call would do and why the policy decided so, for the person who is asked and for the model.

All words are in `resources/policy` (`asking.toml`, `sentences.toml`); this module fills them in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from string import Formatter, Template
from typing import Any
from urllib.parse import urlsplit

from app.agent.policy.values import Action, Consequence, Mode, Provenance
from app.base import resources
from app.base.texts import clip_line
from app.protocol.spec import Effect


def table(name: str) -> Mapping[str, Any]:
    """Return a file of `resources/policy` by its stem. Raises OSError or ValueError if it cannot be read."""
    return resources.table(f"policy/{name}.toml", resources.Table)


def by_tool(entries: Mapping[str, Any], tool: str) -> Any:
    """A tool's entry of a table whose keys are names or patterns; its own name wins, then the first that fits."""
    if tool in entries:
        return entries[tool]
    return next((value for pattern, value in entries.items() if fnmatchcase(tool, pattern)), None)


_SHOWN_CHARS = 160
KINDS_IN_ORDER = (
    "own", "password", "secret", "starts", "session", "inner", "odd", "launches", "terminal", "outward", "irreversible",
    "privileged", "persists", "outside", "carries", "unclear", "submits", "closes", "crafted address", "new host",
    "private unasked", "typed to others",
)  # fmt: skip


def sentence(template: str, act: Action, mode: Mode, provenance: Provenance) -> str:
    """A rule's sentence with its names filled in."""
    fields = {
        **_fields(act),
        "what": what(act),
        "mode": mode.value,
        "app": act.control.window.app,
        "command": clip_line(act.command, _SHOWN_CHARS),
        "personal": ", ".join(sources(provenance.personal)),
        "source": ", ".join(sources(provenance.tainted_by)),
        "secret": ", ".join(provenance.secrets),
    }
    return Template(template).safe_substitute(fields)


def _fields(act: Action) -> dict[str, str]:
    words, control = table("sentences"), act.control
    return {
        "tool": act.tool,
        "does": words["does"].get(act.effect.value, act.effect.value),
        "path": _first(act.paths),
        "host": _first(act.hosts),
        "control": _called(control.name or control.scene.default, words["unnamed"]),
        "button": _called(control.name, "") if "button" in control.role else "",
        "window": _called(control.window.title, words["unknown_window"]),
        "keys": clip_line(" ".join(act.keys), _SHOWN_CHARS),
    }


def what(act: Action) -> str:
    """Return what the call would do, in one clause that begins a sentence."""
    words = table("sentences")
    fields = {**_fields(act), "opened": _first(act.paths) or _called(act.control.name, words["unnamed"])}
    given = {name: clip_line(value, _SHOWN_CHARS) for name, value in act.arguments.items() if isinstance(value, str)}
    named = _filled(words["named"].get(act.tool, ()), {**given, **fields})
    return named or Template(_template(act)).safe_substitute(fields)


def who(act: Action) -> str:
    """Return who is acted on: the window and its program, the host, the place."""
    control = act.control
    window = clip_line(control.window.title, _SHOWN_CHARS)
    if window or control.window.app:
        return f"{window} ({control.window.app})" if window and control.window.app else window or control.window.app
    return _first(act.hosts) or _first(act.paths)


def sources(tainted_by: Iterable[str]) -> tuple[str, ...]:
    """Whose words were read, by the names people know."""
    known = table("sentences")["sources"]
    return tuple(known.get(source, source) for source in tainted_by)


def undo(act: Action) -> str:
    """Return what can be taken back afterwards."""
    words = table("sentences")["undo"]
    if act.tool in words["tools"] and Effect.SETTINGS in act.effects:
        return str(words["tools"][act.tool])
    for kind in KINDS_IN_ORDER:
        if kind in act.kinds and kind in words:
            return str(words[kind])
    return str(words.get(act.effect.value, ""))


def _template(act: Action) -> str:
    words = table("sentences")["what"]
    by_kind = next((words[kind] for kind in KINDS_IN_ORDER if kind in act.kinds and kind in words), None)
    is_typed_elsewhere = act.control.window.opens_items
    if by_kind is words["terminal"] and is_typed_elsewhere:
        by_kind = words["typed"]
    plain = words.get(act.effect.value, words["other"])
    elsewhere = words.get(f"{act.effect.value} elsewhere", plain) if Consequence.FOREIGN in act.kinds else plain
    shape = by_kind if by_kind is not None else elsewhere
    if isinstance(shape, str):
        return shape
    return str(shape["keys"] if act.keys else shape["text"] if act.text else shape["press"])


def _called(text: str, unnamed: str) -> str:
    return f"“{clip_line(text, _SHOWN_CHARS)}”" if text.strip() else unnamed


def _first(values: Iterable[str]) -> str:
    return clip_line(next(iter(values), ""), _SHOWN_CHARS)


_MOST_DEEDS = 3
_OBJECT_CHARS = 60
_WHOLE_CHARS = 4_000
_AGREED_TO = ("read_back", "starts")
"""Of what is agreed to word for word."""
_SEPARATORS = frozenset({"&&", "||", ";", "|", "&", "|&", "(", ")", ";;"})
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_HOST = re.compile(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+)")


def question(act: Action, provenance: Provenance) -> str:
    """Return what a person is asked before a call runs: what it does, to what, where to, and the risk."""
    words = table("asking")
    only_looks = Consequence.LOOKS in act.kinds
    told = list(deeds(act.command, only_looks=only_looks)) if act.command else [_deed(act)]
    if len(told) > _MOST_DEEDS:
        told = [*told[: _MOST_DEEDS - 1], str(words["several"]).format(count=len(told) - _MOST_DEEDS + 1)]
    joined = str(words["and"]).join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
    return str(words["frame"]).format(deeds=joined, risk=_risk(act, provenance))


def _risk(act: Action, provenance: Provenance) -> str:
    """The weightiest consequence, and whose words were read before."""
    words, kinds = table("asking")["risk"], {str(kind) for kind in act.kinds}
    order = (*KINDS_IN_ORDER, "leaves", "reaches out", "unsandboxed", "unknown")
    first = next((str(words[kind]) for kind in order if kind in kinds and kind in words), "")
    if provenance.secrets and act.hosts:
        return first + str(words["secret_read"]).format(secret=", ".join(provenance.secrets))
    others = sources(provenance.tainted_by)
    return first + (str(words["read"]).format(source=_listed(others)) if others else "")


def _deed(act: Action) -> str:
    """Return what a call that is no command does."""
    words, sentences_ = table("asking"), table("sentences")
    control, given = (
        act.control,
        {name: str(value) for name, value in act.arguments.items() if isinstance(value, str | int | float)},
    )
    whole = {name: clip_line(given[name], _WHOLE_CHARS) for name in _AGREED_TO if name in given}
    fields: dict[str, str] = {
        **{name: clip_line(value, _OBJECT_CHARS) for name, value in given.items()},
        **whole,
        "tool": act.tool.replace("_", " "),
        "control": _called(control.name or control.scene.default or given.get("target", ""), sentences_["unnamed"]),
        "button": _called(control.name, "") if "button" in control.role else "",
        "window": _called(control.window.title, control.window.app or sentences_["unknown_window"]),
        "host": _listed(act.hosts),
        "keys": " ".join(act.keys) or given.get("keys", ""),
    }
    if act.paths and "path" not in given:
        fields["path"] = _listed([_short_path(one) for one in act.paths])
    elif "path" in given:
        fields["path"] = _short_path(given["path"])
    if act.text and "text" not in given:
        fields["text"] = clip_line(act.text, _OBJECT_CHARS)
    templates = by_tool({name: one for name, one in words["tools"].items() if name != "*"}, act.tool)
    if templates is None:
        is_pointed = act.effect.value == "desktop" and not act.text
        templates = words["tools"]["*"] if is_pointed else [words["effects"][act.effect.value]]
    return _filled(templates, fields) or str(words["effects"][act.effect.value]).format_map({**fields, "host": ""})


def deeds(command: str, *, only_looks: bool) -> Iterator[str]:
    """Return what each program of a shell command does, a phrase each; those that only look are left out beside others.

    Where nothing but looking can be read out of a command that does more, the command itself stands in the sentence.
    """
    found = list(_phrases(command))
    weighty = [phrase for is_mild, phrase in found if not is_mild]
    if weighty or (found and only_looks):
        yield from dict.fromkeys(weighty or [phrase for _, phrase in found])
    else:
        yield str(table("asking")["unknown"]).format(command=clip_line(command, _OBJECT_CHARS))


def _phrases(command: str) -> Iterator[tuple[bool, str]]:
    """Each program's phrase, with whether it only looks."""
    try:
        lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        tokens = [*lexer, ";"]
    except ValueError:  # because a quotation may be open
        return
    if tokens[0] in table("asking")["shell_words"] or any(token.startswith("<<") for token in tokens):
        return
    if "$(" in command or "`" in command:
        yield False, str(table("asking")["hidden"])
    program, at = list[str](), 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if token in _SEPARATORS:
            yield from _program(program)
            program = []
        elif set(token) <= set("<>&|"):
            if program and program[-1].isdigit():
                program.pop()
            target, at = tokens[at] if at < len(tokens) else "", at + 1
            if ">" in token and not target.isdigit() and target != "/dev/null":
                yield False, f"write {_short_path(target)}"
        else:
            program.append(token)


def _program(given: list[str]) -> Iterator[tuple[bool, str]]:
    words = table("asking")
    wrappers, is_admin = words["wrappers"], False
    while given and (_ASSIGNED.match(given[0]) or Path(given[0]).name in wrappers["names"] or given[0].startswith("-")):
        is_admin |= Path(given.pop(0)).name in wrappers["admin"]
    if not given or Path(given[0]).name in wrappers["silent"]:
        return
    name, rest = Path(given[0]).name, [one for one in given[1:] if not one.startswith("-")]
    if name in words["interpreters"] and {"-c", "-e"} & set(given):
        yield False, str(words["inline"])
        return
    if name == "find" and set(words["acting"]) & set(given):
        yield False, str(words["unknown"]).format(command=clip_line(" ".join(given), _OBJECT_CHARS))
        return
    known = words["programs"]
    both = f"{name} {rest[0]}" if rest else ""
    if both in known:
        rest = rest[1:]
    templates = known.get(both) or by_tool(known, name)
    phrase = _filled([*templates, *known["*"]], {"program": name, **_objects(rest)})
    yield name in wrappers["mild"] and not is_admin, phrase + (str(words["admin"]) if is_admin else "")


def _objects(rest: Sequence[str]) -> dict[str, str]:
    """A program's words, as the templates call them."""
    hosts = [urlsplit(one).hostname or "" for one in rest if "://" in one]
    hosts = hosts or [found[1] for one in rest if (found := _HOST.fullmatch(one))]
    return {
        "all": _listed([_short_path(one) for one in rest]),
        "most": _listed([_short_path(one) for one in rest[:-1]]),
        "all_but_first": _listed([_short_path(one) for one in rest[1:]]),
        "first": _short_path(rest[0]) if rest else "",
        "last": _short_path(rest[-1]) if rest else "",
        "words": clip_line(" ".join(rest), _OBJECT_CHARS),
        "more": clip_line(" ".join(rest[1:]), _OBJECT_CHARS),
        "host": _listed([host for host in hosts if host]),
    }


def _filled(templates: Iterable[str], fields: Mapping[str, str]) -> str:
    """The first template all of whose names are known, filled in; empty where there is none."""
    for template in templates:
        names = [name for _, name, _, _ in Formatter().parse(template) if name]
        if all(fields.get(name) for name in names):
            return template.format_map(fields)
    return ""


def _short_path(text: str) -> str:
    """A path as a person writes it, `~` for their folder; a pattern for everything in a folder says so."""
    words = table("asking")
    text = text.removesuffix(":")
    if text.rstrip("/") in (".", ".."):
        return str(words["here" if text.startswith("./") or text == "." else "above"])
    if text in ("*", "./*"):
        return str(words["everything"]).format(folder=words["here"])
    if text.endswith("/*"):
        return str(words["everything"]).format(folder=_short_path(text[:-2]))
    home = str(Path.home())
    return clip_line(f"~{text[len(home) :]}" if text.startswith(f"{home}/") else text, _OBJECT_CHARS)


def _listed(values: Sequence[str]) -> str:
    """`a`, `a and b`, `a and 3 more`."""
    words = table("asking")
    if len(values) > _MOST_DEEDS:
        return str(words["many"]).format(first=values[0], count=len(values) - 1)
    return str(words["and"]).join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values)
