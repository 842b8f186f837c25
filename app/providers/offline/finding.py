"""Find the files that people name without a path: by words of the name, by a kind, or as the newest of them.

A name is looked for in the home folder only where a wish needs it. Where several fit, or none, nothing is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from app.base import resources
from app.base.drives import drives, is_drive_word
from app.base.named_files import NamedFile, likeness
from app.base.values import dataclass
from app.providers.offline.grammar import Grammar
from app.providers.offline.world import World

FOLDER = "folder"
_FILE = "file"
_MOST_OFFERS, _MOST_WORDS, _SHORTEST_KIND, _SHORTEST_REST = 3, 6, 4, 3
_ALIKE = 75


@dataclass(frozen=True, slots=True)
class Sought:
    """A file that is described. `said` are the person's words for it.

    `kind` is one of kinds.toml or an ending; `order` picks one of those that fit: "newest", "oldest", "largest" or
    "smallest". `folder` is where it lies, if that was said. `is_exact`: only the whole name fits.
    """

    said: str
    words: tuple[str, ...] = ()
    kind: str = ""
    order: str = ""
    folder: str = ""
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class Several:
    """Nothing that was looked for is there, or several are. `paths` are the likeliest or, for none, those alike."""

    said: str
    paths: tuple[str, ...] = ()
    is_missing: bool = False


def described(name: str, grammar: Grammar) -> Sought | None:
    """Return the file that words describe by its kind or an order, as “tax pdf” or “the newest picture”."""
    fillers = grammar.words["fillers"]
    said = [word for word in re.split(r"[\s-]+", name.casefold()) if word and word not in fillers]
    order, said = _taken(said, grammar, "orders", from_end=False)
    kind, rest = _taken(said, grammar, "kinds", from_end=True)
    if not kind:
        kind, rest = _taken(said, grammar, "kinds", from_end=False)
    if not kind and said:
        kind, rest = _compound(said, grammar)
    is_placed = any(word in grammar.words["prepositions"] for word in rest)  # “in Papers” is no part of a name
    if not kind or is_placed or len(rest) > _MOST_WORDS or not (rest or order):
        return None
    if rest and (ending := grammar.listed("endings", rest[-1])):  # “the pdf file”, “my word document”
        kind, rest = ending, rest[:-1]
        if not (rest or order):
            return None
    return Sought(name, tuple(rest), kind, order)


def _taken(said: Sequence[str], grammar: Grammar, table: str, *, from_end: bool) -> tuple[str, list[str]]:
    """An entry of the table, named by the first or last words, and the words without them."""
    for count in (2, 1):
        if len(said) < count:
            continue
        part, rest = (said[-count:], said[:-count]) if from_end else (said[:count], said[count:])
        key = grammar.listed(table, " ".join(part))
        if not key and table == "kinds" and count == 1 and part[0] in grammar.words["endings"]:
            key = part[0]
        if key:
            return key, list(rest)
    return "", list(said)


def _compound(said: Sequence[str], grammar: Grammar) -> tuple[str, list[str]]:
    """The kind that ends the last word, as in “Steuerdokument”, and the words without it."""
    for kind, names in grammar.words["kinds"].items():
        for name in names if grammar.words["compounds"] else ():
            rest = said[-1].removesuffix(name)
            if len(name) >= _SHORTEST_KIND and rest != said[-1] and len(rest) >= _SHORTEST_REST:
                return kind, [*said[:-1], rest.removesuffix("s")]
    return "", list(said)


def find(sought: Sought, world: World) -> str | Several:
    """Return the path of the one file that fits, or those that may be meant. Blocks while it reads names."""
    found = likeliest(sought, world)
    if len(found) == 1 or (found and sought.order):
        return found[0]
    return Several(sought.said, tuple(found[:_MOST_OFFERS]), is_missing=not found)


def likeliest(sought: Sought, world: World) -> list[str]:
    """Return the paths of all that fit equally well, the newest or the one that is meant first."""
    fits: dict[int, list[NamedFile]] = {}
    for name, one in world.named():
        is_there = not sought.folder or Path(one.path).parent == Path(sought.folder).expanduser()
        if is_there and _is_of_kind(name, one, sought.kind) and all(word in name for word in sought.words):
            fits.setdefault(_nearness(name, sought), []).append(one)
    best = [one for group in fits.values() for one in group] if sought.order else fits.get(max(fits, default=0), [])
    if sought.is_exact and max(fits, default=0) < _WHOLE:
        return []
    return [shown(one.path) for one in sorted(best, key=_ORDERS[sought.order])]


_WHOLE, _BEGUN, _INSIDE = 2, 1, 0
"""How near a name is to the words: they are the name, each begins a word of it, or they stand somewhere in it."""
_ORDERS = {
    "": lambda one: -one.changed_at,
    "newest": lambda one: -one.changed_at,
    "oldest": lambda one: one.changed_at,
    "largest": lambda one: -one.size_bytes,
    "smallest": lambda one: one.size_bytes,
}


def _nearness(name: str, sought: Sought) -> int:
    like = likeness(name, sought.words) if sought.words else _WHOLE
    return {3: _WHOLE, 0: _INSIDE}.get(like, _BEGUN)


def _is_of_kind(name: str, one: NamedFile, kind: str) -> bool:
    if not kind:
        return True
    if one.is_folder:
        return kind == FOLDER
    told = kinds().get(kind, {"endings": [kind]})
    ending = name.rpartition(".")[2]
    is_called = name.startswith(tuple(told["begins"])) if "begins" in told else True
    return kind != FOLDER and is_called and (not told["endings"] or ending in told["endings"])


def kinds() -> Mapping[str, Any]:
    """Return the kinds of files, each with its endings."""
    return resources.table("offline/kinds.toml", resources.Table)


@cache
def endings() -> frozenset[str]:
    return frozenset(ending for kind in kinds().values() for ending in kind["endings"])


def globs(kind: str) -> str:
    """Return the patterns for the names of a kind, as `list_files` takes them."""
    return "|".join(f"*.{ending}" for ending in kinds()[kind]["endings"])


def find_named(name: str, world: World, *, is_folder: bool = False) -> str | Several:
    """Return the path of the only file or folder with exactly this name in the home folder, in any case."""
    low = name.casefold()
    found = [one for known, one in world.named() if known == low and (one.is_folder or not is_folder)]
    found.sort(key=_ORDERS["newest"])
    paths = tuple(shown(one.path) for one in found)
    return paths[0] if len(paths) == 1 else Several(name, paths[:_MOST_OFFERS], is_missing=not paths)


def find_folder(name: str, world: World) -> str | Several:
    """Return the folder that is meant by a name: one in the workspace, a drive, or the only one in the home folder.

    For none, the result holds the folders whose names are alike.
    """
    if world.workspace and (Path(world.workspace) / name).is_dir():
        return name
    plugged_in = drives()
    labelled = [one for one in plugged_in if one.name.casefold() == name.casefold()]
    if is_drive_word(name) or labelled:
        mounted = [str(one) for one in labelled or plugged_in]
        return mounted[0] if len(mounted) == 1 else Several(name, tuple(mounted), is_missing=not mounted)
    found = find_named(name, world, is_folder=True)
    if isinstance(found, Several) and found.is_missing:
        return Several(name, tuple(_alike(name, world)), is_missing=True)
    return found


def _alike(name: str, world: World) -> list[str]:
    from rapidfuzz import fuzz, process

    folders = {one.path: known for known, one in world.named() if one.is_folder}
    near = process.extract(name.casefold(), folders, scorer=fuzz.WRatio, score_cutoff=_ALIKE, limit=_MOST_OFFERS)
    return [shown(path) for _, _, path in near]


def shown(path: str) -> str:
    """Below the home folder with “~”."""
    found, home = Path(path), Path.home()
    return f"~/{found.relative_to(home)}" if found.is_relative_to(home) else path
