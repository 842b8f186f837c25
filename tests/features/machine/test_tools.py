"""Each tool does what it says and reads it back, and says what the machine lacks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pulsectl import Pulse

from app.base.clock import SystemClock
from app.features.machine.bus import Bus, BusKind
from app.features.machine.login import Login
from app.features.machine.tools import MACHINE, Machine
from app.protocol.call import Block, JsonValue, ToolResult
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import Registry, TurnContext, admitted
from tests.features.machine.conftest import MockedMachine
from tests.support.waiting import eventually

_MOCK = "org.freedesktop.DBus.Mock"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_NM = ("org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager")
_PLAYER = ("org.mpris.MediaPlayer2.box", "/org/mpris/MediaPlayer2")


class Hand:
    """Calls the tools as the executor does."""

    def __init__(self, backlights: Path) -> None:
        self._buses = Bus(BusKind.SYSTEM), Bus(BusKind.SESSION)
        handler = Machine(*self._buses, Login(*self._buses, backlights))
        self._executor = Executor(Registry(MACHINE), (handler,), SystemClock())

    async def __call__(self, tool: str, **arguments: JsonValue) -> ToolResult:
        block = Block("c1", tool, args=arguments)
        return (await self._executor.run(block, WrittenByThePerson(), TurnContext(admitted))).result

    def close(self) -> None:
        for bus in self._buses:
            bus.close()


@pytest.fixture
async def hand(tmp_path: Path) -> AsyncIterator[Hand]:
    made = Hand(tmp_path / "backlight")
    yield made
    made.close()


@pytest.fixture
def pulse(sound_server: str, monkeypatch: pytest.MonkeyPatch) -> Pulse:
    """What another client of the sound server sees."""
    monkeypatch.setenv("PULSE_SERVER", sound_server)
    with Pulse("observer") as observer:
        sink = observer.sink_list()[0]
        observer.volume_set_all_chans(sink, 0.5)
        observer.mute(sink, False)
        yield observer


def _heard(pulse: Pulse) -> tuple[int, bool]:
    sink = pulse.sink_list()[0]
    return round(sink.volume.value_flat * 100), bool(sink.mute)


@pytest.mark.parametrize(
    ("asked", "heard"),
    [
        ({"level": 30}, (30, False)),
        ({"level": 0}, (0, False)),
        ({"change": 10}, (60, False)),
        ({"change": -100}, (0, False)),
        ({"change": 100}, (100, False)),
        ({"mute": "on"}, (50, True)),
        ({"mute": "toggle"}, (50, True)),
    ],
)
async def test_the_volume_is_what_another_client_hears(
    pulse: Pulse, hand: Hand, asked: dict[str, JsonValue], heard: tuple[int, bool]
) -> None:
    result = await hand("set_volume", **asked)
    assert result.ok, result.llm_echo
    assert str(heard[0]) in result.llm_echo
    assert _heard(pulse) == heard


async def test_what_is_made_louder_is_heard_again_and_what_is_made_quieter_stays_mute(pulse: Pulse, hand: Hand) -> None:
    await hand("set_volume", mute="on")
    await hand("set_volume", change=-10)
    assert _heard(pulse) == (40, True)
    await hand("set_volume", change=5)
    assert _heard(pulse) == (45, False)


async def test_a_volume_that_there_is_not_changes_nothing(pulse: Pulse, hand: Hand) -> None:
    for asked in ({"level": 101}, {"level": -1}, {"change": 200}, {}, {"level": 5, "change": 5}):
        assert not (await hand("set_volume", **asked)).ok  # type: ignore[arg-type]
    assert _heard(pulse) == (50, False)


async def test_a_machine_without_a_microphone_says_so(pulse: Pulse, hand: Hand) -> None:
    assert "microphone" in (await hand("set_volume", device="microphone", mute="on")).llm_echo
    assert "microphone" in (await hand("machine_status", about="microphone")).llm_echo
    assert _heard(pulse) == (50, False)


async def test_a_machine_that_has_nothing_says_what_it_lacks(
    machine: MockedMachine, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULSE_SERVER", "unix:/nonexistent")
    for tool, arguments in (
        ("set_volume", {"level": 30}),
        ("set_brightness", {"level": 30}),
        ("control_media", {"action": "play"}),
        ("set_switch", {"name": "wifi", "state": "off"}),
        ("set_switch", {"name": "bluetooth", "state": "off"}),
        ("set_switch", {"name": "do_not_disturb", "state": "on"}),
        ("end_session", {"action": "lock"}),
    ):
        result = await hand(tool, **arguments)  # type: ignore[arg-type]
        assert not result.ok
        assert "reason of its own" not in result.llm_echo, result.llm_echo
    assert (await hand("machine_status")).ok


async def test_the_wifi_is_switched_and_names_its_network(machine: MockedMachine, hand: Hand) -> None:
    machine.mock("networkmanager")
    assert not (await hand("set_switch", name="wifi", state="off")).ok  # because there is no radio
    machine.tell("--system", *_NM, f"{_MOCK}.AddWiFiDevice", "'radio'", "'wlan0'", "100")
    device = f"{_NM[1]}/Devices/radio"
    point = machine.tell(
        "--system", *_NM, f"{_MOCK}.AddAccessPoint", f"'{device}'", "'ap1'", "'Home sweet'", "'00:23:F8:7E:12:BB'",
        "2", "2425", "5400", "82", "256",
    )  # fmt: skip
    joined = ("'ActiveAccessPoint'", f"<objectpath '{point.split(chr(39))[1]}'>")
    machine.tell("--system", _NM[0], device, f"{_MOCK}.AddProperty", f"'{_NM[0]}.Device.Wireless'", *joined)
    assert "Home sweet" in (await hand("machine_status", about="wifi")).llm_echo
    assert "off" in (await hand("set_switch", name="wifi", state="off")).llm_echo
    enabled = machine.tell("--system", *_NM, f"{_PROPERTIES}.Get", f"'{_NM[0]}'", "'WirelessEnabled'")
    assert "false" in enabled
    assert (await hand("set_switch", name="wifi", state="on")).ok


async def test_bluetooth_is_switched_and_names_what_it_is_connected_to(machine: MockedMachine, hand: Hand) -> None:
    machine.mock("bluez5")
    assert "adapter" in (await hand("machine_status", about="bluetooth")).llm_echo
    blue = ("--system", "org.bluez", "/org/bluez")
    machine.tell(*blue, "org.bluez.Mock.AddAdapter", "'hci0'", "'box'")
    machine.tell(*blue, "org.bluez.Mock.AddDevice", "'hci0'", "'11:22:33:44:55:66'", "'Headphones'")
    machine.tell(*blue, "org.bluez.Mock.ConnectDevice", "'hci0'", "'11:22:33:44:55:66'")
    assert "Headphones" in (await hand("machine_status", about="bluetooth")).llm_echo
    assert "off" in (await hand("set_switch", name="bluetooth", state="off")).llm_echo
    powered = machine.tell(
        "--system", "org.bluez", "/org/bluez/hci0", f"{_PROPERTIES}.Get", "'org.bluez.Adapter1'", "'Powered'"
    )
    assert "false" in powered


async def test_the_battery_tells_how_full_it_is_and_how_long_it_lasts(machine: MockedMachine, hand: Hand) -> None:
    machine.mock("upower", {"OnBattery": True})
    assert "no battery" in (await hand("machine_status", about="battery")).llm_echo
    machine.tell(
        "--system", "org.freedesktop.UPower", "/org/freedesktop/UPower", f"{_MOCK}.SetupDisplayDevice",
        "2", "2", "81.0", "40.0", "50.0", "5.0", "5400", "0", "true", "'icon'", "1",
    )  # fmt: skip
    told = (await hand("machine_status", about="battery")).llm_echo
    assert ("81 %" in told, "1:30" in told) == (True, True)


def _player(machine: MockedMachine) -> None:
    """A player with two tracks, which is paused at the first one."""
    machine.plain(*_PLAYER, "org.mpris.MediaPlayer2.Player")
    first = "{'mpris:trackid': <objectpath '/one'>, 'xesam:title': <'First'>, 'xesam:artist': <['Ada']>}"
    own = "org.mpris.MediaPlayer2.Player"
    machine.tell("--session", *_PLAYER, f"{_MOCK}.AddProperty", "'org.mpris.MediaPlayer2'", "'Identity'", "<'Box'>")
    values = {
        "PlaybackStatus": "<'Paused'>",
        "Metadata": f"<{first}>",
        "CanGoNext": "<true>",
        "CanGoPrevious": "<false>",
    }
    for name, value in values.items():
        machine.tell("--session", *_PLAYER, f"{_MOCK}.AddProperty", f"'{own}'", f"'{name}'", value)
    code = {
        state: f"self.UpdateProperties('{own}', {{'PlaybackStatus': '{state}'}})" for state in ("Playing", "Paused")
    }
    second = "{'mpris:trackid': '/two', 'xesam:title': 'Second', 'xesam:artist': ['Ada']}"
    next_ = f"self.props['{own}']['Metadata'] = dbus.Dictionary({second}, signature='sv')"
    for method, body in (("Play", code["Playing"]), ("Pause", code["Paused"]), ("Next", next_), ("Stop", "pass")):
        machine.tell("--session", *_PLAYER, f"{_MOCK}.AddMethod", f"'{own}'", f"'{method}'", "''", "''", f'"{body}"')


async def test_a_player_goes_on_and_tells_what_it_plays(machine: MockedMachine, hand: Hand) -> None:
    assert "No media player" in (await hand("machine_status", about="playing")).llm_echo
    _player(machine)
    paused = (await hand("machine_status", about="playing")).llm_echo
    assert ("paused" in paused, "Ada – First" in paused) == (True, True)
    played = (await hand("control_media", action="play")).llm_echo
    assert ("plays" in played, "Ada – First" in played) == (True, True)
    assert "Ada – Second" in (await hand("control_media", action="next")).llm_echo
    assert "paused" in (await hand("control_media", action="pause")).llm_echo


async def test_a_player_that_does_nothing_is_not_said_to_have_done_it(machine: MockedMachine, hand: Hand) -> None:
    _player(machine)
    assert "no track before" in (await hand("control_media", action="previous")).llm_echo
    stopped = await hand("control_media", action="stop")
    assert (stopped.ok, "did not do it" in stopped.llm_echo) == (False, True)


async def test_the_brightness_goes_by_logind_and_is_read_back(
    machine: MockedMachine, hand: Hand, tmp_path: Path
) -> None:
    machine.mock("logind")
    login = ("org.freedesktop.login1", "/org/freedesktop/login1")
    machine.tell("--system", *login, f"{_MOCK}.AddSession", "'auto'", "'seat0'", "500", "'ada'", "true")
    lamp = tmp_path / "backlight" / "lamp"
    lamp.mkdir(parents=True)
    for name, value in {"type": "raw", "brightness": "150", "max_brightness": "300"}.items():
        (lamp / name).write_text(value)
    assert "50 %" in (await hand("machine_status", about="brightness")).llm_echo
    set_ = f"open('{lamp / 'brightness'}', 'w').write(str(args[2]))"
    session = ("org.freedesktop.login1", "/org/freedesktop/login1/session/auto")
    machine.tell(
        "--system", *session, f"{_MOCK}.AddMethod", "'org.freedesktop.login1.Session'", "'SetBrightness'", "'ssu'",
        "''", f'"{set_}"',
    )  # fmt: skip
    assert "40 %" in (await hand("set_brightness", change=-10)).llm_echo
    assert (lamp / "brightness").read_text() == "120"
    assert (await hand("set_brightness", level=0)).ok
    assert int((lamp / "brightness").read_text()) > 0  # because a dark screen cannot be read


async def test_a_lock_counts_only_if_the_screen_says_that_it_is_locked(machine: MockedMachine, hand: Hand) -> None:
    machine.mock("logind")
    login = ("org.freedesktop.login1", "/org/freedesktop/login1")
    machine.tell("--system", *login, f"{_MOCK}.AddSession", "'auto'", "'seat0'", "500", "'ada'", "true")
    assert not (await hand("end_session", action="lock")).ok  # because nobody listens
    assert eventually(lambda: "Lock" in machine.calls("logind"))
    machine.mock("gnome_screensaver")
    assert "is locked" in (await hand("end_session", action="lock")).llm_echo


async def test_notifications_are_held_back_where_the_desktop_can(machine: MockedMachine, hand: Hand) -> None:
    server = ("org.freedesktop.Notifications", "/org/freedesktop/Notifications")
    machine.plain(*server, "org.freedesktop.Notifications")
    info = "ret = ('dunst', 'x', '1', '1.2')"
    machine.tell(
        "--session",
        *server,
        f"{_MOCK}.AddMethod",
        f"'{server[0]}'",
        "'GetServerInformation'",
        "''",
        "'ssss'",
        f'"{info}"',
    )
    machine.tell("--session", *server, f"{_MOCK}.AddProperty", "'org.dunstproject.cmd0'", "'paused'", "<false>")
    assert "held back" in (await hand("set_switch", name="do_not_disturb", state="on")).llm_echo
    paused = machine.tell("--session", *server, f"{_PROPERTIES}.Get", "'org.dunstproject.cmd0'", "'paused'")
    assert "true" in paused
