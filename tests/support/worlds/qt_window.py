"""The window in Qt. qt_window.py 5 (PyQt5, the system's Python) or 6 (PySide6, ours)."""

from __future__ import annotations

import sys

if sys.argv[1] == "5":
    from PyQt5.QtCore import Qt, QTimer
    from PyQt5.QtWidgets import (
        QApplication,
        QCheckBox,
        QComboBox,
        QDialog,
        QLabel,
        QLineEdit,
        QPlainTextEdit,
        QPushButton,
        QSlider,
        QVBoxLayout,
        QWidget,
    )  # fmt: skip
else:
    from PySide6.QtCore import Qt, QTimer
    from PySide6.QtWidgets import (
        QApplication,
        QCheckBox,
        QComboBox,
        QDialog,
        QLabel,
        QLineEdit,
        QPlainTextEdit,
        QPushButton,
        QSlider,
        QVBoxLayout,
        QWidget,
    )  # fmt: skip


def tell(*words: object) -> None:
    print(*words, flush=True)


class World(QWidget):
    """All of it."""

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle(f"World Qt {sys.argv[1]}")
        self.setGeometry(400, 200, 420, 480)
        self.count = 0
        self.label = QLabel("count 0")
        column = QVBoxLayout(self)
        for name, act in (
            ("Count", self.counted), ("Dead", lambda: None), ("Late", self.later), ("Show note", self.note),
        ):  # fmt: skip
            button = QPushButton(name)
            button.clicked.connect(lambda _on=False, act=act: act())
            column.addWidget(button)
        for widget in (self.label, *self.fields()):
            column.addWidget(widget)

    def fields(self) -> list[QWidget]:
        check = QCheckBox("Agree")
        check.toggled.connect(lambda on: tell("agree", on))
        name, self.fixed, body = QLineEdit(), QLineEdit("locked"), QPlainTextEdit()
        name.setAccessibleName("Name")
        name.textChanged.connect(lambda t: tell("name", t))
        self.fixed.setAccessibleName("Fixed")
        self.fixed.textChanged.connect(self.reverts)
        volume = QSlider(Qt.Orientation.Horizontal)
        volume.setRange(0, 100)
        volume.setAccessibleName("Volume")
        volume.valueChanged.connect(lambda v: tell("volume", v))
        body.setAccessibleName("Body")
        body.textChanged.connect(lambda: tell("body", body.toPlainText().replace("\n", "|")))
        fruit = QComboBox()
        fruit.addItems(["Apple", "Banana", "Cherry"])
        fruit.setAccessibleName("Fruit")
        fruit.currentTextChanged.connect(lambda t: tell("fruit", t))
        return [check, name, self.fixed, volume, body, fruit]

    def counted(self) -> None:
        self.count += 1
        self.label.setText(f"count {self.count}")
        tell("count", self.count)

    def later(self) -> None:
        QTimer.singleShot(150, lambda: (self.label.setText("late"), tell("late")))

    def reverts(self, text: str) -> None:
        if text != "locked":
            tell("tried", text)
            QTimer.singleShot(0, lambda: self.fixed.setText("locked"))

    def note(self) -> None:
        dialog = QDialog(self)
        dialog.setWindowTitle("Note")
        button = QPushButton("Dismiss", dialog)
        button.clicked.connect(lambda: (tell("dismissed"), dialog.close()))
        dialog.resize(200, 80)
        dialog.show()
        tell("note")


app = QApplication(sys.argv)
world = World()
world.show()
tell("ready")
app.exec()
