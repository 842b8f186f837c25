"""The list of what Wisp takes in only if the person wishes it, and a line of it for a feature that needs one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial

from app.base.phrases import Phrase
from app.features import loading
from app.services.extras import Extra, extras, installer, named
from app.ui.machine import CollectionEntry, no_such_action


class ExtraParts:
    """What Wisp takes in only if the person wishes it, and the abilities that they may leave out."""

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        lines = await asyncio.to_thread(lambda: [*map(extra_line, extras()), *_waiting(), *_abilities()])
        return [line for line in lines if search.casefold() in line.title.casefold()]

    async def act(self, action: str, key: str, _words: str = "", /) -> str:
        match action:
            case "leave_out" | "take_in":
                await asyncio.to_thread(partial(loading.switch, key, is_on=action == "take_in"))
            case "allow":
                await asyncio.to_thread(partial(loading.agree, key, is_agreed=True))
            case "get" | "stop":
                return await act_on_extra(action, key)
            case _:
                raise no_such_action(action)
        return action


def _waiting() -> Iterator[CollectionEntry]:
    """Yield the packages with abilities that the person has not agreed to."""
    for package in loading.waiting():
        below = (Phrase("adds abilities, but needs your yes"), package.about)
        yield CollectionEntry(
            package.name, f"{package.name} {package.version}", below, below, ("allow",), is_fixed=True
        )


def _abilities() -> Iterator[CollectionEntry]:
    from PySide6.QtCore import QCoreApplication  # late, because commands without windows list apps, too

    for feature in loading.everything():
        is_on = loading.is_wanted(feature)
        below = (Phrase("an ability of Wisp") if is_on else Phrase("left out"), feature.name)
        title = QCoreApplication.translate("Collection", feature.about.text)
        yield CollectionEntry(feature.name, title, below, below, ("leave_out" if is_on else "take_in",), is_fixed=True)


async def act_on_extra(action: str, key: str) -> str:
    """Begin to `get` the extra of that key, or `stop` loading it; `late` where that is over. Raises WispError."""
    if action == "get":
        installer().begin(named(key))
        return action
    return action if await installer().stop(named(key)) else "late"


def extra_line(extra: Extra, title: str = "") -> CollectionEntry:
    """Return the line of an extra: what it is, its size, and how far it is."""
    from PySide6.QtCore import QCoreApplication  # late, because commands without windows list apps, too

    state, size = installer().state(extra), {"size": str(extra.load_mb), "disk": str(extra.disk_mb)}
    below = {
        "there": [Phrase("installed"), Phrase(extra.about)],
        "missing": [Phrase("{size} MB to load, {disk} MB on the disk", size), Phrase(extra.about)],
        "loading": [Phrase("{loaded} of {size} MB loaded", {**size, "loaded": str(state.loaded_mb)})],
        "installing": [Phrase("is being installed")],
        "failed": [state.said or Phrase(extra.about)],
    }[state.stage]
    actions = {"missing": ("get",), "failed": ("get",), "loading": ("stop",), "installing": ("stop",)}
    words = QCoreApplication.translate("Collection", title or extra.title)
    name = f"{words} ({extra.load_mb} MB)" if title else words
    return CollectionEntry(extra.id, name, tuple(below), tuple(below), actions.get(state.stage, ()), is_fixed=True)
