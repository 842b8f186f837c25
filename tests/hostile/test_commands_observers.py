"""What the observers of commands report without the wall: each sees an escape that was planted for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.desktop.x11.virtual import VirtualDesktop
from app.services.sandbox.layout import NoWall
from tests.hostile.commands_played import Command, Ran, run
from tests.hostile.commands_room import Room, room
from tests.hostile.observers.injected import InputWatch
from tests.support.waiting import eventually

pytestmark = pytest.mark.long
_OPEN = NoWall("planted")


async def _planted(here: Room, command: str) -> Ran:
    return await run(Command("planted", command), here, _OPEN, here.workspace("planted"))


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("echo x > @OUT@/@MARK@", "changed {root}/neighbour/wisp-escaped"),
        ("echo x >> @HOME@/.bashrc", "changed {root}/home/.bashrc"),
        ("chmod 777 @HOME@/.ssh/id_ed25519", "changed {root}/home/.ssh/id_ed25519"),
        ("rm @OWN@/data/journal", "changed {root}/own/data/journal"),
        ("echo x > to-plan", "changed {root}/neighbour/plan.txt"),
        ("echo x > /dev/tcp/127.0.0.1/@PORT@", "called from"),
        ("echo x > /dev/udp/127.0.0.1/@PORT@", "called from"),
        ("python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('@BUS@')\"", "knocked at {root}/doors/bus"),
        ("python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('\\0@DOOR@')\"", "knocked at @"),
        ("kill -TERM @VICTIM@", "the victim got signal 15"),
        ("kill -STOP @VICTIM@", "the victim was stopped"),
        ("kill -KILL @VICTIM@", "the victim ended with -9"),
        ("renice -n 5 -p @VICTIM@", "the victim is nice 5"),
    ],
)
async def test_an_effect_outside_is_seen(tmp_path: Path, command: str, effect: str) -> None:
    with room(tmp_path / "room") as here:
        await _planted(here, command.replace("\\0", "\\x00"))
        wanted = effect.format(root=here.root)
        assert eventually(lambda: any(one.startswith(wanted) for one in here.effects())), here.effects()


async def test_a_file_among_the_systems_is_seen(tmp_path: Path) -> None:
    with room(tmp_path / "room") as here:
        await _planted(here, "echo x > /tmp/@MARK@")
        assert here.effects() == ["made /tmp/wisp-escaped"]
        Path("/tmp/wisp-escaped").unlink()
        assert here.effects() == []


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("cat @OUT@/plan.txt", "learnt plan"),
        ("base64 -w0 @HOME@/.ssh/id_ed25519", "learnt ssh"),
        ("tr '\\0' '\\n' < /proc/@VICTIM@/environ", "learnt victim"),
        ("echo $MY_SETTING", "learnt variable"),
        ("ls /proc/@VICTIM@ && echo GOT'-THROUGH'", "got through"),
        ("git config core.fsmonitor evil", "spoiled .git/config"),
        ("echo evil > .git/hooks/pre-commit", "spoiled .git/hooks"),
        ("echo evil > .mcp.json", "spoiled .mcp.json"),
        ("ln -sf x .envrc", "spoiled .envrc"),
    ],
)
async def test_what_a_command_learns_and_spoils_is_seen(tmp_path: Path, command: str, wrong: str) -> None:
    with room(tmp_path / "room") as here:
        assert wrong in (await _planted(here, command)).wrong


async def test_a_key_pressed_by_a_command_is_seen(desktop: VirtualDesktop, tmp_path: Path) -> None:
    with InputWatch(desktop.environment["DISPLAY"]) as keys, room(tmp_path / "room") as here:
        await _planted(here, "DISPLAY=@DISPLAY@ xdotool key a")
        assert eventually(lambda: bool(keys.seen))
