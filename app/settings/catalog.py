"""Every setting, once. The command line, the settings dialog and the README's table are made from this list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from app.base.translation import languages
from app.base.values import dataclass
from app.settings.providers import image_makers, providers
from app.settings.tokens import PLAIN, SCHEMES, SYSTEM, THEMES

T = TypeVar("T", bool, int, float, str)


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting. The environment variable `env` overrides the file; `minimum` and `maximum` are inclusive."""

    key: str
    default: T
    description: str
    env: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    @property
    def group(self) -> str:
        return self.key.partition(".")[0]


AnySetting = Setting[bool] | Setting[int] | Setting[float] | Setting[str]

PROVIDER = Setting(
    "model.provider",
    "",
    "Who answers. Without a choice it is Claude where a key is saved, otherwise the offline provider.",
    env="WISP_PROVIDER",
    choices=("", *providers()),
)
SCRIPT = Setting("model.script", "", "The file of replies that the scripted provider plays.", env="WISP_SCRIPT")
MODEL = Setting(
    "model.id", "", "The model's name, as its provider writes it; empty takes the usual one.", env="WISP_MODEL"
)
BASE_URL = Setting(
    "model.base_url",
    "",
    "The address of a server of your own, such as http://127.0.0.1:11434/v1; empty takes the provider's.",
    env="WISP_BASE_URL",
)
DIALECT = Setting(
    "model.dialect",
    "",
    "How the model writes calls; empty takes what suits the model.",
    env="WISP_DIALECT",
    choices=("", "xml", "batch", "native"),
)
MAX_TOKENS = Setting("model.max_tokens", 8192, "Longest answer of one pass, in tokens.", minimum=256, maximum=128_000)
CONTEXT_TOKENS = Setting(
    "model.context_tokens",
    0,
    "How much the model can read and write together, in tokens. 0 takes what is known of it; give it for a server of "
    "your own that was started with less.",
    minimum=0,
    maximum=10_000_000,
)
FALLBACK_FORMATS = Setting(
    "model.fallback_formats", True, "Read calls written in another agent's format when a reply holds no call of ours."
)

MAX_PASSES = Setting(
    "chat.max_passes", 60, "Most model passes of one turn.", env="WISP_CHAT_MAX_PASSES", minimum=1, maximum=1000
)
STREAM_ATTEMPTS = Setting(
    "chat.stream_attempts",
    4,
    "How often one pass is tried when the service fails, counting the first.",
    env="WISP_CHAT_STREAM_ATTEMPTS",
    minimum=1,
    maximum=20,
)
TOOL_ATTEMPTS = Setting(
    "chat.tool_attempts",
    3,
    "How often a call is tried when it fails for a passing reason, counting the first.",
    env="WISP_TOOL_MAX_ATTEMPTS",
    minimum=1,
    maximum=10,
)
STREAM_IDLE_MS = Setting(
    "chat.stream_idle_timeout_ms",
    30_000,
    "Silence after which a stream counts as stalled and is tried again, in milliseconds.",
    env="WISP_STREAM_IDLE_TIMEOUT_MS",
    minimum=100,
    maximum=600_000,
)
FOCUS_CHAIN = Setting(
    "chat.focus_chain", True, "The model keeps a checklist of longer tasks, which you see and may edit."
)
MAX_SECONDS = Setting("chat.max_seconds", 1800.0, "Longest turn, in seconds.", minimum=1)
MAX_TURN_TOKENS = Setting("chat.max_tokens", 2_000_000, "Most tokens of one turn, in and out.", minimum=1000)
MAX_COST_USD = Setting("chat.max_cost_usd", 5.0, "Most money for one turn, in US dollars.", minimum=0)

NAME = Setting("presence.name", "Wisp", "What the assistant is called.")
PERSONALITY = Setting(
    "presence.personality", "warm, exact, slightly understated; brief; first person", "How it speaks."
)
AVATAR = Setting("presence.avatar", "", "Any word: the colours of its resting orb are made from it.")
THEME = Setting(
    "presence.theme",
    PLAIN,
    "How it looks. Colours and fonts of your own go before those of the theme.",
    choices=(PLAIN, *THEMES),
)
SCHEME = Setting(
    "presence.scheme",
    SYSTEM,
    "Light, dark, or as the system. A colour of your own for paper decides it instead.",
    choices=(SYSTEM, *SCHEMES),
)
PALETTE = Setting(
    "presence.palette",
    "",
    "Colours of your own for paper, ink, accent, muted, raised and hairline, as in accent: #B3541E.",
)
FONTS = Setting(
    "presence.fonts", "", "Fonts of your own: display, system and mono, as in display: Lora; mono: Fira Code."
)
BACKDROP = Setting(
    "presence.backdrop",
    "",
    "Background of the apps that Wisp makes: a CSS gradient or colour, or the file of a picture.",
)
ATMOSPHERE = Setting(
    "presence.atmosphere", "", "The mood in which Wisp makes apps and pictures, in a few words of your own."
)
REDUCED_MOTION = Setting("presence.reduced_motion", False, "Fades only, no movement.", env="WISP_REDUCED_MOTION")
POINTER_RING = Setting("presence.pointer_ring", True, "Show a ring, the name of what it clicks, and the way there.")
SUMMON_KEY = Setting(
    "presence.summon_key", "ctrl+alt+space", "The key that opens Wisp from any program; empty for none."
)
NOTIFICATIONS = Setting(
    "presence.notifications", True, "Notify on the desktop when it is done or needs you while you look elsewhere."
)
NTFY_TOPIC = Setting(
    "presence.ntfy",
    "",
    "The address of a topic of ntfy, such as https://ntfy.example/wisp, to which notifications are sent as well, after "
    "a question; reminders, and the title and outcome of a scheduled task, without one. It may be in your network. "
    "Empty: they stay on this machine.",
    env="WISP_NTFY",
)
SPEAK = Setting("presence.speak", False, "Speak aloud what it says; needs pyside6-addons to be installed.")
VOICE = Setting(
    "presence.voice",
    "",
    "The voice that speaks, by its name; wisp presence voices lists them. Empty takes the system's.",
)
SOUNDS = Setting("presence.sounds", False, "Play a soft sound when it is done, and another when it needs you.")
AUTOSTART = Setting("presence.autostart", False, "Open Wisp when you log in.")
LANGUAGE = Setting(
    "presence.language", "", "The language of the presence; empty takes the system's.", choices=("", *languages())
)

MODE = Setting(
    "trust.mode",
    "ask",
    "What runs without asking: ask, auto, plan (look only) or yolo (everything that is not forbidden).",
    env="WISP_MODE",
    choices=("ask", "auto", "plan", "yolo"),
)
YOLO_MINUTES = Setting(
    "trust.yolo_minutes",
    30.0,
    "How long yolo mode lasts before the mode of before counts again.",
    minimum=1,
    maximum=480,
)
COMMAND_SANDBOX = Setting(
    "trust.commands",
    "sandbox",
    "Where commands run: in the sandbox, or outside with everything you may do, asked for each time.",
    env="WISP_COMMANDS",
    choices=("sandbox", "outside"),
)
PRIVATE_WINDOWS = Setting(
    "eyes.private_windows",
    "",
    "Windows it never sees, besides those of password managers and of files with keys or passwords: programs or parts "
    "of titles, separated by commas; with a minus before a password manager or a file's name that may be seen.",
    env="WISP_PRIVATE_WINDOWS",
)
ASSISTIVE_PRESSES = Setting(
    "trust.assistive_presses",
    False,
    "Let on-screen keyboards and remote desktops press while a task runs, too, and answer questions; other programs "
    "then could as well.",
)
STOP_KEY = Setting("hands.stop_key", "ctrl+alt+escape", "The key that stops everything at once.")
BACKEND = Setting(
    "hands.backend",
    "native",
    "How it sees and drives an X11 screen: by itself, or with pyautogui, pynput and mss, as on Windows and macOS.",
    choices=("native", "portable"),
)
KEEP_HISTORY = Setting("history.keep", True, "Keep conversations on this machine, to search and to go on with.")
HISTORY_DAYS = Setting(
    "history.days", 90, "Days after which a conversation is deleted; 0 keeps all.", minimum=0, maximum=36_500
)
IMAGES_MAKER = Setting(
    "images.maker", "", "Who draws pictures. Empty: the first one with a key.", choices=("", *image_makers())
)
IMAGES_MODEL = Setting("images.model", "", "The model that draws, as its maker writes it; empty takes the usual one.")
IMAGES_URL = Setting(
    "images.base_url",
    "",
    (
        "The address of your own server that draws pictures as OpenAI's does (/images/generations). "
        "WISP_IMAGES_KEY may hold its key."
    ),
)
WORKSPACE = Setting(
    "files.workspace",
    "",
    "The folder it works in; empty takes the folder it was started from, or ~/Wisp where that is a home folder.",
)

FEATURES_OFF = Setting(
    "features.off",
    "",
    "Abilities that are left out: their tools, commands and pages are not there. wisp features lists their names.",
    env="WISP_FEATURES_OFF",
)
FEATURES_AGREED = Setting(
    "features.agreed",
    "",
    "Packages of other people that may add abilities, because you said yes to them: wisp features allow NAME.",
)

_CORE: tuple[AnySetting, ...] = (
    PROVIDER,
    SCRIPT,
    MODEL,
    BASE_URL,
    DIALECT,
    MAX_TOKENS,
    CONTEXT_TOKENS,
    FALLBACK_FORMATS,
    MAX_PASSES,
    STREAM_ATTEMPTS,
    TOOL_ATTEMPTS,
    STREAM_IDLE_MS,
    FOCUS_CHAIN,
    MAX_SECONDS,
    MAX_TURN_TOKENS,
    MAX_COST_USD,
    NAME,
    PERSONALITY,
    AVATAR,
    THEME,
    SCHEME,
    PALETTE,
    FONTS,
    BACKDROP,
    ATMOSPHERE,
    REDUCED_MOTION,
    POINTER_RING,
    SUMMON_KEY,
    NOTIFICATIONS,
    NTFY_TOPIC,
    SOUNDS,
    SPEAK,
    VOICE,
    AUTOSTART,
    LANGUAGE,
    MODE,
    YOLO_MINUTES,
    ASSISTIVE_PRESSES,
    COMMAND_SANDBOX,
    PRIVATE_WINDOWS,
    STOP_KEY,
    BACKEND,
    KEEP_HISTORY,
    HISTORY_DAYS,
    IMAGES_MAKER,
    IMAGES_MODEL,
    IMAGES_URL,
    WORKSPACE,
    FEATURES_OFF,
    FEATURES_AGREED,
)
_known: dict[str, AnySetting] = {setting.key: setting for setting in _CORE}


def every() -> tuple[AnySetting, ...]:
    """Return all settings: Wisp's, and those that features have declared."""
    return tuple(_known.values())


def declare(settings: Sequence[AnySetting]) -> None:
    """Make the settings of a feature known. One with the key of another is left out."""
    for setting in settings:
        _known.setdefault(setting.key, setting)


def listed(names: str) -> tuple[str, ...]:
    """Return the names in a setting that holds several, separated by commas."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def renewed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a settings file by their keys, with a scheme that it names as its theme as the scheme of the
    plain theme.
    """
    named = values.get(THEME.key)
    return {SCHEME.key: named, **values, THEME.key: PLAIN} if named in SCHEME.choices else dict(values)
