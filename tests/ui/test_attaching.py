"""Files and pictures that go with the person's words: by button, pasted, dropped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.base.errors import WispError
from app.ui.bubble.rows import ProseText
from app.ui.bubble.speech import AskedRow
from app.ui.composer import intake
from app.ui.composer.attachments import MOST_PICTURES, Attached, size
from app.ui.composer.field import ComposerField
from app.ui.composer.window import ComposerView
from app.ui.presence import Presence
from app.ui.windows.region import RegionWindow
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent


def painted(width: int, height: int) -> QImage:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(30, 90, 160))
    return image


def _words(text: str) -> QMimeData:
    data = QMimeData()
    data.setText(text)
    return data


def saved(path: Path, width: int, height: int) -> Path:
    assert painted(width, height).save(str(path))
    return path


async def written(presence: Presence) -> ComposerView:
    presence.open()
    await until(presence.composer.field.hasFocus)
    return presence.composer


def names(composer: ComposerView) -> list[str]:
    return [one.name for one in composer.chips.attached]


def test_files_chosen_by_the_button_go_along_as_words_and_pictures_as_pictures(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    note.write_text("x" * 2500, encoding="utf-8")
    picture = saved(tmp_path / "blue.png", 40, 30)

    async def person() -> None:
        composer = await written(presence)
        composer.ask_files = lambda: [str(note), str(picture)]
        qtbot.mouseClick(composer.attach_button, Qt.MouseButton.LeftButton)
        await until(lambda: names(composer) == ["note.txt", "blue.png"])
        qtbot.keyClicks(composer.field, "read these")
        qtbot.keyClick(composer.field, Qt.Key.Key_Return)
        await until(lambda: agent.sent)
        assert (agent.sent, [(one.kind, one.name) for one in agent.attached]) == (
            ["read these"],
            [("file", "note.txt"), ("picture", "blue.png")],
        )
        assert f"{note} (2 kB)" in agent.attached[0].line
        (media,) = agent.media
        assert (media.media_type, media.width, media.height) == ("image/png", 40, 30)
        assert media.data == picture.read_bytes()
        assert names(composer) == []

    drive(person())


def test_what_is_attached_can_be_let_go_of_and_goes_alone(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    async def person() -> None:
        composer = await written(presence)
        lower = composer.body_rect().height
        composer.files_offered.emit([tmp_path])
        await until(lambda: names(composer) == [tmp_path.name])
        assert composer.body_rect().height > lower
        assert composer.send_button.isEnabled()
        (chip,) = [child for child in composer.chips.children() if hasattr(child, "cross")]
        assert chip.cross.accessibleName() == f"Remove {tmp_path.name}"
        qtbot.mouseClick(chip.cross, Qt.MouseButton.LeftButton)
        assert (names(composer), composer.body_rect().height) == ([], lower)
        assert not composer.send_button.isEnabled()
        composer.files_offered.emit([tmp_path, tmp_path])
        await until(lambda: names(composer) == [tmp_path.name])
        qtbot.mouseClick(composer.send_button, Qt.MouseButton.LeftButton)
        await until(lambda: agent.attached)
        assert (agent.sent, agent.attached[0].name) == ([""], tmp_path.name)

    drive(person())


def test_what_stands_above_the_field_gets_its_height_where_the_thread_is_full(
    presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    async def person() -> None:
        composer = await written(presence)
        how = presence.inbox.presenter
        for number in range(40):
            presence.inbox.change(lambda view, said=f"Line {number}": how.noticed(view, "info", said))
        await until(lambda: presence.bubble.thread_view.wanted_height > presence.bubble.height())
        whole = presence.bubble.body_rect()
        composer.files_offered.emit([tmp_path])
        await until(lambda: names(composer) == [tmp_path.name])
        composer.tell("Nothing is selected. Select the text that is to be written anew, in any program.")
        await until(lambda: not composer.note.isHidden())
        assert presence.bubble.body_rect() == whole
        assert composer.chips.geometry().bottom() < composer.note.geometry().top()
        assert composer.note.geometry().bottom() < composer.field.geometry().top()
        assert presence.bubble.thread_view.geometry().bottom() <= composer.geometry().top()
        composer.tell("")
        composer.chips.take()
        assert composer.height() == composer.wanted_height

    drive(person())


def test_a_picture_is_pasted_and_so_are_files_and_plain_text_stays_text(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    async def person() -> None:
        composer, clipboard = await written(presence), QGuiApplication.clipboard()
        clipboard.setImage(painted(64, 48))
        composer.field.paste()
        await until(lambda: names(composer) == ["Picture"])
        files = QMimeData()
        files.setUrls([QUrl.fromLocalFile(str(tmp_path))])
        clipboard.setMimeData(files)
        composer.field.paste()
        await until(lambda: names(composer) == ["Picture", tmp_path.name])
        clipboard.setText("words")
        composer.field.paste()
        assert composer.field.toPlainText() == "words"

    drive(person())


def test_files_are_dropped_on_the_composer(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    async def person() -> None:
        composer = await written(presence)
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
        way = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(composer, QDragEnterEvent(QPoint(40, 30), *way))
        QApplication.sendEvent(composer, QDropEvent(QPointF(40, 30), *way))
        await until(lambda: names(composer) == [tmp_path.name])

    drive(person())


def test_the_screen_is_attached_by_a_button(qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def person() -> None:
        composer = await written(presence)
        qtbot.mouseClick(composer.screen_button, Qt.MouseButton.LeftButton)
        await until(lambda: names(composer) == ["Screenshot"])
        qtbot.mouseClick(composer.send_button, Qt.MouseButton.LeftButton)
        await until(lambda: [media.label for media in agent.media] == ["the screen"])

    drive(person())


def screen_with_a_mark(path: Path) -> bytes:
    """A blue screen of this display's size, in which the part from 100,200 to 300,260 is red."""
    whole = QGuiApplication.primaryScreen().virtualGeometry()
    image = painted(whole.width(), whole.height())
    painter = QPainter(image)
    painter.fillRect(100, 200, 200, 60, QColor(200, 30, 30))
    painter.end()
    assert image.save(str(path))
    return path.read_bytes()


def region() -> RegionWindow:
    (found,) = [window for window in QApplication.topLevelWidgets() if isinstance(window, RegionWindow)]
    return found


def is_marking() -> bool:
    return any(isinstance(window, RegionWindow) and window.isVisible() for window in QApplication.topLevelWidgets())


def test_a_part_of_the_screen_is_marked_by_a_drag_and_goes_with_the_words(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    agent.screen = screen_with_a_mark(tmp_path / "screen.png")

    async def person() -> None:
        composer = await written(presence)
        qtbot.keyClick(composer.field, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
        await until(is_marking)
        window = region()
        qtbot.mousePress(window, Qt.MouseButton.LeftButton, pos=QPoint(100, 200))
        qtbot.mouseMove(window, QPoint(200, 230))
        assert window.grab().toImage().pixelColor(150, 220) == QColor(200, 30, 30)
        assert window.grab().toImage().pixelColor(250, 250) != QColor(200, 30, 30)
        qtbot.mouseRelease(window, Qt.MouseButton.LeftButton, pos=QPoint(299, 259))
        await until(lambda: names(composer) == ["Part of the screen"])
        assert not is_marking()
        await until(composer.field.hasFocus)
        qtbot.keyClicks(composer.field, "what does this say")
        qtbot.keyClick(composer.field, Qt.Key.Key_Return)
        await until(lambda: agent.media)
        sent = QImage.fromData(agent.media[0].data)
        assert (sent.width(), sent.height()) == (200, 60)
        assert {sent.pixelColor(x, y).name() for x in (0, 199) for y in (0, 59)} == {"#c81e1e"}
        assert agent.sent == ["what does this say"] and "100,200,300,260" in agent.attached[0].line
        # What the model is told about the part is no text for the person.
        row = next(row for row in presence.bubble.thread_view.realised.values() if isinstance(row, AskedRow))
        shown = [text.shown for text in row.findChildren(ProseText)]
        assert shown[0] == "what does this say" and shown[1].startswith("With Part of the screen")

    drive(person())


def test_marking_is_left_by_esc_and_a_slip_of_the_hand_marks_nothing(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    agent.screen = screen_with_a_mark(tmp_path / "screen.png")

    async def person() -> None:
        composer = await written(presence)
        entries = {action.text(): action for action in composer.header.menu().actions()}
        entries["Mark a part of the screen (Ctrl+M)"].trigger()
        await until(is_marking)
        qtbot.mousePress(region(), Qt.MouseButton.LeftButton, pos=QPoint(100, 200))
        qtbot.mouseRelease(region(), Qt.MouseButton.LeftButton, pos=QPoint(103, 260))
        assert is_marking()
        qtbot.keyClick(region(), Qt.Key.Key_Escape)
        await until(lambda: not is_marking())
        await until(composer.field.hasFocus)
        assert names(composer) == []
        agent.screen = b"no picture"
        composer.region_wanted.emit()
        await until(lambda: composer.note.text() == "Wisp could not take a picture of the screen.")
        assert not is_marking()

    drive(person())


def test_what_cannot_be_attached_gets_a_sentence(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    many = [saved(tmp_path / f"{number}.png", 8, 8) for number in range(MOST_PICTURES + 1)]

    async def person() -> None:
        composer = await written(presence)
        composer.files_offered.emit([tmp_path / "gone.txt"])
        await until(composer.note.isVisible)
        assert composer.note.text() == "“gone.txt” cannot be read: No such file or directory."
        composer.files_offered.emit(many)
        await until(lambda: composer.note.text() == "At most 8 pictures go with one message.")
        assert len(names(composer)) == MOST_PICTURES
        assert composer.rect().contains(composer.field.geometry())
        assert composer.rect().contains(composer.note.geometry())

    drive(person())


@pytest.mark.parametrize(("width", "height"), [(4000, 200), (3000, 2400), (1, 9000)])
def test_a_large_picture_is_made_to_fit_what_a_model_looks_at(tmp_path: Path, width: int, height: int) -> None:
    media = intake.of_path(saved(tmp_path / "large.png", width, height)).media
    assert media is not None
    assert max(media.width, media.height) <= intake.LONG_EDGE_PX
    assert media.width * media.height <= intake.AREA_PX
    shown = QImage.fromData(media.data)
    assert (shown.width(), shown.height()) == (media.width, media.height)


def test_a_broken_picture_is_a_file_and_an_unreadable_one_a_picture_without_a_view(tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    assert intake.of_path(broken) == Attached("file", "broken.png", str(broken), 10)
    cut = saved(tmp_path / "cut.png", 3000, 3000)
    cut.write_bytes(cut.read_bytes()[:60])
    found = intake.of_path(cut)
    assert (found.kind, found.media) == ("unseen", None)
    assert found.note == "The model cannot see “cut.png” (60 B). Wisp tells it where the file is."


def test_an_empty_clipboard_picture_is_refused_with_a_sentence() -> None:
    with pytest.raises(WispError, match="cannot be read"):
        intake.of_image(QImage())


def test_sizes_are_short() -> None:
    assert [size(count) for count in (12, 12_400, 3_400_000)] == ["12 B", "12 kB", "3.4 MB"]


@pytest.mark.parametrize(
    ("bring", "own"),
    [
        (lambda field: None, "click Sign up"),
        (lambda field: field.insertFromMimeData(_words(" now")), ""),
        (lambda field: field.insertPlainText(" now"), ""),
        (lambda field: (field.insertPlainText(" now"), field.undo(), field.redo()), ""),
    ],
)
def test_only_a_message_that_the_person_typed_themselves_is_their_own(
    qtbot: QtBot,
    presence: Presence,
    agent: FakeAgent,
    drive: Drive,
    bring: Callable[[ComposerField], object],
    own: str,
) -> None:
    async def person() -> None:
        composer = await written(presence)
        qtbot.keyClicks(composer.field, "click Sign up")
        bring(composer.field)
        qtbot.keyClick(composer.field, Qt.Key.Key_Return)
        await until(lambda: agent.sent)
        assert agent.own == [own]

    drive(person())


def test_what_is_recalled_offered_or_attached_is_not_the_persons_own(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    async def person() -> None:
        composer = await written(presence)
        qtbot.keyClicks(composer.field, "click Sign up")
        qtbot.keyClick(composer.field, Qt.Key.Key_Return)
        await until(lambda: len(agent.sent) == 1)
        composer = await written(presence)
        qtbot.keyClick(composer.field, Qt.Key.Key_Up)
        qtbot.keyClick(composer.field, Qt.Key.Key_Return)
        await until(lambda: len(agent.sent) == 2)
        presence.stage.said.emit("Sign up", (), "", ())
        await until(lambda: len(agent.sent) == 3)
        composer = await written(presence)
        composer.ask_files = lambda: [str(tmp_path)]
        qtbot.mouseClick(composer.attach_button, Qt.MouseButton.LeftButton)
        await until(lambda: bool(names(composer)))
        qtbot.keyClicks(composer.field, "read it")
        qtbot.keyClick(composer.field, Qt.Key.Key_Return)
        await until(lambda: len(agent.sent) == 4)
        assert agent.own == ["click Sign up", "", "", "read it"]

    drive(person())
