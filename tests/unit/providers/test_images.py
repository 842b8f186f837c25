"""Pictures from words, against servers on loopback that speak the makers' formats, through OpenAI's own SDK."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.base.errors import NeedsPerson, ToolFailed
from app.providers.images import PictureMaker
from app.settings.providers import image_makers
from app.settings.store import Settings
from tests.support.loopback.openai import OpenAIServer
from tests.support.loopback.replies import Status
from tests.support.loopback.server import Seen

KEYS = {"openai": "key", "gemini": "key"}
NOWHERE = "http://127.0.0.1:9/v1"
DATA = b"\x89PNG picture"
CODED = base64.b64encode(DATA).decode()
OPENAI = {"created": 1760000000, "data": [{"b64_json": CODED}], "usage": {"total_tokens": 100}}
_PARTS = [{"text": "Here."}, {"inlineData": {"mimeType": "image/png", "data": CODED}}]
GEMINI = {"candidates": [{"content": {"role": "model", "parts": _PARTS}}]}


def _server(answer: Any, code: int = 200) -> OpenAIServer:
    return OpenAIServer(extra=lambda _seen: Status(code, body=json.dumps(answer)))


def _maker(address: str = "", keys: Mapping[str, str] = KEYS, **values: str) -> PictureMaker:
    """A maker of pictures. `address` is where all makers of the table answer; with "" they cannot be reached."""
    settings = Settings({}, {}).with_values(**values)
    rows = {name: replace(row, address=address or NOWHERE) for name, row in image_makers().items()}
    return PictureMaker(lambda: settings, lambda name: keys.get(name, ""), rows)


async def _drawn(server: OpenAIServer, **values: str) -> tuple[bytes, str, Seen]:
    async with server:
        made = await _maker(server.url, **values).draw("a sun", "landscape")
        [seen] = server.others
        return made.data, made.url, seen


async def test_openais_endpoint_is_asked_through_its_sdk_and_sends_bytes() -> None:
    data, _, seen = await _drawn(_server(OPENAI))
    assert data == DATA
    assert (seen.method, seen.path) == ("POST", "/v1/images/generations")
    assert seen.body == {"model": "gpt-image-2.5-flare", "prompt": "a sun", "n": 1, "size": "1536x1024"}
    assert seen.headers["authorization"] == "Bearer key"


async def test_a_server_of_ones_own_is_asked_for_bytes_instead_of_an_address() -> None:
    data, _, seen = await _drawn(_server(OPENAI), images__model="flux-schnell")
    assert (data, seen.body["model"], seen.body["response_format"]) == (DATA, "flux-schnell", "b64_json")


async def test_an_address_is_handed_on_instead_of_being_fetched() -> None:
    data, url, _ = await _drawn(_server({"created": 1, "data": [{"url": "https://pictures.example/1.png"}]}))
    assert (data, url) == (b"", "https://pictures.example/1.png")


async def test_gemini_is_asked_by_its_rest_interface() -> None:
    server = _server(GEMINI)
    data, _, seen = await _drawn(server, images__maker="gemini", images__model="gemini-image")
    assert data == DATA
    assert seen.path == "/v1/models/gemini-image:generateContent"
    assert seen.headers["x-goog-api-key"] == "key"
    assert seen.body["contents"] == [{"role": "user", "parts": [{"text": "a sun"}]}]
    assert seen.body["generationConfig"]["imageConfig"] == {"aspectRatio": "16:9"}


@pytest.mark.parametrize("maker", ["openai", "gemini"])
@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        ({"error": {"message": "It was rejected by the safety system."}}, 400, "rejected by the safety"),
        ({"error": {"message": "Incorrect API key provided."}}, 401, "Incorrect API key"),
        ({}, 500, "500"),
        ({"data": [], "candidates": []}, 200, "sent no picture"),
        ({"data": [{"b64_json": "%%"}], "candidates": [{"content": {"parts": [{"inlineData": {"data": "%%"}}]}}]}, 200,
         "no picture"),
    ],
)  # fmt: skip
async def test_each_failure_is_a_sentence(maker: str, answer: dict[str, Any], code: int, says: str) -> None:
    with pytest.raises(ToolFailed, match=says):
        await _drawn(_server(answer, code), images__maker=maker)


async def test_what_gemini_blocked_is_told() -> None:
    with pytest.raises(ToolFailed, match="PROHIBITED_CONTENT"):
        await _drawn(_server({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}), images__maker="gemini")


async def test_a_maker_that_cannot_be_reached_is_named_with_its_address() -> None:
    with pytest.raises(ToolFailed, match=r"at http://127\.0\.0\.1:9/v1 cannot be reached"):
        await _maker().draw("a sun")


ALL_KEYS = {"openai": "openai's", "gemini": "gemini's", "images": "the server's"}


@pytest.mark.parametrize("keys", [ALL_KEYS, {"openai": "openai's", "gemini": "gemini's"}, {}])
async def test_the_persons_own_server_gets_no_key_but_its_own(keys: dict[str, str]) -> None:
    async with _server(OPENAI) as server:
        made = await _maker(keys=keys, images__base_url=server.url).draw("a sun")
        [seen] = server.others
    assert made.maker == "OpenAI"
    assert seen.headers["authorization"] == f"Bearer {keys.get('images', 'none')}"


async def test_geminis_key_goes_to_gemini_alone_whatever_server_is_set() -> None:
    async with _server(GEMINI) as gemini, _server(OPENAI) as own:
        values = {"images__maker": "gemini", "images__base_url": own.url}
        made = await _maker(gemini.url, ALL_KEYS, **values).draw("a sun")
        assert (made.maker, own.others) == ("Gemini", [])
        assert [seen.headers["x-goog-api-key"] for seen in gemini.others] == ["gemini's"]


async def test_a_server_of_ones_own_is_no_key_for_gemini() -> None:
    own = {"model__provider": "openai", "model__base_url": NOWHERE, "images__base_url": NOWHERE}
    with pytest.raises(NeedsPerson, match="makes no pictures"):
        await _maker(keys={}, images__maker="gemini", **own).draw("a sun")


async def test_the_server_that_answers_instead_of_openai_draws_with_its_key() -> None:
    async with _server(OPENAI) as server:
        values = {"model__provider": "openai", "model__base_url": server.url}
        await _maker(keys=ALL_KEYS, **values).draw("a sun")
        assert [seen.headers["authorization"] for seen in server.others] == ["Bearer openai's"]


@pytest.mark.parametrize(
    ("provider", "keys", "label"),
    [("anthropic", {}, "Claude"), ("", {}, "No model"), ("", {"anthropic": "a"}, "Claude")],
)  # fmt: skip
async def test_where_nobody_can_draw_the_person_reads_who_answers_and_what_to_do(
    provider: str, keys: dict[str, str], label: str
) -> None:
    with pytest.raises(NeedsPerson, match=rf"{label} makes no pictures.*images\.base_url"):
        await _maker(keys=keys, model__provider=provider).draw("a sun")
