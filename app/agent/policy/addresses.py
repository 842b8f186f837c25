"""Decide what a call may reach on the network: which hosts it names, and which addresses are walls.

The network tools reach public hosts by http and https alone (SECURITY.md, T7). Addresses are read as the network reads
them, in every spelling (`services/web/addresses`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from app.agent.policy.values import Consequence
from app.base.errors import ToolMisuse
from app.protocol.call import JsonValue
from app.protocol.spec import Effect
from app.services.web.addresses import is_own_server, read, why_refused

ADDRESSES = ("url", "address", "href")
"""Arguments that hold an address."""
HANDED_ON = ("arguments", "uri")
"""Arguments that a tool server is given, with all that they hold."""
_LINK = re.compile(r"https?://[^\s<>\"'`\\^{}|\x00-\x1f]+", re.IGNORECASE)
_AROUND = "<>()[]{}\"'`.,;:!?*_"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_HOST = re.compile(r"[./:]|^localhost$")


def reached(
    effects: frozenset[Effect], arguments: Mapping[str, JsonValue]
) -> tuple[tuple[str, ...], frozenset[Consequence]]:
    """Return the hosts that a call names, and INNER or ODD where one may not be reached."""
    if Effect.NETWORK not in effects:
        return (), frozenset()
    found = [_judged(url) for url in texts(arguments, ADDRESSES)]
    for value in (arguments.get(name) for name in HANDED_ON):
        found += [_judged(url, is_handed_on=True) for text in _texts_in(value) for url in _links_in(text)]
    hosts = tuple(dict.fromkeys(host for host, _ in found))
    return hosts, frozenset(kind for _, kind in found if kind is not None)


def of_typed(text: str) -> frozenset[Consequence]:
    """Return INNER if a text that is typed into a browser is an address that only this machine or its network has."""
    words = text.split()
    if len(words) != 1 or not _HOST.search(words[0]):
        return frozenset()
    scheme = _SCHEME.match(words[0])
    if scheme and scheme[1].casefold() not in ("http", "https"):
        return frozenset()
    # Of a host in one word, a browser makes a number, or a name of the local network.
    is_one_word = scheme is not None and "." not in words[0].split("/")[2]
    url = words[0] if scheme else f"http://{words[0]}"
    return frozenset({Consequence.INNER} if is_one_word or _is_inner(url) else ())


def really(
    effects: frozenset[Effect], arguments: Mapping[str, JsonValue], own_ports: Callable[[], Collection[int]]
) -> frozenset[Effect]:
    """Return the effects of a call. Reaching a server that this conversation's commands run counts as reading."""
    urls = tuple(texts(arguments, ADDRESSES))
    if Effect.NETWORK in effects and urls and all(is_own_server(url, own_ports) for url in urls):
        return effects - {Effect.NETWORK} | {Effect.READS}
    return effects


def texts(arguments: Mapping[str, JsonValue], names: Sequence[str]) -> Iterator[str]:
    """Yield the texts that a call passes in the arguments with these names."""
    for name in names:
        value = arguments.get(name)
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, str):
                yield one


def _judged(url: str, *, is_handed_on: bool = False) -> tuple[str, Consequence | None]:
    """Return the host of an address, or the address itself if it has none, and why it may not be reached."""
    try:
        target = read(url, any_port=is_handed_on)
    except ToolMisuse:
        return url, Consequence.INNER if _is_inner(url) else Consequence.ODD
    is_inner = target.address is not None and why_refused(target.address)
    return target.host, Consequence.INNER if is_inner else None


def _is_inner(url: str) -> bool:
    """True for this machine and for a private network, by the URL's number or its name."""
    try:
        target = read(url, any_port=True, any_host=True)
    except ToolMisuse:
        return False
    if target.address is not None:
        return bool(why_refused(target.address))
    try:
        read(url, any_port=True)
    except ToolMisuse:
        return "." in target.host or target.host == "localhost"
    return False


def _links_in(text: str) -> Iterator[str]:
    """Yield the addresses in a text, and a text that is nothing but the name or number of an inner host."""
    links = [link.rstrip(_AROUND) for link in _LINK.findall(text)]
    yield from links
    bare = text.strip().rpartition("://")[2]
    if not links and len(bare.split()) == 1 and _is_inner(f"http://{bare}"):
        yield f"http://{bare}"


def _texts_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts_in(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts_in(one)
