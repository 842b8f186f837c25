"""Draw in SVG, and generate pictures from words. Both become files of the workspace, which an undo takes back."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Collection
from pathlib import Path

from app.base import ids, paths
from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.values import replace
from app.features.looks.wallpaper import DesktopWallpaper
from app.protocol.call import JsonValue, Media, ToolCall, ToolResult
from app.protocol.spec import Close, Effect, Param, ToolSpec, ValueType
from app.providers.images import SHAPES, PictureMaker
from app.services import svg
from app.services.files import contents
from app.services.files.changes import ChangeOrigin, Changes
from app.services.files.contents import Picture
from app.services.files.places import Place, Workspace
from app.services.files.reading import open_file
from app.services.svg import SvgRenderer
from app.services.web.pages import Pages
from app.tools.registry import PICTURES, Family, TurnContext

FOLDER = "images"
_PROMPT_CHARS = 4_000
_LONGEST_PX, _DESKTOP_PX = 1024, 2560
_MOST_BYTES = 40_000_000
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}
_MOST_ALIKE = 1000
_DRAFT_PX = 512


class Drawings:
    """The handlers. `renderer` draws SVGs; `maker` generates pictures; `pages` fetches one of which the maker returns
    only the address.

    `wallpaper` sets the picture behind all windows; None in a dry run.
    """

    def __init__(
        self,
        workspace: Workspace,
        changes: Changes,
        renderer: SvgRenderer,
        maker: PictureMaker,
        pages: Pages,
        wallpaper: DesktopWallpaper | None = None,
    ) -> None:
        self._workspace = workspace
        self._changes = changes
        self._renderer = renderer
        self._maker = maker
        self._pages = pages
        self._wallpaper = wallpaper

    async def create_svg(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        drawing = await asyncio.to_thread(svg.sanitise, call.text("svg"))
        data, width, height = await asyncio.to_thread(self._renderer.draw, drawing, _LONGEST_PX)
        place = await asyncio.to_thread(self._place, call, call.text("name"), "svg", turn.judged())
        await self._write(call, turn, place, drawing.text.encode())
        left = f" Left out, because it could run or reach something: {', '.join(drawing.left_out)}."
        echo = f"Drew {place.shown!r}.{left if drawing.left_out else ''} It is attached as it looks."
        return _made(call, place, Media(data, "image/png", width, height, place.shown), echo, call.text("name"))

    async def generate(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        prompt = " ".join(call.text("prompt").split())
        if not prompt or len(prompt) > _PROMPT_CHARS:
            raise ToolMisuse(f"prompt: say what to draw, in at most {_PROMPT_CHARS} characters.")
        await asyncio.to_thread(self._check_place, call, prompt, turn.judged())  # before anybody is paid
        made = await self._maker.draw(prompt, call.text("size", SHAPES[0]))
        if made.url:
            _, seen = await self._pages.picture(made.url)
            data = seen.data
        else:
            data = made.data
            seen = await asyncio.to_thread(contents.seen, data, made.maker)
        place = await asyncio.to_thread(self._place, call, prompt, _ENDINGS.get(_kind(data), "png"), turn.judged())
        await self._write(call, turn, place, data)
        echo = (
            f"{made.maker} ({made.model}) drew {place.shown!r}, {seen.original_width}x{seen.original_height}. Attached."
        )
        done = _made(call, place, _media(seen, place.shown), echo, prompt)
        asked: dict[str, JsonValue] = {"prompt": prompt, "size": call.text("size", SHAPES[0])}
        return replace(done, payload={**done.payload, **asked})

    async def set_wallpaper(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        if self._wallpaper is None:
            raise ToolFailed("This desktop shows nothing, so it has no picture to change.")
        if call.flag("restore"):
            told = await asyncio.to_thread(self._wallpaper.restore, turn.turn_id)
            await turn.audit("wallpaper_restored", {"told": told})
            return ToolResult(True, call.name, {"title": "as before"}, told)
        if not call.has("path"):
            raise ToolMisuse("Give the path of a picture, or restore=true.")
        place = self._workspace.locate(call.text("path"), judged=turn.judged())
        shown = await asyncio.to_thread(self._kept_for_the_desktop, place)
        try:
            name = await asyncio.to_thread(self._wallpaper.set, shown, turn.turn_id)
        finally:
            await asyncio.to_thread(_forget_older, shown, self._wallpaper)
        await turn.audit("wallpaper_set", {"path": str(place.path), "by": name})
        echo = f"{name} shows {place.shown!r} behind all windows. undo_last_change takes it back."
        payload: dict[str, JsonValue] = {"title": place.shown, "undoable": True, "paths": ["#wallpaper"]}
        return ToolResult(True, call.name, payload, echo)

    def _kept_for_the_desktop(self, place: Place) -> Path:
        """Copy the picture to Wisp's own folder, as PNG or JPEG, where it remains. Return the copy's path."""
        if place.path.suffix.casefold() == ".svg":
            with open_file(self._workspace, place) as file:
                text = file.read(svg.MOST_BYTES + 1).decode("utf-8", "replace")
            data, ending = self._renderer.draw(svg.sanitise(text), _DESKTOP_PX)[0], "png"
        else:
            with open_file(self._workspace, place) as file:
                data = file.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                raise ToolMisuse("path: the picture is too large for the desktop.")
            contents.seen(data, place.shown)  # because what is no picture is told here, and not by the desktop
            ending = _ENDINGS.get(_kind(data), "png")
        folder = paths.data_dir() / "wallpapers"
        folder.mkdir(exist_ok=True)
        kept = folder / f"{ids.unique()}.{ending}"
        kept.write_bytes(data)
        return kept

    async def _write(self, call: ToolCall, turn: TurnContext, place: Place, data: bytes) -> None:
        origin = ChangeOrigin(turn.turn_id, call.name)
        done = await asyncio.to_thread(self._changes.write, place, (data,), origin)
        await turn.audit("file_written", {"path": str(place.path), "size_bytes": done.size_bytes})

    def _check_place(self, call: ToolCall, name: str, judged: Collection[str] | None) -> None:
        self._workspace.check_writable(self._place(call, name, "png", judged))

    def _place(self, call: ToolCall, name: str, ending: str, judged: Collection[str] | None) -> Place:
        """Return where to save the picture: the path in the call, else a free name in the folder of pictures.

        Raises ToolFailed if a link leads from there to what was not judged.
        """
        if path := call.text("path").strip():
            if "." in path.rpartition("/")[2]:
                return self._workspace.locate(path, judged=judged)
            ended = None if judged is None else [f"{one}.{ending}" for one in judged]
            return self._workspace.locate(f"{path}.{ending}", judged=ended)
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        stem = re.sub(r"[^a-z0-9]+", "-", plain)[:40].strip("-") or "picture"
        names = [f"{FOLDER}/{stem}.{ending}", *(f"{FOLDER}/{stem}-{n}.{ending}" for n in range(2, _MOST_ALIKE))]
        here = self._workspace.locate(".")
        return next(place for one in names if not (place := self._workspace.within(here, one)).path.exists())


def _forget_older(shown: Path, wallpaper: DesktopWallpaper) -> None:
    """Delete the copies for the desktop that are not shown and that no undo needs."""
    for copy in shown.parent.iterdir():
        if not wallpaper.needs(copy):
            copy.unlink(missing_ok=True)


def _made(call: ToolCall, place: Place, media: Media, echo: str, title: str) -> ToolResult:
    payload: dict[str, JsonValue] = {"path": place.shown, "file": str(place.path), "undoable": True}
    payload |= {"width": media.width, "height": media.height, "title": clip_line(title, 80)}
    return ToolResult(True, call.name, payload, echo, (media,))


def _media(seen: Picture, label: str) -> Media:
    return Media(seen.data, seen.media_type, seen.width, seen.height, label)


def _kind(data: bytes) -> str:
    if data.startswith(b"\xff\xd8"):
        return "image/jpeg"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else "image/png"


def _effects_of_drawing(_call: ToolCall) -> frozenset[Effect]:
    return frozenset({Effect.NETWORK, Effect.WRITES})


def _effects_of_wallpaper(_call: ToolCall) -> frozenset[Effect]:
    return frozenset({Effect.READS, Effect.SETTINGS})


_PATH = Param("path", description=f"where to; {FOLDER}/… if left out", aliases=("file",))

DRAWING = Family(
    Drawings,
    (
        ToolSpec(
            name="create_svg",
            description=(
                "Draw a picture, icon or wallpaper in SVG. It becomes a file, and you see how it looks. No scripts and "
                "no addresses but # and data:image/…."
            ),
            effect=Effect.WRITES,
            execute=Drawings.create_svg,
            attrs=(Param("name", description="a few words", aliases=("title",)), _PATH),
            body=Param("svg", description="from <svg to </svg>", required=True, close=Close.LAST, short=False),
            examples=(
                '<create_svg name="Sun"><![CDATA[<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">'
                '<circle cx="50" cy="50" r="40" fill="#f5b301"/></svg>]]></create_svg>',
            ),
            rare=PICTURES,
        ),
        ToolSpec(
            name="generate_image",
            asked_as="generateImage",
            description="Generate a picture from words. It becomes a file, and you see it. It may cost money.",
            effect=Effect.NETWORK,
            execute=Drawings.generate,
            attrs=(
                Param("prompt", description="what it shows, and in which style", required=True, aliases=("text",)),
                Param("size", choices=SHAPES, otherwise=SHAPES[0], aliases=("shape", "aspect_ratio")),
                _PATH,
            ),
            examples=('<generate_image prompt="a lighthouse at dusk, watercolour" size="landscape"/>',),
            rare=PICTURES,
            effects_by_call=_effects_of_drawing,
        ),
        ToolSpec(
            name="set_wallpaper",
            description="Show a picture behind all windows of the desktop. The person is asked. restore takes it back.",
            effect=Effect.SETTINGS,
            is_powerless=True,
            execute=Drawings.set_wallpaper,
            attrs=(
                Param("path", description="a picture, SVG included", aliases=("file",)),
                Param("restore", ValueType.FLAG, "what was there before"),
            ),
            examples=('<set_wallpaper path="images/sun.svg"/>',),
            rare=PICTURES,
            effects_by_call=_effects_of_wallpaper,
        ),
    ),
)


class DraftDrawer:
    """Draws what there is of an SVG that the model still writes."""

    def __init__(self, renderer: SvgRenderer) -> None:
        self._renderer = renderer

    async def draw(self, text: str) -> Media | None:
        """None if nothing of the picture can be drawn yet."""
        try:
            return await asyncio.to_thread(self._drawn, text)
        except (ToolMisuse, ToolFailed):
            return None

    def _drawn(self, text: str) -> Media:
        data, width, height = self._renderer.draw(svg.sanitise(text, is_whole=False), _DRAFT_PX)
        return Media(data, "image/png", width, height)
