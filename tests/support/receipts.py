"""Plays the table of acts on a window of a toolkit, and judges each receipt by what really happened there."""

from __future__ import annotations

import queue
import re
import subprocess
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.co_process import CoProcess
from tests.support.worlds import World, world

_TABLE = Path(__file__).parents[1] / "data" / "receipts" / "acts.toml"
KITS = ("gtk3", "gtk4", "qt5", "qt6", "chromium", "tk", "xterm", "foot", "calc")
_TITLES = {"calc": "LibreOffice Calc"}
_FIRST_TEXTS = {"tk": "", "xterm": "", "foot": "", "calc": ""}
_LATE_S = 0.6
_SILENT_S = 0.3
_ACT_LIMIT_S = 25.0
"""No act takes so long: one that does is told as hung, and the next one gets another process."""
_COVER = ("xterm", "-title", "cover", "-geometry", "230x70+0+0")
_STRANGER = ("sh", "-c", "sleep 0.6; exec xterm -title stranger -geometry 20x4+900+0")


@dataclass(frozen=True)
class Act:
    """A row of the table."""

    name: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    line: str = ""
    says: str = ""
    judged: bool = True
    fails: bool = False
    is_silent: bool = False


@dataclass(frozen=True)
class Judged:
    """An act that was played. `happened`: its effect was there; `proof`: what the receipt said of it."""

    kit: str
    act: Act
    happened: bool
    proof: str
    echo: str

    @property
    def is_false_confirmed(self) -> bool:
        is_told = bool(self.act.says) and self.act.says in self.echo
        return self.proof == "confirmed" and not self.happened and not is_told

    @property
    def is_false_no_op(self) -> bool:
        return self.proof == "suspected no-op" and self.happened

    @property
    def is_unsure(self) -> bool:
        """Unverifiable though it happened."""
        return self.proof == "unverifiable" and self.happened


def acts(kit: str) -> list[Act]:
    groups = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["group"]
    rows = (
        {"is_silent": group.get("is_silent", False), **row}
        for group in groups
        if kit in group["kits"]
        for row in group["acts"]
    )
    return [Act(**row) for row in rows]


def played(kit: str, environment: Mapping[str, str], only: Collection[str] = ()) -> Iterator[Judged]:
    """Every act of the toolkit, one after the other; with `only`, those of these names and what prepares them."""
    with world(kit, environment) as shown, ExitStack() as stack:
        player = _Player(kit, environment, shown, stack)
        for act in acts(kit):
            if only and act.judged and act.name not in only:
                continue
            told = player.play(act)
            if act.judged:
                yield told


class _Player:
    """Plays on one window, by one process of ours at a time."""

    def __init__(self, kit: str, environment: Mapping[str, str], shown: World, stack: ExitStack) -> None:
        self._kit, self._environment, self._shown, self._stack = kit, environment, shown, stack
        self._title = _TITLES.get(kit, "World")
        self._others: list[subprocess.Popen[bytes]] = []
        stack.callback(self._uncover)
        self._wisp = self._started()

    def _started(self) -> CoProcess:
        wisp = self._stack.enter_context(CoProcess(self._environment, limit_s=_ACT_LIMIT_S))
        wisp("wait_for", window=self._title)
        wisp("focus_window", title=self._title)
        if text := _FIRST_TEXTS.get(self._kit, "Show note"):
            wisp("wait_for", text=text)
        return wisp

    def play(self, act: Act) -> Judged:
        self._shown.since(0.0)
        try:
            answer = self._answer(act)
        except queue.Empty:
            self._wisp.kill()
            self._wisp = self._started()
            return Judged(self._kit, act, False, "hung", f"no answer in {_ACT_LIMIT_S:.0f} s")
        lines = self._shown.since(_LATE_S if act.line else _SILENT_S)
        happened = bool(act.line) and any(re.fullmatch(act.line, line.strip(), re.IGNORECASE) for line in lines)
        if act.fails:
            return Judged(self._kit, act, bool(lines), "confirmed" if answer["ok"] else "refused", answer["echo"])
        proof = str(answer["payload"].get("proof", "")) if answer["ok"] else "failed"
        return Judged(self._kit, act, happened, proof, answer["echo"])

    def _answer(self, act: Act) -> dict[str, Any]:
        if act.tool == "(cover)":
            self._show("cover", _COVER)
        elif act.tool == "(stranger)":
            self._others.append(subprocess.Popen(_STRANGER, env=self._environment, stderr=subprocess.DEVNULL))
        elif act.tool == "(uncover)":
            self._uncover()
            return self._wisp.attempt("focus_window", title=self._title)
        else:
            try:
                return self._wisp.attempt(act.tool, self._filled(act.arguments))
            except LookupError as error:
                return {"ok": False, "echo": str(error), "payload": {}}
        return {"ok": True, "echo": "", "payload": {}}

    def _show(self, title: str, command: Sequence[str]) -> None:
        self._others.append(subprocess.Popen(command, env=self._environment, stderr=subprocess.DEVNULL))
        self._wisp("wait_for", window=title)

    def _uncover(self) -> None:
        for other in self._others:
            other.kill()
            other.wait()
        self._others.clear()

    def _filled(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with what the braces mean; a point as the value of `ref` becomes x and y."""
        filled = {name: self._meant(value) for name, value in arguments.items()}
        if "," in str(filled.get("ref", "")):
            x, y = filled.pop("ref").split(",")
            filled |= {"x": int(x), "y": int(y), "space": "screen"}
        return filled

    def _meant(self, value: Any) -> Any:
        """LookupError where nothing is called so."""
        if not str(value).startswith("{"):
            return value
        name, _, place = value.strip("{}").partition("|")
        answer = self._wisp.attempt("locate_screen_element", target=name)
        if not answer["ok"]:
            raise LookupError(answer["echo"])
        if not place:
            return str(answer["payload"]["ref"])
        x, y, width, height = answer["payload"]["box"]
        across, down = map(float, place.split(","))
        return f"{round(x + across * width)},{round(y + down * height)}"
