"""When the event loop hangs: the stop key still works, and the watchdog ends what was started."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from Xlib import XK, X
from Xlib.display import Display
from Xlib.ext import xtest

from app.agent.agent_events import Notice
from app.assistant import assemble
from app.base.errors import Cancelled
from app.base.startup import worker_command
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.x11.virtual import VirtualDesktop
from app.protocol.call import Block
from app.settings.store import Settings
from tests.support.fixture_window import FixtureWindow
from tests.support.onlooker import Onlooker

_LIMIT_S = 60.0


async def _type_much(controller: DesktopController) -> None:
    await controller.input.type_text("The quick brown fox. " * 4000)


async def test_the_stop_key_ends_input_while_the_event_loop_hangs(desktop: VirtualDesktop) -> None:
    opened = open_desktop(environment=desktop.environment)
    stopped = threading.Event()
    opened.on_stop(stopped.set)
    with FixtureWindow("text", environment=desktop.environment), Onlooker(desktop.environment) as onlooker:
        typing = asyncio.ensure_future(opened.run(_type_much))
        await asyncio.sleep(0)
        onlooker.press_stop_key(0.2)
        noticed = stopped.wait(_LIMIT_S)  # this thread, and its loop with it, does nothing else
        ended_while_hanging = not typing.done() and noticed
        seen = onlooker.seen()
        held, until = seen.held, time.monotonic() + _LIMIT_S
        while held and time.monotonic() < until:  # because the key that was down at the stop goes up just after it
            held = onlooker.seen().held
        with suppress(Cancelled):
            await typing
        opened.close()
    assert ended_while_hanging
    assert (seen.sent > 0, held) == (True, 0)


@pytest.mark.long
async def test_the_watchdog_ends_commands_when_the_loop_does_not_notice_the_stop(
    desktop: VirtualDesktop, tmp_path: Path
) -> None:
    assistant = assemble(Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {}))
    told: asyncio.Queue[str] = asyncio.Queue()
    assistant.subscribe(lambda event: told.put_nowait(event.sentence) if isinstance(event, Notice) else None)
    await assistant.send("wait 0 seconds")
    started = await assistant.run(Block("c1", "execute_command", args={"command": "sleep 600", "background": True}))
    assert started.ok, started.llm_echo
    running = [process for process in psutil.Process().children(recursive=True) if process.name() == "sleep"]
    assert running
    threading.Thread(target=assistant._desktop.stop).start()  # as the stop key's thread does
    gone, alive = psutil.wait_procs(running, timeout=_LIMIT_S)  # the loop hangs here
    assert (len(gone) > 0, alive) == (True, [])
    sentence = await asyncio.wait_for(told.get(), _LIMIT_S)
    assert re.search("[1-9]", sentence)  # how many it ended
    await assistant.close()


def test_keys_that_a_killed_program_held_are_let_go(desktop: VirtualDesktop) -> None:
    watched = subprocess.Popen(
        worker_command("watchdog", str(os.getpid())),
        env={**os.environ, **desktop.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    display = Display(desktop.environment["DISPLAY"])
    keycode = display.keysym_to_keycode(XK.XK_Shift_L)
    xtest.fake_input(display, X.KeyPress, keycode)
    xtest.fake_input(display, X.ButtonPress, 1)
    display.sync()
    told, _ = watched.communicate(timeout=_LIMIT_S)  # its standard input ends without a goodbye
    held = sum(display.query_keymap()), display.screen().root.query_pointer().mask & X.Button1Mask
    display.close()
    assert (told, held) == (b"let_go 2\n", (0, 0))
