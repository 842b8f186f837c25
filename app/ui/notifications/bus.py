"""Notifications over D-Bus (org.freedesktop.Notifications); a click on one is told."""

from __future__ import annotations

import html
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.ui.notifications.worth import Note

if TYPE_CHECKING:
    from dbus_fast.aio import MessageBus

_log = logging.getLogger(__name__)
_SERVICE = "org.freedesktop.Notifications"
_BUS = "org.freedesktop.DBus"
_PATH = "/org/freedesktop/Notifications"
_SYSTEM_DECIDES = -1
_CRITICAL, _NORMAL = 2, 1
_DEFAULT = "default"


class BusNotifier:
    """Connects at the first notification. One notification of ours stands at a time: a newer one replaces it."""

    def __init__(self, name: str, clicked: Callable[[], None]) -> None:
        self._name = name
        self._clicked = clicked
        self._bus: MessageBus | None = None
        self._shown = 0
        self._reads_markup = False

    async def show(self, note: Note) -> bool:
        """False where nobody shows notifications here."""
        from dbus_fast import Variant
        from dbus_fast.errors import DBusError, InvalidAddressError

        try:
            if self._bus is None or not self._bus.connected:
                await self._connect()
            urgency = Variant("y", _CRITICAL if note.urgent else _NORMAL)
            hints = {"urgency": urgency, "desktop-entry": Variant("s", "wisp")}
            text = html.escape(note.text, quote=False) if self._reads_markup else note.text
            body = [self._name, self._shown, "", note.title, text, [_DEFAULT, ""], hints, _SYSTEM_DECIDES]
            answer = await self._call(_SERVICE, _PATH, "Notify", "susssasa{sv}i", body)
        except (OSError, EOFError, DBusError, InvalidAddressError) as error:
            _log.info("No notification could be shown: %s", error)
            return False
        self._shown = answer[0] if answer else 0
        return bool(answer)

    def close(self) -> None:
        """Hang up."""
        if self._bus is not None and self._bus.connected:
            self._bus.disconnect()
        self._bus = None

    async def _connect(self) -> None:
        from dbus_fast import Message, MessageType
        from dbus_fast.aio import MessageBus

        def heard(message: Message) -> None:
            is_ours = bool(message.body) and message.body[0] == self._shown
            if message.message_type is MessageType.SIGNAL and message.member == "ActionInvoked" and is_ours:
                self._clicked()

        self._bus = await MessageBus().connect()
        self._bus.add_message_handler(heard)
        rule = f"type='signal',interface='{_SERVICE}',member='ActionInvoked'"
        await self._call(_BUS, "/org/freedesktop/DBus", "AddMatch", "s", [rule])
        abilities = await self._call(_SERVICE, _PATH, "GetCapabilities", "", [])
        self._reads_markup = bool(abilities) and "body-markup" in abilities[0]

    async def _call(self, service: str, path: str, member: str, signature: str, body: list[Any]) -> list[Any]:
        """What the service answers; empty where it answers with an error."""
        from dbus_fast import Message, MessageType

        assert self._bus is not None
        answer = await self._bus.call(
            Message(
                destination=service, path=path, interface=service, member=member, signature=signature, body=body
            )  # both services name their interface like themselves
        )
        return list(answer.body) if answer is not None and answer.message_type is MessageType.METHOD_RETURN else []
