"""What a person who speaks German reads where a step failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.assistant import assembled
from app.settings.store import Settings


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ("öffne Frobnikator", "Es gibt hier kein Programm „Frobnikator“. Am nächsten kommen: Text Editor."),
        ("schließe Frobnikator", "Kein Fenster heißt „Frobnikator“. Es ist kein Fenster offen."),
        ("wie viele Dateien sind in /nirgends", "„/nirgends“ gibt es nicht."),
        ("vergiss dass ich Katzen mag", "Davon habe ich mir nichts gemerkt."),
        ("close Frobnikator", "No window is called “Frobnikator”. No window is open."),
    ],
)
async def test_why_a_step_failed_is_said_in_the_language_of_the_wish(tmp_path: Path, wish: str, why: str) -> None:
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, dry_run=True) as assistant:
        said = (await assistant.send(wish)).text
    assert said.endswith(f": {why}")
