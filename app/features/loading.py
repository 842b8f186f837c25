"""Which features there are: Wisp's own, and those of other packages that the person agreed to.

A package of somebody else names its features as entry points of the group `wisp.features`. Its code runs inside Wisp,
so nothing of it is imported before the person has said yes to the package, once.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from app.base import logs, resources
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson
from app.base.phrases import Phrase
from app.base.signs import plain
from app.base.values import dataclass
from app.features.feature import Feature
from app.settings import catalog, store
from app.settings.catalog import FEATURES_AGREED, FEATURES_OFF, Setting, listed
from app.ui.cards.kinds import CardActions, CardContent, CardKind, Offered

if TYPE_CHECKING:
    from app.protocol.call import Media

T = TypeVar("T")
OWN = ("web", "browser", "mcp", "memory", "skills", "schedule", "apps", "looks", "machine", "serve", "fleet")
"""Wisp's own, in the order in which their tools are taught."""
GROUP = "wisp.features"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,29}")
_WHY_CHARS = 200
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Package:
    """Another package with features. `names` are those of its features."""

    name: str
    version: str
    about: str
    names: tuple[str, ...]


_problems: dict[str, str] = {}


def problems() -> dict[str, str]:
    """Return what went wrong with features since the start of this process, by their names."""
    return dict(_problems)


@cache
def everything() -> tuple[Feature, ...]:
    """Return Wisp's own features and those of the packages that the person agreed to, switched on or not.

    Their settings are known from then on. One that does not load is left out: `problems` tells why.
    """
    found = {feature.name: feature for feature in _own()}
    for point, feature in _of_packages(listed(store.load()[FEATURES_AGREED])):
        if feature.name in found:
            note_problem(point, ValueError(f"There is a feature {feature.name!r} already."))
        else:
            found[feature.name] = feature
    return tuple(feature for feature in found.values() if _is_known(feature))


def _is_known(feature: Feature) -> bool:
    """Make the settings and the words of a feature known. Returns False, and notes the problem, if they are none."""
    try:
        if not isinstance(feature.about, Phrase) or not all(isinstance(one, Setting) for one in feature.settings):
            raise TypeError("Its `about` is no Phrase, or its `settings` are no settings.")
        catalog.declare(feature.settings)
        if feature.words is not None:
            resources.add_words(feature.words)
    except Exception as error:
        note_problem(feature.name, error)
        return False
    return True


@cache
def features() -> tuple[Feature, ...]:
    """Those that are switched on."""
    off = listed(store.load()[FEATURES_OFF])
    return tuple(feature for feature in everything() if feature.name not in off)


def each(asked: Callable[[Feature], T]) -> Iterator[tuple[Feature, T]]:
    """Yield each feature that is switched on, with what it answers. One that raises is left out from then on."""
    for feature in features():
        if feature.name in _problems:
            continue
        try:
            answer = asked(feature)
        except Exception as error:
            note_problem(feature.name, error)
        else:
            yield feature, answer


def card_kinds() -> dict[str, CardKind]:
    """Return the kinds of cards of all features, by their names. Of two with one name, the first counts."""
    kinds: dict[str, CardKind] = {}
    for feature, made in each(lambda feature: feature.cards()):
        kinds = {name: _Guarded(feature.name, kind) for name, kind in made.items()} | kinds
    return kinds


class _Guarded(CardKind):
    """A kind of card whose faults cost its own cards alone: from the first one on they stay as they are."""

    def __init__(self, feature: str, kind: CardKind) -> None:
        self._feature = feature
        self._kind = kind
        self.is_live, self.is_drawn = kind.is_live, kind.is_drawn

    def shown(self, payload: Mapping[str, object], /) -> CardContent | None:
        try:
            return None if self._feature in _problems else self._kind.shown(payload)
        except Exception as error:
            note_problem(self._feature, error)
            return None

    async def press(self, button: str, content: CardContent, does: CardActions, /) -> None:
        await self._kind.press(button, content, does)  # whose faults the presence tells the person

    async def renewed(self, content: CardContent, offered: Offered, /) -> CardContent:
        try:
            return content if self._feature in _problems else await self._kind.renewed(content, offered)
        except Exception as error:
            note_problem(self._feature, error)
            return content

    def rested(self, content: CardContent, /) -> CardContent:
        return self._kind.rested(content)

    async def draft(self, text: str, offered: Offered, /) -> Media | None:
        try:
            return None if self._feature in _problems else await self._kind.draft(text, offered)
        except Exception as error:
            note_problem(self._feature, error)
            return None


def note_problem(name: str, error: BaseException) -> None:
    """Leave a feature out from now on, and keep why."""
    logs.to_file()  # because the traceback is for who wrote the feature
    _log.error("The feature %s failed.", name, exc_info=error)
    _problems[name] = clip_line(plain(f"{type(error).__name__}: {error}")[0], _WHY_CHARS)


def packages() -> tuple[Package, ...]:
    """Return the installed packages that have features, agreed to or not. Imports nothing of them."""
    from importlib import metadata  # late: it takes a tenth of a second, and only few starts need it

    by_name: dict[str, Package] = {}
    for point in metadata.entry_points(group=GROUP):
        if point.dist is not None:
            before = by_name.get(point.dist.name)
            names = (*(before.names if before else ()), point.name)
            about = point.dist.metadata["Summary"] or ""
            by_name[point.dist.name] = Package(point.dist.name, point.dist.version, about, names)
    return tuple(by_name.values())


def waiting() -> tuple[Package, ...]:
    """Those that the person has not agreed to."""
    agreed = listed(store.load()[FEATURES_AGREED])
    return tuple(package for package in packages() if package.name not in agreed)


def is_wanted(feature: Feature) -> bool:
    """As the settings say now."""
    return feature.name not in listed(store.load()[FEATURES_OFF])


def switch(name: str, *, is_on: bool) -> None:
    """Switch a feature on or off, from the next start on. Raises NeedsPerson if there is none of that name."""
    if name not in (known := [feature.name for feature in everything()]):
        raise NeedsPerson(f"There is no ability {name!r}. There are: {', '.join(known)}.")
    _save(FEATURES_OFF, name, is_listed=not is_on)


def agree(package: str, *, is_agreed: bool) -> None:
    """Let a package add features from the next start on, or no longer."""
    _save(FEATURES_AGREED, package, is_listed=is_agreed)


def _save(setting: Setting[str], name: str, *, is_listed: bool) -> None:
    others = [one for one in listed(store.load()[setting]) if one != name]
    store.save(setting, ", ".join([*others, name] if is_listed else others))


def _own() -> Iterator[Feature]:
    for name in OWN:
        try:
            yield importlib.import_module(f"app.features.{name}").FEATURE
        except Exception as error:
            note_problem(name, error)


def _of_packages(agreed: Sequence[str]) -> Iterator[tuple[str, Feature]]:
    if not agreed:
        return
    from importlib import metadata

    for point in metadata.entry_points(group=GROUP):
        if point.dist is None or point.dist.name not in agreed:
            continue
        try:
            feature = point.load()
            if not isinstance(feature, Feature):
                raise TypeError(f"{point.value} is no Feature.")
            if not _NAME.fullmatch(feature.name):
                raise ValueError(f"{feature.name!r} is no name: up to 30 small letters, digits, _ and -.")
            if feature.words is not None:
                resources.check_words(feature.words)
        except (Exception, SystemExit) as error:
            note_problem(point.name, error)
        else:
            yield f"{point.name} of {point.dist.name}", feature
