"""What a run serves is reached under its port on every address of loopback, and nothing of others is."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from app.services.processes.forwarding import _Forwarder
from app.services.web.addresses import is_own_server


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_a_port_that_another_server_has_on_one_address_is_not_taken(tmp_path: Path, host: str) -> None:
    foreign = await asyncio.start_server(lambda _reader, writer: writer.close(), host, 0)
    port = foreign.sockets[0].getsockname()[1]
    dialer, other = socket.socketpair()
    opened = await _Forwarder(1, dialer, tmp_path / "ports.json")._listen(port)
    assert opened
    outside, servers = opened
    assert outside != port
    assert {server.sockets[0].getsockname()[:2] for server in servers} == {("127.0.0.1", outside), ("::1", outside)}
    assert not is_own_server(f"http://[::1]:{port}/", lambda: {outside})
    for server in (foreign, *servers):
        server.close()
    dialer.close()
    other.close()


@pytest.mark.parametrize("port", [1234, 11434])
async def test_a_command_serves_at_no_port_where_programs_look_for_a_model_server(tmp_path: Path, port: int) -> None:
    dialer, other = socket.socketpair()
    opened = await _Forwarder(1, dialer, tmp_path / "ports.json")._listen(port)
    assert opened
    outside, servers = opened
    assert outside not in (0, port)
    for server in servers:
        server.close()
    dialer.close()
    other.close()
