"""What is quoted by signs: quotation marks of any script, open elements, and lines copied from a file."""

from __future__ import annotations

import re
import unicodedata

CALL = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands for a call in the line that it is part of."""

_PLAIN_MARKS = "\"'＂"
_BLOCKS = ((0xAB, 0xBB), (0x2018, 0x203A), (0x2045, 0x208E), (0x2308, 0x232A), (0x275B, 0x2775), (0x27C5, 0x27EF),
           (0x2983, 0x29FD), (0x2E02, 0x2E5C), (0x3008, 0x301F), (0xFE17, 0xFE5E), (0xFF08, 0xFF63))  # fmt: skip
"""Where Unicode has quotation marks and the brackets that are used as such."""


def _pairs() -> dict[str, str]:
    """The signs that open a quotation, each with those that close it: by their class, then as languages turn them."""
    signs = [chr(code) for first, last in _BLOCKS for code in range(first, last + 1)]
    kinds = [unicodedata.category(sign) for sign in signs]
    found = {}
    for at, kind in enumerate(kinds):
        if kind in ("Pi", "Ps"):
            found[signs[at]] = next(
                sign for sign, is_ in zip(signs[at:], kinds[at:], strict=True) if is_ in ("Pf", "Pe")
            )
    turned = {"„": "“”„", "‚": "‘’", "»": "«»", "›": "‹›", "”": "”", "〝": "〞〟", "❝": "❞", "❛": "❜", "⹂": "”“"}
    return {**found, "‟": "”", "‛": "’", **turned}


_CLOSERS = _pairs()
_SIGNS = _PLAIN_MARKS + "".join(_CLOSERS) + "".join(_CLOSERS.values())
_MARK = re.compile(f"[{re.escape(_SIGNS)}]")
OTHER_MARKS = re.escape(_SIGNS.replace("’", ""))
"""For a class of signs: all that open or close a quotation. The curly apostrophe opens none."""
_DEEPEST = 64
"""So many quotations in each other are told apart."""
_WEAK = frozenset("'5")
"""Quotations that end with their paragraph: an apostrophe, and a sign of inches, may look like them."""
_OPENS_QUOTE = re.compile(r"(?:^|[ (:])[\"'`“„«‘‚]+$|^[\"'`“”„«»‘’‚]+$|(?:^|[ \]])[(\[{]$")
_DELIMITER = re.compile(r"[!-/:-@\[-`{-~]{2,}")
"""A line of signs alone, such as `$$`, `:::` or `+++`."""
_ELEMENT = re.compile(
    r"(?:(?<!\w)<|<(?P<close>/))(?P<name>[A-Za-z][\w.-]*)(?=[\s/>]|$)(?:[^<>]*(?P<alone>/>))?"
    r"|(?P<data><!\[CDATA\[)|(?P<end>\]\]>)|\\(?P<tex>begin|end)\{"
)
_EMPTY = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_COPIED_LINE = re.compile(rf"\|.*|(?:[^\s:|]+:|[Ll](?:ine)? ?)?\d+\s*[-|:│→>\s]\s*{CALL}|[!-/:-@\[-`{{-~]+\s*{CALL}")
"""A call behind the number of its line, as files and hits are shown, behind a sign, or in a row of a table."""


def lasting(marks: tuple[str, ...]) -> tuple[str, ...]:
    """The quotations that go on behind their paragraph."""
    return tuple(sign for sign in marks if sign not in _WEAK) if marks else marks


def open_marks(marks: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The quotations that are open behind a text."""
    opened = list(marks)
    for found in _MARK.finditer(text):
        sign, before, after = found[0], text[: found.start()][-1:], text[found.end() :][:1]
        is_inner = sign in "'’" and after.isalnum()
        at = next((at for at in reversed(range(len(opened))) if _closes(sign, opened[at])), -1)
        if at >= 0 and not is_inner:
            del opened[at:]
        elif sign == "'":
            opened += "'" if not before.isalnum() and after.strip() else ""
        elif sign in _PLAIN_MARKS:
            opened.append("5" if before.isdigit() else sign)
        elif sign in _CLOSERS and not (sign in opened and not text[: found.start()].strip()):
            opened.append(sign)
    return tuple(opened[:_DEEPEST])


def _closes(sign: str, opener: str) -> bool:
    return sign in _CLOSERS.get(opener, '"' if opener == "5" else opener)


def open_elements(elements: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The elements of HTML or XML, and the environments of TeX, that are open behind a text."""
    opened = list(elements) if "<" in text or "\\" in text or elements else []
    for found in _ELEMENT.finditer(text):
        name = "<![" if found["data"] or found["end"] else "tex" if found["tex"] else found["name"].casefold()
        if not (found["close"] or found["end"] or found["tex"] == "end"):
            opened += [name] if not found["alone"] and name not in _EMPTY else []
        elif name in opened:
            del opened[len(opened) - 1 - opened[::-1].index(name) :]
    return tuple(opened[:_DEEPEST])


def opens_quote(line: str, *, goes_on: bool) -> bool:
    """Whether what follows the line is quoted, since it ends with an opening sign or holds signs alone."""
    text = line.strip()
    is_underline = goes_on and not text.strip("=")
    return bool(_OPENS_QUOTE.search(text)) or (not is_underline and _DELIMITER.fullmatch(text) is not None)


def is_copied(line: str) -> bool:
    """Whether the call that ends a line stands there as a line of a file does."""
    return _COPIED_LINE.match(line.lstrip()) is not None
