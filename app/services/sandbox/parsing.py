"""A command line as its plain words, where it consists of nothing else.

Anything a shell would expand, redirect, group, loop or run in the background is not plain: then nothing is known.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


class Word(NamedTuple):
    """`is_open` tells that the shell may replace it by the names of files, which may look like flags."""

    text: str
    is_open: bool = False


Words = tuple[Word, ...]

_OPERATORS = {"&&", "||", ";", "|", "\n", '"'}
_GROUPS = {"program", "list", "pipeline"}
_EXPANDED = set("\\$`{}()<>!&|;\"'#")
_GLOBS = ("*", "?", "[")
_MOST_CHARS = 10_000


def plain_commands(line: str) -> tuple[Words, ...] | None:
    """The words of each command, quotes removed; None where the line is not made of plain words and `&& || ; |`."""
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
    """Parsers and shells disagree about odd spaces and invisible signs."""
    return sign in "\n\t " or unicodedata.category(sign)[0] not in "CZ"


@functools.cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _commands(node: Node) -> Iterator[Node | None]:
    """The simple commands below; None stands for everything else."""
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


def _word(node: Node) -> Word | None:
    text = (node.text or b"").decode()
    if node.type == "raw_string":
        return Word(text[1:-1])
    if node.type == "string":
        is_plain = all(child.type in {'"', "string_content"} for child in node.children)
        return Word(text[1:-1]) if is_plain and not set(text[1:-1]) & set('\\$`"!') else None
    if node.type in {"word", "number"} and not set(text) & _EXPANDED and not text.startswith(("~", "=")):
        return Word(text, text.startswith(_GLOBS))
    return None
