"""Pictures go in steps, the middle of a conversation becomes a summary, the person's words stay."""

from __future__ import annotations

from app.agent.context import ContextWindow, estimated_tokens, picture_tokens, plan, rule_of
from app.agent.recording import Entry, EntryKind, History
from app.protocol.call import Media
from app.protocol.message import (
    Author,
    CallPart,
    ImagePart,
    Message,
    OpaquePart,
    ResultPart,
    Role,
    TextPart,
    assistant,
    user,
)


def _picture(number: int) -> Media:
    return Media(bytes([number]), "image/png", 1280, 720, f"picture {number}")


def _with_pictures(count: int) -> History:
    history = History()
    for number in range(count):
        history.add(EntryKind.MODEL, assistant(f"look {number}"))
        history.add(EntryKind.RESULTS, Message(Role.USER, (TextPart("seen"), ImagePart(_picture(number)))))
    return history


def _left(history: History) -> list[bytes]:
    parts = [part for message in history.messages for part in message.parts]
    return [part.media.data for part in parts if isinstance(part, ImagePart)]


def test_pictures_stay_until_there_are_too_many_then_all_but_the_last_go_at_once() -> None:
    window = ContextWindow("some-model", 200_000)
    history = _with_pictures(19)
    before = history.messages
    assert (window.evict_pictures(history), history.messages) == (0, before)
    history = _with_pictures(20)
    assert window.evict_pictures(history) == 17
    assert _left(history) == [b"\x11", b"\x12", b"\x13"]
    assert history.messages[1].parts[1] == TextPart("[An earlier picture was taken out: picture 0]", Author.WISP)


def test_pictures_inside_results_count_too() -> None:
    history = History()
    for number in range(20):
        result = ResultPart(f"c{number}", "seen", (_picture(number),))
        history.add(EntryKind.RESULTS, Message(Role.USER, (result,)))
    assert ContextWindow("some-model", 200_000).evict_pictures(history) == 17
    parts = history.messages[0].parts
    assert parts[0] == ResultPart("c0", "seen\n[An earlier picture was taken out: picture 0]")
    assert parts[19] == ResultPart("c19", "seen", (_picture(19),))


def test_signed_thinking_goes_with_the_first_edit_where_the_model_forbids_edits() -> None:
    history = _with_pictures(40)
    history.add(EntryKind.MODEL, Message(Role.ASSISTANT, (OpaquePart("anthropic", {"signature": "s"}), TextPart("hm"))))
    assert ContextWindow("claude-opus-5-5", 200_000).evict_pictures(history) == 37
    assert history.messages[-1] == assistant("hm")


def test_rules_go_by_the_longest_prefix() -> None:
    assert (rule_of("claude-opus-5-5-20261001").at, rule_of("llama3").at) == (40, 20)


def test_a_picture_costs_one_token_for_each_28_pixel_square() -> None:
    assert picture_tokens(_picture(0)) == 1196


def test_a_window_is_full_by_the_providers_count_or_by_ours() -> None:
    history = History()
    history.add(EntryKind.PERSON, user("x" * 3500))
    assert estimated_tokens(history) == 1000
    assert not ContextWindow("m", 2000).is_full(history, 0)
    assert ContextWindow("m", 2000).is_full(history, 0, fixed_tokens=501)
    assert ContextWindow("m", 2000).is_full(history, 1501)


def test_a_compaction_keeps_what_the_person_said_and_the_last_entries() -> None:
    history = History()
    history.add(EntryKind.PERSON, user("Never touch b.txt. Sort the files."))
    for number in range(8):
        history.add(EntryKind.MODEL, assistant(f"call {number}"))
        history.add(EntryKind.RESULTS, user(f"result {number}"))
    compaction = plan(history)
    assert compaction is not None
    assert "call 4" in compaction.material
    assert "call 5" not in compaction.material
    entries = compaction.entries("Files 0 to 4 are sorted.")
    assert entries[0] == Entry(EntryKind.PERSON, user("Never touch b.txt. Sort the files."))
    assert entries[1].kind is EntryKind.SUMMARY
    assert [entry.message for entry in entries[2:]] == [
        message for number in (5, 6, 7) for message in (assistant(f"call {number}"), user(f"result {number}"))
    ]


def test_a_kept_result_is_never_parted_from_its_call() -> None:
    history = History()
    history.add(EntryKind.PERSON, user("Go."))
    for number in range(5):
        call = CallPart(f"c{number}", "look", {})
        history.add(EntryKind.MODEL, Message(Role.ASSISTANT, (call,)))
        history.add(EntryKind.RESULTS, Message(Role.USER, (ResultPart(f"c{number}", "seen"),)))
        history.add(EntryKind.NOTE, user("note"))
    compaction = plan(history)
    assert compaction is not None
    assert compaction.kept[0].kind is EntryKind.MODEL


def test_a_short_conversation_cannot_be_compacted() -> None:
    history = History()
    history.add(EntryKind.PERSON, user("Hello."))
    history.add(EntryKind.MODEL, assistant("Hello."))
    assert plan(history) is None
