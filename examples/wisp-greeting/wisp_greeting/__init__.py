"""Greets people by their names. It adds one tool with its card, and the sentence that asks for it without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.phrases import Phrase
from app.features.feature import Feature, OpenFeature, Room

if TYPE_CHECKING:
    from app.tools.registry import Family


class Greeting(Feature):
    name = "greeting"
    about = Phrase("Greeting people by their names")
    words = Path(__file__).parent / "words"

    def families(self) -> Sequence[Family]:
        from wisp_greeting.tools import GREETINGS

        return (GREETINGS,)

    def open(self, room: Room, /) -> OpenFeature:
        from wisp_greeting.tools import Greetings

        return OpenFeature(handlers=(Greetings(room.clock),))


FEATURE = Greeting()
