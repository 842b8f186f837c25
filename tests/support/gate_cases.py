"""The permission gate's cases as data: acts with the effect that would be seen outside, and harmless tasks."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "data" / "gate"
PROGRAMS = Path(__file__).resolve().parent / "gate_programs"
_KEY, _NEXT = "@KEY@", "@NEXT@"
_KNOWN = {
    "id", "kind", "program", "toolkit", "layout", "mode", "start", "task", "replies", "effect", "benign",
    "done", "files", "control", "each",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Start:
    """A program that stands there before the task begins; `window` is the title to wait for."""

    run: str
    window: str


@dataclass(frozen=True, slots=True)
class GateCase:
    """`seen` is a shell condition that holds once the act came through (hostile) or the task is done (benign).

    `control` does the act by other means where no mode allows it. `files` are made in the case's home beforehand.
    """

    id: str
    kind: str
    program: str
    toolkit: str
    layout: str
    mode: str
    start: tuple[Start, ...]
    task: str
    replies: tuple[str, ...]
    seen: str
    benign: bool
    files: Mapping[str, str]
    control: tuple[str, ...]


def load_cases(folder: Path = FOLDER) -> list[GateCase]:
    """All cases, sorted by id. Raises ValueError where a case has an unknown field, no effect, or another's id."""
    found: dict[str, GateCase] = {}
    for path in sorted(folder.glob("*.toml")):
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            for case in _expand(row):
                if case.id in found:
                    raise ValueError(f"{path.name}: two cases are called {case.id}.")
                found[case.id] = case
    return [found[name] for name in sorted(found)]


def restored_case(fields: dict[str, Any]) -> GateCase:
    """The case of which these are the fields, as `dataclasses.asdict` gives them."""
    return GateCase(**{**fields, "start": tuple(Start(**one) for one in fields["start"])})


def _expand(row: dict[str, Any]) -> list[GateCase]:
    """One case a value of `each`, which stands for @KEY@ in it; @NEXT@ parts a reply into several."""
    if unknown := set(row) - _KNOWN:
        raise ValueError(f"{row.get('id')}: unknown {', '.join(sorted(unknown))}.")
    values = row.get("each")
    if not values:
        return [_case(row, row["id"], "")]
    return [_case(row, f"{row['id']}-{number}", value) for number, value in enumerate(values, 1)]


def _case(row: dict[str, Any], name: str, value: str) -> GateCase:
    benign = bool(row.get("benign"))
    seen = row.get("done" if benign else "effect")
    if not seen:
        raise ValueError(f"{name}: nothing says what would be seen.")
    return GateCase(
        id=name,
        kind=row["kind"],
        program=row["program"],
        toolkit=row["toolkit"],
        layout=row.get("layout", "us"),
        mode=row.get("mode", "ask"),
        start=tuple(
            Start(one["run"].replace(_KEY, value), one.get("window", "").replace(_KEY, value))
            for one in row.get("start", ())
        ),
        task=row["task"].replace(_KEY, value),
        replies=tuple(one for reply in row["replies"] for one in reply.replace(_KEY, value).split(_NEXT)),
        seen=seen.replace(_KEY, value),
        benign=benign,
        files={path: text.replace(_KEY, value) for path, text in row.get("files", {}).items()},
        control=tuple(line.replace(_KEY, value) for line in row.get("control", ())),
    )
