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
        ("list files in Nowhere", "There is no “Nowhere”."),
        ("list files in ~/nirgends", "There is no “~/nirgends”."),
        ("close Frobnikator", "No window is called “Frobnikator”. No window is open."),
    ],
)
async def test_why_a_step_failed_is_said_in_the_language_of_the_wish(tmp_path: Path, wish: str, why: str) -> None:
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, dry_run=True) as assistant:
        said = (await assistant.send(wish)).text
    assert said.endswith(f": {why}")


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        (
            "drücke Umschalt+Entf",
            "Dafür braucht es deine Erlaubnis. Es würde shift+Delete drücken: Das lässt sich nicht zurücknehmen, "
            "und was es dort bewirkt, ist nicht zu lesen. Bitte dort darum, wo du antworten kannst.",
        ),
        (
            "press shift+delete",
            "Not run. It needs your permission. It presses shift+Delete in a window, on a control without a name: that "
            "cannot be taken back, and what that does there cannot be read. Ask for it where you can answer.",
        ),
        (
            'führe den Befehl "rm a.txt" aus',
            "Dafür braucht es deine Erlaubnis. Es würde einen Befehl ausführen. Damit genau das läuft, häng das an den "
            "Befehl an: --allow",
        ),
        (
            'öffne das Terminal, tippe "ls" und drücke enter',
            "Dafür braucht es deine Erlaubnis. Es würde Return in einem Terminal drücken („Terminal“): Das kann den "
            "Befehl ausführen, der dort steht. Damit genau das läuft, häng das an den Befehl an: --allow",
        ),
    ],
)
async def test_what_needs_a_yes_is_said_in_the_language_of_the_wish(tmp_path: Path, wish: str, why: str) -> None:
    settings = Settings({"model.provider": "offline", "files.workspace": str(tmp_path)}, {})
    async with assembled(settings, dry_run=True) as assistant:
        assert f": {why}" in (await assistant.send(wish)).text
