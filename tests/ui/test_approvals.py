"""The card that asks: what it shows, how it is answered, and that only a person can say yes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot
from Xlib import XK

from app.agent import agent_events
from app.agent.agent_events import Scope
from app.agent.asking import question
from app.agent.inspection import DesktopInspector
from app.agent.policy import Action, Decision, Mode, Policy, Trust
from app.assembly import registry
from app.desktop.choose import open_desktop
from app.desktop.x11.virtual import VirtualDesktop
from app.protocol.call import ToolCall
from app.protocol.spec import Effect, ScreenAim
from app.settings import tokens
from app.ui.approvals.devices import WITNESS
from app.ui.approvals.row import ApprovalRow, Choices
from app.ui.presence import Presence
from app.ui.theme import drawing, theme
from scripts.device import PersonsDevices
from tests.support.gallery import samples
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent, hand, point

_ROOM = 344


async def _asked(presence: Presence, agent: FakeAgent, events: samples.Events) -> ApprovalRow:
    agent.tell(*events)
    await until(lambda: any(isinstance(row, ApprovalRow) for row in presence.bubble.thread_view.realised.values()))
    found = [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, ApprovalRow)]
    await until(found[-1].allow.isEnabled)
    return found[-1]


@pytest.fixture
def person(desktop: VirtualDesktop) -> Iterator[PersonsDevices]:
    """A real mouse and keyboard, and presses told apart by their devices."""
    devices = PersonsDevices(desktop.environment)
    WITNESS.use(None)
    yield devices
    devices.close()


def test_it_shows_who_and_what_and_why_and_what_can_be_undone(
    presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def script() -> None:
        row = await _asked(presence, agent, samples.click_approval())
        assert row.accessibleDescription().splitlines() == [
            "Let Wisp use Thunderbird? Wisp wants to press “Send” in “Inbox”.",
            "You did not name Thunderbird. There, Wisp can do all that you can while you are signed in.",
            "Inbox (Thunderbird)",
            "Wisp cannot undo it. Perhaps the program can.",
            "The rule “mode ask” says that Wisp must ask.",
        ]
        assert all(row.rect().contains(part.geometry()) for part, _ in row._parts())

    drive(script())


def _bold(row: ApprovalRow) -> list[str]:
    """Return the strong parts of the question as it is painted."""
    block, found = row._sentence.document().firstBlock(), list[str]()
    strong = drawing.font(row.theme, "text", strong=True).weight()
    while block.isValid():
        part = block.begin()
        while not part.atEnd():
            if part.fragment().charFormat().fontWeight() == strong:
                found.append(part.fragment().text())
            part += 1  # type: ignore[operator, assignment]
        block = block.next()
    return found


@pytest.mark.parametrize("scopes", [(Scope.ONCE,), (Scope.ONCE, Scope.TASK), tuple(Scope)])
def test_yes_and_no_have_their_signs_in_every_theme_however_wide_its_letters_are(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, scopes: tuple[Scope, ...]
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(drawing, "draw", lambda _painter, glyph, *_: drawn.append(glyph))
    for kind in ("", *tokens.THEMES):
        holder = QWidget()
        qtbot.addWidget(holder)
        choices = Choices(theme.load("light", kind=kind), holder)
        choices.offer(scopes)
        choices.resize(_ROOM, choices.height_for(_ROOM))
        for button, sign in ((choices.deny, "close"), (choices.allows[Scope.ONCE], "check")):
            button.grab()
            assert drawn.pop() == sign
            assert choices.rect().contains(button.geometry())
        shown = [choices.deny, *(choices.allows[scope] for scope in scopes)]
        assert not any(one.geometry().intersects(other.geometry()) for one, other in combinations(shown, 2))


@pytest.mark.parametrize(
    ("language", "sentence", "bold"),
    [
        (
            "",
            "Wisp wants to delete ~/Downloads/🗑⟨U+202E⟩alt, send notes.txt to example.com and do 2 more things.",
            ["delete", "send", "do"],
        ),
        (
            "de",
            "Wisp möchte ~/Downloads/🗑⟨U+202E⟩alt löschen, notes.txt an example.com senden und 2 weitere Dinge tun.",
            ["löschen", "senden", "tun"],
        ),
    ],
)
def test_every_verb_of_the_question_is_bold(
    presence: Presence, agent: FakeAgent, drive: Drive, language: str, sentence: str, bold: list[str]
) -> None:
    command = "rm -r ~/Downloads/🗑\u202ealt && scp notes.txt example.com: && touch a && mkdir b"
    act = Action("execute_command", frozenset({Effect.EXECUTES}), command=command)
    asked = question((), act, language)
    wanted = agent_events.ApprovalWanted("a1", "c1", act.tool, asked.text, strong=asked.strong, deed=asked.deed)

    async def script() -> None:
        row = await _asked(presence, agent, (wanted,))
        assert row._sentence.toPlainText() == sentence
        assert _bold(row) == bold
        agent.tell(agent_events.ApprovalAnswered("a1", True))
        await until(lambda: row.line.text().startswith("Allowed"))
        assert row.line.text().startswith(f"Allowed: {sentence.split(' ', 2)[2].removeprefix('to ').rstrip('.')}")

    drive(script())


def test_an_answered_one_is_one_line_that_opens(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def script() -> None:
        row = await _asked(presence, agent, samples.approval())
        bubble, asking = presence.bubble, presence.bubble.body_rect().height
        agent.tell(agent_events.ApprovalAnswered("a1", True))
        await until(lambda: row.height() == bubble.theme.size("step_height") and bubble.body_rect().height < asking)
        assert row.line.text().startswith("Allowed: delete ~/Downloads/old")
        assert row.line.text()[-5:].replace(" ", "")[-1].isalnum()  # the time of day ends it
        qtbot.mouseClick(row.line, Qt.MouseButton.LeftButton)
        await until(lambda: row.height() > bubble.theme.size("step_height"))
        assert (row._detail.isVisible(), row.choices.isVisible(), row.line.expanded) == (True, False, True)
        assert agent.answers == []
        qtbot.mouseClick(row.line, Qt.MouseButton.LeftButton)
        await until(lambda: row.height() == bubble.theme.size("step_height"))

    drive(script())


def test_all_of_a_long_call_can_be_read_before_the_answer(presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    task = " ".join(f"Step {number}." for number in range(190))
    asked = agent_events.ApprovalWanted(
        "a1", "c1", "cron", "Wisp wants to do this daily: “Step 0. …”.", f"task: {task}"
    )

    async def script() -> None:
        exact = (await _asked(presence, agent, (asked,)))._detail
        bar, below = exact.verticalScrollBar(), exact.viewport().rect().bottomRight()
        assert (exact.shown, bar.isVisible(), bar.value()) == (f"task: {task}", True, 0)
        bar.setValue(bar.maximum())
        end = exact.cursorForPosition(below).position()
        assert exact.toPlainText()[:end].endswith("Step 189.")

    drive(script())


def _answers(row: ApprovalRow) -> list[str]:
    """Return the words on the visible buttons of the row's first line, from left to right."""
    buttons = [row.deny, *row.choices.allows.values()]
    first = [button for button in buttons if button.isVisible() and button.y() == row.choices.main.y()]
    return [button.text() for button in sorted(first, key=lambda button: button.x())]


@pytest.mark.parametrize("scope", [agent_events.Scope.TASK, agent_events.Scope.ALWAYS])
def test_a_yes_for_a_program_reaches_as_far_as_was_pressed_without_unfolding(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, scope: agent_events.Scope
) -> None:
    async def script() -> None:
        row = await _asked(presence, agent, samples.click_approval())
        assert _answers(row) == ["Deny", "For this task", "Always"]
        assert (row.focusProxy(), row.allow) == (row.deny, row.choices.allows[agent_events.Scope.TASK])
        qtbot.mouseClick(row.choices.allows[scope], Qt.MouseButton.LeftButton)
        assert (agent.answers, agent.decided) == ([("a1", True)], [("", scope.value)])

    drive(script())


def test_what_can_only_be_allowed_once_is_offered_once(presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    asked = agent_events.ApprovalWanted("a1", "c1", "cron", "Wisp wants to do this daily.")

    async def script() -> None:
        row = await _asked(presence, agent, (asked,))
        assert _answers(row) == ["Deny", "Allow once"]

    drive(script())


def test_return_never_means_always(qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def script() -> None:
        row = await _asked(presence, agent, samples.click_approval())
        always = row.choices.allows[agent_events.Scope.ALWAYS]
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            qtbot.keyClick(always, key)
        assert agent.answers == []
        qtbot.keyClick(always, Qt.Key.Key_Space)
        assert agent.decided == [("", "always")]

    drive(script())


@pytest.mark.parametrize("name", ["icon.png", "none.png"])
def test_the_icon_of_the_program_stands_beside_the_question_if_there_is_one(
    presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path, name: str
) -> None:
    icon = QImage(64, 64, QImage.Format.Format_RGB32)
    icon.fill(QColor(200, 0, 200))
    assert icon.save(str(tmp_path / "icon.png"))
    *before, asked = samples.click_approval()
    assert isinstance(asked, agent_events.ApprovalWanted)

    async def script() -> None:
        row = await _asked(presence, agent, (*before, replace(asked, icon=str(tmp_path / name))))
        side, inset = row.theme.size("glyph"), row.theme.size("card_padding")
        middle = QPoint(row.width() - inset - side // 2, inset + side // 2)
        is_shown = row.grab().toImage().pixelColor(middle) == QColor(200, 0, 200)
        assert is_shown is (name == "icon.png")

    drive(script())


def test_a_no_carries_the_words_for_the_model(qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def script() -> None:
        row = await _asked(presence, agent, samples.approval())
        qtbot.mouseClick(row.choices.more, Qt.MouseButton.LeftButton)
        qtbot.keyClicks(row.choices.words, "only the old ones")
        qtbot.keyClick(row.choices.words, Qt.Key.Key_Return)
        assert (agent.answers, agent.decided) == ([("a1", False)], [("only the old ones", "once")])

    drive(script())


def test_a_press_that_a_program_made_up_allows_nothing(
    presence: Presence, agent: FakeAgent, drive: Drive, person: PersonsDevices
) -> None:
    async def script() -> None:
        row = await _asked(presence, agent, samples.click_approval())
        pressed: list[bool] = []
        row.allow.pressed.connect(lambda: pressed.append(True))
        await point(row.allow, "click", 1)
        await until(lambda: pressed == [True])
        assert agent.answers == []

    drive(script())


def test_a_persons_own_mouse_allows(presence: Presence, agent: FakeAgent, drive: Drive, person: PersonsDevices) -> None:
    async def script() -> None:
        row = await _asked(presence, agent, samples.click_approval())
        await point(row.allow)
        person.click()
        await until(lambda: agent.answers == [("a1", True)])

    drive(script())


def test_keys_allow_only_from_a_persons_own_keyboard(
    presence: Presence, agent: FakeAgent, drive: Drive, person: PersonsDevices
) -> None:
    async def script() -> None:
        row = await _asked(presence, agent, samples.click_approval())
        presence.stage.engage()
        row.allow.setFocus()
        await until(lambda: presence.bubble.isActiveWindow() and row.allow.hasFocus())
        pressed: list[bool] = []
        row.allow.pressed.connect(lambda: pressed.append(True))
        await hand("key", "space")
        await until(lambda: pressed == [True])
        assert agent.answers == []
        person.tap(XK.XK_space)
        await until(lambda: agent.answers == [("a1", True)])

    drive(script())


def test_nothing_is_typed_into_a_window_of_ours(qtbot: QtBot, presence: Presence, drive: Drive, tmp_path: Path) -> None:
    async def script() -> None:
        qtbot.mouseClick(presence.orb, Qt.MouseButton.LeftButton)
        await until(lambda: presence.composer.isVisible() and presence.composer.field.hasFocus())
        await until(presence.composer.isActiveWindow)
        desk = open_desktop()
        try:
            call = ToolCall("c1", "computer_type", {"text": "yes"})
            seen = await DesktopInspector(desk).seen(call, ScreenAim.FOCUS)
            spec = next(spec for spec in registry() if spec.name == call.name)
            verdict = Policy(tmp_path, Mode.YOLO).decide(call, spec, seen, Trust())
        finally:
            desk.close()
        assert (verdict.decision, verdict.rule) == (Decision.DENY, "own")

    drive(script())
