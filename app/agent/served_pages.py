"""Pages that tool servers ship with their tools (MCP Apps): what the feature that shows them and the one that holds
their servers agree on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from app.base.values import dataclass
from app.protocol.call import JsonValue
from app.services.files.changes import ChangeOrigin

CALL_TOOL, OPEN_LINK, SEND_MESSAGE = "tools/call", "ui/open-link", "ui/message"
"""The requests of such a page that an open Wisp judges and answers."""

Approve = Callable[[Mapping[str, JsonValue], str], Awaitable[object]]
"""Is given the arguments of `use_mcp_tool` and what else a lasting yes is for. Raises ToolMisuse with the refusal."""


@dataclass(frozen=True, slots=True)
class PageCall:
    """A call that a page makes. `pin` and `mark` say which server of that name it is, and how that one is started.

    `caller` is the id by which the page is shown.
    """

    server: str
    pin: str
    mark: str
    tool: str
    arguments: Mapping[str, JsonValue]
    caller: str


@dataclass(frozen=True, slots=True)
class ServedPage:
    """The page's place in its server: the tool that it was shown for, and that call's arguments and whole result.

    `pin` and `mark` are those of `PageCall`. Without them the page may call nothing.
    """

    server: str
    tool: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]
    pin: str = ""
    mark: str = ""


class PageShower(Protocol):
    """Shows the pages of tool servers."""

    async def show(
        self, page: ServedPage, read: Callable[[], Awaitable[str]], origin: ChangeOrigin, /
    ) -> tuple[str, str]:
        """Show the page, whose HTML `read` gets. Returns a sentence about its window, and its id; "" if it has none.

        A failure is a sentence, too.
        """
        ...


class PageServers(Protocol):
    """Calls the tools of the servers that pages belong to."""

    async def call(self, asked: PageCall, approve: Approve, /) -> Mapping[str, Any]:
        """Return the result as the server sent it. Starts nothing that the person has not agreed to.

        Raises WispError with a sentence for the page.
        """
        ...
