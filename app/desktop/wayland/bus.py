"""The session bus, with calls that wait for their answer: what a desktop tells by D-Bus is asked as one asks a socket.

https://dbus.freedesktop.org/doc/dbus-specification.html. Signals and calls of others are passed on afterwards, on the
event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from jeepney import (
    DBusAddress,
    DBusErrorResponse,
    HeaderFields,
    MatchRule,
    Message,
    MessageType,
    message_bus,
    new_error,
    new_method_call,
    new_method_return,
)
from jeepney.io.blocking import open_dbus_connection
from jeepney.wrappers import unwrap_msg

from app.base.errors import NeedsPerson, ToolFailed
from app.base.values import dataclass

_LIMIT_S = 2.0
_NO_ONE = "org.freedesktop.DBus.Error.ServiceUnknown"

Handler = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an interface answers: the name of its program on the bus, the path of its object, and its own name."""

    owner: str
    path: str
    interface: str


class Refused(ToolFailed):
    """The other side answered with an error. `name` is that of D-Bus."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message or name)
        self.name = name

    @property
    def is_absent(self) -> bool:
        """Whether nobody has the name that was called."""
        return self.name == _NO_ONE


class SessionBus:
    """One connection to the session bus, used on one thread. Raises NeedsPerson if there is none."""

    def __init__(self, environment: Mapping[str, str], address: str = "") -> None:
        address = address or environment.get("DBUS_SESSION_BUS_ADDRESS", "")
        if not address and (folder := environment.get("XDG_RUNTIME_DIR")):
            address = f"unix:path={folder}/bus"
        try:
            self._connection = open_dbus_connection(address, enable_fds=True)
        except (OSError, KeyError, ValueError, RuntimeError, DBusErrorResponse) as error:
            raise NeedsPerson(
                f"The session bus cannot be reached ({error}). Start Wisp from your desktop's own session, where "
                "DBUS_SESSION_BUS_ADDRESS is set."
            ) from None
        self.address = address
        self.name: str = self._connection.unique_name
        self._signals: dict[tuple[str, str, str], list[Handler]] = {}
        """What to call, by path (empty: any), interface and member."""
        self._served: dict[str, dict[str, Handler]] = {}
        self._waiting: deque[Message] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def close(self) -> None:
        if self._loop:
            self._loop.remove_reader(self._connection.sock.fileno())
            self._loop = None
        self._connection.close()

    def call(self, place: Place, member: str, signature: str = "", *body: Any, limit_s: float = _LIMIT_S) -> Any:
        """Call a method and return its answer: its only value, or all of them as a tuple.

        Values of kind `v` are pairs of signature and value. Raises Refused if the other side answers with an error,
        and ToolFailed if it gives no answer in time (s).
        """
        address = DBusAddress(place.path, place.owner, place.interface)
        message = new_method_call(address, member, signature or None, body)
        return self._answered(message, f"{place.interface}.{member}", limit_s)

    def _answered(self, message: Message, what: str, limit_s: float) -> Any:
        serial = next(self._connection.outgoing_serial)
        limit = time.monotonic() + limit_s
        try:
            self._connection.send(message, serial=serial)
            while True:
                found = self._connection.receive(timeout=max(limit - time.monotonic(), 0))
                if found.header.fields.get(HeaderFields.reply_serial) == serial:
                    answer = unwrap_msg(found)
                    return answer[0] if len(answer) == 1 else answer
                self._waiting.append(found)
        except DBusErrorResponse as error:
            told = error.data[0] if error.data and isinstance(error.data[0], str) else ""
            raise Refused(error.name, told) from None
        except TimeoutError:
            raise ToolFailed(f"{what} gave no answer in {limit_s:g} s.", transient=True) from None
        except OSError as error:
            raise ToolFailed(f"The session bus broke ({error}).", transient=True) from None
        finally:
            if self._waiting and self._loop:
                self._loop.call_soon(self._pass_on)

    # --- what others send

    def hear(self, place: Place, member: str, handler: Handler) -> None:
        """Call `handler` with the values of each such signal. The empty owner or path means any."""
        rule = MatchRule(
            type="signal",
            sender=place.owner or None,
            path=place.path or None,
            interface=place.interface,
            member=member,
        )
        self._answered(message_bus.AddMatch(rule), "AddMatch", _LIMIT_S)
        self._signals.setdefault((place.path, place.interface, member), []).append(handler)

    def forget(self, place: Place, member: str) -> None:
        """Pass the signals of an object to nobody any more."""
        self._signals.pop((place.path, place.interface, member), None)

    def serve(self, path: str, interface: str, methods: Mapping[str, Handler]) -> None:
        """Let others call these methods on this connection. They get the values of the call, and return nothing."""
        self._served.setdefault(f"{path} {interface}", {}).update(methods)

    def has_owner(self, name: str) -> bool:
        return bool(self._answered(message_bus.NameHasOwner(name), "NameHasOwner", _LIMIT_S))

    def own(self, name: str, *, queues: bool = False) -> bool:
        """Take a name on the bus. Returns False if another program has it; then this one `queues` for it, or not."""
        primary_owner, do_not_queue = 1, 4
        asked = message_bus.RequestName(name, 0 if queues else do_not_queue)
        return bool(self._answered(asked, "RequestName", _LIMIT_S) == primary_owner)

    def disown(self, name: str) -> None:
        """Give a name back, or leave its queue."""
        self._answered(message_bus.ReleaseName(name), "ReleaseName", _LIMIT_S)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Pass signals and calls on as they arrive, on this event loop."""
        self._loop = loop
        loop.add_reader(self._connection.sock.fileno(), self._read)
        loop.call_soon(self._pass_on)

    def pump(self, limit_s: float) -> None:
        """Wait for one message at most so long (s), and pass on what has come. Without an event loop."""
        with suppress(TimeoutError):
            # What came during a call is passed on without a wait for more.
            self._waiting.append(self._connection.receive(timeout=0 if self._waiting else limit_s))
        self._pass_on()

    def _read(self) -> None:
        try:
            while True:
                self._waiting.append(self._connection.receive(timeout=0))
        except TimeoutError:
            pass
        except OSError:  # because the bus has ended; the next call tells
            self.close()
        self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            message = self._waiting.popleft()
            if message.header.message_type is MessageType.signal:
                self._signal(message)
            elif message.header.message_type is MessageType.method_call:
                self._serve(message)

    def _signal(self, message: Message) -> None:
        path, *what = (
            message.header.fields[name] for name in (HeaderFields.path, HeaderFields.interface, HeaderFields.member)
        )
        for key in ((path, *what), ("", *what)):
            for handler in tuple(self._signals.get(key, ())):
                handler(*message.body)

    def _serve(self, message: Message) -> None:
        fields = message.header.fields
        methods = self._served.get(f"{fields.get(HeaderFields.path)} {fields.get(HeaderFields.interface)}", {})
        handler = methods.get(fields[HeaderFields.member])
        if handler is None:
            reply = new_error(message, "org.freedesktop.DBus.Error.UnknownMethod")
        else:
            handler(*message.body)
            reply = new_method_return(message)
        with suppress(OSError):
            self._connection.send(reply)
