"""Media players, by MPRIS: https://specifications.freedesktop.org/mpris-spec/latest/"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.features.machine.bus import Bus, Declined, Unanswered

ACTIONS = ("play", "pause", "toggle", "next", "previous", "stop")
_PREFIX, _PATH = "org.mpris.MediaPlayer2.", "/org/mpris/MediaPlayer2"
_ROOT, _PLAYER = "org.mpris.MediaPlayer2", "org.mpris.MediaPlayer2.Player"
_METHODS = {
    "play": "Play",
    "pause": "Pause",
    "toggle": "PlayPause",
    "next": "Next",
    "previous": "Previous",
    "stop": "Stop",
}
_WANTED = {"play": ("Playing",), "pause": ("Paused", "Stopped"), "stop": ("Stopped",)}
_ABILITIES = {"play": "CanPlay", "pause": "CanPause", "next": "CanGoNext", "previous": "CanGoPrevious"}
_ORDER = ("Playing", "Paused")
_TITLE_CHARS = 100
_LOOKS, _BETWEEN_S = 20, 0.1
"""How often a player is asked whether it has done it. Some load the next track from the internet first."""

_OF_STATES = {
    "Playing": "{player} plays {title!r}",
    "Paused": "{player} is paused at {title!r}",
    "Stopped": "{player} is stopped",
}
_UNTITLED = {"Playing": "{player} plays", "Paused": "{player} is paused", "Stopped": "{player} is stopped"}
_UNABLE = {
    "play": "{player} has nothing to play.",
    "pause": "{player} cannot pause what it plays.",
    "next": "{player} has no next track.",
    "previous": "{player} has no track before this one.",
}
_UNDONE = "{player} did not do it."


@dataclass(frozen=True, slots=True)
class Player:
    """A player. `title` is the artist and title of its track, `track` an id of it; programs and the web wrote them."""

    service: str
    name: str
    status: str
    title: str
    track: str
    abilities: Mapping[str, bool]

    @property
    def told(self) -> Phrase:
        texts = _OF_STATES if self.title else _UNTITLED
        return Phrase(texts.get(self.status, _UNTITLED["Stopped"]), {"player": self.name, "title": self.title})


async def playing(session: Bus) -> Phrase:
    """Raises ToolFailed if no player is open."""
    return (await _first(session)).told


async def control(session: Bus, action: str) -> Phrase:
    """Press a key of the player that plays, or else of the one that may go on. Returns what is read back."""
    player = await _first(session)
    if action in _WANTED and player.status in _WANTED[action]:
        return player.told
    if not player.abilities.get(_ABILITIES.get(action, ""), True):
        raise ToolFailed(Phrase(_UNABLE[action], {"player": player.name}))
    try:
        await session.call(player.service, _PATH, _PLAYER, _METHODS[action])
    except (Unanswered, Declined) as error:
        raise ToolFailed(Phrase(_UNDONE, {"player": player.name})) from error
    for _ in range(_LOOKS):
        now = await _read(session, player.service)
        if now is not None and _is_done(action, player, now):
            return now.told
        await asyncio.sleep(_BETWEEN_S)
    raise ToolFailed(Phrase(_UNDONE, {"player": player.name}))


def _is_done(action: str, before: Player, now: Player) -> bool:
    if action in _WANTED:
        return now.status in _WANTED[action]
    if action == "toggle":
        return now.status != before.status
    return (now.track, now.title) != (before.track, before.title)


async def _first(session: Bus) -> Player:
    found = [await _read(session, name) for name in await session.names(_PREFIX)]
    there = [one for one in found if one is not None]
    if not there:
        raise ToolFailed("No media player is open.")
    return min(there, key=lambda one: _ORDER.index(one.status) if one.status in _ORDER else len(_ORDER))


async def _read(session: Bus, service: str) -> Player | None:
    """None if the player does not answer."""
    try:
        found = await session.all(service, _PATH, _PLAYER)
        name = await session.get(service, _PATH, _ROOT, "Identity")
    except (Unanswered, Declined):
        return None
    track = found.get("Metadata") or {}
    return Player(
        service,
        clip_line(str(name), _TITLE_CHARS) or service.removeprefix(_PREFIX),
        str(found.get("PlaybackStatus", "Stopped")),
        _title(track),
        f"{track.get('mpris:trackid', '')} {track.get('xesam:url', '')}",
        {ability: bool(found.get(ability, True)) for ability in _ABILITIES.values()},
    )


def _title(track: Mapping[str, Any]) -> str:
    by = track.get("xesam:artist") or ()
    artists = ", ".join(map(str, by)) if isinstance(by, list) else str(by)
    return clip_line(" – ".join(filter(None, (artists, str(track.get("xesam:title", ""))))), _TITLE_CHARS)
