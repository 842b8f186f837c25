"""The presence in the system: notifications, autostart, crash reports, signals and the first paint."""

from __future__ import annotations

import asyncio
import os
import plistlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from dbus_fast import Message, MessageType, RequestNameReply
from dbus_fast.aio import MessageBus
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.agent import agent_events
from app.base import paths
from app.desktop.x11.virtual import VirtualDesktop
from app.settings.store import Settings
from app.ui import eventloop
from app.ui.presence import Look, Presence
from app.ui.presenter.presenter import Presenter
from app.ui.presenter.view import NoticeItem, View
from app.ui.system.autostart import DesktopFile, LaunchAgent
from app.ui.system.system import CrashReports, System, crash_folder, dismiss_reports, unseen_reports, write_report
from app.ui.system.tray import BusNotifier, Note, Notifier, worth_telling
from app.ui.windows.overlays import NoteWindow
from tests.support.waiting import until, within
from tests.ui.fake_agent import hand

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_autostart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))


def _views(*events: agent_events.AgentEvent, attended: bool = False) -> tuple[View, View]:
    """Before and after the last event."""
    view = before = View(attended=attended)
    for event in events:
        before, view = view, Presenter().after(view, event, 0.0)
    return before, view


STARTED = agent_events.TurnStarted("t", "do it")


@pytest.mark.parametrize(
    ("outcome", "title", "urgent"),
    [
        (agent_events.Outcome.FINISHED, "Done", False),
        (agent_events.Outcome.WAITING, "Wisp has a question", True),
        (agent_events.Outcome.FAILED, "That did not work", False),
    ],
)
def test_the_end_of_a_turn_is_news_to_who_looks_elsewhere(
    outcome: agent_events.Outcome, title: str, urgent: bool
) -> None:
    before, after = _views(STARTED, agent_events.TurnEnded("t", outcome, "These\nwords."))
    assert worth_telling(before, after) == Note(title, "These words.", urgent)


def test_who_looks_is_not_notified() -> None:
    before, after = _views(STARTED, agent_events.TurnEnded("t", agent_events.Outcome.FINISHED, "So."), attended=True)
    assert worth_telling(before, after) is None


def test_a_question_of_trust_is_news() -> None:
    wanted = agent_events.ApprovalWanted("a", "1", "execute_command", "Wisp wants to delete a file.", "rm a")
    before, after = _views(STARTED, wanted)
    assert worth_telling(before, after) == Note("Wisp needs your answer", "Wisp wants to delete a file.", True)


def test_what_happens_in_the_middle_is_no_news() -> None:
    before, after = _views(STARTED, agent_events.SayDelta("s", "warm", "Working."))
    assert worth_telling(before, after) is None


def test_the_first_way_that_works_is_taken_and_none_when_switched_off(qapp: QApplication) -> None:
    tried: list[tuple[str, str]] = []

    async def refuses(note: Note) -> bool:
        tried.append(("refuses", note.title))
        return False

    async def shows(note: Note) -> bool:
        tried.append(("shows", note.title))
        return True

    async def never(note: Note) -> bool:
        tried.append(("never", note.title))
        return True

    async def story() -> int:
        notifier = Notifier((refuses, shows, never), on=True)
        before, after = _views(STARTED, agent_events.TurnEnded("t", agent_events.Outcome.FINISHED, "So."))
        notifier.show_view(before)
        notifier.show_view(after)
        await until(lambda: len(tried) == 2)
        notifier.on = False
        notifier.show_view(before)
        notifier.show_view(after)
        await asyncio.sleep(0)
        return 0

    eventloop.run_until(qapp, within(story()))
    assert tried == [("refuses", "Done"), ("shows", "Done")]


class _Daemon:
    """A notification service on the private session bus."""

    def __init__(self) -> None:
        self.shown: list[tuple[int, str, str]] = []
        self._bus: MessageBus | None = None

    async def start(self) -> None:
        self._bus = await MessageBus().connect()
        self._bus.add_message_handler(self._answer)
        assert await self._bus.request_name("org.freedesktop.Notifications") is RequestNameReply.PRIMARY_OWNER

    def _answer(self, message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if message.member == "GetCapabilities":
            return Message.new_method_return(message, "as", [["body", "actions", "body-markup"]])
        if message.member == "Notify":
            self.shown.append((message.body[1], message.body[3], message.body[4]))
            return Message.new_method_return(message, "u", [7])
        return None

    async def click(self, number: int) -> None:
        assert self._bus is not None
        signal_ = Message.new_signal(
            "/org/freedesktop/Notifications",
            "org.freedesktop.Notifications",
            "ActionInvoked",
            "us",
            [number, "default"],
        )
        await self._bus.send(signal_)

    def stop(self) -> None:
        assert self._bus is not None
        self._bus.disconnect()


def test_a_notification_is_shown_by_the_desktops_own_service_and_a_click_opens(
    own_bus: None, qapp: QApplication
) -> None:
    clicks: list[bool] = []
    daemon = _Daemon()

    async def story() -> int:
        await daemon.start()
        notifier = BusNotifier("Wisp", lambda: clicks.append(True))
        assert await notifier.show(Note("Done", "a < b & c"))
        assert await notifier.show(Note("Done again", "so"))
        await daemon.click(99)
        await daemon.click(7)
        await until(lambda: clicks)
        notifier.close()
        daemon.stop()
        return 0

    eventloop.run_until(qapp, within(story()))
    assert daemon.shown == [(0, "Done", "a &lt; b &amp; c"), (7, "Done again", "so")]
    assert clicks == [True]


def test_without_a_service_the_next_way_is_tried(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus")

    async def story() -> int:
        return int(await BusNotifier("Wisp", lambda: None).show(Note("Done", "")))

    assert eventloop.run_until(qapp, within(story())) == 0


def test_the_autostart_entry_is_read_back_by_the_desktops_own_library(tmp_path: Path) -> None:
    from xdg.DesktopEntry import DesktopEntry

    entry = DesktopFile(['/opt/my "apps"/wisp', "--mode", "100%"])
    assert not entry.is_there()
    entry.write()
    assert entry.is_there()
    assert entry.path == tmp_path / "xdg" / "autostart" / "wisp.desktop"
    read = DesktopEntry(str(entry.path))
    read.validate()
    assert (read.getName(), read.getTerminal()) == ("Wisp", False)
    # The library hands the line over as it is written; a desktop undoes the string's escapes first, then the quotes.
    assert read.getExec() == r'"/opt/my \\"apps\\"/wisp" "--mode" "100%%"'
    entry.remove()
    entry.remove()
    assert not entry.is_there()


def test_on_macos_the_entry_is_a_launch_agent(tmp_path: Path) -> None:
    agent = LaunchAgent(["/opt/wisp"], tmp_path)
    agent.write()
    assert plistlib.loads(agent.path.read_bytes())["ProgramArguments"] == ["/opt/wisp"]
    agent.remove()
    assert not agent.is_there()


@pytest.fixture
def caught() -> Iterator[list[Path]]:
    told: list[Path] = []
    kept = CrashReports(told.append)
    kept.open()
    yield told
    kept.close()


def _fail(words: str) -> None:
    raise RuntimeError(words)


def test_a_failure_nobody_handled_is_written_down_once_without_secrets(caught: list[Path]) -> None:
    for _ in range(2):
        try:
            _fail("the key sk-ant-api03-" + "a" * 90)
        except RuntimeError as error:
            sys.excepthook(type(error), error, error.__traceback__)
    (report,) = caught
    text = report.read_text(encoding="utf-8")
    assert "RuntimeError: the key" in text
    assert "Python 3" in text
    assert "sk-ant-api03-aaaa" not in text
    assert unseen_reports() == [report]
    dismiss_reports()
    assert unseen_reports() == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failing_thread_is_written_down(caught: list[Path]) -> None:
    thread = threading.Thread(target=_fail, args=("in a thread",))
    thread.start()
    thread.join()
    assert "in a thread" in caught[0].read_text(encoding="utf-8")


def test_a_failing_task_is_written_down(qapp: QApplication, caught: list[Path]) -> None:
    kept = CrashReports(caught.append)

    async def story() -> int:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(kept.of_loop)
        loop.call_soon(_fail, "in the loop")
        await until(lambda: caught)
        return 0

    eventloop.run_until(qapp, within(story()))
    assert "in the loop" in caught[0].read_text(encoding="utf-8")


def test_a_death_in_native_code_is_found_at_the_next_start() -> None:
    script = (
        "import faulthandler\nfrom app.ui.system.system import CrashReports\n"
        "CrashReports(print).open()\nfaulthandler._sigsegv()\n"
    )
    died = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False, timeout=60)
    assert died.returncode == -signal.SIGSEGV
    (report,) = unseen_reports()
    assert "Segmentation fault" in report.read_text(encoding="utf-8")


def test_a_clean_end_leaves_nothing(caught: list[Path]) -> None:
    assert crash_folder().joinpath("fatal.txt").exists()


def test_the_next_start_tells_of_a_crash_until_it_is_dismissed(qtbot: QtBot, qapp: QApplication, still: Look) -> None:
    write_report("RuntimeError: it broke")
    presence = Presence(still)
    presence.show()

    async def story() -> int:
        with closing(System(qapp, presence, still, Settings({"presence.summon_key": ""}, {}))):
            (note,) = [window for window in qapp.topLevelWidgets() if isinstance(window, NoteWindow)]
            assert "A report of that is on this computer" in note.accessibleName()
            assert not note.isActiveWindow()
            qtbot.waitExposed(note)
            qtbot.mouseClick(note.buttons[1], Qt.MouseButton.LeftButton)
            assert not note.isVisible()
        note.deleteLater()
        return 0

    eventloop.run_until(qapp, within(story()))
    presence.orb.close()
    assert unseen_reports() == []


def test_the_summon_key_opens_the_composer_with_the_keyboard_and_closes_it(qapp: QApplication, still: Look) -> None:
    presence = Presence(still)
    presence.show()

    async def story() -> int:
        with closing(System(qapp, presence, still, Settings({}, {}))):
            await hand("key", "ctrl+alt+space")
            await until(lambda: presence.is_open and presence.composer.isActiveWindow())
            await hand("key", "ctrl+alt+space")
            await until(lambda: not presence.is_open)
        return 0

    eventloop.run_until(qapp, within(story()))
    presence.orb.close()


def test_a_summon_key_that_does_not_work_is_told_in_the_thread(qapp: QApplication, still: Look) -> None:
    presence = Presence(still)

    async def story() -> int:
        System(qapp, presence, still, Settings({"presence.summon_key": "nonsense"}, {})).close()
        return 0

    eventloop.run_until(qapp, within(story()))
    (told,) = [item for item in presence.inbox.view.items if isinstance(item, NoticeItem)]
    assert (told.level, "nonsense" in told.sentence) == ("warning", True)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)], ids=["TERM", "INT", "HUP"]
)
def test_the_program_quits_cleanly_when_asked_by_a_signal(
    desktop: VirtualDesktop, number: signal.Signals, code: int
) -> None:
    environment = {**os.environ, "WISP_PROVIDER": "offline"}
    wisp = subprocess.Popen([sys.executable, "-m", "app"], cwd=ROOT, env=environment, stderr=subprocess.PIPE)
    try:
        fatal = paths.state_dir() / "crashes" / "fatal.txt"
        _wait_for(fatal.exists)
        wisp.send_signal(number)
        _, told = wisp.communicate(timeout=30)
    finally:
        wisp.kill()
    assert (wisp.returncode, told.decode()) == (code, "")
    assert not fatal.exists()


def _wait_for(seen: object) -> None:
    async def wait() -> None:
        await until(seen)  # type: ignore[arg-type]

    asyncio.run(wait())


def test_nothing_heavy_is_imported_before_the_first_paint(desktop: VirtualDesktop) -> None:
    script = (
        "import sys, types\n"
        "from app import cli\n"
        "heavy = ('asyncio', 'qasync', 'tomlkit', 'app.assistant', 'app.agent.agent_events', 'app.ui.presence',\n"
        "         'anthropic', 'openai', 'PIL', 'mss', 'numpy', 'dbus_fast', 'keyring', 'pydantic',\n"
        "         'logging.handlers')\n"
        "life = types.ModuleType('app.ui.lifecycle')\n"
        "life.PaintedParts = lambda *parts: parts\n"
        "life.run = lambda parts, *_: print(parts[3].isVisible(), [name for name in heavy if name in sys.modules])\n"
        "sys.modules['app.ui.lifecycle'] = life\n"
        "cli.main([])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.strip() == "True []"
