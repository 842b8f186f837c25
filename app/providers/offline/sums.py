"""Work out sums such as `what is 23*19`, `15% of 80` or `square root of 144`, in English or German style."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Sequence
from fractions import Fraction

from app.providers.offline.forms import ENDS, either
from app.providers.offline.words import ENGLISH, Talk, Token, language_of, lexicon, tokens_of

_SUM = re.compile(r"(?!.*[\d.]{16})[\d.+\-*/() ]{3,100}")
"""Longer numbers would not be exact."""
_SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def answer(wish: str, tokens: Sequence[Token]) -> Talk | None:
    """Return the answer to a sum such as `what is 23*19`. `tokens` are the wish's words without polite ones."""
    sums = lexicon().table("forms.sums")
    shape = rf"(?:(?:{either(sums['asks'])}):? )?(?P<sum>.+?)(?: (?:{either(sums['ends'])}))?"
    said = re.fullmatch(shape, wish[tokens[0].start :].strip(f"{ENDS}=") if tokens else "", re.IGNORECASE)
    plain = said["sum"] if said else ""
    style = next((name for name, shape in sums["decided_by"].items() if re.search(shape, plain)), "")
    marks = sums["marks"][style or language_of(tokens) or ENGLISH]
    if re.fullmatch(either(sums["others"]), wish.strip(ENDS)):  # a date, a time or a telephone number by itself
        return None
    for sign, words in (*marks["numbers"].items(), *sums["signs"].items()):
        plain = re.sub(rf" ?(?:{either(words)}) ?", sign, plain, flags=re.IGNORECASE)
    try:
        tree = ast.parse(plain.strip() if _SUM.fullmatch(plain) else "", mode="eval").body
        value = _value(tree) if isinstance(tree, ast.BinOp) else None
        shown = str(value) if value is None or value.denominator == 1 else f"{float(value):.10g}"
    except ZeroDivisionError:
        return Talk("by_zero")
    except (
        SyntaxError,
        ValueError,
        OverflowError,
    ):  # because it only looks like a sum, or is too long to read
        return None
    if said is None or value is None:
        return None
    sign = "=" if Fraction(shown) == value else "≈"
    return Talk("sum", f"{said['sum'].strip()} {sign} {shown.replace('.', marks['point'])}")


def worked_out(wish: str) -> str:
    """Return the result of a sum, such as `84` for `12*7`; "" for anything else."""
    said = answer(wish, tokens_of(wish)) if any(sign.isdigit() for sign in wish) else None
    return said.what.replace("≈", "=").rpartition("= ")[2] if said is not None and said.topic == "sum" else ""


def _value(node: ast.expr) -> Fraction:
    """Return the value of numbers, the four signs of arithmetic and powers. Anything else raises ValueError."""
    match node:
        case ast.Constant(int() | float() as number):
            return Fraction(str(number))
        case ast.UnaryOp(ast.USub(), inside):
            return -_value(inside)
        case ast.BinOp(left, sign, right) if type(sign) in _SIGNS:
            return Fraction(_SIGNS[type(sign)](_value(left), _value(right)))
        case ast.BinOp(left, ast.Pow(), right):
            return _power(_value(left), _value(right))
    raise ValueError(ast.dump(node))


_MOST_BITS = 200


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """Work out a power whose exponent is whole or one half. One that is too long to be read raises ValueError."""
    if exponent == Fraction(1, 2) and base >= 0:
        over, under = math.isqrt(base.numerator), math.isqrt(base.denominator)
        is_whole = over * over == base.numerator and under * under == base.denominator
        return Fraction(over, under) if is_whole else Fraction(math.sqrt(base))
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator != 1 or bits * abs(exponent) > _MOST_BITS:
        raise ValueError(f"{base} ** {exponent}")
    return Fraction(base**exponent.numerator)
