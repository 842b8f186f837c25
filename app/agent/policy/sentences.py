"""Why a verdict came out as it did, in words for the person and the model; the words are in `resources/policy`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from string import Template
from typing import Any

from app.agent.policy.values import Action, Mode, Provenance
from app.base import resources
from app.base.texts import clip_line


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
    "privileged", "persists", "outside", "unclear", "submits", "closes", "crafted address", "new host",
    "private unasked", "typed to others",
)  # fmt: skip


def sentence(template: str, act: Action, mode: Mode, provenance: Provenance) -> str:
    """A rule's sentence with its names filled in."""
    words = table("sentences")
    control = act.control
    fields = {
        "what": what(act),
        "does": words["does"].get(act.effect.value, act.effect.value),
        "tool": act.tool,
        "mode": mode.value,
        "path": _first(act.paths),
        "host": _first(act.hosts),
        "control": _called(control.name or control.default, words["unnamed"]),
        "window": _called(control.window, words["unknown_window"]),
        "app": control.app,
        "keys": clip_line(" ".join(act.keys), _SHOWN_CHARS),
        "command": clip_line(act.command, _SHOWN_CHARS),
        "personal": ", ".join(sources(provenance.personal)),
        "source": ", ".join(sources(provenance.tainted_by)),
        "secret": ", ".join(provenance.secrets),
    }
    return Template(template).safe_substitute(fields)


def what(act: Action) -> str:
    """What the call would do, in one clause that begins a sentence."""
    words = table("sentences")
    control = act.control
    fields = {
        "tool": act.tool,
        "does": words["does"].get(act.effect.value, act.effect.value),
        "path": _first(act.paths),
        "host": _first(act.hosts),
        "opened": _first(act.paths) or _called(control.name, words["unnamed"]),
        "control": _called(control.name or control.default, words["unnamed"]),
        "window": _called(control.window, words["unknown_window"]),
        "keys": clip_line(" ".join(act.keys), _SHOWN_CHARS),
    }
    return Template(_template(act)).safe_substitute(fields)


def who(act: Action) -> str:
    """Who is acted on: the window and its program, the host, the place."""
    control = act.control
    window = clip_line(control.window, _SHOWN_CHARS)
    if window or control.app:
        return f"{window} ({control.app})" if window and control.app else window or control.app
    return _first(act.hosts) or _first(act.paths)


def sources(tainted_by: Iterable[str]) -> tuple[str, ...]:
    """Whose words were read, by the names people know."""
    known = table("sentences")["sources"]
    return tuple(known.get(source, source) for source in tainted_by)


def undo(act: Action) -> str:
    """What can be taken back afterwards."""
    words = table("sentences")["undo"]
    for kind in KINDS_IN_ORDER:
        if kind in act.kinds and kind in words:
            return str(words[kind])
    return str(words.get(act.effect.value, ""))


def _template(act: Action) -> str:
    words = table("sentences")["what"]
    by_kind = next((words[kind] for kind in KINDS_IN_ORDER if kind in act.kinds and kind in words), None)
    is_typed_elsewhere = act.control.is_launcher and not act.control.is_terminal
    if by_kind is words["terminal"] and is_typed_elsewhere:
        by_kind = words["typed"]
    shape = by_kind if by_kind is not None else words.get(act.effect.value, words["other"])
    if isinstance(shape, str):
        return shape
    return str(shape["keys"] if act.keys else shape["text"] if act.text else shape["press"])


def _called(text: str, unnamed: str) -> str:
    return f"“{clip_line(text, _SHOWN_CHARS)}”" if text.strip() else unnamed


def _first(values: Iterable[str]) -> str:
    return clip_line(next(iter(values), ""), _SHOWN_CHARS)
