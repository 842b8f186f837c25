"""The check of `wisp doctor` for web searches."""

from __future__ import annotations

from app.base.findings import Finding, note, ok
from app.features.web.search import WebSearch
from app.features.web.settings import SEARCHERS, SEARXNG
from app.settings.store import key_of, load


def search() -> Finding:
    """Report which search engines are set up, without asking any of them."""
    name = "Web search"
    engines, problems = WebSearch(load, key_of).engines()
    if problems:
        return note(name, " ".join(problems), "Mend web.search in the settings, or leave it empty.", SEARCHERS.key)
    if not engines:
        return note(
            name,
            "no search engine is set up",
            f"Put the address of a SearXNG into {SEARXNG.key}, or a key.",
            SEARXNG.key,
        )
    return ok(name, ", ".join(row.label for row, _ in engines))
