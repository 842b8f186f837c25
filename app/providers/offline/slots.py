"""What words may stand at each kind of slot, what they mean, and how well they fit what is there."""

from __future__ import annotations

import datetime
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from app.base import resources
from app.base.drives import is_drive_word
from app.base.values import dataclass
from app.providers.offline.days import day
from app.providers.offline.finding import Several, Sought, described, endings, find_folder, globs, likeliest
from app.providers.offline.grammar import Grammar, grammars
from app.providers.offline.timing import duration, number, when, when_alone
from app.providers.offline.world import IN_FRONT, World, general_names, known_folder

Value = Any
Fit = tuple[Value, float]
"""A value and how surely the words mean it: 1 for what is there, less for what only may be, 0 for what cannot be."""
NO: Fit = ("", 0.0)
IT = "\x00it"
"""Stands for what was named last."""
_PLAIN_NAME = re.compile(r"[\w+#&'’.:/ -]+")
_CLAUSE = re.compile(r"[,;:!?]\s|\.\s")
"""Marks that no name holds without quotation marks."""
_MOST_WORDS = 6
_SHORT_NAME = 4
_LIKE = 80
_FILE = re.compile(r"[^\s/\\][^/\\\n]*\.(?=\w*[a-z])\w{1,5}", re.IGNORECASE)
_PATH = re.compile(r"(?:~|\.{1,2})?/[^\n]*|wisp:/[^\n]*")
_ADDRESS = re.compile(
    r"(?P<scheme>https?://)?(?P<host>(?:[\w-]+\.)+[a-z]{2,12}|localhost(?::\d+)?)(?P<rest>[:/?#]\S*)?", re.IGNORECASE
)
_POINT = re.compile(r"\(? ?(?:x ?[=:]? ?)?(-?\d{1,5}) ?(?:,| |and|und|by) ?(?:y ?[=:]? ?)?(-?\d{1,5}) ?\)?")
_APP_ID = re.compile(r"(?:app|widget)-[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Words:
    """The words at a slot.

    `is_quoted` if they stood in quotation marks, so that they are a name or a text as they are; `has_quotes` if some
    of them did. `written` are the words with those marks, as a shell needs them.
    """

    text: str
    written: str
    is_quoted: bool
    has_quotes: bool
    grammar: Grammar
    world: World

    @property
    def low(self) -> str:
        return self.text.casefold().strip()

    @property
    def bare(self) -> str:
        """The words without an article before them."""
        first, _, rest = self.text.strip().partition(" ")
        return (
            rest
            if rest and not self.is_quoted and first.casefold() in self.grammar.words["articles"]
            else self.text.strip()
        )

    @property
    def is_name(self) -> bool:
        """True if the words may be the name of something, and are no part of a sentence."""
        if self.is_quoted:
            return bool(self.text.strip())
        name = self.bare
        if name.casefold().replace("’", "'") in self.grammar.words["labels"]:
            return True
        is_short = 0 < len(name.split()) <= _MOST_WORDS and len(name) <= 80
        if _CLAUSE.search(name):
            return False
        is_place = name.partition(" ")[0].casefold() in self.grammar.words["prepositions"]
        return (
            is_short
            and not is_place
            and self.low not in (*self.grammar.words["pronouns"], *self.grammar.words["articles"])
            and not self.grammar.strangers.search(name)
        )


def fit(kind: str, words: Words) -> Fit:
    """Return what the words mean at a slot of this kind, and how well they fit. NO if they cannot stand there."""
    return _KINDS[kind](words)


def _like(name: str, known: Iterable[str]) -> str:
    """The known name that is spelled nearly so, or ""."""
    from rapidfuzz import fuzz, process

    if len(name) < 4:
        return ""
    known = [one for one in known if one.count(" ") == name.count(" ")]  # or else a word would be lost
    found = process.extractOne(name.casefold(), known, scorer=fuzz.ratio, processor=str.casefold, score_cutoff=_LIKE)
    return str(found[0]) if found else ""


def _program(words: Words) -> Fit:
    name, known = words.bare, program_names(words.world)
    if not words.is_quoted and any(words.low in one.words["articles"] for one in grammars()):
        return NO
    if words.is_quoted or name.casefold() in known:
        return name, 1.0
    if " " not in name and shutil.which(name.casefold()):
        return name, 0.8
    if like := _like(name, known):
        return like, 0.9
    parts = set(name.casefold().split())
    is_plain = words.is_name and len(parts) <= 4 and _PLAIN_NAME.fullmatch(name) and not name.isdigit()
    is_plain = is_plain and parts.isdisjoint(words.grammar.words["prepositions"])
    return (name, 0.5 if not words.world.programs else 0.45) if is_plain and not _FILE.fullmatch(name) else NO


def program_names(world: World) -> tuple[str, ...]:
    return (*general_names(), *(name.casefold() for name in world.programs))


def _known(words: Words) -> Fit:
    value, sure = _program(words)
    is_command = sure == 0.8 and words.low not in words.grammar.vocabulary
    return (value, sure) if sure >= 0.9 or is_command else NO


def _window(words: Words) -> Fit:
    if words.low in words.grammar.words["it"]:
        return IT, 1.0
    if words.low in words.grammar.words["pronouns"]:
        return IN_FRONT, 1.0
    name = words.bare
    if name.casefold() in words.grammar.words["others"] and not words.is_quoted and len(words.world.windows) > 1:
        return words.world.windows[1][0], 1.0
    if words.world.is_open(name):
        return name, 1.0
    value, sure = _program(words)
    if sure >= 0.9:
        return value, 0.97
    return (name, 0.6) if words.is_name else NO


def _shown(words: Words) -> Fit:
    """A window that is there."""
    return (words.bare, 1.0) if words.world.is_open(words.bare) else NO


def _opened(words: Words) -> Fit:
    """A program or a window that is there."""
    return _shown(words) if words.world.is_open(words.bare) else _known(words)


def _own(words: Words) -> Fit:
    """A small app that Wisp made: one that is there, or any id of one."""
    known = (said for said in (words.text.strip(), words.bare) if words.world.apps_called(said))
    if name := next(known, ""):
        return name, 1.0
    return (words.low, 0.95) if _APP_ID.fullmatch(words.low) else NO


def _control(words: Words) -> Fit:
    name = words.bare
    if _POINT.fullmatch(words.low) and not words.is_quoted:
        return NO
    return (name, 0.8 if not words.is_quoted else 0.9) if words.is_name else NO


def _button(words: Words) -> Fit:
    """What can be pressed on the screen: no key."""
    is_key = not words.is_quoted and re.fullmatch(words.grammar.words["on_keyboard"], words.bare, re.IGNORECASE)
    return NO if is_key else _control(words)


def _field(words: Words) -> Fit:
    name, sure = _control(words)
    return (name, sure) if sure and (len(str(name).split()) <= 4 or words.is_quoted) else NO


def _label(words: Words) -> Fit:
    return (words.text.strip(), 0.8) if words.is_name else NO


def _proper(words: Words) -> Fit:
    """A name that is written as one, because other words may stand there as well."""
    return _label(words) if words.is_quoted or words.text.strip()[:1].isupper() else NO


def _bare_label(words: Words) -> Fit:
    return (words.bare, 0.8) if words.is_name else NO


def _thing(words: Words) -> Fit:
    """One of several things, by the name that a list of them gave it."""
    return (words.low, 1.0) if re.fullmatch(r"[et]\d{1,6}", words.low) else NO


def _quoted(words: Words) -> Fit:
    return (words.text, 1.0) if words.is_quoted else NO


def _typed(words: Words) -> Fit:
    """A text to type, and no words for one that somebody else would have to think of."""
    if words.is_quoted:
        return (words.text, 1.0) if words.text else NO
    is_meant = not re.fullmatch(words.grammar.words["not_text"], words.text.strip(), re.IGNORECASE)
    is_whole = not words.has_quotes  # half of it in quotation marks: the rest is no text
    return _text(words) if is_meant and is_whole else NO


def _line(words: Words) -> Fit:
    return (words.text if words.is_quoted else words.written, 0.9) if words.text.strip() else NO


def _text(words: Words) -> Fit:
    return (words.text, 1.0 if words.is_quoted else 0.7) if words.text.strip() else NO


def _spot(words: Words) -> Fit:
    point, sure = _point(words)
    return (f"{point[0]},{point[1]}", sure) if sure else _control(words)


def _point(words: Words) -> Fit:
    said = None if words.is_quoted else _POINT.fullmatch(words.low)
    return ((int(said[1]), int(said[2])), 1.0) if said and max(int(said[1]), int(said[2])) >= 10 else NO


def _menu(words: Words) -> Fit:
    parts = [part.strip() for part in re.split(r"\s*(?:>|→|->|›|»)\s*", words.text)]
    is_way = len(parts) > 1 and all(parts) and all(len(part.split()) <= 5 for part in parts)
    is_way = is_way and sum(map(str.isalpha, parts[0])) > 1 and "<" not in words.text  # or else it is no way
    return (" > ".join(parts), 1.0) if is_way and not words.is_quoted else NO


def _present(words: Words) -> Fit:
    """A file by its name without the ending, if there is one."""
    value, sure = _stem(words)
    return (value, sure) if sure and likeliest(value, words.world) else NO


def _folder(words: Words) -> Fit:
    name = words.bare.rstrip("/") or words.bare
    if words.low in words.grammar.words["pronouns"] and not words.is_quoted:
        return IT, 0.7
    first, _, behind = name.partition(" ")
    if behind and not words.is_quoted and first.casefold() in words.grammar.words["kinds"]["folder"]:
        name = behind  # “the folder Trips”
    head, slash, rest = name.partition("/")
    if known := words.grammar.listed("folders", head):
        return f"{known_folder(known, head)}{slash}{rest}", 1.0
    if _PATH.fullmatch(name) or (is_drive_word(name) and not words.is_quoted):
        return name, 0.95
    is_there = words.world.file(name) if words.is_name else ""
    return (is_there or name, 0.95 if is_there else 0.7) if words.is_name and len(name.split()) <= 4 else NO


def _place(words: Words) -> Fit:
    value, sure = _folder(words)
    return (value, sure) if sure >= 0.95 else NO


def _stored(words: Words) -> Fit:
    """A folder that is there, wherever in the home folder."""
    value, sure = _folder(words)
    if sure >= 0.95 or not sure:
        return value, sure
    found = find_folder(value, words.world)
    return NO if isinstance(found, Several) and found.is_missing else (value, 0.9)


def _in_known_folder(name: str, words: Words) -> str:
    head, slash, rest = name.partition("/")
    known = words.grammar.listed("folders", head) if slash else ""
    return f"{known_folder(known, head)}/{rest}" if known else name


def _file(words: Words) -> Fit:
    name = words.bare
    if words.low in words.grammar.words["pronouns"] and not words.is_quoted:
        return IT, 0.65
    if _PATH.fullmatch(name):
        return name, 0.97
    if not words.is_name:
        return NO
    for named in (words.text.strip(), name):  # “my notes.md” may be the name itself
        if there := words.world.file(named):
            return there, 1.0
    is_file = _FILE.fullmatch(name) or (name.count("/") and not name.endswith("/"))
    if not words.is_quoted and not set(name.casefold().split()).isdisjoint(words.grammar.words["origins"]):
        return NO
    if is_file and _address(words)[1] < 1:
        return _in_known_folder(name, words), 0.95
    if words.is_quoted:
        return name, 0.6
    sought = described(name, words.grammar)
    return (sought, 0.9) if sought else NO


def _any(words: Words) -> Fit:
    """A file or folder by its whole name, with or without its ending, or by words of it."""
    value, sure = _file(words)
    if sure and not (words.is_quoted and sure < 0.95):
        return value, sure
    return (Sought(words.bare, tuple(words.bare.casefold().split())), 0.8) if words.is_name else NO


def _stem(words: Words) -> Fit:
    """A file by its name without the ending, which no other word says to be one."""
    is_short = words.is_name and not words.is_quoted and len(words.bare.split()) <= _SHORT_NAME
    is_plain = is_short and _PLAIN_NAME.fullmatch(words.bare) and not _FILE.fullmatch(words.bare)
    return (Sought(words.bare, tuple(words.bare.casefold().split())), 0.75) if is_plain else NO


def _new(words: Words) -> Fit:
    name = words.text.strip()
    is_free = words.is_name and name.partition(" ")[0].casefold() not in words.grammar.words["naming"]
    return (_in_known_folder(name, words), 0.8) if is_free else NO


def _archive(words: Words) -> Fit:
    """The name of an archive that is to be made."""
    name = words.text.strip()
    is_archive = name.casefold().endswith(tuple(words.grammar.words["packed_as"]))
    return (_in_known_folder(name, words), 1.0) if words.is_name and is_archive else NO


def _part(words: Words) -> Fit:
    return (f"*{words.bare}*", 0.75) if words.is_name and len(words.bare.split()) <= 4 else NO


def _ending(words: Words) -> Fit:
    known = words.grammar.listed("endings", words.low.lstrip("."))
    return (f"*.{known}", 1.0) if known else NO


def _kind(words: Words) -> Fit:
    """All files of a kind, such as `pictures`."""
    known = words.grammar.listed("plurals", words.low)
    return (globs(known), 1.0) if known else NO


def _endings(words: Words) -> Fit:
    """Several files by their kind, such as `PDFs`."""
    known = words.grammar.listed("endings", re.sub(r"['’]?s$", "", words.low))
    return (f"*.{known}", 1.0) if known and words.low.endswith("s") else NO


def _address(words: Words) -> Fit:
    said = _ADDRESS.fullmatch(words.text.strip())
    if not said:
        return NO
    last = said["host"].rpartition(".")[2].casefold()
    is_ending = last in words.grammar.words["endings"] or last in endings()
    is_file = not said["scheme"] and not said["rest"] and is_ending
    return NO if is_file else (words.text.strip() if said["scheme"] else f"https://{words.text.strip()}", 1.0)


def _site(words: Words) -> Fit:
    """The address of a web site, which may be said by its name. A program of that name comes first."""
    found = site(words.low) or site(words.bare.casefold())
    return (found["url"], 0.98) if found else _address(words)


def _searched(words: Words) -> Fit:
    """A web site by its name: the address at which it searches for {words}."""
    address = (site(words.low) or {}).get("search", "")
    return (address, 1.0) if address else NO


def site(said: str) -> Mapping[str, Any]:
    """Return a row of `resources/offline/sites.toml` by one of its names; {} for other words."""
    known = resources.table("offline/sites.toml", resources.Table)
    return next((row for name, row in known.items() if said == name or said in row["words"]), {})


def _command(words: Words) -> Fit:
    first = words.text.split()[0] if words.text.split() else ""
    if words.is_quoted:
        return words.text, 1.0
    is_program = first.islower() and (first.startswith(("./", "/")) or bool(shutil.which(first)))
    is_bare = first == words.text and words.low in program_names(words.world)
    return (words.written, 0.97) if is_program and not is_bare else NO


def _number(words: Words) -> Fit:
    value = number(words.low.lstrip("#").rstrip(" %"), words.grammar)
    return (int(value), 1.0) if value is not None and value == int(value) else NO


def _seconds(words: Words) -> Fit:
    value = duration(re.sub(r"(?<=\w)-(?=\w)", " ", words.low), words.grammar)
    return (_whole(value), 1.0) if value is not None else NO


def _whole(value: float) -> float:
    return int(value) if value == int(value) else round(value, 3)


def _keys(words: Words) -> Fit:
    """One chord, as the keyboard tool writes it."""
    if words.is_quoted and len(words.text.strip()) == 1:
        return words.text.strip(), 1.0
    table = resources.table("offline/keys.toml", resources.Table)
    said = [part for part in re.split(r"(?<=[^+\s-])[+-](?=\S)|\s+", words.text.strip()) if part]
    modifiers: list[str] = []
    while said and (name := _named(table["modifiers"], said[0])) and name not in modifiers:
        modifiers.append(name)
        said = said[2:] if len(said) > 2 and said[1].casefold() in table["say"]["joins"] else said[1:]
        said = said[1:] if len(said) > 1 and said[0] == "+" else said
    if not said:
        return ("super", 1.0) if modifiers == ["super"] else NO
    last = " ".join(said)
    key = last if len(last) == 1 else _named(table["keys"], last)
    if not key:
        return NO
    return "+".join([*modifiers, key.lower() if modifiers else key]), 1.0


def _named(table: Mapping[str, Any], said: str) -> str:
    return next((name for name, known in table.items() if said.casefold() in known or said.casefold() == name), "")


def _city(words: Words) -> Fit:
    from zoneinfo import available_timezones

    said = words.low.replace(" ", "_")
    said = str(words.grammar.words["cities"].get(words.low, said)).casefold()
    found = [
        zone for zone in available_timezones() if zone.casefold().rpartition("/")[2] == said or zone.casefold() == said
    ]
    return (min(found, key=len), 1.0) if found else NO


def _ours(words: Words) -> Fit:
    """Something of the person's, such as “my passport”."""
    has_owner = not set(words.low.split()).isdisjoint(words.grammar.words["ours"])
    return _text(words) if has_owner else NO


def _moment(words: Words) -> Fit:
    """A time for later, as schedules take it."""
    said = when(words.low, words.grammar) or when_alone(words.low, words.grammar)
    return (said, 1.0) if said else NO


def _clock(words: Words) -> Fit:
    """A time of day, such as “5 pm” or “tomorrow at 9”."""
    said, _ = _moment(words)
    return (said, 1.0) if re.fullmatch(r"(?:at|today|tomorrow) \d+:\d\d", said) else NO


def _day(words: Words) -> Fit:
    found = day(words.low, words.grammar, datetime.date.today())
    return (found.isoformat(), 1.0) if found else NO


def _sum(words: Words) -> Fit:
    from app.providers.offline import sums

    answer = sums.answer(words.text, words.grammar.language)
    return (answer, 1.0) if answer else NO


def _measure(words: Words) -> Fit:
    said = re.fullmatch(r"(?P<number>.*?)\s*(?P<unit>°?[^\W\d][\w°²³/ ]*)", words.low)
    value = number(said["number"], words.grammar) if said else None
    unit = _unit(Words(said["unit"], said["unit"], False, False, words.grammar, words.world))[0] if said else ""
    return ((value, unit), 1.0) if value is not None and unit else NO


def _unit(words: Words) -> Fit:
    units = resources.table("offline/units.toml", resources.Table)
    found = next((name for name, one in units.items() if words.low == name or words.low in one["words"]), "")
    return (found, 1.0) if found else NO


_KINDS: dict[str, Callable[[Words], Fit]] = {
    "program": _program,
    "known": _known,
    "shown": _shown,
    "opened": _opened,
    "window": _window,
    "control": _control,
    "button": _button,
    "field": _field,
    "label": _label,
    "proper": _proper,
    "thing": _thing,
    "quoted": _quoted,
    "line": _line,
    "text": _typed,
    "fact": _text,
    "spot": _spot,
    "point": _point,
    "menu": _menu,
    "folder": _folder,
    "place": _place,
    "stored": _stored,
    "file": _file,
    "any": _any,
    "stem": _stem,
    "present": _present,
    "kind": _kind,
    "new": _new,
    "archive": _archive,
    "part": _part,
    "ending": _ending,
    "endings": _endings,
    "address": _address,
    "site": _site,
    "searched": _searched,
    "command": _command,
    "number": _number,
    "seconds": _seconds,
    "keys": _keys,
    "city": _city,
    "ours": _ours,
    "moment": _moment,
    "clock": _clock,
    "day": _day,
    "sum": _sum,
    "measure": _measure,
    "unit": _unit,
    "app": _bare_label,
    "own": _own,
}
OPEN_TEXTS = frozenset({"text", "fact"})
"""The kinds of slots that take any words, so that where they end is uncertain."""
