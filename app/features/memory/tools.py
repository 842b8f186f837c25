"""Lasting facts about the person: save them in the person's words, find them, and delete them permanently."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial

from app.agent.recording import PastWords
from app.base.clipping import clip_line, unquoted
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Brought
from app.base.ids import unique
from app.base.phrases import Phrase
from app.base.signs import plain
from app.base.withheld import without_secrets
from app.features.memory.store import Fact, FactStore
from app.protocol.call import JsonValue, ToolCall, ToolResult, not_run
from app.protocol.spec import Close, Effect, Param, RareFamily, ToolSpec, ValueType
from app.tools.registry import Family, TurnContext

_NOT_YET = "Nothing was forgotten yet."
_FITS = (
    "Only this one fits in part. Name it in its own words, or remove it by its number with `wisp memory forget`: {fact}"
)
_FIT = "Several fit, so name one of them, or remove it by its number with `wisp memory forget`:\n{facts}"
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
_RULING = "remember_rule"
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_MOST_SENTENCES = 3
_RULE = "rule"
_MOST_ASKED = 3
"""The question names so many facts; what is shown below it holds more of them, and each whole."""
_SHOWN_CHARS = 200


class MemoryTools:
    """The handlers of remember, recall and forget."""

    def __init__(self, memory: FactStore, past: PastWords) -> None:
        self._memory = memory
        self._past = past

    async def remember(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        text = " ".join(plain(call.text("text"))[0].split())
        _check(text)
        said_by, quote = _source(text, " ".join(call.text("quote").split()), turn.said)
        kind = call.text("kind", "fact")
        if kind == _RULE and turn.said is not None:
            own = _own_sentence(text, turn.said)
            if not own and (refusal := await _ask_for_rule(text, quote, turn)):
                return not_run(call.name, refusal)
            text, quote = own or text, own or quote
        replaces = _ids(call.arguments.get("replaces"))
        fact = Fact(0, kind, text, said_by, clip_line(quote, _QUOTE_CHARS), 0.0, turn.turn_id)
        old = await asyncio.to_thread(self._memory.find, replaces)
        if refusal := await _ask_before_forgetting(old, turn, instead=text):
            return not_run(call.name, refusal)
        kept = await asyncio.to_thread(self._memory.keep, fact, replaces)
        await turn.audit("fact_remembered", {"id": kept.id, "said_by": kept.said_by, "replaces": list(replaces)})
        near = await asyncio.to_thread(partial(self._memory.search, text, _NEAR + 1, only_strong=True))
        others = [one.line() for one in near if one.id != kept.id][:_NEAR]
        echo = f"Remembered as #{kept.id}." + (f" The rule is their sentence: {text}" if kind == _RULE else "")
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
        return ToolResult(
            True,
            "recall",
            {"query": query, "count": len(facts), "facts": listed},
            echo,
            facts=(Brought("\n".join(lines)),),
        )

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
        """Raises ToolFailed if no fact fits, or several do."""
        if not text:
            raise ToolMisuse("Give id, or text that names the fact. recall lists the facts with their numbers.")
        found = self._memory.search(text, _FOUND)
        wanted = _words(text)
        whole = [fact for fact in found if set(wanted) <= set(_words(fact.text))]
        if len(whole) == 1:
            return [whole[0].id]
        if not found:
            raise ToolFailed("Nothing of that is remembered, so nothing was forgotten.")
        if len(found) == 1:
            hint = f"Say by id that this one is meant:\n{found[0].line()}"
            raise ToolFailed(_NOT_YET, hint, advice=Phrase(_FITS, {"fact": found[0].line()}))
        listed = "\n".join(fact.line() for fact in whole or found)
        hint = f"Say by id which of these, or all of them:\n{listed}"
        raise ToolFailed(_NOT_YET, hint, advice=Phrase(_FIT, {"facts": listed}))


class Reminders:
    """Adds the person's rules, and the facts that fit the person's words, to each model pass."""

    def __init__(self, memory: FactStore) -> None:
        self._memory = memory

    async def __call__(self, said: str) -> Mapping[str, str]:
        """Return these texts by heading, for the model's next pass; {} if nothing fits."""
        return {} if self._memory.is_empty else await asyncio.to_thread(self._gather, said)

    def _gather(self, said: str) -> Mapping[str, str]:
        rules = self._memory.rules()
        facts = self._memory.search(said, _FOUND, kind="fact", only_strong=True)
        profile = self._memory.profile()
        known = {fact.id for fact in profile}
        given, fitting = (
            _fitting(rules, _RULES_CHARS),
            _fitting([one for one in facts if one.id not in known], _FACTS_CHARS),
        )
        self._memory.note_use(given + fitting)
        shown = {
            "Rules that the person gave you to remember": _listed(given, len(rules)),
            "What the person lets you always know of them": _listed(profile, len(profile)),
            "What you remember of this (what they say now counts more)": _listed(fitting, len(fitting)),
        }
        return {heading: text for heading, text in shown.items() if text}


async def _ask_before_forgetting(old: Sequence[Fact], turn: TurnContext, instead: str = "") -> str:
    """Ask the person before these facts are deleted permanently. Return the refusal; "" if they agree.

    They are not asked about a single fact that the model itself concluded in this turn.
    """
    if len(old) < 2 and all(one.said_by == "model" and one.turn == turn.turn_id for one in old):
        return ""
    given: dict[str, JsonValue] = {"facts": [one.text for one in old[:_MOST_FOUND]], "count": len(old)}
    given |= {"instead": instead} if instead else {}
    return await turn.admit(ToolCall(unique("forget_"), _FORGETTING, given))


async def _ask_for_rule(text: str, quote: str, turn: TurnContext) -> str:
    """Ask the person before a rule is saved in words that are not theirs. Return the refusal; "" if they agree."""
    given: dict[str, JsonValue] = {"rule": text, "said": quote}
    return await turn.admit(ToolCall(unique("rule_"), _RULING, given))


def _effects_of_keeping(call: ToolCall) -> frozenset[Effect]:
    return frozenset({Effect.SETTINGS if call.has("rule") else Effect.WRITES})


def _describe_keeping(call: ToolCall) -> Phrase | None:
    """The rule word for word, for the question to the person."""
    rule, said = unquoted(call.text("rule"), _FACT_CHARS), unquoted(call.text("said"), _SHOWN_CHARS)
    told = "follow this rule from now on, in words that are not yours: “{rule}” (you said: “{said}”)"
    return Phrase(told, {"rule": rule, "said": said}) if rule else None


def _effects_of_forgetting(call: ToolCall) -> frozenset[Effect]:
    return frozenset({Effect.SETTINGS if call.has("facts") else Effect.WRITES})


def _describe_forgetting(call: ToolCall) -> Phrase:
    facts = call.arguments.get("facts")
    asked = facts[:_MOST_ASKED] if isinstance(facts, (list, tuple)) else ()
    texts = tuple(Phrase("“{fact}”", {"fact": unquoted(str(one), _SHOWN_CHARS)}) for one in asked)
    more = call.integer("count") - len(texts)
    listed: tuple[Phrase, ...] | Phrase = texts or Phrase("what it remembers")
    if texts and more > 0:
        listed = Phrase("{facts} and {count} more", {"facts": listed, "count": str(more)})
    instead = unquoted(call.text("instead"), _SHOWN_CHARS)
    if call.has("instead"):
        return Phrase("remember “{instead}” in place of {facts}", {"instead": instead, "facts": listed})
    return Phrase("forget {facts}", {"facts": listed})


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
        raise ToolFailed("Passwords, keys and card numbers are not remembered.", "Tell the person so.")


def _source(text: str, quote: str, said: str | None) -> tuple[str, str]:
    """Who said the fact (`person`, `model`) and in which words. `said`: None if the person wrote the call."""
    if said is None or _holds(said, text):
        return "person", text
    if quote and _holds(said, quote):
        return "model", quote
    raise ToolMisuse(
        "The person did not say so in this conversation. Give quote: their own words, exactly as they wrote them, from "
        "which it follows. What you only read somewhere, or guess, is not remembered."
    )


def _own_sentence(text: str, said: str) -> str:
    """Return the person's whole sentence that contains these words; "" if none does.

    A part of it could mean the opposite, as in "never say that …". The words may also be spread over up to three
    sentences.
    """
    sentences = [" ".join(plain(one)[0].split()) for one in _SENTENCE.split(said)]
    for size in range(1, _MOST_SENTENCES + 1):
        for at in range(len(sentences) - size + 1):
            own = " ".join(sentences[at : at + size]).strip()
            if _holds(own, text) and len(own) <= _FACT_CHARS:
                return own
    return ""


def _holds(said: str, text: str) -> bool:
    """Only words in a row count. Blanks and punctuation do not."""
    words, wanted = _words(said), _words(text)
    return bool(wanted) and any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _ids(value: JsonValue) -> list[int]:
    """Reads `12`, `#12, #15` or a list."""
    texts = [str(one) for one in value] if isinstance(value, (list, tuple)) else re.split(r"[,\s]+", str(value or ""))
    found = [_NUMBER.fullmatch(text.strip()) for text in texts if text.strip()]
    if not all(found):
        raise ToolMisuse(f"{value!r} names no facts: give their numbers, such as 12 or 12, 15.")
    return [int(one[1]) for one in found if one]


def _payload(fact: Fact) -> dict[str, JsonValue]:
    shown: dict[str, JsonValue] = {"id": fact.id, "kind": fact.kind, "text": fact.text, "said_by": fact.said_by}
    return {**shown, "quote": fact.quote, "path": f"#{fact.id}"}


_RARE = RareFamily("memory", "what the person wants remembered")

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
            is_lasting=True,
            execute=MemoryTools.remember,
            attrs=(
                Param("kind", description="rule for what they want always or never", choices=("fact", _RULE)),
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
            effects_by_call=_effects_of_keeping,
            read_back=_describe_keeping,
            steps=(_RULING,),
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
            is_lasting=True,
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
