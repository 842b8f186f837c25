"""Read the files of the `resources` folder: the words, rules and pictures that Wisp ships.

Each table is read once and checked against the type that the caller names. Callers must not change the result.
"""

from __future__ import annotations

import dataclasses
import locale
import os
import tomllib
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from app.base import paths

T = TypeVar("T")
Table = dict[str, Any]
"""The type of a table that the caller checks further."""
_ENGLISH = "en"
"""The language whose words are whole. Another one has its own in place of them."""
_WORDS = ("languages/", "offline/")
"""Where features may add words. No rule of what may happen is there."""


_added: list[Path] = []
"""Folders of features with words of their own."""


class DamagedResource(ValueError):
    """A shipped file does not have the expected content. The text names the file and the place in it."""


def path(name: str) -> Path:
    """`name` is relative to the folder of resources, as in `desktop/keys.toml`."""
    return paths.resources() / name


def text(name: str) -> str:
    """Read a resource. Raises DamagedResource if it is not UTF-8, OSError if it cannot be read."""
    try:
        return path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DamagedResource(f"{path(name)} is not UTF-8: {error}") from error


def add_words(folder: Path) -> None:
    """Let the tables in `languages` and `offline` have the entries of such tables in this folder, too.

    What is shipped stays as it is: no entry of it is replaced.
    """
    if folder not in _added:
        _added.append(folder)
        _table.cache_clear()
        in_language.cache_clear()


def check_words(folder: Path) -> None:
    """Raise DamagedResource, with the file, if a table in a folder of words is no table of tables."""
    for file in sorted(folder.rglob("*.toml")):
        try:
            found = tomllib.loads(file.read_text(encoding="utf-8"))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DamagedResource(f"{file}: {error}") from error
        if wrong := next((name for name, one in found.items() if not isinstance(one, dict)), ""):
            raise DamagedResource(f"{file}: {wrong} is no table")


def added(name: str) -> list[str]:
    """Return the texts of a file of words in the folders that features added. Raises as `text` does."""
    return [(folder / name).read_text(encoding="utf-8") for folder in _added if (folder / name).is_file()]


@cache
def words(name: str) -> frozenset[str]:
    """Read a file of words that are separated by blanks or line ends; return the set of them."""
    return frozenset(text(name).split())


@cache
def lines(name: str) -> tuple[str, ...]:
    """Read a file of lines, without empty lines and those that begin with `#`."""
    return tuple(line.strip() for line in text(name).splitlines() if line.strip() and not line.startswith("#"))


@cache
def folders(name: str) -> frozenset[str]:
    """Return the names of the folders in a folder of resources."""
    return frozenset(folder.name for folder in path(name).iterdir() if folder.is_dir())


@cache
def _table(name: str, shape: Hashable) -> object:
    try:
        whole = tomllib.loads(text(name))
        for more in added(name) if name.startswith(_WORDS) else ():
            whole = tomllib.loads(more) | whole
        return shaped(whole, cast(type[object], shape), str(path(name)))
    except tomllib.TOMLDecodeError as error:
        raise DamagedResource(f"{path(name)}: {error}") from error


def table(name: str, shape: type[T]) -> T:
    """Read a TOML file once, as this type: dicts, lists, tuples, frozensets, unions, dataclasses, plain values.

    Raises DamagedResource if the file is no TOML, lacks a key, or has a value of another type.
    """
    # A cast, because mypy takes a type of unknown class for unhashable.
    return cast(T, _table(name, cast(Hashable, shape)))


@cache
def in_language(name: str, language: str) -> Table:
    """Read a file of `resources/languages/en`. What a language has of its own in that file stands in its place."""
    whole, own = table(f"languages/{_ENGLISH}/{name}", Table), f"languages/{language or _ENGLISH}/{name}"
    if path(own).is_file():
        return over(whole, table(own, Table))
    for more in added(own):
        whole = over(whole, tomllib.loads(more))
    return whole


def over(whole: Table, own: Table) -> Table:
    """`own` takes the place of what both have."""
    inner = {key: over(whole[key], one) for key, one in own.items() if isinstance(whole.get(key), dict)}
    return {**whole, **own, **inner}


def shaped(value: object, shape: type[T], where: str) -> T:
    """Return a value of a table as this type, as `table` does. `where` names its place for the error."""
    try:
        return cast(T, _shaped(value, shape, ""))
    except ValueError as error:
        raise DamagedResource(f"{where}: {error}") from error


def system_language() -> str:
    """In two letters, as the system's settings name it for messages; "" if they name none."""
    named = (os.environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    chosen = next(filter(None, named), "") or locale.getlocale()[0] or ""
    return chosen[:2].lower() if chosen[:2].isalpha() and chosen[2:3] in ("", "_", "-", ".") else ""


def system_country() -> str:
    """In two capital letters, as the system's settings name it; "" if they name none."""
    named = (os.environ.get(name, "") for name in ("LC_ALL", "LC_TIME", "LANG"))
    chosen = next(filter(None, named), "") or locale.getlocale()[0] or ""
    country = chosen[3:5]
    return country if chosen[2:3] == "_" and country.isalpha() and country.isupper() else ""


def _shaped(value: object, shape: Any, at: str) -> object:
    if shape is Any:
        return value
    if dataclasses.is_dataclass(shape):
        return _built(value, shape, at)
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is UnionType:
        return _shaped(
            value, next((one for one in arguments if _is_a(value, get_origin(one) or one)), arguments[0]), at
        )
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {key: _shaped(one, arguments[1], f"{at}.{key}") for key, one in value.items()}
    if origin in (list, tuple, frozenset) and isinstance(value, list):
        return origin(_shaped(one, arguments[0], f"{at}[{number}]") for number, one in enumerate(value))
    if shape is float and _is_a(value, int):
        return float(cast(int, value))
    if origin is None and _is_a(value, shape):
        return value
    raise ValueError(f"{at.lstrip('.') or 'it'} is {value!r}, and not {getattr(shape, '__name__', shape)}")


def _is_a(value: object, kind: type) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _built(value: object, shape: Any, at: str) -> object:
    if not isinstance(value, dict):
        raise ValueError(f"{at.lstrip('.') or 'it'} is {value!r}, and not a table")
    hints = get_type_hints(shape)
    fields = {field.name: field for field in dataclasses.fields(shape)}
    needed = {
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    if wrong := sorted((value.keys() - fields.keys()) | (needed - value.keys())):
        raise ValueError(f"{at.lstrip('.') or 'it'} has {sorted(value)}; unknown or missing: {', '.join(wrong)}")
    return shape(**{name: _shaped(one, hints[name], f"{at}.{name}") for name, one in value.items()})
