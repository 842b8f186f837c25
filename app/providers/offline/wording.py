"""The sentences of the offline provider, from `resources/offline/phrases*.toml`. Equal wishes get equal sentences.

They are made from facts: what was found out is never read out of another sentence.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from app.base import resources
from app.base.clipping import clip_line, clip_middle, shell_word
from app.base.fact_words import asked, came_of, failure_of, in_a_sentence, value_of
from app.base.facts import (
    Brought,
    DialogAsks,
    DialogClosed,
    Failed,
    FileSaved,
    Listed,
    ListedWindows,
    MachineState,
    Made,
    Missing,
    Planned,
    Ran,
    Several,
    ShownThing,
    ShownThings,
    WindowChanged,
    WindowEvent,
)
from app.base.phrases import NO_PHRASE
from app.base.translation import words_in
from app.base.values import replace
from app.providers.offline.conversation import StepOutcome
from app.providers.offline.world import IN_FRONT

if TYPE_CHECKING:  # because reading is slow to import, and most of who needs words needs no reading
    from app.providers.offline.plans import PlannedCall
    from app.providers.offline.reading import Refusal

ENGLISH = "en"
_DIGITS = 6
_ANSWER_CHARS = 24
_NAMES_CHARACTERS = 400
_MOST_BUTTONS = 4
_HAVE_NEAR = ("unreadable", "question")
_ONE_WORD = re.compile(r"[^\W\d_]{2,}")


def known(name: str) -> Mapping[str, Any]:
    """Return a table of `resources/offline/known.toml`: what other programs call their controls, and kinds of steps."""
    table: Mapping[str, Any] = resources.table("offline/known.toml", resources.Table)[name]
    return table


@functools.lru_cache(maxsize=256)
def language_of(said: str) -> str:
    """Return the language of the first word that only one language has; "" if no word decides."""
    languages = resources.table("offline/languages.toml", resources.Table)["words"]
    words = re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", said.lower())
    return next((language for word in words for language, own in languages.items() if word in own), "")


_ENGLISH_FILE = "offline/phrases.toml"


class Phrasebook:
    """The sentences of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.word = words_in(language)
        self._file = "phrases" if language == ENGLISH else f"phrases_{language}"
        self._marks = str.maketrans("“”", self.table("quotes")["marks"])

    def table(self, name: str) -> Mapping[str, Any]:
        """Return the sentences about one subject, given its name in the phrases file."""
        own = resources.table(f"offline/{self._file}.toml", resources.Table)
        # A feature of another package need not have them in each language.
        table: Mapping[str, Any] = own[name] if name in own else resources.table(_ENGLISH_FILE, resources.Table)[name]
        return table

    def _what(self, step: PlannedCall) -> str:
        if step.what == IN_FRONT:
            return str(self.table("quotes")["in_front"])
        names = self.table(step.phrase).get("names")
        what = ", ".join(names.get(word, word) for word in step.what.split()) if names else step.what
        return what.translate(self._marks)

    def finished(self, steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome], came: str) -> str:
        """Return the last sentence: what has come of the steps, and whether nothing confirms them."""
        table, last = self.table("finished"), self.table(steps[-1].phrase)
        if "result" in last:
            return str(last["result"]).format(what=self._what(steps[-1]))
        return came or str(table["unseen" if any(one.is_unverifiable for one in outcomes) else "done"])

    def _saved(self, step: PlannedCall, outcome: StepOutcome) -> str:
        """The window's new title tells where a file was saved, or it was seen, or else only the dialog knew."""
        table, what = self.table("save"), self._what(step)
        _, is_placed, name = step.what.strip("“”").rpartition("/")
        changes = (one for one in outcome.facts if isinstance(one, WindowChanged) and one.event is WindowEvent.RENAMED)
        if title := next((one.title.lstrip("*") for one in changes if name in one.title), ""):
            return str(table["seen"]).format(what=what, title=title)
        if file := outcome.get(FileSaved):
            return str(table["written"]).format(path=file.path)
        return str(table["placed" if is_placed else "unplaced"]).format(what=what)

    def came_of(self, step: PlannedCall, outcome: StepOutcome) -> str:
        """Return what came of the last action; a short value alone. Typed text is no result."""
        if step.phrase == "save" and not outcome.dialog:
            return self._saved(step, outcome)
        typed = str(step.arguments.get("text", ""))
        came, value = came_of(outcome.facts, typed), value_of(outcome.facts, typed)
        is_alone = len(came) == 1 and value and len(value) <= _ANSWER_CHARS
        return value if is_alone else in_a_sentence(came, self.word)

    def is_told(self, step: PlannedCall, outcome: StepOutcome) -> bool:
        """Return whether the row of the step's call tells all that the answer would."""
        if not outcome.ok:
            has_way = outcome.is_unattended and "elsewhere" in self.table(step.phrase)
            return bool(failure_of(outcome.facts)) and not has_way and not self._fitting(step, outcome)
        if step.phrase == "run":
            ran, brought = outcome.get(Ran) or Ran(), outcome.get(Brought)
            is_silent = not (brought and brought.text)
            return is_silent and not (ran.set_aside or self._needs_network(step, outcome))
        return outcome.is_dry or not (self.is_look(step) or step.phrase in known("steps")["untold"])

    def rehearsed(self, steps: Sequence[PlannedCall], found: str) -> str:
        """Return the last sentence of a dry run."""
        text = str(self.table("finished")["dry"]).format(steps=self.listed(steps))
        return f"{text} {found}".strip()

    def beside(self, done: Sequence[PlannedCall], told: str) -> str:
        """Return what was told of some steps, after those that were really done."""
        return str(self.table("failed")["exited"]).format(steps=self.listed(done), found=told)

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

    def failed(self, step: PlannedCall, before: Sequence[PlannedCall], outcome: StepOutcome) -> str:
        """Say which step did not work, why, and what was done before it."""
        table, phrase = self.table("failed"), self.table(step.phrase)
        what = str(phrase["failed"]).format(what=self._what(step))
        why = self._fitting(step, outcome) or failure_of(outcome.facts, self.word) or str(table["no_reason"])
        if outcome.is_unattended and "elsewhere" in phrase:
            why = _elsewhere(phrase["elsewhere"], step)
        if not before:
            return str(table["first"]).format(what=what, reason=why)
        return str(table["later"]).format(what=what, steps=self.listed(before), reason=why)

    def instead(self, step: PlannedCall, outcome: StepOutcome) -> list[str]:
        """Return what can be said after a failure: the answers to what is asked, or a look at what there is."""
        is_missing = outcome.get(Missing) is not None or bool((outcome.get(Failed) or Failed(NO_PHRASE)).hint)
        is_search = is_missing and step.phrase in known("steps")["on_screen"]
        return self.answers(outcome.dialog) or ([str(self.table("failed")["instead"])] if is_search else [])

    def _planned(self, one: Planned) -> str:
        table, calendar = self.table("planned"), self.table("calendar")
        parts = [str(table["line"]).format(id=one.id, title=one.title, when=one.when.said(self.word), zone=one.zone)]
        if one.next_at is None:
            parts.append(str(table["over"]))
        else:
            at = datetime.datetime.fromtimestamp(one.next_at, ZoneInfo(one.zone))
            weekday = calendar["weekdays"][at.weekday()][: calendar["short"]]
            parts.append(at.strftime(str(table["next"])).format(weekday=weekday))
        if one.waits_for:
            parts.append(str(table["waits"]).format(until=one.until, why=self.word(one.waits_for)))
        elif one.until:
            parts.append(str(table["until"]).format(until=one.until))
        return "; ".join([*parts, *([f"[{'; '.join(one.may)}]"] if one.may else [])])

    def _fitting(self, step: PlannedCall, outcome: StepOutcome) -> str:
        """Numbered, and with how to name each; "" unless the step failed because several things fit."""
        table, phrase, several = self.table("several"), self.table(step.phrase), outcome.get(Several)
        if several is None or "again" not in phrase:
            return ""
        lines, names = [str(table["intro"])], [one.thing.name for one in several.candidates]
        for number, one in enumerate(several.candidates, 1):
            is_alike = names.count(one.thing.name) > 1
            where = table["places"].get(one.place, "") if is_alike else ""
            named = f"{one.thing.name} {where}".strip()
            is_told = not one.window and named and (where or not is_alike) and '"' not in named
            wish = str(phrase["again"]).format(name=f'"{named}"' if is_told else one.ref)
            inside = str(table["inside"]).format(window=one.window, place=one.place) if one.window else ""
            shown = str(table["line"]).format(name=named or one.ref, inside=inside, wish=wish)
            lines.append(f"{number}. {shown}")
        return "\n".join(lines)

    def asked(self, dialog: DialogAsks | None) -> str:
        """Return what an open dialog asks; "" without one."""
        return in_a_sentence((asked(dialog),), self.word) if dialog else ""

    def answers(self, dialog: DialogAsks | None) -> list[str]:
        wish, buttons = str(self.table("asking")["wish"]), dialog.buttons[:_MOST_BUTTONS] if dialog else ()
        return [wish.format(button=_as_said(name)) for name in buttons]

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
        """At most six digits, as this language writes them."""
        return f"{value:.{_DIGITS}g}".replace(".", self.table("calendar")["point"])

    def refused(self, refusal: Refusal) -> str:
        return str(self.table("refused")[refusal.kind]).format(part=refusal.part, limit=refusal.limit)

    def near(self, refusal: Refusal) -> list[str]:
        """Return what can be said instead, made from what was said. The web answers questions, no orders."""
        if refusal.kind not in _HAVE_NEAR:
            nearest = self.table("near").get(refusal.kind)
            return list(refusal.offers) or ([str(nearest)] if nearest else [])
        table, part = self.table("near"), re.sub(r"[“”„?.!]", "", refusal.part).strip(" …")
        said = [refusal.can] if refusal.can else []
        if not said and refusal.program:
            said.append(str(table["open"]).format(name=refusal.program))
        is_asked = re.match(str(table["asks"]), part, re.IGNORECASE)
        if not refusal.can and refusal.kind == "question" and is_asked:
            said.append(str(table["search"]).format(part=part))
        return said or [str(table["help"])]

    def is_look(self, step: PlannedCall) -> bool:
        """Return whether a step brings something to tell, and changes nothing that could be undone."""
        return not self.table(step.phrase).keys().isdisjoint(("found", "many"))

    def found(self, step: PlannedCall, outcome: StepOutcome) -> str:
        """Return the result of a reading with its introduction; "" for steps that only act."""
        table = self.table(step.phrase)
        if not self.is_look(step):
            return ""
        if step.phrase == "run":
            return self._printed(table, outcome, step)
        if "many" in table:
            return _counted(table, outcome.get(Listed) or Listed(()), folders=step.phrase == "count_folders")
        text = self._text_of(step, outcome)
        if not text:
            return str(table["nothing"])
        if step.phrase == "read_file":
            return _fenced(text)
        if "{text}" in table["found"]:
            lead = "\n" if "\n" in text else ""
            return str(table["found"]).format(text=lead + text).replace(" \n", "\n", 1)
        return f"{table['found']}\n{text}" if table["found"] else text

    def _text_of(self, step: PlannedCall, outcome: StepOutcome) -> str:
        """Return what a reading found as text; "" if it found nothing."""
        table = self.table(step.phrase)
        if brought := outcome.get(Brought):
            return brought.text.strip()
        if plans := [fact for fact in outcome.facts if isinstance(fact, Planned)]:
            return "\n".join(map(self._planned, plans))
        if states := [fact.what for fact in outcome.facts if isinstance(fact, MachineState)]:
            return in_a_sentence(states, self.word)
        if windows := outcome.get(ListedWindows):
            return "\n".join(_windows(windows, table))
        if shown := outcome.get(ShownThings):
            if step.phrase == "read_part":
                lines = [text for one in shown.things if (text := one.thing.name or one.value)]
                return clip_middle("\n".join(lines), _NAMES_CHARACTERS, _NAMES_CHARACTERS)
            return "\n".join(_elements(shown.things, table))
        listed = outcome.get(Listed) or Listed(())
        if step.phrase == "first_file":
            return next(iter(listed.names), "")
        return "\n".join([*listed.names, *([str(table["more"])] if listed.is_cut and "more" in table else [])])

    def ended(self, outcome: StepOutcome) -> str:
        """Return how a command ended; "" if it ended well."""
        return in_a_sentence(came_of(outcome.facts), self.word)

    def _printed(self, table: Mapping[str, Any], outcome: StepOutcome, step: PlannedCall) -> str:
        ran, brought = outcome.get(Ran) or Ran(), outcome.get(Brought)
        parts = [self.ended(outcome)] if ran.is_running else []
        if ran.set_aside:
            parts.append(str(table["set_aside"]).format(files=clip_line(", ".join(ran.set_aside), _NAMES_CHARACTERS)))
        parts.append(_fenced(brought.text) if brought and brought.text else str(table["silent"]))
        if self._needs_network(step, outcome):
            parts.append(str(table["network"]).format(command=step.arguments["command"]))
        return " ".join(parts).replace(" \n", "\n").strip()

    def _needs_network(self, step: PlannedCall, outcome: StepOutcome) -> bool:
        """True if a command failed for which the network may have been missing."""
        ran = outcome.get(Ran) or Ran()
        online = re.match(self.table("run")["online"], str(step.arguments["command"]))
        return bool(ran.code) and ran.is_offline and online is not None


@functools.cache
def phrasebook(language: str) -> Phrasebook:
    return Phrasebook(language)


def is_doubted(step: PlannedCall, outcome: StepOutcome, *, is_followed: bool) -> bool:
    """Return whether a step's receipt leaves open that the step had any effect.

    Text and keys that changed the screen did arrive. A click that changed it may only have focused a disabled button;
    one that closed its dialog was taken. Where no state can be read, it stays open. `is_followed`: a later step is
    confirmed. Then only a click that changed nothing at all is doubted.
    """
    steps = known("steps")
    if step.phrase in steps["unread"]:
        return True
    is_click = step.phrase in steps["clicks"]
    if step.phrase in steps["silent"] or (is_followed and not is_click) or outcome.get(DialogClosed):
        return False
    return (
        bool(outcome.proof)
        and not outcome.is_confirmed
        and (not outcome.is_unverifiable or (is_click and not is_followed))
    )


def discarding(outcome: StepOutcome) -> str:
    """Return the button that discards unsaved changes in the dialog that is open now; "" for none."""
    buttons, names = outcome.dialog.buttons if outcome.dialog else (), known("controls")["discards"]
    return next((name for name in buttons if name.lower().replace("’", "'") in names), "")


def as_made(step: PlannedCall, outcome: StepOutcome, later: Sequence[PlannedCall]) -> list[PlannedCall]:
    """Return the step that makes an app with the name that it got, and the steps after it with its id.

    If it was there already, the phrase of the step says so.
    """
    made = outcome.get(Made)
    if made is None or not made.id:
        return [step, *later]
    planned = step.arguments["name"]
    after = [
        replace(one, arguments={**one.arguments, "id": made.id}) if one.arguments.get("id") == planned else one
        for one in later
    ]
    return [replace(step, phrase="made_before" if made.was_there else step.phrase, what=made.name), *after]


def _as_said(name: str) -> str:
    """In quotation marks, as in a wish, unless it is one plain word."""
    return name if _ONE_WORD.fullmatch(name) or '"' in name else f'"{name}"'


def _counted(table: Mapping[str, Any], listed: Listed, *, folders: bool) -> str:
    """Hidden ones are counted separately."""
    told = [entry for entry in listed.names if entry.endswith("/") == folders]
    hidden = sum(entry.startswith(".") for entry in told)
    count = len(told) - hidden
    answer = str(table["one" if count == 1 else "many"]).format(count=count)
    more = str(table["more"]) if listed.is_cut else ""
    return f"{answer}{str(table['hidden']).format(count=hidden) if hidden else ''}{more}."


def _fenced(text: str) -> str:
    """Text of another program as a block, in which no sign means anything."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"\n{fence}\n{text}\n{fence}"


def _elsewhere(sentence: str, step: PlannedCall) -> str:
    """Return the command with which the person can do the step themselves."""
    told = {name: shell_word(str(value)) for name, value in step.arguments.items()}
    return sentence.format_map({**told, "allow": f" --allow {told['allow']}" if "allow" in told else ""})


def _elements(things: Sequence[ShownThing], words: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each window, in the order of the outline, and one for those of which nothing is seen."""
    roles, role, written = known("controls"), "", list[str]()
    groups: list[tuple[str, dict[str, list[str]], list[str], set[bool]]] = [("", {}, [], set())]
    for one in things:
        name, of = one.thing.name or one.value, one.thing.role
        if one.is_written:
            written.append(name)
        elif of in roles["windows"]:
            role = of
            groups.append((name, {}, [], {True} if one.is_covered else set()))
        elif name and of in words["kinds"]:
            groups[-1][1].setdefault(words["kinds"][of], []).append(name)
            groups[-1][3].add(one.is_covered)
        elif name and role in roles["dialogs"] and of in roles["texts"]:
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


def _windows(listed: ListedWindows, words: Mapping[str, Any]) -> Iterator[str]:
    for one in listed.windows:
        states = {"active": one.is_active, "minimised": one.is_minimised}
        marks = [words["marks"][state] for state, is_on in states.items() if is_on]
        marks += [words["unsaved"]] if one.title.startswith("*") else []
        yield str(words["line"]).format(title=one.title.lstrip("*"), notes=", ".join([one.app, *marks]))
