"""Reads a URL as strictly as the connection will: what could be read in two ways is refused."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.base.errors import ToolMisuse
from app.services.network.addresses import Address

_PORTS = {"http": 80, "https": 443}
_OPEN_PORTS = frozenset({80, 443, 8080, 8443})
_LONGEST = 4_000
_PLAIN = re.compile(r"[!-~]+")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*")
_LOOKS_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_NEVER_PUBLIC = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".arpa", ".onion", ".test")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be asked for. `host` is a name in ASCII or an address; `url` has no fragment."""

    url: str
    scheme: str
    host: str
    port: int
    address: Address | None = None

    @property
    def site(self) -> str:
        """The host as people see it: `www.` says nothing."""
        return self.host.removeprefix("www.")


def read(text: str, *, any_port: bool = False) -> Target:
    """Raises ToolMisuse with the reason for whatever is no plain http(s) URL of a public host."""
    url = text.strip()
    if not url or len(url) > _LONGEST:
        raise ToolMisuse(f"url: give an address of at most {_LONGEST} characters, such as https://example.com/page.")
    head = url.partition("?")[0].partition("#")[0]
    if any(ord(sign) <= 0x20 or sign == "\\" or 0x7F <= ord(sign) <= 0x9F for sign in url):
        raise ToolMisuse("url: it holds blanks, control characters or backslashes; write them percent-encoded.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ToolMisuse(f"url: {error}.") from None
    if parts.scheme not in _PORTS or not head[len(parts.scheme) :].startswith("://"):
        raise ToolMisuse("url: only http:// and https:// addresses are fetched. Use the file tools for files.")
    if "@" in parts.netloc:
        raise ToolMisuse("url: leave out the user name and password before the @; nothing signs in here.")
    host, address = _host(parts.hostname or "")
    port = _PORTS[parts.scheme] if port is None else port
    if port not in _OPEN_PORTS and not any_port:
        ports = ", ".join(map(str, sorted(_OPEN_PORTS)))
        raise ToolMisuse(f"url: port {port} is not one that web pages are served on ({ports}).")
    return Target(_spelled(parts.scheme, host, port, parts.path, parts.query), parts.scheme, host, port, address)


def _host(written: str) -> tuple[str, Address | None]:
    if ":" in written:
        return _literal(written)
    host = _ascii(written.lower()).removesuffix(".")
    if not _HOST.fullmatch(host) or len(host) > 253:
        raise ToolMisuse("url: that is no host name; write it as in https://example.com/.")
    if _LOOKS_NUMERIC.fullmatch(host.rpartition(".")[2]):
        return _literal(host)
    if host == "localhost" or f".{host}".endswith(_NEVER_PUBLIC) or "." not in host:
        raise ToolMisuse(f"url: {host} is a name of this machine or network; only the public web is fetched.")
    return host, None


def _literal(written: str) -> tuple[str, Address]:
    """An address in its one plain form; octal, hexadecimal, shortened and scoped forms are read differently by many."""
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        raise ToolMisuse("url: write an address plainly, as in 93.184.215.14, or use the host's name.") from None
    if getattr(address, "scope_id", None):
        raise ToolMisuse("url: an address with a zone (%) belongs to one machine only; it is not fetched.")
    return str(address), address


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    import idna

    try:
        return idna.encode(host, uts46=True, transitional=False).decode("ascii")
    except idna.IDNAError:
        raise ToolMisuse("url: the host's name has letters that no host name can have.") from None


def _spelled(scheme: str, host: str, port: int, path: str, query: str) -> str:
    """The URL anew, from what was understood, so that nothing else can be understood later."""
    place = f"[{host}]" if ":" in host else host
    place += "" if port == _PORTS[scheme] else f":{port}"
    return f"{scheme}://{place}{path or '/'}{'?' + query if query else ''}"
