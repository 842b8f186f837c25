"""Work out sums such as `23*19`, `15% of 80` or `square root of 144`, in English or German style."""

from __future__ import annotations

import ast
import math
import operator
import re
from fractions import Fraction

from app.base import resources

_SUM = re.compile(r"(?!.*[\d.]{16})[\d.+\-*/() ]{3,100}")
"""Longer numbers would not be exact."""
_SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_MOST_BITS = 200


def answer(said: str, language: str) -> str:
    """A sum's result as the language writes it: `84`, `≈ 3.3333`, `∞` for a division by zero; "" for no sum."""
    sums = resources.table("offline/sums.toml", resources.Table)
    plain = said.strip().rstrip("=?. ")
    style = next((name for name, shape in sums["decided_by"].items() if re.search(shape, plain)), language)
    if re.fullmatch("|".join(sums["others"]), plain):  # a date, a time or a telephone number by itself
        return ""
    marks = sums["marks"].get(style, sums["marks"]["en"])
    for sign, words in (*marks["numbers"].items(), *sums["signs"].items()):
        either = "|".join(sorted(words, key=len, reverse=True))
        plain = re.sub(rf" ?(?:{either}) ?", sign, plain, flags=re.IGNORECASE)
    try:
        tree = ast.parse(plain.strip() if _SUM.fullmatch(plain) else "", mode="eval").body
        value = _value(tree) if isinstance(tree, ast.BinOp) else None
        shown = str(value) if value is None or value.denominator == 1 else f"{float(value):.10g}"
    except ZeroDivisionError:
        return "∞"
    except (SyntaxError, ValueError, OverflowError):  # because it only looks like a sum, or is too long to read
        return ""
    if value is None:
        return ""
    is_exact = Fraction(shown) == value
    return ("" if is_exact else "≈ ") + shown.replace(".", marks["point"])


def _value(node: ast.expr) -> Fraction:
    """Takes numbers, the four signs of arithmetic and powers. Anything else raises ValueError."""
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


def worked_out(said: str) -> str:
    """The exact or rounded result of a typed sum, such as `84` for `12*7`; "" for anything else."""
    result = answer(said, "en") if any(sign.isdigit() for sign in said) else ""
    return "" if result == "∞" else result.removeprefix("≈ ")
