"""Which addresses are on this machine: they are asked directly, whatever proxy the environment names."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_local(url: str) -> bool:
    """Whether the URL's host is this machine (`localhost` or a loopback address)."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
