"""The settings of searches in the web."""

from __future__ import annotations

from app.settings.catalog import Setting

SEARCHERS = Setting(
    "web.search",
    "",
    "Which search engines it asks, in this order, by their names in search.toml: searxng, brave, tavily, exa, "
    "anthropic, openai, gemini, ddgs. Empty: all that are set up.",
)
VENDOR_SEARCH = Setting(
    "web.vendor_search",
    False,
    "Search the web also by Claude, OpenAI or Gemini, whichever has a key here, before DuckDuckGo is tried. It reads "
    "what is searched for. Each search costs an answer of its model and the maker's fee, which no limit here counts.",
)
SEARXNG = Setting(
    "web.searxng",
    "",
    "The address of your own SearXNG, such as http://127.0.0.1:8888; it may be in your network.",
    env="WISP_SEARXNG",
)

ALL = (SEARCHERS, VENDOR_SEARCH, SEARXNG)
