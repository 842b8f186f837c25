"""The settings' window and the welcome, used by hand; what a choice changes at once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)
from pytestqt.qtbot import QtBot
from Xlib import X
from Xlib.display import Display

from app.agent.agent_events import Outcome, TurnEnded, TurnStarted
from app.agent.policy import Need, Subject
from app.agent.policy.grants import SavedGrants
from app.base import paths
from app.base.errors import NeedsPerson, Remedy
from app.services.themes import Appearance
from app.settings import catalog, store
from app.settings.store import Settings
from app.ui import application, eventloop
from app.ui.bubble.rows import OfferRow
from app.ui.lifecycle import Dialogs
from app.ui.machine import MachineFinding, ModelServer, Outside, Trial
from app.ui.preferences import fields
from app.ui.preferences.editors import Radio, Switch
from app.ui.preferences.sections import FindingsList, Folders, GrantsList, KeyRow
from app.ui.preferences.window import SettingsWindow
from app.ui.presence import Look, Presence
from app.ui.presenter.view import NoticeItem
from app.ui.system import autostart
from app.ui.system.autostart import DesktopFile
from app.ui.system.system import System
from app.ui.welcome import WelcomeWindow
from tests.support.waiting import until, within
from tests.ui.conftest import run_and_undress
from tests.ui.fake_agent import FakeAgent


class SomeMachine:
    """Answers what the test says; `keys` are those that work."""

    def __init__(self) -> None:
        self.found: list[MachineFinding] = [
            MachineFinding("Display", "ok", "X11 on :1"),
            MachineFinding("Input", "ok", "moved the pointer"),
            MachineFinding("Accessibility", "note", "no bus", "sudo apt-get install at-spi2-core"),
            MachineFinding("Screen capture", "fail", "black", "Log in to an X11 session."),
        ]
        self.known = [ModelServer("Ollama", "http://127.0.0.1:11434/v1", ("qwen", "llama"))]
        self.keys = {"sk-good"}
        self.asked = 0
        self.is_cut_off = False

    async def findings(self) -> Sequence[MachineFinding]:
        self.asked += 1
        return self.found

    async def servers(self) -> Sequence[ModelServer]:
        return self.known

    async def advice(self) -> str:
        return "Run “wisp extension” once."

    async def models(self) -> Sequence[str]:
        return ("qwen", "llama", "mistral")

    async def tried(self, provider: str, key: str = "", base_url: str = "", model: str = "") -> Trial:
        if self.is_cut_off:
            return Trial(problem="The service cannot be reached.")
        if base_url:
            return Trial(f"Hello from {model}.")
        works = (key or store.key_of(provider)) in self.keys
        return Trial("Hello.") if works else Trial(problem="The key was refused.", is_refused=True)

    async def unshown(self, setting: str) -> str:
        return "There is no such colour." if setting == "presence.backdrop" else ""


@pytest.fixture(autouse=True)
def no_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))


@pytest.fixture
def machine() -> SomeMachine:
    return SomeMachine()


@pytest.fixture
def window(qtbot: QtBot, still: Look, machine: SomeMachine) -> SettingsWindow:
    made = SettingsWindow(still.theme, Settings({}, {}), machine)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


def _texts(widget: QWidget) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel) if label.text()]


def test_every_setting_of_the_catalog_has_a_field_with_its_name_and_meaning(window: SettingsWindow) -> None:
    for setting in catalog.every():
        editor = window.editor(setting.key)
        assert editor.accessibleName()
        assert editor.accessibleDescription() == setting.description


def test_who_is_sent_to_add_a_key_can_type_it_at_once(qtbot: QtBot, window: SettingsWindow) -> None:
    window.show_editor("key.openai")
    field = window.editor("key.openai")
    assert field.isVisible()
    qtbot.waitUntil(field.hasFocus)


def _removing(grants: GrantsList) -> list[QPushButton]:
    return [button for button in grants.findChildren(QPushButton) if button.isVisible()]


def test_what_is_always_allowed_is_listed_and_can_be_taken_back(qtbot: QtBot, still: Look) -> None:
    saved = SavedGrants()
    saved.add([Need(Subject.PROGRAM, "thunderbird", "Thunderbird"), Need(Subject.HOST, "example.com", "example.com")])
    made = GrantsList(still.theme)
    qtbot.addWidget(made)
    made.show()
    assert [text for text in _texts(made) if "since" not in text] == [
        "Wisp uses these without asking. Inside a program it can do all that you can.",
        "Thunderbird",
        "example.com",
    ]
    for left in (["example.com"], []):
        qtbot.waitUntil(lambda: bool(_removing(made)))
        _removing(made)[0].click()
        assert [one.name for one in saved.all()] == left
    assert made.note.text() == "None yet. When you answer a question of Wisp with “Always”, it is listed here."


def test_every_setting_stands_on_exactly_one_page() -> None:
    placed = [setting.key for page in fields.pages() for setting in page.settings]
    assert sorted(placed) == sorted(setting.key for setting in catalog.every())


def test_a_choice_is_written_as_soon_as_it_is_made(qtbot: QtBot, window: SettingsWindow) -> None:
    reduced = window.editor("presence.reduced_motion")
    assert isinstance(reduced, Switch)
    reduced.click()
    name = window.editor("presence.name")
    assert isinstance(name, QLineEdit)
    name.selectAll()
    qtbot.keyClicks(name, "Robin")
    qtbot.keyClick(name, Qt.Key.Key_Return)
    _chosen(window, "trust.mode", "plan")
    kept = store.load({})
    assert (kept[catalog.REDUCED_MOTION], kept[catalog.NAME], kept[catalog.MODE]) == (True, "Robin", "plan")


def test_a_field_that_was_only_visited_writes_nothing(qtbot: QtBot, window: SettingsWindow) -> None:
    name = window.editor("presence.name")
    qtbot.keyClick(name, Qt.Key.Key_Return)
    assert not (paths.config_dir() / "settings.toml").exists()


@pytest.mark.parametrize(
    ("key", "shown", "typed", "kept"),
    [
        ("chat.stream_idle_timeout_ms", "30 s", "45", 45_000),
        ("chat.max_seconds", "30 min", "5", 300.0),
        ("trust.yolo_minutes", "30 min", "10", 10.0),
        ("history.days", "90 days", "7", 7),
    ],
)
def test_numbers_are_read_and_written_in_a_persons_units(
    qtbot: QtBot, window: SettingsWindow, key: str, shown: str, typed: str, kept: float
) -> None:
    editor = window.editor(key)
    assert isinstance(editor, (QSpinBox, QDoubleSpinBox))
    assert editor.text() == shown
    editor.lineEdit().selectAll()
    qtbot.keyClicks(editor.lineEdit(), typed)
    qtbot.keyClick(editor.lineEdit(), Qt.Key.Key_Return)
    assert store.load({})[next(setting for setting in catalog.every() if setting.key == key)] == kept


def test_a_key_is_chosen_by_pressing_it(qtbot: QtBot, window: SettingsWindow) -> None:
    field = window.editor("presence.summon_key")
    assert isinstance(field, QLineEdit)
    qtbot.keyClicks(field, "x")  # a letter alone would be taken from every program
    assert field.text() == "ctrl+alt+space"
    control_shift = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(field, Qt.Key.Key_F5, control_shift)
    assert field.text() == "ctrl+shift+f5"
    assert store.load({})[catalog.SUMMON_KEY] == "ctrl+shift+f5"
    qtbot.keyClick(field, Qt.Key.Key_Backspace)
    assert store.load({})[catalog.SUMMON_KEY] == ""


def test_the_window_stands_in_the_middle_and_has_wisps_icon(window: SettingsWindow) -> None:
    middle = window.screen().availableGeometry().center()
    offset = window.frameGeometry().center() - middle
    assert max(abs(offset.x()), abs(offset.y())) <= 32  # the title bar stands above the middle
    assert not window.windowIcon().pixmap(32).isNull()


def test_a_key_is_kept_and_not_shown(qtbot: QtBot, window: SettingsWindow) -> None:
    field = window.editor("key.brave")
    assert isinstance(field, QLineEdit)
    assert field.echoMode() is QLineEdit.EchoMode.Password
    field.setText("sk-secret")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.text() == ""
    assert store.key_of("brave") == "sk-secret"
    assert any("only you can read" in text for text in _texts(window))
    assert not any("sk-secret" in text for text in _texts(window))


def test_a_wrong_key_is_told_before_it_is_kept_and_one_that_works_lets_the_model_speak(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine
) -> None:
    row = KeyRow(still.theme, "anthropic", machine)
    qtbot.addWidget(row)

    async def story() -> int:
        for press in (row.keep_button, row.test_button):
            row.field.setText("sk-bad")
            press.click()
            await until(press.isEnabled)
            assert (row.answer.text(), row.field.text()) == ("The key was refused.", "sk-bad")
            assert store.key_of("anthropic") == ""
        row.field.setText("sk-good")
        row.keep_button.click()
        await until(row.keep_button.isEnabled)
        assert "“Hello.”" in row.answer.text()
        return 0

    eventloop.run_until(qapp, within(story()))
    assert store.key_of("anthropic") == "sk-good"


def test_a_key_for_a_server_of_ones_own_is_tried_there(
    qtbot: QtBot, qapp: QApplication, machine: SomeMachine, window: SettingsWindow
) -> None:
    for setting, value in (
        (catalog.PROVIDER, "openai"),
        (catalog.BASE_URL, "https://models.example/v1"),
        (catalog.MODEL, "gem"),
    ):
        store.save(setting, value)
    field = window.editor("key.openai")
    assert isinstance(field, QLineEdit)

    async def story() -> int:
        field.setText("sk-theirs")
        qtbot.keyClick(field, Qt.Key.Key_Return)
        await until(lambda: any("“Hello from gem.”" in text for text in _texts(window)))
        return 0

    eventloop.run_until(qapp, within(story()))
    assert store.key_of("openai") == "sk-theirs"


def test_a_key_that_cannot_be_tried_is_kept_and_that_is_said(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine
) -> None:
    machine.is_cut_off = True
    row = KeyRow(still.theme, "anthropic", machine)
    qtbot.addWidget(row)

    async def story() -> int:
        row.field.setText("sk-new")
        row.keep_button.click()
        await until(row.keep_button.isEnabled)
        return 0

    eventloop.run_until(qapp, within(story()))
    assert store.key_of("anthropic") == "sk-new"
    assert "cannot be reached" in row.answer.text()


def test_the_field_for_the_model_offers_what_the_server_has(
    qtbot: QtBot, qapp: QApplication, window: SettingsWindow
) -> None:
    field = window.editor("model.id")
    assert isinstance(field, QLineEdit)

    async def story() -> int:
        field.setFocus()
        qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
        await until(lambda: field.completer() is not None)
        qtbot.keyClicks(field, "ra")  # only the third is none of it
        completer = field.completer()
        assert completer is not None
        await until(lambda: completer.completionCount() == 1)
        popup = completer.popup()
        assert popup is not None
        completer.activated.emit(completer.currentCompletion())
        return 0

    eventloop.run_until(qapp, within(story()))
    assert store.load({})[catalog.MODEL] == "mistral"


def test_findings_show_what_is_to_be_mended_first_with_its_fix(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine
) -> None:
    shown = FindingsList(still.theme, machine)
    qtbot.addWidget(shown)

    async def story() -> int:
        shown.ask_once()
        await until(shown.again.isEnabled)
        shown.ask_once()
        return 0

    eventloop.run_until(qapp, within(story()))
    assert machine.asked == 1
    assert [text for text in _texts(shown) if text != shown.note.text()] == [
        "Screen capture: black",
        "Log in to an X11 session.",
        "Accessibility: no bus",
        "sudo apt-get install at-spi2-core",
        "Works: Display, Input",
    ]
    assert shown.note.text() == "To solve before Wisp can work here: 1."


@pytest.mark.parametrize(
    ("fix", "command"),
    [
        ("sudo apt-get install at-spi2-core", "sudo apt-get install at-spi2-core"),
        ("Install it and log in again: sudo apt-get install xdotool", "sudo apt-get install xdotool"),
        ("Run the setup again, or: pip install --force-reinstall x", "pip install --force-reinstall x"),
        ("For more: pipx inject wisp-desktop x", "pipx inject wisp-desktop x"),
        ("Choose another key: ./scripts/setup whole", "./scripts/setup whole"),
    ],
)
def test_the_command_that_mends_a_finding_is_copied_by_a_press(
    qtbot: QtBot, still: Look, machine: SomeMachine, fix: str, command: str
) -> None:
    shown = FindingsList(still.theme, machine)
    qtbot.addWidget(shown)
    QGuiApplication.clipboard().setText("before")
    shown.show_findings([MachineFinding("Accessibility", "fail", "no bus", fix)])
    buttons = [button for button in shown.findChildren(QPushButton) if button is not shown.again]
    assert [button.text() for button in buttons] == ["Copy the command"]
    for button in buttons:
        button.click()
        assert button.text() == "Copied."
    assert QGuiApplication.clipboard().text() == command


def test_a_finding_without_a_command_has_a_button_that_opens_where_it_is_mended_or_looks_again(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine, window: SettingsWindow
) -> None:
    window.editor("trust.mode")
    (shown,) = window.findChildren(FindingsList)
    shown.show_findings(
        [
            MachineFinding("Global hotkeys", "note", "taken", "Choose another key.", "presence.summon_key"),
            MachineFinding("Keys", "note", "none", "Set one.", "key.anthropic"),
            MachineFinding("Display", "fail", "Wayland", "Log in to an X11 session."),
        ]
    )
    again, hotkey, key = [button for button in shown.findChildren(QPushButton) if button is not shown.again]
    assert [button.text() for button in (again, hotkey, key)] == ["Check again", *2 * ["Open the setting"]]
    for button, editor in ((hotkey, "presence.summon_key"), (key, "key.anthropic")):
        window.index.setCurrentRow(window.index.count() - 1)
        button.click()
        page = window._stack.currentWidget()
        assert page is not None
        assert page.isAncestorOf(window.editor(editor))
    asked = machine.asked

    async def story() -> int:
        again.click()
        await until(lambda: machine.asked == asked + 1 and shown.again.isEnabled())
        return 0

    eventloop.run_until(qapp, within(story()))


def test_the_data_folders_are_named_and_open_by_a_press(qtbot: QtBot, still: Look) -> None:
    opened: list[Path] = []
    folders = Folders(still.theme, opened.append)
    qtbot.addWidget(folders)
    for button in folders.findChildren(QPushButton):
        button.click()
    assert opened == [paths.data_dir(), paths.config_dir(), paths.state_dir()]
    assert str(paths.data_dir()) in _texts(folders)


def test_escape_closes_the_settings(qtbot: QtBot, window: SettingsWindow) -> None:
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isVisible()


def test_the_pages_are_reached_by_the_keyboard(qtbot: QtBot, window: SettingsWindow) -> None:
    window.index.setFocus()
    window.index.setCurrentRow(3)
    assert window.editor("presence.theme").isVisible()
    qtbot.keyClick(window.index, Qt.Key.Key_Down)
    assert not window.editor("presence.theme").isVisible()
    assert window.editor("presence.summon_key").isVisible()


Window = TypeVar("Window", bound=QWidget)


def _shown(kind: type[Window]) -> list[Window]:
    return [each for each in QApplication.topLevelWidgets() if isinstance(each, kind) and each.isVisible()]


def _chosen(window: SettingsWindow, key: str, value: str) -> None:
    box = window.editor(key)
    assert isinstance(box, QComboBox)
    box.setCurrentIndex(box.findData(value))
    box.activated.emit(box.currentIndex())


def _radio(window: SettingsWindow, key: str, value: str) -> Radio:
    return next(button for button in window.editor(key).findChildren(Radio) if button.value == value)


def test_choices_count_at_once_where_they_can(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine
) -> None:
    presence = Presence(still)
    presence.show()
    wanted: list[str] = []

    async def story() -> int:
        with (
            closing(System(qapp, presence, still, Settings({}, {}))) as system,
            closing(Dialogs(presence, system, Outside(lambda: store.load({}), machine))) as dialogs,
        ):
            dialogs.agent_wanted.connect(lambda: wanted.append("agent"))
            presence.actions.settings()
            (window,) = _shown(SettingsWindow)
            presence.open()
            presence.composer.field.setPlainText("half a wish")
            assert presence.theme.scheme == "light"
            _radio(window, "presence.scheme", "dark").click()
            assert (presence.theme.scheme, presence.composer.field.toPlainText()) == ("dark", "half a wish")
            assert presence.orb.theme.scheme == "dark"
            autostart = window.editor("presence.autostart")
            assert isinstance(autostart, Switch)
            autostart.click()
            assert DesktopFile([]).is_there()
            autostart.click()
            assert not DesktopFile([]).is_there()
            _chosen(window, "presence.language", "de")
            assert window.note.text() == "Saved. It takes effect when you start Wisp again."
            assert wanted == []
            _chosen(window, "model.provider", "offline")
            assert (window.note.text(), wanted) == ("Saved. It takes effect with your next message.", ["agent"])
            window.close()
            window.deleteLater()
            presence.close()
        return 0

    run_and_undress(qapp, still, presence, story())


def test_what_of_a_look_cannot_be_shown_is_said_where_it_is_entered(
    qtbot: QtBot, qapp: QApplication, still: Look, presence: Presence, machine: SomeMachine
) -> None:
    async def story() -> int:
        with (
            closing(System(qapp, presence, still, Settings({}, {}))) as system,
            closing(Dialogs(presence, system, Outside(lambda: store.load({}), machine))),
        ):
            presence.actions.settings()
            (window,) = _shown(SettingsWindow)
            for key, said in (("presence.backdrop", "There is no such colour."), ("presence.atmosphere", "Saved.")):
                window.show_editor(key)
                line = window.editor(key)
                assert isinstance(line, QLineEdit)
                line.setText("bananas")
                line.editingFinished.emit()
                await until(lambda said=said: window.note.text() == said)
            window.close()
        return 0

    eventloop.run_until(qapp, within(story()))


def test_after_the_end_no_change_of_the_settings_is_followed(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine
) -> None:
    presence, read = Presence(still), list[int]()

    def reload() -> Settings:
        read.append(1)
        return store.load({})

    async def story() -> int:
        with closing(System(qapp, presence, still, Settings({}, {}))) as system:
            left, ended = (Dialogs(presence, system, Outside(reload, machine)) for _ in range(2))
            with closing(left):
                ended.close()
                before = len(read)
                store.save(catalog.SCHEME, "dark")
                await until(lambda: presence.theme.scheme == "dark")
                assert len(read) == before + 1
        return 0

    run_and_undress(qapp, still, presence, story())


def test_a_theme_that_a_tool_writes_is_followed_at_once_and_what_was_said_is_not_typed_again(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine
) -> None:
    presence = Presence(still)
    presence.show()

    async def story() -> int:
        with (
            closing(System(qapp, presence, still, Settings({}, {}))) as system,
            closing(Dialogs(presence, system, Outside(lambda: store.load({}), machine))),
        ):
            presence.open()
            presence.composer.field.setPlainText("half a wish")
            looks = Appearance()
            looks.choose({catalog.THEME: "cyberpunk", catalog.FONTS: "mono: Hack"}, "turn-1")
            await until(lambda: presence.theme.name == "cyberpunk")
            assert presence.theme.families("mono")[0] == "Hack"
            assert (presence.orb.theme.name, presence.composer.field.toPlainText()) == ("cyberpunk", "half a wish")
            looks.undo_newest(None)
            await until(lambda: presence.theme.name == "plain")
            presence.close()
        return 0

    run_and_undress(qapp, still, presence, story())


def test_a_name_that_a_tool_writes_is_at_once_the_title_of_all_windows(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine
) -> None:
    presence = Presence(still)
    presence.show()

    async def story() -> int:
        with (
            closing(System(qapp, presence, still, Settings({}, {}))) as system,
            closing(Dialogs(presence, system, Outside(lambda: store.load({}), machine))) as dialogs,
        ):
            presence.open()
            dialogs.settings()
            Appearance().choose({catalog.NAME: "Robin"}, "turn-1")
            (settings,) = _shown(SettingsWindow)
            windows = {presence.orb: "Robin", presence.bubble: "Robin", settings: "Settings — Robin"}
            await until(lambda: [_title(one) for one in windows] == list(windows.values()))
            assert presence.orb.accessibleName() == "Robin"
            settings.close()
            presence.close()
        return 0

    run_and_undress(qapp, still, presence, story())


def _title(window: QWidget) -> str:
    """The title of a window, as the window manager reads it."""
    display = Display()
    try:
        of = display.create_resource_object("window", int(window.winId()))
        found = of.get_full_property(display.intern_atom("_NET_WM_NAME"), X.AnyPropertyType)
        return found.value.decode() if found else ""
    finally:
        display.close()


@pytest.fixture
def welcome(qtbot: QtBot, still: Look, machine: SomeMachine) -> WelcomeWindow:
    made = WelcomeWindow(still.theme, machine)
    qtbot.addWidget(made)
    return made


def test_who_answers_is_chosen_and_kept(qtbot: QtBot, qapp: QApplication, welcome: WelcomeWindow) -> None:
    async def story() -> int:
        welcome.show()
        welcome.begin()
        await until(lambda: welcome.answerer.models.count() == 2)
        assert welcome.answerer.local.isChecked()  # because there is no key
        welcome.answerer.models.setCurrentIndex(1)
        welcome.answerer.test.click()
        await until(welcome.answerer.test.isEnabled)
        assert "“Hello from llama.”" in welcome.answerer.answer.text()
        with qtbot.waitSignal(welcome.left):
            welcome.done.click()
        return 0

    eventloop.run_until(qapp, within(story()))
    kept = store.load({})
    assert (kept[catalog.PROVIDER], kept[catalog.BASE_URL], kept[catalog.MODEL]) == (
        "openai",
        "http://127.0.0.1:11434/v1",
        "llama",
    )
    assert not welcome.isVisible()


@pytest.mark.parametrize(("verdict", "shown"), [("ok", False), ("note", False), ("fail", True)])
def test_of_the_findings_only_what_is_wrong_is_shown(welcome: WelcomeWindow, verdict: str, shown: bool) -> None:
    welcome.findings.show_findings(
        [MachineFinding("Screen", "ok", "fine"), MachineFinding("Fonts", verdict, "so", "do this")]
    )
    assert welcome.findings.isHidden() is not shown
    assert "fine" not in " ".join(label.text() for label in welcome.findings.findChildren(QLabel))


def test_a_service_without_a_key_asks_for_one_and_goes_on_with_one_that_works(
    qtbot: QtBot, qapp: QApplication, welcome: WelcomeWindow
) -> None:
    page = welcome.answerer

    async def story() -> int:
        page.services["openai"].click()
        for typed, told in (("", "Enter a key"), ("sk-bad", "refused")):
            page.keys["openai"].field.setText(typed)
            welcome.done.click()
            await until(welcome.done.isEnabled)
            assert told in welcome.note.text()
        page.keys["openai"].field.setText("sk-good")
        welcome.done.click()
        await until(welcome.done.isEnabled)
        return 0

    eventloop.run_until(qapp, within(story()))
    assert (store.load({})[catalog.PROVIDER], store.key_of("openai")) == ("openai", "sk-good")


def test_without_a_model_on_this_computer_the_choice_is_closed_and_says_what_to_do(
    qapp: QApplication, welcome: WelcomeWindow, machine: SomeMachine
) -> None:
    machine.known = []

    async def story() -> int:
        welcome.answerer.look()
        await until(welcome.answerer.again.isEnabled)
        return 0

    eventloop.run_until(qapp, within(story()))
    assert not welcome.answerer.local.isEnabled()
    assert "Start Ollama" in welcome.answerer.found.text()


def test_the_first_run_introduces_itself_does_one_thing_and_offers_to_take_it_back_and_to_choose_who_answers(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine
) -> None:
    presence, agent = Presence(still), FakeAgent()
    presence.show()
    assert autostart.is_due()

    async def story() -> int:
        with (
            closing(System(qapp, presence, still, Settings({"presence.summon_key": ""}, {}))) as system,
            closing(
                Dialogs(presence, system, Outside(lambda: Settings({"presence.name": "Mira"}, {}), machine))
            ) as dialogs,
        ):
            presence.attach(agent)
            dialogs.welcome()
            await until(lambda: presence.is_open)
            assert not _shown(WelcomeWindow)
            said, offer = presence.inbox.view.items
            found, wish = autostart.welcome()
            assert (said.text, offer.labels) == (found.sentence.format(name="Mira"), (wish.label,))  # type: ignore[union-attr]
            (row,) = [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, OfferRow)]
            qtbot.mouseClick(row.buttons[0], Qt.MouseButton.LeftButton)
            await until(lambda: agent.sent == [wish.text])
            await until(lambda: {wish.undo_label, found.who_label} <= {one.text() for one in _offers(presence)})
            assert "qwen" in presence.inbox.view.items[-2].text  # type: ignore[union-attr]
            assert len(_offers(presence)) == 2 + 3
            assert any(isinstance(item, NoticeItem) for item in presence.inbox.view.items)
            presence.send("another wish")
            await until(lambda: agent.sent == [wish.text, "another wish"])
            await until(lambda: [one.text() for one in _offers(presence)] == [found.who_label])
            assert not _shown(WelcomeWindow)
            (who,) = [one for one in _offers(presence) if one.text() == found.who_label]
            qtbot.mouseClick(who, Qt.MouseButton.LeftButton)
            await until(lambda: _shown(WelcomeWindow))
            (window,) = _shown(WelcomeWindow)
            window.close()
            presence.detach()
        return 0

    eventloop.run_until(qapp, within(story()))
    presence.close()
    presence.orb.close()
    assert not autostart.is_due()


def test_after_a_first_task_of_their_own_nothing_else_is_offered_to_be_closed(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine
) -> None:
    presence, agent = Presence(still), FakeAgent()
    presence.show()

    async def story() -> int:
        with (
            closing(System(qapp, presence, still, Settings({"presence.summon_key": ""}, {}))) as system,
            closing(Dialogs(presence, system, Outside(lambda: Settings({}, {}), machine))) as dialogs,
        ):
            presence.attach(agent)
            dialogs.welcome()
            await until(lambda: presence.is_open)
            qtbot.keyClicks(presence.composer.field, "make a timer")
            qtbot.keyClick(presence.composer.field, Qt.Key.Key_Return)
            await until(lambda: agent.sent == ["make a timer"])
            found, wish = autostart.welcome()
            await until(lambda: found.who_label in [button.text() for button in _offers(presence)])
            assert wish.undo_label not in [button.text() for button in _offers(presence)]
            presence.detach()
        return 0

    eventloop.run_until(qapp, within(story()))
    presence.close()
    presence.orb.close()


def test_another_provider_goes_on_with_the_conversation_after_a_choice(
    qtbot: QtBot, qapp: QApplication, machine: SomeMachine
) -> None:
    agents: list[FakeAgent] = []
    shown: list[Presence] = []

    def connect(_curtain: object) -> FakeAgent:
        agents.append(FakeAgent())
        return agents[-1]

    async def story() -> None:
        await until(lambda: shown)
        agents[0].conversation = "1"
        shown[0].actions.settings()
        (window,) = _shown(SettingsWindow)
        _chosen(window, "model.provider", "offline")
        await until(lambda: len(agents) == 2 and agents[0].closed)
        await until(lambda: agents[1].reopened == ["1"])
        shown[0].send("who is there")
        await until(lambda: agents[1].sent == ["who is there"])
        window.close()
        window.deleteLater()
        shown[0].close()

    outside = Outside(lambda: store.load({}), machine)
    settings = Settings({"presence.summon_key": ""}, {})
    assert application.run(connect, settings, outside, on_ready=shown.append, quit_when=story()) == 0
    shown[0].orb.close()


def test_an_agent_that_cannot_be_had_is_told_and_the_presence_stays(qapp: QApplication, machine: SomeMachine) -> None:
    shown: list[Presence] = []

    def connect(_curtain: object) -> FakeAgent:
        raise NeedsPerson("There is no key. Enter one in the settings.")

    async def story() -> None:
        await until(lambda: shown)

    settings = Settings({"presence.summon_key": ""}, {})
    outside = Outside(lambda: settings, machine)
    assert application.run(connect, settings, outside, on_ready=shown.append, quit_when=story()) == 0
    told = [item.sentence for item in shown[0].inbox.view.items if isinstance(item, NoticeItem)]
    assert told == ["There is no key. Enter one in the settings."]
    shown[0].orb.close()


class _FileManager(QObject):
    """Hears which folders are opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Path] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(Path(url.toLocalFile()))


@pytest.mark.parametrize(
    ("remedy", "words"),
    [
        (Remedy.AGAIN, "Try again"),
        (Remedy.KEY, "Add key"),
        (Remedy.SETTINGS, "Open settings"),
        (Remedy.LOG, "Show log"),
    ],
)
def test_a_press_after_a_failure_does_what_its_button_says(
    qtbot: QtBot, qapp: QApplication, still: Look, machine: SomeMachine, remedy: Remedy, words: str
) -> None:
    presence, agent, files = Presence(still), FakeAgent(), _FileManager()
    presence.show()
    QDesktopServices.setUrlHandler("file", files, "open")

    async def story() -> int:
        with (
            closing(System(qapp, presence, still, Settings({}, {}))) as system,
            closing(Dialogs(presence, system, Outside(lambda: Settings({"model.provider": "anthropic"}, {}), machine))),
        ):
            presence.attach(agent)
            presence.send("go")
            await until(lambda: agent.sent == ["go"])
            agent.tell(TurnStarted("t", "go"), TurnEnded("t", Outcome.FAILED, "It failed.", remedy))
            await until(lambda: presence.is_open and any(_offers(presence)))
            (button,) = _offers(presence)
            assert button.text() == words
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
            await until(lambda: len(agent.sent) > 1 or files.opened or _shown(SettingsWindow))
            windows = _shown(SettingsWindow)
            keyboard = windows[0].focusWidget() if windows else None
            asks_for_key = keyboard is not None and keyboard.accessibleName() == "Key for Claude"
            for window in windows:
                window.close()
            assert agent.sent[1:] == (["go"] if remedy is Remedy.AGAIN else [])
            assert files.opened == ([paths.state_dir()] if remedy is Remedy.LOG else [])
            assert (bool(windows), asks_for_key) == (remedy in (Remedy.KEY, Remedy.SETTINGS), remedy is Remedy.KEY)
        return 0

    try:
        assert eventloop.run_until(qapp, within(story())) == 0
    finally:
        QDesktopServices.unsetUrlHandler("file")
        presence.close()
        presence.orb.close()


def _offers(presence: Presence) -> list[QAbstractButton]:
    rows = (row for row in presence.bubble.thread_view.realised.values() if isinstance(row, OfferRow))
    return [button for row in rows for button in row.buttons]
