"""A picture of the screen in a file, where the call says."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from app.base.clock import SystemClock
from app.base.errors import ToolFailed
from app.desktop.desktop import Desktop
from app.desktop.headless import HeadlessDesktop
from app.features.machine.screenshot import Screenshots
from app.protocol.call import ToolCall, ToolResult
from app.tools.registry import TurnContext, admitted
from tests.support.workbench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, sandboxed=False)


async def _saved(bench: Bench, path: str = "", *, has_screen: bool = True) -> ToolResult:
    desktop = Desktop(HeadlessDesktop().backend)
    tool = Screenshots(desktop, bench.workspace, bench.changes, SystemClock(), has_screen=has_screen)
    try:
        return await tool.save(ToolCall("c1", "save_screenshot", {"path": path} if path else {}), TurnContext(admitted))
    finally:
        desktop.close()


def _picture(file: Path) -> tuple[str | None, tuple[int, int]]:
    with Image.open(io.BytesIO(file.read_bytes())) as picture:
        return picture.format, picture.size


@pytest.mark.parametrize(("path", "form"), [("shot.png", "PNG"), ("shot.jpg", "JPEG"), ("shot", "PNG")])
async def test_it_holds_all_pixels_in_the_form_that_its_name_says(bench: Bench, path: str, form: str) -> None:
    result = await _saved(bench, path)
    [file] = bench.root.glob("shot*")
    assert (result.payload["file"], result.payload["undoable"]) == (str(file), True)
    whole = HeadlessDesktop().picture.area.size
    assert _picture(file) == (form, (whole.width, whole.height))


async def test_without_a_name_it_gets_one_with_the_time_in_the_folder_that_is_named_or_that_of_images(
    bench: Bench,
) -> None:
    (bench.root / "there").mkdir()
    for path, folder in (("", "images"), ("there", "there")):
        await _saved(bench, path)
        assert [file.suffix for file in (bench.root / folder).iterdir()] == [".png"]


async def test_it_is_no_other_file_and_no_picture_of_a_screen_that_there_is_not(bench: Bench) -> None:
    for path, has_screen in (("shot.txt", True), ("shot.png", False)):
        with pytest.raises(ToolFailed):
            await _saved(bench, path, has_screen=has_screen)
    assert not list(bench.root.glob("shot*"))
