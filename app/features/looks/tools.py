"""Tools for the looks of Wisp: the theme, its fonts and mood, and the background of the apps that Wisp makes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from app.base.clipping import clip_line
from app.base.errors import ToolMisuse
from app.base.values import replace
from app.features.looks.wallpaper import DesktopWallpaper
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, RareFamily, ToolSpec
from app.providers.images import PictureMaker
from app.services.css import rgba, why_no_background
from app.services.files import contents
from app.services.themes import Appearance, LookChange, face_of, keep_picture, look_named, missing_fonts, titled
from app.services.web.pages import Pages
from app.settings import tokens
from app.settings.catalog import ATMOSPHERE, BACKDROP, FONTS, PALETTE, SCHEME, Setting
from app.settings.tokens import FONT_ROLES, THEMES, fonts_of
from app.tools.registry import Family, TurnContext

_MOOD_CHARS = 200
_PROMPT_CHARS = 4_000
_SHOWN_CHARS = 40
_PICTURES = ("from_prompt", "url")


class Looks:
    """The handlers of set_theme and reset_theme. The presence follows the settings that they write.

    `maker` draws a background from words; `pages` fetches one from an address. `wallpaper` is the picture behind all
    windows, which a reset takes back; None in a dry run.
    """

    def __init__(
        self, looks: Appearance, maker: PictureMaker, pages: Pages, wallpaper: DesktopWallpaper | None = None
    ) -> None:
        self._looks = looks
        self._maker = maker
        self._pages = pages
        self._wallpaper = wallpaper

    async def set_theme(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        name = call.text("name").strip()
        wanted: dict[Setting[str], str] = look_named(name) if name else {}
        wanted |= {PALETTE: _palette(call.arguments["palette"])} if call.has("palette") else {}
        wanted |= {FONTS: _fonts(call.arguments["fonts"])} if call.has("fonts") else {}
        if call.has("atmosphere"):
            wanted[ATMOSPHERE] = " ".join(call.text("atmosphere").split())
            if len(wanted[ATMOSPHERE]) > _MOOD_CHARS:
                raise ToolMisuse(f"atmosphere: say it in at most {_MOOD_CHARS} characters.")
        if call.has("wallpaper"):  # last, because a picture may cost money
            wanted[BACKDROP] = await self._background(call.arguments["wallpaper"])
        if not wanted:
            raise ToolMisuse("name is missing: name a theme, or give a palette, fonts, a wallpaper or an atmosphere.")
        change = await asyncio.to_thread(self._looks.choose, wanted, turn.turn_id)
        return await _changed_looks(call, turn, change)

    async def _background(self, given: JsonValue) -> str:
        """CSS, or the file of a picture, which is drawn or fetched."""
        fields = given if isinstance(given, Mapping) else {"text": given}
        css, prompt, url = (" ".join(str(fields.get(name) or "").split()) for name in ("text", *_PICTURES))
        if sum(map(bool, (css, prompt, url))) > 1:
            raise ToolMisuse("wallpaper: give one of these: from_prompt, url, or a CSS background.")
        if css and (why := why_no_background(css)):
            raise ToolMisuse(f"wallpaper: {why}")
        if not (prompt or url):
            return css
        if len(prompt) > _PROMPT_CHARS:
            raise ToolMisuse(f"wallpaper: say what to draw in at most {_PROMPT_CHARS} characters.")
        made = await self._maker.draw(prompt, "landscape") if prompt else None
        address = made.url if made else url
        if made and not address:
            picture = await asyncio.to_thread(contents.seen, made.data, made.maker)
        else:
            picture = (await self._pages.picture(address))[1]
        return str(await asyncio.to_thread(keep_picture, picture.data, picture.media_type))

    async def reset_theme(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        at = time.time()  # of both, so that one undo takes both back
        told = await asyncio.to_thread(self._wallpaper.reset, turn.turn_id, at) if self._wallpaper else ""
        change = await asyncio.to_thread(self._looks.reset, turn.turn_id, at)
        done = await _changed_looks(call, turn, change)
        return replace(done, llm_echo=f"{done.llm_echo} {told}".strip())


async def _changed_looks(call: ToolCall, turn: TurnContext, change: LookChange) -> ToolResult:
    title, scheme = titled(change.after), change.after[SCHEME.key]
    on_card = {"theme": face_of(change.after).title, "scheme": "" if scheme == tokens.SYSTEM else scheme.capitalize()}
    if change.before == change.after:
        return ToolResult(True, call.name, on_card, f"It looks so already: the theme is {title}.")
    await turn.audit(call.name, {"before": dict(change.before), "after": dict(change.after)})
    others = [
        f"{label}: {change.after[key.key]}"
        for label, key in (
            *(("colours", PALETTE), ("fonts", FONTS)),
            *(("background of apps", BACKDROP), ("mood", ATMOSPHERE)),
        )
        if change.after[key.key]
    ]
    others += [*_made_clear(change), *await asyncio.to_thread(missing_fonts)]
    about = "; ".join([f"The theme is {title}", *others])
    shown: dict[str, JsonValue] = {
        **on_card,
        "text": "\n".join(others),
        "undoable": True,
        "paths": ["#theme"],
    }
    return ToolResult(True, call.name, shown, f"{about}. undo_last_change takes it back.")


def _made_clear(change: LookChange) -> list[str]:
    """A line for each colour that was too faint, with the one that is shown."""
    palette = change.after[PALETTE.key]
    face = face_of(change.after)
    given = tokens.palette_of(palette)
    return [
        f"{name} {given[name]} is too faint here, so {face.tree['colors'][name]} is shown"
        for name in face.mended
        if name in given
    ]


def _palette(given: JsonValue) -> str:
    """In the setting's format. Raises ToolMisuse for what is no opaque colour."""
    fields = given if isinstance(given, Mapping) else {}
    written = {name: str(fields[name]) for name in tokens.PALETTE if fields.get(name)}
    colors = {name: rgba(value) for name, value in written.items()}
    read = {name: color[0].upper() for name, color in colors.items() if color and color[1] == 1}
    bad = next((name for name in written if name not in read), "")
    if bad or not read:
        what = f"{bad} {clip_line(written[bad], _SHOWN_CHARS)!r} is no opaque colour" if bad else "it names no colour"
        raise ToolMisuse(f'palette: {what}. Write #RRGGBB, such as <palette {bad or "accent"}="#B3541E"/>.')
    return "; ".join(f"{name}: {color}" for name, color in read.items())


def _fonts(given: JsonValue) -> str:
    """In the setting's format. Raises ToolMisuse for a text that cannot be a font's name."""
    fields = given if isinstance(given, Mapping) else {}
    written = "; ".join(f"{role}: {fields[role]}" for role in FONT_ROLES if fields.get(role))
    read = fonts_of(written)
    bad = next((role for role in FONT_ROLES if fields.get(role) and not read.get(role)), "")
    if bad or not written:
        raise ToolMisuse(f'fonts: give names of fonts, such as <fonts {bad or "display"}="Lora"/>.')
    return "; ".join(f"{role}: {', '.join(names)}" for role, names in read.items())


_APPEARANCE = RareFamily("appearance", "how Wisp looks")


def _effects_of_looks(call: ToolCall) -> frozenset[Effect]:
    """A picture for the background is drawn or fetched elsewhere."""
    given = call.arguments.get("wallpaper")
    is_elsewhere = isinstance(given, Mapping) and any(given.get(name) for name in _PICTURES)
    return frozenset({Effect.WRITES, Effect.NETWORK}) if is_elsewhere else frozenset({Effect.WRITES})


LOOKS = Family(
    Looks,
    (
        ToolSpec(
            name="set_theme",
            description=(
                "Change how Wisp and the apps that it makes look. Without a name only what is given changes. "
                f"Themes: plain, {', '.join(THEMES)}; light, dark or system. "
                "get_ux_ui_strict_guidelines has the handbook."
            ),
            effect=Effect.WRITES,
            is_lasting=True,
            execute=Looks.set_theme,
            attrs=(Param("name", description="the theme, light or dark, or both", aliases=("theme", "id")),),
            children=(
                Param(
                    "wallpaper",
                    description="background of apps: a CSS colour or gradient inside, or one attribute for a picture",
                    attrs=(
                        Param("from_prompt", description="what is drawn for it; it may cost money"),
                        Param("url", description="the address of a picture"),
                    ),
                ),
                Param(
                    "palette",
                    description="colours of your own as #RRGGBB; with paper the others are mixed from these",
                    attrs=tuple(Param(name) for name in tokens.PALETTE),
                ),
                Param(
                    "fonts",
                    description="fonts that the system has, the best first, separated by commas",
                    attrs=tuple(Param(role) for role in FONT_ROLES),
                ),
                Param("atmosphere", description="the mood of apps and pictures, in a few words"),
            ),
            examples=(
                '<set_theme name="cyberpunk-dark"/>',
                '<set_theme name="warm-earthy"><wallpaper>linear-gradient(160deg, #F3DDBF, #C27848)</wallpaper>'
                '<fonts display="Lora, Georgia"/><atmosphere>a slow Sunday</atmosphere></set_theme>',
                '<set_theme name="plain"><palette paper="#FFF6E5" ink="#3A2418" accent="#B3541E"/></set_theme>',
                '<set_theme><wallpaper from_prompt="misty hills at dawn, gouache"/></set_theme>',
            ),
            rare=_APPEARANCE,
            effects_by_call=_effects_of_looks,
        ),
        ToolSpec(
            name="reset_theme",
            description=(
                "Back to the plain theme, light or dark as the system, without fonts, background and mood of one's "
                "own. The desktop shows its picture of before, too."
            ),
            effect=Effect.WRITES,
            is_lasting=True,
            execute=Looks.reset_theme,
            examples=("<reset_theme/>",),
            rare=_APPEARANCE,
        ),
    ),
)
