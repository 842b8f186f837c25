"""Find text that is marked as quoted: by quotation marks of any script, by open elements, or as lines of a file."""

from __future__ import annotations

import re
import unicodedata

CALL = "\N{OBJECT REPLACEMENT CHARACTER}"
"""The placeholder for a call in the line around it."""

_PLAIN_MARKS = "\"'＂"
_BLOCKS = ((0xAB, 0xBB), (0x2018, 0x203A), (0x2045, 0x208E), (0x2308, 0x232A), (0x275B, 0x2775), (0x27C5, 0x27EF),
           (0x2983, 0x29FD), (0x2E02, 0x2E5C), (0x3008, 0x301F), (0xFE17, 0xFE5E), (0xFF08, 0xFF63))  # fmt: skip
"""The Unicode ranges of quotation marks and of brackets that languages use as quotation marks."""


def _pairs() -> dict[str, str]:
    """Return each opening quotation mark or bracket with the characters that can close it.

    They come from the Unicode categories and from the customs of languages.
    """
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
"""All signs that open or close a quotation, for a character class. The curly apostrophe opens none."""
_DEEPEST = 64
"""How many nested quotations are followed."""
_WEAK = frozenset("'5")
"""Quotations that end with their paragraph, because an apostrophe or an inch sign may look like their mark."""
_OPENS_QUOTE = re.compile(r"(?:^|[ (:])[\"'`“„«‘‚]+$|^[\"'`“”„«»‘’‚]+$|(?:^|[ \]])[(\[{]$")
_DELIMITER = re.compile(r"[!-/:-@\[-`{-~]{2,}")
"""A line with only signs, such as `$$`, `:::` or `+++`."""
_ELEMENT = re.compile(
    r"(?:(?<!\w)<|<(?P<close>/))(?P<name>[A-Za-z][\w.-]*)(?=[\s/>]|$)(?:[^<>]*(?P<alone>/>))?"
    r"|(?P<data><!\[CDATA\[)|(?P<end>\]\]>)|\\(?P<tex>begin|end)\{"
)
# https://html.spec.whatwg.org/multipage/syntax.html#void-elements
VOID_ELEMENTS = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_COPIED_LINE = re.compile(rf"\|.*|(?:[^\s:|]+:|[Ll](?:ine)? ?)?\d+\s*[-|:│→>\s]\s*{CALL}|[!-/:-@\[-`{{-~]+\s*{CALL}")
"""A call after a line number (as tools print file lines), after a sign, or in a table row."""


def lasting(marks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the quotations that continue after their paragraph ends."""
    return tuple(sign for sign in marks if sign not in _WEAK) if marks else marks


def open_marks(marks: tuple[str, ...], text: str) -> tuple[str, ...]:
    """Return the quotation marks that are still open at the end of a text."""
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


def is_enclosed(before: str, after: str) -> bool:
    """Say whether these two characters are a pair of quotation marks."""
    return bool(before and after) and before in _SIGNS and _closes(after, before)


def open_elements(elements: tuple[str, ...], text: str) -> tuple[str, ...]:
    """Return the HTML or XML elements and the TeX environments that are still open after a text."""
    opened = list(elements) if "<" in text or "\\" in text or elements else []
    for found in _ELEMENT.finditer(text):
        name = "<![" if found["data"] or found["end"] else "tex" if found["tex"] else found["name"].casefold()
        if not (found["close"] or found["end"] or found["tex"] == "end"):
            opened += [name] if not found["alone"] and name not in VOID_ELEMENTS else []
        elif name in opened:
            del opened[len(opened) - 1 - opened[::-1].index(name) :]
    return tuple(opened[:_DEEPEST])


def opens_quote(line: str, *, goes_on: bool) -> bool:
    """Say whether a quotation follows this line: it ends with an opening mark, or has only punctuation (such as `---`).

    `goes_on`: the line continues a paragraph, so that a line of `=` only underlines a heading.
    """
    text = line.strip()
    is_underline = goes_on and not text.strip("=")
    return bool(_OPENS_QUOTE.search(text)) or (not is_underline and _DELIMITER.fullmatch(text) is not None)


def is_copied(line: str) -> bool:
    """Say whether the line with this call at its end looks like a line copied from a file."""
    return _COPIED_LINE.match(line.lstrip()) is not None
