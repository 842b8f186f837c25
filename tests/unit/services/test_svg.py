"""What a drawing may hold: shapes stay, what could run or reach anything goes, and a process of its own draws it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from app.base.errors import ToolMisuse
from app.services.svg import rendered, sanitise

OPEN = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 10">'
RECT = '<rect width="10" height="10" fill="#ff0000"/>'


@pytest.mark.parametrize(
    ("bad", "left_out"),
    [
        ("<script>fetch('http://a.example')</script>", "script"),
        ('<image href="http://a.example/x.png"/>', "href"),
        ('<use href="http://a.example/x.svg#a"/>', "href"),
        ("<rect fill=\"url('#a') url('http://a.example/x')\"/>", "fill"),
        ("<rect style=\"mask: src('http://a.example/x')\"/>", "style"),
        ('<animate attributeName="href" to="javascript:x()"/>', "animate"),
        ("<!-- <script/> --><metadata>x</metadata>", "metadata"),
    ],
)  # fmt: skip
def test_what_could_run_or_reach_anything_is_left_out(bad: str, left_out: str) -> None:
    drawing = sanitise(f"{OPEN}{RECT}{bad}</svg>")
    assert drawing.left_out == (left_out,)
    for gone in ("example", "passwd", "x()", "script", "import"):
        assert gone not in drawing.text
    assert 'fill="#ff0000"' in drawing.text


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
def test_every_spelling_of_an_inner_reference_stays_and_is_drawn(inner: str) -> None:
    gradient = '<linearGradient id="a"><stop stop-color="#ff0000"/></linearGradient>'
    drawing = sanitise(f'{OPEN}{gradient}<rect width="10" height="10" {inner}/></svg>')
    assert drawing.left_out == ()
    with Image.open(io.BytesIO(rendered(drawing, 32)[0])) as picture:
        assert picture.convert("RGB").getpixel((16, 16)) == (255, 0, 0)


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
def test_the_size_is_read_as_numbers_are_written(attributes: str, size: tuple[float, float]) -> None:
    drawing = sanitise(f"<svg {attributes}>{RECT}</svg>")
    assert (drawing.width, drawing.height) == size
    assert rendered(drawing, 64)[0].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no whole SVG"),
        ("<html><svg/></html>", "begin with <svg"),
        (f"{OPEN}{'<g/>' * 20_001}</svg>", "20000 elements"),
        ("<svg>" + RECT + "</svg>", "give it a size"),
        ('<svg viewBox="."></svg>', "give it a size"),
        ('<svg width="." height="5"></svg>', "give it a size"),
        (f'{OPEN}<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g></svg>', "into each other"),
    ],
)  # fmt: skip
def test_what_is_no_drawing_is_refused_in_a_sentence(text: str, says: str) -> None:
    with pytest.raises(ToolMisuse, match=says):
        sanitise(text)


def test_a_drawing_becomes_a_picture(tmp_path: Path) -> None:
    data, width, height = rendered(sanitise(f"{OPEN}{RECT}</svg>"), 64)
    with Image.open(io.BytesIO(data)) as picture:
        assert (picture.size, width, height) == ((64, 64), 64, 64)
        assert picture.convert("RGB").getpixel((32, 32)) == (255, 0, 0)


def test_a_local_picture_is_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    Image.new("RGB", (10, 10), "red").save(secret)
    bad = f'<image width="10" height="10" xlink:href="{secret}"/>'
    data, _, _ = rendered(sanitise(f"{OPEN}{bad}</svg>"), 32)
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.getpixel((16, 16)) == (0, 0, 0, 0)
