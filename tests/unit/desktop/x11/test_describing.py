"""Programs are started so that they tell what they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.desktop.x11.apps import DesktopEntries, describing, with_flags


def test_toolkits_that_wait_to_be_asked_are_asked_and_nothing_is_silenced() -> None:
    told = describing({"HOME": "/home/ada", "NO_AT_BRIDGE": "1"})
    assert told["HOME"] == "/home/ada"
    assert (told["QT_LINUX_ACCESSIBILITY_ALWAYS_ON"], told["ACCESSIBILITY_ENABLED"]) == ("1", "1")
    assert "NO_AT_BRIDGE" not in told


def test_modules_that_the_person_set_stay() -> None:
    assert describing({"GTK_MODULES": "canberra"})["GTK_MODULES"].startswith("canberra")
    assert describing({"GTK_MODULES": "gail:atk-bridge"})["GTK_MODULES"] == "gail:atk-bridge"


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (["chromium", "page.html"], ["chromium", "--force-renderer-accessibility", "page.html"]),
        (["/opt/slack/slack"], ["/opt/slack/slack", "--force-renderer-accessibility"]),
        (["code", "--force-renderer-accessibility"], ["code", "--force-renderer-accessibility"]),
        (["mousepad", "chromium"], ["mousepad", "chromium"]),
        ([], []),
    ],
)
def test_chromium_and_its_kind_are_told_by_a_flag(command: list[str], wanted: list[str]) -> None:
    assert with_flags(command) == wanted


def test_a_web_address_goes_to_such_a_browser_with_the_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, entries = tmp_path / "bin", tmp_path / "share" / "applications"
    programs.mkdir()
    entries.mkdir(parents=True)
    browser, said = programs / "chromium", tmp_path / "said"
    browser.write_text(f'#!/bin/sh\nprintf "%s|%s" "$*" "$QT_ACCESSIBILITY" > {said}.new; mv {said}.new {said}\n')
    asked = programs / "xdg-mime"
    asked.write_text("#!/bin/sh\necho chromium.desktop\n")
    opener = programs / "xdg-open"
    opener.write_text("#!/bin/sh\nexit 1\n")
    for script in (browser, asked, opener):
        script.chmod(0o755)
    (entries / "chromium.desktop").write_text("[Desktop Entry]\nType=Application\nName=Chromium\nExec=chromium %U\n")
    path = f"{programs}:/usr/bin:/bin"
    monkeypatch.setenv("PATH", path)
    apps = DesktopEntries({"PATH": path, "XDG_DATA_HOME": str(tmp_path / "share"), "XDG_DATA_DIRS": str(tmp_path)})
    launched = apps.open("https://example.org/")
    while apps.how_it_ended(launched) is None:
        pass
    assert said.read_text() == "--force-renderer-accessibility https://example.org/|1"
    apps.close()
