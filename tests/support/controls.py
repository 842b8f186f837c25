"""Controls and programs as tests write them."""

from __future__ import annotations

from typing import Any

from app.agent.policy import Control, ControlWindow
from app.desktop.backends import Owner

EDITOR = Owner("org.xfce.mousepad", "Mousepad", ("mousepad", "text editor"), ("TextEditor",), ("mousepad",))
TERMINAL = Owner("xterm", "XTerm", ("xterm", "terminal"), ("TerminalEmulator",), ("xterm",))
MAIL = Owner("thunderbird", "Thunderbird", ("thunderbird",), ("Email",), ("thunderbird",))
BROWSER = Owner("chromium", "Chromium", ("chromium",), ("WebBrowser",), ("chromium",))
VAULT = Owner("keepassxc", "KeePassXC", ("keepassxc",), ("Security",), ("keepassxc",))
FORM = Owner("form", "Form", ("form",), (), ("form",), holds_terminal=False)


def described(owner: Owner = EDITOR, role: str = "", name: str = "", **facts: Any) -> Control:
    """A control in a window of a program."""
    window = {name: facts.pop(name) for name in ("title", "is_own", "is_frame", "host", "ref") if name in facts}
    return Control(role=role, name=name, window=ControlWindow(app=owner.name, owner=owner, **window), **facts)
