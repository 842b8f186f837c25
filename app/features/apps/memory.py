"""How much memory a surface may fill: the kernel refuses more, and the process of its page ends.

The limits are on private writable memory (`RLIMIT_DATA`), since V8 reserves a terabyte of addresses that it does not
fill. An ordinary page's process has 0.6 GB of it, most of which is reserved, too. Works on Linux only.
"""

from __future__ import annotations

import sys

_PAGE_BYTES = 1536 << 20
_BROWSER_BYTES = 4096 << 20
"""The browser's own process keeps the blobs of all pages, of which Chromium allows 2 GB."""


def limit_pages() -> None:
    """Limit this process and those that it starts from now on. A lower limit that is there already stays."""
    if sys.platform == "linux":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        sides = (_PAGE_BYTES, _BROWSER_BYTES)
        resource.setrlimit(resource.RLIMIT_DATA, _within(sides, most))


def allow_browser(pid: int) -> None:
    """Give the process of the browser, which all surfaces share, more than a page. Its zygotes, from which pages come,
    must have started before.
    """
    if sys.platform == "linux":
        import resource

        try:
            _, most = resource.prlimit(pid, resource.RLIMIT_DATA)
            resource.prlimit(pid, resource.RLIMIT_DATA, _within((_BROWSER_BYTES, _BROWSER_BYTES), most))
        except OSError:  # because it may have ended, and one with the lower limit works, too
            return


def _within(sides: tuple[int, int], most: int) -> tuple[int, int]:
    return sides if most < 0 else (min(sides[0], most), min(sides[1], most))
