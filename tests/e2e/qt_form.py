"""A window for the tests, run as a program of its own: an order form in Qt."""

from __future__ import annotations

import sys

from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)


def main() -> int:
    application = QApplication(sys.argv)
    application.setApplicationName("Order form")
    window = QWidget()
    window.setWindowTitle("Order form")
    layout = QFormLayout(window)
    answer = QLabel("Nothing ordered")
    wrapping, secret = QCheckBox("&Gift wrapping"), QPushButton("Secret button")
    password = QLineEdit("hunter2")
    password.setEchoMode(QLineEdit.EchoMode.Password)
    size = QComboBox()
    size.addItems(["Small", "Medium", "Large"])
    order, cancel = QPushButton("&Order now"), QPushButton("Cancel")
    order.clicked.connect(lambda: answer.setText("Ordered, wrapped" if wrapping.isChecked() else "Ordered"))
    for label, field in (
        ("&Street:", QLineEdit()),
        ("&Pieces:", QSpinBox()),
        ("S&ize:", size),
        ("Pass&word:", password),
        ("", wrapping),
        ("", order),
        ("", cancel),
        ("", secret),
        ("", answer),
    ):
        layout.addRow(label, field)
    secret.hide()
    window.show()
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
