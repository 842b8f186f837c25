"""The connection to the accessibility bus: it is found, kept, and opened again when lost. Each wait has a limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.desktop.accessibility import constants as spi

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

_CONNECT_LIMIT_S = 2.0
_IN_FLIGHT = 150
"""Calls in flight at once. dbus-fast takes a full socket buffer for a lost connection (its writer does not wait on
EAGAIN), and about 270 small messages fill one. More calls at once would not be faster."""
_OF_ONE_PROGRAM = 50
"""Calls that one program may leave unanswered, so that a silent program does not block the others."""
_NO_REPLY = "org.freedesktop.DBus.Error.NoReply"
_log = logging.getLogger(__name__)


class CallRefused(Exception):
    """Raised if a program answered a call with an error (the object is gone, or lacks the interface)."""


class ProgramLeft(CallRefused):
    """Raised if a program left the bus before it answered, as one does that was asked to quit."""


class BusLost(ToolFailed):
    """Raised if the bus itself cannot be reached. The next call connects again."""

    def __init__(self, why: str) -> None:
        again = "Log out and in, or start at-spi2-core and then the programs again."
        super().__init__(
            Phrase(
                "Programs cannot tell Wisp what they show, because the accessibility bus does not answer ({why}).",
                {"why": why},
            ),
            f"Use coordinates of a capture meanwhile. {again}",
            advice=Phrase(again),
        )


class Bus:
    """One connection, opened at the first call. `environment` contains the address of the session bus.

    It may be used only on the event loop of that first call.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._bus: MessageBus | None = None
        self._heard: MessageBus | None = None
        self._opening = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._places = asyncio.Semaphore(_IN_FLIGHT)
        self._shares: dict[str, asyncio.Semaphore] = {}
        self.vague: set[str] = set()
        """Programs that report `visible` instead of `showing`, and a class name instead of no name: those of GTK 4."""
        self.adrift: set[str] = set()
        """Programs whose popups tell no place that is of use on Wayland: those of GTK."""
        self.hit_testing: set[str] = set()
        """Programs that report correctly which object is under a point."""

    async def call(
        self, program: str, path: str, interface: str, member: str, signature: str = "", *body: object
    ) -> list[Any]:
        """Call a method, return the values of its reply. Raises CallRefused or BusLost. The caller limits the time."""
        bus = self._bus
        if bus is None or not bus.connected:
            bus = await self._connected()
        share = self._shares.setdefault(program, asyncio.Semaphore(_OF_ONE_PROGRAM))
        async with share, self._places:
            return await _ask(bus, _message(program, path, interface, member, signature, *body))

    async def get(self, program: str, path: str, interface: str, name: str) -> Any:
        variant = (await self.call(program, path, spi.PROPERTIES, "Get", "ss", interface, name))[0]
        return variant.value

    async def on_message(self, handle: Callable[[Message], None], prepare: Callable[[], Awaitable[None]]) -> None:
        """Pass every message of this connection to `handle`. After each connection, `prepare` subscribes."""
        await self.connect()
        bus = self._bus
        if bus is None or self._heard is bus:
            return
        self._heard = bus
        bus.add_message_handler(handle)
        await prepare()

    async def connect(self) -> None:
        """Make sure that there is a live connection. Raises BusLost."""
        if self._bus is None or not self._bus.connected:
            await self._connected()

    async def close(self) -> None:
        """Leave the bus. A later call connects again."""
        if self._bus is not None:
            self._bus.disconnect()
        if self._watch is not None:
            await self._watch
        self._bus = self._watch = None
        self._shares.clear()

    async def _connected(self) -> MessageBus:
        async with self._opening:  # Only one caller connects, because each connection would get its own events.
            if self._bus is not None and self._bus.connected:
                return self._bus
            import dbus_fast.aio  # noqa: F401 - loaded before the limit begins, because a cold import can take all of it

            try:
                async with asyncio.timeout(_CONNECT_LIMIT_S):
                    self._bus = await _opened(await self._address())
            except TimeoutError as late:
                raise BusLost(f"no answer in {_CONNECT_LIMIT_S:g} s") from late
            self._watch = asyncio.create_task(_until_lost(self._bus))
            return self._bus

    async def _address(self) -> str:
        given = self._environment.get("AT_SPI_BUS_ADDRESS")
        if given:
            return given
        async with self._session() as session:
            try:
                reply = await _ask(session, _message("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress"))
            except CallRefused as refused:
                raise BusLost(str(refused)) from refused
        return str(reply[0])

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[MessageBus]:
        """A connection to the session bus, which closes at the end."""
        session = await _opened(self._session_address())
        watch = asyncio.create_task(_until_lost(session))
        try:
            yield session
        finally:
            session.disconnect()
            await watch

    def _session_address(self) -> str:
        address = self._environment.get("DBUS_SESSION_BUS_ADDRESS")
        folder = self._environment.get("XDG_RUNTIME_DIR")
        if not address and not folder:
            raise BusLost("there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set")
        return address or f"unix:path={folder}/bus"


async def _opened(address: str) -> MessageBus:
    from dbus_fast import AuthError, InvalidAddressError
    from dbus_fast.aio import MessageBus

    try:
        return await MessageBus(bus_address=address).connect()
    except (OSError, EOFError, AuthError, InvalidAddressError) as error:
        raise BusLost(f"no connection to {address.partition(',')[0]}: {error}") from error


async def _until_lost(bus: MessageBus) -> None:
    """Wait until the connection ends and log its error. Unread, asyncio would report it; pending calls get it too."""
    try:
        await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]  # it has no annotations
    except (OSError, EOFError) as error:
        _log.info("the accessibility bus is gone: %s", error)


def _message(program: str, path: str, interface: str, member: str, signature: str = "", *body: object) -> Message:
    from dbus_fast import Message

    return Message(
        destination=program, path=path, interface=interface, member=member, signature=signature, body=list(body)
    )


async def _ask(bus: MessageBus, message: Message) -> list[Any]:
    from dbus_fast import MessageType

    try:
        reply: Message | None = await bus.call(message)
    except (OSError, EOFError) as error:
        raise BusLost(f"it closed the connection: {error}") from error
    if reply is None:
        raise BusLost("it closed the connection")
    if reply.message_type is MessageType.ERROR:
        kind = ProgramLeft if reply.error_name == _NO_REPLY else CallRefused
        raise kind(f"{reply.error_name}: {reply.body[0] if reply.body else ''}")
    return list(reply.body)
