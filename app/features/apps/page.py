"""The page of a surface: check the HTML that a model wrote, and prepare it for its window.

The check only makes clear error messages. What a surface cannot do is ensured by its window, not by this check.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

from app.base import resources
from app.base.values import dataclass
from app.features.apps.bridge import VERBS

MOST_BYTES = 1_000_000
_SHOWN = 60
# No pattern tries a long run twice: while one runs, the whole process stands still.
# https://docs.python.org/3/library/re.html#regular-expression-syntax (`*+`)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|^[ \t]*+//[^\n]*$", re.DOTALL | re.MULTILINE)
_VERB = re.compile(r"\bwisp\s*\.\s*(\w+)")
_DECLARED = re.compile(r"\b(?:function|const|let|var)\b[\s*]*+(\w+)")
_WORD = re.compile(r"\w+")
_STYLE_ADDRESS = re.compile(
    r"@import\b\s*+(?:url\(\s*+)?[\"']?([^\"')\s;]+)|url\(\s*+[\"']?(?!data:|#|blob:)([^\"')\s]+)"
)
_HEAD = re.compile(r"<head\b[^<>]*>", re.IGNORECASE)
_TOP = re.compile(r"\s*(?:<!doctype[^>]*>)?\s*(?:<html\b[^>]*>)?", re.IGNORECASE)
_META = re.compile(r"<meta\b[^<>]*+>", re.IGNORECASE)
_VIEWPORT = re.compile(r"\bname\s*+=\s*+[\"']?viewport\b", re.IGNORECASE)
_SIDE = {side: re.compile(rf"\b{side}\s*+=\s*+(\d{{1,5}})\b", re.IGNORECASE) for side in ("width", "height")}
_INNER = ("data:", "blob:", "#")
_KEEPS = re.compile(r"<(?:input|textarea|select|form)\b|contenteditable", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Findings:
    """The faults of a page. With any of the `problems`, the page is not saved; `remarks` are advice for the model."""

    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def wanted_size(html: str) -> tuple[int, int]:
    """Return the width and height in pixels that a page's `<meta name="viewport">` asks for; 0 for a side left open."""
    asked = " ".join(tag for tag in _META.findall(html) if _VIEWPORT.search(tag))
    width, height = (int(found[1]) if (found := side.search(asked)) else 0 for side in _SIDE.values())
    return width, height


def with_bridge(html: str, about: Mapping[str, Any], css: str = "") -> str:
    """The theme's `css` and the bridge's script come before the page's own. The script contains `about`."""
    told = json.dumps(about).replace("<", "\\u003c")
    bridge = resources.text("surfaces/wisp.js").replace("/*about*/{}", told)
    style = css.replace("<", "\\3c ")
    return _with_head(html, f"<style>{style}</style><script>{bridge}</script>")


def with_pulse(html: str) -> str:
    """The script by which its frame sees that the page works comes before anything of the page's own."""
    return _with_head(html, f"<script>{resources.text('surfaces/pulse.js')}</script>")


def _with_head(html: str, head: str) -> str:
    place = _HEAD.search(html) or _TOP.match(html)
    at = place.end() if place else 0
    return f"{html[:at]}{head}{html[at:]}"


def check(html: str) -> Findings:
    """Return what is wrong with the page, each thing once, in the order of the page."""
    says = _says()
    size = len(html.encode("utf-8", "surrogatepass"))
    if not html.strip():
        return Findings((says["empty"],), ())
    if size > MOST_BYTES:
        return Findings((says["large"].format(size=size, most=MOST_BYTES),), ())
    low = html.casefold()
    if "<" not in html or not any(f"<{name}" in low for name in ("html", "body", "div", "main", "script", "!doctype")):
        return Findings((says["no_page"],), ())
    if "<html" in low and "</html" not in low:
        return Findings((says["cut"],), ())
    page = _Page()
    page.feed(html)
    page.close()
    code = _COMMENT.sub(" ", "\n".join(page.scripts))
    remarks: list[str] = []
    problems = [*page.problems, *_blocked(code), *_unknown_verbs(code)]
    problems += _styles(page.styles)
    if not page.has_title:
        remarks.append(says["title"])
    if not page.has_language:
        remarks.append(says["lang"])
    if code.strip() and _KEEPS.search(html) and not _VERB.search(code):
        remarks.append(says["bridge"])
    return Findings(tuple(dict.fromkeys(problems)), tuple(dict.fromkeys(remarks)))


class _Page(HTMLParser):
    """Collects the scripts and styles of a page, and the elements that do not work in a surface."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.problems: list[str] = []
        self.has_title = self.has_language = False
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name.casefold(): value or "" for name, value in attrs}
        self._inside = tag if tag in ("script", "style") else self._inside
        self.has_title = self.has_title or tag == "title"
        self.has_language = self.has_language or (tag == "html" and "lang" in given)
        self.scripts += [value for name, value in given.items() if name.startswith("on")]
        self.styles.append(given.get("style", ""))
        self.problems += _of_element(tag, given)

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside:
            (self.scripts if self._inside == "script" else self.styles).append(data)


def _of_element(tag: str, given: Mapping[str, str]) -> Iterator[str]:
    says, table = _says(), _table()["elements"]
    if tag in table["refused"]:
        yield says["element"].format(name=tag)
        return
    if tag == "a" and "download" in given:
        yield says["download"]
    if tag == "meta" and given.get("http-equiv", "").casefold() == "refresh":
        yield says["refresh"]
    for name in table["leads"]:
        address = given.get(name, "").strip()
        if not address or address.casefold().startswith(_INNER):
            continue
        if tag == "form" or name == "formaction":
            yield says["form"]
        elif tag == "script":
            yield says["script"].format(address=address[:_SHOWN])
        elif tag == "link":
            yield says["style"].format(address=address[:_SHOWN])
        else:
            yield says["leads"].format(name=name, address=address[:_SHOWN], element=tag)


def blocked() -> tuple[str, ...]:
    """Return what the window of a surface blocks, a sentence each: a page that uses any of it is refused."""
    return tuple(_rules().values())


def _blocked(code: str) -> Iterator[str]:
    own = set(_DECLARED.findall(code))
    for said, says in _rules().items():
        if any(own.isdisjoint(_WORD.findall(found[0])) for found in said.finditer(code)):
            yield says


def _unknown_verbs(code: str) -> Iterator[str]:
    for name in dict.fromkeys(_VERB.findall(code)):
        if name not in VERBS:
            yield _says()["verb"].format(name=name, verbs=", ".join(VERBS))


def _styles(styles: Sequence[str]) -> Iterator[str]:
    for found in _STYLE_ADDRESS.finditer("\n".join(styles)):
        yield _says()["style"].format(address=(found[1] or found[2])[:_SHOWN])


def _table() -> Mapping[str, Any]:
    return resources.table("surfaces/checks.toml", resources.Table)


def _says() -> Mapping[str, str]:
    said: Mapping[str, str] = _table()["says"]
    return said


@functools.cache
def _rules() -> Mapping[re.Pattern[str], str]:
    return {re.compile(rule["said"]): rule["says"] for rule in _table()["blocked"]}
