"""The small apps of one conversation: kept, shown, and answered."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.agent.served_pages import PageServers, PageShower
from app.features.apps.answers import AnsweringParts, SurfaceAnswers
from app.features.apps.cards import LivePictures
from app.features.apps.client import ServedApps, SurfaceEngine
from app.features.apps.store import SurfaceStore, standard_folder
from app.features.apps.tools import SurfaceDocs, SurfaceHints, SurfaceTools
from app.features.feature import OpenFeature, Room
from app.providers.images import PictureMaker
from app.services.files.checkpoints import standard_checkpoints
from app.services.themes import active_theme
from app.services.web.pages import Pages
from app.tools.file import SurfaceReader
from app.tools.registry import unkept
from app.tools.windows import OwnApps

if TYPE_CHECKING:
    from app.agent.deps import SessionDeps
    from app.agent.session import Session


class _Answering:
    """Answers what surfaces ask for, as soon as there is a session."""

    def __init__(self, room: Room, engine: SurfaceEngine) -> None:
        self._room = room
        self._engine = engine
        self._answers: SurfaceAnswers | None = None

    def begin(self, session: Session, parts: SessionDeps) -> None:
        room = self._room
        self._answers = SurfaceAnswers(
            AnsweringParts(
                engine=self._engine,
                provider=parts.provider,
                model=parts.model,
                can_answer=not parts.follows_plan,
                policy=parts.policy,
                registry=parts.registry,
                executor=parts.executor,
                pages=Pages(),
                servers=lambda: room.offered(PageServers),
                maker=PictureMaker(room.now, room.key_of),
                now=room.now,
                ask=session.ask,
                pass_on=session.pass_on,
                audit=parts.audit or unkept,
                clock=parts.clock,
            )
        )

    def present(self) -> None:
        if self._answers is not None:
            self._answers.begin()

    async def close(self) -> None:
        if self._answers is not None:
            await self._answers.close()


class KeptApps:
    """The small apps by name, for who opens programs."""

    def __init__(self, store: SurfaceStore, engine: SurfaceEngine) -> None:
        self.open_called = partial(engine.open_called, store)


def opened(room: Room) -> OpenFeature:
    store = SurfaceStore(standard_folder(), standard_checkpoints())
    engine = SurfaceEngine(standard_folder(), is_dry=not room.has_screen)
    docs, answering = SurfaceDocs(store), _Answering(room, engine)
    return OpenFeature(
        handlers=(SurfaceTools(store, engine, docs, lambda: active_theme().handbook),),
        offers={
            OwnApps: KeptApps(store, engine),
            SurfaceReader: docs,
            LivePictures: engine,
            PageShower: ServedApps(store, engine),
        },
        remind=SurfaceHints(store),
        begin=answering.begin,
        present=answering.present,
        close=answering.close,
    )
