"""CSS colours and backgrounds, read by a CSS parser, so that what a page would ignore is refused with a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from app.base.clipping import clip_line

_MOST_CHARS = 2_000
_SHOWN_CHARS = 60
_GRADIENTS = frozenset(
    f"{repeating}{kind}-gradient" for repeating in ("", "repeating-") for kind in ("linear", "radial", "conic")
)
_UNITS = frozenset(
    {
        *("px", "em", "rem", "ex", "ch", "lh", "vw", "vh", "vmin", "vmax", "cm", "mm", "q", "in", "pt", "pc"),
        *("deg", "grad", "rad", "turn"),
    }
)
_PLACES = frozenset({"top", "bottom", "left", "right", "center"})
_OF_GRADIENTS = _PLACES | {
    *("to", "at", "from", "circle", "ellipse", "closest-side", "closest-corner", "farthest-side", "farthest-corner"),
    *("in", "srgb", "srgb-linear", "oklab", "oklch", "lab", "lch", "hsl", "hwb", "xyz"),
    *("shorter", "longer", "increasing", "decreasing", "hue"),
}
_OF_BACKGROUNDS = _PLACES | {
    *("cover", "contain", "auto", "repeat", "repeat-x", "repeat-y", "no-repeat", "space", "round"),
    *("scroll", "fixed", "local", "border-box", "padding-box", "content-box"),
}
_PLAIN = re.compile(r"[\w\s#%.,()+*/-]*")
"""Nothing that could end the declaration in which a page gets the background."""
_WHAT_TO_WRITE = "write a CSS colour or gradient only, such as linear-gradient(160deg, #102030, #304060)."


@lru_cache(maxsize=1_000)
def rgba(text: str) -> tuple[str, float] | None:
    """A CSS colour, named or in numbers, as `#rrggbb` and its opacity, 0 to 1; None for anything else."""
    from tinycss2 import color4  # late, because few tasks need it

    found = color4.parse_color(text.strip())
    if found is None or isinstance(found, str):  # `currentcolor` is no colour of its own
        return None
    try:
        *shares, opacity = found.to("srgb")
    except NotImplementedError:  # because the parser mixes not every space
        return None
    return f"#{''.join(f'{round(min(max(share, 0), 1) * 255):02x}' for share in shares)}", min(max(opacity, 0.0), 1.0)


def why_no_background(text: str) -> str:
    """A sentence, or "" if the text is a permitted CSS background: a colour, or gradients."""
    import tinycss2

    if len(text) > _MOST_CHARS:
        return f"it has {len(text)} characters, and a background at most {_MOST_CHARS}."
    if not _PLAIN.fullmatch(text) or text.count("(") != text.count(")"):
        return _WHAT_TO_WRITE
    *layers, last = _split(tinycss2.parse_component_value_list(text))
    try:
        for layer in (*layers, last):
            _check_layer(layer, may_be_color=layer is last)
    except ValueError as error:
        return str(error)
    except RecursionError:  # because hundreds of brackets in each other are no background either
        return _WHAT_TO_WRITE
    return ""


def _check_layer(layer: Sequence[Any], *, may_be_color: bool) -> None:
    pictures, colors = 0, 0
    for token in layer:
        if token.type == "function" and token.lower_name in _GRADIENTS:
            _check_gradient(token)
            pictures += 1
        elif _is_measure(token) or token == "/" or _is_word(token, _OF_BACKGROUNDS):
            continue
        else:
            _check_color(token)
            colors += 1
    if pictures > 1 or colors > may_be_color:
        raise ValueError("separate gradients by commas, and give a colour only at the end.")
    if not (pictures or colors):
        raise ValueError(_WHAT_TO_WRITE)


def _check_gradient(gradient: Any) -> None:
    stops = 0
    for number, part in enumerate(_split(gradient.arguments)):
        others = [token for token in part if not _is_measure(token)]
        if number == 0 and others and all(_is_word(token, _OF_GRADIENTS) for token in others):
            continue  # where it begins and where it leads
        for token in others:
            _check_color(token)
        if len(others) > 1 or not part:
            raise ValueError(f"{_shown(gradient)}: separate its colours by commas.")
        stops += len(others)
    if stops < 2:
        raise ValueError(f"{_shown(gradient)}: a gradient needs two colours.")


def _check_color(token: Any) -> None:
    from tinycss2 import color5

    if token.type not in ("ident", "hash", "function", "url"):
        raise ValueError(_WHAT_TO_WRITE)
    if color5.parse_color(token) is None:
        why = "Only colours and gradients are allowed: write a colour as #RRGGBB, or by a name that CSS knows."
        raise ValueError(f"{_shown(token)} is no CSS colour. {why}")


def _is_measure(token: Any) -> bool:
    if token.type == "function":
        return token.lower_name == "calc" and all(_is_in_calc(one) for one in token.arguments)
    return (
        token.type == "percentage"
        or (token.type == "dimension" and token.lower_unit in _UNITS)
        or (token.type == "number" and token.value == 0)
    )


def _is_in_calc(token: Any) -> bool:
    is_sign = token.type == "literal" and token.value in "+-*/"
    return is_sign or token.type in ("whitespace", "number", "percentage", "dimension")


def _is_word(token: Any, words: frozenset[str]) -> bool:
    return bool(token.type == "ident" and token.lower_value in words)


def _split(tokens: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield what stands between the commas, without blanks."""
    part: list[Any] = []
    for token in tokens:
        if token == ",":
            yield part
            part = []
        elif token.type != "whitespace":
            part.append(token)
    yield part


def _shown(token: Any) -> str:
    return clip_line(token.serialize(), _SHOWN_CHARS)
