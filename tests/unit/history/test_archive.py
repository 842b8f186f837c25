"""Conversations are kept, found, shown again, gone on with and forgotten."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from app.agent.agent_events import Attachment, Outcome, SayDelta, TagStart, ToolFinished, TurnEnded, TurnStarted
from app.agent.policy import Mode
from app.agent.recording import ExportFormat, Spent, event_of
from app.assistant import assembled
from app.base import paths
from app.base.errors import WispError
from app.protocol.message import OpaquePart, TextPart
from app.providers.api import OpaqueBlock, TextDelta, Usage
from app.settings.store import Settings
from app.ui.presenter.presenter import Presenter, retold
from app.ui.presenter.view import Asked, View
from tests.support.archived import Kept
from tests.support.stage import texts


async def test_a_conversation_is_listed_by_the_persons_first_words(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "Paris.", "Rome.")
    await kept.stage.send("What is the capital\nof France?")
    await kept.stage.send("And of Italy?")
    (past,) = await kept.archive.conversations()
    assert (past.title, past.turns, past.cost_usd) == ("What is the capital of France?", 2, 0.0)
    await kept.close()


async def test_what_was_shown_is_shown_again_with_pieces_joined(tmp_path: Path) -> None:
    kept = Kept(tmp_path, '<read path="a.txt"/>', "It holds three lines.")
    await kept.stage.send("Look into a.txt.")
    shown = await kept.archive.events((await kept.newest()).id)
    told = [event for event in shown if isinstance(event, (TurnStarted, SayDelta, TagStart, ToolFinished, TurnEnded))]
    call_id = next(event.call_id for event in told if isinstance(event, TagStart))
    turn_id = next(event.turn_id for event in told if isinstance(event, TurnStarted))
    assert told == [
        TurnStarted(turn_id, "Look into a.txt."),
        TagStart(call_id, "read", {"path": "a.txt"}),
        ToolFinished(call_id, "read", True, "read", {"path": "a.txt"}, "a.txt holds 3 lines."),
        SayDelta("", "", "It holds three lines."),
        TurnEnded(turn_id, Outcome.FINISHED, "It holds three lines."),
    ]
    await kept.close()


async def test_what_was_attached_is_kept_by_its_name_and_read_by_models_as_a_line(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "It is a letter.")
    await kept.stage.session.send("", attached=(Attachment("file", "note.txt", "- /home/ada/note.txt (2 kB)"),))
    assert (
        texts(kept.stage.provider.requests[0].messages[0].parts) == "The person attached:\n- /home/ada/note.txt (2 kB)"
    )
    newest = await kept.newest()
    begun = next(event for event in await kept.archive.events(newest.id) if isinstance(event, TurnStarted))
    assert (newest.title, begun.text, begun.attached) == ("note.txt", "", ("note.txt",))
    assert event_of('{"is":"TurnStarted","turn_id":"t1","text":"go"}') == TurnStarted("t1", "go")
    await kept.close()


async def test_a_conversation_is_gone_on_with_in_another_session(tmp_path: Path) -> None:
    first = Kept(tmp_path, [OpaqueBlock("anthropic", {"signature": "EqoB+/=="}), "Paris."])
    await first.stage.send("What is the capital of France?")
    before = first.stage.session.history.entries
    await first.close()
    second = Kept(tmp_path, "Rome.")
    await second.reopen_newest()
    assert second.stage.session.history.entries == before
    await second.stage.send("And of Italy?")
    request = second.stage.provider.requests[0].messages
    assert [texts(message.parts) for message in request] == [
        "What is the capital of France?",
        "Paris.",
        "And of Italy?",
    ]
    assert OpaquePart("anthropic", {"signature": "EqoB+/=="}) in request[1].parts
    assert [(past.title, past.turns) for past in await second.archive.conversations()] == [
        ("What is the capital of France?", 2)
    ]
    await second.close()


async def test_beginning_anew_leaves_the_old_conversation_as_it_was(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "One.", "Two.")
    await kept.stage.send("First?")
    kept.stage.session.begin_anew()
    await kept.stage.send("Second?")
    assert [past.title for past in await kept.archive.conversations()] == ["Second?", "First?"]
    assert [texts(message.parts) for message in kept.stage.provider.requests[1].messages] == ["Second?"]
    await kept.close()


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("capital", ["The capital of France"]),
        ("PAR", ["The capital of France"]),
        ("capital seine", ["The capital of France"]),
        ("capital cheese", []),
        ("emmental cheese", ["A cheese"]),
        ("café", ["A cheese"]),
        ("cafe", ["A cheese"]),
        ('" OR (', []),
        ("100%", []),
        ("", ["A cheese", "The capital of France"]),
    ],
)
async def test_words_are_found_in_titles_and_in_what_was_said(tmp_path: Path, search: str, found: list[str]) -> None:
    kept = Kept(tmp_path, "Paris, on the Seine.", "Emmental, at the café.")
    await kept.stage.send("The capital of France")
    kept.stage.session.begin_anew()
    await kept.stage.send("A cheese")
    assert [past.title for past in await kept.archive.conversations(search)] == found
    await kept.close()


async def test_a_title_is_changed_and_a_blank_one_refused(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "Hello.")
    await kept.stage.send("Hi.")
    past = await kept.newest()
    await kept.archive.rename(past.id, "  Greetings  ")
    assert (await kept.newest()).title == "Greetings"
    with pytest.raises(WispError, match="needs a title"):
        await kept.archive.rename(past.id, " ")
    await kept.close()


async def test_a_deleted_conversation_leaves_no_word_on_the_disk(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "It is the xylophonequartz.", "Other.")
    await kept.stage.send("Name the marimbaopal.")
    past = await kept.newest()
    kept.stage.session.begin_anew()
    await kept.stage.send("Something else.")
    await kept.archive.delete(past.id)
    with pytest.raises(WispError, match="no such conversation"):
        await kept.archive.events(past.id)
    await kept.close()
    bytes_ = b"".join(file.read_bytes() for file in tmp_path.glob("journal.db*"))
    assert b"Something else" in bytes_
    assert [word for word in (b"xylophonequartz", b"marimbaopal") if word in bytes_.lower()] == []


async def test_money_is_counted_over_all_conversations_also_deleted_ones(tmp_path: Path) -> None:
    kept = Kept(
        tmp_path,
        [TextDelta("a"), Usage(1_000_000, 0, 10, 20)],
        [TextDelta("b"), Usage(0, 1_000_000)],
        model="claude-sonnet-4-5",
    )
    await kept.stage.send("One.")
    first = await kept.newest()
    kept.stage.session.begin_anew()
    await kept.stage.send("Two.")
    await kept.archive.delete(first.id)
    spent = await kept.archive.spent(0.0)
    told = kept.stage.session.usage
    assert (await kept.newest()).cost_usd == told.cost_usd
    assert spent == Spent(1_000_000, 1_000_000, 10, 20, spent.cost_usd, 2)
    assert spent.cost_usd is not None and told.cost_usd is not None and spent.cost_usd > told.cost_usd > 0
    assert await kept.archive.spent(4e9) == Spent()
    await kept.close()


async def test_a_price_that_is_not_known_makes_no_sum(tmp_path: Path) -> None:
    kept = Kept(tmp_path, [TextDelta("a"), Usage(10, 10)], model="nobody-knows-1")
    await kept.stage.send("One.")
    assert (await kept.newest()).cost_usd is None
    assert await kept.archive.spent(0.0) == Spent(10, 10, 0, 0, None, 1)
    await kept.close()


async def test_a_conversation_is_handed_out_as_a_document_and_as_data(tmp_path: Path) -> None:
    kept = Kept(tmp_path, '<say>On it.</say><run command="ls"/>', "Done.", mode=Mode.YOLO)
    await kept.stage.send("List it.\nPlease.")
    past = await kept.newest()
    text = await kept.archive.export(past.id, ExportFormat.MARKDOWN)
    lines = [line for line in text.splitlines() if line and not line[:4].isdigit()]
    assert lines == ["# List it. Please.", "> List it.", "> Please.", "On it.", "- ✓ `run` ls: exit 0", "Done."]
    tree = json.loads(await kept.archive.export(past.id, ExportFormat.JSON))
    assert (tree["title"], tree["events"][0]["text"]) == ("List it. Please.", "List it.\nPlease.")
    await kept.close()


async def test_what_was_said_while_a_turn_ran_is_shown_again_and_found(tmp_path: Path) -> None:
    kept = Kept(tmp_path, '<long name="a"/>', "Only the first page, then.", mode=Mode.YOLO)
    turn = asyncio.ensure_future(kept.stage.session.send("Print the letter."))
    await asyncio.wait_for(kept.stage.bench.began.wait(), 10)
    speaking = asyncio.ensure_future(kept.stage.session.send("Only the first page!"))
    await asyncio.sleep(0)
    kept.stage.bench.hold.set()
    await asyncio.gather(turn, speaking)
    (past,) = await kept.archive.conversations("first page!")
    assert "> Only the first page!\n" in await kept.archive.export(past.id, ExportFormat.MARKDOWN)
    view = retold(Presenter(), await kept.archive.events(past.id), View())
    assert [item.text for item in view.items if isinstance(item, Asked)] == [
        "Print the letter.",
        "Only the first page!",
    ]
    await kept.close()


async def test_no_picture_and_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    key = "sk-" + "ant-" + "api03-" + "Q7" * 20
    kept = Kept(tmp_path, f'<look/><note text="{key}"/>', f"Your key is {key}.", file="private.db")
    await kept.stage.send(f"My key is {key}, and password: hunter2hunter2.")
    await kept.close()
    written = b"".join(file.read_bytes() for file in tmp_path.glob("private.db*"))
    assert [secret for secret in (key.encode(), b"hunter2", b"picture\x00") if secret in written] == []
    again = Kept(tmp_path, "Hm.", file="private.db")
    await again.reopen_newest()
    words = [texts(entry.message.parts) for entry in again.stage.session.history.entries]
    assert words[0] == "My key is [secret left out], and password: [secret left out]"
    assert "[An earlier picture was taken out: the screen]" in "\n".join(words)
    await again.close()


async def test_signed_thoughts_over_something_left_out_are_left_out_too_where_the_model_is_strict(
    tmp_path: Path,
) -> None:
    signed = OpaqueBlock("anthropic", {"signature": "EqoB"})
    first = Kept(tmp_path, [signed, "<look/>"], [signed, "Blue."], model="claude-sonnet-5-5")
    await first.stage.send("Which colour?")
    await first.close()
    for model, kinds in (("claude-sonnet-4-5", {TextPart, OpaquePart}), ("claude-sonnet-5-5", {TextPart})):
        again = Kept(tmp_path, "Yes.", model=model)
        await again.reopen_newest()
        assert {type(part) for entry in again.stage.session.history.entries for part in entry.message.parts} == kinds
        await again.close()


async def test_deleting_the_conversation_that_goes_on_leaves_it(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "Paris.", "Rome.")
    await kept.stage.send("What is the capital of France?")
    await kept.archive.delete((await kept.newest()).id)
    await kept.stage.send("And of Italy?")
    assert [texts(message.parts) for message in kept.stage.provider.requests[1].messages] == ["And of Italy?"]
    assert [(past.title, past.turns) for past in await kept.archive.conversations()] == [("And of Italy?", 1)]
    await kept.close()


async def test_a_conversation_that_another_wisp_is_in_is_neither_opened_nor_deleted(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "Hello.")
    await kept.stage.send("Hi.")
    past = await kept.newest()
    other = psutil.Process(os.getppid())
    holder = f"{other.pid} {other.create_time():.0f}"
    await kept.database.run(lambda db: db.execute("update conversations set holder = ?", (holder,)).fetchone())
    for refused in (kept.archive.delete(past.id), kept.reopen_newest()):
        with pytest.raises(WispError, match="open in another Wisp"):
            await refused
    assert [one.id for one in await kept.archive.conversations()] == [past.id]
    await kept.close()


async def test_nothing_of_a_conversation_is_kept_where_the_person_wants_none(tmp_path: Path) -> None:
    settings = Settings({"model.provider": "offline", "history.keep": False}, {})
    async with assembled(settings, without_screen=True) as assistant:
        await assistant.send("hello quartzite")
        assert await assistant.archive.conversations() == []
        assert (await assistant.archive.spent(0.0)).turns <= 1
    written = b"".join(file.read_bytes() for file in paths.data_dir().glob("journal*"))
    assert b"quartzite" not in written


async def test_conversations_older_than_the_person_wants_are_deleted_at_the_start(tmp_path: Path) -> None:
    settings = Settings({"model.provider": "offline", "history.days": 30}, {})
    async with assembled(settings, without_screen=True) as assistant:
        for words in ("old", "new"):
            await assistant.send(words)
            assistant.begin_anew()
    old = time.time() - 31 * 86_400
    with closing(sqlite3.connect(paths.data_dir() / "journal.db")) as db, db:
        db.execute("update conversations set changed_at = ? where title = 'old'", (old,))
    db.close()
    async with assembled(settings, without_screen=True) as assistant:
        assert [past.title for past in await assistant.archive.conversations()] == ["new"]
