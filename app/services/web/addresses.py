"""Decide which addresses are on the public internet. All others are private networks, which `fetch` must not reach.

Sources: the IANA special-purpose registries (RFC 6890) and the cloud vendors' documented metadata addresses.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Collection
from urllib.parse import urlsplit

from app.base.errors import ToolFailed, ToolMisuse
from app.base.phrases import Phrase
from app.base.values import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[Address]]]
_MOST_TRIED = 3  # More addresses would only lengthen the wait, since each may take the whole timeout.

# The list is IANA's: https://www.iana.org/assignments/iana-ipv4-special-registry/iana-ipv4-special-registry.xhtml
_REFUSED: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "this machine"),
    ("127.0.0.0/8", "this machine"),
    ("10.0.0.0/8", "a private network"),
    ("172.16.0.0/12", "a private network"),
    ("192.168.0.0/16", "a private network"),
    ("100.64.0.0/10", "a provider's inner network"),
    ("169.254.0.0/16", "the local link, where clouds keep their keys"),
    # https://learn.microsoft.com/en-us/azure/virtual-network/what-is-ip-address-168-63-129-16
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
"""IPv6 networks that contain an IPv4 address, and how many bits follow it: mapped, translated, compatible, NAT64
(also the local one), 6to4."""
_CARRIERS = tuple((ipaddress.ip_network(network), shift) for network, shift in _CARRIES_V4)
_V4_BITS = 0xFFFF_FFFF
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


def why_refused(address: Address) -> str:
    """What kind of address it is; "" if it is on the public internet."""
    for network, what in _NETWORKS:
        if address.version == network.version and address in network:
            return what
    if isinstance(address, ipaddress.IPv6Address):
        for carrier, shift in _CARRIERS:
            if address in carrier:
                return why_refused(ipaddress.IPv4Address((int(address) >> shift) & _V4_BITS))
    return "" if address.is_global else "no address of the public internet"


def is_nearby(address: Address) -> bool:
    """Return whether the address may be that of the person's own server: on this machine or in a private network."""
    return why_refused(address) in ("this machine", "a private network")


def is_loopback(address: Address) -> bool:
    """True only for the plain form of such an address."""
    return any(address.version == network.version and address in network for network in _LOOPBACK)


def is_local(url: str) -> bool:
    """Return whether it is a plain http(s) address of this machine."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname or ""
        return parts.scheme in ("http", "https") and not parts.username and host in ("localhost", "127.0.0.1", "::1")
    except ValueError:
        return False


def is_own_server(url: str, own_ports: Callable[[], Collection[int]]) -> bool:
    """Return whether the URL leads to this machine, to a port that a command of this conversation serves."""
    return is_local(url) and (urlsplit(url.strip()).port or 80) in own_ports()


_PORTS = {"http": 80, "https": 443}
_OPEN_PORTS = frozenset({80, 443, 8080, 8443})
_LONGEST = 4_000
_PLAIN = re.compile(r"[!-~]+")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*")
_LOOKS_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_NEVER_PUBLIC = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".arpa", ".onion", ".test")


@dataclass(frozen=True, slots=True)
class WebTarget:
    """A URL that Wisp may fetch. `host` is an ASCII name or an address; `url` has no fragment."""

    url: str
    scheme: str
    host: str
    port: int
    address: Address | None = None

    @property
    def site(self) -> str:
        """The host without `www.`."""
        return self.host.removeprefix("www.")


def read(text: str, *, any_port: bool = False, any_host: bool = False) -> WebTarget:
    """Read a URL. Raises ToolMisuse with the reason if it is no plain http(s) URL of a public host.

    `any_host` allows names of this machine and network, for a server that the person has named.
    """
    url = text.strip()
    if not url or len(url) > _LONGEST:
        raise _refused(f"give an address of at most {_LONGEST} characters, such as https://example.com/page.")
    head = url.partition("?")[0].partition("#")[0]
    if any(ord(sign) <= 0x20 or sign == "\\" or 0x7F <= ord(sign) <= 0x9F for sign in url):
        raise _refused("it holds blanks, control characters or backslashes; write them percent-encoded.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _refused(f"{error}.") from None
    if parts.scheme not in _PORTS or not head[len(parts.scheme) :].startswith("://"):
        raise _refused("only http:// and https:// addresses are fetched. Use the file tools for files.")
    if "@" in parts.netloc:
        raise _refused("leave out the user name and password before the @; nothing signs in here.")
    host, address = _host(parts.hostname or "", any_host=any_host)
    port = _PORTS[parts.scheme] if port is None else port
    if port not in _OPEN_PORTS and not any_port:
        ports = ", ".join(map(str, sorted(_OPEN_PORTS)))
        raise _refused(f"port {port} is not one that web pages are served on ({ports}).")
    return WebTarget(_spelled(parts.scheme, host, port, parts.path, parts.query), parts.scheme, host, port, address)


def _host(written: str, *, any_host: bool) -> tuple[str, Address | None]:
    if ":" in written:
        return _literal(written)
    host = _ascii(written.lower()).removesuffix(".")
    if not _HOST.fullmatch(host) or len(host) > 253:
        raise _refused("that is no host name; write it as in https://example.com/.")
    if _LOOKS_NUMERIC.fullmatch(host.rpartition(".")[2]):
        return _literal(host)
    is_near = host == "localhost" or f".{host}".endswith(_NEVER_PUBLIC) or "." not in host
    if is_near and not any_host:
        raise _refused(f"{host} is a name of this machine or network; only the public web is fetched.")
    return host, None


def _literal(written: str) -> tuple[str, Address]:
    """The address as text and value. Raises ToolMisuse for octal, hexadecimal, short or scoped forms."""
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        raise _refused("write an address plainly, as in 93.184.215.14, or use the host's name.") from None
    if getattr(address, "scope_id", None):
        raise _refused("an address with a zone (%) belongs to one machine only; it is not fetched.")
    return str(address), address


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    import idna

    try:
        return idna.encode(host, uts46=True, transitional=False).decode("ascii")
    except idna.IDNAError:
        raise _refused("the host's name has letters that no host name can have.") from None


def _spelled(scheme: str, host: str, port: int, path: str, query: str) -> str:
    """The URL, written again from its parts, so that no other program can read it differently."""
    place = f"[{host}]" if ":" in host else host
    place += "" if port == _PORTS[scheme] else f":{port}"
    return f"{scheme}://{place}{path or '/'}{'?' + query if query else ''}"


async def resolve(host: str, port: int) -> list[Address]:
    """Return all addresses that the system finds for a host name. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


async def public_addresses(
    target: WebTarget, find: Resolve = resolve, *, loopback: bool = False, is_own: bool = False
) -> list[Address]:
    """Return the addresses to which a connection may go. Raises ToolFailed if any of the host's is not public.

    `is_own` is for a server that the person has set up: it may be in a private network.
    """
    if target.address is not None:
        found = [target.address]
    else:
        try:
            found = await find(target.host, target.port)
        except OSError:
            raise ToolFailed(f"There is no host called {target.host}, or this machine is offline.") from None
    for address in found:
        reason = why_refused(address)
        if reason and not (loopback and is_loopback(address)) and not (is_own and is_nearby(address)):
            values = {"host": target.host, "what": reason, "address": str(address)}
            what = Phrase("{host} leads to {what} ({address}); only the public web is fetched.", values)
            raise ToolFailed(what, "If the person wants that page, open it in their browser instead.")
    if not found:
        raise ToolFailed(f"{target.host} has no address.")
    return found[:_MOST_TRIED]


def _refused(why: str) -> ToolMisuse:
    return ToolMisuse(why, argument="url")
