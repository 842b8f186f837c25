"""An assistant as it is put together from settings."""

from __future__ import annotations

import pytest

from app.protocol.call import Block
from app.settings.store import Settings
from app.wiring.assistant import assembled


@pytest.mark.parametrize(("model", "pictures"), [("gpt-oss:20b", 0), ("some-model", 1)])
async def test_looking_brings_a_picture_unless_the_model_takes_none(model: str, pictures: int) -> None:
    settings = Settings(
        {"model.provider": "openai", "model.id": model, "model.base_url": "http://127.0.0.1:11434/v1"}, {}
    )
    async with assembled(settings, dry_run=True) as assistant:
        result = await assistant.run(Block("c1", "screen_capture", args={}))
    assert (result.ok, len(result.llm_media)) == (True, pictures)


@pytest.mark.parametrize(("mode", "is_there"), [("ask", True), ("yolo", False)])
async def test_nobody_is_asked_in_yolo_mode(mode: str, is_there: bool) -> None:
    async with assembled(Settings({"trust.mode": mode}, {}), dry_run=True) as assistant:
        assert (assistant.registry.find("ask_followup_question") is not None) is is_there
