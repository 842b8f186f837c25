"""Show the orb, and let a Wisp look at it again and again. Prints where it is, and how many pictures showed it.

A line on standard input begins the looking.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import closing
from typing import cast

from PySide6.QtCore import QObject, Signal

from app.base.geometry import Rect
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.settings import store
from app.ui.application import first_paint, make_application
from app.ui.theme.appearance import look_of
from app.ui.windows.curtain import X11Curtain, curtain_for

_LOOKS = 20


class _Bell(QObject):
    rung = Signal()


def main() -> None:
    application = make_application()
    look = look_of(application, store.load())
    orb = first_paint(look)
    curtain = cast(X11Curtain, curtain_for(look.around))
    bell, place = _Bell(), orb.rest_rect()
    bell.rung.connect(application.quit)
    middle = Rect(place.center.x, place.center.y, 1, 1)

    async def looks(controller: DesktopController) -> int:
        with curtain.drawn_back(middle):
            await asyncio.sleep(1)
            bare = controller.backend.screen.grab(middle).bgrx
        seen = 0
        for _ in range(_LOOKS):
            await asyncio.sleep(0.3)  # the orb is back in the stream
            assert controller.backend.screen.grab(middle).bgrx != bare, "The orb did not come back."
            seen += (await controller.screen_capture.glance(middle)).bgrx != bare
        return seen

    def work() -> None:
        print(place.center.x, place.center.y, flush=True)
        sys.stdin.readline()
        try:
            with closing(open_desktop(curtain=curtain)) as desktop:
                print(asyncio.run(desktop.run(looks)), flush=True)
        finally:
            bell.rung.emit()

    threading.Thread(target=work).start()
    application.exec()
    curtain.close()


if __name__ == "__main__":
    main()
