"""Notifications on a real bus, shown by a real program (dunst); a button opens an item and grants nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.base.clock import SystemClock
from app.desktop.x11.virtual import VirtualDesktop
from app.features.apps.bridge import Bridge
from app.features.apps.store import APP, SurfaceStore, Written
from app.features.schedule.agenda import Agenda
from app.features.schedule.tools import ScheduleTools
from app.protocol.call import ToolCall
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints
from app.services.notifications import NO_SERVER, DesktopNotification, DesktopNotifier
from app.tools.registry import TurnContext, admitted
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the notifications of freedesktop.org are Linux's")


@pytest.fixture(scope="module")
def desktop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """A desktop with a bus and dunst, which reads markup."""
    settings = tmp_path_factory.mktemp("dunst") / "dunstrc"
    settings.write_text("[global]\nmarkup = full\n", encoding="utf-8")
    with VirtualDesktop(window_manager=False) as virtual:
        environment = os.environ | virtual.environment
        assert shutil.which("dunst"), "scripts/setup test installs it"
        server = subprocess.Popen(["dunst", "-conf", str(settings)], env=environment, stderr=subprocess.DEVNULL)
        try:
            assert eventually(lambda: _dunst(environment, "count").isdecimal() or _dunst(environment, "count"))
            yield environment
        finally:
            server.terminate()
            server.wait()


def _dunst(environment: Mapping[str, str], *words: str) -> str:
    done = subprocess.run(["dunstctl", *words], env=dict(environment), capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _shown(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Summary and body of what dunst has had, the newest first."""
    _dunst(environment, "close-all")
    found = json.loads(_dunst(environment, "history"))["data"][0]
    return [(one["summary"]["data"], one["body"]["data"]) for one in found]


@asynccontextmanager
async def _notifier(
    environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, opened: list[int] | None = None
) -> AsyncIterator[DesktopNotifier]:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", environment["DBUS_SESSION_BUS_ADDRESS"])
    notifier = DesktopNotifier(opened.append if opened is not None else None)
    yield notifier
    await notifier.close()


async def test_it_is_shown_in_its_words_and_markup_stays_text(
    desktop: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _notifier(desktop, monkeypatch) as notifier:
        assert await notifier.server() == "dunst"
        assert await notifier.show(DesktopNotification("Ready", "a < b & <b>c</b>", "critical")) == ""
    assert (await asyncio.to_thread(_shown, desktop))[0] == ("Ready", "a &lt; b &amp; &lt;b&gt;c&lt;/b&gt;")


async def test_a_click_opens_the_item_and_a_forged_button_does_nothing(
    desktop: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    async with _notifier(desktop, monkeypatch, opened) as notifier:
        assert await notifier.show(DesktopNotification("Look", "", item=7)) == ""
        for number, key in (("1", "allow"), ("999", "default"), ("2", "yes"), ("2", "once")):
            await asyncio.to_thread(_forge, desktop, number, key)
        assert opened == []
        await asyncio.to_thread(_dunst, desktop, "action")
        await until(lambda: opened)
        for number in ("1", "2", "3"):
            await asyncio.to_thread(_forge, desktop, number, "default")
    assert opened == [7]


def _forge(environment: Mapping[str, str], number: str, key: str) -> None:
    """What any program of the session can send."""
    words = ["dbus-send", "--session", "--type=signal", "/org/freedesktop/Notifications"]
    words += ["org.freedesktop.Notifications.ActionInvoked", f"uint32:{number}", f"string:{key}"]
    subprocess.run(words, env=dict(environment), check=True)


async def test_the_tool_puts_it_into_the_inbox_and_on_the_desktop(
    desktop: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    agenda = Agenda(tmp_path / "agenda.db", SystemClock())
    async with _notifier(desktop, monkeypatch) as notifier:
        tools = ScheduleTools(agenda, "/w", lambda _rules: None, notifier)
        call = ToolCall("c1", "push_notification", {"title": "The report is ready", "text": "It is in report.md."})
        told = await tools.notify(call, TurnContext(admitted, turn_id="t1"))
    assert (told.payload["shown"], told.llm_echo) == (True, "It is in the inbox as 1, and on the desktop.")
    assert (await asyncio.to_thread(_shown, desktop))[0] == ("The report is ready", "It is in report.md.")
    assert [(item.title, item.body) for item in agenda.inbox()] == [("The report is ready", "It is in report.md.")]


@pytest.mark.parametrize("address", ["", "unix:path=/nowhere/bus", "nonsense"])
async def test_where_no_bus_answers_the_inbox_has_it_and_a_sentence_says_so(
    address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    agenda = Agenda(tmp_path / "agenda.db", SystemClock())
    tools = ScheduleTools(agenda, "/w", lambda _rules: None)
    told = await tools.notify(
        ToolCall("c1", "push_notification", {"title": "Ready"}), TurnContext(admitted, turn_id="t1")
    )
    assert (told.payload["shown"], told.llm_echo) == (False, f"It is in the inbox as 1. {NO_SERVER}")
    assert [item.title for item in agenda.inbox()] == ["Ready"]


async def test_what_a_small_app_says_is_shown_under_its_own_name(
    desktop: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", desktop["DBUS_SESSION_BUS_ADDRESS"])
    store = SurfaceStore(tmp_path / "surfaces", Checkpoints(tmp_path / "checkpoints"))
    made = store.create(APP, "Tea", Written("<p>Tea</p>", "# Tea", None), ChangeOrigin("t", "create_app"))
    bridge = Bridge(store, _opens_nothing, lambda _surface, _state: None, lambda _surface, _width, _height: None)
    try:
        assert await bridge.call(made, "notify", {"title": "Ready", "text": "Four minutes are over."})
    finally:
        await bridge.close()
    assert (await asyncio.to_thread(_shown, desktop))[0] == ("Tea: Ready", "Four minutes are over.")


async def _opens_nothing(_surface: str) -> object:
    return None
