"""What a person's own file is, and what stands in its place, is read or told; nothing waits for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.base import paths

_NOBODY = 65_534

IN_ITS_PLACE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (Path.mkdir, "move the folder away"),
    "a pipe": (os.mkfifo, "move it away"),
    "a link to nothing": (lambda own: own.symlink_to("gone.toml"), "remove the link"),
    "a link to itself": (lambda own: own.symlink_to(own), "remove the link"),
    "a picture": (lambda own: own.write_bytes(b"\x89PNG\xff"), "save it as UTF-8"),
    "a long text": (lambda own: own.write_text("x" * 101), "make it shorter"),
}


@pytest.mark.parametrize("case", IN_ITS_PLACE)
def test_what_stands_in_place_of_a_file_is_told_with_what_to_do(case: str, tmp_path: Path) -> None:
    make, what_to_do = IN_ITS_PLACE[case]
    make(own := tmp_path / "own.toml")
    with pytest.raises((OSError, ValueError), match=what_to_do):
        paths.read_own(own, 100)


def test_a_file_that_one_may_not_read_is_told_with_the_command_that_allows_it(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("x")
    own.chmod(0)
    is_root = os.geteuid() == 0  # who may read everything
    try:
        if is_root:
            os.seteuid(_NOBODY)
        with pytest.raises(OSError, match=r"chmod u\+r own\.toml"):
            paths.read_own(own)
    finally:
        if is_root:
            os.seteuid(0)


def test_the_mark_that_some_editors_write_first_is_no_part_of_the_text(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_bytes(b"\xef\xbb\xbf[a]\n")
    assert paths.read_own(own) == "[a]\n"
