"""The system prompt: words from files and the tool docs, byte-identical from pass to pass; facts come apart from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Protocol

from app.base import paths, signs
from app.protocol.dialects import neutral
from app.protocol.dialects.api import Dialect
from app.protocol.spec import ToolSpec
from app.settings.catalog import NAME, PERSONALITY
from app.settings.store import Settings


class Facts(Protocol):
    """What is true right now on this machine."""

    async def gather(self) -> Mapping[str, str]:
        """Texts by their heading, in the order to show them: workspace, time and locale, screen, windows."""
        ...


class NoFacts:
    """Nothing is known about the machine."""

    async def gather(self) -> Mapping[str, str]:
        return {}


def system_prompt(dialect: Dialect, specs: tuple[ToolSpec, ...], settings: Settings, folder: Path | None = None) -> str:
    """The files of `resources/prompts/system` in the order of their names, then what the dialect teaches.

    A file may use `$name` and `$personality`.
    """
    source = folder or paths.resources() / "prompts" / "system"
    words = {"name": settings[NAME], "personality": settings[PERSONALITY]}
    files = sorted(source.glob("*.md"), key=lambda file: file.name)
    parts = [Template(file.read_text(encoding="utf-8")).substitute(words).strip() for file in files]
    return "\n\n".join([*parts, dialect.teach(specs).strip()]) + "\n"


def rendered(facts: Mapping[str, str]) -> str:
    """Facts as the request's context. Names of files and windows are others' words: they open no tag."""
    if not facts:
        return ""
    sections = [f"## {heading}\n{neutral.escape(signs.plain(text.strip())[0])}" for heading, text in facts.items()]
    return "# Facts of this moment\n\n" + "\n\n".join(sections) + "\n"
