"""The features of one conversation. One that fails is left out from then on, and the rest goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

from app.agent.agent_events import AgentEvent
from app.agent.deps import SessionDeps
from app.agent.session import Session
from app.base.errors import WispError
from app.features import loading
from app.features.feature import Feature, OpenFeature, Room
from app.providers.api import Provider

T = TypeVar("T")


class OpenFeatures:
    """Opens all features, one after the other. `room` makes their room, given the function `Room.offered`."""

    def __init__(self, room: Callable[[Callable[[type[Any]], Any]], Room]) -> None:
        self._open: dict[str, OpenFeature] = {}
        around = room(self.offered)
        for feature, opened in loading.each(lambda feature: _opened(feature, around)):
            self._open[feature.name] = opened

    @property
    def handlers(self) -> tuple[object, ...]:
        """The objects that run their tools."""
        return tuple(handler for one in self._open.values() for handler in one.handlers)

    def offered(self, kind: type[T]) -> T | None:
        """None if no feature offers anything under this type."""
        found: Any = next((one.offers[kind] for one in self._open.values() if kind in one.offers), None)
        return found  # type: ignore[no-any-return]

    def around(self, provider: Provider, *, is_native: bool) -> Provider:
        """`is_native`: the session begins with declared tools."""

        def put_around(one: OpenFeature) -> Provider:
            return one.around(provider, is_native=is_native)

        for made in self._each(put_around):
            provider = made
        return provider

    def begin(self, session: Session, parts: SessionDeps) -> None:
        """Give each feature the session, and let it hear the events."""
        for _ in self._each(lambda one: one.begin(session, parts)):
            pass
        session.subscribe(self._hear)

    def present(self) -> None:
        """Begin what only a conversation with a presence needs. Runs on the event loop."""
        for _ in self._each(lambda one: one.present()):
            pass

    async def remind(self, said: str) -> Mapping[str, str]:
        """Return the texts of all features for the next pass, by heading."""
        told = await self._all(lambda one: one.remind(said))
        return {heading: text for texts in told for heading, text in texts.items()}

    async def expand(self, text: str) -> str:
        """Return the text behind a command of a feature; "" for other words. Raises NeedsPerson and ToolFailed."""
        return next(filter(None, await self._all(lambda one: one.expand(text))), "")

    def completions(self) -> list[str]:
        """Return the beginnings of the commands that the person may write. Blocks."""
        return [one for several in self._each(lambda one: one.completions()) for one in several]

    def untaught(self) -> Collection[str]:
        """Return the names of the tools that are of no use now."""
        return frozenset(name for names in self._each(lambda one: one.untaught()) for name in names)

    def take_back(self, turn: str) -> list[str]:
        """Undo what a turn changed in other places than files. Returns a sentence for each. Blocks."""
        return [sentence for told in self._each(lambda one: one.take_back(turn)) for sentence in told]

    async def close(self) -> None:
        """Release everything."""
        await self._all(lambda one: one.close())

    def _hear(self, event: AgentEvent) -> None:
        for _ in self._each(lambda one: one.hear(event)):
            pass

    def _each(self, asked: Callable[[OpenFeature], T]) -> Iterator[T]:
        """Yield what each feature answers. Errors of Wisp's own kinds are for the caller."""
        for name, one in tuple(self._open.items()):
            try:
                answer = asked(one)
            except WispError:
                raise
            except Exception as error:
                self._leave_out(name, error)
            else:
                yield answer

    async def _all(self, asked: Callable[[OpenFeature], Awaitable[T]]) -> list[T]:
        """Each feature is asked after the other. Errors of Wisp's own kinds are for the caller."""
        answers = []
        for name, one in tuple(self._open.items()):
            try:
                answers.append(await asked(one))
            except (WispError, asyncio.CancelledError):
                raise
            except Exception as error:
                self._leave_out(name, error)
        return answers

    def _leave_out(self, name: str, error: Exception) -> None:
        loading.note_problem(name, error)
        self._open.pop(name, None)


def _opened(feature: Feature, room: Room) -> OpenFeature:
    """Open a feature. Raises TypeError if nothing runs one of its tools."""
    opened = feature.open(room)
    running = {type(handler) for handler in opened.handlers}
    missing = [family.handler for family in feature.families() if family.handler not in running]
    if missing:
        raise TypeError(f"{feature.name} opens no {missing[0].__name__}, which is to run its tools.")
    return opened
