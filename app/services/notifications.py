"""Notifications on the desktop, over the session bus, and on the person's other devices, over an ntfy server.

The inbox keeps their text, because a person may miss them. Any program can claim that a button was pressed. So a button
only opens the item; it never grants, answers or runs anything.
"""

from __future__ import annotations

import asyncio
import html
import importlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from app.base import resources
from app.base.errors import WispError
from app.base.values import dataclass
from app.settings.catalog import NTFY_TOPIC
from app.settings.providers import NTFY
from app.settings.store import Settings

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

URGENCIES = ("low", "normal", "critical")
NO_SERVER = "No program here shows notifications: what they would say stands in the inbox (wisp schedule inbox)."
_NAME = "org.freedesktop.Notifications"
_PATH = "/org/freedesktop/Notifications"
_LIMIT_S = 3.0
_OPEN = "default"
"""The key of a click on the notification itself. Some servers show it as a button."""
_APP = "Wisp"


@dataclass(frozen=True, slots=True)
class DesktopNotification:
    """A notification. `item` is the id of its message in the inbox, 0 for none."""

    title: str
    body: str = ""
    urgency: str = "normal"
    item: int = 0


class DesktopNotifier:
    """One connection to the session bus, opened at the first use.

    `opened` is called with the id of an inbox message that the person wants to open. Without it, no clicks are
    received.
    """

    def __init__(self, opened: Callable[[int], None] | None = None) -> None:
        self._opened = opened
        self._bus: MessageBus | None = None
        self._items: dict[int, int] = {}

    async def show(self, shown: DesktopNotification) -> str:
        """Show a notification. Returns why it cannot be shown, else ""."""
        if not os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
            return NO_SERVER
        try:
            async with asyncio.timeout(_LIMIT_S):
                return await self._shown(shown)
        except (OSError, TimeoutError, EOFError):  # Close the connection, so that the next call opens a new one.
            await self.close()
            return NO_SERVER

    async def server(self) -> str:
        """Return the name of the program that shows notifications; "" if there is none."""
        if not os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
            return ""
        try:
            async with asyncio.timeout(_LIMIT_S):
                answer = await self._call("GetServerInformation")
        except (OSError, TimeoutError, EOFError):  # because a session need not have a notification daemon
            return ""
        return str(answer.body[0]) if answer else ""

    async def close(self) -> None:
        if self._bus:
            self._bus.disconnect()
        self._bus = None

    async def _shown(self, shown: DesktopNotification) -> str:
        from dbus_fast import Variant

        abilities = await self._call("GetCapabilities")
        if not abilities:
            return NO_SERVER
        # Escape it, because such servers read markup: https://specifications.freedesktop.org/notification-spec/latest/
        body = html.escape(shown.body, quote=False) if "body-markup" in abilities.body[0] else shown.body
        actions = [_OPEN, "Open"] if self._opened and shown.item and "actions" in abilities.body[0] else []
        hints = {"urgency": Variant("y", URGENCIES.index(shown.urgency)), "desktop-entry": Variant("s", "wisp")}
        told = await self._call("Notify", "susssasa{sv}i", [_APP, 0, "", shown.title, body, actions, hints, -1])
        if not told:
            return NO_SERVER
        if actions:
            self._items[int(told.body[0])] = shown.item
        return ""

    async def _call(self, member: str, signature: str = "", body: list[Any] | None = None) -> Message | None:
        """Call a method of the notification server. Returns its answer; None if there is no server or it refuses."""
        from dbus_fast import Message, MessageType

        bus = await self._connected()
        call = Message(_NAME, _PATH, _NAME, member, signature=signature, body=body or [])
        answer = await bus.call(call)
        return answer if answer and answer.message_type is MessageType.METHOD_RETURN else None

    async def _connected(self) -> MessageBus:
        from dbus_fast.aio import MessageBus
        from dbus_fast.errors import AuthError, InvalidAddressError

        if self._bus is None or not self._bus.connected:
            try:
                self._bus = await MessageBus().connect()
            except (AuthError, InvalidAddressError) as error:
                raise OSError(str(error)) from error
            if self._opened:
                self._bus.add_message_handler(self._heard)
                await self._listen(self._bus)
        return self._bus

    async def _listen(self, bus: MessageBus) -> None:
        from dbus_fast import Message

        rule = f"type='signal',interface='{_NAME}',path='{_PATH}'"
        name = "org.freedesktop.DBus"
        await bus.call(Message(name, "/org/freedesktop/DBus", name, "AddMatch", signature="s", body=[rule]))

    def _heard(self, message: Message) -> None:
        if message.interface != _NAME or len(message.body) != 2:
            return
        number, key = message.body
        if message.member == "ActionInvoked" and key == _OPEN and self._opened and number in self._items:
            self._opened(self._items.pop(number))
        elif message.member == "NotificationClosed":
            self._items.pop(number, None)


_SEND_S = 10.0
_ANSWER_BYTES = 100_000
_REFUSED = {401: "it wants another token", 403: "it wants another token", 404: "it has no such topic"}


class DeviceNotifier:
    """Sends notifications to the person's own topic of an ntfy server, if they have set one.

    `now` returns the present settings; `key_of` returns the token, "" for none, and may block.
    """

    def __init__(self, now: Callable[[], Settings], key_of: Callable[[str], str]) -> None:
        self._now = now
        self._key_of = key_of

    @property
    def topic(self) -> str:
        """The address of the topic; "" if notifications stay on this machine."""
        return self._now()[NTFY_TOPIC].strip().rstrip("/")

    def why_unusable(self) -> str:
        """Return why the address of the topic cannot be used; "" if it can, or if there is none."""
        try:
            parts = urlsplit(self.topic)
            is_address = parts.scheme in ("http", "https") and parts.hostname and parts.path.strip("/")
        except ValueError:  # such as half an IPv6 address
            is_address = False
        return "" if is_address or not self.topic else f"The setting {NTFY_TOPIC.key} holds no address of a topic."

    async def send(self, shown: DesktopNotification) -> str:
        """Send a notification. Returns why it could not be sent, else ""."""
        if problem := self.why_unusable():
            return problem
        root, _, topic = self.topic.rpartition("/")
        # On threads, because importing the HTTP library and asking the keyring take long.
        await asyncio.to_thread(importlib.import_module, "app.services.web.fetching")
        token = await asyncio.to_thread(self._key_of, NTFY)
        if not token.isascii():
            return "The token for ntfy has letters that no token has: store it again in the settings."
        from app.services.web.fetching import GuardedTransport, WebQuestion, send

        priorities = resources.table("notifications.toml", resources.Table)[NTFY]["priorities"]
        # As JSON, because headers hold no other letters than those of ASCII: https://docs.ntfy.sh/publish/#publish-as-json
        message = {"topic": topic, "title": shown.title, "message": shown.body or shown.title}
        message |= {"priority": priorities[shown.urgency]}
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        question = WebQuestion(f"{root}/", posted=message, headers=headers)
        try:
            answer = await send(GuardedTransport(own=root), question, most_bytes=_ANSWER_BYTES, limit_s=_SEND_S)
        except WispError as error:
            return f"ntfy did not get it: {error}"
        if answer.status != 200:
            return f"ntfy did not take it: {_REFUSED.get(answer.status, 'it failed')} ({answer.status})."
        return ""
