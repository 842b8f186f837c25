"""A question to the person from another process on this display: the presence shows it, as any approval.

One line asks and one answers, over a socket. A question whose asker goes away is withdrawn. Whatever goes wrong on the
way is a no.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from app.agent.agent_events import ApprovalWanted
from app.agent.gate import ApprovalAnswer
from app.base import paths
from app.base.errors import WispError
from app.base.phrases import Phrase
from app.base.startup import start_wisp
from app.features.feature import AskPerson, Tell
from app.options import dead_display, is_at_hand

_LINE_BYTES = 16 << 20
"""A picture of the whole place is in it."""
_START_S = 30.0
_LOOK_S = 0.1
_STARTING = asyncio.Lock()
"""Two presences that start at once would both believe to be the only one."""
_NO_QUESTION = Phrase("The Wisp that is open does not understand the question. Quit it, and start it again.")
_NO_ANSWER = Phrase("Wisp is not open or did not answer, so nothing was allowed. Open Wisp, then try again.")


async def ask_in_presence(wanted: ApprovalWanted) -> ApprovalAnswer | None:
    """Ask the person in the presence of this display, and start one if none runs. None if none can be asked here.

    Nothing can be allowed for always on this way. Cancelling it withdraws the question.
    """
    from app.features.serve import question_lines

    if (reached := await _reached()) is None:
        return None
    reader, writer = reached
    try:
        writer.write(question_lines.question_line(wanted))
        await writer.drain()
        return question_lines.answer_of(await reader.readline(), wanted)
    except (OSError, ValueError):
        return ApprovalAnswer.unasked(_NO_ANSWER)
    finally:
        writer.close()


_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _reached() -> _Connection | None:
    async with _STARTING:
        if (connection := await _connected()) or not await asyncio.to_thread(_may_start):
            return connection
        own = paths.presence()
        started = await asyncio.to_thread(start_wisp, "presence", "start", *([own] if own else []))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_S):
                while not connection and not started.poll():  # 0: another one runs, which may not hear yet
                    await asyncio.sleep(_LOOK_S)
                    connection = await _connected()
        return connection


async def _connected() -> _Connection | None:
    if sys.platform == "win32":
        return None
    else:
        with contextlib.suppress(OSError):
            return await asyncio.open_unix_connection(_place(), limit=_LINE_BYTES)
        return None


def _may_start() -> bool:
    """True if the person would see a presence here."""
    return sys.platform != "win32" and is_at_hand() and not dead_display()


def _place() -> Path:
    return paths.display_socket("questions")


async def hear_questions(tell: Tell, ask: AskPerson) -> None:
    """Answer the questions of other processes with what the person answers to `ask`, until it is cancelled."""
    if sys.platform != "win32":
        answering = set[asyncio.Task[None]]()

        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(_answer(reader, writer, ask))
            answering.add(task)
            task.add_done_callback(answering.discard)

        place = _place()
        try:
            listening = _listening(place)
        except OSError as error:
            tell("warning", f"Other agents cannot ask you for permission on this display: {error}")
            return
        server = await asyncio.start_unix_server(begin, sock=listening, limit=_LINE_BYTES)
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            place.unlink(missing_ok=True)
            await _ended(*answering)


if sys.platform != "win32":

    def _listening(place: Path) -> socket.socket:
        """Only this person can use the socket."""
        place.unlink(missing_ok=True)  # because a killed presence may have left it
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(str(place))
            place.chmod(0o600)
        except OSError:
            listening.close()
            raise
        return listening


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ask: AskPerson) -> None:
    from app.features.serve import question_lines

    try:
        try:
            wanted = question_lines.question_of(await reader.readline())
        except ValueError:
            answer: ApprovalAnswer | None = ApprovalAnswer.unasked(_NO_QUESTION)
        else:
            answer = await _unless_gone(ask(wanted), reader)
        if answer is not None:
            writer.write(question_lines.answer_line(answer))
            await writer.drain()
    except OSError:  # because the asker has gone
        pass
    finally:
        writer.close()


async def _unless_gone(asked: Awaitable[ApprovalAnswer], reader: asyncio.StreamReader) -> ApprovalAnswer | None:
    """None if the asker goes away before the answer, or if the presence asks nothing more."""
    asking, gone = asyncio.ensure_future(asked), asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait((asking, gone), return_when=asyncio.FIRST_COMPLETED)
        return asking.result() if asking.done() and not asking.cancelled() else None
    except WispError as error:
        return ApprovalAnswer.unasked(error.why.what)
    finally:
        await _ended(asking, gone)


async def _ended(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
