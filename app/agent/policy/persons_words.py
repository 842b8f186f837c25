"""Whether the person's own words name what a call would do, so strictly that nobody else can widen them.

What counts are sentences that tell Wisp to act. A sentence that denies, asks, supposes or reports names nothing, and
what it speaks of is named nowhere else either. Long and quoted text is somebody else's.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.agent.policy import addresses
from app.agent.policy.consequences import is_pressed_role, meaning_of, only_affirms, plain_words, words_of
from app.agent.policy.sentences import table
from app.agent.policy.values import Action, Consequence, Control, Provenance
from app.protocol.spec import Effect

RULE = "your words"
"""What decides where the person's words do."""

_QUOTED = re.compile(r"\"([^\"\n]*)\"|`([^`\n]*)`|(?<![\w\"])'([^'\n]+)'(?!\w)")
_MARKS = str.maketrans(dict.fromkeys("“”„«»‟", '"'))
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_TOKEN = re.compile(r"\0\d+\0|[\w'’-]+|[^\w\s]")
_SLOT = re.compile(r"\0(\d+)\0")
_PATH_EDGES = ".,;:!?\"'`()[]<>"
_MOST_FILLERS = 6
_RETURN = frozenset({"Return", "KP_Enter"})
_ENDS_LINE = _RETURN | {"ctrl+c", "ctrl+u"}
_UNKNOWN = "\0"

_NEVER = frozenset(
    {
        Consequence.OWN, Consequence.PASSWORD, Consequence.SECRET, Consequence.STARTS, Consequence.SESSION,
        Consequence.INNER, Consequence.ODD, Consequence.UNCLEAR, Consequence.PERSISTS, Consequence.NEW_HOST,
        Consequence.CRAFTED, Consequence.NEW_WORDS, Consequence.UNASKED, Consequence.UNKNOWN, Consequence.SUBMITS,
    }
)  # fmt: skip
"""No words answer these here: who is named for a host, a program or a file has its own kind."""
_PRESSED = frozenset({Consequence.OUTWARD, Consequence.IRREVERSIBLE, Consequence.PRIVILEGED})


def cover(act: Action, provenance: Provenance) -> bool:
    """Whether the person's instructions name all that has to be asked of the act."""
    if not provenance.instructions or act.kinds & _NEVER:
        return False
    if Effect.SETTINGS in act.effects:
        return False
    told = _read(provenance.instructions)
    if Effect.EXECUTES in act.effects:
        return _names_command(act, told)
    if Effect.NETWORK in act.effects:
        return act.effects <= {Effect.NETWORK, Effect.READS} and _names_hosts(act, told)
    if Effect.WRITES in act.effects:
        return _names_paths(act, told, "delete" if act.tool.startswith("delete") else "write")
    if Consequence.LAUNCHES in act.kinds:
        return bool(act.paths) and _names_paths(act, told, "open")
    if Consequence.TERMINAL in act.kinds:
        return not act.kinds & _PRESSED and _typed_line(act, provenance) in told.commands
    return bool(act.kinds & _PRESSED) and _names_control(act, told)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """`tokens` are words, marks, and places of quotes (`\\0n\\0`). `raw` is the sentence as it was written."""

    tokens: tuple[str, ...]
    quotes: tuple[str, ...]
    raw: str
    counts: bool

    def quote(self, token: str) -> str | None:
        found = _SLOT.fullmatch(token)
        return self.quotes[int(found[1])] if found else None

    def holds(self, words: Sequence[str]) -> bool:
        """Whether the words stand anywhere in it, quoted or not."""
        spoken = plain_words(self.raw)
        return any(tuple(spoken[at : at + len(words)]) == tuple(words) for at in range(len(spoken)))


@dataclass(frozen=True, slots=True)
class _Told:
    sentences: tuple[_Sentence, ...]
    commands: frozenset[str]

    @property
    def counting(self) -> Iterator[_Sentence]:
        return (one for one in self.sentences if one.counts)

    def denies(self, words: Sequence[str]) -> bool:
        """Whether a sentence that names nothing speaks of it."""
        return any(one.holds(words) for one in self.sentences if not one.counts)


@cache
def _listed(section: str, name: str) -> frozenset[str]:
    return frozenset(table("words")[section][name])


@cache
def _blocks() -> frozenset[str]:
    return frozenset(word for words in table("words")["blocks"].values() for word in words)


def _read(said: str) -> _Told:
    text = said.translate(_MARKS).replace("’", "'").replace("\0", "")
    if len(text) > table("words")["limits"]["characters"]:
        return _Told((), frozenset())
    text = "\n".join(_own_lines(text))
    return _Told(tuple(_sentences(text)), _commands(text))


def _own_lines(text: str) -> Iterator[str]:
    """The lines before somebody else's text begins."""
    heads = tuple(table("words")["reports"]["heads"])
    for line in text.splitlines():
        start = line.strip().casefold()
        if start.startswith(heads):
            return
        if not start.startswith((">", "|")):
            yield line


def _sentences(text: str) -> Iterator[_Sentence]:
    quotes: list[str] = []

    def hide(found: re.Match[str]) -> str:
        quotes.append(next(group for group in found.groups() if group is not None))
        return f" \0{len(quotes) - 1}\0 "

    hidden = _QUOTED.sub(hide, text)
    # What follows a quotation mark without its end may all be a quotation.
    hidden = re.split(r"[\"`]", hidden)[0]
    is_reported = False
    for part in _SENTENCE.split(hidden):
        own = _without_tail(part)
        tokens = tuple(_TOKEN.findall(own.casefold()))
        is_reported = is_reported or _is_report(tokens)
        counts = not is_reported and not _is_blocked(own, tokens)
        raw = _SLOT.sub(lambda found: f'"{quotes[int(found[1])]}"', own)
        yield _Sentence(tokens, tuple(quotes), raw, counts)


def _is_report(tokens: Sequence[str]) -> bool:
    """Whether somebody else's words follow, or stand there."""
    if any(word in _listed("reports", "words") for word in tokens):
        return True
    return any(one in _listed("reports", "introducing") and after == ":" for one, after in itertools.pairwise(tokens))


def _without_tail(sentence: str) -> str:
    """The sentence up to where it asks for words only."""
    folded = sentence.casefold()
    found = [at for tail in table("words")["reports"]["tails"] if (at := folded.find(tail)) > 0]
    return sentence[: min(found)] if found else sentence


def _is_blocked(text: str, tokens: Iterable[str]) -> bool:
    words = tuple(tokens)
    if any(word in _blocks() or word.endswith("n't") for word in words):
        return True
    polite = tuple(table("words")["openings"]["polite"])
    return text.rstrip().endswith("?") and not text.strip().casefold().startswith(polite)


def _names_control(act: Action, told: _Told) -> bool:
    """Whether the one control that the act presses is named, and does nothing beyond its name."""
    control = act.control
    if act.paths or len(act.controls) != 1 or (act.keys and set(act.keys) - {*_RETURN, "space"}) or act.text:
        return False
    name = control.default if act.keys and control.default else control.name
    if act.keys and control.default and is_pressed_role(control.role) and control.name != control.default:
        return False
    words = plain_words(name)
    if not words or only_affirms(name) or not act.kinds & _PRESSED <= _own_meaning(name, control):
        return False
    if told.denies(words):
        return False
    return any(_is_pressed(words, one) or _is_done(words, one) for one in told.counting)


def _own_meaning(name: str, control: Control) -> frozenset[str]:
    """What the name says by itself, unless the dialog around it says more."""
    role = "button" if name == control.default else control.role
    own = meaning_of(role, name)
    return own if words_of(control) <= own else frozenset()


def _is_pressed(words: Sequence[str], one: _Sentence) -> bool:
    """A verb of pressing, then the whole name: quoted, or as words that end there."""
    verbs = (at for at, token in enumerate(one.tokens) if token in _listed("deeds", "press"))
    return any(_follows(words, one, at + 1) for at in verbs if _begins_clause(one, at))


def _follows(words: Sequence[str], one: _Sentence, at: int) -> bool:
    fillers = _listed("fillers", "words") | _listed("fillers", "joins")
    skipped = 0
    for index in range(at, len(one.tokens)):
        token = one.tokens[index]
        if _stand_at(words, one, index) and skipped <= _MOST_FILLERS:
            return True
        quoted = one.quote(token)
        if quoted is not None:
            if plain_words(quoted) == tuple(words):
                return True
        elif token in fillers:
            skipped += 1
        else:
            return False
    return False


def _stand_at(words: Sequence[str], one: _Sentence, at: int) -> bool:
    spoken = one.tokens[at : at + len(words)]
    return tuple(spoken) == tuple(words) and _ends(one, at + len(words))


def _ends(one: _Sentence, at: int) -> bool:
    """Whether a name can end before this token."""
    if at >= len(one.tokens):
        return True
    token = one.tokens[at]
    return token in ".,!;?:" or token in _listed("fillers", "ends")


def _is_done(words: Sequence[str], one: _Sentence) -> bool:
    """The name itself as a command, verb and object: "delete the note" for "Delete note"."""
    if len(words) == 1:
        return False
    articles = _listed("fillers", "articles")
    for at, token in enumerate(one.tokens):
        if token != words[0] or not _begins_clause(one, at):
            continue
        rest = [(index, word) for index, word in enumerate(one.tokens) if index > at and word not in articles]
        found = rest[: len(words) - 1]
        if tuple(word for _, word in found) == tuple(words[1:]) and _ends(one, found[-1][0] + 1):
            return True
    return False


def _begins_clause(one: _Sentence, at: int) -> bool:
    before = one.tokens[:at]
    if not before or before[-1] == "," or before[-1] in _listed("openings", "words"):
        return True
    polite = (tuple(phrase.split()) for phrase in table("words")["openings"]["polite"])
    return before in polite or (before[0] in _listed("openings", "places") and ":" not in before)


@cache
def _running() -> re.Pattern[str]:
    verbs = "|".join(map(re.escape, table("words")["deeds"]["run"]))
    fillers = "|".join(map(re.escape, table("words")["fillers"]["words"]))
    return re.compile(rf"(?<!\w)(?:{verbs})(?:\s+(?:{fillers}))*\s*(:?)\s*(?=\S)", re.IGNORECASE)


def _commands(text: str) -> frozenset[str]:
    """The commands that the person wrote out: quoted after a verb of running, or after it to the end of the line.

    A word that denies, supposes or reports anywhere around them takes all of them back.
    """
    commands: set[str] = set()
    for line in text.splitlines():
        found = _running().search(line)
        command, around = _command_in(line, found) if found else ("", line)
        around = _without_tail(around)
        tokens = _TOKEN.findall(around.casefold())
        if _is_report(tokens) or _is_blocked(around, tokens):
            return frozenset()
        commands |= {command} if command else set()
    return frozenset(commands)


def _command_in(line: str, found: re.Match[str]) -> tuple[str, str]:
    """The command after a verb of running, and what stands around it."""
    before, rest = line[: found.start()], line[found.end() :]
    quoted = _QUOTED.match(rest)
    if quoted:
        return next(group for group in quoted.groups() if group is not None).strip(), before + rest[quoted.end() :]
    return (rest.strip(), before) if found[1] else ("", line)


def _names_command(act: Action, told: _Told) -> bool:
    is_here = not act.kinds & {Consequence.OUTSIDE, Consequence.FAR} and not act.arguments.get("cwd")
    return is_here and bool(act.command) and act.command.strip() in told.commands


def _typed_line(act: Action, provenance: Provenance) -> str:
    """The line that the act ends in a terminal; empty where that is not known.

    Text may stand in the line of a terminal that was there before, so only new terminals of this turn count.
    """
    if act.control.window_ref not in provenance.terminals:
        return ""
    before = provenance.lines.get(act.control.window_key, "")
    is_return = len(act.keys) == 1 and act.keys[0] in _RETURN and not act.text
    is_typed = not act.keys and act.text.endswith("\n") and act.text.count("\n") == 1
    line = before if is_return else before + act.text[:-1] if is_typed else ""
    return line.strip() if line.isprintable() else ""


def _names_hosts(act: Action, told: _Told) -> bool:
    sentences = [one for one in told.counting if any(token in _listed("deeds", "visit") for token in one.tokens)]
    denied = [one.raw for one in told.sentences if not one.counts]
    return bool(act.hosts) and all(
        any(addresses.is_named(host, one.raw) for one in sentences)
        and not any(addresses.is_named(host, raw) for raw in denied)
        for host in act.hosts
    )


def _names_paths(act: Action, told: _Told, deed: str) -> bool:
    """Whether a sentence with that verb names each path as it resolves, or the folder that a new file goes into."""
    sentences = [one for one in told.counting if any(token in _listed("deeds", deed) for token in one.tokens)]
    named = {path for one in sentences for path in _paths_in(one)}
    denied = {path for one in told.sentences if not one.counts for path in _paths_in(one)}
    return bool(act.paths) and all(_is_path(path, named - denied, denied, deed) for path in act.paths)


def _is_path(path: str, named: set[str], denied: set[str], deed: str) -> bool:
    if path in denied:
        return False
    is_new = deed == "write" and not os.path.lexists(path)
    folder = str(Path(path).parent)
    roots = {os.path.realpath(Path.home()), "/"}
    return path in named or (is_new and folder in named and folder not in roots)


def _paths_in(one: _Sentence) -> Iterator[str]:
    """The places that a sentence writes out, resolved as the tools resolve them."""
    quoted = [found for found in one.quotes if f'"{found}"' in one.raw]
    for word in (*quoted, *one.raw.split()):
        text = word.strip(_PATH_EDGES.replace("~", "")).removeprefix("device:/")
        where = f"~/{text}" if "device:/" in word else text
        if where.startswith(("~/", "/")):
            yield os.path.realpath(Path(where).expanduser())


def line_after(before: str, text: str, keys: Sequence[str]) -> str:
    """The text in a terminal's line after text or chords. A null sign means that nobody knows the line.

    What is unknown stays unknown: a Return may only continue an open quotation.
    """
    if _UNKNOWN in before:
        return before
    if keys:
        return "" if len(keys) == 1 and keys[0] in _ENDS_LINE else _UNKNOWN
    if "\n" not in text:
        return before + text
    return "" if text.count("\n") == 1 and text.endswith("\n") else _UNKNOWN


def unknown_line() -> str:
    """The line of a terminal after an act that may put anything into it."""
    return _UNKNOWN
