"""Decide which addresses are on the public internet. All others are private networks, which `fetch` may not reach.

Sources: the IANA special-purpose registries (RFC 6890) and the clouds' documented metadata addresses.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from app.base.errors import ToolMisuse
from app.base.values import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_REFUSED: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "this machine"),
    ("127.0.0.0/8", "this machine"),
    ("10.0.0.0/8", "a private network"),
    ("172.16.0.0/12", "a private network"),
    ("192.168.0.0/16", "a private network"),
    ("100.64.0.0/10", "a provider's inner network"),
    ("169.254.0.0/16", "the local link, where clouds keep their keys"),
    ("168.63.129.16/32", "a cloud's own service"),
    ("192.0.0.0/24", "a reserved network"),
    ("192.0.2.0/24", "a network for examples"),
    ("198.18.0.0/15", "a network for tests"),
    ("198.51.100.0/24", "a network for examples"),
    ("203.0.113.0/24", "a network for examples"),
    ("192.88.99.0/24", "a retired relay"),
    ("224.0.0.0/4", "a multicast group"),
    ("240.0.0.0/4", "a reserved network"),
    ("::/128", "this machine"),
    ("::1/128", "this machine"),
    ("100::/64", "a network that discards everything"),
    ("2001::/23", "a reserved network"),
    ("2001:db8::/32", "a network for examples"),
    ("3fff::/20", "a network for examples"),
    ("5f00::/16", "a reserved network"),
    ("fc00::/7", "a private network"),
    ("fe80::/10", "the local link"),
    ("fec0::/10", "a private network"),
    ("ff00::/8", "a multicast group"),
)
_NETWORKS = tuple((ipaddress.ip_network(network), what) for network, what in _REFUSED)

_CARRIES_V4: tuple[tuple[str, int], ...] = (
    ("::ffff:0:0/96", 0),
    ("::ffff:0:0:0/96", 0),
    ("::/96", 0),
    ("64:ff9b::/96", 0),
    ("64:ff9b:1::/48", 0),
    ("2002::/16", 80),
)
"""IPv6 networks that stand for an IPv4 address, and how many bits follow it: mapped, translated, compatible, NAT64
(also the local one), 6to4."""
_CARRIERS = tuple((ipaddress.ip_network(network), shift) for network, shift in _CARRIES_V4)
_V4_BITS = 0xFFFF_FFFF
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


def why_refused(address: Address) -> str:
    """What the address is if it is not on the public internet; empty for one that is."""
    for network, what in _NETWORKS:
        if address.version == network.version and address in network:
            return what
    if isinstance(address, ipaddress.IPv6Address):
        for carrier, shift in _CARRIERS:
            if address in carrier:
                return why_refused(ipaddress.IPv4Address((int(address) >> shift) & _V4_BITS))
    return "" if address.is_global else "no address of the public internet"


def is_loopback(address: Address) -> bool:
    """Whether it is this very machine, written plainly."""
    return any(address.version == network.version and address in network for network in _LOOPBACK)


_PORTS = {"http": 80, "https": 443}
_OPEN_PORTS = frozenset({80, 443, 8080, 8443})
_LONGEST = 4_000
_PLAIN = re.compile(r"[!-~]+")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*")
_LOOKS_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_NEVER_PUBLIC = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".arpa", ".onion", ".test")


@dataclass(frozen=True, slots=True)
class WebTarget:
    """A URL that Wisp may fetch. `host` is a name in ASCII or an address; `url` has no fragment."""

    url: str
    scheme: str
    host: str
    port: int
    address: Address | None = None

    @property
    def site(self) -> str:
        """The host as people see it: `www.` says nothing."""
        return self.host.removeprefix("www.")


def read(text: str, *, any_port: bool = False) -> WebTarget:
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
    return WebTarget(_spelled(parts.scheme, host, port, parts.path, parts.query), parts.scheme, host, port, address)


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
    """Rebuild the URL from its parsed parts, so that a later parser cannot read it differently."""
    place = f"[{host}]" if ":" in host else host
    place += "" if port == _PORTS[scheme] else f":{port}"
    return f"{scheme}://{place}{path or '/'}{'?' + query if query else ''}"
