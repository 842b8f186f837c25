"""Calls to the services of the system and of the desktop, over D-Bus. Each wait has a limit."""

from __future__ import annotations

import asyncio
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbus_fast.aio import MessageBus

LIMIT_S = 4.0
_DBUS, _DBUS_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_ABSENT = ("ServiceUnknown", "NameHasNoOwner", "UnknownObject", "UnknownMethod", "UnknownInterface", "UnknownProperty")


class BusKind(StrEnum):
    SYSTEM = "system"
    SESSION = "session"


class Unanswered(Exception):
    """Raised if no service answers: there is no bus, nobody has the name, or it lacks the object or method."""


class Declined(Exception):
    """Raised if a service answered with an error. The text is its own."""


class Bus:
    """One connection, opened at the first call, and again after it was lost."""

    def __init__(self, kind: BusKind) -> None:
        self._kind = kind
        self._bus: MessageBus | None = None

    async def call(
        self, service: str, path: str, interface: str, member: str, signature: str = "", *body: object,
        limit_s: float = LIMIT_S,
    ) -> list[Any]:  # fmt: skip
        """Call a method and return the values of its answer. Raises Unanswered or Declined.

        The session's services are asked only if they run: asking must start no program of the desktop.
        """
        try:
            from dbus_fast import Message, MessageFlag, MessageType
        except ImportError as error:  # because only Linux has it
            raise Unanswered(str(error)) from error
        flags = MessageFlag.NO_AUTOSTART if self._kind is BusKind.SESSION else MessageFlag.NONE
        message = Message(service, path, interface, member, flags=flags, signature=signature, body=list(body))
        try:
            async with asyncio.timeout(limit_s):
                answer = await (await self._connected()).call(message)
        except (OSError, EOFError, TimeoutError) as error:
            self.close()
            raise Unanswered(str(error)) from error
        if answer is None:
            raise Unanswered(f"{service} closed the connection.")
        if answer.message_type is MessageType.ERROR:
            text = str(answer.body[0]) if answer.body else str(answer.error_name)
            kind = Unanswered if str(answer.error_name).rpartition(".")[2] in _ABSENT else Declined
            raise kind(text)
        return list(answer.body)

    async def get(self, service: str, path: str, interface: str, name: str) -> Any:
        """Raises Unanswered or Declined."""
        return _bare((await self.call(service, path, _PROPERTIES, "Get", "ss", interface, name))[0])

    async def all(self, service: str, path: str, interface: str) -> dict[str, Any]:
        """Raises Unanswered or Declined."""
        return {
            name: _bare(one)
            for name, one in (await self.call(service, path, _PROPERTIES, "GetAll", "s", interface))[0].items()
        }

    async def set(self, service: str, path: str, interface: str, name: str, signature: str, value: object) -> None:
        """Set a property. Raises Unanswered or Declined."""
        from dbus_fast import Variant

        await self.call(service, path, _PROPERTIES, "Set", "ssv", interface, name, Variant(signature, value))

    async def objects(self, service: str) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the objects of a service that manages some: by their paths, the properties by their interfaces."""
        found = (await self.call(service, "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"))[0]
        return {path: {name: _bare(one) for name, one in kinds.items()} for path, kinds in found.items()}

    async def names(self, prefix: str) -> list[str]:
        """Those that begin so; none where there is no bus."""
        try:
            found = (await self.call(_DBUS, _DBUS_PATH, _DBUS, "ListNames"))[0]
        except (Unanswered, Declined):
            return []
        return sorted(name for name in found if name.startswith(prefix))

    def close(self) -> None:
        """Leave the bus. A later call connects again."""
        if self._bus is not None:
            self._bus.disconnect()
        self._bus = None

    async def _connected(self) -> MessageBus:
        from dbus_fast import AuthError, BusType, InvalidAddressError
        from dbus_fast.aio import MessageBus

        if self._bus is None or not self._bus.connected:
            is_system = self._kind is BusKind.SYSTEM
            try:
                made = MessageBus(None if is_system else _address(), BusType.SYSTEM if is_system else BusType.SESSION)
                self._bus = await made.connect()
            except (AuthError, InvalidAddressError) as error:
                raise OSError(str(error)) from error
        return self._bus


def _address() -> str:
    """Raises OSError if the session has no bus."""
    if address := os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return address
    socket = Path(os.environ.get("XDG_RUNTIME_DIR", "/nowhere")) / "bus"
    if not socket.exists():
        raise OSError("This session has no bus.")
    return f"unix:path={socket}"


def _bare(value: Any) -> Any:
    """Without the variants around it and in it."""
    if hasattr(value, "signature") and hasattr(value, "value"):
        return _bare(value.value)
    if isinstance(value, dict):
        return {name: _bare(one) for name, one in value.items()}
    return [_bare(one) for one in value] if isinstance(value, list) else value
