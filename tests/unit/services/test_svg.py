"""What a drawing may hold: shapes stay, what could run or reach anything goes, and a process of its own draws it."""

from __future__ import annotations

import base64
import io
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from app.base.errors import ToolFailed, ToolMisuse
from app.services import svg
from app.services.svg import SafeDrawing, SvgRenderer, sanitise

OPEN = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 10">'
RED = (255, 0, 0)
RECT = '<rect width="10" height="10" fill="#ff0000"/>'


@pytest.fixture(scope="module")
def renderer() -> Iterator[SvgRenderer]:
    made = SvgRenderer()
    yield made
    made.close()


@dataclass(frozen=True)
class Outside:
    """What a drawing must not reach: a server on loopback, and a blue picture beside it."""

    address: str
    secret: Path
    server: socket.socket

    def was_reached(self) -> bool:
        try:
            self.server.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    secret = tmp_path_factory.mktemp("outside") / "secret.png"
    Image.new("RGB", (10, 10), "blue").save(secret)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield Outside(f"http://127.0.0.1:{server.getsockname()[1]}", secret, server)


_FILTER = '<filter id="f" x="-1e9" y="-1e9" width="2e9" height="2e9">{}</filter><g filter="url(#f)"><rect/></g>'
_ENTITIES = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
_HUGE_PNG = base64.b64encode(
    bytes.fromhex("89504e470d0a1a0a 0000000d49484452 0000ffff0000ffff0806000000 b605d950")
).decode()


@pytest.mark.parametrize(
    ("bad", "left_out"),
    [
        ("<script>fetch('HTTP/x')</script>", ["script"]),
        ('<s:script xmlns:s="http://www.w3.org/2000/svg" href="HTTP/x"/>', ["script"]),
        ('<foreignObject><iframe src="HTTP/x"/></foreignObject>', ["foreignObject"]),
        ("<rect onload=\"fetch('HTTP/x')\" ONCLICK=\"fetch('HTTP/x')\"/>", ["onload", "ONCLICK"]),
        ('<a href="javascript:alert()"><rect/></a>', ["a"]),
        ('<use xlink:href="javascript:alert()"/>', ["href"]),
        ('<use href="HTTP/x.svg#a"/>', ["href"]),
        ('<image href="HTTP/x.png" width="10" height="10"/>', ["href"]),
        ('<image xlink:href="FILE" width="10" height="10"/>', ["href"]),
        ('<image href="file://FILE" width="10" height="10"/>', ["href"]),
        ('<image href="data:text/html,&lt;script src=HTTP/x&gt;"/>', ["href"]),
        ('<image href="data:image/svg+xml;base64,PHN2Zy8+"/>', ["href"]),
        (f'<image href="data:image/png;base64,{_HUGE_PNG}" width="10" height="10"/>', []),
        ('<g xml:base="HTTP/"><use href="#a"/></g>', ["base"]),
        ('<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="FILE"/>', ["include"]),
        ('<filter id="f"><feImage href="FILE"/></filter><g filter="url(#f)"><rect/></g>', ["feImage"]),
        ('<animate attributeName="href" to="javascript:alert()"/><set attributeName="x"/>', ["animate", "set"]),
        ("<!-- <script/> --><metadata>HTTP/x</metadata>", ["metadata"]),
        ('<style>@import "HTTP/x.css";</style>', ["style"]),
        ("<style>@im/**/port 'HTTP/x.css';</style>", ["style"]),
        ("<style>@font-face { font-family: a; src: url(HTTP/x.woff) }</style>", ["style"]),
        ("<style>rect { fill: ur<title/>l(HTTP/x) }</style>", ["style"]),
        ("<style>rect { fill: url/**/(HTTP/x) }</style>", ["style"]),
        (r"<style>rect { fill: u\72l(HTTP/x) }</style>", ["style"]),
        ('<rect style="fill: url/* ( */(HTTP/x)"/>', ["style"]),
        (r'<rect style="fill: \75 rl(HTTP/x)"/>', ["style"]),
        ("<rect style=\"mask: src('HTTP/x')\"/>", ["style"]),
        ('<rect fill="url/**/(HTTP/x)"/>', ["fill"]),
        ('<rect fill="u&#92;72l(HTTP/x)"/>', ["fill"]),
        ('<rect fill="url (HTTP/x)"/>', ["fill"]),
        ("<rect fill=\"url('#a') url('HTTP/x')\"/>", ["fill"]),
        (_FILTER.format('<feGaussianBlur stdDeviation="1e9"/>' * 50), []),
        (_FILTER.format('<feTurbulence baseFrequency="1e9" numOctaves="1000000000"/>'), []),
        (_FILTER.format('<feMorphology operator="dilate" radius="1e9"/>'), []),
        ('<linearGradient id="a" href="#b"/><linearGradient id="b" href="#a"/><g fill="url(#a)"><rect/></g>', []),
        ('<rect width="1e38" height="1e38" x="1e38" stroke="red" stroke-width="1e38" stroke-dasharray="1e-9"/>', []),
    ],
)  # fmt: skip
def test_a_hostile_drawing_is_drawn_without_effect(
    bad: str, left_out: list[str], outside: Outside, renderer: SvgRenderer
) -> None:
    bad = bad.replace("HTTP", outside.address).replace("FILE", str(outside.secret))
    drawing = sanitise(f"<?xml-stylesheet href='{outside.address}'?>{OPEN}{bad}{RECT}</svg>")
    assert list(drawing.left_out) == left_out
    for gone in (outside.address, str(outside.secret), "alert", "script", "import"):
        assert gone not in drawing.text
    assert _middle(renderer, drawing) == (*RED, 255)
    assert not outside.was_reached()
    assert list(outside.secret.parent.iterdir()) == [outside.secret]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f'<!DOCTYPE svg [<!ENTITY e0 "x">{_ENTITIES}]>{OPEN}<text>&e9;</text></svg>', "leave out DOCTYPE"),
        (f'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>{OPEN}<text>&x;</text></svg>', "leave out DOCTYPE"),
        (f'<!DOCTYPE svg SYSTEM "http://a.example/x.dtd">{OPEN}</svg>', "leave out DOCTYPE"),
        (f"{OPEN}<text>&nbsp;</text></svg>", "no whole SVG"),
        (f"{OPEN}{'<g>' * 100_000}", "no whole SVG"),
        (f"{OPEN}{'<g>' * 300}{'</g>' * 300}</svg>", "200 deep"),
        (f"{OPEN}{'<g/>' * 20_001}</svg>", "20000 elements"),
        (f"{OPEN}<path d='{'M0 0' * 200_000}'/></svg>", "500000 bytes"),
        ('<svg viewBox="0 0 1e9 1e9"/>', "give it a size"),
        ('<svg viewBox="0 0 1e-9 1"/>', "give it a size"),
        ('<svg width="1" height="99999"/>', "give it a size"),
        (f'{OPEN}<g id="a"><use href="#a"/></g></svg>', "into each other"),
        (f'{OPEN}<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g></svg>', "into each other"),
        ("", "no whole SVG"),
        ("<html><svg/></html>", "begin with <svg"),
        ("<svg>" + RECT + "</svg>", "give it a size"),
        ('<svg viewBox="."></svg>', "give it a size"),
        ('<svg width="." height="5"></svg>', "give it a size"),
    ],
)  # fmt: skip
def test_what_is_no_drawing_or_too_much_of_one_is_refused_in_a_sentence(text: str, says: str) -> None:
    with pytest.raises(ToolMisuse, match=says):
        sanitise(text)


def test_shapes_gradients_and_inner_references_stay() -> None:
    inner = (
        '<defs><linearGradient id="a"><stop stop-color="#fff"/></linearGradient><g id="b"><path d="M0 0"/></g></defs>'
    )
    drawing = sanitise(f'{OPEN}{inner}<use xlink:href="#b"/><rect fill="url(#a)" style="opacity:.5"/></svg>')
    assert drawing.left_out == ()
    for kept in ("linearGradient", 'href="#b"', 'fill="url(#a)"', "opacity:.5"):
        assert kept in drawing.text


@pytest.mark.parametrize(
    "inner", ["fill=\"url('#a')\"", 'fill="url( #a )"', "fill='url(\"#a\")'", "style=\"fill: url( '#a' )\""]
)
def test_every_spelling_of_an_inner_reference_stays_and_is_drawn(inner: str, renderer: SvgRenderer) -> None:
    gradient = '<linearGradient id="a"><stop stop-color="#ff0000"/></linearGradient>'
    drawing = sanitise(f'{OPEN}{gradient}<rect width="10" height="10" {inner}/></svg>')
    assert drawing.left_out == ()
    assert _middle(renderer, drawing) == (*RED, 255)


@pytest.mark.parametrize(
    ("color", "seen"),
    [
        ("rgba(255, 0, 0, .6)", (255, 0, 0, 153)),
        ("rgb(100% 0% 0% / 60%)", (255, 0, 0, 153)),
        ("RGBA(999,-5,0,1)", (255, 0, 0, 255)),
        ("#f009", (255, 0, 0, 153)),
        ("#ff000099", (255, 0, 0, 153)),
        ("hsl(120, 100%, 50%)", (0, 255, 0, 255)),
        ("hsl(-240deg 100% 50% / 0.6)", (0, 255, 0, 153)),
        ("hsla(0.5turn,100%,50%,0.6)", (0, 255, 255, 153)),
        ("rgb(255, 0, 0)", (255, 0, 0, 255)),
        ("red", (255, 0, 0, 255)),
    ],
)  # fmt: skip
def test_every_spelling_of_a_colour_is_drawn_alike(color: str, seen: tuple[int, ...], renderer: SvgRenderer) -> None:
    plain = '<rect width="10" height="10" {}/>'
    for inner in (
        plain.format(f'fill="{color}"'),
        plain.format(f'style="stroke:none; fill : {color}; stroke-width:1"'),
        f"<style>.a {{ fill: {color} }}</style>" + plain.format('class="a"'),
        f'<linearGradient id="g"><stop stop-color="{color}"/></linearGradient>' + plain.format('fill="url(#g)"'),
        plain.format(f'stroke="{color}" stroke-width="20" fill="none"'),
    ):
        drawn = _middle(renderer, sanitise(f"{OPEN}{inner}</svg>"))
        assert max(abs(one - other) for one, other in zip(drawn, seen, strict=True)) <= 2, inner
    halved = sanitise(f'{OPEN}{plain.format(f"""fill="{color}" fill-opacity="0.5" """)}</svg>')
    assert abs(_middle(renderer, halved)[3] - seen[3] / 2) <= 2


def _repeated(breadth: int, name: str = "id") -> str:
    """A drawing of a few elements that four levels of `use` make `breadth` to the power of four of."""
    levels = [
        f'<g {name}="l{n}">' + f'<use href="#l{n - 1}"/>' * breadth + "</g>" if n else f'<rect {name}="l0"/>'
        for n in range(4)
    ]
    return f"{OPEN}<defs>{''.join(levels)}</defs>" + '<use href="#l3"/>' * breadth + "</svg>"


@pytest.mark.parametrize(
    "text",
    [
        _repeated(30),
        _repeated(300),
        _repeated(30, "xml:id"),
        _repeated(30).replace("</svg>", "".join(f'<g id="l{n}"/>' for n in range(4)) + "</svg>"),
    ],
    ids=["30", "300", "xml:id", "ids given twice"],
)  # fmt: skip
def test_uses_that_repeat_without_end_are_refused_before_anything_draws_them(text: str) -> None:
    with pytest.raises(ToolMisuse, match="make more than 20000 elements"):
        sanitise(text)


@pytest.mark.parametrize("order", [1, -1])
def test_uses_may_lead_four_deep_and_no_deeper_in_whatever_order_they_stand(order: int) -> None:
    for deep, is_fit in ((4, True), (5, False)):
        links = [f'<g id="l{n}"><use href="#l{n - 1}"/></g>' for n in range(1, deep + 1)]
        text = f'{OPEN}<rect id="l0"/>{"".join(links[::order])}</svg>'
        if is_fit:
            assert "use" in sanitise(text).text
        else:
            with pytest.raises(ToolMisuse, match="4 deep"):
                sanitise(text)


@pytest.mark.parametrize(
    ("kind", "by"), [("pattern", "fill"), ("mask", "mask"), ("marker", "marker-mid"), ("clipPath", "clip-path")]
)
def test_what_paints_with_each_other_without_end_is_refused(kind: str, by: str) -> None:
    inner = "".join(f'<{kind} id="p{n}">{f"""<rect {by}="url(#p{n + 1})"/>""" * 30}</{kind}>' for n in range(3))
    with pytest.raises(ToolMisuse, match="make more than 20000 elements"):
        sanitise(f'{OPEN}{inner}<{kind} id="p3"><rect/></{kind}><rect {by}="url(#p0)"/></svg>')


def test_a_gradient_may_fill_many_shapes() -> None:
    gradient = '<linearGradient id="g"><stop/><stop/><stop/><stop/></linearGradient>'
    assert sanitise(f'{OPEN}{gradient}{"""<rect fill="url(#g)"/>""" * 6_000}</svg>').left_out == ()


def test_uses_that_repeat_a_little_are_drawn() -> None:
    assert sanitise(_repeated(8)).text.count("use ") == 32


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('viewBox="0 0 1e2 50"', (100, 50)),
        ('viewBox="-5,-5 , 20 10"', (20, 10)),
        ('viewBox="0 0 1.2.3 5" width="40" height="20"', (40, 20)),
        ('width="4em" height="2.5E1px"', (4, 25)),
    ],
)
def test_the_size_is_read_as_numbers_are_written(
    attributes: str, size: tuple[float, float], renderer: SvgRenderer
) -> None:
    drawing = sanitise(f"<svg {attributes}>{RECT}</svg>")
    assert (drawing.width, drawing.height) == size
    assert renderer.draw(drawing, 64)[0].startswith(b"\x89PNG")


def test_a_drawing_becomes_a_picture(renderer: SvgRenderer) -> None:
    data, width, height = renderer.draw(sanitise(f"{OPEN}{RECT}</svg>"), 64)
    with Image.open(io.BytesIO(data)) as picture:
        assert (picture.size, width, height) == ((64, 64), 64, 64)


def test_after_a_drawing_that_fails_or_never_ends_the_next_one_is_drawn(
    renderer: SvgRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ToolFailed, match="cannot be drawn"):
        renderer.draw(SafeDrawing("no drawing", 1, 1, ()), 32)
    with monkeypatch.context() as hurried, pytest.raises(ToolFailed, match="time or memory"):
        hurried.setattr(svg, "_LIMIT_S", 0.01)
        renderer.draw(SafeDrawing(_repeated(300).replace("href", "xlink:href"), 1, 1, ()), 32)
    assert _middle(renderer, sanitise(f"{OPEN}{RECT}</svg>")) == (*RED, 255)


@pytest.mark.parametrize("chars", range(len(OPEN), len(OPEN) + 3 * len(RECT) + 15, 7))
def test_what_is_written_of_a_drawing_is_drawn_as_it_will_be(chars: int) -> None:
    whole = f"{OPEN}<script/><g>{RECT * 3}</g></svg>"
    begun, done = sanitise(whole[:chars], is_whole=False), sanitise(whole)
    assert (begun.width, begun.height) == (10, 10)
    assert begun.text.count("<rect") == whole[:chars].count("/>") - ("<script/>" in whole[:chars])
    assert sanitise(whole, is_whole=False) == done


@pytest.mark.parametrize("text", ["", "<sv", OPEN[:-1], "<![CDATA[", "<html><svg>"])
def test_of_what_is_no_drawing_yet_nothing_is_drawn(text: str) -> None:
    with pytest.raises(ToolMisuse):
        sanitise(text, is_whole=False)


def _middle(renderer: SvgRenderer, drawing: SafeDrawing) -> tuple[int, ...]:
    data, width, height = renderer.draw(drawing, 32)
    with Image.open(io.BytesIO(data)) as picture:
        pixel = picture.convert("RGBA").getpixel((width // 2, height // 2))
    assert isinstance(pixel, tuple)
    return pixel
