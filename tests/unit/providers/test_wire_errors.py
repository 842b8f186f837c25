"""What a service's failure means, beyond what the contract over both wire formats holds."""

from __future__ import annotations

import re

import pytest

from app.base.errors import ContextOverflow, PictureRefused, Refused, Unreachable
from app.providers import wire_errors
from app.providers.wire_errors import Fault, Service, is_local

SERVICE = Service("Acme", "Give a key.")


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
        (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
        (400, "exceed_context_size_error", "the request exceeds the available context size"),
        (500, "", "the input is longer than the context window"),
        (413, "request_too_large", "Request exceeds the maximum size"),
        (0, "invalid_request_error", "prompt is too long"),
        (0, "", "The number of tokens to keep from the initial prompt is greater than the context length."),
        (400, "", "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"),
        (400, "", "prompt too long; exceeded max context length by 412 tokens"),
        (400, "", "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        (400, "", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        (400, "", "Input is too long for requested model."),
        (422, "", "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens"),
    ],
)
def test_every_servers_way_to_say_that_it_is_too_long(status: int, kind: str, message: str) -> None:
    assert type(Fault(status, kind, message).error(SERVICE)) is ContextOverflow


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (400, "invalid_request_error", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"),
        (400, "invalid_request_error", "Could not process image"),
        (413, "", "The image is too large."),
        (0, "invalid_request_error", "Could not process image"),
        (400, "invalid_image_format", "You uploaded an unsupported image. Please make sure your image is valid."),
        (400, "", "Invalid image_url: cannot identify the file"),
        (400, "", "Unable to process input image. Please retry or report in https://example.org"),
        (400, "", "Provided image is not valid."),
        (500, "", "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        (404, "", "No endpoints found that support image input"),
        (400, "", "Failed to load image or audio file"),
    ],
)
def test_every_servers_way_to_refuse_a_picture(status: int, kind: str, message: str) -> None:
    assert type(Fault(status, kind, message).error(SERVICE)) is PictureRefused


@pytest.mark.parametrize(
    ("status", "message", "unknown"),
    [
        (404, "model: claude-x", True),
        (404, "The model `x` does not exist or you do not have access to it.", True),
        (404, "model 'x' not found", True),
        (400, "model x has been retired", True),
        (404, "Not Found", False),
        (400, "messages: the model answered already", False),
        (500, "model: x", False),
    ],
)
def test_an_unknown_model_is_told_from_other_refusals(status: int, message: str, unknown: bool) -> None:
    assert Fault(status, "", message).is_unknown_model is unknown


@pytest.mark.parametrize("name", ["OpenAI", "the model server at http://127.0.0.1:1/v1"])
def test_every_sentence_about_a_service_begins_and_goes_on_as_sentences_do(name: str) -> None:
    service = Service(name, "Give a key.")
    errors = [Fault(code, "", "no").error(service) for code in (0, 400, 401, 402, 403, 404, 413, 418, 429, 500, 503)]
    errors += [wire_errors.silent(service, 3), wire_errors.dropped(service), wire_errors.no_models(service)]
    errors += [wire_errors.unknown_model(service, "x", ()), wire_errors.unreadable(service, ValueError("odd"))]
    errors += [wire_errors.not_connected(service, "http://127.0.0.1:1/v1", None)]
    for sentence in map(str, errors):
        assert sentence[0].isupper()
        assert not re.search(r"(?<![.:] )(?<!^)The ", sentence)
        assert sentence.count("http://127.0.0.1:1/v1") <= 1


def test_a_long_list_of_models_is_cut() -> None:
    offered = tuple(f"m{n}" for n in range(25))
    sentence = str(wire_errors.unknown_model(SERVICE, "x", offered))
    assert f"{', '.join(offered[:20])} … (+5)" in sentence


def test_what_a_service_says_is_quoted_on_one_line_and_not_for_ever() -> None:
    error = Fault(418, "", "word\n" * 500).error(SERVICE)
    assert type(error) is Refused
    assert "\n" not in str(error)
    assert len(str(error)) < 400


def test_a_wait_may_be_told_as_a_date() -> None:
    assert wire_errors.retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


def test_a_refused_connection_names_the_address_and_the_cause() -> None:
    error = wire_errors.not_connected(SERVICE, "http://here:1", OSError("no route"))
    assert type(error) is Unreachable
    assert str(error).startswith("Acme cannot be reached at http://here:1 (no route). ")


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:11434", True),
        ("http://127.0.0.1:1/v1", True),
        ("http://[::1]:8080", True),
        ("https://api.example.com", False),
        ("http://localhost.example.com", False),
        ("", False),
    ],
)
def test_which_addresses_are_this_machine(url: str, local: bool) -> None:
    assert is_local(url) is local
