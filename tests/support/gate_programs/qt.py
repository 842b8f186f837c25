"""A Qt 5 window made of its arguments: TITLE KIND:NAME…; prints what happens to it. Run by the system's Python."""

import sys

from PyQt5.QtCore import Qt
from PyQt5.QtGui import QKeySequence
from PyQt5.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QShortcut,
    QSlider,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)


def say(*words):
    print(*words, flush=True)


def button(name):
    made = QPushButton(name)
    made.clicked.connect(lambda: say("pressed", name.replace("&", "")))
    return made


def focused(name):
    made = button(name)
    made.setFocus()
    return made


def default(name):
    made = button(name)
    QShortcut(QKeySequence(Qt.Key_Return), window, made.click)
    return made


def entry(name, mode=QLineEdit.Normal):
    made = QLineEdit()
    made.setAccessibleName(name)
    made.setEchoMode(mode)
    made.textChanged.connect(lambda t: say("value", name, t))
    return made


def send(name):
    made = entry(name)
    made.returnPressed.connect(lambda: say("sent", made.text()))
    return made


def check(name):
    made = QCheckBox(name)
    made.toggled.connect(lambda on: say("checked", name.replace("&", ""), on))
    return made


def combo(name):
    made = QComboBox()
    made.addItems(name.split(","))
    made.currentTextChanged.connect(lambda t: say("picked", t))
    return made


def tabs(name):
    made = QTabWidget()
    for title in name.split(","):
        made.addTab(QLabel(title), title)
    made.currentChanged.connect(lambda n: say("tab", made.tabText(n)))
    return made


def slider(name):
    made = QSlider(Qt.Horizontal)
    made.setAccessibleName(name)
    made.valueChanged.connect(lambda n: say("slid", name, n))
    return made


def rows(name):
    made = QListWidget()
    made.addItems(name.split(","))
    made.currentTextChanged.connect(lambda t: say("row", t))
    return made


def text(name):
    made = QPlainTextEdit(name)
    made.setAccessibleName("Text")
    made.textChanged.connect(lambda: say("text", made.toPlainText().replace("\n", "|")))
    return made


def menu(name):
    top, leaf = name.split("/")
    if top not in menus:
        menus[top] = window.menuBar().addMenu(top)
    menus[top].addAction(leaf).triggered.connect(lambda: say("chosen", leaf.replace("&", "")))


def accel(name):
    keys, what = name.split("=")
    QShortcut(QKeySequence(keys), window, lambda: say("pressed", what))


class Canvas(QWidget):
    """A drawing that describes nothing."""

    def __init__(self, name):
        super().__init__()
        self.setMinimumSize(300, 150)
        self.setFocusPolicy(Qt.StrongFocus)
        self._name = name

    def mousePressEvent(self, event):
        say(self._name, "point", event.x(), event.y())

    def keyPressEvent(self, event):
        say(self._name, "key", event.text())


MADE = {
    "button": button, "focused": focused, "default": default, "entry": entry, "send": send, "check": check,
    "password": lambda name: entry(name, QLineEdit.Password), "combo": combo, "tabs": tabs, "menu": menu,
    "accel": accel, "slider": slider, "rows": rows, "text": text, "label": QLabel, "canvas": Canvas,
}  # fmt: skip
app, menus = QApplication(sys.argv), {}
window, inside = QMainWindow(), QWidget()
window.setWindowTitle(sys.argv[1])
window.setCentralWidget(inside)
box = QVBoxLayout(inside)
for argument in sys.argv[2:]:
    kind, _, what = argument.partition(":")
    widget = MADE[kind](what)
    if widget:
        box.addWidget(widget)
window.setGeometry(300, 200, 420, 300)
window.show()
app.exec()
