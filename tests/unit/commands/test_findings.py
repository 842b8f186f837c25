"""What `wisp doctor` finds beyond the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.commands.findings import CheckVerdict, settings


@pytest.mark.parametrize(
    ("text", "verdict", "detail"),
    [
        ("[chat]\nmax_passes = 5\n", CheckVerdict.OK, "all that is set counts"),
        (
            "[chat]\nmax_pases = 5\n",
            CheckVerdict.NOTE,
            "there is no setting chat.max_pases; it is ignored. Did you mean",
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
