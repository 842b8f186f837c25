"""What a model meant for a password field stands nowhere, whichever way it took: plainly, in a batch, inside a goal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.agent.deps import Nearby
from app.agent.policy import Control, Mode, Policy
from app.assembly import registry
from app.base.clock import SystemClock
from app.base.withheld import without_secrets
from app.desktop.backends import Owner
from app.desktop.choose import open_desktop
from app.desktop.desktop import Desktop
from app.protocol.call import ToolCall
from app.protocol.spec import ScreenAim
from app.tools.computer import COMPUTER, Computer
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import Registry
from app.tools.screen import SCREEN, ScreenReading
from app.tools.subagent import GOALS, Goals
from app.tools.windows import WINDOWS, WindowTools
from tests.support.archived import Kept
from tests.support.controls import BROWSER, described

CANARY = "sesame4711"
LETTERS = " ".join("sesame4711")
SPELLED = (b"sesame4711", b"s e s a m e")
_DONE = "<attempt_completion><result>I could not.</result></attempt_completion>"
_XML = {
    "computer_type": f"<computer_type>{CANARY}</computer_type>",
    "computer_key": f'<computer_key keys="{LETTERS}"/>',
    "set_value": f'<set_value ref="e1" value="{CANARY}"/>',
    "a pasted word": f'<write_clipboard>{CANARY}</write_clipboard>\n<computer_key keys="ctrl+v"/>',
    "a batch that types": f'<computer_batch><action do="type">{CANARY}</action></computer_batch>',
    "a batch of keys": f'<computer_batch><action do="key" keys="{LETTERS}"/></computer_batch>',
}
_JSON = {
    "computer_type": [{"name": "computer_type", "args": {"text": CANARY}}],
    "a batch that types": [{"name": "computer_batch", "args": {"action": [{"do": "type", "text": CANARY}]}}],
}


class _PasswordField:
    """A desktop on which everything is a password field."""

    async def seen(self, _call: ToolCall, _aim: ScreenAim) -> tuple[Control, ...]:
        return (described(BROWSER, "password text", "Password"),)

    async def shown(self) -> tuple[Owner, ...]:
        return ()

    async def picture(self, _call: ToolCall, _aim: ScreenAim) -> None:
        return None


@pytest.fixture
def desktop() -> Iterator[Desktop]:
    opened = open_desktop(dry_run=True)
    yield opened
    opened.close()


async def _written(folder: Path, desktop: Desktop, *replies: str, dialect: str = "xml") -> bytes:
    clock = SystemClock()
    near = Registry(SAY, COMPUTER, SCREEN, WINDOWS)
    hands = [Speech(), Computer(desktop), ScreenReading(desktop), WindowTools(desktop)]
    whole = Registry(SAY, COMPUTER, SCREEN, WINDOWS, GOALS)
    kept = Kept(
        folder, *replies, file="private.db", mode=Mode.YOLO, attended=False,
        registry=whole, executor=Executor(whole, [*hands, Goals(desktop)], clock),
        nearby=Nearby(near, Executor(near, hands, clock)), dialect=dialect,
        resolve=_PasswordField(), policy=Policy(folder, Mode.YOLO),
    )  # fmt: skip
    await kept.stage.send(f"Sign in with {CANARY}.")
    await kept.close()
    return b"".join(file.read_bytes() for file in folder.glob("private.db*"))


def test_every_tool_that_takes_text_is_tried() -> None:
    takes = {spec.name for spec in registry().specs if spec.typed or spec.pressed}
    assert takes - set(_XML) == {"send_command_input"}, "a command's terminal is no password field of the desktop"


@pytest.mark.parametrize("way", _XML)
@pytest.mark.parametrize("inside", [False, True], ids=["plainly", "inside a goal"])
async def test_no_way_of_typing_a_password_leaves_a_trace(
    tmp_path: Path, desktop: Desktop, way: str, inside: bool
) -> None:
    goal = [f"<computer_use>Sign me in with {CANARY}.</computer_use>"] if inside else []
    written = await _written(tmp_path, desktop, *goal, *_XML[way].split("\n"), _DONE, _DONE)
    assert b"Sign in with" in written
    assert [spelled for spelled in SPELLED if spelled in written] == []


@pytest.mark.parametrize("way", _JSON)
async def test_nor_does_a_json_batch(tmp_path: Path, desktop: Desktop, way: str) -> None:
    written = await _written(
        tmp_path, desktop, f"<execute>{json.dumps(_JSON[way])}</execute>", "I could not.", dialect="batch"
    )
    assert [spelled for spelled in SPELLED if spelled in written] == []


async def test_what_is_withheld_is_blanked_out_of_logs_and_reports_too(tmp_path: Path, desktop: Desktop) -> None:
    await _written(tmp_path, desktop, _XML["computer_type"], _DONE)
    assert without_secrets(f"crashed at {CANARY!r}") == "crashed at '[secret left out]'"
