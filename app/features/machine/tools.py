"""Tools for the machine itself. Each act is read back, and what the machine lacks is said in a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import MachineState, said
from app.base.phrases import Phrase
from app.features.machine import players, status
from app.features.machine.bus import Bus
from app.features.machine.login import ENDINGS, LOCK, Login
from app.features.machine.sound import MICROPHONE, SPEAKERS, Loudness, change_loudness, loudness
from app.features.machine.switches import BLUETOOTH, DO_NOT_DISTURB, WIFI, Switches
from app.protocol.call import ToolCall, ToolResult
from app.protocol.spec import Effect, Param, RareFamily, ScreenAim, ToolSpec, ValueType
from app.tools.registry import Family, TurnContext

_SOUND_LIMIT_S = 8.0
_MOST = 100
_SWITCHES = (WIFI, BLUETOOTH, DO_NOT_DISTURB)
_BEYOND = {
    "volume": Phrase("The volume goes from 0 to 100 %."),
    "brightness": Phrase("The brightness goes from 0 to 100 %."),
}
_LOUD = {
    (SPEAKERS, False): "The volume is {percent} %.",
    (SPEAKERS, True): "The sound is off; the volume is {percent} %.",
    (MICROPHONE, False): "The microphone is on, at {percent} %.",
    (MICROPHONE, True): "The microphone is off.",
}
_ASKED = {
    "suspend": Phrase("put the computer to *sleep*"),
    "log_out": Phrase("*log* you *out*"),
    "restart": Phrase("*restart* the computer"),
    "shut_down": Phrase("*shut* the computer *down*"),
}


class Machine:
    """The handlers of all tools. `system` and `session` lead to the services of the system and of the desktop."""

    def __init__(self, system: Bus, session: Bus, login: Login | None = None) -> None:
        self._session = session
        self._login = login or Login(system, session)
        self._switches = Switches(system, session)
        self._one_at_a_time = asyncio.Lock()
        self._topics: Mapping[str, Callable[[], Awaitable[Sequence[Phrase]]]] = {
            "battery": lambda: _one(status.battery(system)),
            "disk": lambda: _one(asyncio.to_thread(status.disk)),
            "memory": lambda: _one(asyncio.to_thread(status.memory)),
            "network": lambda: status.network(system),
            "volume": lambda: _one(_heard(SPEAKERS)),
            "microphone": lambda: _one(_heard(MICROPHONE)),
            "brightness": lambda: _one(self._login.brightness()),
            **{name: lambda name=name: _one(self._stands(name)) for name in _SWITCHES},  # type: ignore[misc]
            "playing": lambda: _one(players.playing(self._session)),
        }

    async def status(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        about = call.text("about")
        told = await asyncio.gather(*map(self._or_lack, (about,) if about else TOPICS))
        return _told(call, *dict.fromkeys(one for some in told for one in some))

    async def _or_lack(self, topic: str) -> Sequence[Phrase]:
        """Says, too, that the machine has no such thing."""
        try:
            return await self._topics[topic]()
        except ToolFailed as lack:
            return (lack.why.what,)

    async def _stands(self, name: str) -> Phrase:
        return (await self._switches.read(name)).told

    async def set_volume(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        level, change = _level(call, "volume")
        mute, device = call.text("mute"), call.text("device", SPEAKERS)
        if level is None and not change and not mute:
            raise ToolMisuse("Give a level, a change or mute.")
        async with self._one_at_a_time, asyncio.timeout(_SOUND_LIMIT_S):
            now = await asyncio.to_thread(change_loudness, device, level=level, change=change, mute=mute)
        return _told(call, _loud(device, now))

    async def set_brightness(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        level, change = _level(call, "brightness")
        if level is None and not change:
            raise ToolMisuse("Give a level or a change.")
        async with self._one_at_a_time:
            return _told(call, await self._login.set_brightness(level, change))

    async def control_media(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        async with self._one_at_a_time:
            return _told(call, await players.control(self._session, call.text("action")))

    async def set_switch(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        async with self._one_at_a_time:
            return _told(call, (await self._switches.set(call.text("name"), is_on=call.text("state") == "on")).told)

    async def end_session(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        action = call.text("action")
        return _told(call, await (self._login.lock() if action == LOCK else self._login.end(action)))


TOPICS = (
    *("battery", "disk", "memory", "network", "volume", "microphone", "brightness"), *_SWITCHES, "playing",
)  # fmt: skip


async def _one(phrase: Awaitable[Phrase]) -> Sequence[Phrase]:
    return (await phrase,)


async def _heard(device: str) -> Phrase:
    async with asyncio.timeout(_SOUND_LIMIT_S):
        return _loud(device, await asyncio.to_thread(loudness, device))


def _loud(device: str, now: Loudness) -> Phrase:
    return Phrase(_LOUD[device, now.is_muted], {"percent": now.percent})


def _level(call: ToolCall, what: str) -> tuple[int | None, int]:
    """The level and the change, in percent."""
    level, change = (call.integer("level") if call.has("level") else None), call.integer("change")
    if not 0 <= (level or 0) <= _MOST or abs(change) > _MOST:
        raise ToolFailed(_BEYOND[what])
    if level is not None and change:
        raise ToolMisuse("Give a level or a change, not both.")
    return level, change


def _told(call: ToolCall, *states: Phrase) -> ToolResult:
    facts = tuple(map(MachineState, states))
    return ToolResult(True, call.name, dict(call.arguments), said(facts), facts=facts)


def _effects_of_ending(call: ToolCall) -> frozenset[Effect]:
    return frozenset({Effect.WRITES if call.text("action") == LOCK else Effect.ENDS})


_RARE = RareFamily("machine", "volume, brightness, media keys, wifi, bluetooth, battery, lock, shut down")
_LEVEL = Param("level", ValueType.INTEGER, "0 to 100")
_CHANGE = Param("change", ValueType.INTEGER, "or a step, such as 10 or -10")

MACHINE = Family(
    Machine,
    (
        ToolSpec(
            name="machine_status",
            description="Read how the computer stands: all of it, or one thing.",
            effect=Effect.READS,
            execute=Machine.status,
            attrs=(Param("about", description="the one thing", choices=TOPICS),),
            examples=('<machine_status about="battery"/>',),
            rare=_RARE,
            taint="screen",  # because others wrote the titles of what plays
        ),
        ToolSpec(
            name="set_volume",
            description="Set the volume of the speakers or the microphone, in percent, or mute them.",
            effect=Effect.WRITES,
            execute=Machine.set_volume,
            attrs=(
                _LEVEL,
                _CHANGE,
                Param("mute", description="instead or besides", choices=("on", "off", "toggle")),
                Param("device", description="speakers if left out", choices=(SPEAKERS, MICROPHONE)),
            ),
            examples=('<set_volume level="40"/>',),
            rare=_RARE,
        ),
        ToolSpec(
            name="set_brightness",
            description="Set the brightness of the screen, in percent.",
            effect=Effect.WRITES,
            execute=Machine.set_brightness,
            attrs=(_LEVEL, _CHANGE),
            examples=('<set_brightness change="-10"/>',),
            rare=_RARE,
        ),
        ToolSpec(
            name="control_media",
            description="Press a media key: of the player that plays, or else of the one that is paused.",
            effect=Effect.WRITES,
            execute=Machine.control_media,
            attrs=(Param("action", description="the key", required=True, choices=players.ACTIONS),),
            examples=('<control_media action="pause"/>',),
            rare=_RARE,
            taint="screen",
        ),
        ToolSpec(
            name="set_switch",
            description="Switch the wifi, bluetooth or do not disturb. Without wifi you may lose your own connection.",
            effect=Effect.WRITES,
            execute=Machine.set_switch,
            attrs=(
                Param("name", description="the switch", required=True, choices=_SWITCHES),
                Param("state", description="how it shall stand", required=True, choices=("on", "off")),
            ),
            examples=('<set_switch name="bluetooth" state="off"/>',),
            rare=_RARE,
        ),
        ToolSpec(
            name="end_session",
            description="Lock the screen, or end the session; the person is asked about all but the lock.",
            effect=Effect.ENDS,
            execute=Machine.end_session,
            attrs=(Param("action", description="how", required=True, choices=(LOCK, *ENDINGS)),),
            examples=('<end_session action="lock"/>',),
            rare=_RARE,
            aim=ScreenAim.UNSAVED,
            effects_by_call=_effects_of_ending,
            read_back=lambda call: _ASKED.get(call.text("action")),
        ),
    ),
)
