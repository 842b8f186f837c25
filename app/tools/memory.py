"""Lasting facts about the person: keep them in the person's words, find them, and delete them for good."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from app.base.errors import ToolFailed, ToolMisuse
from app.base.ids import unique
from app.base.texts import clip_line, unquoted, without_secrets
from app.base.values import dataclass
from app.protocol.call import JsonValue, ToolCall, ToolResult, not_run
from app.protocol.spec import Close, Effect, Param, RareFamily, ToolSpec, ValueType
from app.services.memory import Fact, FactStore
from app.tools.registry import Family, TurnContext

_FACT_CHARS = 500
_QUOTE_CHARS = 200
_FOUND = 8
_MOST_FOUND = 30
_NEAR = 3
_RULES_CHARS = 2_100
_FACTS_CHARS = 2_100
"""About 600 tokens each, because the model reads them on every pass."""
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"#?(\d{1,12})")
_FORGETTING = "forget_facts"
_MOST_ASKED = 3
"""The question names so many facts; what is shown below it holds more of them, and each whole."""
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class PastLine:
    """A line from a past conversation."""

    conversation: str
    title: str
    date: str
    text: str


class PastWords(Protocol):
    """Searches past conversations."""

    async def said(self, words: str, limit: int) -> Sequence[PastLine]:
        """Return the lines that fit the words best. Raise WispError if the journal cannot be read."""
        ...


class MemoryTools:
    """The handlers of remember, recall and forget."""

    def __init__(self, memory: FactStore, past: PastWords) -> None:
        self._memory = memory
        self._past = past

    async def remember(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        text = " ".join(call.text("text").split())
        _check(text)
        said_by, quote = _source(text, " ".join(call.text("quote").split()), turn.said)
        replaces = _ids(call.arguments.get("replaces"))
        fact = Fact(0, call.text("kind", "fact"), text, said_by, clip_line(quote, _QUOTE_CHARS), 0.0, turn.turn_id)
        old = await asyncio.to_thread(self._memory.find, replaces)
        if refusal := await _ask_before_forgetting(old, turn, instead=text):
            return not_run(call.name, refusal)
        kept = await asyncio.to_thread(self._memory.keep, fact, replaces)
        await turn.audit("fact_remembered", {"id": kept.id, "said_by": kept.said_by, "replaces": list(replaces)})
        near = await asyncio.to_thread(partial(self._memory.search, text, _NEAR + 1, only_strong=True))
        others = [one.line() for one in near if one.id != kept.id][:_NEAR]
        echo = f"Remembered as #{kept.id}."
        echo += f" It replaces {', '.join(f'#{one.id}' for one in old)}." if old else ""
        if others:
            echo += " If it corrects one of these, remember it again with replaces:\n" + "\n".join(others)
        replaced: list[JsonValue] = [one.text for one in old]
        payload = {**_payload(kept), "undoable": kept.turn == turn.turn_id, "replaced": replaced}
        return ToolResult(True, "remember", payload, echo)

    async def recall(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        query, limit = call.text("query").strip(), call.integer("limit", _FOUND)
        if call.text("in", "facts") == "conversations":
            return await self._recall_said(query, limit)
        facts = await asyncio.to_thread(self._searched, query, limit)
        await asyncio.to_thread(self._memory.note_use, facts)
        await turn.audit("facts_recalled", {"count": len(facts)})
        lines = [fact.line() for fact in facts]
        listed: list[JsonValue] = list(lines)
        echo = "\n".join(lines) or "Nothing of that is remembered. in=conversations looks into what was said before."
        return ToolResult(True, "recall", {"query": query, "count": len(facts), "facts": listed}, echo)

    async def forget(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        if call.flag("all"):
            ids = [fact.id for fact in await asyncio.to_thread(self._memory.all)]
            if not ids:
                raise ToolFailed("Nothing is remembered, so nothing was forgotten.")
        else:
            ids = _ids(call.arguments.get("id"))
        if not ids:
            ids = await asyncio.to_thread(self._meant, call.text("text").strip())
        if refusal := await _ask_before_forgetting(await asyncio.to_thread(self._memory.find, ids), turn):
            return not_run(call.name, refusal)
        gone = await asyncio.to_thread(self._memory.forget, ids, turn.turn_id)
        await turn.audit("facts_forgotten", {"ids": list(ids)})
        payload: dict[str, JsonValue] = {
            **_payload(gone[0]),
            "count": len(gone),
            "facts": [fact.text for fact in gone[:_MOST_FOUND]],
            "undoable": True,
        }
        echo = "Forgot for good: " + "; ".join(f"#{fact.id} {fact.text}" for fact in gone[:_MOST_FOUND])
        echo += f"; and {len(gone) - _MOST_FOUND} more" if len(gone) > _MOST_FOUND else ""
        return ToolResult(True, "forget", payload, echo)

    def _searched(self, query: str, limit: int) -> list[Fact]:
        return self._memory.search(query, limit) if query else self._memory.all(limit)

    async def _recall_said(self, query: str, limit: int) -> ToolResult:
        if not query:
            raise ToolMisuse("query is empty: say what was spoken about.")
        found = await self._past.said(query, limit)
        lines = [f"{line.date} “{line.title}” ({line.conversation}): {line.text}" for line in found]
        listed: list[JsonValue] = list(lines)
        echo = "\n".join(lines) or "Nothing like that was said in a past conversation."
        return ToolResult(True, "recall", {"query": query, "count": len(found), "facts": listed}, echo)

    def _meant(self, text: str) -> list[int]:
        """Return the one fact that the words mean. Raise ToolFailed if none or several fit."""
        if not text:
            raise ToolMisuse("Give id, or text that names the fact. recall lists the facts with their numbers.")
        found = self._memory.search(text, _FOUND)
        wanted = _words(text)
        whole = [fact for fact in found if set(wanted) <= set(_words(fact.text))]
        if len(whole) == 1:
            return [whole[0].id]
        if not found:
            raise ToolFailed("Nothing of that is remembered, so nothing was forgotten.")
        listed = "\n".join(fact.line() for fact in whole or found)
        raise ToolFailed(f"Nothing was forgotten yet. Say by id which of these, or all of them:\n{listed}")


class Reminders:
    """Gives each pass the person's rules, and the facts that fit the person's words."""

    def __init__(self, memory: FactStore) -> None:
        self._memory = memory

    async def __call__(self, said: str) -> Mapping[str, str]:
        """Return the texts by heading, like other facts of the moment; {} if nothing fits."""
        return {} if self._memory.is_empty else await asyncio.to_thread(self._gather, said)

    def _gather(self, said: str) -> Mapping[str, str]:
        rules = self._memory.rules()
        facts = self._memory.search(said, _FOUND, kind="fact", only_strong=True)
        given, fitting = _fitting(rules, _RULES_CHARS), _fitting(facts, _FACTS_CHARS)
        self._memory.note_use(given + fitting)
        shown = {
            "Rules that the person gave you to remember": _listed(given, len(rules)),
            "What you remember of this (what they say now counts more)": _listed(fitting, len(fitting)),
        }
        return {heading: text for heading, text in shown.items() if text}


async def _ask_before_forgetting(old: Sequence[Fact], turn: TurnContext, instead: str = "") -> str:
    """Ask the person before these facts go for good. Return the refusal, or "".

    Only a single fact that the model itself concluded in this turn goes unasked.
    """
    if len(old) < 2 and all(one.said_by == "model" and one.turn == turn.turn_id for one in old):
        return ""
    given: dict[str, JsonValue] = {"facts": [one.text for one in old[:_MOST_FOUND]], "count": len(old)}
    given |= {"instead": instead} if instead else {}
    return await turn.admit(ToolCall(unique("forget_"), _FORGETTING, given))


def _effects_of_forgetting(call: ToolCall) -> frozenset[Effect]:
    return frozenset({Effect.SETTINGS if call.has("facts") else Effect.WRITES})


def _describe_forgetting(call: ToolCall) -> str:
    """Return what would be forgotten, for the question to the person."""
    facts = call.arguments.get("facts")
    asked = facts[:_MOST_ASKED] if isinstance(facts, (list, tuple)) else ()
    texts = [f"“{unquoted(str(one), _SHOWN_CHARS)}”" for one in asked]
    more = call.integer("count") - len(texts)
    listed = (", ".join(texts) or "what it remembers") + (f" and {more} more" if texts and more > 0 else "")
    instead = unquoted(call.text("instead"), _SHOWN_CHARS)
    return f"remember “{instead}” in place of {listed}" if call.has("instead") else f"forget {listed}"


def _fitting(facts: Sequence[Fact], most_chars: int) -> list[Fact]:
    kept: list[Fact] = []
    for fact in facts:
        most_chars -= len(fact.line()) + 1
        if most_chars < 0:
            break
        kept.append(fact)
    return kept


def _listed(facts: Sequence[Fact], count: int) -> str:
    more = [f"(and {count - len(facts)} more: recall lists them)"] if count > len(facts) else []
    return "\n".join([*(fact.line() for fact in facts), *more])


def _check(text: str) -> None:
    if not _WORD.search(text):
        raise ToolMisuse("text is empty: write the fact as one sentence.")
    if len(text) > _FACT_CHARS:
        raise ToolMisuse(f"text has {len(text)} characters, and a fact has at most {_FACT_CHARS}: say it shorter.")
    if without_secrets(text) != text:
        raise ToolFailed("Passwords, keys and card numbers are not remembered. Tell the person so.")


def _source(text: str, quote: str, said: str | None) -> tuple[str, str]:
    """Return who said the fact, and in which words. `said` is None for a call that the person wrote."""
    if said is None or _holds(said, text):
        return "person", text
    if quote and _holds(said, quote):
        return "model", quote
    raise ToolMisuse(
        "The person did not say so in this conversation. Give quote: their own words, exactly as they wrote them, from "
        "which it follows. What you only read somewhere, or guess, is not remembered."
    )


def _holds(said: str, text: str) -> bool:
    """Say whether the text contains these words in this order, regardless of signs and blanks between them."""
    words, wanted = _words(said), _words(text)
    return bool(wanted) and any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _ids(value: JsonValue) -> list[int]:
    """Read the numbers from `12`, from `#12, #15` or from a list."""
    texts = [str(one) for one in value] if isinstance(value, (list, tuple)) else re.split(r"[,\s]+", str(value or ""))
    found = [_NUMBER.fullmatch(text.strip()) for text in texts if text.strip()]
    if not all(found):
        raise ToolMisuse(f"{value!r} names no facts: give their numbers, such as 12 or 12, 15.")
    return [int(one[1]) for one in found if one]


def _payload(fact: Fact) -> dict[str, JsonValue]:
    shown: dict[str, JsonValue] = {"id": fact.id, "kind": fact.kind, "text": fact.text, "said_by": fact.said_by}
    return {**shown, "quote": fact.quote, "path": f"#{fact.id}"}


_RARE = RareFamily("memory", "keep, find and remove what the person wants remembered")

MEMORY = Family(
    MemoryTools,
    (
        ToolSpec(
            name="remember",
            description=(
                "Keep a fact about the person, or a rule of theirs, for later conversations. Only what they said "
                "themselves and what will still matter then; one sentence a fact, in their words where you can. Never "
                "passwords, nothing that you only read."
            ),
            effect=Effect.WRITES,
            execute=MemoryTools.remember,
            attrs=(
                Param("kind", description="rule for what they want always or never", choices=("fact", "rule")),
                Param("quote", description="the person's exact words, where the fact is worded otherwise"),
                Param("replaces", description="numbers of the facts that it corrects: 12, 15"),
            ),
            body=Param(
                "text",
                description="the fact",
                required=True,
                close=Close.LAST,
                aliases=("fact", "content"),
                takes_json=True,
            ),
            examples=("<remember>My dentist is Dr. Okafor.</remember>",),
            rare=_RARE,
        ),
        ToolSpec(
            name="recall",
            description=(
                "Look up what is remembered. Facts that fit are shown to you anyway. Ask in words that the fact may "
                "hold, two or three ways to say it in one query; without a query come the newest."
            ),
            effect=Effect.READS,
            execute=MemoryTools.recall,
            attrs=(
                Param("query", description="what to look for"),
                Param(
                    "in",
                    description="conversations looks into what was said in past ones",
                    choices=("facts", "conversations"),
                    otherwise="facts",
                ),
                Param("limit", ValueType.INTEGER, "how many", minimum=1, maximum=_MOST_FOUND),
            ),
            examples=('<recall query="wife spouse name"/>',),
            rare=_RARE,
            taint="memory",
        ),
        ToolSpec(
            name="forget",
            description="Remove remembered facts for good, when the person wants that; they are asked.",
            effect=Effect.WRITES,
            execute=MemoryTools.forget,
            attrs=(
                Param("id", description="their numbers: 12, 15", takes_json=True),
                Param("text", description="or words that one fact holds"),
                Param("all", ValueType.FLAG, "true for everything"),
            ),
            examples=('<forget id="12"/>',),
            rare=_RARE,
            effects_by_call=_effects_of_forgetting,
            read_back=_describe_forgetting,
            steps=(_FORGETTING,),
        ),
    ),
)
