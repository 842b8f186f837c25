"""The line that tells what one call did, for readers of text: a terminal, or the results of many tasks."""

from __future__ import annotations

from collections.abc import Mapping

from app.agent.agent_events import ToolFinished
from app.base.phrases import Translations
from app.base.tool_words import ToolWords, entry_of, tool_words
from app.ui.presenter.cards import known_of, told_of


def receipt_of(event: ToolFinished, arguments: Mapping[str, object], translated: Translations) -> str:
    """Return a few words on what a call did and what came of it, in one line, without details only for the model."""
    words = _words_of(event, arguments, translated.language)
    known = {"tool": event.tool.replace("_", " "), **arguments, **known_of(event, translated)}
    acted_on, verbs = words.object_of(known, translated), words.verbs
    if event.ok and event.payload.get("dry_run"):
        return _in_one_line(f"{verbs.would} {acted_on}")
    is_stopped = event.payload.get("interrupted")
    verb = translated("Stopped") if is_stopped else verbs.past if event.ok else verbs.failed
    done = f"{verb} {acted_on}".strip()
    told = "" if is_stopped else told_of(event, str(arguments.get("text", "")), translated)
    begin = translated("Not run.") if event.payload.get("denied") and "asked" not in event.payload else ""
    told = f"{begin} {told}".strip()
    return _in_one_line(f"{done.removesuffix(':')} · {told}" if told else done)


def _words_of(event: ToolFinished, arguments: Mapping[str, object], language: str) -> ToolWords:
    """The call's result may name another tool, as where an app was there already."""
    did = tool_words(entry_of(event.event, arguments), language)
    return did if did != tool_words("", language) else tool_words(entry_of(event.tool, arguments), language)


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
