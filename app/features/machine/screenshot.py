"""Save a picture of the screen in a file, with all its pixels. What Wisp keeps out of pictures is black there, too."""

from __future__ import annotations

import asyncio
import datetime
import io
from collections.abc import Collection

from app.base.clock import Clock
from app.base.errors import ToolFailed
from app.base.facts import MachineState
from app.base.phrases import Phrase
from app.desktop.backends import Frame
from app.desktop.capture import PictureBudget
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec
from app.services.files.changes import ChangeOrigin, Changes
from app.services.files.places import Place, Workspace
from app.tools.registry import PICTURES, Family, TurnContext

_FOLDER = "images"
_NAME = "Screenshot %Y-%m-%d %H.%M.%S.png"
_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
_QUALITY = 92


class Screenshots:
    """The handler of save_screenshot. `has_screen` is False where nothing really happens on the desktop."""

    def __init__(
        self, desktop: Desktop, workspace: Workspace, changes: Changes, clock: Clock, *, has_screen: bool
    ) -> None:
        self._desktop = desktop
        self._workspace = workspace
        self._changes = changes
        self._clock = clock
        self._has_screen = has_screen

    async def save(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        if not self._has_screen:
            raise ToolFailed("There is no screen here of which a picture could be saved.")
        place = await asyncio.to_thread(self._place, call.text("path").strip(), turn.judged())
        form = _FORMATS.get(place.path.suffix.lower())
        if form is None:
            raise ToolFailed("A screenshot is saved in a file that ends in .png or .jpg.")
        frame = await self._desktop.run(_pixels, call.text("window"))
        data = await asyncio.to_thread(_encoded, frame, form)
        done = await asyncio.to_thread(self._changes.write, place, (data,), ChangeOrigin(turn.turn_id, call.name))
        await turn.audit("file_written", {"path": str(place.path), "size_bytes": done.size_bytes})
        saved = MachineState(Phrase("The screenshot is saved as {path!r}.", {"path": place.shown}))
        payload: dict[str, JsonValue] = {"path": place.shown, "file": str(place.path), "undoable": True}
        return ToolResult(True, call.name, payload, saved.said, facts=(saved,))

    def _place(self, path: str, judged: Collection[str] | None) -> Place:
        """At the path, in the folder that it names, or in the folder of images. Blocks."""
        name = datetime.datetime.fromtimestamp(self._clock.wall()).strftime(_NAME)
        if not path:
            return self._workspace.within(self._workspace.locate("."), f"{_FOLDER}/{name}")
        named = self._workspace.locate(path, judged=judged)
        if path.endswith("/") or named.path.is_dir():
            return self._workspace.within(named, name)
        if named.path.suffix:
            return named
        return self._workspace.locate(
            f"{path}.png", judged=None if judged is None else [f"{one}.png" for one in judged]
        )


async def _pixels(controller: DesktopController, window: str) -> Frame:
    pictures, label = controller.screen_capture, "picture to save"
    if window:
        found = controller.find_window(window)
        return (await pictures.capture_window(found, label, PictureBudget())).pixels
    return (await pictures.capture(controller.region_of(0, ""), label, PictureBudget(), is_glance=True)).pixels


def _encoded(frame: Frame, form: str) -> bytes:
    from PIL import Image

    size = (frame.area.width, frame.area.height)
    file = io.BytesIO()
    Image.frombuffer("RGB", size, frame.bgrx, "raw", "BGRX", 0, 1).save(file, form, quality=_QUALITY)
    return file.getvalue()


SCREENSHOTS = Family(
    Screenshots,
    (
        ToolSpec(
            name="save_screenshot",
            description="Save a picture of the screen, or of one window, in a file. screen_capture shows it to you.",
            effect=Effect.WRITES,
            execute=Screenshots.save,
            attrs=(
                Param("path", description="a .png or .jpg, or a folder; else it is in the folder images"),
                Param("window", description="only this window, by title or program"),
            ),
            examples=('<save_screenshot path="shot.png"/>',),
            rare=PICTURES,
        ),
    ),
)
