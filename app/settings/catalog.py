"""Every setting, once. The command line, the settings dialog and the README's table are made from this list."""

from __future__ import annotations

from typing import Generic, TypeVar

from app.base.values import dataclass
from app.settings.providers import providers

T = TypeVar("T", bool, int, float, str)


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting. `env` overrides the file; `minimum` and `maximum` limit numbers, inclusive."""

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


PROVIDER = Setting(
    "model.provider",
    "",
    "Who answers: anthropic, openai, offline or scripted. Empty: Anthropic where a key is set, otherwise offline.",
    env="WISP_PROVIDER",
    choices=("", *providers()),
)
SCRIPT = Setting("model.script", "", "The file of replies that the scripted provider plays.", env="WISP_SCRIPT")
MODEL = Setting("model.id", "", "The model's id; empty takes the provider's default.", env="WISP_MODEL")
BASE_URL = Setting(
    "model.base_url", "", "Address of an OpenAI-compatible or Anthropic-compatible server.", env="WISP_BASE_URL"
)
DIALECT = Setting(
    "model.dialect",
    "",
    "How the model writes calls; empty takes what suits the model.",
    env="WISP_DIALECT",
    choices=("", "xml", "batch", "native"),
)
MAX_TOKENS = Setting("model.max_tokens", 8192, "Longest answer of one pass, in tokens.", minimum=256, maximum=128_000)
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
    "chat.focus_chain", True, "The model keeps a checklist of longer tasks (task_progress), which you see and may edit."
)
MAX_SECONDS = Setting("chat.max_seconds", 1800.0, "Longest turn, in seconds.", minimum=1)
MAX_TURN_TOKENS = Setting("chat.max_tokens", 2_000_000, "Most tokens of one turn, in and out.", minimum=1000)
MAX_COST_USD = Setting("chat.max_cost_usd", 5.0, "Most money for one turn, in US dollars.", minimum=0)

NAME = Setting("presence.name", "Wisp", "What the assistant is called.")
PERSONALITY = Setting(
    "presence.personality", "warm, exact, slightly understated; brief; first person", "How it speaks."
)
THEME = Setting("presence.theme", "system", "Colours: system, light or dark.", choices=("system", "light", "dark"))
REDUCED_MOTION = Setting("presence.reduced_motion", False, "Fades only, no movement.", env="WISP_REDUCED_MOTION")
POINTER_RING = Setting("presence.pointer_ring", True, "Show a ring and the name of what it clicks.")
SUMMON_KEY = Setting(
    "presence.summon_key", "ctrl+alt+space", "The key that opens Wisp from any program; empty for none."
)
NOTIFICATIONS = Setting(
    "presence.notifications", True, "Notify on the desktop when it is done or needs you while you look elsewhere."
)
SPEAK = Setting("presence.speak", False, "Speak aloud what it says; needs pyside6-addons to be installed.")
AUTOSTART = Setting("presence.autostart", False, "Open Wisp when you log in.")
LANGUAGE = Setting(
    "presence.language", "", "The language of the presence; empty takes the system's.", choices=("", "en", "de")
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
    "Let on-screen keyboards and remote desktops type and press in Wisp's windows; other programs then could too.",
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
SEARCHERS = Setting(
    "web.search",
    "",
    "Which search engines it asks, in this order, by their names in search.toml: searxng, brave, tavily, exa, ddgs. "
    "Empty: all that are set up.",
)
SEARXNG = Setting(
    "web.searxng",
    "",
    "The address of your own SearXNG, such as http://127.0.0.1:8888; it may be in your network.",
    env="WISP_SEARXNG",
)
WORKSPACE = Setting(
    "files.workspace",
    "",
    "The folder it works in; empty takes the folder it was started from, or ~/Wisp where that is a home folder.",
)

ALL: tuple[Setting[bool] | Setting[int] | Setting[float] | Setting[str], ...] = (
    PROVIDER,
    SCRIPT,
    MODEL,
    BASE_URL,
    DIALECT,
    MAX_TOKENS,
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
    THEME,
    REDUCED_MOTION,
    POINTER_RING,
    SUMMON_KEY,
    NOTIFICATIONS,
    SPEAK,
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
    SEARCHERS,
    SEARXNG,
    WORKSPACE,
)
