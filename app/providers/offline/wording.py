"""The sentences of the offline provider, from `resources/offline/phrases*.toml`. Equal wishes get equal sentences."""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from app.base import resources
from app.base.people import for_people
from app.base.texts import clip_line, clip_middle, shell_word
from app.base.values import dataclass, field, replace
from app.protocol.dialects.api import INTRODUCES
from app.protocol.message import Message, Role, TextPart
from app.providers.offline.questions import without_dialogs

if TYPE_CHECKING:  # because reading is slow to import, and most of who needs words needs no reading
    from app.providers.offline.plans import PlannedCall
    from app.providers.offline.reading import Refusal

ENGLISH = "en"
_DIGITS = 6
_ANSWER_CHARS = 24


def notes(name: str) -> Mapping[str, Any]:
    """Return a table of `resources/offline/notes.toml`: how to tell what tools and the loop say."""
    table: Mapping[str, Any] = resources.table("offline/notes.toml", resources.Table)[name]
    return table


@functools.lru_cache(maxsize=256)
def language_of(said: str) -> str:
    """Return the language of the first word that only one language has; "" if no word decides."""
    known = resources.table("offline/languages.toml", resources.Table)["words"]
    words = re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", said.lower())
    return next((language for word in words for language, own in known.items() if word in own), "")


class Phrasebook:
    """The sentences of one language."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._file = "phrases" if language == ENGLISH else f"phrases_{language}"
        self._marks = str.maketrans("“”", self.table("quotes")["marks"])

    def table(self, name: str) -> Mapping[str, Any]:
        """Return the sentences about one subject, given its name in the phrases file."""
        table: Mapping[str, Any] = resources.table(f"offline/{self._file}.toml", resources.Table)[name]
        return table

    def _what(self, step: PlannedCall) -> str:
        names = self.table(step.phrase).get("names")
        what = ", ".join(names.get(word, word) for word in step.what.split()) if names else step.what
        return what.translate(self._marks)

    def doing(self, step: PlannedCall, index: int) -> str:
        """Return the sentence before a step. Neighbouring steps get different sentences if there are several."""
        return _chosen(self.table(step.phrase)["doing"], index).format(what=self._what(step))

    def finished(self, steps: Sequence[PlannedCall], proofs: Sequence[str], found: str) -> str:
        """Return the last sentence: what was found or has come of the steps, and whether nothing confirms them."""
        if found:
            return found
        table, last = self.table("finished"), self.table(steps[-1].phrase)
        if "result" in last:
            return str(last["result"]).format(what=self._what(steps[-1]))
        return str(table["unseen" if _UNVERIFIABLE in proofs else "done"])

    def outcome_of(self, step: PlannedCall, echo: str) -> str:
        """Return the result that the last action's receipt reports; a short one alone. Typed text is no result."""
        table = self.table("finished")
        if (title := _CALLED.search(echo)) and step.phrase != "save":
            said = str(table["called"]).format(title=title[1].lstrip("*"))
            return f"{said} {table['unsaved']}" if title[1].startswith("*") else said
        if notes("notes")["closed"] in echo:
            return str(table["closed"])
        value = self.value_of(step, echo)
        return str(table["shows"]).format(value=value) if len(value) > _ANSWER_CHARS else value

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
        line = notes("planned")["line"]
        return re.sub(line, lambda found: found[1] + self.translated(found[2], "times") + found[3], listed)

    def translated(self, text: str, table: str = "reasons") -> str:
        """Return a tool's sentence in this language, as far as a table of the notes knows it."""
        for reason in notes(table).get(self._language, ()):
            text = re.sub(reason["said"], reason["means"], text)
        return text

    def _fitting(self, step: PlannedCall, echo: str) -> str:
        """Return the things that fit, numbered, and how to name each; "" unless the step failed for this reason."""
        table, said, phrase = self.table("several"), notes("several"), self.table(step.phrase)
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

    def talk(self, topic: str, **given: str) -> str:
        """Return an answer in words, with what is given filled in."""
        return str(self.table("talk")[topic]).format(**given)

    def date(self, now: datetime.datetime) -> str:
        calendar = self.table("calendar")
        weekday, month = calendar["weekdays"][now.weekday()], calendar["months"][now.month - 1]
        return str(calendar["date"]).format(weekday=weekday, day=now.day, month=month, year=now.year)

    def number(self, value: float) -> str:
        """Return a number as it is written in this language, with at most six digits."""
        return f"{value:.{_DIGITS}g}".replace(".", self.table("calendar")["point"])

    def refused(self, refusal: Refusal) -> str:
        """Return one sentence: what was not understood, and what could be said instead."""
        sentence = str(self.table("refused")[refusal.kind])
        return sentence.format(part=refusal.part, near=self._near(refusal), limit=refusal.limit)

    def _near(self, refusal: Refusal) -> str:
        """Return sentences that can be said instead, made from what was said. The web answers questions, no orders."""
        table, part = self.table("near"), re.sub(r"[“”„?.!]", "", refusal.part).strip(" …")
        said = [refusal.can] if refusal.can else []
        if not said and refusal.program:
            said.append(str(table["open"]).format(name=refusal.program))
        if not refusal.can and refusal.kind == "question":
            said.append(str(table["search"]).format(part=part))
        said = said or [str(table["help"])]
        return str(table["or"]).join(f"“{one}”" for one in said).translate(self._marks)

    def is_look(self, step: PlannedCall) -> bool:
        """Return whether a step brings something to tell, and changes nothing that could be undone."""
        return not self.table(step.phrase).keys().isdisjoint(("found", "many"))

    def found(self, step: PlannedCall, echo: str) -> str:
        """Return the result of a reading with its introduction; "" for steps that only act."""
        table = self.table(step.phrase)
        if not self.is_look(step):
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
        if step.phrase in ("read_file", "web_fetch", "skills", "servers"):
            return _fenced(echo.strip()) if step.phrase == "read_file" else echo.strip() or str(table["nothing"])
        if step.phrase == "first_file":
            first = echo.partition("\n")[2].strip().partition("\n")[0]
            return str(table["nothing"]) if not first or first.startswith("(") else first
        if step.tool == "execute_command":
            return _printed(table, echo, str(step.arguments["command"]))
        if empty := notes("headed").get(step.phrase):
            told = echo.partition("\n")[2]
            return str(table["nothing"]) if re.match(empty, told) else f"{table['found']}\n{told.strip()}"
        if "nothing" in table:
            return f"{table['found']}\n{self._timed(echo.strip())}" if _ENTRY.match(echo) else str(table["nothing"])
        lines = list(_LISTED.get(step.phrase, _windows)(echo, table))
        return "\n".join([table["found"], *lines]) if lines else self.translated(echo.strip())


@functools.cache
def phrasebook(language: str) -> Phrasebook:
    return Phrasebook(language)


def is_doubted(step: PlannedCall, outcome: StepOutcome, *, is_followed: bool) -> bool:
    """Return whether a step's receipt leaves open that the step had any effect.

    Text and keys that changed the screen did arrive. A click that changed it may only have focused a disabled button;
    one that closed its dialog was taken. `is_followed`: a later step is confirmed. Then only a click that changed
    nothing at all is doubted.
    """
    doubts = notes("doubts")
    is_click = step.phrase in doubts["phrases"]
    if step.phrase in doubts["silent"] or (is_followed and not is_click) or notes("notes")["closed"] in outcome.text:
        return False
    return outcome.proof in doubts["clicks" if is_click and not is_followed else "acts"]


_CALLED = re.compile(r"is now called '([^']+)'")
_VALUE = re.compile(r"""(?:holds|became|New:(?: \w[\w ]*)?) (['"])((?:(?!\1).)+)\1(?: now)?\.""")
"""One value. Of several new things, as in an opened menu, none is the outcome."""


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
        """Return whether the receipt says that a window "opened" or "closed"; True if `wanted` is ""."""
        return not wanted or bool(re.search(rf"""['"] {wanted}\.""", self.text))

    @property
    def is_dry(self) -> bool:
        """Return whether this was a dry run."""
        return notes("notes")["dry"] in self.text


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
    table = notes("notes")
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
    said = _fenced(output.strip()) if output.strip() != _NO_OUTPUT else str(table["silent"])
    parts += [for_people(state[ended.end() :] if ended else state), said]
    if ended and ended["code"] != "0" and "no network" in state and re.match(table["online"], command):
        parts.append(str(table["network"]).format(command=command))
    return " ".join(filter(None, parts)).replace(" \n", "\n").strip()


def _fenced(text: str) -> str:
    """Return text of another program as a block, in which no sign means anything."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"\n{fence}\n{text}\n{fence}"


def is_denied(echo: str) -> bool:
    """Say whether the person refused the call."""
    return any(words in echo for words in notes("notes")["denied"])


def is_unattended(echo: str) -> bool:
    """Return whether the call needed a person's answer and nobody was there."""
    return any(words in echo for words in notes("notes")["unattended"])


def is_missing(echo: str) -> bool:
    """Return whether what the call looks for is not on the screen."""
    return any(words in echo for words in notes("notes")["missing"])


def as_made(step: PlannedCall, echo: str, later: Sequence[PlannedCall]) -> list[PlannedCall]:
    """Return the step that makes an app with the name that it got, and the steps after it with its id.

    If it was there already, the phrase of the step says so.
    """
    table = notes("notes")
    named = re.search(table["made"], echo)
    phrase = "made_before" if table["made_before"] in echo else step.phrase
    if named is None:
        return [step, *later]
    planned = step.arguments["name"]
    after = [
        replace(one, arguments={**one.arguments, "id": named[2]}) if one.arguments.get("id") == planned else one
        for one in later
    ]
    return [replace(step, phrase=phrase, what=named[1]), *after]


def _elsewhere(sentence: str, step: PlannedCall) -> str:
    """Return the command with which the person can do the step themselves."""
    told = {name: shell_word(str(value)) for name, value in step.arguments.items()}
    return sentence.format_map({**told, "allow": f" --allow {told['allow']}" if "allow" in told else ""})


def _reason(step: PlannedCall, echo: str, words: Mapping[str, Any]) -> str:
    """Return why a step failed: the tool's own sentences, without those that only a model can follow."""
    text = " ".join(_without_docs(step, without_dialogs(echo)).split()).removeprefix(f"{step.tool}:").strip()
    kept = for_people(text)
    is_cut = len(kept.split()) < len(text.split())
    is_on_screen = step.phrase in notes("notes")["on_screen"] and not text.startswith("not run.")
    return f"{kept} {words['instead']}".strip() if is_cut and is_on_screen else kept


def _without_docs(step: PlannedCall, echo: str) -> str:
    return echo.partition(f"\n{INTRODUCES.format(name=step.tool)}\n")[0]


def _elements(echo: str, words: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each window, in the order of the outline, and one for those of which nothing is seen."""
    roles, role, written = notes("notes"), "", list[str]()
    groups: list[tuple[str, dict[str, list[str]], list[str], set[bool]]] = [("", {}, [], set())]
    for match in filter(None, map(_ELEMENT.fullmatch, echo.splitlines())):
        name = _plain(match["name"]) or _plain(match["value"])
        if match["role"] in roles["windows"]:
            role = match["role"]
            groups.append((name, {}, [], {True} if match[0].endswith(f" {roles['covered']}") else set()))
        elif match["ref"] == "t":
            written.append(name)
        elif name and match["role"] in words["kinds"]:
            groups[-1][1].setdefault(words["kinds"][match["role"]], []).append(name)
            groups[-1][3].add(match[0].endswith(f" {roles['covered']}"))
        elif name and role in roles["dialogs"] and match["role"] in roles["texts"]:
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


def _apps(echo: str, _table: Mapping[str, Any]) -> Iterator[str]:
    yield from re.findall(notes("notes")["app"], echo)


_LISTED = {"read": _elements, "apps": _apps}
"""How to tell what a step has listed. All others list windows."""


def _plain(quoted: str | None) -> str:
    try:
        return str(json.loads(quoted)) if quoted else ""
    except ValueError:  # because a cut line may end inside the quotation
        return (quoted or "").strip('"')
