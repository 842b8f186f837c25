"""The one source of truth for what can be called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.protocol.spec import ToolSpec


@dataclass(frozen=True, slots=True)
class Family:
    """Tools that share a handler class; `spec.execute` is a method of it, bound when the executor is built."""

    handler: type
    tools: tuple[ToolSpec, ...]


class Registry:
    """Tools by name and alias, in the order they were given. Two tools of one name are a bug and raise."""

    def __init__(self, *families: Family) -> None:
        self._families: dict[str, Family] = {}
        self._tools: dict[str, ToolSpec] = {}
        self._names: dict[str, str] = {}
        for family in families:
            for tool in family.tools:
                self._add(family, tool)

    def _add(self, family: Family, tool: ToolSpec) -> None:
        for name in (tool.name, *tool.aliases):
            if name in self._names:
                raise ValueError(f"Two tools are called {name!r}.")
            self._names[name] = tool.name
        self._tools[tool.name] = tool
        self._families[tool.name] = family

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(self._tools.values())

    def find(self, name: str) -> ToolSpec | None:
        """The tool of that name or alias."""
        known = self._names.get(name)
        return self._tools[known] if known else None

    def handler_of(self, name: str) -> type:
        """The family class of a tool known by its own name."""
        return self._families[name].handler
