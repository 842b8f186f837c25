"""A filter for system calls, as the kernel reads it: struct sock_filter, eight bytes an instruction.

What is denied fails with EPERM, so that programs say what they missed. Numbers are data (resources/sandbox).
"""

from __future__ import annotations

import errno
import platform
import struct
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

from app.base import paths

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column of the table, and AUDIT_ARCH."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in struct seccomp_data; of arguments the lower halves."""
_X32 = 0x40000000

Instruction = tuple[int, int, int, int]


def program(*, network: bool, machine: str = "") -> bytes:
    """The filter for this kind of machine; empty where its numbers are not known."""
    found = _ARCHITECTURES.get(machine or platform.machine())
    if found is None:
        return b""
    column, audit = found
    data = tomllib.loads((paths.resources() / "sandbox" / "seccomp.toml").read_text(encoding="utf-8"))
    looked_at = {name: numbers[column] for name, numbers in data["looked_at"].items()}
    code: list[Instruction] = [
        *((_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, audit), _failing(errno.ENOSYS)),
        (_LOAD, 0, 0, _NUMBER),
        *((_AT_LEAST, 0, 1, _X32), _failing(errno.ENOSYS)),
        *(one for number in _numbers(data["denied"], column) for one in _denying(number)),
        *((_EQUAL, 0, 1, looked_at["clone3"]), _failing(errno.ENOSYS)),
        *_looking(looked_at, data["arguments"], network=network),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def _numbers(table: dict[str, Sequence[int]], column: int) -> Iterable[int]:
    return (numbers[column] for numbers in table.values() if numbers[column] >= 0)


def _failing(number: int) -> Instruction:
    return (_RETURN, 0, 0, _FAIL | number)


def _denying(number: int) -> tuple[Instruction, Instruction]:
    return (_EQUAL, 0, 1, number), _failing(errno.EPERM)


def _looking(numbers: dict[str, int], arguments: dict[str, Any], *, network: bool) -> list[Instruction]:
    families = arguments["families_with_network" if network else "families"]
    return [
        *_if(numbers["clone"], _FIRST, [(_ANY_BIT, arguments["namespaces"])]),
        *_if(numbers["unshare"], _FIRST, [(_ANY_BIT, arguments["namespaces"] | arguments["new_time"])]),
        *_if(numbers["ioctl"], _SECOND, [(_EQUAL, value) for value in arguments["ioctls"]]),
        *_unless(numbers["socket"], _FIRST, families),
    ]


def _if(number: int, offset: int, tests: Sequence[tuple[int, int]]) -> list[Instruction]:
    """Denied where one of the tests holds for an argument."""
    inner: list[Instruction] = [(_LOAD, 0, 0, offset)]
    for test, value in tests:
        inner += [(test, 0, 1, value), _failing(errno.EPERM)]
    inner.append((_RETURN, 0, 0, _ALLOW))
    return [(_EQUAL, 0, len(inner), number), *inner]


def _unless(number: int, offset: int, allowed: Sequence[int]) -> list[Instruction]:
    """Denied where the argument is none of the allowed."""
    inner: list[Instruction] = [(_LOAD, 0, 0, offset)]
    for value in allowed:
        inner += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
    inner.append(_failing(errno.EAFNOSUPPORT))
    return [(_EQUAL, 0, len(inner), number), *inner]
