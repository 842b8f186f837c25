"""The window in Qt. qt_window.py 5 (PyQt5, the system's Python) or 6 (PySide6, ours)."""

from __future__ import annotations

import sys
from collections.abc import Callable

if sys.argv[1] == "5":
    from PyQt5.QtCore import Qt, QTimer
    from PyQt5.QtWidgets import (
        QApplication,
        QCheckBox,
        QComboBox,
        QDialog,
        QHBoxLayout,
        QLabel,
        QLineEdit,
        QPlainTextEdit,
        QProgressBar,
        QPushButton,
        QRadioButton,
        QScrollArea,
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
        QHBoxLayout,
        QLabel,
        QLineEdit,
        QPlainTextEdit,
        QProgressBar,
        QPushButton,
        QRadioButton,
        QScrollArea,
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
        self.setGeometry(400, 150, 640, 500)
        self.count = 0
        self.label = QLabel("count 0")
        self.ticks, self.hours, self.clock = 0, QLabel("second 0"), QTimer()
        self.clock.timeout.connect(self.tick)
        both = QHBoxLayout(self)
        column, second, third = QVBoxLayout(), QVBoxLayout(), QVBoxLayout()
        for each in (column, second, third):
            both.addLayout(each)
        for name, act in (
            ("Count", self.counted), ("Dead", lambda: None), ("Late", self.later), ("Show note", self.note),
        ):  # fmt: skip
            button = QPushButton(name)
            button.clicked.connect(lambda _on=False, act=act: act())
            column.addWidget(button)
        for widget in (self.label, *self.fields()):
            column.addWidget(widget)
        for widget in (*self.buttons(), *self.more(), QLabel("Plain words"), self.hours):
            second.addWidget(widget)
        for widget in self.moving():
            third.addWidget(widget)

    def moving(self) -> list[QWidget]:
        """What changes by itself, and what does not keep what is typed."""
        bar = QProgressBar()
        bar.setAccessibleName("Progress")
        title = self.windowTitle().replace("World", "World {}")
        made = [QPushButton("Rename"), QPushButton("Move bar"), bar, QLineEdit("X9"), QLineEdit()]
        self.starts_every(made[0], lambda n: self.setWindowTitle(title.format(n)))
        self.starts_every(made[1], lambda n: bar.setValue(2 * n % 100))
        code, number = made[3:]
        code.setAccessibleName("Code")
        code.textChanged.connect(lambda text: self.puts_back(code, text))
        number.setAccessibleName("Number")
        number.textChanged.connect(lambda text: text.isdigit() or QTimer.singleShot(0, number.clear))
        stubborn = QCheckBox("Stubborn")
        stubborn.toggled.connect(lambda on: on and QTimer.singleShot(200, lambda: stubborn.setChecked(False)))
        return [*made, stubborn]

    def starts_every(self, button: QPushButton, step: Callable[[int], object]) -> None:
        """Let a button start a step every 0.3 s, and end it the next time."""
        timer, steps = QTimer(self), []

        def switch() -> None:
            timer.stop() if timer.isActive() else timer.start(300)
            tell("runs", timer.isActive())

        timer.timeout.connect(lambda: (steps.append(0), step(len(steps))))
        button.clicked.connect(switch)

    def puts_back(self, field: QLineEdit, text: str) -> None:
        if text not in ("", "X9"):
            tell("tried", text)
            QTimer.singleShot(150, lambda: field.setText("X9"))

    def buttons(self) -> list[QWidget]:
        made = [QPushButton(name) for name in ("Off", "Save", "Keep", "Clock", "Bold")]
        off, save, keep, clock, bold = made
        off.setEnabled(False)
        save.clicked.connect(lambda: (self.label.setText("could not save"), tell("save failed")))
        keep.clicked.connect(lambda: tell("keep failed"))
        clock.clicked.connect(self.starts)
        bold.setCheckable(True)
        bold.toggled.connect(lambda on: tell("bold", on))
        small, large = QRadioButton("Small"), QRadioButton("Large")
        small.setChecked(True)
        for name, button in (("Small", small), ("Large", large)):
            button.toggled.connect(lambda on, name=name: on and tell("size", name))
        return [*made, small, large]

    def more(self) -> list[QWidget]:
        fields = {name: QLineEdit() for name in ("Order", "Sealed", "Short", "Secret")}
        fields["Sealed"].setText("sealed")
        for name, field in fields.items():
            field.setAccessibleName(name)
            field.textChanged.connect(lambda text, name=name: tell(name.lower(), text))
        fields["Order"].returnPressed.connect(lambda: (self.label.setText("entered"), tell("entered")))
        fields["Sealed"].setReadOnly(True)
        fields["Short"].setMaxLength(3)
        fields["Secret"].setEchoMode(QLineEdit.EchoMode.Password)
        rows = QScrollArea()
        rows.setWidget(QLabel("\n".join(f"row {n}" for n in range(40))))
        rows.setMinimumHeight(90)
        rows.verticalScrollBar().valueChanged.connect(lambda value: tell("rows", value))
        return [*fields.values(), rows]

    def starts(self) -> None:
        (self.clock.stop if self.clock.isActive() else lambda: self.clock.start(300))()
        tell("clock", self.clock.isActive())

    def tick(self) -> None:
        self.ticks += 1
        self.hours.setText(f"second {self.ticks}")

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
        row = QHBoxLayout(dialog)
        for name, told in (("Dismiss", "dismissed"), ("Write down", "lost")):
            button = QPushButton(name)
            button.clicked.connect(lambda _on=False, told=told: (tell(told), dialog.close()))
            row.addWidget(button)
        dialog.resize(200, 80)
        dialog.show()
        tell("note")


app = QApplication(sys.argv)
world = World()
world.show()
tell("ready")
app.exec()
