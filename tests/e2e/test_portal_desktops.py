"""Wisp on a real GNOME and KDE: it asks, sees what they show, and types."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from app.base.errors import NeedsPerson
from app.base.geometry import Rect
from app.desktop.backends import Frame
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from tests.support.compositors import composited, inside, is_installed, picture_of
from tests.support.consent import answering
from tests.support.observer import observe, text_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.long

_SCREEN = Rect(0, 0, 1280, 800)
_PANEL_HEIGHT = 32
"""GNOME's panel has a clock, and a sign that the screen is shared."""


@pytest.fixture(params=["gnome", "kwin"])
def name(request: pytest.FixtureRequest) -> str:
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not there; scripts/setup portals brings it")
    return str(request.param)


@pytest.fixture
def environment(name: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    with composited(name, tmp_path / "home") as found:
        yield found


@pytest.fixture
def desktop(environment: dict[str, str]) -> Iterator[Desktop]:
    opened = open_desktop(environment=environment)
    yield opened
    opened.close()


@pytest.fixture
def editor(environment: dict[str, str]) -> Iterator[None]:
    with subprocess.Popen(inside("mousepad"), env=environment, stderr=subprocess.DEVNULL) as program:
        assert eventually(lambda: any(node.role == "frame" for node in observe("mousepad", environment, deepest=1)))
        yield
        program.terminate()


async def _open(controller: DesktopController) -> None:
    assert controller.backend.access
    await controller.backend.access.open()


def test_wisp_sees_and_types_once_the_person_allows_it(
    name: str, environment: dict[str, str], desktop: Desktop, editor: None
) -> None:
    async def typed(controller: DesktopController) -> None:
        controller.backend.keyboard.type_text("Hello, desktop!")

    async def seen(controller: DesktopController) -> Frame:
        return controller.backend.screen.grab(_SCREEN)

    def looks_alike() -> bool:
        frame = asyncio.run(desktop.run(seen))
        ours = Image.frombytes("RGB", (_SCREEN.width, _SCREEN.height), frame.bgrx, "raw", "BGRX")
        beneath = (0, _PANEL_HEIGHT, _SCREEN.width, _SCREEN.height)
        return not ImageChops.difference(ours.crop(beneath), picture_of(name, environment).crop(beneath)).getbbox()

    with answering(environment, allow=True):
        asyncio.run(desktop.run(_open))
    asyncio.run(desktop.run(typed))
    assert eventually(lambda: text_of("mousepad", environment=environment) == "Hello, desktop!")
    assert eventually(looks_alike)


def test_wisp_takes_a_refusal_as_the_answer(environment: dict[str, str], desktop: Desktop) -> None:
    with answering(environment, allow=False), pytest.raises(NeedsPerson, match="answered with no"):
        asyncio.run(desktop.run(_open))
    with pytest.raises(NeedsPerson, match="answered with no"):  # without a second question
        asyncio.run(desktop.run(_open))
