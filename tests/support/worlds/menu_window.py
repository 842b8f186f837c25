"""A list in Qt 5 with a menu bar, whose items have a menu that accessibility does not describe. Run by the system's
Python.
"""

import sys

from PyQt5.QtCore import QPoint, Qt, QTimer
from PyQt5.QtWidgets import QApplication, QListWidget, QMainWindow, QMenu

ENTRIES = ("Duplicate", "Rename", "Properties", "Send to", "Archive")


def tell(*words: object) -> None:
    print(*words, flush=True)


def show(place: QPoint) -> None:
    menu = QMenu(things)
    for entry in ENTRIES:
        menu.addAction(entry, lambda entry=entry: tell("chosen", entry))
    menu.popup(things.mapToGlobal(place))


application = QApplication(sys.argv)
things = QListWidget()
things.addItems([f"Thing {number}" for number in range(30)])
things.setContextMenuPolicy(Qt.CustomContextMenu)
things.customContextMenuRequested.connect(show)
window = QMainWindow()
window.setWindowTitle("Things")
window.setCentralWidget(things)
order = window.menuBar().addMenu("&Order")
order.addAction("By &name", lambda: tell("chosen", "By name"))
window.setGeometry(100, 100, 300, 300)
window.show()
QTimer.singleShot(300, lambda: tell("ready"))
application.exec_()
