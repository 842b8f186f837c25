"""Names whose owner answers what an attacker wants: a resolver in the place of the system's."""

from __future__ import annotations

import itertools
import socket
from typing import Any

SITE = "site.example.com"
"""A name of the outer world at which a test's own server answers."""
_ANSWERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "inner.example.com": (("10.0.0.1",),),
    "mixed.example.com": (("93.184.215.14", "192.168.0.1"),),
    "six.example.com": (("::1",),),
    "mapped.example.com": (("::ffff:127.0.0.1",),),
    "cgnat.example.com": (("100.64.0.9",),),
    "meta.example.com": (("169.254.169.254",),),
    "rebind.example.com": (("127.0.0.1",), ("93.184.215.14",)),
    "nat.example.com": (("64:ff9b::a00:1",),),
    "zone.example.com": (("fe80::1%lo",),),
    "multi.example.com": (("224.0.0.251",),),
}
"""Each name's answers, one after the other, again from the first."""


class Names:
    """Answers `getaddrinfo`; a name it does not know does not exist."""

    def __init__(self, site: str) -> None:
        answers = {**_ANSWERS, SITE: ((site,),)}
        self._turns = {name: itertools.cycle(turns) for name, turns in answers.items()}

    def __call__(self, host: str, port: int, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        if host not in self._turns:
            raise socket.gaierror(socket.EAI_NONAME, "there is no such name")
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in next(self._turns[host])
        ]
