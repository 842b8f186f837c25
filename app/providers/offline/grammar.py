"""The sentence templates of each language, matched by hassil: https://github.com/OHF-Voice/hassil."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml
from hassil.intents import Intent, IntentData, Intents
from hassil.parser import ParseError
from hassil.recognize import recognize_all

from app.base import resources
from app.base.values import dataclass

ENGLISH = "en"
_log = logging.getLogger(__name__)
_SLOT = re.compile(r"\{(\w+):(\w+)\}")  # a YAML table has a blank behind its colon
_TABLES = {
    "direction": "directions",
    "edge": "edges",
    "side": "sides",
    "much": "amounts",
    "theme": "themes",
    "scheme": "schemes",
    "made": "apps",
}
"""The slots at which one word of a table stands."""
_CLOSED = frozenset({"times", *_TABLES})
_DIGITS = tuple((str(number), number) for number in range(1, 1000))
_ENDINGS = {"text": "!?…", "line": "!?….", "command": "!?…."}
"""The marks at the end that belong to what stands at a slot."""
_GROUPS = {"(": ")", "[": "]"}
_KIND = "__"
"""Joins the kind of a slot and the argument that it fills, because hassil tells only one name."""


_Template = tuple[int, str, IntentData]
"""A template with its place among all, and the name of its intent."""


@dataclass(frozen=True, slots=True)
class Match:
    """One way to read a text: its intent, the fixed arguments, and the words at each slot by (kind, argument).

    `weight` is below 1 for templates that are the second choice; `literal` counts the letters that the template fixes,
    and `head` is the text before its first slot.
    """

    intent: str
    fixed: Mapping[str, Any]
    slots: Mapping[tuple[str, str], str]
    weight: float
    literal: int
    head: str = ""


class Grammar:
    """The templates and word lists of one language."""

    def __init__(self, language: str) -> None:
        file = f"offline/{language}.yaml"
        texts = [resources.text(file), *resources.added(file)]
        self.language = language
        kinds = {kind for text in texts for kind, _ in _SLOT.findall(text)}
        self.words = _read(texts[0])
        added = [found for text in texts[1:] if (found := _of_a_feature(text))]
        for more in added:
            for part in ("intents", "expansion_rules"):
                self.words[part] = {**more.get(part, {}), **self.words[part]}
        rules = self.words["expansion_rules"]
        alone = {
            name: {"data": [{**block, "sentences": [one]} for block in intent["data"] for one in block["sentences"]]}
            for name, intent in self.words["intents"].items()
        }
        lists = {kind: self._list(kind) for kind in kinds}
        told = {"language": self.words["language"], "expansion_rules": rules, "intents": alone, "lists": lists}
        self._intents = Intents.from_dict(told)
        self._begun: dict[str, list[_Template]] = {}
        templates = ((name, data) for name, intent in self._intents.intents.items() for data in intent.data)
        for number, (name, data) in enumerate(templates):
            for begin in beginnings(data.sentence_texts[0], rules):
                self._begun.setdefault(begin, []).append((number, name, data))
        self._longest = max(map(len, self._begun))
        self.between, self.strong = (_words_of(self.words["between"]), _words_of(self.words["strong"]))
        self.timed, self.within = _words_of(self.words["timed"]), _words_of(self.words["within"])
        self.commands = {
            intent: re.compile(rf"(?:{_words_of(said)})\s*:\s*(?P<command>.+)", re.IGNORECASE | re.DOTALL)
            for intent, said in self.words["commands"].items()
        }
        polite = self.words["polite"]
        before, after, always = (_words_of(polite[name]) for name in ("before", "after", "always"))
        self._before = re.compile(rf"(?:(?:{before})(?![\w'-])[\s,.!:]*)+", re.IGNORECASE)
        self._after = re.compile(rf"(?:[\s,]+(?:{after}))+(?=[\s.!?]*$)", re.IGNORECASE)
        self._always = re.compile(rf"(?:[\s,]+(?:{always}))+(?=[\s.!?]*$)", re.IGNORECASE)
        self._bare = re.compile(rf"(?<!,)\s(?:{after})[\s.!?]*$", re.IGNORECASE)
        self._requests = re.compile(rf"(?:{_words_of(polite['requests'])})\b", re.IGNORECASE)
        self._refusals = {
            kind: re.compile(rf"(?:{_words_of(said)})(?![\w'-])", re.IGNORECASE)
            for kind, said in self.words["refusals"].items()
        }
        self.how = re.compile(rf"(?:{_words_of(self.words['how'])})\b\s*", re.IGNORECASE)
        self.negations = re.compile(
            rf"(?:^|\s)(?:{_words_of(self.words['refusals']['negation'])})(?=\s)", re.IGNORECASE
        )
        self.verbs = re.compile(rf"(?:{_words_of(self.words['verbs'])})(?!\w)", re.IGNORECASE)
        self.vocabulary = frozenset(re.findall(r"[^\W\d_]{3,}", _literals(self.words)))
        self.strangers = re.compile(
            rf"(?<!\w)(?:{_words_of(self.words['strangers'])}|{self.between})(?!\w)", re.IGNORECASE
        )

    def _list(self, kind: str) -> dict[str, Any]:
        """The values of a slot that is one of a table's words, or that any words may stand at it."""
        if kind == "times":
            words = [(word, int(value)) for word, value in self.words["numbers"].items() if value.isdigit()]
            return {"values": [{"in": word, "out": value} for word, value in (*words, *_DIGITS)]}
        if table := _TABLES.get(kind):
            told = ((word, key) for key, said in self.words[table].items() for word in (key, *said))
            return {"values": [{"in": word, "out": key} for word, key in dict.fromkeys(told)]}
        return {"wildcard": True}

    def _fitting(self, text: str) -> Intents:
        """Those that begin as the text does. Only these are ever parsed."""
        low = re.sub(r"^\W+", "", text).casefold()
        lengths = range(min(len(low), self._longest) + 1)
        begun = (one for length in lengths for one in self._begun.get(low[:length], ()))
        found = {one[0]: one for one in begun if _can_be_parsed(one[2])}
        intents: dict[str, Intent] = {}
        for _, (_, name, data) in sorted(found.items()):
            intents.setdefault(name, Intent(name)).data.append(data)
        return replace(self._intents, intents=intents)

    def matches(self, text: str) -> Iterator[Match]:
        """Yield each way in which the templates read the text."""
        seen = set()
        for found in recognize_all(text, self._fitting(text)):
            slots: dict[tuple[str, str], str] = {}
            fixed: dict[str, Any] = {}
            starts: list[int] = []
            ends: list[int] = []
            for name, entity in found.entities.items():
                if entity.text_span is None:
                    fixed[name] = entity.value
                else:
                    kind, _, argument = name.partition(_KIND)
                    start, end = entity.text_span
                    starts.append(start)
                    if kind in _CLOSED:
                        fixed[argument] = entity.value
                        continue
                    ends.append(end)
                    ending = text[end:]
                    while start and text[start - 1] == ".":  # which hassil cuts off: ../x.txt
                        start -= 1
                    if ending and set(ending) <= set(_ENDINGS.get(kind, "")):
                        end = len(text)  # because hassil cuts them off
                    slots[kind, argument] = text[start:end].strip(" ,:;")
            fixed = {name: int(value) if str(value).isdigit() else value for name, value in fixed.items()}
            if any(_is_inside(text, start) or re.search(r"\w-\Z", text[:start]) for start in starts):
                continue  # because hassil takes “app-2” for two words, and loses count of its letters
            if any(_is_inside(text, end) for end in ends):
                continue  # because hassil ends “Einkauf” with the word “auf”
            key = (found.intent.name, *fixed.items(), *slots.items())
            if key not in seen and all(slots.values()):
                seen.add(key)
                weight = float((found.intent_metadata or {}).get("weight", 1))
                yield Match(
                    found.intent.name,
                    fixed,
                    slots,
                    weight,
                    len(text) - sum(map(len, slots.values())),
                    text[: min(starts, default=len(text))],
                )

    def without_polite(self, text: str) -> tuple[str, str]:
        """Return the text without the polite words around it, and without those that end no text to type either."""
        rest = self.without_lead(text)
        return self._after.sub("", rest), self._always.sub("", rest)

    def plainly(self, clause: str) -> str:
        """Return a formal order, such as “Öffnen Sie die Datei”, with its verb at the end, as the templates have it."""
        formal = self.words["formal"]
        said = re.match(formal, self.without_lead(clause), re.IGNORECASE) if formal else None
        if said is None:
            return clause
        rest = self.without_lead(said["rest"].strip())
        return f"{rest} {said['particle'] or ''}{said['verb'].lower()}"

    def is_courteous(self, text: str) -> bool:
        """True if no comma sets the polite word at the end apart, so that it may belong to the text."""
        return bool(self._bare.search(text))

    def without_lead(self, text: str) -> str:
        """Return the text without the polite words before it. “ok” alone is all of a sentence."""
        begin = self._before.match(text)
        return (text[begin.end() :] if begin else text) or text

    def is_request(self, text: str) -> bool:
        """True if the text asks politely (“could you …?”), so that its question mark is no part of it."""
        begin = self._before.match(text)
        return bool(begin and self._requests.search(begin[0]))

    def refusal(self, text: str) -> str:
        """Return why words that begin so are not done: "negation", "condition", "past", "question", "outside" or ""."""
        found = [(said.end(), kind) for kind, shape in self._refusals.items() if (said := shape.match(text))]
        return max(found)[1] if found else ""

    def listed(self, table: str, said: str) -> str:
        """Return the key of a table whose words are `said` (in any case); "" if none are."""
        words = said.casefold().strip()
        return next((key for key, known in self.words[table].items() if words == key or words in known), "")


@functools.cache
def grammars() -> tuple[Grammar, ...]:
    """English is first."""
    names = sorted(file.stem for file in resources.path("offline").glob("*.yaml"))
    return tuple(Grammar(name) for name in sorted(names, key=lambda name: name != ENGLISH))


def _can_be_parsed(template: IntentData) -> bool:
    """Another package may have written the template."""
    try:
        return bool(template.sentences)
    except (ParseError, LookupError, ValueError) as error:
        _log.error("A sentence of a feature cannot be read and is left out: %s", error)
        return False


def beginnings(template: str, rules: Mapping[str, str]) -> frozenset[str]:
    """Return the beginnings of which any text that fits a template has one, in lower case; {""} if any text may fit."""
    try:
        found = _begins(template, rules)
    except (LookupError, ValueError):  # because it is no template
        return frozenset()
    return frozenset({""}) if found is None or "" in found else frozenset(found)


def _begins(template: str, rules: Mapping[str, str]) -> set[str] | None:
    """How texts may begin that fit a template; "" stands for an empty text, None for any beginning."""
    template = template.lstrip()
    if not template:
        return {""}
    if literal := re.match(r"\w+", template):
        return {literal[0].casefold()}
    if rule := re.match(r"<(\w+)>", template):
        inner, rest = [rules[rule[1]]], template[rule.end() :]
    elif template[0] in _GROUPS:
        end = _end_of_group(template)
        inner, rest = _parted(template[1:end]), template[end + 1 :]
    else:  # a slot or a mark
        return None
    found: set[str] = {""} if template[0] == "[" else set()
    for one in inner:
        begun = _begins(one, rules)
        if begun is None:
            return None
        found |= begun
    if "" not in found:
        return found
    behind = _begins(rest, rules)
    return None if behind is None else found - {""} | behind


def _end_of_group(template: str) -> int:
    depth = 0
    for at, sign in enumerate(template):
        depth += (sign in _GROUPS) - (sign in _GROUPS.values())
        if not depth:
            return at
    raise ValueError(template)


def _parted(group: str) -> list[str]:
    parts, depth = [""], 0
    for sign in group:
        depth += (sign in _GROUPS) - (sign in _GROUPS.values())
        if sign == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


@functools.cache
def own_words(grammar: Grammar) -> frozenset[str]:
    """Return the words of a language that no other language has."""
    return grammar.vocabulary.difference(*(one.vocabulary for one in grammars() if one is not grammar))


def _read(text: str) -> dict[str, Any]:
    """A slot names its kind and the argument. “yes”, “on” and numbers stay words."""
    made: dict[str, Any] = yaml.load(
        _SLOT.sub(rf"{{\1:\1{_KIND}\2}}", text), Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    )
    return made


def _of_a_feature(text: str) -> dict[str, Any]:
    """{} if the templates cannot be read, because another package may have written them."""
    try:
        made = _read(text)
        blocks = [block for intent in made["intents"].values() for block in intent["data"]]
        if not all(isinstance(one, str) for block in blocks for one in block["sentences"]):
            raise TypeError("a sentence is no text")
    except (yaml.YAMLError, LookupError, TypeError, AttributeError) as error:
        _log.error("Sentences of a feature cannot be read and are left out: %s", error)
        return {}
    return made


def grammar_of(language: str) -> Grammar:
    return next((one for one in grammars() if one.language == language), grammars()[0])


def _is_inside(text: str, at: int) -> bool:
    """True inside a word."""
    return 0 < at < len(text) and bool(re.match(r"\w\w", text[at - 1 : at + 1]))


def _words_of(said: list[str]) -> str:
    """For any of the phrases, the longest first."""
    return "|".join(re.escape(one) for one in sorted(said, key=len, reverse=True))


def _literals(words: Mapping[str, Any]) -> str:
    """All words that a language fixes, those around a wish too."""
    said = [
        sentence for intent in words["intents"].values() for block in intent["data"] for sentence in block["sentences"]
    ]
    polite = [phrase for phrases in words["polite"].values() for phrase in phrases]
    templates = re.sub(r"\{[^}]*\}|<[^>]*>", " ", " ".join([*said, *words["expansion_rules"].values()]))
    tables = (words[table].values() for table in ("apps", "days", "relative", "spans"))
    named = [name for table in tables for names in table for name in names]
    times = [*words["past"], *words["numbers"], *words["units"], *words["clock"]]
    return " ".join([templates, *polite, *words["articles"], *words["strangers"], *named, *times]).lower()
