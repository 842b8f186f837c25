"""Which addresses are the public internet. Everything else is somebody's own network, and nobody asked for it.

Sources: the IANA special-purpose registries (RFC 6890) and the clouds' documented metadata addresses.
"""

from __future__ import annotations

import ipaddress

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
