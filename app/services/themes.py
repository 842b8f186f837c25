"""The theme in use, for other parts of Wisp, and its changes and those of the name: make them, record them, undo them.

The choice is in the person's settings, which the presence follows. Blocks for a short time: call it in a thread.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from app.base import own_files, paths, resources
from app.base.errors import ToolFailed, ToolMisuse
from app.base.values import dataclass
from app.services.css import why_no_background
from app.settings import store, tokens
from app.settings.catalog import ATMOSPHERE, BACKDROP, FONTS, NAME, PALETTE, SCHEME, THEME, Setting
from app.settings.colors import parse_color
from app.settings.store import Settings

_OF_ONES_OWN = (PALETTE, FONTS, BACKDROP, ATMOSPHERE)
_LOOKS: tuple[Setting[str], ...] = (THEME, SCHEME, *_OF_ONES_OWN)
_RECORDED = (*_LOOKS, NAME)
_MOST_KEPT = 50
_FONTS_LIMIT_S = 20
_ALWAYS_THERE = ("Sans Serif", "Serif", "Monospace")
"""Names that fontconfig answers with some font, and that Qt lists among its own."""
_PICTURE_BYTES = 6_000_000
_PICTURE_KINDS = {
    **{".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif"},
    **dict.fromkeys((".jpg", ".jpeg"), "image/jpeg"),
}
_SHADOWS = {True: "{apart}px {apart}px 0 {color}", False: "0 8px 24px {color}"}
_GENERIC = {"display": "system-ui, sans-serif", "system": "system-ui, sans-serif", "mono": "ui-monospace, monospace"}


@dataclass(frozen=True, slots=True)
class ActiveTheme:
    """The theme in use.

    `palette` are CSS colours by name (`paper`, `ink`, `accent-ink`, …), `fonts` are CSS `font-family` values by role
    (`display`, `system`, `mono`), `shape` are other CSS values by name (`radius`, `border`, `shadow`, …). `backdrop` is
    a CSS background without addresses, `picture` a picture file that replaces it. `handbook` describes how to design
    pages in this theme. `problems` are sentences about errors in the person's own theme file.
    """

    id: str
    title: str
    scheme: str
    palette: Mapping[str, str]
    fonts: Mapping[str, str]
    shape: Mapping[str, str]
    backdrop: str
    picture: Path | None
    handbook: str
    problems: tuple[str, ...]

    @property
    def css(self) -> str:
        """The theme as CSS custom properties: `--paper`, `--font-display`, `--radius`, …"""
        fonts = {f"font-{role}": families for role, families in self.fonts.items()}
        rows = {**self.palette, **fonts, **self.shape, "backdrop": self.backdrop}
        declared = "".join(f"--{name}:{value};" for name, value in rows.items())
        return f":root{{color-scheme:{self.scheme};{declared}}}"

    @property
    def wallpaper(self) -> str:
        """Return the theme's or the person's background for whole pages as CSS, with its picture inside; "" if there
        is none. Reads the picture's file.
        """
        kind = _PICTURE_KINDS.get(self.picture.suffix.casefold()) if self.picture else None
        try:
            data = self.picture.read_bytes() if self.picture and kind else b""
        except OSError:  # because the person may delete their picture at any time
            data = b""
        if 0 < len(data) <= _PICTURE_BYTES:
            return f'url("data:{kind};base64,{base64.b64encode(data).decode()}") center / cover no-repeat fixed'
        return self.backdrop if self.backdrop != self.palette["sunken"] else ""


def active_theme(settings: Settings | None = None) -> ActiveTheme:
    """With the person's own tokens, fonts and background."""
    now = settings or store.load()
    face = face_of({setting.key: now[setting] for setting in _LOOKS})
    tree, problems = tokens.with_own(face.tree, tokens.own_file())
    colors = {name: parse_color(value) for name, value in tree["colors"].items()}
    palette = {name.replace("_", "-"): color.css for name, color in colors.items()}
    sizes, apart = tree["sizes"], tree["sizes"]["hard_shadow"]
    shade = colors["shadow"] if apart else colors["shadow"].faded(tree["ratios"]["shadow_opacity"])
    first, backdrop = tokens.fonts_of(now[FONTS]), now[BACKDROP]
    css = backdrop if backdrop and not why_no_background(backdrop) else ""
    return ActiveTheme(
        id=face.theme,
        title=face.title,
        scheme=face.scheme,
        palette=palette,
        fonts={role: _families((*first.get(role, ()), *face.fonts.get(role, ())), role) for role in tokens.FONT_ROLES},
        shape={
            "radius": f"{sizes['radius']}px",
            "card-radius": f"{sizes['card_radius']}px",
            "button-radius": f"{sizes['button_radius']}px",
            "border": f"{sizes['hairline']}px solid {palette['hairline']}",
            "shadow": _SHADOWS[bool(apart)].format(apart=apart, color=shade.css),
        },
        backdrop=css or palette["sunken"],
        picture=None if css else _picture(backdrop) or face.wallpaper,
        handbook=_with_mood(handbook(face.theme), now[ATMOSPHERE]),
        problems=problems,
    )


def look_problems() -> tuple[str, ...]:
    """Return a sentence for each part of the person's look that is not shown as they wrote it: errors in their theme
    file, and what is no colour, no background and no font of this system in their settings.
    """
    return *active_theme(store.load()).problems, *(f"{key}: {told}" for key, told in setting_problems())


def setting_problems() -> tuple[tuple[str, str], ...]:
    """Return what of the look's settings is not shown as they say, each with the setting's key."""
    now = store.load()
    read = tokens.palette_of(now[PALETTE])
    unread = [part.strip() for part in now[PALETTE].split(";") if part.partition(":")[0].strip() not in read]
    found = [(PALETTE.key, f"{part!r} is no opaque colour, such as accent: #B3541E.") for part in unread if part]
    backdrop = now[BACKDROP]
    if backdrop and not _picture(backdrop) and (why := why_no_background(backdrop)):
        is_path = Path(backdrop).expanduser().is_absolute()
        found.append((BACKDROP.key, f"there is no picture {backdrop}." if is_path else why))
    return *found, *((FONTS.key, f"{told}.") for told in missing_fonts())


def missing_fonts() -> tuple[str, ...]:
    """Return a clause for each role whose first fonts of the person's own are not on this system: which, and what is
    shown instead. Says nothing where no fontconfig can tell. Starts a process.
    """
    now = store.load()
    face, told = tokens.face(now[THEME], tokens.SCHEMES[0]), []
    wanted = tokens.fonts_of(now[FONTS])
    there = font_families() if wanted else ()
    for role, families in wanted.items() if there else ():
        found = tokens.installed((*families, *face.fonts.get(role, ())), (*there, *_ALWAYS_THERE))
        shown = found[0] if found else "the system's font"
        missing = families[: families.index(shown)] if shown in families else families
        if missing:
            told.append(f"{role}: this system has no {' and no '.join(missing)}, so {shown} is shown")
    return tuple(told)


def font_families() -> tuple[str, ...]:
    """What fontconfig knows; () where it is not installed. On Linux, Qt and browsers find theirs there."""
    command = ["fc-list", "--format", "%{family}\n"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_FONTS_LIMIT_S).stdout
    except (OSError, subprocess.TimeoutExpired):  # because other systems have no fontconfig
        return ()
    return tuple(dict.fromkeys(name for line in listed.splitlines() for name in line.split(",") if name))


def face_of(looks: Mapping[str, str]) -> tokens.ThemeFace:
    """Return the theme of these settings, by their keys, in their colour scheme or else the system's."""
    chosen = looks[SCHEME.key]
    scheme = tokens.shown_scheme() if chosen == tokens.SYSTEM else chosen
    return tokens.face(looks[THEME.key], scheme, looks[PALETTE.key])


def handbook(theme: str) -> str:
    """Return the instructions for designing in a theme, in Markdown."""
    return resources.text(f"guidelines/{theme if theme in tokens.THEMES else 'default'}.md")


def _with_mood(text: str, mood: str) -> str:
    return f"{text.rstrip()}\n\n{resources.text('guidelines/mood.md').format(mood=mood)}" if mood else text


def _families(names: tuple[str, ...], role: str) -> str:
    return ", ".join([*(f'"{name}"' for name in names), _GENERIC[role]])


def _picture(backdrop: str) -> Path | None:
    place = Path(backdrop).expanduser() if backdrop else None
    return place if place and place.is_absolute() and place.is_file() else None


def keep_picture(data: bytes, media_type: str) -> Path:
    """Write a picture into Wisp's own folder, for the background of apps. Returns its file. Raises ToolFailed."""
    ending = next((one for one, kind in _PICTURE_KINDS.items() if kind == media_type), ".png")
    kept = _pictures_folder() / f"{hashlib.sha256(data).hexdigest()[:20]}{ending}"
    try:
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(data)
    except OSError as error:
        raise ToolFailed(f"The picture cannot be kept, so nothing was changed: {error}") from error
    return kept


def _pictures_folder() -> Path:
    return paths.data_dir() / "backdrops"


@dataclass(frozen=True, slots=True)
class LookChange:
    """The effect of one call on the looks or the name: the settings before and after it. `at` is in seconds since
    1970.
    """

    turn: str
    at: float
    before: Mapping[str, str]
    after: Mapping[str, str]

    def changes(self, setting: Setting[str]) -> bool:
        return self.before[setting.key] != self.after[setting.key]

    @property
    def what(self) -> str:
        """What was changed, for the person."""
        return f"name  {self.after[NAME.key]}" if self.changes(NAME) else f"theme  {titled(self.after)}"


_CHANGED_SINCE = "The theme or the name was changed by somebody else since; it is left as it is."


class Appearance:
    """Changes the settings of the theme and the name, and undoes changes. Each is recorded first, so that a later start
    can undo it.
    """

    def __init__(self) -> None:
        self._place = paths.data_dir() / "appearance.json"

    def choose(self, wanted: Mapping[Setting[str], str], turn: str, at: float | None = None) -> LookChange:
        """Write these settings, and return the change, of the time `at` (None: now). Raises ToolFailed if they cannot
        be written.

        Colours of one's own give way to a colour scheme that is chosen without them if their paper would decide it.
        """
        now = store.load()
        if SCHEME in wanted and "paper" in tokens.palette_of(now[PALETTE]):
            wanted = {PALETTE: "", **wanted}
        before = {setting.key: now[setting] for setting in _RECORDED}
        after = {**before, **{setting.key: value for setting, value in wanted.items()}}
        change = LookChange(turn, time.time() if at is None else at, before, after)
        if before != after:
            self._keep([*self._changes(), change])
            self._write(before, after)
        return change

    def reset(self, turn: str, at: float | None = None) -> LookChange:
        """Reset the theme, its scheme, the colours, the fonts, the background and the mood to Wisp's own."""
        return self.choose({setting: setting.default for setting in _LOOKS}, turn, at)

    def newest_at(self, turns: Collection[str] | None) -> float:
        """Return when one of these turns (None: any) last changed the looks, in seconds since 1970; 0 for never."""
        return max((change.at for change in self._changes() if _is_of(change, turns)), default=0.0)

    def listed(self) -> list[LookChange]:
        """Return the changes that can be undone, the oldest first."""
        return self._changes()

    def undo_newest(self, turns: Collection[str] | None) -> str:
        """Undo the newest change of these turns (None: any turn). Returns a sentence on what was done."""
        changes = self._changes()
        newest = next((change for change in reversed(changes) if _is_of(change, turns)), None)
        if newest is None:
            raise ToolFailed("There is no change of the theme to undo.")
        now = self._revert([newest], changes)
        if now is None:
            raise ToolFailed(_CHANGED_SINCE)
        if newest.changes(NAME):
            return f"Took back the change of the name: it is {now[NAME.key]} again."
        return f"Took back the change of the theme: it is {titled(now)} again."

    def take_back(self, turn: str) -> list[str]:
        """Undo what a turn (or one call of it, `turn/call`) changed. Returns a sentence about it; [] if it changed
        nothing.
        """
        changes = self._changes()
        own = [change for change in changes if f"{change.turn}/".startswith(f"{turn}/")]
        if not own:
            return []
        now = self._revert(own, changes)
        if now is None:
            return [_CHANGED_SINCE]
        named = [change for change in own if change.changes(NAME)]
        told = [f"The name is {now[NAME.key]} again."] if named else []
        return [*told, f"The theme is {titled(now)} again."] if named != own else told

    def _revert(self, own: list[LookChange], changes: list[LookChange]) -> Mapping[str, str] | None:
        """Undo these changes, and return what holds then. What was changed since, by whomever, stays.

        Returns None if nothing is left to undo.
        """
        settings = store.load()
        now = {setting.key: settings[setting] for setting in _RECORDED}
        wanted = dict(now)
        for change in reversed(own):
            keys = [one.key for one in _RECORDED if change.changes(one) and wanted[one.key] == change.after[one.key]]
            wanted |= {key: change.before[key] for key in keys}
        if wanted == now:
            return None
        self._write(now, wanted)
        self._keep([change for change in changes if change not in own])
        return wanted

    def _write(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        for setting in _RECORDED:
            if before[setting.key] != after[setting.key]:
                try:
                    store.save(setting, after[setting.key])
                except (OSError, ValueError) as error:
                    raise ToolFailed(f"The settings cannot be written, so nothing changes: {error}") from error

    def _changes(self) -> list[LookChange]:
        try:
            found = json.loads(self._place.read_text(encoding="utf-8"))
            return [LookChange(**_known(row)) for row in found]
        except (OSError, ValueError, TypeError, KeyError):  # because a damaged list only costs the undo
            return []

    def _keep(self, changes: list[LookChange]) -> None:
        rows = [
            {"turn": one.turn, "at": one.at, "before": dict(one.before), "after": dict(one.after)} for one in changes
        ]
        try:
            own_files.write(self._place, json.dumps(rows[-_MOST_KEPT:], ensure_ascii=False))
        except OSError as error:
            raise ToolFailed(f"The change cannot be noted, so nothing was changed: {error}") from error
        needed = {store.load()[BACKDROP]}.union(*({c.before[BACKDROP.key], c.after[BACKDROP.key]} for c in changes))
        for picture in _pictures_folder().glob("*"):
            if str(picture) not in needed:
                picture.unlink(missing_ok=True)


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: Settings(row[name], {}) for name in ("before", "after")}
    kept = {name: {setting.key: now[setting] for setting in _RECORDED} for name, now in found.items()}
    return {"turn": str(row["turn"]), "at": float(row["at"]), **kept}


def _is_of(change: LookChange, turns: Collection[str] | None) -> bool:
    return turns is None or change.turn.partition("/")[0] in turns


_SCHEME_WORDS = frozenset({*SCHEME.choices})
_PLAIN_WORDS = frozenset({tokens.PLAIN, "normal", "usual", "default"})
_FILLERS = frozenset({"the", "a", "in", "theme", "mode", "look", "scheme"})


def titled(looks: Mapping[str, str]) -> str:
    """Return the names of the theme and the scheme of these settings for people."""
    scheme = looks[SCHEME.key]
    return f"{face_of(looks).title} ({'as the system' if scheme == tokens.SYSTEM else scheme})"


def look_named(name: str) -> dict[Setting[str], str]:
    """Return the settings that a model or a person names: a theme, a colour scheme, or both, as in `dark cyberpunk`.

    A theme begins without colours, fonts, background and mood of one's own; a scheme alone keeps the theme and these.
    Raises ToolMisuse with all names.
    """
    words = [word for word in re.findall(r"[a-z0-9]+", name.casefold()) if word not in _FILLERS]
    schemes = [word for word in words if word in _SCHEME_WORDS]
    rest = [word for word in words if word not in _SCHEME_WORDS]
    themes = _themes_called(rest) if rest else []
    if len(schemes) > 1 or len(themes) != bool(rest) or not words:
        listed = "\n".join(f"- {one}: {tokens.face(one, tokens.SCHEMES[0]).about}" for one in THEME.choices)
        raise ToolMisuse(
            f"there is no theme {name!r}. Choose light, dark or system, one of these, or both, as in "
            f"cyberpunk-dark:\n{listed}",
            argument="name",
        )
    chosen = {THEME: themes[0], **dict.fromkeys(_OF_ONES_OWN, "")} if themes else {}
    return {**chosen, SCHEME: schemes[0]} if schemes else chosen


def _themes_called(words: list[str]) -> list[str]:
    """The themes with this name or part of a name, one if it is clear which."""
    called, every = "-".join(words), THEME.choices
    if set(words) <= _PLAIN_WORDS:
        return [tokens.PLAIN]
    if called in every:
        return [called]
    parts = [one for one in every if called in one.split("-")]
    return parts or [one for one in every if "".join(words) in one.replace("-", "")]
