"""The cards of features in a thread, for tests: what shows them, and what is seen of them."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QColor, QImage

from app.agent import agent_events
from app.agent.agent_events import Media
from app.ui.cards.card import CardRow
from app.ui.cards.contents import ContentView
from app.ui.presence import Presence
from app.ui.presenter.view import Card


def picture(color: str) -> Media:
    image = QImage(80, 60, QImage.Format.Format_RGB32)
    image.fill(QColor(color))
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return Media(bytes(kept.data()), "image/png", 80, 60, color)


def call(number: int, tool: str, payload: dict[str, object], media: tuple[Media, ...] = ()) -> list[object]:
    """The events of a call that has succeeded."""
    return [
        agent_events.TagStart(f"c{number}", tool, {"name": "x"}),
        agent_events.ToolFinished(f"c{number}", tool, True, tool, payload, media=media),  # type: ignore[arg-type]
    ]


def show(presence: Presence, events: list[object]) -> None:
    for event in events:
        presence.inbox.receive(event)  # type: ignore[arg-type]
    presence.inbox.change(lambda view: view)
    presence.unfold()


def views(presence: Presence) -> list[ContentView]:
    rows = [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, CardRow)]
    return [view for row in rows for view in row.findChildren(ContentView)]


def cards(presence: Presence) -> list[Card]:
    return [item for item in presence.inbox.view.items if isinstance(item, Card) and item.content]
