"""Files between a page and Wisp: downloads that an action waits for, and files that are put into a page."""

from __future__ import annotations

import asyncio
import mimetypes
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.errors import ToolFailed, ToolMisuse
from app.base.values import dataclass
from app.features.browser.elements import errors
from app.services.files import origins, places
from app.services.files.places import Place, Workspace, Zone, visible
from app.services.files.reading import open_file

if TYPE_CHECKING:
    from playwright.async_api import Download, FilePayload, Page

    from app.features.browser.elements import FoundElement
    from app.services.files.changes import ChangeOrigin, Changes, WrittenFile

MOST_DOWNLOADED_BYTES = 1 << 30
MOST_GIVEN_BYTES = (
    45_000_000  # Playwright passes on at most 50 MB: https://github.com/microsoft/playwright/issues/12504
)
_BEGINS_S = 10.0
_DOWNLOAD_S = 600.0
_LOOK_S = 0.2
_CHOOSER_MS = 5_000
_NAME_CHARS = 120
_MOST_NAMESAKES = 100
_CHUNK_BYTES = 1 << 20
_IS_FILE_FIELD = "(one) => { const field = one.tagName === 'LABEL' && one.control || one; "
_IS_FILE_FIELD += "return field.tagName === 'INPUT' && field.type === 'file' }"


@dataclass(frozen=True, slots=True)
class PageDownload:
    """A finished download. `path` is a temporary file, `name` the file name that the page gives it."""

    path: Path
    name: str
    url: str


class Downloads:
    """The downloads of one browser, saved in `folder`. A download is kept only if an action waits for it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._awaited: asyncio.Future[Download] | None = None

    def take(self, download: Download) -> bool:
        """Pass this download to the action that waits for one. Returns False if none waits."""
        is_awaited = self._awaited is not None and not self._awaited.done()
        if self._awaited and is_awaited:
            self._awaited.set_result(download)
        return is_awaited

    async def fetch(self, begin: Callable[[], Awaitable[object]]) -> PageDownload:
        """Run `begin`, which starts a download, and wait until it is finished. Raises ToolFailed."""
        self._awaited = asyncio.get_running_loop().create_future()
        failure = ""
        try:
            try:
                await begin()
            except errors() as error:  # because opening a download's own address counts as an error
                failure = str(error)
            async with asyncio.timeout(_BEGINS_S if "Download is starting" in failure or not failure else _LOOK_S):
                download = await self._awaited
        except TimeoutError:
            raise ToolFailed("No download began. Read the page again; it may be a link to a page.") from None
        finally:
            self._awaited = None
        return PageDownload(await self._finished(download), download.suggested_filename, download.url)

    async def _finished(self, download: Download) -> Path:
        """Wait for a download and return its file. One that takes too long or is too large is cancelled: ToolFailed."""
        path = asyncio.ensure_future(download.path())
        now = asyncio.get_running_loop().time
        limit = now() + _DOWNLOAD_S
        try:
            while not path.done():
                await asyncio.wait([path], timeout=_LOOK_S)
                is_large = await asyncio.to_thread(_held_by, self._folder) > MOST_DOWNLOADED_BYTES
                if is_large or (now() > limit and not path.done()):
                    why = f"is larger than {MOST_DOWNLOADED_BYTES >> 20} MB" if is_large else "took too long"
                    raise ToolFailed(f"The download {why}; nothing was kept.")
        except BaseException:  # so that a stopped action leaves no download running
            path.cancel()
            with suppress(*errors()):  # because it may have ended already
                await download.cancel()
            raise
        return Path(path.result())


async def choose_file(page: Page, found: FoundElement, name: str, data: bytes) -> None:
    """Put a file into a field for files: the element, or the file dialog after a click on it. Raises ToolFailed."""
    await found.check()
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    given: FilePayload = {"name": name, "mimeType": kind, "buffer": data}
    if await found.handle.evaluate(_IS_FILE_FIELD):
        await found.handle.set_input_files(given)
        return
    try:
        async with page.expect_file_chooser(timeout=_CHOOSER_MS) as opened:
            await found.click()
    except errors() as error:
        raise ToolFailed("That is no field for files, and a click there asks for none.") from error
    await (await opened.value).set_files(given)


def _held_by(folder: Path) -> int:
    """The total size in bytes."""
    with suppress(OSError):  # because the browser moves and deletes its files meanwhile
        return sum(file.stat().st_size for file in folder.iterdir())
    return 0


class PageFiles:
    """Saves downloads in the workspace, and reads files for pages. Blocks: call it in a thread."""

    def __init__(self, workspace: Workspace, changes: Changes) -> None:
        self._workspace = workspace
        self._changes = changes

    def landing(self, path: str, usual: str, name: str) -> Place:
        """Return where to save a download: `path` if it is a file, else a free name in that folder (or in `usual`).

        Raises ToolMisuse if that is outside the workspace.
        """
        name = visible(Path(name.replace("\\", "/")).name).lstrip(".")[-_NAME_CHARS:] or "download"
        folder = self._workspace.locate(path or usual)
        if path and not path.endswith("/") and not folder.is_folder():
            return _inside(folder)
        names = (name, *(f"{Path(name).stem} ({number}){Path(name).suffix}" for number in range(2, _MOST_NAMESAKES)))
        places = (self._workspace.locate(str(folder.path / one)) for one in names)
        free = next((place for place in places if not os.path.lexists(place.path)), None)
        if free is None:
            raise ToolFailed(f"{folder.shown} holds too many files called {name}. Give a path.")
        return _inside(free)

    def keep(self, got: PageDownload, place: Place, origin: ChangeOrigin) -> WrittenFile:
        """Move a download into the workspace, marked with its origin. It can be undone."""
        with got.path.open("rb") as file:
            written = self._changes.write(place, iter(partial(file.read, _CHUNK_BYTES), b""), origin)
        origins.mark(place.path, got.url)
        got.path.unlink(missing_ok=True)
        return written

    def content(self, path: str) -> tuple[Place, bytes]:
        """Return a file to put into a page. Raises ToolFailed if it holds keys or passwords, or is too large."""
        place = self._workspace.locate(path)
        with open_file(self._workspace, place) as file:
            if places.is_local_secret(place.path) or places.is_private_key(place.path):
                raise ToolFailed(f"{place.shown} holds keys or passwords; it is given to no page.")
            data = file.read(MOST_GIVEN_BYTES + 1)
        if len(data) > MOST_GIVEN_BYTES:
            raise ToolFailed(f"{place.shown} is larger than {MOST_GIVEN_BYTES // 1_000_000} MB, the most for a page.")
        return place, data


def _inside(place: Place) -> Place:
    if place.zone is not Zone.WORKSPACE:
        raise ToolMisuse(f"path: downloads go into the workspace, and {place.shown} is outside. Move it afterwards.")
    return place
