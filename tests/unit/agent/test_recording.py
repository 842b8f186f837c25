"""The conversation as the model reads it."""

from __future__ import annotations

import pytest

from app.agent.recording import Entry, EntryKind, History
from app.protocol.message import Message, Role, TextPart, assistant, user


def test_neighbours_of_one_role_are_one_message() -> None:
    history = History()
    history.add(EntryKind.PERSON, user("Do it."))
    history.add(EntryKind.MODEL, assistant("Doing."))
    history.add(EntryKind.RESULTS, user("Done."))
    history.add(EntryKind.PERSON, user("And now?"))
    assert history.messages == (
        user("Do it."),
        assistant("Doing."),
        Message(Role.USER, (TextPart("Done."), TextPart("And now?"))),
    )


def test_a_message_that_says_nothing_is_not_kept() -> None:
    history = History()
    history.add(EntryKind.MODEL, Message(Role.ASSISTANT, ()))
    assert history.entries == ()


def test_a_conversation_cannot_begin_with_the_model() -> None:
    with pytest.raises(ValueError, match="begins with the user"):
        History().replace((Entry(EntryKind.MODEL, assistant("Hello.")),))
