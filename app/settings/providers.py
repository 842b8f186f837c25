"""The tables of model providers and search engines.

A new provider is one folder in `app/providers` and one row of `providers.toml`; a search engine is one row of
`search.toml`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from app.base import resources
from app.base.values import dataclass, field


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """One provider. `make` is `module:function`; the comments of the file explain the other fields."""

    id: str
    label: str
    make: str
    maker: str = ""
    key: str = ""
    host: str = ""
    keys_from: str = ""
    model: str = ""
    is_first_choice: bool = False


@functools.cache
def providers() -> dict[str, ProviderRow]:
    """By id, in the file's order."""
    table = resources.table("providers.toml", dict[str, dict[str, Any]])
    return {name: ProviderRow(name, **row) for name, row in table.items()}


def with_keys() -> tuple[ProviderRow, ...]:
    return tuple(row for row in providers().values() if row.key)


@dataclass(frozen=True, slots=True)
class SearchRow:
    """One search engine; the comments of the file explain the fields."""

    id: str
    label: str
    url: str = ""
    key: str = ""
    vendor: str = ""
    header: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    posts: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""
    count: str = ""
    language: str = ""
    age: str = ""
    since: str = ""
    site: str = ""
    ages: Mapping[str, str] = field(default_factory=dict)
    results: str = ""
    title: str = ""
    link: str = ""
    text: str = ""
    date: str = ""
    source: str = ""


@functools.cache
def searchers() -> dict[str, SearchRow]:
    """By id, in the order in which they are tried."""
    table = resources.table("search.toml", dict[str, dict[str, Any]])
    return {name: SearchRow(name, **row) for name, row in table.items()}


@dataclass(frozen=True, slots=True)
class ImageRow:
    """A service that can draw pictures; the comments of the file explain the fields."""

    id: str
    label: str
    format: str
    key: str
    address: str
    model: str


@functools.cache
def image_makers() -> dict[str, ImageRow]:
    """Return the services that can draw pictures, by id, in the order in which they are tried."""
    table = resources.table("images.toml", resources.Table)["makers"]
    return {name: ImageRow(name, **row) for name, row in table.items()}


NTFY = "ntfy"
"""Whose key the person's own ntfy server gets."""
OWN_IMAGES = "images"
"""Whose key the person's own server for pictures gets."""


def key_holders() -> dict[str, tuple[str, str]]:
    """Return everything that needs a key: its name for people and its environment variable, by id."""
    known = {row.id: (row.label, row.key) for row in image_makers().values()}
    known |= {row.id: (row.maker, row.key) for row in with_keys()}
    own = resources.table("images.toml", resources.Table)["own"]
    known[OWN_IMAGES] = (own["label"], own["key"])
    pushed = resources.table("notifications.toml", resources.Table)[NTFY]
    known[NTFY] = (pushed["label"], pushed["key"])
    return known | {row.id: (row.label, row.key) for row in searchers().values() if row.key}


def key_variables() -> frozenset[str]:
    return frozenset(variable for _, variable in key_holders().values())
