"""Addresses of model servers as people write them."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

EXAMPLE_ADDRESS = "http://127.0.0.1:11434/v1"
"""An address as it should be, for sentences: the one of a local Ollama."""


def is_address(url: str) -> bool:
    """Whether requests can go there at all: a scheme we speak, a host, a port that exists."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_local(url: str) -> bool:
    """Whether the URL's host is this machine: such servers are asked directly, whatever proxy the environment names."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def server_address(base_url: str) -> str:
    """The address of an OpenAI-compatible API: people write `http://127.0.0.1:11434`, it lives under `/v1`."""
    if not base_url or urlsplit(base_url).path.strip("/"):
        return base_url
    return f"{base_url.rstrip('/')}/v1"
