"""The settings of searches in the web."""

from __future__ import annotations

from app.settings.catalog import Setting

SEARCHERS = Setting(
    "web.search",
    "",
    "Which search engines Wisp asks, in this order, with commas between them: searxng, brave, tavily, exa, "
    "anthropic, openai, gemini, ddgs (DuckDuckGo). Empty: all that are set up.",
)
VENDOR_SEARCH = Setting(
    "web.vendor_search",
    False,
    "Wisp also searches with Claude, OpenAI or Gemini if you saved a key for it, before it tries DuckDuckGo. "
    "The maker reads what is searched for. Each search costs money, and “Money per task” does not count it.",
)
SEARXNG = Setting(
    "web.searxng",
    "",
    "The address of a SearXNG search server, such as http://127.0.0.1:8888. It may be in your own network.",
    env="WISP_SEARXNG",
)

ALL = (SEARCHERS, VENDOR_SEARCH, SEARXNG)
