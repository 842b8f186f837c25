"""What may run, judged by what a call does to the world. Rules are data; whatever they do not name is denied."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from string import Template
from typing import Any

from app.base import paths
from app.protocol.call import ToolCall
from app.protocol.spec import ToolSpec


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Mode(StrEnum):
    ASK = "ask"
    AUTO = "auto"
    PLAN = "plan"
    YOLO = "yolo"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`sentence` says why, to the person who is asked or to the model that is denied."""

    decision: Decision
    sentence: str = ""


_INSIDE = "workspace"
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*:")


class Policy:
    """Decides about one call at a time. Relative paths belong to `workspace`; rules of another file replace ours.

    Raises OSError, ValueError or KeyError where the rules cannot be read.
    """

    def __init__(self, workspace: Path, mode: Mode = Mode.ASK, rules: Path | None = None) -> None:
        self._workspace = workspace.resolve()
        source = rules or paths.resources() / "policy" / "default.toml"
        self._rules: Mapping[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
        self.switch(mode)

    @property
    def mode(self) -> Mode:
        return self._mode

    def switch(self, mode: Mode) -> None:
        """The person chose another mode; it counts from the next call on."""
        self._mode = mode
        self._table: Mapping[str, str] = self._rules["modes"][mode.value]

    def decide(self, call: ToolCall, spec: ToolSpec) -> Verdict:
        """May this call run, must somebody be asked, or is it out of the question?"""
        rule = self._table.get(spec.effect.value, Decision.DENY.value)
        if rule != _INSIDE:
            decision = Decision(rule)
            return Verdict(decision, self._sentence(decision, spec))
        outside = self._outside(call)
        if not outside:
            return Verdict(Decision.ALLOW)
        return Verdict(Decision.ASK, self._fill("outside", spec, path=outside))

    def _sentence(self, decision: Decision, spec: ToolSpec) -> str:
        return "" if decision is Decision.ALLOW else self._fill(decision.value, spec)

    def _fill(self, name: str, spec: ToolSpec, *, path: str = "") -> str:
        does = self._rules["does"].get(spec.effect.value, spec.effect.value)
        template = Template(self._rules["sentences"][name])
        return template.substitute(mode=self._mode.value, does=does, tool=spec.name, path=path)

    def _outside(self, call: ToolCall) -> str:
        """The first path of the call that does not resolve into the workspace or our own folder; empty if none."""
        for name in self._rules["paths"]["arguments"]:
            value = call.arguments.get(name)
            for path in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(path, str) and not self._is_inside(path):
                    return path
        return ""

    def _is_inside(self, path: str) -> bool:
        """Whether the path as file tools resolve it lies in the workspace or in our own folder; unsure means no."""
        own, rest = self._rules["paths"]["own"], path
        root = self._workspace
        if path.startswith(own):
            root, rest = paths.made_dir().resolve(), path.removeprefix(own).lstrip("/\\")
        if rest.startswith("~") or _SCHEME.match(rest):
            return False
        try:
            return (root / rest).resolve().is_relative_to(root)
        except (OSError, ValueError, RuntimeError):
            return False
