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
    "Automatic: Claude answers if you saved a key for it, otherwise Wisp answers without a model. Choose "
    "OpenAI also if Ollama, LM Studio, llama.cpp or a similar server answers.",
    env="WISP_PROVIDER",
    choices=("", *providers()),
)
SCRIPT = Setting(
    "model.script",
    "",
    "Only for “Scripted”: the file with the answers that Wisp plays instead of asking a model.",
    env="WISP_SCRIPT",
)
MODEL = Setting("model.id", "", "The model's name, as its service writes it. Empty: the usual one.", env="WISP_MODEL")
BASE_URL = Setting(
    "model.base_url",
    "",
    "Only for a server of your own: its address, such as http://127.0.0.1:11434/v1. Empty: the usual one.",
    env="WISP_BASE_URL",
)
DIALECT = Setting(
    "model.dialect",
    "",
    "The form in which the model writes its steps. Automatic: the one that suits the model. Try another only if a "
    "model keeps getting its steps wrong.",
    env="WISP_DIALECT",
    choices=("", "xml", "batch", "native"),
)
MAX_TOKENS = Setting(
    "model.max_tokens",
    8192,
    "How much the model writes at a time. If that is not enough, Wisp asks it to go on. A token is about four "
    "characters of text.",
    minimum=256,
    maximum=128_000,
)
CONTEXT_TOKENS = Setting(
    "model.context_tokens",
    0,
    "How much the model can read and write together. 0: Wisp uses the size that it knows for this model. Set "
    "it if your own server holds less. A token is about four characters of text.",
    minimum=0,
    maximum=10_000_000,
)
FALLBACK_FORMATS = Setting(
    "model.fallback_formats",
    True,
    "Some models write their steps in the form of another assistant. On: Wisp carries those out, too. Off: it "
    "does not understand them.",
)

MAX_PASSES = Setting(
    "chat.max_passes",
    60,
    "How often Wisp may ask the model in one task. Then Wisp stops.",
    env="WISP_CHAT_MAX_PASSES",
    minimum=1,
    maximum=1000,
)
STREAM_ATTEMPTS = Setting(
    "chat.stream_attempts",
    4,
    "How often Wisp asks at most when the model's service does not answer. 1: only once.",
    env="WISP_CHAT_STREAM_ATTEMPTS",
    minimum=1,
    maximum=20,
)
TOOL_ATTEMPTS = Setting(
    "chat.tool_attempts",
    3,
    "If a step fails because of something that soon passes, such as a busy network, Wisp tries it again. This "
    "is how many times it tries in all. 1: only once. Clicks and keys are never repeated.",
    env="WISP_TOOL_MAX_ATTEMPTS",
    minimum=1,
    maximum=10,
)
STREAM_IDLE_MS = Setting(
    "chat.stream_idle_timeout_ms",
    30_000,
    "If the model sends nothing for this long, Wisp asks again.",
    env="WISP_STREAM_IDLE_TIMEOUT_MS",
    minimum=100,
    maximum=600_000,
)
FOCUS_CHAIN = Setting(
    "chat.focus_chain", True, "For a longer task the model keeps a list of the steps. You see it and can change it."
)
MAX_SECONDS = Setting(
    "chat.max_seconds",
    1800.0,
    "How long a task may take. Then Wisp stops. Time in which it waits for you does not count.",
    minimum=1,
)
MAX_TURN_TOKENS = Setting(
    "chat.max_tokens",
    2_000_000,
    "How much the model may read and write in one task. Then Wisp stops. A token is about four characters of text.",
    minimum=1000,
)
MAX_COST_USD = Setting(
    "chat.max_cost_usd",
    5.0,
    "How much a task may cost. Then Wisp stops. It counts only models whose price it knows.",
    minimum=0,
)

NAME = Setting("presence.name", "Wisp", "What the assistant calls itself.")
PERSONALITY = Setting(
    "presence.personality",
    "warm, exact, slightly understated; brief; first person",
    "How Wisp talks to you, in a few words.",
)
AVATAR = Setting(
    "presence.avatar", "", "Type any word: Wisp makes the colours of the resting orb from it. Empty: the theme's."
)
THEME = Setting(
    "presence.theme",
    PLAIN,
    "How Wisp looks. Colours and fonts that you set yourself replace those of the theme.",
    choices=(PLAIN, *THEMES),
)
SCHEME = Setting(
    "presence.scheme",
    SYSTEM,
    "Whether Wisp's windows are light or dark. If you set a background colour of your own (paper, under "
    "Colours), Wisp follows that instead.",
    choices=(SYSTEM, *SCHEMES),
)
PALETTE = Setting(
    "presence.palette",
    "",
    "Your own colours, such as accent: #B3541E; ink: #2B2118. You can set paper (the background), ink (the "
    "text), accent (what stands out), muted (pale text), raised (cards) and hairline (thin lines).",
)
FONTS = Setting(
    "presence.fonts",
    "",
    "Your own fonts, such as display: Lora; mono: Fira Code. display is for headings, system for text, mono for code.",
)
BACKDROP = Setting(
    "presence.backdrop",
    "",
    "What is behind the apps that Wisp makes: the path of a picture, or a colour such as #FFF8F0, or any "
    "other background of CSS.",
)
ATMOSPHERE = Setting(
    "presence.atmosphere",
    "",
    "How the apps and pictures that Wisp makes should feel, in a few words, such as “quiet autumn morning”.",
)
REDUCED_MOTION = Setting(
    "presence.reduced_motion", False, "Things fade in and out instead of moving.", env="WISP_REDUCED_MOTION"
)
POINTER_RING = Setting(
    "presence.pointer_ring", True, "A ring shows where Wisp clicks, the way there, and the name of what it clicks."
)
SUMMON_KEY = Setting("presence.summon_key", "ctrl+alt+space", "Press it in any program, and Wisp opens. Empty: no key.")
NOTIFICATIONS = Setting(
    "presence.notifications",
    True,
    "A message on the desktop when Wisp is done or needs you and you are looking elsewhere.",
)
NTFY_TOPIC = Setting(
    "presence.ntfy",
    "",
    "Sends notifications to your phone as well, through the app ntfy. Type the address of your topic there, "
    "such as https://ntfy.example/wisp; it may be in your own network. Wisp sends reminders, and messages "
    "about whether a planned task worked, without asking you. Before it sends any other message, it asks you. "
    "Empty: nothing is sent.",
    env="WISP_NTFY",
)
SPEAK = Setting(
    "presence.speak",
    False,
    ("Wisp reads its answers aloud. For that, get “Speaking aloud” in Wisp's bubble: More (the three dots), Extras."),
)
VOICE = Setting(
    "presence.voice",
    "",
    "The voice that reads aloud: its name, or a part of it. “wisp presence voices” in a terminal lists all. Empty: "
    "the system's.",
)
SOUNDS = Setting("presence.sounds", False, "A soft sound when Wisp is done, and another when it needs you.")
AUTOSTART = Setting("presence.autostart", False, "Wisp opens when you log in.")
LANGUAGE = Setting(
    "presence.language",
    "",
    "The language of Wisp's windows and questions. Automatic: the system's.",
    choices=("", *languages()),
)

MODE = Setting(
    "trust.mode",
    "ask",
    "Asks first: Wisp asks about each program and website that you did not name. Asks if in doubt: it asks "
    "only about risky ones, such as terminals, browsers and mail. Only looks: it changes nothing. Hardly "
    "asks: for a short time, it asks only about the most dangerous things. Whichever you choose, some things "
    "Wisp never does, such as typing passwords.",
    env="WISP_MODE",
    choices=("ask", "auto", "plan", "yolo"),
)
YOLO_MINUTES = Setting(
    "trust.yolo_minutes",
    30.0,
    "How long “Hardly asks” lasts. After that, Wisp asks as it did before.",
    minimum=1,
    maximum=480,
)
COMMAND_SANDBOX = Setting(
    "trust.commands",
    "sandbox",
    "In the sandbox, a command has no internet and can change only Wisp's working folder. Outside, it can do all "
    "that you can, so Wisp asks you each time.",
    env="WISP_COMMANDS",
    choices=("sandbox", "outside"),
)
PRIVATE_WINDOWS = Setting(
    "eyes.private_windows",
    "",
    "Windows that Wisp must not see. Type names of programs or parts of titles, with commas between them, "
    "such as Thunderbird, My Bank. Password managers and files with keys or passwords are private anyway. To "
    "let Wisp see one all the same, type it with a minus before it: -KeePassXC.",
    env="WISP_PRIVATE_WINDOWS",
)
ASSISTIVE_PRESSES = Setting(
    "trust.assistive_presses",
    False,
    "Turn this on if you use an on-screen keyboard, or control this computer from another one. Wisp then "
    "treats what you press there like your own keyboard, even while a task runs or when Wisp asks you "
    "something. The risk: other programs could then answer for you.",
)
STOP_KEY = Setting(
    "hands.stop_key", "ctrl+alt+escape", "Press it in any program, at any moment, and Wisp stops at once."
)
BACKEND = Setting(
    "hands.backend",
    "native",
    "How Wisp sees an X11 screen and moves the mouse there. Native: by itself. Portable: with pyautogui, pynput and "
    "mss, as on Windows and macOS.",
    choices=("native", "portable"),
)
KEEP_HISTORY = Setting(
    "history.keep", True, "Wisp keeps them on this computer. You can search them and go on with them."
)
HISTORY_DAYS = Setting(
    "history.days", 90, "Wisp deletes a conversation that is older. 0: it deletes none.", minimum=0, maximum=36_500
)
IMAGES_MAKER = Setting(
    "images.maker", "", "Automatic: the first service for which you saved a key.", choices=("", *image_makers())
)
IMAGES_MODEL = Setting("images.model", "", "The model's name, as its service writes it. Empty: the usual one.")
IMAGES_URL = Setting(
    "images.base_url",
    "",
    "Only for a server of your own that draws: its address. It must work like OpenAI's (/images/generations). The "
    "variable WISP_IMAGES_KEY may hold its key.",
)
WORKSPACE = Setting(
    "files.workspace",
    "",
    "Wisp may write files in this folder without asking. Empty: the folder from which you start Wisp. If you "
    "start it from your home folder, then ~/Wisp.",
)

FEATURES_OFF = Setting(
    "features.off",
    "",
    "What Wisp should do without, such as browser, schedule. “wisp features” in a terminal lists the names. "
    "You can also switch them in Wisp's bubble: More (the three dots), Extras.",
    env="WISP_FEATURES_OFF",
)
FEATURES_AGREED = Setting(
    "features.agreed",
    "",
    "Packages of other people that you allowed. “wisp features allow NAME” in a terminal adds one.",
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
