"""Another process asks the person: the presence starts, shows the question, and the person's press is the answer."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest
from PIL import Image

from app.agent.agent_events import ApprovalWanted, Media, Scope
from app.agent.gate import ApprovalAnswer
from app.base import paths
from app.features.serve.questions import ask_in_presence
from scripts.device import PersonsDevices
from tests.e2e.conftest import Screen
from tests.support.asked import is_presence_running
from tests.support.observer import Seen, observe
from tests.support.waiting import eventually, until, within

pytestmark = pytest.mark.feature("serve")

SENTENCE = "Let “Claude Code”, through Wisp, use the calculator?"


def _wanted() -> ApprovalWanted:
    picture = io.BytesIO()
    Image.new("RGB", (320, 160), "#3366cc").save(picture, "PNG")
    return ApprovalWanted(
        "",
        "call_elsewhere",
        "computer_click",
        SENTENCE,
        who="Calculator",
        undo="A click cannot be undone.",
        why="It was not named.",
        scopes=(Scope.TASK, Scope.ALWAYS),
        picture=Media(picture.getvalue(), "image/png", 320, 160),
        ring=(160, 80),
        deed="use the calculator",
        strong=((SENTENCE.index("use"), SENTENCE.index("use") + 3),),
    )


@pytest.fixture
def here(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    """This process is on the display, as the one that an agent has started is. What it starts ends."""
    for name, value in screen.environment.items():
        monkeypatch.setenv(name, value)
    (paths.config_dir() / "welcomed").touch()
    yield screen
    found = ["xdotool", "search", "--onlyvisible", "--name", "^Wisp$", "getwindowpid"]
    told = subprocess.run(found, env=screen.environment, capture_output=True, text=True, check=False).stdout
    for process in map(int, told.split()):
        os.kill(process, signal.SIGTERM)
    assert eventually(lambda: not is_presence_running())


def _button(screen: Screen, name: str) -> Seen | None:
    """Return the presence's button of this name that can be pressed."""
    shown = observe("wisp", screen.environment)
    return next((one for one in shown if one.name == name and one.showing and "sensitive" in one.states), None)


def _press(screen: Screen, name: str) -> None:
    """Press a button of the presence with the person's mouse."""
    assert eventually(lambda: _button(screen, name)), f"there is no {name!r}"
    found = _button(screen, name)
    assert found
    x, y, width, height = found.box
    at = (str(x + width // 2), str(y + height // 2))
    subprocess.run(["xdotool", "mousemove", *at], env=screen.environment, check=True)
    with closing(PersonsDevices(screen.environment)) as person:
        person.click()


async def test_the_presence_starts_shows_the_question_and_brings_the_answer(here: Screen) -> None:
    asking = asyncio.create_task(ask_in_presence(_wanted()))
    await until(is_presence_running)
    await asyncio.to_thread(_press, here, "For this task")
    assert await within(asking) == ApprovalAnswer(scope=Scope.TASK)
    # The next one finds it running, and goes when its asker goes.
    asking = asyncio.create_task(ask_in_presence(_wanted()))
    assert await asyncio.to_thread(eventually, lambda: _button(here, "Deny"))
    assert not await asyncio.to_thread(_button, here, "Always")
    asking.cancel()
    assert await asyncio.to_thread(eventually, lambda: not _button(here, "Deny"))
    assert is_presence_running()
