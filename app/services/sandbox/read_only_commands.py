"""Decide whether a command only reads. Programs and their harmless flags are data (resources/sandbox/reading.toml)."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from app.base import resources
from app.base.phrases import Phrase
from app.base.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


class ShellWord(NamedTuple):
    """A word of a command. `is_open`: the shell may replace it with file names, which may look like flags."""

    text: str
    is_open: bool = False


Words = tuple[ShellWord, ...]

_OPERATORS = {"&&", "||", ";", "|", "\n", '"'}
_GROUPS = {"program", "list", "pipeline"}
_EXPANDED = set("\\$`{}()<>!&|;\"'#")
_GLOBS = ("*", "?", "[")
_MOST_CHARS = 10_000


def plain_commands(line: str) -> tuple[Words, ...] | None:
    """Return each command's words, without quotes. None if the line is more than words and `&& || ; |`."""
    if len(line) > _MOST_CHARS or not all(map(_is_ordinary, line)):
        return None
    root = _parser().parse(line.encode()).root_node
    if root.has_error:
        return None
    found: list[Words] = []
    for command in _commands(root):
        words = _words(command) if command is not None else None
        if words is None:
            return None
        found.append(words)
    return tuple(found) or None


def _is_ordinary(sign: str) -> bool:
    """True if all programs read this character in the same way. Rare spaces and invisible ones are not."""
    return sign in "\n\t " or unicodedata.category(sign)[0] not in "CZ"


@functools.cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _commands(node: Node) -> Iterator[Node | None]:
    """Yield each simple command below the node, and None for each construct of another kind."""
    if node.type in _GROUPS:
        for child in node.children:
            yield from _commands(child)
    elif node.type == "command":
        yield node
    elif node.is_named or node.type not in _OPERATORS:
        yield None


def _words(command: Node) -> Words | None:
    words = []
    for child in command.children:
        word = _word(child.children[0] if child.type == "command_name" and child.children else child)
        if word is None:
            return None
        words.append(word)
    return tuple(words)


def _word(node: Node) -> ShellWord | None:
    text = (node.text or b"").decode()
    if node.type == "raw_string":
        return ShellWord(text[1:-1])
    if node.type == "string":
        is_plain = all(child.type in {'"', "string_content"} for child in node.children)
        return ShellWord(text[1:-1]) if is_plain and not set(text[1:-1]) & set('\\$`"!') else None
    if node.type in {"word", "number"} and not set(text) & _EXPANDED and not text.startswith(("~", "=")):
        return ShellWord(text, text.startswith(_GLOBS))
    return None


_SEEN_BY_ALL = (Path("/usr"), Path("/dev/null"))
_GLOBAL = ("--no-pager",)
_NUMBER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, slots=True)
class ProgramRule:
    """The arguments with which a program only reads. `short` are letters ("*": any), `long` and `also` whole flags.

    `operands` limits the words that are no flags; `needs` must be among the flags; `script` is a pattern for the first
    operand.
    """

    short: str = ""
    long: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    operands: int | None = None
    needs: str = ""
    script: str = ""

    def objection(self, arguments: Words) -> str:
        """Return the first word with which the program may do more than read; "" if there is none."""
        if self.short == "*":
            return ""
        texts = [word.text for word in arguments]
        end = texts.index("--") if "--" in texts else len(texts)
        flags = [text for text in texts[:end] if text.startswith("-") and text != "-"]
        operands = [text for text in texts[:end] if text == "-" or not text.startswith("-")] + texts[end + 1 :]
        unknown = [flag for flag in flags if not self._is_known(flag)]
        unknown += [word.text for word in arguments if word.is_open]
        first = operands[0] if operands else ""
        if (self.needs and self.needs not in flags) or (self.script and not re.fullmatch(self.script, first)):
            unknown.append(first or "nothing")
        if self.operands is not None:
            unknown += operands[self.operands :]
        return unknown[0] if unknown else ""

    def _is_known(self, flag: str) -> bool:
        if flag in self.also or _NUMBER.fullmatch(flag):
            return True
        if flag.startswith("--"):
            return flag.partition("=")[0] in self.long
        return all(letter in self.short or letter.isdigit() for letter in flag[1:])


def objection(line: str, cwd: Path, workspace: Path) -> Phrase | None:
    """Part of a sentence; None if the line does no more than read the workspace."""
    commands = plain_commands(line)
    if commands is None:
        return Phrase("it is not a simple command")
    told = (_objection(words) or _outside(words, cwd, workspace) for words in commands)
    return next(filter(None, told), None)


def _outside(words: Words, cwd: Path, workspace: Path) -> Phrase | None:
    """A complaint about a word that is a path outside the workspace, links included; None if there is none."""
    rooms = (workspace, *_SEEN_BY_ALL)
    for word in words[1:]:
        for text in _paths_in(word.text):
            resolved = _resolved(cwd, text)
            if not any(resolved.is_relative_to(room) for room in rooms):
                return Phrase("{what!r} is outside the working folder", {"what": text})
    return None


def _paths_in(word: str) -> set[str]:
    """The parts of a word that may be a path: the whole word, or the value of a flag."""
    if not word.startswith("-"):
        return {word}
    attached = word[word.find("/") :] if "/" in word else ""
    return set(filter(None, (word.partition("=")[2], attached)))


def _resolved(cwd: Path, text: str) -> Path:
    """The path without links; "/", which counts as outside, if that is not possible."""
    try:
        return (cwd / text).resolve()
    except (OSError, RuntimeError, ValueError):  # because a link loop has no real path
        return Path("/")


def _objection(words: Words) -> Phrase | None:
    program, arguments = words[0].text, words[1:]
    entry = _rules().get(program)
    if entry is None:
        return _unknown(program)
    if isinstance(entry, ProgramRule):
        found = entry.objection(arguments)
        return _unknown(program, found) if found else None
    if arguments and arguments[0].text in _GLOBAL:
        arguments = arguments[1:]
    action = arguments[0].text if arguments else ""
    rule = entry.get(action)
    if rule is None:
        return _unknown(f"{program} {action}")
    found = rule.objection(arguments[1:])
    return _unknown(f"{program} {action}", found) if found else None


def _unknown(what: str, option: str = "") -> Phrase:
    told = "nobody knows what {what!r} does with {option!r}" if option else "nobody knows what {what!r} does"
    return Phrase(told, {"what": what, "option": option})


@dataclass(frozen=True, slots=True)
class _Rules:
    everything: frozenset[str]
    programs: Mapping[str, ProgramRule]
    actions: Mapping[str, Mapping[str, ProgramRule]]


@functools.cache
def _rules() -> Mapping[str, ProgramRule | Mapping[str, ProgramRule]]:
    known = resources.table("sandbox/reading.toml", _Rules)
    return {**dict.fromkeys(known.everything, ProgramRule("*")), **known.programs, **known.actions}
