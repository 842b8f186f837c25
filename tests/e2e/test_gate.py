"""The person is asked about a program once, and about what sends or deletes: on a real desktop, in a real program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, ToolFinished
from app.assistant import Assistant, assemble
from app.desktop.x11.virtual import VirtualDesktop
from app.settings.store import Settings
from tests.support import observer
from tests.support.fixture_window import FixtureWindow
from tests.support.sampling import first_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)

FORM = Path(__file__).with_name("qt_form.py")
ORDERED = "Ordered"


class Run:
    """A scripted model before a person who answers every question alike."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.asked: list[ApprovalWanted] = []
        self.finished: list[ToolFinished] = []
        self.answer: dict[str, Any] = {"allow": False}
        self._assistant: Assistant | None = None

    async def says(self, *replies: str, task: str = "Do it.") -> None:
        """One turn with these replies of the model; the task is the person's own."""
        script = self._folder / "script.toml"
        script.write_text("".join(f"[[replies]]\ntext = '''{reply}'''\n" for reply in (*replies, "Done.")))
        values = {"model.provider": "scripted", "model.script": str(script), "files.workspace": str(self._folder)}
        self._assistant = assemble(Settings(values, {}))
        try:
            self._assistant.subscribe(self._hear)
            await self._assistant.send(task, own=task)
        finally:
            await self._assistant.close()

    def _hear(self, event: AgentEvent) -> None:
        if isinstance(event, ToolFinished):
            self.finished.append(event)
        if isinstance(event, ApprovalWanted):
            self.asked.append(event)
            assistant = self._assistant
            assert assistant is not None
            asyncio.get_running_loop().call_soon(lambda: assistant.answer(event.approval_id, **self.answer))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    return Run(tmp_path)


@pytest.fixture
def form(desktop: VirtualDesktop) -> Iterator[subprocess.Popen[bytes]]:
    with observer.started(sys.executable, str(FORM), app="Order form") as program:
        yield program


def _names() -> set[str]:
    return {node.name for node in observer.observe("Order form")}


def _place(name: str) -> tuple[int, int]:
    found = next(node for node in observer.observe("Order form") if node.name == name)
    left, top, width, height = found.box
    return left + width // 2, top + height // 2


def _is_ordered() -> bool:
    return any(name.startswith(ORDERED) for name in _names())


NAMED = "Fill in the Order form."


async def test_a_program_is_used_only_after_a_yes_which_counts_for_the_task(form: object, run: Run) -> None:
    await run.says('<computer_click target="Gift wrapping"/>', '<computer_click target="Cancel"/>')
    assert [asked.tool for asked in run.asked] == ["computer_click"] * 2
    assert [event.ok for event in run.finished] == [False, False]
    asked = run.asked[0]
    assert asked.sentence.startswith("Let Wisp use Order form? Wisp wants to press “Gift wrapping”")
    assert (asked.who, asked.rule) == ("Order form (Order form)", "mode ask")
    assert [scope.value for scope in asked.scopes] == ["task", "always"]
    assert asked.picture is not None
    assert asked.ring is not None
    run.asked.clear()
    run.finished.clear()
    run.answer = {"allow": True, "scope": "task"}
    await run.says('<computer_click target="Gift wrapping"/>', '<computer_click target="Cancel"/>')
    assert [asked.tool for asked in run.asked] == ["computer_click"]
    assert [event.ok for event in run.finished] == [True, True]


@pytest.mark.parametrize("tool", ["computer_click", "press"])
async def test_a_button_that_orders_is_pressed_only_after_a_yes(tool: str, form: object, run: Run) -> None:
    await run.says(f'<{tool} target="Order now"/>', task=NAMED)
    (asked,) = run.asked
    assert asked.sentence.startswith("Let Wisp press “Order now”?")
    assert [scope.value for scope in asked.scopes] == ["once"]
    assert not _is_ordered()
    run.answer = {"allow": True}
    await run.says(f'<{tool} target="Order now"/>', task=NAMED)
    assert run.finished[-1].ok, run.finished[-1].echo
    assert eventually(_is_ordered)


async def test_coordinates_are_judged_by_what_is_there(form: object, run: Run) -> None:
    x, y = _place("Order now")
    await run.says(f'<computer_click x="{x}" y="{y}" space="screen"/>', task=NAMED)
    assert [asked.tool for asked in run.asked] == ["computer_click"]
    assert not _is_ordered()
    x, y = _place("Cancel")
    run.asked.clear()
    await run.says(f'<computer_click x="{x}" y="{y}" space="screen"/>', task=NAMED)
    assert run.asked == []


@pytest.mark.long
async def test_every_action_of_a_batch_passes_the_gate(form: object, run: Run) -> None:
    await run.says(
        '<computer_batch><action do="click" target="Gift wrapping"/><action do="click" target="Order now"/>'
        '<action do="click" target="Cancel"/></computer_batch>',
        task=NAMED,
    )
    assert [asked.tool for asked in run.asked] == ["computer_click"]
    assert not _is_ordered()
    (batch,) = run.finished
    assert batch.payload["done"] == 1


async def test_a_field_that_is_set_by_its_name_is_judged_as_that_field(form: object, run: Run) -> None:
    await run.says('<set_value target="Password">open sesame</set_value>', task=NAMED)
    (refused,) = run.finished
    assert (refused.ok, "assword" in refused.echo) == (False, True), refused.echo


@pytest.mark.long
async def test_keys_are_judged_by_what_has_the_keyboard(form: object, run: Run) -> None:
    await run.says(
        '<computer_click target="Gift wrapping"/>',
        '<computer_key keys="Tab"/>',
        '<computer_key keys="space"/>',
        task=NAMED,
    )
    assert [asked.tool for asked in run.asked] == ["computer_key"]
    assert "Order now" in run.asked[0].sentence
    assert not _is_ordered()


async def test_nothing_is_typed_into_a_password_field(form: object, run: Run) -> None:
    run.answer = {"allow": True}
    await run.says('<computer_click target="Password"/>', "<computer_type>secret</computer_type>", task=NAMED)
    assert run.asked == []
    assert [event.ok for event in run.finished] == [True, False]
    assert "password field" in run.finished[1].echo


MENUS = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window, bar, files, menu = Gtk.Window(title="Menus"), Gtk.MenuBar(), Gtk.MenuItem(label="File"), Gtk.Menu()
for name in ("Save", "Delete"):
    item = Gtk.MenuItem(label=name)
    item.connect("activate", lambda chosen: window.set_title("Chose " + chosen.get_label()))
    menu.append(item)
files.set_submenu(menu)
bar.append(files)
window.add(bar)
window.set_default_size(300, 100)
window.show_all()
Gtk.main()
"""


@pytest.mark.parametrize("way", first_of(["File > Delete", "File > Delet", "File > Dlete", "File > Delete > x"]))
async def test_the_entry_that_is_found_is_judged_before_it_is_pressed(
    desktop: VirtualDesktop, run: Run, tmp_path: Path, way: str
) -> None:
    script = tmp_path / "menus.py"
    script.write_text(MENUS)
    with observer.started("/usr/bin/python3", str(script), app="menus.py"):
        await run.says(f'<choose_menu path="{way}"/>', task="Look at menus.py.")
        assert [event.ok for event in run.finished] == [False]
        assert not any(node.name.startswith("Chose") for node in observer.observe("menus.py"))
        await run.says('<choose_menu path="File > Save"/>', task="Look at menus.py.")
        assert eventually(lambda: any(node.name == "Chose Save" for node in observer.observe("menus.py")))


@pytest.mark.long
@pytest.mark.parametrize("keys", ["Return", "Return+a", "space", "KP_Enter"])
async def test_keys_that_press_the_button_of_a_dialog_mean_that_button(
    desktop: VirtualDesktop, run: Run, keys: str
) -> None:
    question = ("--question", "--title=Sure", "--text=All of it?", "--ok-label=Delete", "--cancel-label=Keep")
    with observer.started("zenity", *question, app="zenity") as dialog:
        await run.says(
            '<focus_window title="Sure"/>',
            f'<computer_key keys="{keys}"/>',
            '<computer_click target="Delete"/>',
            task="What does zenity ask?",
        )
        assert [asked.tool for asked in run.asked] == ["computer_key", "computer_click"]
        assert dialog.poll() is None


async def test_what_came_up_since_the_capture_is_not_clicked(desktop: VirtualDesktop, run: Run) -> None:
    options = ("--at", "300,300", "--size", "200x120")
    with FixtureWindow("canvas", *options, environment=desktop.environment) as below:
        script = ["<screen_capture/>", '<computer_click x="400" y="360"/>', '<computer_click x="400" y="360"/>']
        assert below.ready

        class Swapped(Run):
            """Another window comes up between the look and the click."""

            def _hear(self, event: AgentEvent) -> None:
                if isinstance(event, ToolFinished) and event.tool == "screen_capture":
                    above.append(FixtureWindow("canvas", *options, environment=desktop.environment).__enter__())
                super()._hear(event)

        above: list[FixtureWindow] = []
        swapped = Swapped(run._folder)
        swapped.answer = {"allow": True}
        try:
            await swapped.says(*script)
            assert [event.ok for event in swapped.finished] == [True, False, True]
            assert "Nothing was clicked" in swapped.finished[1].echo
            assert len(swapped.finished[1].media) == 1
            hit = above[0].wait(lambda event: event["event"] == "press")
            assert (hit["x"], hit["y"]) == (400.0, 360.0)
        finally:
            above[0].__exit__(None, None, None)
        assert [event for event in below.told if event["event"] == "press"] == []
