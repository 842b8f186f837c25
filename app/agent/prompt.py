"""The system prompt: texts from files and the tool docs, identical in every pass. Facts are kept apart from it."""

from __future__ import annotations

import datetime
import json
import locale
import platform
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Protocol

from app.base import resources, signs
from app.base.clipping import clip_line
from app.base.clock import Clock
from app.base.facts import Failed
from app.base.phrases import Phrase, PhraseValue
from app.base.translation import words_in
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.protocol.call import JsonValue
from app.protocol.dialects import tags
from app.protocol.dialects.api import Dialect
from app.protocol.spec import PROGRESS, ToolSpec
from app.services.files.places import visible
from app.settings.catalog import FOCUS_CHAIN, NAME, PERSONALITY
from app.settings.store import Settings


class Facts(Protocol):
    """What is true right now on this machine."""

    async def gather(self) -> Mapping[str, str]:
        """Return texts by their heading, in order: workspace, time and locale, screen, windows."""
        ...


class NoFacts:
    """For sessions that know nothing about the machine."""

    async def gather(self) -> Mapping[str, str]:
        return {}


def system_prompt(dialect: Dialect, specs: tuple[ToolSpec, ...], settings: Settings, folder: Path | None = None) -> str:
    """Join the files of `resources/prompts/system`, sorted by name, and what the dialect teaches.

    A file may use `$name` and `$personality`.
    """
    source = folder or resources.path("prompts/system")
    words = {"name": settings[NAME], "personality": settings[PERSONALITY]}
    files = sorted(source.glob("*.md"), key=lambda file: file.name)
    parts = [Template(file.read_text(encoding="utf-8")).substitute(words).strip() for file in files]
    return "\n\n".join([*parts, dialect.teach(specs).strip()]) + "\n"


def teaching(
    dialect: Dialect, specs: tuple[ToolSpec, ...], settings: Settings, names: Mapping[str, str], met: Sequence[str] = ()
) -> tuple[str, tuple[Mapping[str, JsonValue], ...]]:
    """Return the system prompt and the declared tools.

    Rare tools are declared only if the model has `met` them: it called them, or asked for their docs. `names` are
    the names that this family of models has for some tools. If Wisp keeps no checklist, none is taught.
    """
    keeps_list = settings[FOCUS_CHAIN]
    taught = tuple(spec for spec in specs if keeps_list or not spec.is_checklist)
    system = system_prompt(dialect, taught, settings) + (f"\n{told('checklist')}\n" if keeps_list else "")
    schemas = dialect.schemas(taught, met)
    if names:
        schemas = tuple(json.loads(_renamed(json.dumps(schemas), names)))
    return _renamed(system, names), schemas if keeps_list else tuple(map(_without_list, schemas))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    for name, other in names.items():
        text = re.sub(rf"\b{name}\b", other, text)
    return text


def _without_list(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    shape = schema["input_schema"]
    properties = shape.get("properties") if isinstance(shape, dict) else None
    if not isinstance(shape, dict) or not isinstance(properties, dict) or PROGRESS.name not in properties:
        return schema
    kept = {name: one for name, one in properties.items() if name != PROGRESS.name}
    return {**schema, "input_schema": {**shape, "properties": kept}}


def rendered(facts: Mapping[str, str]) -> str:
    """As the request's context. Names of files and windows may not open a tag."""
    if not facts:
        return ""
    sections = [f"## {heading}\n{tags.escape(signs.plain(text.strip())[0])}" for heading, text in facts.items()]
    return "# Facts of this moment\n\n" + "\n\n".join(sections) + "\n"


_ENTRIES = 60
_WINDOWS = 20
_TITLE_CHARACTERS = 80


class MachineFacts:
    """The facts of the machine, gathered before each pass. Texts are short, because each pass sends them again."""

    def __init__(self, workspace: Path, desktop: Desktop, clock: Clock) -> None:
        self._workspace = workspace
        self._desktop = desktop
        self._clock = clock

    async def gather(self) -> Mapping[str, str]:
        screen, windows = await self._desktop.glance(_looked)
        return {
            "Workspace": _listing(self._workspace),
            "Time and place": self._moment(),
            "Screen": screen,
            "Windows": windows,
        }

    def _moment(self) -> str:
        now = datetime.datetime.fromtimestamp(self._clock.wall()).astimezone()
        language = locale.getlocale()[0] or "unknown locale"
        return f"{now:%A %Y-%m-%d %H:%M %Z}, {language}, {platform.system()} {platform.release()}"


def _listing(folder: Path) -> str:
    try:
        names = sorted(visible(entry.name) + ("/" if entry.is_dir() else "") for entry in folder.iterdir())
    except OSError as error:  # The model learns the reason, because it may otherwise take the folder as empty.
        return f"{folder} cannot be read: {error.strerror}"
    shown = "\n".join(names[:_ENTRIES]) or "(empty)"
    more = f"\n… and {len(names) - _ENTRIES} more" if len(names) > _ENTRIES else ""
    return f"{folder}\n{shown}{more}"


async def _looked(controller: DesktopController) -> tuple[str, str]:
    whole = controller.backend.screen.extent()
    windows = controller.backend.windows.all()
    lines = [
        f"{'*' if window.is_active else '-'} {_short(window.title)!r} ({_short(window.app)})"
        for window in windows[:_WINDOWS]
    ]
    return f"{whole.width}x{whole.height} pixels", "\n".join(lines) or "(none open)"


def _short(name: str) -> str:
    return clip_line(name, _TITLE_CHARACTERS)


_SENTENCE_END = re.compile(r"(?<=[.!?:\u2026])\s+|\n+|(?<=[\u3002\uff01\uff1a\uff1f])(?!\Z)")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e")


def _tables() -> dict[str, dict[str, str]]:
    return resources.table("prompts/loop.toml", dict[str, dict[str, str]])


def cut_off() -> Failed:
    """Return what a call came to that still ran when Wisp was ended."""
    return Failed(Phrase(told("ended_call")), told("look_before"))


def told(name: str, /, **values: str) -> str:
    """Fill in a sentence for the model from the prompt tables. Raises KeyError if the name or a value is missing."""
    return Template(_tables()["words"][name]).substitute(values).strip()


def ending(name: str, /, language: str = "", **values: PhraseValue) -> str:
    """Return the sentence on how a turn ended, for the person, in this language."""
    return Phrase(_tables()["endings"][name], values).said(words_in(language))


def only_announces(text: str) -> bool:
    """True if a reply only announces an action, without asking, reporting a result or admitting a failure."""
    longest, phrases = _announcements()
    plain = text.replace("\u2019", "'").strip()
    if not plain or plain.endswith(_QUESTION_MARKS) or len(plain) > longest:
        return False
    last = _SENTENCE_END.split(plain)[-2:]
    admitted = [_admissions("own").search(sentence) is not None for sentence in last]
    if any(admitted):  # because what was tried before does not count against a last sentence that goes on
        last = [] if admitted[-1] else last[-1:]
    return any(phrase.search(" ".join(last)) for phrase in phrases)


def asks_person(text: str, *, has_worked: bool) -> bool:
    """Return whether a reply ends with a question that the task waits for.

    Politeness is none, nor is a question that is quoted. Where something `has_worked`, an offer to do more is none.
    """
    plain = text.replace("\u2019", "'").strip().rstrip("*_)`")
    if not plain.endswith(_QUESTION_MARKS):
        return False
    last = _SENTENCE_END.split(plain)[-1]
    return not (_asked("polite").search(last) or (has_worked and _asked("offers").match(last.strip())))


@cache
def _asked(name: str) -> re.Pattern[str]:
    return re.compile(_any_of(resources.table("prompts/asking.toml", dict[str, list[str]])[name]), re.IGNORECASE)


def admits_failure(text: str, *, is_own: bool = False, sentences: int = 2) -> bool:
    """True if the last sentences of a reply say that something did not work.

    With `is_own`: that the model could not.
    """
    plain = text.replace("\u2019", "'").strip()
    return (
        _admissions("own" if is_own else "phrases").search(" ".join(_SENTENCE_END.split(plain)[-sentences:]))
        is not None
    )


@cache
def _admissions(name: str) -> re.Pattern[str]:
    tree = resources.table("prompts/admitting.toml", dict[str, list[str]])
    return re.compile(rf"\b{_any_of(tree[name])}\b".replace("…", r"[^.!?]{1,60}"), re.IGNORECASE)


@cache
def _announcements() -> tuple[int, tuple[re.Pattern[str], ...]]:
    tree = resources.table("prompts/announcing.toml", resources.Table)
    return tree["longest"], tuple(_phrase(entry) for entry in tree["phrase"])


def _phrase(entry: dict[str, Any]) -> re.Pattern[str]:
    """Return the pattern of phrases that announce an action, from one entry of the language tables.

    A `joined` language has no spaces between words; its `apart` counts characters instead of words.
    """
    edge, gap, anything = ("", "", ".") if entry.get("joined") else (r"\b", ",? ", r"[\w'-]+")
    denied = f"(?!{edge}{_any_of(entry['denials'])}{edge})" if "denials" in entry else ""
    fillers = f"(?:{gap}{_any_of(entry['fillers'])})*" if "fillers" in entry else ""
    between = f"(?:{gap}{denied}{anything}){{0,{entry.get('apart', 0)}}}"
    said = f"{edge}{_any_of(entry['openings'])}{fillers}{between}{gap}{denied}{_any_of(entry['deeds'])}{edge}"
    return re.compile(said, re.IGNORECASE)


def _any_of(words: list[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, words))})"
