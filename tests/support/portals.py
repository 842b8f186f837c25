"""The portals of a desktop on a bus of the test: RemoteDesktop, ScreenCast and Clipboard, answering as GNOME 50 does.

There is no PipeWire: `OpenPipeWireRemote` gives a socket at its end.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from jeepney import DBusAddress, HeaderFields, Message, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from app.base.geometry import Rect
from tests.support.eis import Eis

_NAME = "org.freedesktop.portal."
_PATH = "/org/freedesktop/portal/desktop"
_LIMIT_S = 10.0
_UNCLAIMED = 4  # DBUS_NAME_FLAG_DO_NOT_QUEUE
_ALLOWED, _REFUSED = 0, 1
_INPUT = 3
_AREA = Rect(0, 0, 1280, 800)
_VERSIONS = {"RemoteDesktop": 2, "ScreenCast": 5, "Clipboard": 1, "GlobalShortcuts": 1}
_KEPT = "text/plain;charset=utf-8"
_ERROR = f"{_NAME}Error.Failed"


@dataclass
class Session:
    """What a program asked for, and what it got. `wishes` are the options of all its calls."""

    path: str
    owner: str
    wishes: dict[str, Any] = field(default_factory=dict)
    has_sources: bool = False
    has_clipboard: bool = False
    is_started: bool = False
    input: Eis | None = None


class _Refusal(Exception):
    pass


class Portals:
    """The portals, served on a thread of their own.

    `allows` is the person's answer; None means that they let the question stand, until `answer` is called. `questions`
    counts what they were asked. `gives_input` is the switch “Allow Remote Interaction” of GNOME's question.
    """

    def __init__(
        self, address: str, *, allows: bool | None = True, gives_input: bool = True, layouts: str = "us"
    ) -> None:
        self.allows, self.gives_input = allows, gives_input
        self.questions = 0
        self.sessions: dict[str, Session] = {}
        self.clipboard: dict[str, bytes] = {}
        """What another program has copied."""
        self._layouts = layouts
        self._inputs: list[Eis] = []
        self._tokens: set[str] = set()
        self._open_questions: dict[str, tuple[Session, str]] = {}
        self._pasting: dict[int, tuple[int, threading.Event, list[bool]]] = {}
        self._serial = 0
        self._connection = open_dbus_connection(address, enable_fds=True)
        self._connection.send_and_get_reply(message_bus.RequestName(f"{_NAME}Desktop", _UNCLAIMED))
        self._lock = threading.RLock()
        self._has_ended = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> Portals:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._has_ended = True
        self._thread.join()
        for connected in self._inputs:
            connected.close()
        self._connection.close()

    # --- what the person and other programs do

    @property
    def session(self) -> Session:
        """The newest session."""
        return list(self.sessions.values())[-1]

    @property
    def input(self) -> Eis:
        assert self.session.input, "The program has not connected to the input."
        return self.session.input

    def answer(self, *, allows: bool) -> None:
        """Answer the question that stands."""
        with self._lock:
            session, request = self._open_questions.popitem()[1]
            self._respond(session, request, allows=allows)

    def stop_sharing(self) -> None:
        """End all sessions, as the person does in the panel."""
        with self._lock:
            for session in [*self.sessions.values()]:
                self._end(session)

    def copy(self, formats: dict[str, bytes]) -> None:
        """Let another program own the clipboard."""
        with self._lock:
            self.clipboard = formats
            for session in self.sessions.values():
                self._tell_owner(session, [*formats], is_owner=False)

    def paste(self, kind: str) -> bytes | None:
        """Let another program ask for what the newest session has copied. Returns None if it was not given."""
        with self._lock:
            content = self._ask(self.session, kind)
        return content()

    def _ask(self, session: Session, kind: str) -> Callable[[], bytes | None]:
        """Ask for what a session has copied. Returns what waits for it."""
        reading, writing = os.pipe()
        serial = self._serial = self._serial + 1
        done, success, content = threading.Event(), list[bool](), list[bytes]()
        self._pasting[serial] = writing, done, success
        self._signal(session.owner, _PATH, "Clipboard", "SelectionTransfer", "osu", session.path, kind, serial)

        def read() -> None:
            with os.fdopen(reading, "rb") as pipe:
                content.append(pipe.read())

        reader = threading.Thread(target=read, daemon=True)
        reader.start()

        def wait() -> bytes | None:
            assert done.wait(_LIMIT_S), "The program answered no SelectionTransfer."
            reader.join()
            return content[0] if success[0] else None

        return wait

    # --- the bus

    def _serve(self) -> None:
        while not self._has_ended:
            with suppress(TimeoutError):
                message = self._connection.receive(timeout=0.02)
                if message.header.message_type is MessageType.method_call:
                    with self._lock:
                        self._take(message)

    def _take(self, message: Message) -> None:
        fields = message.header.fields
        interface, member = fields[HeaderFields.interface].removeprefix(_NAME), fields[HeaderFields.member]
        method = _METHODS.get((interface, member))
        if method is None:
            self._connection.send(new_error(message, "org.freedesktop.DBus.Error.UnknownMethod"))
            return
        caller, path = fields[HeaderFields.sender], fields[HeaderFields.path]
        try:
            signature, values, later = method(self, caller, path, *message.body)
        except _Refusal as error:
            self._connection.send(new_error(message, _ERROR, "s", (str(error),)))
            return
        self._connection.send(new_method_return(message, signature, values))
        for value in values:
            if signature == "h":
                os.close(value)
        later()

    def _signal(self, to: str, path: str, interface: str, member: str, signature: str, *values: Any) -> None:
        signal = new_signal(DBusAddress(path, interface=f"{_NAME}{interface}"), member, signature, values)
        signal.header.fields[HeaderFields.destination] = to
        self._connection.send(signal)

    def _respond_to(self, caller: str, options: dict[str, Any], code: int, results: dict[str, Any]) -> _Answer:
        """Return the request's object, whose response comes after it."""
        path = self._request(caller, options)
        return "o", (path,), lambda: self._signal(caller, path, "Request", "Response", "ua{sv}", code, results)

    @staticmethod
    def _request(caller: str, options: dict[str, Any]) -> str:
        return f"{_PATH}/request/{_name_of(caller)}/{options['handle_token'][1]}"

    def _session(self, path: str, *, is_started: bool | None = None) -> Session:
        session = self.sessions.get(path)
        if session is None or is_started not in (None, session.is_started):
            raise _Refusal("Invalid session")
        return session

    # --- requests

    def _get(self, _caller: str, _path: str, interface: str, name: str) -> _Answer:
        version = _VERSIONS.get(interface.removeprefix(_NAME))
        if name != "version" or version is None:
            raise _Refusal(f"There is no {interface}.{name}")
        return "v", (("u", version),), _nothing

    def _create(self, caller: str, _path: str, options: dict[str, Any]) -> _Answer:
        path = f"{_PATH}/session/{_name_of(caller)}/{options['session_handle_token'][1]}"
        self.sessions[path] = Session(path, caller)
        return self._respond_to(caller, options, _ALLOWED, {"session_handle": ("s", path)})

    def _select_devices(self, caller: str, _path: str, session: str, options: dict[str, Any]) -> _Answer:
        self._session(session, is_started=False).wishes |= options
        return self._respond_to(caller, options, _ALLOWED, {})

    def _select_sources(self, caller: str, _path: str, session: str, options: dict[str, Any]) -> _Answer:
        if {"persist_mode", "restore_token"} & options.keys():
            raise _Refusal("Remote desktop sessions cannot persist")
        found = self._session(session, is_started=False)
        found.has_sources = True
        return self._respond_to(caller, options, _ALLOWED, {})

    def _request_clipboard(self, _caller: str, _path: str, session: str, _options: dict[str, Any]) -> _Answer:
        self._session(session, is_started=False).has_clipboard = True
        return "", (), _nothing

    def _start(self, caller: str, _path: str, session: str, _window: str, options: dict[str, Any]) -> _Answer:
        found, request = self._session(session, is_started=False), self._request(caller, options)
        is_known = found.wishes.get("restore_token", ("s", ""))[1] in self._tokens
        self.questions += not is_known
        if self.allows is None and not is_known:
            self._open_questions[request] = found, request
            return "o", (request,), _nothing
        allows = is_known or bool(self.allows)
        return "o", (request,), lambda: self._respond(found, request, allows=allows)

    def _respond(self, session: Session, request: str, *, allows: bool) -> None:
        results: dict[str, Any] = {}
        if allows:
            session.is_started = True
            token = session.wishes.get("restore_token", ("s", ""))[1]
            token = token if token in self._tokens else f"token-{len(self._tokens)}"
            self._tokens.add(token)
            results = {
                "devices": ("u", _INPUT if self.gives_input else 0),
                "clipboard_enabled": ("b", session.has_clipboard),
                "restore_token": ("s", token),
            }
            if session.has_sources:
                place = {"position": ("(ii)", (_AREA.x, _AREA.y))}
                size = {"size": ("(ii)", (_AREA.width, _AREA.height))}
                about = {"id": ("s", "0"), "source_type": ("u", 1), **place, **size, "mapping_id": ("s", "screen")}
                results["streams"] = ("a(ua{sv})", [(49, about)])
        code = _ALLOWED if allows else _REFUSED
        self._signal(session.owner, request, "Request", "Response", "ua{sv}", code, results)
        if not allows:
            self._end(session)

    def _connect_input(self, _caller: str, _path: str, session: str, _options: dict[str, Any]) -> _Answer:
        found = self._session(session, is_started=True)
        if found.input:
            raise _Refusal("Session is already connected")
        found.input = Eis(_AREA, "screen", layouts=self._layouts, gives_input=self.gives_input)
        self._inputs.append(found.input)
        return "h", (found.input.handle,), _nothing

    def _open_pictures(self, _caller: str, _path: str, session: str, _options: dict[str, Any]) -> _Answer:
        self._session(session, is_started=True)
        ours, theirs = socket.socketpair()
        ours.close()
        return "h", (theirs.detach(),), _nothing

    def _close_request(self, _caller: str, path: str) -> _Answer:
        if question := self._open_questions.pop(path, None):
            self.sessions.pop(question[0].path, None)
        return "", (), _nothing

    def _close_session(self, _caller: str, path: str) -> _Answer:
        session = self._session(path)
        del self.sessions[path]
        return "", (), session.input.end if session.input else _nothing

    def _end(self, session: Session) -> None:
        if self.sessions.pop(session.path, None):
            if session.input:
                session.input.end()
            self._signal(session.owner, session.path, "Session", "Closed", "a{sv}", {})

    # --- the clipboard

    def _tell_owner(self, session: Session, kinds: list[str], *, is_owner: bool) -> None:
        about = {"mime_types": ("as", kinds), "session_is_owner": ("b", is_owner)}
        self._signal(session.owner, _PATH, "Clipboard", "SelectionOwnerChanged", "oa{sv}", session.path, about)

    def _copied(self, _caller: str, _path: str, session: str, options: dict[str, Any]) -> _Answer:
        found = self._with_clipboard(session)
        self.clipboard = {}
        kinds = options["mime_types"][1]

        def tell() -> None:
            self._tell_owner(found, kinds, is_owner=True)
            if _KEPT in kinds:  # GNOME keeps a copy of every text at once
                self._ask(found, _KEPT)

        return "", (), tell

    def _read(self, _caller: str, _path: str, session: str, kind: str) -> _Answer:
        self._with_clipboard(session)
        if kind not in self.clipboard:
            raise _Refusal("Internal error")
        reading, writing = os.pipe()
        content = self.clipboard[kind]

        def write() -> None:
            with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe:
                pipe.write(content)

        threading.Thread(target=write, daemon=True).start()
        return "h", (reading,), _nothing

    def _write(self, _caller: str, _path: str, session: str, serial: int) -> _Answer:
        self._with_clipboard(session)
        return "h", (os.dup(self._pasting[serial][0]),), _nothing

    def _written(self, _caller: str, _path: str, session: str, serial: int, success: bool) -> _Answer:
        self._with_clipboard(session)
        writing, done, successes = self._pasting.pop(serial)
        os.close(writing)
        successes.append(success)
        done.set()
        return "", (), _nothing

    def _with_clipboard(self, session: str) -> Session:
        found = self._session(session, is_started=True)
        if not found.has_clipboard:
            raise _Refusal("Session is not allowed to use the clipboard")
        return found


_Answer = tuple[str, tuple[Any, ...], Callable[[], object]]
"""The signature and the values that a call returns, and what is to do once they are sent."""


def _nothing() -> None: ...


def _name_of(caller: str) -> str:
    return caller.removeprefix(":").replace(".", "_")


_METHODS: dict[tuple[str, str], Callable[..., _Answer]] = {
    ("org.freedesktop.DBus.Properties", "Get"): Portals._get,
    ("RemoteDesktop", "CreateSession"): Portals._create,
    ("RemoteDesktop", "SelectDevices"): Portals._select_devices,
    ("RemoteDesktop", "Start"): Portals._start,
    ("RemoteDesktop", "ConnectToEIS"): Portals._connect_input,
    ("ScreenCast", "SelectSources"): Portals._select_sources,
    ("ScreenCast", "OpenPipeWireRemote"): Portals._open_pictures,
    ("Clipboard", "RequestClipboard"): Portals._request_clipboard,
    ("Clipboard", "SetSelection"): Portals._copied,
    ("Clipboard", "SelectionRead"): Portals._read,
    ("Clipboard", "SelectionWrite"): Portals._write,
    ("Clipboard", "SelectionWriteDone"): Portals._written,
    ("Request", "Close"): Portals._close_request,
    ("Session", "Close"): Portals._close_session,
}
