"""The worker that shows surfaces ends by itself some time after its last window."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.features.apps import engine
from app.features.apps.chromium import Chromium
from app.features.apps.engine import SurfaceWorker
from app.features.apps.store import SurfaceStore
from app.services.files.checkpoints import Checkpoints
from tests.support.waiting import until


async def test_the_worker_ends_once_the_browser_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Chromium(tmp_path / "profile", 1)
    browser.ended.clear()
    monkeypatch.setattr(engine, "engines", lambda _profile, _port: [browser])
    (tmp_path / "surfaces").mkdir()
    store = SurfaceStore(tmp_path / "surfaces", Checkpoints(tmp_path / "checkpoints"))
    control = tmp_path / "surfaces.json"
    running = asyncio.ensure_future(SurfaceWorker(store, tmp_path / "profile", idle_s=0.01).run(control))
    await until(control.is_file)
    browser.ended.set()
    await running
    assert not control.exists()
