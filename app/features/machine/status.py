"""What the machine tells of itself: its battery, disk, memory and network."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path

from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.features.machine.bus import Bus, Declined, Unanswered

_GB = 1_000_000_000
_SMALL_GB = 10
_UPOWER, _UPOWER_PATH = "org.freedesktop.UPower", "/org/freedesktop/UPower/devices/DisplayDevice"
_NM, _NM_PATH = "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager"
_ROUTES = Path("/proc/net/route")
_NO_BATTERY = "This computer has no battery."
_CHARGING, _FULL = 1, 4
"""States of UPower: https://upower.freedesktop.org/docs/Device.html#Device:State"""
_ONLINE = {
    1: Phrase("This computer is not online."),
    2: Phrase("This network wants you to sign in first: open your browser."),
    3: Phrase("This computer has a network, but the internet does not answer."),
    4: Phrase("This computer is online."),
}
"""By NetworkManager's connectivity: https://networkmanager.dev/docs/api/latest/nm-dbus-types.html"""


async def battery(system: Bus) -> Phrase:
    try:
        found = await system.all(_UPOWER, _UPOWER_PATH, f"{_UPOWER}.Device")
    except (Unanswered, Declined):
        return await asyncio.to_thread(_sensed_battery)
    if not found.get("IsPresent"):
        raise ToolFailed(_NO_BATTERY)
    percent, state = round(found["Percentage"]), found.get("State")
    seconds = found.get("TimeToFull" if state == _CHARGING else "TimeToEmpty", 0)
    return _charge(percent, is_plugged=state in (_CHARGING, _FULL), is_full=state == _FULL, seconds=seconds)


def _sensed_battery() -> Phrase:
    import psutil

    found = psutil.sensors_battery()
    if found is None:
        raise ToolFailed(_NO_BATTERY)
    return _charge(round(found.percent), is_plugged=bool(found.power_plugged), is_full=False, seconds=0)


def _charge(percent: int, *, is_plugged: bool, is_full: bool, seconds: int) -> Phrase:
    values: dict[str, str | int] = {"percent": percent, "time": f"{seconds // 3600}:{seconds % 3600 // 60:02}"}
    if is_full:
        return Phrase("The battery is full and plugged in.")
    if is_plugged:
        text = "The battery is at {percent} % and charging, full in {time} hours."
        return Phrase(text if seconds else "The battery is at {percent} % and charging.", values)
    text = "The battery is at {percent} %, which lasts for {time} hours."
    return Phrase(text if seconds else "The battery is at {percent} %.", values)


def disk() -> Phrase:
    """Blocks, as `memory` does."""
    import psutil

    found = psutil.disk_usage(str(Path.home()))
    return Phrase(
        "{free} of {total} are free on the disk.", {"free": _amount(found.free), "total": _amount(found.total)}
    )


def memory() -> Phrase:
    import psutil

    found = psutil.virtual_memory()
    return Phrase(
        "{free} of {total} of the memory are free.", {"free": _amount(found.available), "total": _amount(found.total)}
    )


def _amount(size: int) -> str:
    """Without a fraction, because languages write one in different ways."""
    return f"{round(size / _GB)} GB" if size >= _SMALL_GB * _GB else f"{round(size / 1_000_000)} MB"


async def network(system: Bus) -> tuple[Phrase, ...]:
    """Tells whether the internet answers, as far as that is known, and the computer's own addresses."""
    addresses = await asyncio.to_thread(lambda: ", ".join(_addresses()))
    told = Phrase("Its address here is {addresses}.", {"addresses": addresses})
    try:
        state = await system.get(_NM, _NM_PATH, _NM, "Connectivity")
    except (Unanswered, Declined):
        state = 0
    if not addresses:
        return (_ONLINE[1],)
    unknown = Phrase("This computer is connected; whether the internet answers is not known.")
    return (_ONLINE.get(state, unknown), told)


def _addresses() -> Iterator[str]:
    """Yield the addresses of the cards that lead elsewhere, or of all if none does. Blocks."""
    import psutil

    states = psutil.net_if_stats()
    up = {name: one for name, one in psutil.net_if_addrs().items() if name in states and states[name].isup}
    leading = _leading() & up.keys()
    for name, found in up.items():
        for one in found if name in leading or not leading else ():
            if one.family in (socket.AF_INET, socket.AF_INET6):
                address = ipaddress.ip_address(one.address.partition("%")[0])
                if not (address.is_loopback or address.is_link_local):
                    yield f"{address} ({name})"


def _leading() -> set[str]:
    """Cards with a default route, where the kernel tells them."""
    try:
        rows = [row.split() for row in _ROUTES.read_text().splitlines()[1:]]
    except OSError:
        return set()
    return {row[0] for row in rows if row[1:2] == ["00000000"]}
