"""SVG drawings that a model wrote: remove what could run or load something, and turn the rest into a picture.

Only listed elements stay. Addresses stay if they lead into the drawing itself or contain a picture (`data:image/…`).
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Lock, Timer
from typing import IO, TYPE_CHECKING

from app.base import resources
from app.base.errors import ToolFailed, ToolMisuse
from app.base.startup import worker_command
from app.base.values import dataclass
from app.services.css import rgba

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MOST_BYTES = 500_000
_MOST_ELEMENTS = 20_000
_MOST_USES = 4
_DEEPEST = 200
_KEPT_S = 20.0
_LIMIT_S = 20.0
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_PICTURE = re.compile(r"data:image/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/=\s]*")
_OUTER = re.compile(
    r"url\s*\((?!\s*[\"']?#)|(?:image(?:-set)?|src|cross-fade|element|expression)\s*\(|@import|javascript:|\\",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_INNER = re.compile(r"url\(\s*[\"']?(#[^\"'()\s]+)[\"']?\s*\)", re.IGNORECASE)
_REFERRING = ("use", "pattern")
_PAINTING = ("pattern", "mask", "marker", "clipPath")
"""What is drawn anew for each element that names it. Gradients are worked out once."""
_DECLARED = re.compile(r"<!(?:DOCTYPE|ENTITY|ATTLIST|ELEMENT)", re.IGNORECASE)
_OPACITY_OF = {
    "fill": "fill-opacity",
    "stroke": "stroke-opacity",
    "stop-color": "stop-opacity",
    "flood-color": "flood-opacity",
}
_COLOR = re.compile(r"(?:(?:rgb|hsl)a?\([^()]*\)|#(?:[0-9a-f]{8}|[0-9a-f]{4})\b)", re.IGNORECASE)
_PAINT = re.compile(rf"(?<![\w-])({'|'.join(_OPACITY_OF)})\s*:\s*({_COLOR.pattern})", re.IGNORECASE)
_PART = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))(%)?")
_NUMBER = re.compile(r"\s*(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SafeDrawing:
    """A drawing that loads nothing, its size in its own units, and the names of what was removed."""

    text: str
    width: float
    height: float
    left_out: tuple[str, ...]


def sanitise(text: str, *, is_whole: bool = True) -> SafeDrawing:
    """Return the drawing without what could run or load anything. Raises ToolMisuse if nothing can be drawn.

    If it is not whole, because the model still writes it, the tags that are there are drawn.
    """
    from xml.etree import ElementTree

    written = text.strip()
    if len(written.encode("utf-8", "replace")) > MOST_BYTES:
        raise ToolMisuse(f"it has more than {MOST_BYTES} bytes. Draw it with fewer shapes.", argument="svg")
    if _DECLARED.search(written):
        raise ToolMisuse("leave out DOCTYPE and ENTITY, and begin with <svg.", argument="svg")
    try:
        root = ElementTree.fromstring(written) if is_whole else _begun(written)
    except (ElementTree.ParseError, ValueError) as error:
        raise ToolMisuse(f"it is no whole SVG ({error}). Write it from <svg …> to </svg>.", argument="svg") from None
    if _local(root.tag) != "svg":
        raise ToolMisuse("begin with <svg …> and end with </svg>.", argument="svg")
    if sum(1 for _ in root.iter()) > _MOST_ELEMENTS:
        raise ToolMisuse(f"it has more than {_MOST_ELEMENTS} elements. Draw it with fewer shapes.", argument="svg")
    if _is_deeper(root, _DEEPEST):
        raise ToolMisuse(f"its elements lie more than {_DEEPEST} deep in each other. Use fewer groups.", argument="svg")
    left_out: dict[str, None] = {}
    _clean(root, left_out)
    _check_uses(root)
    width, height, box = _size(root)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root.set("viewBox", box)
    return SafeDrawing(ElementTree.tostring(root, encoding="unicode"), width, height, tuple(left_out))


class SvgRenderer:
    """Draws SVGs in processes of their own. Any thread may call it; each call blocks.

    To start such a process takes longer than to draw, so one of them waits for the next drawing.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: subprocess.Popen[bytes] | None = None
        self._timer = Timer(0, self.close)

    def draw(self, drawing: SafeDrawing, longest_px: int) -> tuple[bytes, int, int]:
        """A PNG with its width and height in pixels. Raises ToolFailed if the drawing cannot be drawn."""
        scale = longest_px / max(drawing.width, drawing.height)
        width, height = (max(round(side * scale), 1) for side in (drawing.width, drawing.height))
        process = self._kept(None)
        if process is None or process.poll() is not None:
            process = _started()
        png = _answer(process, width, height, drawing.text.encode())
        if png is None:
            _end(process)
            raise ToolFailed("it takes too much time or memory to draw. Use fewer shapes and filters.", argument="svg")
        if (other := self._kept(process)) is not None:
            _end(other)
        if not png:
            raise ToolFailed("it cannot be drawn. Check its shapes and its viewBox.", argument="svg")
        return png, width, height

    def close(self) -> None:
        """End the process that waits."""
        if (process := self._kept(None)) is not None:
            _end(process)

    def _kept(self, process: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes] | None:
        """Let this process wait for the next drawing, in place of the one that waited, which is returned."""
        with self._lock:
            before, self._waiting = self._waiting, process
            self._timer.cancel()
            if process is not None:
                self._timer = Timer(_KEPT_S, self.close)
                self._timer.daemon = True
                self._timer.start()
        return before


def _started() -> subprocess.Popen[bytes]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "SYSTEMROOT")}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        worker_command("drawing"), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=kept, cwd=os.sep
    )


def _answer(process: subprocess.Popen[bytes], width: int, height: int, svg: bytes) -> bytes | None:
    """The PNG that the process draws: b"" if it cannot draw it, None if the process ended over it."""
    requests, answers = _pipes(process)
    limit = Timer(_LIMIT_S, process.kill)
    limit.start()
    try:
        requests.write(struct.pack(">III", width, height, len(svg)) + svg)
        requests.flush()
        head = answers.read(4)
        size = int.from_bytes(head, "big")
        png = answers.read(size)
    except OSError:  # because the process has ended
        return None
    finally:
        limit.cancel()
    return png if len(head) == 4 and len(png) == size else None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in _pipes(process):
        with suppress(OSError):
            pipe.close()
    process.wait()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin
    assert process.stdout
    return process.stdin, process.stdout


def _begun(written: str) -> Element:
    """The first element with all that is in it so far. Raises ValueError if it has not begun."""
    from xml.etree import ElementTree

    parser: ElementTree.XMLPullParser[Element] = ElementTree.XMLPullParser(("start",))
    parser.feed(written)
    for event in parser.read_events():
        if isinstance(element := event[-1], ElementTree.Element):
            return element
    raise ValueError("it has not begun")


def _clean(element: Element, left_out: dict[str, None]) -> None:
    """Take out elements and attributes that could run or reach anything. An element without a namespace is SVG's."""
    elements = resources.table("svg.toml", dict[str, list[str]])["elements"]
    element.tag = f"{{{_SVG}}}{_local(element.tag)}"
    for name, value in list(element.attrib.items()):
        local = _local(name)
        if not _is_fit(local, value):
            left_out[local] = None
            del element.attrib[name]
        elif local != "href":
            element.set(name, _plain(value))
        elif name != f"{{{_XLINK}}}href":  # because older readers know only this spelling
            del element.attrib[name]
            element.set(f"{{{_XLINK}}}href", value)
    for paint, opacity in _OPACITY_OF.items():
        if color := _legacy_color(element.get(paint, "")):
            element.set(paint, color[0])
            element.set(opacity, f"{color[1] * _fraction(element.get(opacity, '')):g}")
    for child in list(element):
        local = _local(child.tag)
        rules = "".join(child.itertext()) if local == "style" else ""
        if local not in elements or _reaches_out(rules):
            left_out[local or "comment"] = None
            element.remove(child)
            continue
        if rules:
            child.text, child[:] = _plain(rules), []
        _clean(child, left_out)


def _plain(value: str) -> str:
    """Without CSS comments, with references into the drawing and colours as Qt can read them."""
    return _PAINT.sub(_legacy_paint, _INNER.sub(r"url(\1)", _COMMENT.sub(" ", value)))


def _legacy_paint(found: re.Match[str]) -> str:
    color = _legacy_color(found[2])
    return f"{found[1]}:{color[0]};{_OPACITY_OF[found[1].lower()]}:{color[1]:g}" if color else found[0]


def _legacy_color(text: str) -> tuple[str, float] | None:
    """Return a colour as #rrggbb, and its opacity; None if it is not spelled with numbers, or as #rrggbb already.

    QtSvg (6.11) paints rgba(), hsl() and #rrggbbaa in opaque black.
    """
    return rgba(text) if _COLOR.fullmatch(text.strip()) else None


def _fraction(text: str) -> float:
    """The opacity in an attribute; 1 if there is none."""
    found = _PART.fullmatch(text.strip())
    return min(max(float(found[1]) / (100 if found[2] else 1), 0), 1) if found else 1.0


def _reaches_out(value: str) -> bool:
    """True if CSS names anything outside of the drawing. A backslash counts: it may spell such a name."""
    return bool(_OUTER.search(_COMMENT.sub("", value)))


def _is_fit(name: str, value: str) -> bool:
    if name.casefold().startswith("on") or name in ("base", "src"):
        return False
    if name == "href":
        return value.strip().startswith("#") or bool(_PICTURE.fullmatch(value.strip()))
    return not _reaches_out(value)


def _is_deeper(root: Element, most: int) -> bool:
    """Programs that draw deeply nested elements use recursion."""
    level = [root]
    for _ in range(most):
        level = [child for element in level for child in element]
    return bool(level)


def _check_uses(root: Element) -> None:
    """Raise ToolMisuse if elements draw each other in a circle or in too many steps, or repeat too much.

    A program that draws repeats what each `use` names: 30 in each of four levels are 810,000 elements.
    """
    named = _by_id(root)
    known: dict[str, tuple[int, int]] = {}

    def drawn(element: Element, level: int) -> tuple[int, int]:
        """Return how many elements are drawn for this one, and how deep its uses lead."""
        count, depth = sum(1 for _ in element.iter()), 0
        for target in _drawn_by(element, named) if level <= _MOST_USES else ():
            if target not in known:
                found = [drawn(other, level + 1) for other in named[target]]
                known[target] = max(number for number, _ in found), max(deep for _, deep in found) + 1
            number, deep = known.get(target, (0, 0))
            count, depth = count + number, max(depth, deep)
            if count > _MOST_ELEMENTS:
                raise ToolMisuse(f"its <use> elements make more than {_MOST_ELEMENTS} elements of it.", argument="svg")
        if level + depth > _MOST_USES:
            raise ToolMisuse(f"its <use> elements lead into each other more than {_MOST_USES} deep.", argument="svg")
        return count, depth

    drawn(root, 0)


def _drawn_by(element: Element, named: Mapping[str, Sequence[Element]]) -> Iterator[str]:
    """Yield the ids of what is drawn again for an element and all in it, by `use`, patterns, masks and markers."""
    for one in element.iter():
        for name, value in one.attrib.items():
            if _local(name) == "href" and _local(one.tag) in _REFERRING and value.strip().removeprefix("#") in named:
                yield value.strip().removeprefix("#")
            yield from _painting(value, named)
        if _local(one.tag) == "style":
            yield from _painting(one.text or "", named)


def _painting(value: str, named: Mapping[str, Sequence[Element]]) -> Iterator[str]:
    for ref in _INNER.findall(value):
        if any(_local(found.tag) in _PAINTING for found in named.get(ref[1:], ())):
            yield ref[1:]


def _by_id(root: Element) -> dict[str, list[Element]]:
    """Several elements may have the same id. `xml:id` counts too, because Qt reads it."""
    named: dict[str, list[Element]] = {}
    for one in root.iter():
        for name, value in one.attrib.items():
            if _local(name) == "id":
                named.setdefault(value.strip(), []).append(one)
    return named


def _size(root: Element) -> tuple[float, float, str]:
    """Width and height in the drawing's own units, and its viewBox. Raises ToolMisuse without a usable size."""
    box = root.get("viewBox", "")
    try:
        sides = [float(part) for part in re.split(r"[\s,]+", box.strip())]
    except ValueError:  # because the size may stand in width and height alone
        sides = []
    sides = sides[2:] if len(sides) == 4 else []
    if not sides:
        found = [_NUMBER.match(value) for name in ("width", "height") if "%" not in (value := root.get(name, ""))]
        sides = [float(one[0]) for one in found if one]
        box = " ".join(["0 0", *(f"{side:g}" for side in sides)])
    if len(sides) != 2 or not all(0 < side < 1e6 for side in sides) or not 0.02 <= sides[0] / sides[1] <= 50:
        raise ToolMisuse('svg: give it a size, such as viewBox="0 0 800 600".')
    return sides[0], sides[1], box


def _local(tag: object) -> str:
    return str(tag).rpartition("}")[2] if isinstance(tag, str) else ""
