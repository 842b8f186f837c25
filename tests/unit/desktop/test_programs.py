"""Which program is meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.base.errors import ToolFailed
from app.desktop.backends import App
from app.desktop.programs import choose, is_terminal, stem

_APPS = (
    App("/usr/share/applications/galculator.desktop", "Galculator", ("galculator",), ("Utility",)),
    App("/usr/share/applications/org.xfce.mousepad.desktop", "Mousepad", ("text editor",), ("TextEditor",)),
    App("/usr/share/applications/vim.desktop", "Vim", ("text editor", "vim"), ("TextEditor",)),
    App("/usr/share/applications/debian-uxterm.desktop", "UXTerm", ("shell", "uxterm"), ("TerminalEmulator",)),
    App("/usr/share/applications/debian-xterm.desktop", "XTerm", ("shell", "xterm"), ("TerminalEmulator",)),
    App("/usr/share/applications/pcmanfm.desktop", "File Manager PCManFM", ("file manager",), ("FileManager",)),
    App("/usr/share/applications/chromium.desktop", "Chromium Web Browser", ("browser",), ("WebBrowser",)),
)


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("calculator", "Galculator"),
        ("the calculator", "Galculator"),
        ("Galculator", "Galculator"),
        ("galculater", "Galculator"),
        ("text editor", "Mousepad"),
        ("notepad", "Mousepad"),
        ("mousepad app", "Mousepad"),
        ("vim", "Vim"),
        ("terminal", "XTerm"),
        ("uxterm", "UXTerm"),
        ("files", "File Manager PCManFM"),
        ("web browser", "Chromium Web Browser"),
        ("chromium", "Chromium Web Browser"),
    ],
)
def test_a_program_is_known_by_many_names(name: str, program: str) -> None:
    assert choose(name, _APPS).name == program


def test_a_program_without_the_category_of_its_sort_is_known_by_its_name() -> None:
    caja = App("/usr/share/applications/caja-browser.desktop", "Caja", ("file browser", "caja"), ("GTK", "System"))
    assert choose("file manager", (*_APPS[:3], caja)) == caja


@pytest.mark.parametrize("name", ["photoshop", "calc-u-later 3000", "mouse", "x"])
def test_a_weak_likeness_starts_nothing(name: str) -> None:
    with pytest.raises(ToolFailed, match="Installed are: "):
        choose(name, _APPS)


def test_the_nearest_names_are_offered() -> None:
    with pytest.raises(ToolFailed, match="Galculator"):
        choose("gcalculate", _APPS)


@pytest.mark.parametrize(
    "own",
    [
        App("/home/ada/.local/share/applications/wisp.desktop", "Assistant", ("python",), ("Utility",)),
        App("/usr/share/applications/org.example.Start.desktop", "Wisp", ("python3",), ("Utility",)),
        App("/usr/share/applications/helper.desktop", "Helper", ("wisp",), ("Utility",)),
    ],
)
@pytest.mark.parametrize("as_written", [str, str.upper, "the {} app".format])
def test_wisp_is_not_opened_by_any_of_its_names(own: App, as_written: Callable[[str], str]) -> None:
    for name in (own.name, stem(own), own.words[0]):
        with pytest.raises(ToolFailed, match="Only the person opens its window"):
            choose(as_written(name), (*_APPS, own))


def test_terminals_are_known() -> None:
    assert [is_terminal(app) for app in ("XTerm", "konsole", "Mousepad")] == [True, True, False]
