"""The process that reads text in pictures keeps nothing and reports nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.desktop.ocr import worker


def test_the_reader_leaves_nothing_about_this_computer_behind(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    world = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}  # and none that tells of a test, where it is silent
    start = f"import sys; sys.path.insert(0, {str(Path(worker.__file__).parent)!r}); import worker; worker.run(())"
    picture = worker.HEADER.pack(64, 64) + bytes(4 * 64 * 64)
    subprocess.run([sys.executable, "-c", start], input=picture, env=world, check=True, timeout=120)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
