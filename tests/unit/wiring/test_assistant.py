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
