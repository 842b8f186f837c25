"""Rewriting a text: what needs no model, and what a model is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from app.agent.rewriting import SelectionRewriter, as_sentences, tidied
from app.base.errors import ToolFailed
from app.providers.api import Request, Stopped, StreamEvent, TextDelta, Usage
from app.settings.store import Settings


class OneAnswer:
    """Answers every request with the same words."""

    name = "one"

    def __init__(self, answer: str, reason: str = "end_turn") -> None:
        self.answer = answer
        self.reason = reason
        self.asked: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.asked.append(request)
        for piece in self.answer.split("|"):
            yield TextDelta(piece)
        yield Usage(output_tokens=7)
        yield Stopped(self.reason)


def _rewriter(
    provider: OneAnswer, *, is_offline: bool = False, spend: Callable[[Usage], None] = lambda _: None
) -> SelectionRewriter:
    parts: Mapping[str, Any] = {
        "provider": provider,
        "model": "m",
        "settings": Settings({}, {}),
        "follows_plan": is_offline,
    }
    return SelectionRewriter(None, None, SimpleNamespace(**parts), spend)  # type: ignore[arg-type] # no desktop takes part


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("two  words ", "two words"),
        ("so , yes !\nand\ton  it\t", "so, yes!\nand\ton it"),
        ("    indented  text", "    indented text"),
        ("a .5 b", "a .5 b"),
    ],
)
def test_spaces_are_tidied_and_indents_stay(text: str, tidy: str) -> None:
    assert tidied(text) == tidy


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I AM LATE. SORRY", "I am late. Sorry"),
        ("“WHAT?” NO", "“What?” no"),
        ("ÉTÉ\nÄRGER", "Été\nÄrger"),
        ("VERSION 1.5 IS OUT", "Version 1.5 is out"),
    ],
)
def test_sentences_begin_with_a_capital_letter(text: str, sentences: str) -> None:
    assert as_sentences(text) == sentences


async def test_a_model_rewrites_and_the_blanks_around_the_text_stay() -> None:
    provider = OneAnswer(" Dear |Ada\n")
    rewriter = _rewriter(provider)
    assert await rewriter.rewritten("  dear ada\n", "spelling") == "  Dear Ada\n"
    assert await rewriter.rewritten("x", "", "as a pirate") == "Dear Ada"
    asked = [str(request.messages[0].parts[0].text) for request in provider.asked]  # type: ignore[union-attr]
    assert "Correct spelling" in asked[0] and "dear ada" in asked[0]
    assert "as a pirate" in asked[1]
    with pytest.raises(ToolFailed, match="answered nothing"):
        await _rewriter(OneAnswer(" ")).rewritten("x", "shorter")


async def test_the_new_text_has_no_hidden_characters() -> None:
    answer = "Pay\u202e to\u200b DE11\x1b[201~\x03 \ue000x\n\tend 👩‍👧"
    assert await _rewriter(OneAnswer(answer)).rewritten("x", "friendlier") == "Pay to DE11 x\n\tend 👩‍👧"
    assert await _rewriter(OneAnswer("")).rewritten("a\u202eb\x07", "upper") == "AB"


@pytest.mark.parametrize(("reason", "told"), [("max_tokens", "cut off"), ("refusal", "refused")])
async def test_an_answer_that_is_cut_off_or_refused_is_none_and_is_paid(reason: str, told: str) -> None:
    spent: list[Usage] = []
    with pytest.raises(ToolFailed, match=told):
        await _rewriter(OneAnswer("Dear", reason), spend=spent.append).rewritten("x", "shorter")
    assert spent == [Usage(output_tokens=7)]


def test_without_a_model_only_what_needs_none_is_offered() -> None:
    assert list(_rewriter(OneAnswer(""), is_offline=True).ways()) == ["tidy", "sentences", "upper", "lower"]
    assert "friendlier" in _rewriter(OneAnswer("")).ways()
