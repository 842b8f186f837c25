"""What `wisp doctor` finds beyond the screen."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from app import cli
from app.base import paths
from app.base.findings import CheckVerdict
from app.commands import findings
from app.commands.doctor import ocr, xlib_clash
from app.commands.findings import notifications, settings
from app.commands.presence import ThisMachine
from app.services import extras
from app.settings import store
from app.settings.catalog import BACKDROP, PALETTE


@pytest.mark.parametrize(
    ("text", "verdict", "detail"),
    [
        ("[chat]\nmax_passes = 5\n", CheckVerdict.OK, "Wisp uses every setting"),
        (
            "[chat]\nmax_pases = 5\n",
            CheckVerdict.NOTE,
            "there is no setting chat.max_pases, so Wisp ignores it. Did you mean",
        ),
        ("[chat]\nmax_passes = 'many'\n", CheckVerdict.NOTE, "'many' is not a number."),
        ("provider = 'x'\n", CheckVerdict.NOTE, "provider is no section"),
        ("[chat\n", CheckVerdict.NOTE, "cannot be read"),
    ],
)
def test_a_setting_that_does_not_count_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, verdict: CheckVerdict, detail: str
) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text(text, encoding="utf-8")
    found = settings()
    assert (found.verdict, detail in found.detail) == (verdict, True), found


def test_errors_of_the_persons_own_theme_file_are_named() -> None:
    assert findings.looks().verdict is CheckVerdict.OK
    (paths.config_dir() / "theme.toml").mkdir()
    found = findings.looks()
    assert (found.verdict, "move the folder away" in found.detail) == (CheckVerdict.NOTE, True)
    assert str(paths.config_dir()) in found.fix


async def test_what_of_one_setting_cannot_be_shown_is_told_without_its_key() -> None:
    store.save(BACKDROP, "bananas")
    assert (await ThisMachine().unshown(BACKDROP.key)).startswith("bananas is no CSS colour.")
    assert await ThisMachine().unshown(PALETTE.key) == ""


def test_a_library_that_overwrites_another_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert xlib_clash().verdict is CheckVerdict.OK
    (told := tmp_path / "python3_xlib-0.15.dist-info").mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: python3-xlib\nVersion: 0.15\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = xlib_clash()
    assert (found.verdict, "has overwritten python-xlib" in found.detail) == (CheckVerdict.FAIL, True)
    assert "pip uninstall -y python3-xlib" in found.fix


def test_what_a_small_set_up_left_out_is_named_with_the_command_that_adds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "rapidocr" else there(name))
    found = ocr()
    assert found.verdict is CheckVerdict.NOTE
    assert found.fix == "./scripts/setup whole"


def test_an_extra_is_added_the_way_that_wisp_was_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    checkout = Path(__file__).parents[3]
    assert extras.way_to_add("browser") == f"{Path(sys.executable).parent}/pip install '{checkout}[browser]'"
    monkeypatch.setattr(extras, "_FOLDER", tmp_path / "lib")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert extras.way_to_add("browser").endswith('pip install "wisp-desktop[browser]"')
    (tmp_path / "pipx_metadata.json").touch()
    assert extras.way_to_add("browser") == 'pipx inject wisp-desktop "wisp-desktop[browser]"'
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert "pip" not in extras.way_to_add("browser")


@pytest.mark.parametrize(
    ("topic", "detail", "fix"),
    [
        ("", "No program on this computer shows notifications", "dunst"),
        ("https://ntfy.example/wisp", "reminders to https://ntfy.example/wisp", "dunst"),
        ("nonsense", "presence.ntfy holds no address", "Correct the setting presence.ntfy"),
    ],
)
def test_the_doctor_names_where_notifications_go(
    monkeypatch: pytest.MonkeyPatch, topic: str, detail: str, fix: str
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "")
    monkeypatch.setenv("WISP_NTFY", topic)
    found = notifications()
    assert (found.verdict, detail in found.detail, fix in found.fix) == (CheckVerdict.NOTE, True, True), found


@pytest.mark.feature("serve")
def test_a_command_whose_extra_is_missing_says_what_adds_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mcp" else there(name))
    assert cli.main(["mcp", "install", "codex", "--yes"]) == 1
    assert extras.way_to_add("mcp") in capsys.readouterr().err
