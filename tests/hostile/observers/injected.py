"""Which keys and buttons reach the X server, whoever sends them (the RECORD extension)."""

from __future__ import annotations

import threading
from types import TracebackType

from Xlib import X
from Xlib.display import Display
from Xlib.ext import record
from Xlib.protocol import rq

_NAMES = {X.KeyPress: "key", X.ButtonPress: "button", X.MotionNotify: "motion"}


class InputWatch:
    """`seen` lists presses and movements as they come, such as `("key", 38)`."""

    def __init__(self, display: str) -> None:
        self.seen: list[tuple[str, int]] = []
        self._control, self._data = Display(display), Display(display)
        self._ready = threading.Event()
        events = {
            "core_requests": (0, 0),
            "core_replies": (0, 0),
            "ext_requests": (0, 0, 0, 0),
            "ext_replies": (0, 0, 0, 0),
            "delivered_events": (0, 0),
            "device_events": (X.KeyPress, X.MotionNotify),
            "errors": (0, 0),
            "client_started": False,
            "client_died": False,
        }
        self._context = self._data.record_create_context(0, [record.AllClients], [events])
        self._thread = threading.Thread(
            target=self._data.record_enable_context, args=(self._context, self._take), daemon=True
        )

    def __enter__(self) -> InputWatch:
        self._thread.start()
        assert self._ready.wait(10), "the X server does not record"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._control.record_disable_context(self._context)
        self._control.sync()
        self._thread.join(10)
        self._control.record_free_context(self._context)
        self._control.close()
        self._data.close()

    def _take(self, reply: rq.GetAttributeData) -> None:
        if reply.category == record.StartOfData:
            self._ready.set()
        data = reply.data if reply.category == record.FromServer else b""
        while data:
            event, data = rq.EventField(None).parse_binary_value(data, self._data.display, None, None)
            if event.type in _NAMES:
                self.seen.append((_NAMES[event.type], event.detail))
