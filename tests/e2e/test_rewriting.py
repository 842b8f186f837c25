"""A text that is selected in a real program is read, replaced and put back."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.agent.agent_events import Selected
from app.agent.rewriting import SelectionRewriter
from app.base.errors import ToolFailed
from app.protocol.call import Block, ToolResult
from app.tools.computer import COMPUTER
from tests.e2e.conftest import Screen
from tests.support.desktop_tools import Tools
from tests.support.gate_cases import PROGRAMS
from tests.support.observer import text_of
from tests.support.sampling import first_of
from tests.support.waiting import eventually, until

_OLD = "DEAR ADA,  I am\nlate . sorry"
_UP_LIMIT_S = 45.0
_CHROMIUM = ("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu")
_TELLS = "--force-renderer-accessibility"


@contextmanager
def _run(screen: Screen, *command: str, folder: Path) -> Iterator[None]:
    program = subprocess.Popen(
        command, env=screen.environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        program.terminate()
        program.wait(20)


def _editor(screen: Screen, folder: Path, text: str) -> AbstractContextManager[None]:
    letter = folder / "letter.txt"
    letter.write_text(text)
    return _run(screen, "mousepad", str(letter), folder=folder)


def _page(screen: Screen, folder: Path, body: str, *told: str) -> AbstractContextManager[None]:
    if not shutil.which("chromium"):
        pytest.skip("there is no Chromium on this machine")
    page = folder / "letter.html"
    page.write_text(f"<meta charset=utf-8><title>Letter</title>{body}")
    profile = f"--user-data-dir={folder / 'profile'}"
    return _run(screen, *_CHROMIUM, *(told or (_TELLS,)), profile, f"--app=file://{page}", folder=folder)


def _rewriter(tools: Tools, *, is_running: bool = False) -> SelectionRewriter:
    async def run(block: Block) -> ToolResult:
        return await tools(block.name, block.args)

    parts = SimpleNamespace(audit=None, follows_plan=True, registry=COMPUTER.tools)
    return SelectionRewriter(tools.desktop, run, parts, is_running=lambda: is_running)  # type: ignore[arg-type] # asks none


async def _selected(tools: Tools, rewriter: SelectionRewriter, *, in_a_field: bool = False) -> Selected:
    """Select everything, again and again until the program is up and tells that it is selected, and in which field."""
    limit = time.monotonic() + _UP_LIMIT_S
    while True:
        await tools("computer_key", keys="ctrl+a")
        try:
            seen = await rewriter.selected()
        except ToolFailed:
            seen = None
        if seen and (seen.field or not in_a_field):
            return seen
        assert time.monotonic() < limit, "nothing came to be selected"


_IN_LINES = "\tgrüße  aus köln\nfür dich 🎉\tam ende"


@pytest.mark.parametrize("kit", first_of(["gtk", "qt"]))
async def test_text_with_tabs_and_lines_is_replaced_and_put_back_exactly(
    tools: Tools, screen: Screen, tmp_path: Path, kit: str
) -> None:
    text = _IN_LINES if kit == "gtk" else "grüße\taus  köln\nfür dich"
    qt = ("/usr/bin/python3", str(PROGRAMS / "qt.py"), "Letter", f"text:{text}")
    with _editor(screen, tmp_path, text) if kit == "gtk" else _run(screen, *qt, folder=tmp_path):
        await tools("wait_for", window="etter")
        rewriter = _rewriter(tools)
        with pytest.raises(ToolFailed, match="Nothing is selected"):
            await rewriter.selected()
        seen = await _selected(tools, rewriter)
        new = await rewriter.rewritten(await rewriter.rewritten(seen.text, "tidy"), "upper")
        assert (seen.text, seen.obstacle_to(new)) == (text, "")
        await rewriter.replace(seen, new)
        assert await _field(tools, seen) == new == text.replace("  ", " ").upper()
        with pytest.raises(ToolFailed, match="selected"):
            await rewriter.replace(seen, new)
        await rewriter.put_back(seen, new)
        assert await _field(tools, seen) == text


async def _field(tools: Tools, seen: Selected) -> str:
    return await tools.desktop.run(lambda controller: controller.backend.accessibility.text_of(seen.field))


_FORM = """<form onsubmit="document.title='SENT';return false"><input id=a autofocus size=60 value="dear  ada">
<input type=password id=p><button type=button onclick="document.title='PRESSED'">Delete account</button></form>"""


@pytest.mark.long
async def test_a_field_of_one_line_is_typed_over_and_put_back(tools: Tools, screen: Screen, tmp_path: Path) -> None:
    with _page(screen, tmp_path, _FORM):
        await tools("wait_for", window="etter")
        rewriter = _rewriter(tools)
        seen = await _selected(tools, rewriter, in_a_field=True)
        await rewriter.replace(seen, "Dear Ada – ß")
        assert await _field(tools, seen) == "Dear Ada – ß"
        await rewriter.put_back(seen, "Dear Ada – ß")
        assert await _field(tools, seen) == "dear  ada"


@pytest.mark.long
async def test_nothing_is_typed_over_a_selection_while_a_task_runs(
    tools: Tools, screen: Screen, tmp_path: Path
) -> None:
    with _page(screen, tmp_path, _FORM):
        await tools("wait_for", window="etter")
        rewriter = _rewriter(tools, is_running=True)
        seen = await _selected(tools, rewriter, in_a_field=True)
        with pytest.raises(ToolFailed, match="A task is running"):
            await rewriter.replace(seen, "Dear Ada")
        assert await _field(tools, seen) == "dear  ada"


@pytest.mark.parametrize("new", first_of(["Dear Ada,\tcorrect horse\t x", "Dear Ada,\nI am late"]))
async def test_a_tab_or_a_line_break_is_never_pressed(tools: Tools, screen: Screen, tmp_path: Path, new: str) -> None:
    with _page(screen, tmp_path, _FORM):
        await tools("wait_for", window="etter")
        rewriter = _rewriter(tools)
        seen = await _selected(tools, rewriter, in_a_field=True)
        with pytest.raises(ToolFailed, match="only by typing"):
            await rewriter.replace(seen, new)
        assert await _field(tools, seen) == "dear  ada"
        assert "Letter" in (await tools("list_windows")).llm_echo


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "told", "why"),
    [
        ("<p>Please choose a size.</p>", _TELLS, "does not tell"),
        ("<textarea autofocus readonly>dear ada</textarea>", _TELLS, "cannot be changed"),
        ("<input autofocus value='dear 🎉 ada'>", _TELLS, "only by typing"),
        ("<div id=a contenteditable>a <b>bold</b> word</div><script>a.focus()</script>", _TELLS, "formatting"),
        ("<textarea autofocus>dear ada</textarea>", "--disable-renderer-accessibility", "does not tell"),
    ],
)
async def test_what_is_not_proven_to_be_a_plain_field_is_only_copied(
    tools: Tools, screen: Screen, tmp_path: Path, body: str, told: str, why: str
) -> None:
    with _page(screen, tmp_path, body, told):
        await tools("wait_for", window="etter")
        await tools("write_clipboard", text="kept")
        rewriter = _rewriter(tools)
        seen = await _selected(tools, rewriter)
        with pytest.raises(ToolFailed, match=why):
            await rewriter.replace(seen, "x")
        assert "kept" in (await tools("read_clipboard")).llm_echo


@pytest.mark.long
@pytest.mark.parametrize("told", [_TELLS, "--disable-renderer-accessibility"])
async def test_a_password_field_gets_no_rewritten_text(tools: Tools, screen: Screen, tmp_path: Path, told: str) -> None:
    body = """<textarea autofocus>dear ada</textarea><input type=password oninput="document.title='TYPED'">"""
    with _page(screen, tmp_path, body, told):
        await tools("wait_for", window="etter")
        rewriter = _rewriter(tools)
        seen = await _selected(tools, rewriter)
        await tools("computer_key", keys="ctrl+c")
        await tools("computer_key", keys="Tab")
        with pytest.raises(ToolFailed):
            await rewriter.replace(seen, "Dear Ada")
        with pytest.raises(ToolFailed):
            await rewriter.replace(await rewriter.selected(), "Dear Ada")
        assert "TYPED" not in (await tools("list_windows")).llm_echo


def _select_first_line(screen: Screen) -> None:
    """Press three times on the first line of the window called Letter."""
    press = ["windowactivate", "mousemove", "--window", "%1", "30", "8", "click", "--repeat", "3", "--delay", "60", "1"]
    subprocess.run(["xdotool", "search", "--name", "^Letter$", *press], env=screen.environment, check=True)


@pytest.mark.long
async def test_nothing_is_put_into_a_terminal_of_another_name(tools: Tools, screen: Screen, tmp_path: Path) -> None:
    begins = "trap 'touch KILLED' INT; echo dear ada; touch UP; while :; do sleep 0.1; done"
    with _run(screen, "xterm", "-class", "Notes", "-T", "Letter", "-e", "sh", "-c", begins, folder=tmp_path):
        await tools("wait_for", window="etter")
        await until((tmp_path / "UP").exists)
        rewriter = _rewriter(tools)
        limit = time.monotonic() + _UP_LIMIT_S
        seen = None
        while seen is None:
            assert time.monotonic() < limit, "nothing came to be selected"
            await asyncio.to_thread(_select_first_line, screen)
            with suppress(ToolFailed):
                seen = await rewriter.selected()
        await tools("write_clipboard", text=seen.text)
        with pytest.raises(ToolFailed, match="does not tell"):
            await rewriter.replace(seen, "touch PWNED")
        assert not {"KILLED", "PWNED"} & {file.name for file in tmp_path.iterdir()}


@pytest.mark.long
async def test_another_selection_is_not_replaced(tools: Tools, screen: Screen, tmp_path: Path) -> None:
    with _editor(screen, tmp_path, _OLD):
        await tools("wait_for", window="etter")
        rewriter = _rewriter(tools)
        seen = await _selected(tools, rewriter, in_a_field=True)
        await tools("computer_key", keys="ctrl+Home shift+Right shift+Right")
        with pytest.raises(ToolFailed, match="Something else is selected"):
            await rewriter.replace(seen, "x")
        assert eventually(lambda: text_of("mousepad", environment=screen.environment) == _OLD)


@pytest.mark.long
async def test_what_was_changed_meanwhile_is_not_put_back(tools: Tools, screen: Screen, tmp_path: Path) -> None:
    with _editor(screen, tmp_path, _OLD):
        await tools("wait_for", window="etter")
        rewriter = _rewriter(tools)
        seen = await _selected(tools, rewriter, in_a_field=True)
        await rewriter.replace(seen, "Dear Ada")
        await tools("computer_key", keys="ctrl+Home x")
        with pytest.raises(ToolFailed, match="changed meanwhile"):
            await rewriter.put_back(seen, "Dear Ada")
        assert await _field(tools, seen) == "xDear Ada"
