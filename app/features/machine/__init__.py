"""The machine itself: sound, brightness, media players, wifi, bluetooth, power and the end of the session. Calls of its
tools and sentences come in; what was read back from the desktop's own services goes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.phrases import Phrase
from app.features.feature import Feature, OpenFeature, Room

if TYPE_CHECKING:
    from app.tools.registry import Family


class MachineFeature(Feature):
    name = "machine"
    about = Phrase("Setting the volume, brightness and wifi, and locking or shutting down the computer")
    words = Path(__file__).parent / "words"

    def families(self) -> Sequence[Family]:
        from app.features.machine.screenshot import SCREENSHOTS
        from app.features.machine.tools import MACHINE

        return MACHINE, SCREENSHOTS

    def open(self, room: Room, /) -> OpenFeature:
        from app.features.machine.bus import Bus, BusKind
        from app.features.machine.screenshot import Screenshots
        from app.features.machine.tools import Machine

        pictures = Screenshots(room.desktop, room.workspace, room.changes, room.clock, has_screen=room.has_screen)
        system, session = Bus(BusKind.SYSTEM), Bus(BusKind.SESSION)

        async def close() -> None:
            system.close()
            session.close()

        return OpenFeature(handlers=(Machine(system, session), pictures), close=close)


FEATURE = MachineFeature()
