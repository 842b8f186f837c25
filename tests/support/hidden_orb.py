"""Show the orb, hide it by the curtain from the first line on standard input until the second, and end at the third."""

from __future__ import annotations

import sys
import threading

from PySide6.QtCore import QObject, Signal

from app.base.geometry import Rect
from app.settings import store
from app.ui.application import first_paint, make_application
from app.ui.theme.appearance import look_of
from app.ui.windows.curtain import curtain_for


class _Bell(QObject):
    rung = Signal()


def main() -> None:
    application = make_application()
    look = look_of(application, store.load())
    orb = first_paint(look)
    curtain, bell, place = curtain_for(look.around), _Bell(), orb.rest_rect()
    bell.rung.connect(application.quit)

    def work() -> None:
        print(place.center.x, place.center.y, flush=True)
        sys.stdin.readline()
        with curtain.drawn_back(Rect(0, 0, 4000, 4000)):
            print("hidden", orb.rest_rect() == place, flush=True)
            sys.stdin.readline()
        print("back", flush=True)
        sys.stdin.readline()
        bell.rung.emit()

    threading.Thread(target=work).start()
    application.exec()
    curtain.close()


if __name__ == "__main__":
    main()
