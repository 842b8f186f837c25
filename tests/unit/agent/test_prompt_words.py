"""Telling an announcement from an answer."""

from __future__ import annotations

import pytest

from app.agent.prompt import only_announces, told


@pytest.mark.parametrize(
    "text",
    [
        "I'll open the calculator now.",
        "Okay. I’ll first check the folder.",
        "I am going to search for the file.",
        "Gut. Ich öffne jetzt den Taschenrechner.",
        "Je vais maintenant ouvrir la calculatrice.",
        "Devo aprire la calcolatrice.",
        "これから電卓を開きます。",
    ],
)
def test_an_announced_action_is_recognised(text: str) -> None:
    assert only_announces(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I could not find a program called Foo.",
        "Paris is the capital of France.",
        "Ich werde das nicht öffnen.",
        "Soll ich den Taschenrechner öffnen?",
        "要我打开计算器吗？",
        "I'll open the calculator. " + "It has many uses. " * 60,
    ],
)
def test_an_answer_is_left_alone(text: str) -> None:
    assert not only_announces(text)


def test_words_fill_in_their_values() -> None:
    assert told("denied_words", words="not that one") == "The person said no: not that one"
