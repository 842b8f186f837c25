"""What the documents show is true: their blocks of code, their links, and how much there is to read.

The language of a block says what is done with it, and there is no other language:

- `console`: each line after `$ ` is run as it stands, in order, in one world a page: an empty home, no display, no key.
  It must end with 0, or as its comment says (`# exit code 1`), and what stands below it must be in what it prints.
- `sh`: what needs the network, a key, a screen or an installation. Bash reads it, the parsers of Wisp's commands take
  its words, and what it names of the source is there. Nothing is run.
- `toml`: the comment in its first line names the file. The reader of that file takes it without a complaint.
- `json` and `python`: it can be read.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from app.agent.policy.rules import Vocabulary, rules_of
from app.assembly import registry
from app.base import paths
from app.cli import options_of
from app.providers import scripted
from app.services.themes import look_problems
from app.settings import store
from scripts import settings_page

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
SHOWS_CODE = [README, *DOCS]
LINKS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
_MOST_BYTES = {"README.md": 7_000, "ARCHITECTURE.md": 9_000, "docs/settings.md": 100_000}
_LIMIT_S = 120

_LINK = re.compile(r"\]\((?!\w+:)([^)\s]*)\)")
_ASSIGNMENT = re.compile(r"\w+=")
_EXIT_CODE = re.compile(r"# exit code (\d+)")
_EXTRAS = re.compile(r"\.\[(.+)\]")


class Fence(NamedTuple):
    """A block of code: the number of its first line, its language, and its text."""

    line: int
    language: str
    text: str


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _fences(page: Path) -> Iterator[Fence]:
    parts = re.split(r"^```(.*)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(parts) % 4 == 1, "each fence has its end"
    line = 1
    for prose, language, text, _end in zip(*(iter(parts[:-1]),) * 4, strict=True):
        line += prose.count("\n") + 1
        yield Fence(line, language, text)
        line += text.count("\n") + 1


def _blocks(page: Path, language: str) -> list[Fence]:
    return [fence for fence in _fences(page) if fence.language == language]


def _prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", SHOWS_CODE, ids=_name)
def test_every_block_has_a_language_that_is_checked(page: Path) -> None:
    found = {fence.language for fence in _fences(page)}
    assert found <= {"console", "sh", "toml", "json", "python"}


@pytest.mark.parametrize("page", [page for page in SHOWS_CODE if _blocks(page, "console")], ids=_name)
def test_what_a_page_shows_at_a_terminal_happens(page: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("home", "run"):
        (tmp_path / name).mkdir(mode=0o700)
    wisp = tmp_path / "bin" / "wisp"
    wisp.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m app "$@"\n')
    wisp.chmod(0o755)
    away = ("WISP_", "DISPLAY", "WAYLAND_", "DBUS_", "AT_SPI_", "XDG_")
    world = {name: value for name, value in os.environ.items() if not name.startswith(away)}
    world |= {
        "HOME": str(tmp_path / "home"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "PATH": f"{tmp_path / 'bin'}:{world['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    for fence in _blocks(page, "console"):
        for command, shown in _commands(fence.text):
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=world["HOME"],
                env=world,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
            wanted = found[1] if (found := _EXIT_CODE.search(command)) else "0"
            assert str(done.returncode) == wanted, f"{command}\n{done.stdout}{done.stderr}"
            assert [line for line in shown if line not in done.stdout] == [], f"{command}\n{done.stdout}"


def _commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a terminal, and the lines below it."""
    first, *commands = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert first == "", "the first line of a terminal is a command"
    for command in commands:
        line, *shown = command.splitlines()
        yield line, shown


@pytest.mark.parametrize("page", [page for page in SHOWS_CODE if _blocks(page, "sh")], ids=_name)
def test_what_a_page_tells_to_run_is_understood(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WISP_FEATURES_OFF", raising=False)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for fence in _blocks(page, "sh"):
        read = subprocess.run(["bash", "-n"], input=fence.text, capture_output=True, text=True, check=False)
        assert (read.returncode, read.stderr) == (0, "")
        for line in fence.text.splitlines():
            words = shlex.split(line, comments=True)
            while words and _ASSIGNMENT.match(words[0]):
                words.pop(0)
            if words[:1] in (["wisp"], ["./scripts/run"]):
                assert options_of(words[1:] or ["presence"])
            elif words and words[0].startswith("./"):
                script = (ROOT / words[0]).read_text(encoding="utf-8")
                assert all(word in script for word in words[1:2]), line
            for word in words:
                if found := _EXTRAS.fullmatch(word):
                    assert set(found[1].split(",")) <= set(extras), line


@pytest.mark.parametrize("page", [page for page in SHOWS_CODE if _blocks(page, "toml")], ids=_name)
def test_what_a_page_shows_of_a_file_is_taken(page: Path, tmp_path: Path) -> None:
    for fence in _blocks(page, "toml"):
        first = fence.text.partition("\n")[0]
        file = tmp_path / first.removeprefix("# ")
        match file.name:
            case "policy.toml":
                assert rules_of(fence.text, file.name, Vocabulary.of(tuple(registry()))).problems == ()
            case "replies.toml":
                file.write_text(fence.text, encoding="utf-8")
                assert scripted.load(file)
            case "settings.toml" | "theme.toml":
                (paths.config_dir() / file.name).write_text(fence.text, encoding="utf-8")
                assert [*store.load().problems, *look_problems()] == []
            case _:
                pytest.fail(f"{page.name}:{fence.line}: {first!r} names no file of Wisp's")


@pytest.mark.parametrize("page", SHOWS_CODE, ids=_name)
def test_code_and_data_can_be_read(page: Path) -> None:
    for fence in _blocks(page, "json"):
        json.loads(fence.text)
    for fence in _blocks(page, "python"):
        compile(fence.text, page.name, "exec")


@pytest.mark.parametrize("page", LINKS, ids=_name)
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for link in _LINK.findall(_prose(page)):
        file, _, heading = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (heading and heading not in _headings(target)):
            dead.append(link)
    assert dead == []


def _headings(page: Path) -> set[str]:
    """Return what the headings are called in a link, as GitHub makes it of them."""
    found = re.findall(r"^#+ (.+)$", _prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_the_readme_or_the_page_about_security_leads_to_every_page() -> None:
    links = _LINK.findall(_prose(README) + _prose(ROOT / "SECURITY.md"))
    assert {_name(page) for page in DOCS} <= set(links)


@pytest.mark.parametrize("page", [README, *DOCS, ROOT / "ARCHITECTURE.md"], ids=_name)
def test_a_page_is_read_in_minutes(page: Path) -> None:
    assert page.stat().st_size <= _MOST_BYTES.get(_name(page), 6_000)


def test_the_page_of_settings_is_what_its_command_writes() -> None:
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.page(), "python -m scripts.settings_page"
