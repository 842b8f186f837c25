"""Choose a dialect by its name and load the text that explains it. Only this module of the package reads files."""

from __future__ import annotations

from app.base import resources
from app.protocol.dialects.api import Dialect
from app.protocol.dialects.batch import BatchDialect
from app.protocol.dialects.native import NativeDialect
from app.protocol.dialects.xml import XmlDialect

NAMES = ("xml", "batch", "native")


def by_name(name: str) -> Dialect:
    """Return the dialect that the settings name. Raise `ValueError` for an unknown name."""
    guide = _guide(name) if name in NAMES else ""
    match name:
        case "xml":
            return XmlDialect(guide)
        case "batch":
            return BatchDialect(guide)
        case "native":
            return NativeDialect(guide, in_full=_declared_in_full())
    raise ValueError(f"There is no dialect {name!r}; there are {', '.join(NAMES)}.")


def _declared_in_full() -> frozenset[str]:
    return resources.table("prompts/dialects/native.toml", dict[str, frozenset[str]])["in_full"]


def _guide(name: str) -> str:
    return resources.text(f"prompts/dialects/{name}.md")
