"""What the gate decided and tools did stands in the audit; passwords stand nowhere."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Control, Mode
from app.base.clock import SystemClock
from app.base.withheld import WITHHELD
from app.desktop.backends import Owner
from app.protocol.call import ToolCall, ToolResult
from app.protocol.spec import ScreenAim
from app.services.journal.audit import newest
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import Family, Registry, TurnContext
from tests.support.archived import Kept
from tests.support.controls import BROWSER, described
from tests.support.stage import texts, typing_tool


async def _audited(kept: Kept, *, modes: bool = False) -> list[tuple[str, dict[str, Any]]]:
    found = await kept.database.run(partial(newest, limit=100))
    told = [(one.entry.kind, json.loads(one.entry.details)) for one in found]
    return told if modes else [entry for entry in told if entry[0] != "mode"]


async def test_an_allowed_call_is_there_with_the_rule_that_allowed_it(tmp_path: Path) -> None:
    kept = Kept(tmp_path, '<write path="a.txt"><content>secret words</content></write>', "Done.", mode=Mode.AUTO)
    await kept.stage.send("Write it.")
    assert await _audited(kept) == [
        (
            "allowed",
            {
                "tool": "write",
                "arguments": {"path": "a.txt", "content": "[12 characters]"},
                "by": "policy",
                "rule": "mode auto",
            },
        ),
        ("done", {"tool": "write"}),
    ]
    past = await kept.newest()
    entries = await kept.database.run(partial(newest, limit=2))
    assert {entry.entry.conversation for entry in entries} == {past.id}
    await kept.close()


@pytest.mark.parametrize(("allow", "kind"), [(True, "allowed"), (False, "refused")])
async def test_the_persons_answer_is_there(tmp_path: Path, allow: bool, kind: str) -> None:
    kept = Kept(tmp_path, '<run command="make"/>', "Done.", mode=Mode.ASK)
    kept.stage.session.subscribe(
        lambda event: (
            kept.stage.session.answer(event.approval_id, allow=allow)
            if type(event).__name__ == "ApprovalWanted"
            else None
        )
    )
    await kept.stage.send("Build it.")
    (told, details), *after = await _audited(kept)
    assert [what for what, _ in after] == (["done"] if allow else [])
    assert (told, details["by"], details["tool"], details["arguments"]) == (kind, "person", "run", {"command": "make"})
    await kept.close()


async def test_where_nobody_is_there_that_is_who_refused(tmp_path: Path) -> None:
    kept = Kept(tmp_path, '<run command="make"/>', "Done.", mode=Mode.ASK, attended=False)
    await kept.stage.send("Build it.")
    ((kind, details),) = await _audited(kept)
    assert (kind, details["by"]) == ("refused", "nobody there")
    await kept.close()


async def test_what_the_persons_own_words_name_is_not_asked(tmp_path: Path) -> None:
    kept = Kept(tmp_path, '<run command="make"/>', "Done.", mode=Mode.ASK)
    await kept.stage.send("Run: make", own="Run: make")
    (kind, details), *after = await _audited(kept)
    assert (kind, details["by"], details["rule"]) == ("allowed", "policy", "mode ask")
    assert [what for what, _ in after] == ["done"]
    await kept.close()


async def test_another_mode_is_a_change_of_state(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "Yes.", mode=Mode.YOLO)
    await kept.stage.send("Are you there?")
    assert await _audited(kept, modes=True) == [("mode", {"mode": "yolo"})]
    await kept.close()


async def test_looking_is_no_change_of_state(tmp_path: Path) -> None:
    kept = Kept(tmp_path, '<read path="a.txt"/>', "Done.")
    await kept.stage.send("Read it.")
    assert await _audited(kept) == []
    await kept.close()


async def test_what_was_meant_for_a_password_field_is_taken_out_of_all_that_was_written(tmp_path: Path) -> None:
    word = 'Tr0ub4dor & "co"'
    kept = Kept(tmp_path, f"<note text='{word}'/>", f"I typed {word}.", "Yes.", file="private.db")
    await kept.stage.send(f"The word is {word}")
    WITHHELD.add(word)
    await kept.stage.send(f"Again: {word}")
    await kept.close()
    written = b"".join(file.read_bytes() for file in tmp_path.glob("private.db*"))
    assert [spelt for spelt in (b"Tr0ub4dor", b"tr0ub4dor") if spelt in written] == []
    again = Kept(tmp_path, "Hm.", file="private.db")
    await again.reopen_newest()
    words = [texts(entry.message.parts) for entry in again.stage.session.history.entries]
    assert (words[0], words[-2]) == ("The word is [secret left out]", "Again: [secret left out]")
    assert (await again.newest()).title == "The word is [secret left out]"
    await again.close()


class _PasswordField:
    """A desktop whose keyboard is in a password field."""

    async def seen(self, _call: ToolCall, _aim: ScreenAim) -> tuple[Control, ...]:
        return (described(BROWSER, "password text", "Password"),)

    async def shown(self) -> tuple[Owner, ...]:
        return ()

    async def picture(self, _call: ToolCall, _aim: ScreenAim) -> None:
        return None


class _Typist:
    async def type(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        raise AssertionError(f"{call.text('text')} was typed")


async def test_an_attempt_to_type_a_password_leaves_no_trace_of_it(tmp_path: Path) -> None:
    registry = Registry(SAY, Family(_Typist, (typing_tool(_Typist.type),)))
    executor = Executor(registry, [Speech(), _Typist()], SystemClock())
    kept = Kept(
        tmp_path,
        '<computer_type text="Tr0ub4dor"/>',
        "You type it, please.",
        file="private.db",
        mode=Mode.YOLO,
        registry=registry,
        executor=executor,
        resolve=_PasswordField(),
    )
    await kept.stage.send("Sign in.")
    ((kind, details),) = await _audited(kept)
    assert (kind, details["arguments"], details["rule"]) == (
        "refused",
        {"text": "[9 characters]"},
        "password",
    )
    await kept.close()
    written = b"".join(file.read_bytes() for file in tmp_path.glob("private.db*"))
    assert b"Tr0ub4dor" not in written
