"""The table of decisions: each line is a call, what it would act on, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Control, Mode, Policy, Provenance
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry
from app.protocol.call import ToolCall
from app.protocol.spec import Effect, ToolSpec, unbound
from app.services.sandbox.layout import CommandClass, SandboxRequest, classify
from tests.support.controls import described

ROOT = Path(__file__).resolve().parents[1] / "data" / "policy"
SPECS = {spec.name: spec for spec in registry().specs} | {
    name: ToolSpec(name, "A stand-in.", effect, unbound)
    for name, effect in (("fetch", Effect.NETWORK), ("seek", Effect.NETWORK), ("keep_memory", Effect.SETTINGS))
}
OWN_KEYS = ("ctrl+alt+escape", "ctrl+alt+space")


class Judge:
    """Judges commands as the product does, with a sandbox or without one."""

    def __init__(self, folder: Path, *, sandboxed: bool) -> None:
        self._folder = folder
        self._missing = "" if sandboxed else "There is no sandbox here."

    def classify(self, call: ToolCall) -> CommandClass | None:
        if call.name != "execute_command":
            return None
        wishes = SandboxRequest(network=call.flag("network"), outside=call.flag("outside"))
        cwd = self._folder / call.text("cwd", ".")
        return classify(call.text("command"), cwd, self._folder, wishes, no_wall=self._missing)


def _rows() -> Iterator[Any]:
    for path in sorted(ROOT.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield pytest.param(json.loads(line), id=f"{path.stem}-{number}")


ROWS = list(_rows())


def policy_of(row: dict[str, Any], folder: Path) -> Policy:
    around = PolicyDeps(Judge(folder, sandboxed=not row.get("unsandboxed")), own_keys=OWN_KEYS)
    return Policy(folder, Mode(row.get("mode", "ask")), surroundings=around, persons=folder / "none.toml")


def seen_in(row: dict[str, Any]) -> tuple[Control, ...]:
    told = row.get("seen")
    if told is None:
        return ()
    texts = {name: told.get(name, "") for name in ("window", "app", "role", "name", "default", "address")}
    return (described(**texts, is_own=told.get("own", False), is_terminal=told.get("terminal", False)),)


def provenance_of(row: dict[str, Any]) -> Provenance:
    return Provenance((row["tainted"],) if "tainted" in row else (), row.get("said", ""))
