"""The presence driven like a person does: clicks, keys, and looking at what is there."""

from __future__ import annotations

import asyncio
import subprocess
from dataclasses import replace

import psutil
import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QClipboard, QGuiApplication, QTextCursor
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.agent import agent_events
from app.assistant import assemble
from app.base.errors import Remedy
from app.base.facts import Proposed, Undoable
from app.desktop.x11.virtual import VirtualDesktop
from app.protocol.call import JsonValue, Media
from app.settings.store import Settings
from app.ui import application
from app.ui.approvals.devices import WITNESS
from app.ui.approvals.row import ApprovalRow
from app.ui.bubble.rows import OfferRow, TakeBackRow
from app.ui.bubble.speech import SaidRow
from app.ui.buttons import GlyphButton, using_words
from app.ui.cards.card import CardRow
from app.ui.cards.contents import ChecklistRow
from app.ui.cards.picture import CommandRow
from app.ui.composer.attachments import Chip
from app.ui.orb.state import Orb
from app.ui.presence import Presence
from app.ui.presenter.view import Asked, NoticeItem, Offer
from app.ui.theme.appearance import Look
from app.ui.theme.motion import Step
from scripts.device import PersonsDevices
from tests.support.gallery import samples
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.conftest import without_a_compositor
from tests.ui.fake_agent import FakeAgent, hand, has_keys, point

pytestmark = without_a_compositor


def rows(presence: Presence, kind: type[QWidget]) -> list[QWidget]:
    return [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, kind)]


async def opened(presence: Presence, qtbot: QtBot) -> None:
    qtbot.mouseClick(presence.orb, Qt.MouseButton.LeftButton)
    await until(lambda: presence.composer.isVisible() and presence.composer.field.hasFocus())


def test_a_click_opens_the_composer_with_the_keyboard_and_another_closes_it(
    qtbot: QtBot, presence: Presence, drive: Drive
) -> None:
    async def person() -> None:
        await opened(presence, qtbot)
        assert not presence.bubble.thread_view.isVisible()
        qtbot.mouseClick(presence.orb, Qt.MouseButton.LeftButton)
        assert not presence.is_open

    drive(person())


def test_enter_sends_and_the_answer_appears_in_the_bubble(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.script = [
        agent_events.SayDelta("s", "warm", "<b>Hello</b> & good morning"),
        agent_events.TagStart("1", "open_app", {"name": "Calculator"}),
        agent_events.ToolFinished("1", "open_app", True, "app_opened"),
    ]

    async def person() -> None:
        await opened(presence, qtbot)
        qtbot.keyClicks(presence.composer.field, "open the calculator")
        qtbot.keyClick(presence.composer.field, Qt.Key.Key_Return)
        await until(lambda: agent.sent == ["open the calculator"])
        await until(lambda: rows(presence, CardRow))
        assert presence.composer.isVisible()
        assert presence.bubble.isVisible()
        (said,) = rows(presence, SaidRow)
        assert isinstance(said, SaidRow)
        assert said.words == "<b>Hello</b> & good morning"
        (card,) = rows(presence, CardRow)
        assert card.accessibleName() == "Opened Calculator"

    drive(person())


@pytest.fixture
def presses() -> None:
    """Presses are counted, by whatever device."""
    WITNESS.use(None)
    WITNESS.prepare()


@pytest.mark.usefixtures("presses")
def test_after_an_answer_the_person_goes_on_writing_without_a_click(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        await opened(presence, qtbot)
        for text in ("one", "two"):
            await until(presence.composer.field.hasFocus)
            await hand("type", text)
            await until(lambda text=text: presence.composer.field.toPlainText() == text)
            await hand("key", "--delay", 300, "Return")  # so that the key is let go after the wish was sent
            await until(lambda text=text: agent.sent[-1:] == [text])

    drive(person())


def test_shift_enter_breaks_the_line_and_escape_closes(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        await opened(presence, qtbot)
        field = presence.composer.field
        qtbot.keyClicks(field, "one")
        lower = presence.composer.body_rect()
        qtbot.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        qtbot.keyClicks(field, "two")
        assert field.toPlainText() == "one\ntwo"
        assert presence.composer.body_rect().height > lower.height
        qtbot.keyClick(field, Qt.Key.Key_Escape)
        assert not presence.is_open
        assert agent.sent == []

    drive(person())


def test_the_field_grows_to_six_lines_and_no_further(qtbot: QtBot, presence: Presence, drive: Drive) -> None:
    async def person() -> None:
        await opened(presence, qtbot)
        field = presence.composer.field
        field.setPlainText("\n".join("abcdef"))
        six = presence.composer.body_rect().height
        field.setPlainText("\n".join("abcdefghijkl"))
        assert presence.composer.body_rect().height == six

    drive(person())


def test_up_brings_back_what_was_sent(qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def person() -> None:
        for text in ("first", "second"):
            presence.open()
            presence.composer.field.setPlainText(text)
            qtbot.keyClick(presence.composer.field, Qt.Key.Key_Return)
        await until(lambda: agent.sent == ["first", "second"])
        presence.open()
        field = presence.composer.field
        for expected in ("second", "first", "first"):
            qtbot.keyClick(field, Qt.Key.Key_Up)
            assert field.toPlainText() == expected
        qtbot.keyClick(field, Qt.Key.Key_Down)
        qtbot.keyClick(field, Qt.Key.Key_Down)
        assert field.toPlainText() == ""

    drive(person())


def test_nothing_is_sent_where_nothing_is_written(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        await opened(presence, qtbot)
        qtbot.keyClicks(presence.composer.field, "   ")
        qtbot.keyClick(presence.composer.field, Qt.Key.Key_Return)
        assert not presence.composer.send_button.isEnabled()
        assert agent.sent == []
        assert presence.composer.isVisible()

    drive(person())


def test_pasted_rich_text_becomes_plain(qtbot: QtBot, presence: Presence, drive: Drive) -> None:
    async def person() -> None:
        await opened(presence, qtbot)
        QGuiApplication.clipboard().setText("<script>alert(1)</script>", QClipboard.Mode.Clipboard)
        presence.composer.field.paste()
        assert presence.composer.field.toPlainText() == "<script>alert(1)</script>"

    drive(person())


def test_stop_stops_and_shows_only_while_something_runs(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.holds = True

    async def person() -> None:
        presence.send("something long")
        await until(presence.bubble.header.stop.isVisible)
        qtbot.mouseClick(presence.bubble.header.stop, Qt.MouseButton.LeftButton)
        await until(lambda: not presence.bubble.header.stop.isVisible())
        assert agent.stopped == 1

    drive(person())


def test_words_said_while_it_works_go_to_the_running_turn_and_are_shown(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.holds = True

    async def person() -> None:
        presence.send("go")
        await until(lambda: presence.inbox.view.running)
        presence.send("and be quick")
        await until(lambda: agent.sent == ["go", "and be quick"])
        assert [getattr(item, "text", "") for item in presence.inbox.view.items[:2]] == ["go", "and be quick"]
        agent.stop()

    drive(person())


def test_what_is_said_before_the_agent_is_there_waits_for_it(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    presence.send("hello")

    async def person() -> None:
        await until(lambda: agent.sent == ["hello"])

    drive(person())


def test_a_bug_in_a_turn_is_told_and_the_next_turn_works(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    class Broken(FakeAgent):
        async def send(self, text: str, *_: object, **_more: object) -> agent_events.TurnEnded:
            self.sent.append(text)
            raise KeyError("a bug")

    broken = Broken()

    async def person() -> None:
        presence.detach()
        presence.attach(broken)
        presence.send("one")
        await until(lambda: len(presence.inbox.view.items) == 3)
        presence.send("two")
        await until(lambda: len(presence.inbox.view.items) == 5)
        assert [type(item) for item in presence.inbox.view.items] == [Asked, NoticeItem, Asked, NoticeItem, Offer]
        assert broken.sent == ["one", "two"]

    drive(person())


def test_the_program_in_front_goes_with_the_next_message_unless_it_is_taken_away(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.front = ("org.gnome.TextEditor", "Text Editor")

    async def person() -> None:
        await opened(presence, qtbot)
        chips = presence.composer.chips
        await until(lambda: chips.program == "In: Text Editor")
        assert not presence.composer.send_button.isEnabled()  # because it is no message
        for text in ("one", "two"):
            qtbot.keyClicks(presence.composer.field, text)
            qtbot.keyClick(presence.composer.field, Qt.Key.Key_Return)
            await until(lambda text=text: agent.sent[-1:] == [text])
            assert chips.program == ""
        presence.close()
        presence.open()
        await until(lambda: chips.program != "")
        (chip,) = [child for child in chips.children() if isinstance(child, Chip) and not child.isHidden()]
        qtbot.mouseClick(chip.cross, Qt.MouseButton.LeftButton)
        qtbot.keyClicks(presence.composer.field, "three")
        qtbot.keyClick(presence.composer.field, Qt.Key.Key_Return)
        await until(lambda: agent.sent == ["one", "two", "three"])
        assert agent.using == [("org.gnome.TextEditor",), (), ()]

    drive(person())


@pytest.mark.parametrize(("window_class", "is_found"), [("XTerm", False), ("KeePassXC", False), ("Mousepad", True)])
def test_the_program_in_front_is_an_ordinary_one_behind_the_bubble(
    presence: Presence, drive: Drive, window_class: str, *, is_found: bool
) -> None:
    program = ("mousepad",) if is_found else ("xterm", "-class", window_class, "-T", "front")

    async def person() -> None:
        before = _active_name()
        started = await asyncio.create_subprocess_exec(*program)
        assistant = assemble(Settings({}, {}))
        try:
            await until(lambda: _active_name() not in ("", before))
            presence.open()
            await until(presence.composer.isVisible)
            found = await assistant.front_program()
            assert ("mousepad" in found[0] if found else False) is is_found
        finally:
            await assistant.close()
            started.terminate()
            await started.wait()

    drive(person())


def test_a_program_found_after_the_message_was_sent_goes_with_none(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    found = asyncio.Event()

    async def late() -> tuple[str, str]:
        await found.wait()
        return "org.gnome.TextEditor", "Text Editor"

    agent.front_program = late  # type: ignore[method-assign]

    async def person() -> None:
        await opened(presence, qtbot)
        qtbot.keyClicks(presence.composer.field, "one")
        qtbot.keyClick(presence.composer.field, Qt.Key.Key_Return)
        await until(lambda: agent.sent == ["one"])
        found.set()
        for _ in range(3):
            await asyncio.sleep(0)
        assert (presence.composer.chips.program, agent.using) == ("", [()])

    drive(person())


def test_the_bar_says_which_programs_the_conversation_uses(presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    agent.holds = True

    async def person() -> None:
        presence.send("go")
        await until(lambda: presence.inbox.view.running)
        agent.tell(agent_events.ProgramsUsed(("Text Editor", "Files")))
        header = presence.bubble.header
        await until(lambda: header.toolTip() == "using Text Editor, Files")
        assert header.accessibleName().endswith(", using Text Editor, Files")
        agent.stop()

    drive(person())


def test_of_many_programs_the_bar_names_the_newest() -> None:
    assert using_words(("Text Editor", "Files", "Mail"), lambda text: len(text) < 20) == "using Mail +2"


def test_the_newest_card_is_open_and_the_one_before_closes(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        presence.send("go")
        await until(lambda: agent.sent)
        for number in ("1", "2"):
            agent.tell(
                agent_events.TagStart(number, "write_file", {"path": f"{number}.txt"}),
                agent_events.TagDelta(number, "content", "hello"),
            )
            await until(lambda number=number: len(rows(presence, CardRow)) == int(number))
        cards = rows(presence, CardRow)
        assert [card.is_open for card in cards if isinstance(card, CardRow)] == [False, True]

    drive(person())


def test_the_checklist_grows_and_ticks_in_its_place(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    def told(*done: bool) -> agent_events.ToolProgress:
        texts = ("write it", "x" * 90)
        items: list[JsonValue] = [{"text": text, "done": is_done} for text, is_done in zip(texts, done, strict=False)]
        return agent_events.ToolProgress("1", "task_progress", {"items": items})

    async def person() -> None:
        presence.send("go")
        await until(lambda: agent.sent)
        agent.tell(told(False))
        await until(lambda: rows(presence, ChecklistRow))
        (row,) = rows(presence, ChecklistRow)
        assert (row.accessibleName(), row.accessibleDescription()) == ("0 of 1 done", "○ write it")
        lower = row.height()
        agent.tell(told(True, False))
        await until(lambda: row.accessibleName() == "1 of 2 done")
        assert row.accessibleDescription() == f"✓ write it\n○ {'x' * 90}"
        assert row.height() > lower
        assert rows(presence, ChecklistRow) == [row]

    drive(person())


def test_a_results_command_can_be_copied_and_hides_nothing(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    facts = (Proposed("ls \u202e<b>"),)
    agent.script = [agent_events.ToolFinished("1", "attempt_completion", True, "answered", facts=facts)]

    async def person() -> None:
        presence.send("go")
        await until(lambda: rows(presence, CommandRow))
        (row,) = rows(presence, CommandRow)
        (copy,) = row.findChildren(GlyphButton)
        qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
        assert QGuiApplication.clipboard().text() == "ls ⟨U+202E⟩<b>"

    drive(person())


def test_a_card_is_opened_by_a_click_on_its_head(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.script = [
        agent_events.TagStart("1", "execute_command", {"command": "ls"}),
        agent_events.ToolProgress("1", "output", {"output": "a.txt\n"}),
        agent_events.ToolFinished("1", "execute_command", True, "ran"),
        agent_events.TagStart("2", "open_app", {"name": "x"}),
    ]
    agent.holds = True

    async def person() -> None:
        presence.send("go")
        await until(lambda: len(rows(presence, CardRow)) == 2)
        card = rows(presence, CardRow)[0]
        assert isinstance(card, CardRow)
        closed = card.height()
        qtbot.mouseClick(card, Qt.MouseButton.LeftButton, pos=card.head_box().toRect().center())
        await until(lambda: card.height() > closed)
        qtbot.keyClick(card, Qt.Key.Key_Space)
        await until(lambda: card.height() == closed)
        agent.stop()

    drive(person())


def test_a_broken_picture_says_so(qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    agent.script = [
        agent_events.TagStart("1", "screen_capture"),
        agent_events.ToolFinished(
            "1", "screen_capture", True, "captured", media=(Media(b"no picture", "image/png", 9, 9),)
        ),
    ]

    async def person() -> None:
        presence.send("look")
        await until(lambda: rows(presence, CardRow))
        (card,) = rows(presence, CardRow)
        assert card.height() == 28 + 4 + 44 + 12

    drive(person())


def test_an_approval_opens_the_bubble_without_taking_the_focus(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.approval())
        await until(lambda: rows(presence, ApprovalRow) and presence.bubble.isVisible())
        (row,) = rows(presence, ApprovalRow)
        assert isinstance(row, ApprovalRow)
        assert QGuiApplication.focusWindow() is None
        assert presence.bubble.focusWidget() is row.deny
        assert presence.orb.state is Orb.NEEDS_YOU

    drive(person())


def test_allow_arms_after_a_moment_and_then_allows(
    qtbot: QtBot, presence: Presence, still: Look, agent: FakeAgent, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[tuple[str, Step]] = []

    async def person() -> None:
        with monkeypatch.context() as time_stands:
            time_stands.setattr(still.ticker, "run", lambda *motion: held.append(motion))
            agent.tell(*samples.approval())
            await until(lambda: rows(presence, ApprovalRow))
            (row,) = rows(presence, ApprovalRow)
            assert isinstance(row, ApprovalRow)
            assert not row.allow.isEnabled()
            qtbot.mouseClick(row.allow, Qt.MouseButton.LeftButton)
            assert agent.answers == []
        for motion in held:
            still.ticker.run(*motion)
        await until(row.allow.isEnabled)
        qtbot.mouseClick(row.allow, Qt.MouseButton.LeftButton)
        assert agent.answers == [("a1", True)]
        await until(lambda: not row.allow.isVisible())

    drive(person())


def test_deny_answers_at_once_by_the_mouse_or_the_keyboard(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.approval())
        await until(lambda: rows(presence, ApprovalRow))
        (row,) = rows(presence, ApprovalRow)
        assert isinstance(row, ApprovalRow)
        qtbot.keyClick(row.deny, Qt.Key.Key_Return)
        assert agent.answers == [("a1", False)]

    drive(person())


def test_a_click_made_by_a_program_is_no_answer(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.approval())
        await until(lambda: rows(presence, ApprovalRow))
        (row,) = rows(presence, ApprovalRow)
        assert isinstance(row, ApprovalRow)
        await until(row.allow.isEnabled)
        row.allow.click()
        row.deny.click()
        assert agent.answers == []

    drive(person())


def test_an_answer_is_given_by_a_click_or_the_keyboard_and_the_others_are_gone(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    answers = ["Save & quit", "A" * 120, "No \u202eidea"]

    async def person() -> None:
        presence.send("go")
        await until(lambda: agent.sent == ["go"])
        for pressed in (answers[0], answers[2]):
            agent.tell(agent_events.ToolFinished("1", "ask_followup_question", True, "asked", {"options": answers}))
            await until(lambda: rows(presence, OfferRow))
            (row,) = rows(presence, OfferRow)
            assert isinstance(row, OfferRow)
            assert [button.accessibleName() for button in row.buttons] == [*answers[:2], "No ⟨U+202E⟩idea"]
            assert all(row.rect().contains(button.geometry()) for button in row.buttons)
            assert {button.focusPolicy() for button in row.buttons} == {Qt.FocusPolicy.StrongFocus}
            button = row.buttons[answers.index(pressed)]
            if pressed == answers[0]:
                qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
            else:
                qtbot.keyClick(button, Qt.Key.Key_Space)
            assert not rows(presence, OfferRow)
            await until(lambda pressed=pressed: agent.sent[-1] == pressed)
        assert agent.sent == ["go", *answers[::2]]

    drive(person())


@pytest.mark.parametrize(("press", "taken_back"), [("Keep", []), ("Put back", ["t/r5"])])
def test_what_a_command_deleted_is_kept_so_or_put_back_by_one_press(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, press: str, taken_back: list[str]
) -> None:
    payload: dict[str, JsonValue] = {"deleted": ["/a", "/b"], "put_back": "t/r5"}
    ran = agent_events.ToolFinished("1", "execute_command", True, "execute_command", payload, facts=(Undoable(),))

    async def person() -> None:
        agent.script = [ran]
        presence.send("go")
        await until(lambda: len(rows(presence, TakeBackRow)) == 2)
        (row,) = [row for row in rows(presence, TakeBackRow) if row.accessibleName() == "2 files deleted"]
        assert isinstance(row, TakeBackRow)
        assert row.keep is not None
        assert all(row.rect().contains(button.geometry()) for button in (row.keep, row.button))
        assert not row.keep.geometry().intersects(row.button.geometry())
        button = next(button for button in (row.keep, row.button) if button.text() == press)
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await until(lambda: row not in rows(presence, TakeBackRow))
        await until(lambda: agent.taken_back == taken_back)

    drive(person())


def test_what_a_turn_changed_is_taken_back_by_a_press_and_what_came_of_it_is_told(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    told = [NoticeItem("", "info", "Took back: t"), NoticeItem("", "info", "One was not.")]

    def written(*names: str) -> list[agent_events.AgentEvent]:
        return [
            agent_events.ToolFinished("1", "write_file", True, "write_file", {"path": name}, facts=(Undoable(),))
            for name in names
        ]

    def notices() -> list[NoticeItem]:
        return [replace(item, key="") for item in presence.inbox.view.items if isinstance(item, NoticeItem)]

    async def person() -> None:
        agent.script = written("a.txt", "b.txt")
        presence.send("go")
        await until(lambda: rows(presence, TakeBackRow))
        (row,) = rows(presence, TakeBackRow)
        assert isinstance(row, TakeBackRow)
        assert row.accessibleName() == "2 files changed"
        assert row.rect().contains(row.button.geometry())
        qtbot.mouseClick(row.button, Qt.MouseButton.LeftButton)
        assert not rows(presence, TakeBackRow)
        await until(lambda: notices() == told)
        agent.script, agent.problem = written("a.txt"), "The disk is gone."
        presence.send("again")
        await until(lambda: rows(presence, TakeBackRow))
        (row,) = rows(presence, TakeBackRow)
        assert isinstance(row, TakeBackRow)
        assert row.accessibleName() == "1 file changed"
        qtbot.keyClick(row.button, Qt.Key.Key_Space)
        await until(lambda: notices() == [*told, NoticeItem("", "error", "The disk is gone.")])
        assert agent.taken_back == ["t", "t"]

    drive(person())


def test_what_was_to_be_approved_hides_nothing(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.approval())
        await until(lambda: rows(presence, ApprovalRow))
        (row,) = rows(presence, ApprovalRow)
        assert row.accessibleDescription().endswith("rm -r ~/Downloads/old⟨U+202E⟩")

    drive(person())


def test_unread_turns_are_counted_on_the_orb_and_gone_once_seen(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        presence.send("go")
        await until(lambda: agent.sent)
        presence.close()
        agent.tell(agent_events.TurnEnded("t", agent_events.Outcome.FINISHED, "Done."))
        await until(lambda: presence.inbox.view.unread == 1)
        presence.open()
        assert presence.inbox.view.unread == 0
        assert presence.bubble.isVisible()

    drive(person())


def test_the_program_below_keeps_the_focus_while_wisp_acts_and_gets_it_back_after_sending(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, desktop: VirtualDesktop
) -> None:
    devices = PersonsDevices(desktop.environment)
    agent.holds = True

    async def person() -> None:
        below = await asyncio.create_subprocess_exec("xterm", "-geometry", "40x10+20+20", "-e", "cat")
        try:
            await until(lambda: _active_name() == "cat")
            await point(presence.orb)
            devices.click()
            await until(lambda: has_keys(presence.composer))
            devices.type("hello\n")
            await until(lambda: agent.sent == ["hello"])
            assert _active_name() == "cat"
            agent.tell(*samples.at_work())
            await until(lambda: presence.bubble.isVisible() and rows(presence, CardRow))
            await asyncio.sleep(0)
            assert _active_name() == "cat"
            agent.stop()
        finally:
            below.terminate()
            await below.wait()
            devices.close()

    drive(person())


@pytest.mark.usefixtures("presses")
@pytest.mark.flaky(reruns=1)  # real terminals
def test_the_program_that_was_used_last_gets_the_keyboard_back_while_the_bubble_stays_open(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, desktop: VirtualDesktop
) -> None:
    """Not the one that was in front when the bubble opened: the words would be typed into another document."""
    devices = PersonsDevices(desktop.environment)
    agent.holds = True

    async def person() -> None:
        started = [await _terminal("first", "+20+20"), await _terminal("second", "+20+320")]
        try:
            await point(presence.orb)
            devices.click()
            await until(lambda: has_keys(presence.composer))
            devices.type("hello\n")
            await until(lambda: agent.sent == ["hello"] and _active_name() == "second")
            agent.stop()
            await until(lambda: not presence.inbox.view.running and has_keys(presence.composer))  # it takes them back
            await hand("search", "--name", "first", "windowactivate", "--sync")
            await until(lambda: _active_name() == "first")
            await point(presence.composer.field)
            await until(presence.composer.field.underMouse)
            devices.click()
            await until(lambda: has_keys(presence.composer))
            devices.type("again\n")
            await until(lambda: agent.sent == ["hello", "again"])
            await until(lambda: _active_name() == "first")
            agent.stop()
        finally:
            for one in started:
                one.terminate()
                await one.wait()
            devices.close()

    drive(person())


@pytest.mark.usefixtures("presses")
@pytest.mark.flaky(reruns=1)  # a real terminal
def test_the_keyboard_comes_back_after_a_turn_that_ends_before_a_busy_window_manager_has_lent_it(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, desktop: VirtualDesktop
) -> None:
    devices = PersonsDevices(desktop.environment)
    manager = next(one for one in psutil.Process().children() if one.name() == "openbox")

    async def person() -> None:
        below = await _terminal("first", "+20+20")
        try:
            await point(presence.orb)
            devices.click()
            await until(lambda: has_keys(presence.composer))
            devices.type("hello")
            manager.suspend()
            devices.type("\n")
            await until(lambda: agent.sent == ["hello"] and not presence.inbox.view.running)
            manager.resume()
            desktop._wait_for_manager()  # it has done all that it was asked
            await until(lambda: has_keys(presence.composer) and _active_name() not in ("", "first"))
        finally:
            manager.resume()
            below.terminate()
            await below.wait()
            devices.close()

    drive(person())


@pytest.mark.flaky(reruns=1)  # real terminals
def test_a_program_that_came_to_the_front_while_the_bubble_was_open_is_noted_without_the_pointer(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, desktop: VirtualDesktop
) -> None:
    async def person() -> None:
        started = [await _terminal("first", "+20+20"), await _terminal("second", "+20+320")]
        try:
            presence.open()
            await until(lambda: has_keys(presence.composer))
            await hand("search", "--name", "first", "windowactivate", "--sync")
            await until(lambda: _active_name() == "first")
            await hand("windowactivate", "--sync", int(presence.bubble.winId()))
            await until(lambda: has_keys(presence.composer))
            presence.send("hello")
            await until(lambda: agent.sent == ["hello"] and _active_name() == "first")
        finally:
            for one in started:
                one.terminate()
                await one.wait()

    drive(person())


async def _terminal(title: str, place: str) -> asyncio.subprocess.Process:
    words = ("-title", title, "-geometry", f"40x10{place}", "-e", "cat")
    made = await asyncio.create_subprocess_exec("xterm", *words)
    await until(lambda: _active_name() == title)
    return made


def _active_name() -> str:
    found = subprocess.run(["xdotool", "getactivewindow", "getwindowname"], check=False, capture_output=True, text=True)
    return found.stdout.strip().lower()


def test_a_long_answer_is_shown_from_its_beginning_until_the_person_scrolls(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    agent.holds = True

    async def person() -> None:
        presence.send("go")
        await until(lambda: agent.sent)
        agent.tell(agent_events.SayDelta("s1", "neutral", "A sentence of a long answer.\n\n" * 60))
        bar = presence.bubble.thread_view.verticalScrollBar()
        await until(lambda: bar.maximum() > 2 * bar.pageStep())
        (said,) = rows(presence, SaidRow)
        assert 0 <= said.y() < bar.pageStep()
        bar.setValue(bar.maximum())
        agent.tell(agent_events.SayDelta("s1", "neutral", "And more of it.\n\n" * 60))
        longer = bar.maximum()
        await until(lambda: bar.maximum() > longer)
        assert bar.value() == bar.maximum()
        agent.stop()

    drive(person())


@pytest.mark.parametrize("count", [2000])
def test_a_long_thread_has_widgets_only_for_what_is_in_sight(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, count: int
) -> None:
    agent.holds = True

    async def person() -> None:
        presence.send("go")
        await until(lambda: agent.sent)
        for number in range(count):
            agent.tell(
                agent_events.TagStart(str(number), "open_app", {"name": f"App {number}"}),
                agent_events.ToolFinished(str(number), "open_app", False, "tool_error"),
            )
        await until(lambda: len(presence.inbox.view.items) == count + 1)
        thread = presence.bubble.thread_view
        assert 5 < len(thread.realised) < 60
        bar = thread.verticalScrollBar()
        assert bar.value() == bar.maximum()
        bar.setValue(0)
        names = {row.accessibleName() for row in thread.realised.values()}
        assert "Could not open App 0" in names
        agent.tell(agent_events.Notice("info", "one more"))
        await until(lambda: len(presence.inbox.view.items) == count + 2)
        assert bar.value() == 0
        agent.stop()

    drive(person())


def test_a_megabyte_of_speech_is_shown(qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def person() -> None:
        presence.send("tell me everything")
        await until(lambda: agent.sent)
        agent.tell(agent_events.SayDelta("s", "warm", "word <i>and</i> word " * 50_000))
        await until(lambda: rows(presence, SaidRow))
        assert len(presence.bubble.thread_view.realised) < 20

    drive(person())


def test_the_bubble_and_the_composer_stay_on_the_screen(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.cards())
        await opened(presence, qtbot)
        await until(lambda: rows(presence, CardRow))
        screen = QGuiApplication.primaryScreen().availableGeometry()
        for window in (presence.bubble, presence.composer):
            body = window.body_rect()
            assert screen.contains(body.x, body.y)
            assert screen.contains(body.right - 1, body.bottom - 1)
        assert presence.bubble.body_rect().overlap(presence.orb.rest_rect()) is None

    drive(person())


def test_speech_appears_in_its_rhythm(qtbot: QtBot, look: Look) -> None:
    from app.ui.presenter.view import SpokenItem

    row = SaidRow(look.theme, look.ticker)
    qtbot.addWidget(row)
    row.height_for(300)
    row.show_row(SpokenItem("i0", "s", "calm", "This takes a minute."))
    assert row.words == ""
    qtbot.waitUntil(lambda: row.words == "This takes a minute.")
    qtbot.waitUntil(lambda: not look.ticker.is_running)


def test_several_that_are_said_at_once_are_spoken_one_after_another(qtbot: QtBot, look: Look) -> None:
    presence = Presence(look)
    texts = [f"Sentence {number} is long enough to be watched while it grows." for number in range(3)]
    for event in (
        agent_events.TurnStarted("t", "look"),
        *(agent_events.SayDelta(f"s{at}", "warm", text) for at, text in enumerate(texts)),
    ):
        presence.inbox.receive(event)
    presence.show()
    presence.open()
    growing: set[int] = set()

    def all_is_said() -> bool:
        said_rows = [row for row in rows(presence, SaidRow) if isinstance(row, SaidRow)]
        words = [row.words for row in sorted(said_rows, key=lambda row: row.key)]
        growing.add(sum(0 < len(said) < len(text) for said, text in zip(words, texts, strict=False)))
        assert not any(later and said != text for said, text, later in zip(words, texts, words[1:], strict=False))
        return words == texts

    qtbot.waitUntil(all_is_said)
    assert growing == {0, 1}
    presence.close()
    presence.orb.close()


def test_another_theme_types_nothing_again_that_stands(qtbot: QtBot, look: Look, qapp: QApplication) -> None:
    presence = Presence(look)
    text = "A sentence that is long enough to be seen while it grows on the screen, letter by letter."
    for event in (agent_events.TurnStarted("t", "look"), agent_events.SayDelta("s", "warm", text)):
        presence.inbox.receive(event)
    qtbot.waitUntil(lambda: bool(presence.inbox.view.items))
    presence.show()
    presence.open()
    qtbot.waitUntil(lambda: [row.words for row in rows(presence, SaidRow)] == [text], timeout=15_000)  # type: ignore[attr-defined]
    dark = application.look_of(qapp, Settings({"presence.scheme": "dark"}, {}))
    presence.restyle(dark)
    assert [row.words for row in rows(presence, SaidRow)] == [text]  # type: ignore[attr-defined]
    presence.close()
    presence.orb.close()
    dark.around.close()


def test_another_theme_changes_the_open_windows_and_closes_none(qtbot: QtBot, look: Look, qapp: QApplication) -> None:
    presence = Presence(look)
    presence.show()
    presence.open()
    presence.composer.field.setPlainText("half a sent")
    presence.composer.field.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.waitUntil(presence.bubble.isVisible)
    window, place = presence.bubble, presence.bubble.geometry()
    number, hidden = int(window.winId()), list[QEvent.Type]()

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if watched is window and event.type() is QEvent.Type.Hide:
                hidden.append(event.type())
            return False

    watch = Watch()
    window.installEventFilter(watch)
    for theme, scheme in (("plain", "dark"), ("memphis", "light"), ("cyberpunk", "dark")):
        now = application.look_of(qapp, Settings({"presence.theme": theme, "presence.scheme": scheme}, {}), look)
        assert (now.theme.name, now.theme.scheme) == (theme, scheme)
        presence.restyle(now)
        assert (int(presence.bubble.winId()), hidden, presence.bubble.geometry()) == (number, [], place)
        assert (
            presence.composer.theme.color("paper") == presence.bubble.theme.color("paper") == now.theme.color("paper")
        )
        assert presence.composer.field.toPlainText() == "half a sent"
        assert presence.composer.field.textCursor().atEnd()
    presence.close()
    presence.orb.close()


def test_a_draft_that_needs_more_lines_in_another_theme_is_seen_whole(
    qtbot: QtBot, look: Look, qapp: QApplication
) -> None:
    presence = Presence(look)
    presence.show()
    presence.open()
    lines, draft = 3, "the"
    while presence.composer.field.document().size().height() <= lines:  # as much as the lines hold in this font
        presence.composer.field.setPlainText(draft := f"{draft} fox")
    presence.composer.field.setPlainText(draft.removesuffix(" fox"))
    presence.composer.field.moveCursor(QTextCursor.MoveOperation.End)
    assert presence.composer.field.document().size().height() == lines
    presence.restyle(application.look_of(qapp, Settings({"presence.theme": "pixel-crt"}, {}), look))
    field = presence.composer.field
    assert field.document().size().height() > lines
    qtbot.waitUntil(lambda: field.height() >= field.wanted_height())
    first, last = QTextCursor(field.document()), field.textCursor()
    qtbot.waitUntil(lambda: field.cursorRect(first).top() >= 0 and field.cursorRect(last).bottom() < field.height())
    presence.close()
    presence.orb.close()


def test_a_key_that_is_refused_is_said_once_and_one_press_asks_for_another(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        wanted: list[Remedy] = []
        presence.mending_wanted.connect(wanted.append)
        presence.send("go")
        await until(lambda: agent.sent == ["go"])
        sentence = "The service does not accept the key."
        agent.tell(
            agent_events.TurnStarted("t1", "go"),
            agent_events.TurnEnded("t1", agent_events.Outcome.FAILED, sentence, Remedy.KEY),
        )
        await until(lambda: rows(presence, OfferRow))
        (row,) = rows(presence, OfferRow)
        assert isinstance(row, OfferRow)
        (button,) = row.buttons
        assert button.text() == "Add key"
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert (wanted, agent.sent) == ([Remedy.KEY], ["go"])

    drive(person())
