"""Which program is meant."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from app.base.errors import ToolFailed
from app.desktop.backends import App
from app.desktop.programs import begun_with, choose, is_terminal, stem

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
        ("Galculator", "Galculator"),
        ("text editor", "Mousepad"),
        ("mousepad app", "Mousepad"),
        ("terminal", "XTerm"),
        ("files", "File Manager PCManFM"),
        ("chromium", "Chromium Web Browser"),
    ],
)
def test_a_program_is_known_by_many_names(name: str, program: str) -> None:
    assert choose(name, _APPS).name == program


def test_a_program_without_the_category_of_its_sort_is_known_by_its_name() -> None:
    caja = App("/usr/share/applications/caja-browser.desktop", "Caja", ("file browser", "caja"), ("GTK", "System"))
    assert choose("file manager", (*_APPS[:3], caja)) == caja


def _app(entry: str, name: str, words: str, categories: str, options: str = "") -> App:
    ref = f"/usr/share/applications/{entry}.desktop"
    return App(ref, name, tuple(words.split(";")), tuple(categories.split(";")), options=tuple(options.split()))


_DESKTOP = (
    _app("thunar-bulk-rename", "Bulk Rename", "bulk rename;thunar;files", "Utility;Filesystem", "--bulk-rename"),
    _app("thunar-settings", "File Manager Settings", "thunar;thunar-settings", "Settings;DesktopSettings"),
    _app("thunar", "Thunar File Manager", "file manager;thunar", "System;FileManager"),
    _app("pcmanfm-desktop-pref", "Desktop Preferences", "pcmanfm", "Settings;DesktopSettings", "--desktop-pref"),
    _app("pcmanfm", "File Manager PCManFM", "file manager;pcmanfm", "System;FileManager"),
    _app("org.xfce.mousepad-settings", "Text Editor Settings", "mousepad", "Settings", "--preferences"),
    _app("org.xfce.mousepad", "Mousepad", "text editor;mousepad", "TextEditor"),
    _app("org.gnome.TextEditor", "Text Editor", "gnome-text-editor", "TextEditor"),
    _app("org.gnome.Notes", "Notes", "bijiben", "Office"),
    _app("featherpad", "FeatherPad", "text editor;featherpad", "TextEditor"),
    _app("terminator", "Terminator", "terminal;terminator", "TerminalEmulator"),
    _app("mate-terminal", "MATE Terminal", "mate-terminal", "TerminalEmulator"),
    _app("writer", "Writer", "writer", "WordProcessor", "--writer"),
    _app("firefox", "Firefox", "firefox", "WebBrowser"),
    _app("chromium", "Chromium", "chromium", "WebBrowser"),
)


@pytest.mark.parametrize(
    ("name", "preferred", "program"),
    [
        ("file manager", (), "Thunar File Manager"),
        ("file manager", ("thunar-settings.desktop",), "Thunar File Manager"),
        ("bulk rename", ("pcmanfm.desktop",), "Bulk Rename"),
        ("text editor", (), "Text Editor"),
        ("text editor", ("writer.desktop",), "Text Editor"),
        ("terminal", (), "MATE Terminal"),
        ("word processor", (), "Writer"),
    ],
)
def test_of_a_sort_the_persons_own_program_comes_first_and_no_part_of_one(
    name: str, preferred: tuple[str, ...], program: str
) -> None:
    for apps in (_DESKTOP, _DESKTOP[::-1]):
        assert choose(name, apps, preferred=lambda _asked: preferred).name == program


def test_only_what_is_left_of_a_program_is_taken_for_it_last() -> None:
    assert choose("file manager", (_DESKTOP[0], _DESKTOP[4])) == _DESKTOP[4]


@pytest.mark.parametrize("name", ["photoshop", "calc-u-later 3000", "mouse", "x"])
def test_a_weak_likeness_starts_nothing(name: str) -> None:
    with pytest.raises(ToolFailed, match=f"No program called {name!r} is installed"):
        choose(name, _APPS)


@pytest.mark.parametrize(
    ("name", "offer"),
    [
        ("calculater", "Did you mean Galculator?"),
        ("gcalculate", "Did you mean Galculator?"),
        ("calc-u-later 3000", "The nearest are: Galculator."),
        ("aterm", "Did you mean XTerm?"),
        ("photoshop", "Installed are: Chromium Web Browser, File Manager PCManFM, Galculator, Mousepad, "),
    ],
)
def test_the_nearest_names_are_offered(name: str, offer: str) -> None:
    with pytest.raises(ToolFailed, match=re.escape(offer)):
        choose(name, _APPS)


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


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("gal", ["Galculator"]),
        ("calcul", ["Galculator"]),
        ("text ed", ["Text Editor"]),
        ("spread", ["LibreOffice Calc"]),
        ("wis", []),
        ("zzz", []),
    ],
)
def test_programs_are_found_by_how_their_names_begin(typed: str, found: list[str]) -> None:
    apps = [
        App("galculator.desktop", "Galculator", ("galculator",), ("Calculator",)),
        App("calc.desktop", "LibreOffice Calc", ("spreadsheet", "libreoffice"), ("Spreadsheet",)),
        App("mousepad.desktop", "Text Editor", ("mousepad",), ("TextEditor",)),
        App("wisp.desktop", "Wisp", ("wisp",)),
    ]
    assert [app.name for app in begun_with(typed.split(), apps, 3)] == found
