"""Which windows belong to a Wisp, this one or another, by a mark that every Wisp leaves on the display.

The root window's property names one window of each Wisp; that window holds the number of its process. All windows that
come from the same connection are that Wisp's: dialogs, menus and pop-ups too, without a mark of their own. A Wisp that
ended leaves a name behind that no longer leads to a marked window, and counts no more.
"""

from __future__ import annotations

from Xlib import X
from Xlib.error import XError
from Xlib.xobject.drawable import Window as XWindow

from app.base.ids import WINDOW_MARK
from app.base.values import dataclass
from app.desktop.x11.connection import Connection

_MOST = 256


@dataclass(frozen=True, slots=True)
class Marks:
    """`connections` are the numbers of the windows' connections, `pids` the processes."""

    connections: frozenset[int] = frozenset()
    pids: frozenset[int] = frozenset()
    one_client: int = 0
    """The bits of a window's number that its program chooses."""

    def is_on(self, number: int) -> bool:
        """Whether the window of that number belongs to a Wisp."""
        return bool(self.connections) and number & ~self.one_client in self.connections


def read_marks(connection: Connection) -> Marks:
    """The marks as they are now."""
    one_client = int(connection.display.display.info.resource_id_mask)
    found = {number: pid for number in _numbers(connection, connection.root) if (pid := _pid(connection, number))}
    return Marks(frozenset(number & ~one_client for number in found), frozenset(found.values()), one_client)


def _pid(connection: Connection, number: int) -> int:
    try:
        return next(iter(_numbers(connection, connection.window(number))), 0)
    except XError:  # because the window closed meanwhile
        return 0


def _numbers(connection: Connection, window: XWindow) -> list[int]:
    told = window.get_property(connection.atom(WINDOW_MARK), X.AnyPropertyType, 0, _MOST)
    return [int(number) for number in told.value] if told is not None and told.format == 32 else []
