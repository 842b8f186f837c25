"""Decide whether the person's message is one order to copy or move exactly what a call does, and nothing else.

It counts by its form: `[please] VERB THING [and THING …] to PLACE [please][.]`, with nothing before, between or after.
A quotation is one name. Whatever else the message holds, the person may have meant something else, so the policy asks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.agent.policy.instructions import listed, straight
from app.agent.policy.sentences import table
from app.agent.policy.values import Action

_PART = re.compile(r"(\"[^\"]+\"|[^\s\"]+?)(,?)(?:\s+|$)")
_PLAIN = re.compile(r"[\w.+@%=~/-]+|device:/[\w.+@%=~/-]+")
_GLOB = frozenset("*?[")
_ROOTED = ("~/", "/", "device:/")


def are_named(act: Action, said: str, workspace: Path) -> bool:
    """Return whether `said` is just the order for this copy or move: each thing taken and each target are its own.

    `workspace` is the folder in which a bare name lies. No end may lead through a symbolic link, or hold a secret.
    """
    parts = _order(said, table("words")["arranging"]["verbs"].get(act.tool, ()))
    sources, places = ([str(one) for one in _texts(act, name)] for name in ("source", "destination"))
    if parts is None or not sources or not places or act.secrets:
        return False
    things, to = [_thing(one, workspace) for one in parts[:-1]], _place(parts[-1], workspace)
    taken, ends = ([_located(one, workspace) for one in given] for given in (sources, places))
    if to is None or None in things or None in taken or None in ends or {*map(str, (*taken, *ends))} != {*act.paths}:
        return False
    is_folder = to.is_dir() or parts[-1].strip('"').endswith("/")
    if not is_folder and len(things) > 1:
        return False
    given = [one for one in taken if one in things]
    wanted = [to / one.name if is_folder else to for one in given if one]
    return len(given) == len(taken) and wanted == _targets(given, ends, places) and all(map(_is_real, wanted))


def _texts(act: Action, name: str) -> Sequence[object]:
    given = act.arguments.get(name)
    return given if isinstance(given, list | tuple) else ()


def _targets(taken: Sequence[Path | None], ends: Sequence[Path | None], places: Sequence[str]) -> list[Path]:
    """Return where the call puts each thing: a single end is the folder for all, or the new path of the only thing."""
    found = [(one, end) for one, end in zip(taken, ends if len(ends) > 1 else [ends[0]] * len(taken), strict=False)]
    is_name = len(ends) > 1 or (len(taken) == 1 and not places[0].endswith("/") and not (ends[0] or Path()).is_dir())
    return [end if is_name else end / one.name for one, end in found if one and end]


def _order(said: str, verbs: Sequence[str]) -> list[str] | None:
    """Return the names of the things and, as the last one, of the place. None if the message is anything else."""
    words = list(_words(straight(said).strip()))
    polite = listed("arranging", "polite")
    words = words[1:] if words and _is_one(words[0], polite) else words
    words = words[:-1] if words and _is_one(words[-1], polite) else words
    if not words or not _is_one(words[0], verbs):
        return None
    ends = [at for at in range(1, len(words)) if _to(words, at)]
    if len(ends) != 1:
        return None
    things = _names(words[1 : ends[0]], is_list=True)
    place = _names(words[ends[0] + _to(words, ends[0]) :], is_list=False)
    return [*things, *place] if things and len(place) == 1 else None


def _words(text: str) -> Iterator[str]:
    """Yield the words, quotations and commas of a text without its full stop; a line break if it cannot be read."""
    text, at = text.removesuffix("."), 0
    while at < len(text):
        found = _PART.match(text, at)
        if not found or "\n" in found[0]:
            yield "\n"
            return
        yield found[1]
        yield from found[2]
        at = found.end()


def _is_one(word: str, words: Sequence[str] | frozenset[str]) -> bool:
    return word.casefold() in words


def _to(words: Sequence[str], at: int) -> int:
    """Return how many words there say where something is taken: `to`, `in den`; 0 if they do not."""
    spoken = [word.casefold() for word in words[at : at + 2]]
    return next((size for size in (2, 1) if " ".join(spoken[:size]) in listed("arranging", "to")), 0)


def _names(words: Sequence[str], *, is_list: bool) -> list[str]:
    """Return the names without articles and words such as "file"; none if anything but names and joins is there."""
    small, joins = listed("fillers", "articles") | listed("arranging", "nouns"), listed("fillers", "joins")
    kept = [word for word in words if not _is_one(word, small)]
    are_joined = all(_is_one(word, joins) for word in kept[1::2]) and len(kept) % 2 == 1
    names = kept[::2]
    is_plain = all(name.startswith('"') or _PLAIN.fullmatch(name) for name in names)
    return names if is_plain and are_joined and (is_list or len(names) == 1) else []


def _thing(name: str, workspace: Path) -> Path | None:
    """Return the file or folder of that name. A bare word counts only if it is quoted or has a dot in it."""
    bare = name.strip('"')
    is_name = name.startswith(('"', *_ROOTED)) or "." in bare
    return _located(bare, workspace) if is_name else None


def _place(name: str, workspace: Path) -> Path | None:
    """Return the place of that name: as a thing's, or one of the person's own folders, such as Downloads."""
    spoken = name.strip('"').casefold()
    for folder, words in table("words")["folders"].items():
        if spoken in {folder, *words}:
            called = Path.home() / spoken.capitalize()
            own = called if called.is_dir() else Path.home() / folder.capitalize()
            is_doubtful = os.path.lexists(workspace / name.strip('"')) and not own.samefile(workspace / name.strip('"'))
            return None if is_doubtful else _located(str(own), workspace)
    return _thing(name, workspace)


def _located(name: str, workspace: Path) -> Path | None:
    """Return the path that the name spells, below the home folder or the workspace and without a link on the way."""
    own, home = Path.home(), Path(os.path.realpath(Path.home()))
    rest = next((name.removeprefix(root) for root in ("~/", "device:/") if name.startswith(root)), None)
    if {".", ".."} & set(name.split("/")) or set(name) & _GLOB or rest == "":
        return None
    if rest is not None:
        found = home / rest.lstrip("/")
    elif name.startswith("/"):
        found = home / Path(name).relative_to(own) if Path(name).is_relative_to(own) else Path(name)
    else:
        found = workspace / name
        if "/" in name or name.startswith("~") or ":" in name:
            return None
    is_inside = any(found != root and found.is_relative_to(root) for root in (home, workspace))
    return found if is_inside and _is_real(found) else None


def _is_real(path: Path) -> bool:
    """Return whether no part of the path is a symbolic link."""
    return os.path.realpath(path) == str(path)
