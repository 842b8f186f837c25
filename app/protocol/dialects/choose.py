"""Choose a dialect by its name and load the text that explains it. Only this module of the package reads files."""

from __future__ import annotations

from app.base import resources
from app.protocol.dialects.api import Dialect
from app.protocol.dialects.batch import BatchDialect
from app.protocol.dialects.native import NativeDialect
from app.protocol.dialects.xml import XmlDialect
from app.protocol.docs import Detail

NAMES = ("xml", "batch", "native")


def by_name(name: str) -> Dialect:
    """The dialect that the settings name. Raises ValueError for an unknown name."""
    return _made(name, Detail(_in_full()))


def shortest(name: str) -> Dialect:
    """Return the dialect of that name that teaches the tools in as few words as it can.

    For native calls it is the XML dialect, because a declaration for each tool cannot be short. Raise `ValueError` for
    an unknown name.
    """
    return _made("xml" if name == "native" else name, Detail(_in_full(), is_short=True))


def _made(name: str, detail: Detail) -> Dialect:
    guide = _guide(name) if name in NAMES else ""
    match name:
        case "xml":
            return XmlDialect(guide, detail)
        case "batch":
            return BatchDialect(guide, detail)
        case "native":
            return NativeDialect(guide, detail)
    raise ValueError(f"There is no dialect {name!r}; there are {', '.join(NAMES)}.")


def _in_full() -> frozenset[str]:
    return resources.table("prompts/dialects/in_full.toml", dict[str, frozenset[str]])["tools"]


def _guide(name: str) -> str:
    return resources.text(f"prompts/dialects/{name}.md")
