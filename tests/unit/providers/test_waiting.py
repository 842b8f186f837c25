"""Signs of life while something slow happens."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from app.providers.api import Alive
from app.providers.wire_errors import alive_until


async def _never() -> None:
    await asyncio.Event().wait()


async def test_done_work_needs_no_sign() -> None:
    work = asyncio.ensure_future(asyncio.sleep(0, "done"))
    assert [sign async for sign in alive_until(work, idle_s=5)] == []
    assert await work == "done"


async def test_slow_work_gives_signs_until_it_is_done() -> None:
    release = asyncio.Event()
    work = asyncio.ensure_future(release.wait())
    signs = []
    async for sign in alive_until(work, idle_s=0.01):
        signs.append(sign)
        if len(signs) == 3:
            release.set()
    assert signs == [Alive()] * 3


async def test_work_over_its_limit_is_cancelled() -> None:
    work = asyncio.ensure_future(_never())
    with pytest.raises(TimeoutError):
        [sign async for sign in alive_until(work, idle_s=0.03, limit_s=0.02)]
    await asyncio.sleep(0)
    assert work.cancelled()


async def test_work_nobody_waits_for_any_more_is_cancelled() -> None:
    work = asyncio.ensure_future(_never())
    async with aclosing(alive_until(work, idle_s=0.01)) as signs:
        await anext(signs)
    await asyncio.sleep(0)
    assert work.cancelled()
