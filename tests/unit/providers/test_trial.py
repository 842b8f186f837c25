"""A model is asked for a few words, over a real connection."""

from __future__ import annotations

import pytest

from app.base.errors import BadAnswer, KeyRefused
from app.providers.profiles import choose
from app.providers.trial import first_words
from app.settings.store import Settings
from tests.support.loopback import OpenAIServer, Status


async def said(server: OpenAIServer) -> str:
    values = {"model.provider": "openai", "model.base_url": server.url, "model.id": "qwen"}
    return await first_words(choose(Settings(values, {}), lambda _: "sk-any"), "de")


async def test_its_words_come_back_in_one_line_and_never_the_whole_of_a_long_answer() -> None:
    async with OpenAIServer(["Hallo!\nWie geht es dir? " + "So ist es. " * 50]) as server:
        words = await said(server)
        assert words.startswith("Hallo! Wie geht es dir?")
        assert len(words) <= 160
        assert server.bodies[0]["model"] == "qwen"
        assert "tools" not in server.bodies[0]


async def test_a_refused_key_and_an_empty_answer_are_told_apart() -> None:
    async with OpenAIServer([Status(401, "invalid api key"), " "]) as server:
        with pytest.raises(KeyRefused):
            await said(server)
        with pytest.raises(BadAnswer):
            await said(server)
