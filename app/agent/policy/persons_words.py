"""Decide whether the person's own words name what a call would do. Text by others adds nothing to them.

`instructions` decides which sentences count. Where it is not sure that a call is named, it is not, and the policy asks
(SECURITY.md: "With nobody there to answer, whatever would have to ask is refused, unless the task itself names").
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from app.agent.policy import addresses, both_ends
from app.agent.policy.consequences import (
    is_field,
    is_pressed_role,
    meaning_of,
    only_affirms,
    own_meaning,
    plain_words,
    sends_on_return,
    words_of,
)
from app.agent.policy.instructions import Instructions, SpokenSentence, begins_clause, listed, may_end, read
from app.agent.policy.keystrokes import perhaps_pressed
from app.agent.policy.sentences import by_tool, table
from app.agent.policy.terminals import UNKNOWN_LINE
from app.agent.policy.values import LINES_KEPT, Action, Consequence, Control, Kinds, Provenance
from app.protocol.spec import Effect
from app.services.files import places

RULE = "your words"
"""What decides where the person's words do."""

_PATH_EDGES = ".,;:!?\"'`()[]<>"
_FILE = re.compile(r"[\w][\w .-]*\.\w{1,8}")
_BARE_NAME = re.compile(r"\w[\w -]*")
_WORD = re.compile(r"\"[^\"]*\"|[^\s\"]+")
_MOST_FILLERS = 6
_BUTTON = "button"
_RETURN = frozenset({"Return", "KP_Enter"})

_NEVER = frozenset(
    {
        Consequence.OWN, Consequence.PASSWORD, Consequence.SECRET, Consequence.STARTS, Consequence.SESSION,
        Consequence.INNER, Consequence.ODD, Consequence.UNCLEAR, Consequence.PERSISTS, Consequence.NEW_HOST,
        Consequence.CRAFTED, Consequence.NEW_WORDS, Consequence.UNASKED, Consequence.UNKNOWN, Consequence.CARRIES,
    }
)  # fmt: skip
"""No words answer these; but a control of unknown effect may be named by its whole name."""
_PRESSED = frozenset({Consequence.OUTWARD, Consequence.IRREVERSIBLE, Consequence.PRIVILEGED})


def cover(act: Action, provenance: Provenance, workspace: Path) -> bool:
    """Return whether the person's instructions name everything that the policy would ask about."""
    if not provenance.instructions or act.kinds & _NEVER:
        return _names_unknown(act, provenance) or _quotes_saved_name(act, provenance)
    if Effect.SETTINGS in act.effects:
        return False
    told = read(provenance.instructions)
    if Effect.EXECUTES in act.effects:
        return _names_command(act, told) or (not provenance.tainted_by and _names_program(act, told))
    if Effect.NETWORK in act.effects:
        is_reading = act.effects <= {Effect.NETWORK, Effect.READS}
        return is_reading and (_names_hosts(act, told) or _names_query(act, told))
    if Effect.WRITES in act.effects:
        deed = by_tool(table("calls")["deeds"], act.tool)
        return _names_paths(act, told, deed) or both_ends.are_named(act, provenance.instructions, workspace)
    if Consequence.LAUNCHES in act.kinds:
        return bool(act.paths) and _names_paths(act, told, "open")
    if Consequence.TERMINAL in act.kinds:
        return not act.kinds & _PRESSED and _typed_line(act, provenance) in told.commands
    if act.kinds == {Consequence.SUBMITS}:
        return _names_search(act, provenance, told)
    if act.kinds == {Consequence.OUTSIDE}:
        return _names_paths(act, told, "write")
    is_press = bool(act.kinds & _PRESSED) and not act.kinds & {Consequence.SUBMITS, Consequence.OUTSIDE}
    return is_press and _names_control(act, provenance, told)


def _names_unknown(act: Action, provenance: Provenance) -> bool:
    """Return whether the person names a control of unknown effect by its whole name."""
    is_unknown = act.kinds in ({Consequence.UNKNOWN}, {Consequence.UNKNOWN, Consequence.CLOSES})
    told = read(provenance.instructions)
    return is_unknown and Effect.DESKTOP in act.effects and _names_control(act, provenance, told)


def _names_control(act: Action, provenance: Provenance, told: Instructions) -> bool:
    """Return whether the one control that the act presses is named, and does nothing beyond its name."""
    control = act.control
    if act.paths or len(act.controls) != 1 or (act.keys and set(act.keys) - {*_RETURN, "space"}) or act.text:
        return False
    name = control.scene.default if act.keys and control.scene.default else control.name
    if act.keys and control.scene.default and is_pressed_role(control.role) and control.name != control.scene.default:
        return False
    if act.keys and not control.scene.default and any(meaning_of(_BUTTON, one) for one in perhaps_pressed(control)):
        return False
    words = plain_words(name)
    if not words or only_affirms(name) or not act.kinds & _PRESSED <= _own_meaning(name, control):
        return False
    if told.denies(words) or any(told.denies((form,)) for word in words for form in _forms(word) - {word}):
        return False
    if Consequence.OUTWARD in act.kinds and _may_be_elsewhere(provenance):
        return False
    shown = _shown(act, provenance)
    return any(_is_pressed(words, one) or _is_done(words, one, shown) for one in told.counting)


def _own_meaning(name: str, control: Control) -> Kinds:
    """Return the consequences that the name suggests; none if the dialog around the control suggests others too."""
    role = _BUTTON if name == control.scene.default else control.role
    own = own_meaning(role, name, control)
    return own if words_of(control.scene.words) <= own else frozenset()


def _is_pressed(words: Sequence[str], one: SpokenSentence) -> bool:
    """Return whether the sentence has a verb of pressing before the whole name, quoted or as words that end there."""
    verbs = (at for at, token in enumerate(one.tokens) if token in listed("deeds", "press"))
    return any(_follows(words, one, at + 1) for at in verbs if begins_clause(one, at))


def _follows(words: Sequence[str], one: SpokenSentence, at: int) -> bool:
    fillers = listed("fillers", "words") | listed("fillers", "joins")
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


def _stand_at(words: Sequence[str], one: SpokenSentence, at: int) -> bool:
    spoken = one.tokens[at : at + len(words)]
    return tuple(spoken) == tuple(words) and may_end(one, at + len(words))


def _is_done(words: Sequence[str], one: SpokenSentence, shown: frozenset[str]) -> bool:
    """Return whether the sentence gives the button's name as a command: "delete the note" for the button "Delete note",
    or for "Delete" alone if the note is shown.
    """
    for at, token in enumerate(one.tokens):
        forms = _forms(token)
        verbs = [word for word in words if word in forms]
        if len(verbs) != 1:
            continue
        rest = tuple(word for word in words if word not in forms and word not in listed("fillers", "articles"))
        phrase = _phrase(one, at)
        if phrase and (phrase == rest or (not rest and _is_shown(phrase, shown))):
            return True
    return False


@cache
def _forms(word: str) -> frozenset[str]:
    """Return all forms and translations of a verb that sentences and buttons use; the word alone if it is unknown."""
    groups = (frozenset(forms) for forms in table("words")["verbs"].values())
    return next((group for group in groups if word in group), frozenset({word}))


def _phrase(one: SpokenSentence, at: int) -> tuple[str, ...]:
    """Return the words of a verb's object: those after the verb, or before it if the verb ends its clause."""
    after = _words_from(one, at + 1, 1)
    if after:
        return after if begins_clause(one, at) else ()
    return _words_from(one, at - 1, -1)[::-1] if may_end(one, at + 1) else ()


def _words_from(one: SpokenSentence, at: int, step: int) -> tuple[str, ...]:
    found: list[str] = []
    while 0 <= at < len(one.tokens):
        token = one.tokens[at]
        is_end = may_end(one, at) or (bool(found) and token in listed("fillers", "ends_later"))
        if is_end if step > 0 else token in listed("openings", "words") or token in ".,!;?:":
            break
        quoted = one.quote(token)
        parts = plain_words(quoted) if quoted is not None else (token,)
        found += () if token in listed("fillers", "articles") else parts[::step]
        at += step
    return tuple(found)


def _is_shown(phrase: Sequence[str], shown: frozenset[str]) -> bool:
    """Return whether `shown` holds all words of an object, and the object is more than "file" or "it"."""
    return set(phrase) <= shown and not set(phrase) <= listed("objects", "vague")


def _shown(act: Action, provenance: Provenance) -> frozenset[str]:
    """Return the shown words that say what a control acts on: those of its dialog, or else of the window's title.

    None in a browser, because a page writes its own title. None for sending after others' words were read, because they
    may have chosen the recipient, unless the turn itself typed the recipient's address.
    """
    control = act.control
    is_to_anybody = Consequence.OUTWARD in act.kinds and provenance.tainted_by and not _addresses(provenance)
    if Consequence.PRIVILEGED in act.kinds or sends_on_return(control) or is_to_anybody:
        return frozenset()
    texts = [" ".join(control.scene.words) or control.window.title]
    found: set[str] = set()
    if Consequence.OUTWARD in act.kinds:
        texts += [control.window.title, *provenance.typed.get(control.window.app, ())]
        is_mail = any(fnmatchcase(control.window.app.casefold(), app) for app in listed("objects", "mail_apps"))
        found |= listed("objects", "mails") if is_mail else set()
    return frozenset(found.union(*map(plain_words, texts)))


def _addresses(provenance: Provenance) -> set[str]:
    """Return the mail addresses that the turn typed or copied. Any word with an @ counts."""
    text = " ".join(line for lines in provenance.typed.values() for line in lines)
    return {word for word in re.findall(r"[^\s<>,;]+", text.casefold()) if "@" in word}


def _may_be_elsewhere(provenance: Provenance) -> bool:
    """Return whether somebody else's words may have named an address that the turn typed."""
    said = {word.strip(_PATH_EDGES) for word in provenance.instructions.casefold().split()}
    is_partly_known = any(len(lines) >= LINES_KEPT for lines in provenance.typed.values())
    return bool(provenance.tainted_by) and (is_partly_known or not _addresses(provenance) <= said)


def _names_search(act: Action, provenance: Provenance, told: Instructions) -> bool:
    """Return whether all that was typed in the window are words of one sentence that asks to look for them."""
    line = provenance.lines.get(act.control.window.key, "") + act.text.strip("\r\n")
    typed, is_return = set(plain_words(line)), bool(act.text) or (len(act.keys) == 1 and act.keys[0] in _RETURN)
    if not is_return or not typed or UNKNOWN_LINE in line or not is_field(act.control):
        return False
    return any(typed <= set(plain_words(one.raw)) and _is_told(one, "search") for one in told.counting)


def _is_told(one: SpokenSentence, deed: str) -> bool:
    return any(token in listed("deeds", deed) and begins_clause(one, at) for at, token in enumerate(one.tokens))


def _names_command(act: Action, told: Instructions) -> bool:
    is_here = not act.kinds & {Consequence.OUTSIDE, Consequence.FAR} and not act.arguments.get("cwd")
    return is_here and bool(act.command) and act.command.strip() in told.commands


def _names_program(act: Action, told: Instructions) -> bool:
    """Return whether a sentence names a plain sandboxed command: by the file it runs, its chore or its program."""
    if act.kinds != {Consequence.SANDBOXED} or act.arguments.get("cwd") or set(act.command) & set("|&;<>()$`\\\n*?{}"):
        return False
    try:
        program, *rest = shlex.split(act.command)
    except ValueError:
        return False
    denied = {word for one in told.sentences if not one.counts for word in _spoken_in(one)}
    if any(_names_of(part) & denied for part in (program, *rest)):
        return False
    return any(_asks_for(one, act.command, program, rest) for one in told.counting)


def _spoken_in(one: SpokenSentence) -> set[str]:
    return {word.casefold() for word in _words_in(one)}


def _names_of(file: str) -> set[str]:
    """Return the names by which a sentence may name the file: with and without its suffix."""
    return {Path(file).stem.casefold(), Path(file).name.casefold()} - {""}


def _asks_for(one: SpokenSentence, command: str, program: str, rest: Sequence[str]) -> bool:
    for chore in table("words")["chores"].values():
        if command in chore["commands"] and set(chore["nouns"]) & _spoken_in(_objects(one, chore["verbs"])):
            return True
    if program in listed("objects", "runners") and len(rest) == 1:
        return Path(rest[0]).name.casefold() in _spoken_in(_objects(one, listed("deeds", "run")))
    files = [part for part in rest if not part.startswith("-")]
    named = _spoken_in(_objects(one, (program,)))
    return bool(files) and all(_names_of(part) & named for part in files)


def _typed_line(act: Action, provenance: Provenance) -> str:
    """Return the line of a terminal that the act ends by Return; "" if it is not known.

    Only new terminals of this turn count, because the line of another one may already hold text.
    """
    if act.control.window.ref not in provenance.terminals:
        return ""
    before = provenance.lines.get(act.control.window.key, "")
    is_return = len(act.keys) == 1 and act.keys[0] in _RETURN and not act.text
    is_typed = not act.keys and act.text.endswith("\n") and act.text.count("\n") == 1
    line = before if is_return else before + act.text[:-1] if is_typed else ""
    return line.strip() if line.isprintable() else ""


def _names_hosts(act: Action, told: Instructions) -> bool:
    sentences = [_objects(one, listed("deeds", "visit")) for one in told.counting]
    denied = [one.raw for one in told.sentences if not one.counts]
    return bool(act.hosts) and all(
        any(addresses.is_named(host, one.raw) for one in sentences)
        and not any(addresses.is_mentioned(host, raw) for raw in denied)
        for host in act.hosts
    )


def _names_query(act: Action, told: Instructions) -> bool:
    """Return whether one sentence of the person asks for a search, and all words of the query stand in it."""
    query = set(plain_words(str(act.arguments.get("query", ""))))
    is_search = bool(query) and not (act.hosts or act.is_added)
    return is_search and any(query <= set(plain_words(one.raw)) and _is_told(one, "search") for one in told.counting)


def _names_paths(act: Action, told: Instructions, deed: str) -> bool:
    """Return whether a sentence with the verb `deed` names each resolved path, or the folder of a new file."""
    models = listed("objects", "models") | (listed("objects", "sources") if deed == "write" else frozenset())
    sentences = [_objects(one, listed("deeds", deed), models) for one in told.counting]
    denied = {path for one in told.sentences if not one.counts for path in (*_files_in(one), *_folders_in(one))}
    named = {path for one in sentences for path in _files_in(one)} - denied
    folders = {
        path for one in sentences if deed == "write" and not _names_in(one) for path in _folders_in(one)
    } - denied
    return bool(act.paths) and all(path in named or _is_new_in(path, folders) for path in act.paths)


def _quotes_saved_name(act: Action, provenance: Provenance) -> bool:
    """Return whether a sentence quotes the file name that a dialog saves under.

    Only a name without a suffix can count, and no name that is a start-up file in any folder.
    """
    is_led = bool(provenance.tainted_by) and not provenance.planned
    if is_led or act.kinds != {Consequence.UNCLEAR} or Effect.DESKTOP not in act.effects:
        return False
    told = read(provenance.instructions)
    named = (one.quotes for one in told.counting if _is_told(one, "write") or _is_told(one, "run"))
    quoted = set().union(*named)
    return bool(act.paths) and all(
        _BARE_NAME.fullmatch(path) is not None
        and path in quoted
        and not places.may_start_by_itself(path)
        and not told.denies(plain_words(path))
        for path in act.paths
    )


def _objects(one: SpokenSentence, verbs: Collection[str], models: Collection[str] = ()) -> SpokenSentence:
    """Return the sentence reduced to the objects of these verbs: the words after each verb that begins a clause, or
    before it if the sentence begins with a place. A thing after one of the `models` is only read, and left out.
    """
    words = tuple(_WORD.findall(one.raw))
    spoken = tuple(_bare(word) for word in words)
    found: list[str] = []
    for at, word in enumerate(spoken):
        if word in verbs and _begins(words, spoken, at):
            is_placed = at and spoken[0] in listed("openings", "places") and not set(spoken[:at]) & _verbs()
            found += [*(words[:at] if is_placed else ()), *_object(words[at + 1 :], spoken[at + 1 :], models)]
    return replace(one, raw=" ".join(found))


def _bare(word: str) -> str:
    """Return the word without its punctuation; "" for a quotation."""
    return "" if word.startswith('"') else word.strip(_PATH_EDGES).casefold()


@cache
def _verbs() -> frozenset[str]:
    return frozenset(verb for verbs in table("words")["deeds"].values() for verb in verbs)


def _begins(words: Sequence[str], spoken: Sequence[str], at: int) -> bool:
    """Return whether the verb at `at` can be a command: first in a clause, or after a place or a polite opening."""
    is_placed = 0 < at <= _MOST_FILLERS and spoken[0] in listed("openings", "places")
    is_first = not at or words[at - 1][-1] in ",:" or spoken[at - 1] in listed("openings", "words")
    return is_first or is_placed or " ".join(spoken[:at]) in listed("openings", "polite")


def _object(words: Sequence[str], spoken: Sequence[str], models: Collection[str]) -> list[str]:
    """Return the words up to the next clause. After a name, only further names or a place still belong to them."""
    found: list[str] = []
    joins, small, places = listed("fillers", "joins"), _small(), listed("objects", "towards")
    is_named = is_read = False
    for at, (word, bare) in enumerate(zip(words, spoken, strict=True)):
        is_thing = _is_thing(word)
        is_next = at > 0 and (spoken[at - 1] in joins or words[at - 1][-1] in ",;:")
        after = next(
            (each for each, spelled in zip(words[at + 1 :], spoken[at + 1 :], strict=True) if spelled not in small), ""
        )
        if is_next and (
            bare in _verbs() or (bare not in small | joins and not is_thing and (is_named or _is_thing(after)))
        ):
            break
        if is_named and not is_thing and bare not in small | joins | places | set(models):
            break
        if bare in places and _is_written(after) and any(map(_is_written, found)):
            return []  # Which of the two is the object and which is its place, nobody knows.
        is_read = bare in models or (is_read and bare not in places)
        if not is_read or not is_thing:
            is_named = is_named or is_thing
            found.append(word)
    return found


@cache
def _small() -> frozenset[str]:
    """Return the articles, vague words and folder names that may stand around a name."""
    folders = {word for name, words in table("words")["folders"].items() for word in (name, *words)}
    return listed("fillers", "articles") | listed("objects", "vague") | folders


def _is_thing(word: str) -> bool:
    """Return whether the word alone can name a file or a host."""
    return word.startswith('"') or _is_written(word) or "." in word.strip(_PATH_EDGES)


def _is_written(word: str) -> bool:
    return word.strip(_PATH_EDGES).startswith(("~/", "/", "device:/"))


def _is_new_in(path: str, folders: set[str]) -> bool:
    folder = str(Path(path).parent)
    return not os.path.lexists(path) and folder in folders and folder not in (os.path.realpath(Path.home()), "/")


def _files_in(one: SpokenSentence) -> Iterator[str]:
    """Yield the full paths that a sentence writes out, and its file names joined to the folders that it names."""
    yield from _written_in(one)
    for folder in _folders_in(one):
        yield from (os.path.join(folder, name) for name in _names_in(one))


def _words_in(one: SpokenSentence) -> Iterator[str]:
    quoted = (found for found in one.quotes if f'"{found}"' in one.raw)
    return (word.strip(_PATH_EDGES) for word in (*quoted, *one.raw.split()))


def _names_in(one: SpokenSentence) -> tuple[str, ...]:
    """Return the file names that a sentence writes without a folder."""
    return tuple(word for word in _words_in(one) if _FILE.fullmatch(word))


def _written_in(one: SpokenSentence) -> Iterator[str]:
    for word in _words_in(one):
        where = f"~/{word.removeprefix('device:/')}" if word.startswith("device:/") else word
        if where.startswith(("~/", "/")):
            yield os.path.realpath(Path(where).expanduser())


def _folders_in(one: SpokenSentence) -> Iterator[str]:
    """Yield the folders that a sentence names, written out or by a name of the person's own such as Documents."""
    yield from _written_in(one)
    spoken = {word.casefold() for word in _words_in(one)}
    for name, words in table("words")["folders"].items():
        for found in {name, *words} if spoken & set(words) else ():
            folder = Path.home() / found.capitalize()
            if found == name or folder.is_dir():
                yield os.path.realpath(folder)
