"""Look at a picture: a file, or one of the public web."""

from __future__ import annotations

import asyncio

from app.base.errors import ToolMisuse
from app.protocol.call import JsonValue, Media, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec
from app.services.files.contents import Picture, WantedLines, look
from app.services.files.places import Workspace
from app.services.web.pages import Pages
from app.tools.registry import PICTURES, Family, TurnContext


class Viewing:
    """The handler of view_image. `pages` fetches through the network guard."""

    def __init__(self, pages: Pages, workspace: Workspace) -> None:
        self._pages = pages
        self._workspace = workspace

    async def view(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        url, path = call.text("url"), call.text("path")
        if bool(url) == bool(path):
            raise ToolMisuse("Give either url or path.")
        if path:
            place = self._workspace.locate(path)
            seen = await asyncio.to_thread(look, self._workspace, place, WantedLines(most=1))
            if not isinstance(seen, Picture):
                raise ToolMisuse(f"{place.shown} is no picture: read_file reads it.")
            return _attached(seen, place.shown, {"path": place.shown})
        address, picture = await self._pages.picture(url)
        await turn.audit("page_fetched", {"url": url})
        return _attached(picture, address, {"url": address})


def _attached(seen: Picture, name: str, place: dict[str, JsonValue]) -> ToolResult:
    label = f"{name} ({seen.original_width}x{seen.original_height})"
    media = Media(seen.data, seen.media_type, seen.width, seen.height, label)
    payload = {**place, "width": seen.original_width, "height": seen.original_height}
    return ToolResult(True, "view_image", payload, f"The picture {label} is attached.", (media,))


def _effects_of_view(call: ToolCall) -> frozenset[Effect]:
    found = {Effect.NETWORK} if call.has("url") else set()
    return frozenset(found | ({Effect.READS} if call.has("path") or not found else set()))


VIEWING = Family(
    Viewing,
    (
        ToolSpec(
            name="view_image",
            description="Look at a picture: a file, or one of the public web by its address.",
            effect=Effect.READS,
            execute=Viewing.view,
            attrs=(
                Param("path", description="a file"),
                Param("url", description="or http:// or https://", aliases=("src",)),
            ),
            examples=('<view_image path="photo.jpg"/>',),
            rare=PICTURES,
            taint="outside",
            effects_by_call=_effects_of_view,
        ),
    ),
)
