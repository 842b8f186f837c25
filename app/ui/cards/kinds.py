"""What a feature brings for the cards of its tools. It has no Qt, so a feature needs none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from app.base.phrases import Phrase
from app.base.values import dataclass, field

if TYPE_CHECKING:
    from app.agent.agent_events import Media

REVIVE = "revive"
"""The button of a card that rests. The presence lets the card follow again, and asks the kind for nothing."""

Offered = Callable[[type[Any]], Any]
"""Returns what the conversation's features offer under a type; None if none does."""


@dataclass(frozen=True, slots=True)
class CardContent:
    """What a card shows below its head: a picture, a line about it, and buttons, each with its words.

    Without a `picture` the card keeps the one it has, such as the result's. A press on the picture opens it in full
    size, or is a press of the button `on_picture`. `about` is what the kind needs to know at a press. `is_live`: the
    card follows what it shows.
    """

    line: Phrase | None = None
    buttons: Mapping[str, Phrase] = field(default_factory=dict)
    picture: Media | None = None
    on_picture: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    is_live: bool = False


class Perform(Protocol):
    """Runs a tool as the person's own act, and returns whether it worked. `is_shown`: with a card of its own."""

    def __call__(self, tool: str, arguments: Mapping[str, Any], /, *, is_shown: bool = True) -> Awaitable[bool]: ...


@dataclass(frozen=True, slots=True)
class CardActions:
    """What a pressed button may do.

    `tell` shows a sentence. `attach` opens the composer with a file. `save_copy` asks the person where to save the
    content, and proposes the name. `carry_out` carries out an action of a page's list on an entry (page, action, key),
    and returns a sentence about it. `copy_picture` puts a picture into the clipboard; the card's own where the bytes
    are none. `show` gives the card another content.
    """

    perform: Perform
    tell: Callable[[str], None]
    attach: Callable[[Path], None]
    save_copy: Callable[[str, bytes], None]
    carry_out: Callable[[str, str, str], Awaitable[str]]
    copy_picture: Callable[[bytes], Awaitable[None]]
    show: Callable[[CardContent], None]
    offered: Offered


class CardKind:
    """A kind of card, as a feature derives it. Tools name theirs in their words (`kind`).

    `is_live`: the presence takes the contents anew, once a second, for the newest few cards. `is_drawn`: a picture
    shows what there is of the text that the model still writes.
    """

    is_live: bool = False
    is_drawn: bool = False

    def shown(self, payload: Mapping[str, object], /) -> CardContent | None:
        """For the card of a call that has succeeded with this payload; None for a plain row."""
        return None

    async def press(self, button: str, content: CardContent, does: CardActions, /) -> None:
        """Do what the pressed button says. May raise WispError with a sentence for the person."""

    async def renewed(self, content: CardContent, offered: Offered, /) -> CardContent:
        """Return what a live card shows now."""
        return content

    def rested(self, content: CardContent, /) -> CardContent:
        """Return what a card shows that no longer follows, because there are newer ones; with the button `REVIVE`."""
        return content

    async def draft(self, text: str, offered: Offered, /) -> Media | None:
        """Return how the text looks that the model still writes; None if nothing of it can be drawn yet."""
        return None
