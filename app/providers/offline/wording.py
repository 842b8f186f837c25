"""The sentences of the offline provider, from `resources/offline/phrases*.toml`. Equal wishes get equal sentences."""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from string import Formatter
from typing import Any

from app.base.texts import clip_line, clip_middle, for_people, shell_word
from app.base.values import dataclass, field, replace
from app.protocol.dialects.api import INTRODUCES
from app.protocol.message import Message, Role, TextPart
from app.providers.offline.clause import verbs
from app.providers.offline.questions import without_dialogs
from app.providers.offline.words import ENGLISH, PlannedCall, Refusal, Talk, language_of, lexicon, tokens_of

_LEAST_LIKENESS = 75
_SHORTEST = 3
Understands = Callable[[str], bool]
"""Returns whether Wisp would do or answer a sentence if the person said it."""


class Phrasebook:
    """The sentences of one language."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._file = "phrases" if language == ENGLISH else f"phrases_{language}"
        self._marks = str.maketrans("“”", self.table("quotes")["marks"])

    def table(self, name: str) -> Mapping[str, Any]:
        """Return the sentences about one subject, given its name in the phrases file."""
        return lexicon().table(f"{self._file}.{name}")

    def _what(self, step: PlannedCall) -> str:
        return step.what.translate(self._marks)

    def doing(self, step: PlannedCall, index: int) -> str:
        """Return the sentence before a step. Neighbouring steps get different sentences if there are several."""
        return _chosen(self.table(step.phrase)["doing"], index).format(what=self._what(step))

    def finished(self, steps: Sequence[PlannedCall], proofs: Sequence[str], found: str) -> str:
        """Return the last sentence: the steps, what their receipts claim, and what readings of the screen found."""
        if found and all(step.phrase in lexicon().table("notes.notes")["answers"] for step in steps):
            return found  # because a question gets an answer and no report
        table = self.table("finished")
        text = _chosen(table["opening"], len(steps)).format(steps=self.listed(steps))
        unseen = [step for step, proof in zip(steps, proofs, strict=False) if proof == _UNVERIFIABLE]
        if unseen:
            text += " " + str(table["unseen"]).format(steps=self.listed(unseen))
        elif _CONFIRMED in proofs:
            text += f" {table['seen']}"
        return f"{text} {found}".strip()

    def outcome_of(self, step: PlannedCall, echo: str) -> str:
        """Return the result that the last action's receipt reports. Typed text is no result."""
        table = self.table("finished")
        if title := _CALLED.search(echo):
            said = str(table["called"]).format(title=title[1].lstrip("*"))
            return f"{said} {table['unsaved']}" if title[1].startswith("*") else said
        return str(table["shows"]).format(value=value) if (value := self.value_of(step, echo)) else ""

    def value_of(self, step: PlannedCall, echo: str) -> str:
        """Return what the receipt says the screen shows now, such as a sum's result; "" if it says nothing of that."""
        values = (found[2].strip() for found in _VALUE.finditer(echo))
        return next((value for value in values if value and value not in str(step.arguments.get("text", ""))), "")

    def rehearsed(self, steps: Sequence[PlannedCall], found: str) -> str:
        """Return the last sentence of a dry run."""
        text = str(self.table("finished")["dry"]).format(steps=self.listed(steps))
        return f"{text} {found}".strip()

    def doubted(self, steps: Sequence[PlannedCall], doubts: Sequence[PlannedCall], found: str) -> str:
        """Return the last sentence if nothing confirms that some steps worked."""
        text = str(self.table("doubted")["one" if len(steps) == 1 else "several"])
        return f"{text.format(steps=self.listed(steps), doubts=self.listed(doubts))} {found}".strip()

    def listed(self, steps: Sequence[PlannedCall]) -> str:
        """Return the steps in one phrase: `opened calculator, typed “1” and pressed enter`."""
        table = self.table("finished")
        done = [str(self.table(step.phrase)["done"]).format(what=self._what(step)) for step in steps]
        parts = [str(table["join"]).join(done[:-1]), done[-1]]
        return str(table["last"]).join(part for part in parts if part)

    def failed(self, step: PlannedCall, before: Sequence[PlannedCall], echo: str) -> str:
        """Say which step did not work, why, and what was done before it."""
        table, phrase = self.table("failed"), self.table(step.phrase)
        what = str(phrase["failed"]).format(what=self._what(step))
        why = _reason(step, echo, table) or str(table["no_reason"])
        why = self._fitting(step, echo) or self.translated(why)
        if is_unattended(echo) and "elsewhere" in phrase:
            why = _elsewhere(phrase["elsewhere"], step)
        if not before:
            return str(table["first"]).format(what=what, reason=why)
        return str(table["later"]).format(what=what, steps=self.listed(before), reason=why)

    def _timed(self, listed: str) -> str:
        """Return a list of plans that says in this language when each will run."""
        line = lexicon().table("notes.planned")["line"]
        return re.sub(line, lambda found: found[1] + self.translated(found[2], "times") + found[3], listed)

    def translated(self, text: str, table: str = "reasons") -> str:
        """Return a tool's sentence in this language, as far as a table of the notes knows it."""
        for reason in lexicon().table(f"notes.{table}").get(self._language, ()):
            text = re.sub(reason["said"], reason["means"], text)
        return text

    def _fitting(self, step: PlannedCall, echo: str) -> str:
        """Return the things that fit, numbered, and how to name each; "" unless the step failed for this reason."""
        table, said, phrase = self.table("several"), lexicon().table("notes.several"), self.table(step.phrase)
        listed = re.search(said["list"], echo, re.DOTALL)
        found = list(re.finditer(said["entry"], listed["list"])) if listed and "again" in phrase else []
        if not found:
            return ""
        lines, titles = [str(table["intro"])], [one["title"] for one in found]
        for number, one in enumerate(found, 1):
            where = table["places"].get(one["where"], one["where"])
            named = f"{one['title']} {where}" if where else one["title"]
            is_told = named and (where or titles.count(one["title"]) == 1) and '"' not in named
            wish = str(phrase["again"]).format(name=f'"{named}"' if is_told else one["ref"])
            inside = str(table["inside"]).format_map(one.groupdict()) if one["window"] else ""
            shown = str(table["line"]).format(name=named or one["name"] or one["ref"], inside=inside, wish=wish)
            lines.append(f"{number}. {shown}")
        return "\n".join(lines)

    def left(self, before: Sequence[PlannedCall]) -> str:
        """Return the last sentence if the person did not allow a step. `before` are the steps that were done."""
        table = self.table("left")
        return str(table["later"]).format(steps=self.listed(before)) if before else str(table["first"])

    def talk(self, said: Talk, now: datetime.datetime, name: str = "") -> str:
        """Return an answer in words, with the time, the date and the assistant's name if the answer has them."""
        calendar = self.table("calendar")
        date = str(calendar["date"]).format(
            weekday=calendar["weekdays"][now.weekday()],
            day=now.day,
            month=calendar["months"][now.month - 1],
            year=now.year,
        )
        return str(self.table("talk")[said.topic]).format(time=f"{now:%H:%M}", date=date, what=said.what, name=name)

    def refused(self, refusal: Refusal, understands: Understands) -> str:
        """Return one sentence: what could not be read, and the nearest possible command."""
        sentence = str(self.table("refused")[refusal.kind])
        named = {name for _, name, _, _ in Formatter().parse(sentence) if name}
        values = {"part": refusal.part, "near": self._near(refusal, understands)}
        return sentence.format(**{name: values[name] for name in named})

    def _near(self, refusal: Refusal, understands: Understands) -> str:
        """Return a hint: a known replacement or a corrected command that Wisp understands, else what is possible."""
        table = self.table("near")
        if refusal.near and understands(refusal.near):
            return str(table["hint"]).format(hint=refusal.near)
        guess = _respelled(refusal.part) if refusal.kind == "unreadable" else ""
        if guess and language_of(tokens_of(guess)) == self._language and understands(guess):
            return str(table["guess"]).format(guess=guess)
        return str(table[refusal.kind])

    def found(self, step: PlannedCall, echo: str) -> str:
        """Return the result of a reading with its introduction; "" for steps that only act."""
        table = self.table(step.phrase)
        if table.keys().isdisjoint(("found", "many")):
            return ""
        echo = _without_docs(step, echo)
        if step.phrase == "read_part":
            texts = (
                _plain(one["name"]) or _plain(one["value"]) for one in map(_ELEMENT.fullmatch, echo.splitlines()) if one
            )
            lines = [text for text in texts if text]
            text = clip_middle("\n".join(lines), _NAMES_CHARACTERS, _NAMES_CHARACTERS)
            lead = "\n" if len(lines) > 1 else ""
            told = str(table["found"]).format(text=lead + text).replace(" \n", "\n", 1)
            return told if text else str(table["nothing"])
        if "many" in table:
            return _counted(table, echo, folders=step.phrase == "count_folders")
        if step.tool == "web_search":
            hits = _FENCED.search(echo)
            return f"{table['found']}\n{hits['text']}" if hits else str(table["nothing"])
        if step.tool == "execute_command":
            return _printed(table, echo, str(step.arguments["command"]))
        if empty := lexicon().table("notes.headed").get(step.phrase):
            told = echo.partition("\n")[2]
            return str(table["nothing"]) if re.match(empty, told) else f"{table['found']}\n{told.strip()}"
        if "nothing" in table:
            return f"{table['found']}\n{self._timed(echo.strip())}" if _ENTRY.match(echo) else str(table["nothing"])
        lines = list(_elements(echo, table) if step.phrase == "read" else _windows(echo, table))
        return "\n".join([table["found"], *lines]) if lines else self.translated(echo.strip())


@functools.cache
def phrasebook(language: str) -> Phrasebook:
    return Phrasebook(language)


def is_doubted(step: PlannedCall, proof: str) -> bool:
    """Return whether a receipt with this proof leaves open that the step had any effect.

    Text and keys that changed the screen did arrive. A click that changed it may only have focused a disabled button.
    """
    doubts = lexicon().table("notes.doubts")
    return (
        step.phrase not in doubts["silent"]
        and proof in doubts["clicks" if step.phrase in doubts["phrases"] else "acts"]
    )


def _respelled(part: str) -> str:
    """Correct the first word of `opn the calculator`; return "" if no verb is similar."""
    from rapidfuzz import process

    first, _, rest = part.partition(" ")
    known = verbs()
    if len(first) < _SHORTEST or first.lower() in known:
        return ""
    found = process.extractOne(first.lower(), sorted(known), score_cutoff=_LEAST_LIKENESS)
    return f"{found[0]} {rest}".strip() if found else ""


_CALLED = re.compile(r"is now called '([^']+)'")
_VALUE = re.compile(r"""(?:holds|became|New:(?: \w[\w ]*)?) (['"])(.+?)\1(?: now)?\.""")


def _chosen(sentences: Sequence[str], index: int) -> str:
    return sentences[index % len(sentences)]


_RESULT = re.compile(r'<result tool="[^"]*" status="(?P<status>\w+)">(?P<text>.*?)</result>', re.DOTALL)
_UNVERIFIABLE, _CONFIRMED = "unverifiable", "confirmed"
_PROOFS = ("suspected no-op", _UNVERIFIABLE, _CONFIRMED)
"""The proofs that a receipt may name, the weakest first."""


class StepOrigin(Enum):
    PERSON = "a new wish"
    MEANWHILE = "a wish said while another was carried out"
    RESULTS = "what a call brought"
    LOOP = "what the loop told the model"


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of one call; `text` is the tool's own words."""

    ok: bool
    text: str

    @property
    def proof(self) -> str:
        """Return the proof that the receipt claims. Of several in the text, the weakest counts."""
        return next((proof for proof in _PROOFS if f"({proof})" in self.text), "")

    @property
    def is_confirmed(self) -> bool:
        return self.proof == _CONFIRMED

    def shows(self, wanted: str) -> bool:
        """Return whether the confirmed receipt says that a window "opened" or "closed"; True if `wanted` is ""."""
        return not wanted or (self.is_confirmed and bool(re.search(rf"""['"] {wanted}\.""", self.text)))

    @property
    def is_dry(self) -> bool:
        """Return whether this was a dry run."""
        return lexicon().table("notes.notes")["dry"] in self.text


@dataclass(slots=True)
class Exchange:
    """A wish, what the person said during its execution, and the outcomes of its calls, in order."""

    wishes: list[str] = field(default_factory=list)
    outcomes: list[StepOutcome] = field(default_factory=list)

    @property
    def is_refused(self) -> bool:
        """Return whether the person said no to the last call."""
        return bool(self.outcomes) and not self.outcomes[-1].ok and is_denied(self.outcomes[-1].text)


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """Return all wishes of the conversation, the latest last.

    What the person said while a call waited for their answer is a wish of its own if they then refused that call.
    """
    found: list[Exchange] = []
    for origin, text in _sorted(messages):
        match origin:
            case StepOrigin.PERSON:
                found.append(Exchange([text]))
            case StepOrigin.MEANWHILE if found and not found[-1].is_refused:
                found[-1].wishes.append(text)
            case StepOrigin.MEANWHILE:
                found.append(Exchange([text]))
            case StepOrigin.RESULTS if found:
                found[-1].outcomes.append(_outcome(text))
            case _:
                continue
    return found


def _sorted(messages: Sequence[Message]) -> Iterator[tuple[StepOrigin, str]]:
    for message in messages:
        if message.role is not Role.USER:
            continue
        for part in message.parts:
            if isinstance(part, TextPart) and part.text.strip():
                yield _origin(part.text)


def _origin(text: str) -> tuple[StepOrigin, str]:
    table = lexicon().table("notes.notes")
    if text.lstrip().startswith(tuple(table["results"])):
        return StepOrigin.RESULTS, text
    if text.startswith(tuple(table["loop"])):
        return StepOrigin.LOOP, text
    if text.startswith(table["meanwhile"]):
        return StepOrigin.MEANWHILE, text.removeprefix(table["meanwhile"])
    served = _FENCED.search(text) if text.lstrip().startswith("/") else None
    return StepOrigin.PERSON, served["text"].strip() if served else text  # what a command brought is the wish


def _outcome(text: str) -> StepOutcome:
    """Read the outcome of a pass, which makes one call. A text that does not show success counts as a failure."""
    results = list(_RESULT.finditer(text))
    ok = bool(results) and all(result["status"] == "ok" for result in results)
    return StepOutcome(ok, "\n".join(result["text"].strip() for result in results).replace("&lt;", "<"))


_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ELEMENT = re.compile(
    rf"\s*(?P<ref>[et])\d+ (?P<role>[a-z][a-z -]*?)(?: (?P<name>{_QUOTED}))?(?: = (?P<value>{_QUOTED}))? \(-?\d+,.*"
)
_WINDOW = re.compile(rf"\S+ (?P<title>{_QUOTED}) (?P<app>.*?) -?\d+x-?\d+ at \(.*?\)(?P<marks>.*)")
_FENCED = re.compile(r"^--- (?P<fence>\w+) ---\n(?P<text>.*)\n--- (?P=fence) ---$", re.DOTALL | re.MULTILINE)
_NAMES_CHARACTERS = 400
_MORE = "[there is more;"
_ENDED = re.compile(r"Run \S+ ended with exit code (?P<code>\d+) after [\d.]+ s\.")
_NO_OUTPUT = "(no output)"
_ENTRY = re.compile(r"\s*(?:#|\d+\. )")
"""How a list of facts or of schedules begins."""
_NO_ENTRY = re.compile(r"\[there is more; |\[could not be read: |\(nothing[ ;)]")


def _counted(table: Mapping[str, Any], echo: str, *, folders: bool) -> str:
    """Return how many files or folders a listing names. Hidden ones are counted separately."""
    entries = echo.splitlines()[1:]
    told = [entry for entry in entries if entry.endswith("/") == folders and not _NO_ENTRY.match(entry)]
    hidden = sum(entry.startswith(".") for entry in told)
    count = len(told) - hidden
    answer = str(table["one" if count == 1 else "many"]).format(count=count)
    more = str(table["more"]) if any(entry.startswith(_MORE) for entry in entries) else ""
    return f"{answer}{str(table['hidden']).format(count=hidden) if hidden else ''}{more}."


def _printed(table: Mapping[str, Any], echo: str, command: str) -> str:
    """Return how a command ended if it failed, what it deleted, what it printed, and how it gets the network."""
    state, _, output = echo.strip().partition("\n")
    ended = _ENDED.match(state)
    parts = [str(table["code"]).format(code=ended["code"])] if ended and ended["code"] != "0" else []
    said = f"{table['found']}\n{output.strip()}" if output.strip() != _NO_OUTPUT else str(table["silent"])
    parts += [for_people(state[ended.end() :] if ended else state), said]
    if ended and ended["code"] != "0" and "no network" in state and re.match(table["online"], command):
        parts.append(str(table["network"]).format(command=command))
    return " ".join(filter(None, parts))


def is_denied(echo: str) -> bool:
    """Say whether the person refused the call."""
    return any(words in echo for words in lexicon().table("notes.notes")["denied"])


def is_unattended(echo: str) -> bool:
    """Return whether the call needed a person's answer and nobody was there."""
    return any(words in echo for words in lexicon().table("notes.notes")["unattended"])


def is_missing(echo: str) -> bool:
    """Return whether what the call looks for is not on the screen."""
    return any(words in echo for words in lexicon().table("notes.notes")["missing"])


def as_made(step: PlannedCall, echo: str) -> PlannedCall:
    """Return the step that makes an app with the app's name and, if it was there already, the phrase that says so."""
    notes = lexicon().table("notes.notes")
    named = re.search(notes["made"], echo)
    phrase = "made_before" if notes["made_before"] in echo else step.phrase
    return replace(step, phrase=phrase, what=named[1] if named else step.what)


def _elsewhere(sentence: str, step: PlannedCall) -> str:
    """Return the command with which the person can do the step themselves."""
    told = {name: shell_word(str(value)) for name, value in step.arguments.items()}
    return sentence.format_map({**told, "allow": f" --allow {told['allow']}" if "allow" in told else ""})


def _reason(step: PlannedCall, echo: str, words: Mapping[str, Any]) -> str:
    """Return why a step failed: the tool's own sentences, without those that only a model can follow."""
    text = " ".join(_without_docs(step, without_dialogs(echo)).split()).removeprefix(f"{step.tool}:").strip()
    kept = for_people(text)
    is_cut = len(kept.split()) < len(text.split())
    is_on_screen = step.phrase in lexicon().table("notes.notes")["on_screen"] and not text.startswith("not run.")
    return f"{kept} {words['instead']}".strip() if is_cut and is_on_screen else kept


def _without_docs(step: PlannedCall, echo: str) -> str:
    return echo.partition(f"\n{INTRODUCES.format(name=step.tool)}\n")[0]


def _elements(echo: str, words: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each window, in the order of the outline, and one for those of which nothing is seen."""
    notes, role, written = lexicon().table("notes.notes"), "", list[str]()
    groups: list[tuple[str, dict[str, list[str]], list[str], set[bool]]] = [("", {}, [], set())]
    for match in filter(None, map(_ELEMENT.fullmatch, echo.splitlines())):
        name = _plain(match["name"]) or _plain(match["value"])
        if match["role"] in notes["windows"]:
            role = match["role"]
            groups.append((name, {}, [], {True} if match[0].endswith(f" {notes['covered']}") else set()))
        elif match["ref"] == "t":
            written.append(name)
        elif name and match["role"] in words["kinds"]:
            groups[-1][1].setdefault(words["kinds"][match["role"]], []).append(name)
            groups[-1][3].add(match[0].endswith(f" {notes['covered']}"))
        elif name and role in notes["dialogs"] and match["role"] in notes["texts"]:
            groups[-1][2].append(name)
    for window, by_kind, texts, states in groups:
        yield from () if states == {True} else _group(window, by_kind, texts, words)
    if behind := words["between"].join(one[0].lstrip("*") or words["nameless"] for one in groups if one[3] == {True}):
        yield str(words["behind"]).format(windows=clip_line(behind, _NAMES_CHARACTERS))
    if written:
        yield str(words["written"]).format(text=clip_line(" ".join(written), _NAMES_CHARACTERS))


def _group(
    window: str, by_kind: Mapping[str, list[str]], texts: Sequence[str], words: Mapping[str, Any]
) -> Iterator[str]:
    kinds = [f"{kind} {clip_line(', '.join(names), _NAMES_CHARACTERS)}" for kind, names in by_kind.items()]
    if window or kinds or texts:
        yield str(words["dialog" if texts else "group"]).format(
            window=window.lstrip("*") or words["nameless"],
            text=clip_line(" ".join(texts), _NAMES_CHARACTERS),
            things="; ".join(kinds) or words["empty"],
        )


def _windows(echo: str, words: Mapping[str, Any]) -> Iterator[str]:
    for match in filter(None, map(_WINDOW.fullmatch, echo.splitlines())):
        title = _plain(match["title"])
        marks = [words["marks"][mark] for mark in re.findall(r"active|minimised", match["marks"])]
        marks += [words["unsaved"]] if title.startswith("*") else []
        yield str(words["line"]).format(title=title.lstrip("*"), notes=", ".join([match["app"], *marks]))


def _plain(quoted: str | None) -> str:
    try:
        return str(json.loads(quoted)) if quoted else ""
    except ValueError:  # because a cut line may end inside the quotation
        return (quoted or "").strip('"')
