"""A whole task through `wisp mcp serve`, driven by the Python SDK's client on a desktop of the server's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.support.mcp_client import served, text_of

_TEXT = "Zwölf Äpfel, 3 € – done"


async def _do(client: Client, tool: str, **arguments: Any) -> Any:
    """A call that must work."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result


def _facts(result: Any) -> dict[str, dict[str, Any]]:
    """What an act has proved, by the kind of fact; the last of each. The window says that it is confirmed."""
    facts = {fact["is"]: fact for fact in result.structured_content["facts"]}
    assert facts["Seen"]["proof"] == "confirmed", text_of(result)
    return facts


async def test_a_client_calculates_and_writes_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    note = tmp_path / "note.txt"
    async with served(os.environ, "--desktop", "private") as client:
        await _do(client, "open_app", name="calculator")
        assert "Came" in _facts(await _do(client, "computer_type", text="12*7="))
        assert 'text = "84"' in text_of(await _do(client, "read_screen", window="galculator", view="full"))

        await _do(client, "open_app", name="text editor")
        assert _facts(await _do(client, "computer_type", text=_TEXT))["ValueNow"]["value"] == _TEXT
        await _do(client, "computer_key", keys="ctrl+s")
        await _do(client, "computer_type", text=str(note))
        saved = _facts(await _do(client, "computer_key", keys="Return"))
        assert saved["FileSaved"]["path"] == str(note), saved
    assert note.read_text(encoding="utf-8").rstrip("\n") == _TEXT
