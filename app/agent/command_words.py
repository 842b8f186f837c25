"""Read a shell command as the programs that it runs, with what each is given.

What an option means is data: `options` in `resources/asking/commands.toml`. A word that is not understood makes its
program, or the whole command, not understood. Then the person reads the words themselves, because no sentence may be
milder than its command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from app.base.values import dataclass, field, replace

PIPED = "\x04"
"""An object that stands for what comes out of the program before."""
_SIGNS = "<>&|;()\n"
_HIDDEN = "".join(chr(0xE000 + at) for at in range(len(_SIGNS)))
_MASK, _UNMASK = str.maketrans(_SIGNS, _HIDDEN), str.maketrans(_HIDDEN, _SIGNS)
_LITERAL = re.compile(
    r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|\$['\"]"
    r"|(?:(?<=[ \t\n;&|()])(?<!\\[ \t\n;&|()])|\A)(?:#[^\n]*|\d+(?=[<>]))",  # a comment, or the number of a stream
    re.DOTALL,
)
_COMPUTED = re.compile(r"\$\{[^}]*[=@!]")
"""What assigns a value or runs one as a command, in the middle of a word."""
_REDIRECTION = re.compile(r"&?>>?|>[|&]|<[>&]?")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=")
_USUAL_FOLDER = re.compile(r"(?:/(?:usr/(?:local/)?)?s?bin/|(?:.*/)?\.?venv/bin/)?[^/]*")
Values = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CommandProgram:
    """A program of a command. `key` is its entry in the table of words: "" if its words are not understood.

    `written` are all its words, `objects` those that are no options. `values` are those of its options, by the option,
    and as `value` those of the option that changes what the program does. `is_piped`: the next program reads what comes
    out of this one.
    """

    key: str
    written: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    values: Values = field(default_factory=dict)
    name: str = ""
    is_admin: bool = False
    is_piped: bool = False


def programs(command: str, words: Mapping[str, Any]) -> list[CommandProgram]:
    """Return the programs of a command and the files it redirects to. Raises ValueError if it is not understood."""
    if _COMPUTED.search(command):
        raise ValueError("The shell computes a word.")
    text = _LITERAL.sub(_protected, command.translate({ord(PIPED): None})).replace("\n", " ; ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace, lexer.whitespace_split = " \t\n", True
    lexer.commenters = ""  # because a comment begins only at the start of a word
    found = [CommandProgram("$(…)")] if "$(" in command or "`" in command else []
    given, tokens = list[str](), iter([*lexer, ";"])
    for token in tokens:
        if not token or token.strip(_SIGNS):
            given.append(token.translate(_UNMASK))
        elif token.strip("&|;()"):
            found += _redirected(token, next(tokens, "").translate(_UNMASK))
        else:
            found += [replace(one, is_piped=token in ("|", "|&")) for one in _program(given, words)]
            given = []
    return found


def _protected(found: re.Match[str]) -> str:
    if found[0] in ("$'", '$"'):
        raise ValueError("The shell reads such a quotation in its own way.")
    return "" if found[0][0] in "#0123456789" or found[0] == "\\\n" else found[0].translate(_MASK)


def _redirected(sign: str, target: str) -> list[CommandProgram]:
    if not _REDIRECTION.fullmatch(sign):
        raise ValueError(f"{sign} is not understood.")
    is_stream = (sign.endswith("&") and (target.isdigit() or target == "-")) or target == "/dev/null"
    key = ">" if ">" in sign else "<"
    return [] if is_stream else [CommandProgram(key, objects=(target,), is_piped=key == "<")]


def _program(given: Sequence[str], words: Mapping[str, Any]) -> list[CommandProgram]:
    try:
        rest, wrappers = _unwrapped(given, words)
        name = _name(rest[0]) if rest else ""
        if name in words["shell_words"]:
            raise ValueError(f"{name} is not understood.")
        if not rest or name in words["silent"]:
            return []
        key, objects, values = _keyed(name, rest, words)
        if "xargs" in wrappers and key not in words["fed"]:
            raise KeyError(name)
    except KeyError:
        return [CommandProgram("", tuple(given))]
    objects += [PIPED] if "xargs" in wrappers else []
    is_admin = not wrappers.isdisjoint(words["administrators"])
    shown = name if Path(name).name in words["programs"] else Path(name).name  # because ./rm is another program
    return [CommandProgram(key, tuple(given), tuple(objects), values, shown, is_admin)]


def _name(word: str) -> str:
    return Path(word).name or word if _USUAL_FOLDER.fullmatch(word) else word


def _unwrapped(given: Sequence[str], words: Mapping[str, Any]) -> tuple[Sequence[str], set[str]]:
    """Return the words without programs that only start another one, and those programs. Raises KeyError."""
    used = set[str]()
    while given:
        if assigned := _ASSIGNED.match(given[0]):
            if not any(fnmatchcase(given[0], f"{one}=*") for one in words["harmless"]):
                raise KeyError(assigned[1])
            given = given[1:]
        elif (name := _name(given[0])) in words["wrappers"]:
            given = _read(name, given[1:], words["options"])[0][words["wrappers"][name] :]
            used.add(name)
        else:
            break
    return given, used


def _keyed(name: str, given: Sequence[str], words: Mapping[str, Any]) -> tuple[str, list[str], Values]:
    """Return a program's entry in the table of words, its objects, and the values of its options. Raises KeyError."""
    known = words["programs"]
    name = next((own for other, own in words["same"].items() if fnmatchcase(name, other)), name)
    key = name if name in known else next(one for one in known if fnmatchcase(name, one))
    if key == "*" and name not in words["options"]:
        if len(given) > 1:
            raise KeyError(name)
        return key, [], {}
    objects, values, changed = _read(key if key != "*" else name, given[1:], words["options"])
    if objects and (both := f"{name} {objects[0]}") in known:
        key = both
        objects, values, changed = _read(key, objects[1:], words["options"])
    if (key == "*" and not changed) or _is_doubtful(key, [*objects, *values.get("value", ())], words):
        raise KeyError(name)
    return changed or key, objects, values


def _is_doubtful(key: str, given: Sequence[str], words: Mapping[str, Any]) -> bool:
    """True if one of the program's words, or the script before them, may change what it does."""
    doubtful, script = words["doubtful"].get(key, ()), words["scripts"].get(key, "")
    if script and given and not re.fullmatch(script, given[0]):
        return True
    return any(fnmatchcase(one, other) for other in doubtful for one in given)


def _read(key: str, given: Sequence[str], options: Mapping[str, Sequence[str]]) -> tuple[list[str], Values, str]:
    """Return a program's objects, its options' values, and the entry of the option that changes what it does.

    Raises KeyError if an option is not known, or if two of them change that.
    """
    letters, known = options.get(key, ("",))[0], _known(key, options)
    if letters == "*":
        return [one for one in given if one[:1] != "-"], {}, ""
    if letters.startswith("-") and given and given[0][:1] != "-":  # as tar reads it
        if any(known[f"-{letter}"][1] for letter in given[0][:-1]):
            raise KeyError(given[0])
        given = [f"-{given[0]}", *given[1:]]
    words = iter(given)
    objects, taken = list[str](), list[tuple[str, str]]()
    for word in words:
        if word == "--":
            objects += words
        elif word[:1] in ("$", "{"):  # because the shell may make an option of it
            raise KeyError(word)
        elif word[:1] != "-" or word == "-":
            objects += [word, *(words if letters.startswith("+") else ())]
        else:
            taken += _split(word, words, known)
            objects += words if letters.startswith("+") and taken[-1][1] and known[taken[-1][0]][0] != key else ()
    changes = {known[option][0] for option, _ in taken} - {key}
    if len(changes) > 1:
        raise KeyError(key)
    values: dict[str, tuple[str, ...]] = {option: (value,) for option, value in taken if known[option][0] == key}
    values["value"] = tuple(value for option, value in taken if value and option not in values)
    return objects, values, "".join(changes)


def _known(key: str, options: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, bool]]:
    """Return the entry of every option, and whether the option has a value."""
    found = dict[str, tuple[str, bool]]()
    for group, (letters, *longs) in options.items():
        if group == key or group.startswith(f"{key} -"):
            found |= {f"-{one}": (group, bool(colon)) for one, colon in re.findall(r"([^-+:])(:?)", letters)}
            found |= {one.rstrip("="): (group, one.endswith("=")) for one in longs}
    return found


def _split(word: str, words: Iterator[str], known: Mapping[str, tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    """Yield the options in a word with their values. Raises KeyError if one is not known."""
    option, equals, value = word.partition("=")
    if option in known and len(option) > 2:
        yield option, (value if equals else next(words, "")) if known[option][1] else value
        return
    for at, letter in enumerate(word[1:], 2):
        has_value = known[f"-{letter}"][1]
        yield f"-{letter}", (word[at:] or next(words, "")) if has_value else ""
        if has_value:
            return
