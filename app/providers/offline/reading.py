"""Read a wish: cut it into clauses, read each by the templates, and choose what fits what is there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.base import resources
from app.base.clipping import clip_line
from app.base.values import dataclass, field, replace
from app.providers.offline.grammar import Grammar, Match, grammars, own_words
from app.providers.offline.slots import IT, OPEN_TEXTS, Words, fit, program_names
from app.providers.offline.timing import when, when_alone
from app.providers.offline.world import World

_QUOTED = re.compile(
    r'"(?P<a>[^"]*)"|“(?P<b>[^“”]*)”|„(?P<c>[^„“”]*)[“”]|«(?P<d>[^«»]*)»|»(?P<e>[^«»]*)«|`(?P<f>[^`]*)`'
    r"|(?<![\w'])'(?P<g>[^'\n]*(?:\w'\w[^'\n]*)*)'(?!\w)|(?<!\w)‘(?P<h>[^‘’]*)’(?!\w)"
)
_SHELL_MARKS = ("'", '"', "`")
_UNCLOSED = re.compile(r'(?:^|\s)(["“„«`].*)', re.DOTALL)
_MARKER = "qzx{}xzq"
"""Stands for a quoted text while the rest is read: a word that no language has."""
_LINE = "⏎"
"""Stands for a line break, which parts two clauses and may stand in a text."""
_MARKED = re.compile(r"qzx(\d+)xzq")
_BULLET = re.compile(r"^[ \t]*(?:\d{1,2}[.)]|[-*•])[ \t]+", re.MULTILINE)
_MOST_CHARS, _MOST_STEPS, _SHOWN = 4000, 40, 60
_SURE, _PLAUSIBLE, _CORRECTED = 0.85, 0.6, 0.71
_SHORTEST, _LONG, _SIGN, _MOST_JOINED = 4, 7, 2, 6
_ELIDING = ("open_app", "close_window", "computer_key", "computer_click", "create_app")
_MADE = frozenset(
    {"computer_click", "computer_key", "type_into", "scroll", "close_all", "undo", "go_into", "side_by_side"}
)
_AFTER_TEXT = frozenset(
    {
        "computer_key",
        "computer_click",
        "computer_type",
        "type_into",
        "choose_menu",
        "choose_from",
        "tab",
        "scroll",
        "wait",
        "wait_for",
        "save_as",
        "copy",
        "open_app",
        "focus_window",
        "screen_capture",
        "read_screen",
        "read_window",
        "undo",
        "list_windows",
        "read_clipboard",
        "thanks",
        "hello",
        "no_wish",
    }
)
"""What may be done behind a text without quotation marks. Anything else, as in “delete x.txt”, may be part of it."""
_TYPING = ("computer_type", "type_into", "write_file", "write_clipboard")
_MANNERS = ("thanks", "hello", "no_wish")
_MOST_NAME, _MOST_TIME, _MOST_NEAR = 4, 7, 4
"""The most words that say a time."""


@dataclass(frozen=True, slots=True)
class Act:
    """One thing to do or to answer: an intent of the grammar with what its slots mean."""

    intent: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The whole wish is declined. `kind` names the reason, `part` the words that it is about.

    `program` is an installed program that they name, `can` the first of several clauses that could be done alone,
    `limit` the most that could be done at once, `offers` the wishes that would say it clearly.
    """

    kind: str
    part: str = ""
    program: str = ""
    can: str = ""
    limit: str = ""
    offers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Clause:
    """One way to read a clause. `head` is its beginning up to the first slot, which a next clause may leave out."""

    acts: tuple[Act, ...]
    sure: float
    literal: int
    head: str = ""
    is_open: bool = False
    is_doubtful: bool = False

    @property
    def rank(self) -> tuple[float, int]:
        return (self.sure, self.literal)


def is_deed(intent: str) -> bool:
    """True if it becomes calls. All other intents are answered in words."""
    return intent in resources.table("offline/acts.toml", resources.Table) or intent in _MADE


def _may_be_asked(intent: str) -> bool:
    """True if a question may ask for an intent: “open the calculator?” is not done."""
    acts = resources.table("offline/acts.toml", resources.Table)
    return not is_deed(intent) or "is_asked" in acts.get(intent, {})


def _may_be_later(intent: str) -> bool:
    """True if it may be planned for a time when nobody may be there."""
    acts = resources.table("offline/acts.toml", resources.Table)
    return intent not in ("remind", "planned", "unplan") and "is_now" not in acts.get(intent, {})


def read_wish(wish: str, world: World | None = None) -> tuple[Act, ...] | Refusal:
    """Return the acts that a wish asks for, in order. Either all of it is read, or no part of it."""
    world = world or World()
    if world.has_part and (not wish.strip() or _is_about_part(wish)):
        return (Act("read_part"),)
    if not wish.strip():
        return (Act("no_wish"),)
    if len(wish) > _MOST_CHARS:
        return Refusal("too_long")
    return _Reader(wish, world).read()


_Chained = list[_Clause] | Refusal | None
"""The clauses of a wish in order, why nothing is done, or None where it cannot be read."""
_Read = dict[tuple[int, str], _Chained]


class _Reader:
    """Reads one wish. Each clause is read only once."""

    def __init__(self, wish: str, world: World) -> None:
        self._world = world
        self._quotes: list[str] = []
        self._written: list[str] = []
        self._text = " ".join(_QUOTED.sub(self._mark, _BULLET.sub("", wish)).replace("\n", f" {_LINE} ").split())
        self._known: dict[str, list[_Clause]] = {}
        self._is_request = any(grammar.is_request(self._text) for grammar in grammars())
        words = self._text.casefold().split()
        order = sorted(grammars(), key=lambda one: -sum(word in one.vocabulary for word in words))
        of_wish = [one for one in order if not own_words(one).isdisjoint(word.strip(".,!?:;") for word in words)]
        self._languages = of_wish if len(of_wish) == 1 else order

    def _respelled(self, text: str, found: _Chained) -> _Chained:
        """Without slips of spelling, where that is surer than the reading `found`."""
        if isinstance(found, Refusal) or (found and min(one.sure for one in found) >= _CORRECTED):
            return found
        least = min(one.sure for one in found) if found else _PLAUSIBLE
        for corrected in self._corrected(text):
            other = self._whole(corrected) or self._chain(corrected)
            if other and not isinstance(other, Refusal) and min(one.sure for one in other) > least:
                return other
        return found

    def _mark(self, quoted: re.Match[str]) -> str:
        self._quotes.append(next(text for text in quoted.groups() if text is not None))
        is_plain = quoted[0][:1] in _SHELL_MARKS
        self._written.append(quoted[0] if is_plain else f'"{self._quotes[-1]}"')
        return _MARKER.format(len(self._quotes) - 1)

    def read(self) -> tuple[Act, ...] | Refusal:
        if unclosed := _UNCLOSED.search(self._text):
            return Refusal("quote", clip_line(unclosed[1], _SHOWN))
        text = self._text.strip(f" ;{_LINE}")
        short = min((grammar.without_lead(text) for grammar in grammars()), key=len)
        found = self._whole(short) or self._chain(short)
        if found is None and short != text:  # because “hello there” alone is a greeting
            found = self._chain(text)
        if found is None:
            refusal = self._refusal(text)
            if refusal.kind != "unreadable":
                return refusal
        found = self._respelled(short, found)
        if found is None:
            return refusal
        if isinstance(found, Refusal):
            return found
        acts = tuple(act for clause in found for act in clause.acts)
        acts = tuple(act for act in acts if act.intent not in _MANNERS) or acts[:1]
        if len(acts) > 1 and not all(is_deed(act.intent) for act in acts):
            return Refusal("mixed", clip_line(self._shown(text), _SHOWN))
        if len(acts) > _MOST_STEPS:
            return Refusal("too_many")
        return acts

    def _whole(self, text: str) -> _Chained:
        """Read what takes all of a wish: a command behind a colon, or what is to be done later."""
        for grammar in self._languages:
            for intent, shape in grammar.commands.items():
                if said := shape.fullmatch(grammar.without_polite(text)[1]):
                    act = Act(intent, {"command": self._shown(said["command"], raw=True)})
                    return [_Clause((act,), 1.0, 0)]
        return self._later(text) or self._within(text)

    def _within(self, text: str) -> list[_Clause] | None:
        """Read what is to be done in a program or window that is named: “in the calculator press 7”."""
        for grammar in self._languages:
            words = grammar.without_polite(text)[0].split(" ")
            for at in range(len(words) - 1):
                lead = re.match(rf"(?:{grammar.within})(?= )", " ".join(words[at:]), re.IGNORECASE)
                first = at + lead[0].count(" ") + 1 if lead else len(words)
                for end in range(min(first + _MOST_NAME, len(words)), first, -1):
                    name, fits = fit("opened", self._words(" ".join(words[first:end]).strip(" ,;:."), grammar))
                    last = words[end - 1][-1:]
                    mark = last if at and last in (",", ";", ".") else ""  # or else two clauses become one
                    rest = f"{' '.join(words[:at])}{mark} {' '.join(words[end:])}".strip()
                    read = self._chain(rest) if fits and rest else None
                    is_parted = at == 0 or words[end - 1].endswith(":")
                    if not read or isinstance(read, Refusal):
                        continue
                    if is_parted or not read[-1].is_open or read[-1].acts[0].intent == "find_text":
                        return [_Clause((Act("go_into", {"name": name}),), fits, 0), *read]
        return None

    def _later(self, text: str) -> list[_Clause] | None:
        """Read a wish with the time when it is to be done: before all of it, behind it, or behind its first words."""
        for grammar in self._languages:
            plain, _ = grammar.without_polite(text)
            words = plain.rstrip(" .!?").split(" ")
            for start, end in _spans(words, grammar):
                named = " ".join(words[start:end]).strip(",:")
                said = when(named, grammar)
                rest = " ".join([*words[:start], *words[end:]]).strip(" ,:")
                if rest.rpartition(" ")[2] in grammar.words["between"]:  # “at 5 and at 6”
                    return None
                is_behind = start > 0 and end == len(words)
                if said and rest and (clause := self._timed(rest, said, is_behind=is_behind, grammar=grammar)):
                    return [clause]
                alone = when_alone(named, grammar) if rest and not said and len(named) >= _SHORTEST else ""
                if alone and (clause := self._reminded(rest, alone)):
                    return [clause]
        return None

    def _timed(self, rest: str, schedule: str, *, grammar: Grammar, is_behind: bool) -> _Clause | None:
        if reminder := self._reminded(rest, schedule):
            return reminder
        task = re.sub(rf"^(?:{grammar.timed})\s+", "", rest, flags=re.IGNORECASE)
        read = self._chain(task)
        if not read or isinstance(read, Refusal) or (is_behind and read[-1].is_open):
            return None
        if any(not _may_be_later(act.intent) for clause in read for act in clause.acts):
            return None
        act = Act("schedule", {"schedule": schedule, "task": self._shown(task, raw=True)})
        return _Clause((act,), min(clause.sure for clause in read), 0)

    def _reminded(self, rest: str, schedule: str) -> _Clause | None:
        clauses = self._clauses(rest)
        reminders = [
            one for one in clauses if one.acts[0].intent == "remind" and "schedule" not in one.acts[0].arguments
        ]
        if not reminders:
            return None
        best = max(reminders, key=lambda one: one.rank)
        return replace(best, acts=(Act("remind", {**best.acts[0].arguments, "schedule": schedule}),))

    def _chain(self, text: str) -> _Chained:
        """Read the clauses of a wish. Of several ways to cut it, the one with the shortest clauses counts."""
        return self._from(self._cut(text), 0, None, {})

    def _cut(self, text: str) -> _Pieces:
        between = "|".join(grammar.between for grammar in grammars())
        words = rf"(?:{between})\s*,?\s+"
        cuts = rf"(?:\s*[;,.!?{_LINE}]+\s+|\s*;\s*)(?:{words})*|\s+{words}(?:{words})*|\s*(?:->|→|=>)\s*"
        found = re.finditer(cuts, text, re.IGNORECASE)
        return _Pieces(text, [cut for cut in found if cut.start() > 0 and cut.end() < len(text)])

    def _from(self, pieces: _Pieces, first: int, before: _Clause | None, read: _Read) -> _Chained:
        """From the piece `first` on; None if the clauses cannot be read."""
        key = (first, before.head if before else "")
        if key not in read:
            read[key] = self._tried(pieces, first, before, read)
        return read[key]

    def _tried(self, pieces: _Pieces, first: int, before: _Clause | None, read: _Read) -> _Chained:
        for last in range(first, min(len(pieces), first + _MOST_JOINED)):
            text = pieces.text(first, last)
            elided = self._elided(text, before) if before and last == first else None
            clause = self._best(text)
            is_click = clause is not None and clause.acts[0].intent == "computer_click"
            if clause is None or (elided and elided.acts[0].intent == "choose_menu" and not is_click):
                clause = elided
            if clause is None:
                continue
            if clause.is_doubtful:
                return Refusal("ambiguous", clip_line(self._shown(text), _SHOWN))
            if clause.is_open and (doubt := pieces.doubt(first, last)):
                return Refusal("ambiguous", clip_line(self._shown(doubt), _SHOWN))
            if last + 1 == len(pieces):
                return [clause]
            rest = self._from(pieces, last + 1, clause, read)
            if isinstance(rest, Refusal):
                return rest
            if rest and clause.is_open and (rest[0].sure < _PLAUSIBLE or rest[0].acts[0].intent not in _AFTER_TEXT):
                return Refusal("ambiguous", clip_line(self._shown(pieces.text(first, len(pieces) - 1)), _SHOWN))
            if rest:
                is_menu = rest[0].acts[0].intent == "choose_menu" and rest[0].head == clause.head
                return rest if is_menu else [clause, *rest]
        return None

    def _best(self, text: str) -> _Clause | None:
        found = self._clauses(text)
        return max(found, key=lambda one: one.rank) if found else None

    def _elided(self, text: str, before: _Clause) -> _Clause | None:
        """Read a clause without a verb, such as “the terminal” behind “open the calculator and”."""
        if before.acts[-1].intent not in _ELIDING:
            return None
        verb = before.head.split()[0] if before.head.split() else ""
        for said in (f"{before.head}{text}", f"{verb} {text}"):
            clause = self._best(said)
            if clause is None or clause.acts[0].intent != before.acts[-1].intent:
                continue
            target, into = before.acts[-1].arguments.get("target"), clause.acts[0].arguments.get("target")
            if target and self._listed("menus", str(target)):
                return replace(clause, acts=(Act("choose_menu", {"path": f"{target} > {into}"}),), head=before.head)
            is_sign = len(text) <= _SIGN or text.casefold().startswith(before.head.casefold().split()[-1:][0] + " ")
            if clause.sure >= _SURE or is_sign or said.count(" ") > before.head.count(" ") + text.count(" "):
                return replace(clause, head=before.head)
        return None

    def _listed(self, table: str, said: str) -> bool:
        return any(said.casefold() in grammar.words[table] for grammar in grammars())

    def _clauses(self, text: str) -> list[_Clause]:
        """All ways to read it."""
        if text not in self._known:
            found: list[_Clause] = []
            for grammar in self._languages:
                found += self._in(grammar, text.strip())
                if any(clause.sure >= _SURE for clause in found):  # because another language would only cost time
                    break
            self._known[text] = found
        return self._known[text]

    def _in(self, grammar: Grammar, text: str) -> list[_Clause]:
        """Read a clause in one language. Polite words at its end belong to it only where it cannot be read without."""
        text = grammar.plainly(text)
        plain, kept = grammar.without_polite(text)
        found: list[_Clause] = []
        for said in dict.fromkeys((plain, kept, text)):
            closed = any(not clause.is_open for clause in found)
            is_asked = said.endswith("?") and not self._is_request
            is_declined = any(one.refusal(said) for one in grammars())
            for match in grammar.matches(said if said.endswith("..") else said.rstrip(" .")):
                if is_declined and not match.head:  # or else “don't” would be a part of the name behind it
                    continue
                clause = self._fitting(grammar, match)
                opened = any(clause.is_open for clause in found)
                is_kept = clause is not None and ((said == kept or not opened) if clause.is_open else not closed)
                if clause is None or not is_kept or (is_asked and not _may_be_asked(clause.acts[0].intent)):
                    continue
                # “type hello please”: nobody knows whether the last word is to be typed.
                is_doubtful = clause.is_open and said != text and clause.acts[0].intent in _TYPING
                found.append(replace(clause, is_doubtful=is_doubtful and grammar.is_courteous(text)))
        return [_as_named(clause, text, plain, grammar) for clause in found]

    def _fitting(self, grammar: Grammar, match: Match) -> _Clause | None:
        """None if what stands at a slot does not fit."""
        sure, given, is_open = match.weight, dict(match.fixed), False
        for (kind, argument), said in match.slots.items():
            words = self._words(said.rstrip("?") if self._is_request else said, grammar)
            if kind == "text" and _ends_in_courtesy(match.head, grammar):
                return None
            given[argument], fits = fit(kind, words)
            if not fits:
                return None
            sure = min(sure, fits)
            is_open = is_open or (kind in OPEN_TEXTS and not words.is_quoted)
        return _Clause((Act(match.intent, given),), sure, match.literal, match.head, is_open)

    def _words(self, said: str, grammar: Grammar) -> Words:
        is_quoted, has_quotes = bool(_MARKED.fullmatch(said)), bool(_MARKED.search(said))
        written = self._plain(said, self._written)
        return Words(self._plain(said, self._quotes), written, is_quoted, has_quotes, grammar, self._world)

    def _plain(self, said: str, quotes: Sequence[str]) -> str:
        """`quotes` has the quoted texts in them."""
        said = re.sub(rf" ?{_LINE} ?", "\n", said)
        return _MARKED.sub(lambda mark: quotes[int(mark[1])], said)

    def _shown(self, said: str, *, raw: bool = False) -> str:
        """With quotation marks around quoted texts."""
        marks = '""' if raw else "“”"
        return _MARKED.sub(lambda mark: f"{marks[0]}{self._quotes[int(mark[1])]}{marks[1]}", said)

    def _corrected(self, text: str) -> Iterator[str]:
        """Yield the text with more and more of its words, from the first on, spelled as the grammar spells them."""
        from rapidfuzz.distance import OSA

        vocabulary = frozenset[str]().union(*(grammar.vocabulary for grammar in self._languages))
        words = text.split(" ")
        for at, word in enumerate(words):
            low = word.casefold().strip(".,!?:;")
            if low in vocabulary or len(low) < 3 or not low.replace("-", "").isalpha() or shutil.which(low):
                continue
            most = 1 if len(low) < _LONG else 2
            near = [(OSA.distance(low, known), known) for known in vocabulary if abs(len(known) - len(low)) <= most]
            # Another first letter makes another word: “undelete” is no slip of “delete”.
            near = [one for one in near if one[0] <= most and one[1][0] == low[0] and len(one[1]) >= _SHORTEST]
            swapped = [(1, known) for known in vocabulary if sorted(known) == sorted(low)]
            # In a short word with another first letter, chance swaps as often as a slip: “Ton” is no “not”.
            swapped = [one for one in swapped if len(low) >= _SHORTEST or one[1][0] == low[0]]
            nearest = sorted({*near, *swapped})[:_MOST_NEAR]
            for _, known in reversed(nearest):  # so that the nearest stands while the words behind it are corrected
                words[at] = word.casefold().replace(low, known)
                yield " ".join(words)

    def _refusal(self, text: str) -> Refusal:
        """The reason of the first clause that begins with words of a reason."""
        pieces, names, shown = self._cut(text), program_names(self._world), clip_line(self._shown(text), _SHOWN)
        parts = [pieces.text(at, at) for at in range(len(pieces))]
        reasons = (one.refusal(one.without_lead(part)) or one.refusal(part) for part in parts for one in grammars())
        kind = next(filter(None, reasons), "")
        is_negated = any(one.negations.search(text) for one in self._languages)
        kind = kind or ("negation" if is_negated else "unreadable")
        hows = (one.how.sub("", text).rstrip(" ?") for one in self._languages if one.how.match(text))
        done = (part for part in (*hows, *(parts if len(parts) > 1 else ())) if self._is_done(part))
        is_short = text.count(" ") < _MOST_NAME  # or else a program is named beside what matters
        words = re.findall(r"[\w-]{3,}", text.casefold()) if is_short else ()
        program = next((word for word in words if word in names), "")
        return Refusal(kind, shown, program, self._shown(next(done, ""), raw=True))

    def _is_done(self, part: str) -> bool:
        clause = self._best(part)
        if clause is None or clause.sure < _PLAUSIBLE:
            return False
        return all(is_deed(act.intent) and IT not in act.arguments.values() for act in clause.acts)


def _ends_in_courtesy(head: str, grammar: Grammar) -> bool:
    """True if a polite word with a capital stands before the text: it belongs to “tippe Bitte nicht stören”."""
    before, _, last = head.rstrip().rpartition(" ")
    polite = grammar.words["polite"]
    return bool(before) and last[:1].isupper() and last.casefold() in (*polite["always"], *polite["before"])


def _as_named(clause: _Clause, text: str, plain: str, grammar: Grammar) -> _Clause:
    """Return a click with the last word that was taken for politeness, where names end so too: “Order now”.

    Without it, the name is the second that is looked for.
    """
    act, cut = clause.acts[0], text[text.find(plain) + len(plain) :].strip(" ,.!?")
    if (
        act.intent != "computer_click"
        or "target" not in act.arguments
        or cut.casefold() not in grammar.words["in_names"]
    ):
        return clause
    target = act.arguments["target"]
    return replace(clause, acts=(Act(act.intent, {**act.arguments, "target": f"{target} {cut}", "or": target}),))


def _is_about_part(said: str) -> bool:
    plains = ((grammar, grammar.without_polite(said.strip())[0].rstrip("?. ")) for grammar in grammars())
    return any(match.intent == "read_part" for grammar, plain in plains for match in grammar.matches(plain))


class _Pieces:
    """A text cut at the words and marks that may part two clauses."""

    def __init__(self, text: str, cuts: Sequence[re.Match[str]]) -> None:
        self._text = text
        self._cuts = cuts
        self._starts = [0, *(cut.end() for cut in cuts)]
        self._ends = [*(cut.start() + len(cut[0]) - len(cut[0].lstrip("!?")) for cut in cuts), len(text)]

    def __len__(self) -> int:
        return len(self._starts)

    def text(self, first: int, last: int) -> str:
        return self._text[self._starts[first] : self._ends[last]]

    def doubt(self, first: int, last: int) -> str:
        """Return the words if an open text seems to hold a clause of its own: it is unclear where the text ends."""
        for at in range(first, last):
            rest = self._text[self._starts[at + 1] :]
            is_strong = any(re.search(rf"\b(?:{grammar.strong})\b", self._cuts[at][0], re.I) for grammar in grammars())
            if is_strong or any(grammar.verbs.match(rest) for grammar in grammars()):
                return self.text(first, last)
        return ""


def _spans(words: Sequence[str], grammar: Grammar) -> Iterator[tuple[int, int]]:
    """Yield where a time may stand among the words of a wish, the longest first."""
    timed = re.match(rf"(?:{grammar.timed})(?= )", " ".join(words), re.IGNORECASE)
    heads = [0, timed[0].count(" ") + 1] if timed else [0]
    longest = min(_MOST_TIME, len(words) - 1)
    for length in range(longest, 0, -1):
        yield from ((head, head + length) for head in heads if head + length <= len(words))
        yield len(words) - length, len(words)
