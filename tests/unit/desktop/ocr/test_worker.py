"""The process that reads text in pictures keeps nothing and reports nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from PIL import Image, ImageDraw

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.backends import Frame
from app.desktop.ocr import worker
from app.desktop.ocr.rapid import RapidOcr, shared_reader


def test_the_reader_leaves_nothing_about_this_computer_behind(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    world = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}  # and none that tells of a test, where it is silent
    start = f"import sys; sys.path.insert(0, {str(Path(worker.__file__).parent)!r}); import worker; worker.run(())"
    picture = worker.HEADER.pack(64, 64) + bytes(4 * 64 * 64)
    subprocess.run([sys.executable, "-c", start], input=picture, env=world, check=True, timeout=120)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def _frame(text: str) -> Frame:
    picture = Image.new("RGBA", (240, 60), "white")
    ImageDraw.Draw(picture).text((10, 10), text, fill="black", font_size=32)
    red, green, blue, alpha = picture.split()
    return Frame(Rect(0, 0, 240, 60), Image.merge("RGBA", (blue, green, red, alpha)).tobytes())


def _readers() -> list[psutil.Process]:
    return [one for one in psutil.Process().children() if "worker.py" in " ".join(one.cmdline())]


async def test_many_desktops_share_one_process_and_read_on_when_it_ends() -> None:
    pytest.importorskip("rapidocr")
    first, second = RapidOcr(), RapidOcr()
    with shared_reader():
        assert [line.text for line in await first.read_text(_frame("seven"))] == ["seven"]
        assert [line.text for line in await second.read_text(_frame("eight"))] == ["eight"]
        (shared,) = _readers()
        shared.kill()
        shared.wait()
        with suppress(ToolFailed):  # the picture that was under way
            await second.read_text(_frame("nine"))
        assert [line.text for line in await second.read_text(_frame("eleven"))] == ["eleven"]
        await first.close()
        await second.close()
    assert _readers() == []
