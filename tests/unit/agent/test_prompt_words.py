"""Telling an announcement from an answer."""

from __future__ import annotations

import pytest

from app.agent.prompt import only_announces, told


@pytest.mark.parametrize(
    "text",
    [
        "I'll open the calculator now.",
        "Sure! Let me take a screenshot to see what is there.",
        "Okay. I’ll first check the folder.",
        "The window is open.\n\nNow I will click the Save button:",
        "Let me try again…",
        "I am going to search for the file.",
        "Ich werde jetzt den Taschenrechner öffnen.",
        "Gut. Ich öffne jetzt den Taschenrechner.",
        "Als Nächstes klicke ich auf „Speichern“.",
        "Je vais maintenant ouvrir la calculatrice.",
        "Claro. Voy a abrir la calculadora.",
        "Vou abrir a calculadora agora.",
        "Devo aprire la calcolatrice.",
        "好的。我来打开计算器。",
        "これから電卓を開きます。",
    ],
)
def test_an_announced_action_is_recognised(text: str) -> None:
    assert only_announces(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The calculator shows 84.",
        "I could not find a program called Foo.",
        "Shall I open the calculator?",
        "I will not do that: it would delete your files.",
        "Paris is the capital of France.",
        "Let me know if you need anything else.",
        "Ich werde das nicht öffnen.",
        "Ich habe den Taschenrechner geöffnet; er zeigt 84.",
        "Soll ich den Taschenrechner öffnen?",
        "La calculatrice est ouverte.",
        "计算器已经打开。",
        "要我打开计算器吗？",
        "You said: I'll open the door. That is a nice sentence. It has five words. Good night.",
        "I'll open the calculator. " + "It has many uses. " * 60,
    ],
)
def test_an_answer_is_left_alone(text: str) -> None:
    assert not only_announces(text)


def test_words_fill_in_their_values() -> None:
    assert told("denied_words", words="not that one") == "The person said no: not that one"
