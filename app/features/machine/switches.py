"""What is on or off: the wifi (NetworkManager), bluetooth (BlueZ), and the silence of notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.features.machine.bus import Bus, Declined, Unanswered
from app.features.machine.silence import Sets, Silence

WIFI, BLUETOOTH, DO_NOT_DISTURB = "wifi", "bluetooth", "do_not_disturb"
_NAME_CHARS = 60
_LOOKS, _BETWEEN_S = 30, 0.1
"""How often a switch is read back. A radio takes a second or two."""
_NM, _NM_PATH = "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager"
_DEVICE, _WIRELESS, _POINT = f"{_NM}.Device", f"{_NM}.Device.Wireless", f"{_NM}.AccessPoint"
_IS_WIFI = 2
"""NM_DEVICE_TYPE_WIFI: https://networkmanager.dev/docs/api/latest/nm-dbus-types.html"""
_BLUEZ, _ADAPTER, _BLUE_DEVICE = "org.bluez", "org.bluez.Adapter1", "org.bluez.Device1"
_TOLD = {
    (WIFI, True): Phrase("The wifi is on."),
    (WIFI, False): Phrase("The wifi is off."),
    (BLUETOOTH, True): Phrase("Bluetooth is on."),
    (BLUETOOTH, False): Phrase("Bluetooth is off."),
    (DO_NOT_DISTURB, True): Phrase("Notifications are held back."),
    (DO_NOT_DISTURB, False): Phrase("Notifications are shown."),
}
_CONNECTED = {
    WIFI: "The wifi is on, connected to {names}.",
    BLUETOOTH: "Bluetooth is on, connected to {names}.",
}
_BLOCKED = Phrase("A key or switch of the computer itself holds it off (`rfkill list` shows which).")
_NO_MANAGER = "NetworkManager, which switches the wifi, does not run on this computer."


@dataclass(frozen=True, slots=True)
class SwitchState:
    """Whether it is on, and what it is connected to."""

    name: str
    is_on: bool
    connected: tuple[str, ...] = ()

    @property
    def told(self) -> Phrase:
        names = ", ".join(clip_line(one, _NAME_CHARS) for one in self.connected)
        if self.is_on and names:
            return Phrase(_CONNECTED[self.name], {"names": names})
        return _TOLD[self.name, self.is_on]


class Switches:
    """The switches of the machine. What it lacks raises ToolFailed."""

    def __init__(self, system: Bus, session: Bus) -> None:
        self._system = system
        self._silence = Silence(session)
        self._reads: Mapping[str, Callable[[], Awaitable[SwitchState]]] = {
            WIFI: self._wifi,
            BLUETOOTH: self._bluetooth,
            DO_NOT_DISTURB: self._quiet,
        }
        self._sets: Mapping[str, Sets] = {
            WIFI: self._set_wifi,
            BLUETOOTH: self._set_bluetooth,
            DO_NOT_DISTURB: self._silence.set,
        }

    async def read(self, name: str) -> SwitchState:
        return await self._reads[name]()

    async def set(self, name: str, *, is_on: bool) -> SwitchState:
        """Switch it, and return what is read back."""
        before = await self.read(name)
        if before.is_on is is_on:
            return before
        try:
            await self._sets[name](is_on=is_on)
        except Declined as error:
            blocked = "block" in str(error).casefold()
            why = Phrase("The system did not let it be switched: {why}", {"why": clip_line(str(error), _NAME_CHARS)})
            raise ToolFailed(_BLOCKED if blocked else why) from error
        for _ in range(_LOOKS):
            now = await self.read(name)
            if now.is_on is is_on:
                return now
            await asyncio.sleep(_BETWEEN_S)
        raise ToolFailed(Phrase("Wisp asked the system for it, but nothing has changed. {now}", {"now": now.told}))

    async def _wifi(self) -> SwitchState:
        try:
            found = await self._system.all(_NM, _NM_PATH, _NM)
            paths = (await self._system.call(_NM, _NM_PATH, _NM, "GetDevices"))[0]
            kinds = {path: await self._system.get(_NM, path, _DEVICE, "DeviceType") for path in paths}
        except (Unanswered, Declined) as error:
            raise ToolFailed(_NO_MANAGER) from error
        radios = [path for path, kind in kinds.items() if kind == _IS_WIFI]
        if not radios:
            raise ToolFailed("This computer has no wifi.")
        names = [await self._network(path) for path in radios]
        return SwitchState(WIFI, bool(found.get("WirelessEnabled")), tuple(filter(None, names)))

    async def _network(self, device: str) -> str:
        """The network that a device is connected to; "" for none."""
        try:
            point = await self._system.get(_NM, device, _WIRELESS, "ActiveAccessPoint")
            return bytes(await self._system.get(_NM, point, _POINT, "Ssid")).decode("utf-8", "replace")
        except (Unanswered, Declined):
            return ""

    async def _set_wifi(self, *, is_on: bool) -> None:
        await self._system.set(_NM, _NM_PATH, _NM, "WirelessEnabled", "b", is_on)

    async def _bluetooth(self) -> SwitchState:
        found = await self._objects()
        adapters = [one[_ADAPTER] for one in found.values() if _ADAPTER in one]
        devices = [one[_BLUE_DEVICE] for one in found.values() if _BLUE_DEVICE in one]
        names = tuple(str(one.get("Alias", "")) for one in devices if one.get("Connected"))
        return SwitchState(BLUETOOTH, any(one.get("Powered") for one in adapters), names)

    async def _set_bluetooth(self, *, is_on: bool) -> None:
        for path, interfaces in (await self._objects()).items():
            if _ADAPTER in interfaces:
                await self._system.set(_BLUEZ, path, _ADAPTER, "Powered", "b", is_on)

    async def _objects(self) -> dict[str, dict[str, dict[str, Any]]]:
        """By path. Raises ToolFailed if there is no adapter."""
        try:
            found = await self._system.objects(_BLUEZ)
        except (Unanswered, Declined):
            found = {}
        if not any(_ADAPTER in interfaces for interfaces in found.values()):
            raise ToolFailed("This computer has no bluetooth adapter.")
        return found

    async def _quiet(self) -> SwitchState:
        return SwitchState(DO_NOT_DISTURB, await self._silence.is_on())
