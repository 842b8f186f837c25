"""`wisp doctor`: try everything the main job needs, for real; each failure comes with one fix.

People read the findings in their language, programs (`--json`) in English.

Exit code 1 if the main job cannot work.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from app.assembly import wall_of
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse, WispError
from app.base.findings import CheckVerdict, Finding, fail, note, ok
from app.base.geometry import Rect
from app.base.phrases import Phrase
from app.base.startup import worker_command
from app.commands.findings import abilities, keys, looks, notifications, settings
from app.commands.keys import compositor_here, is_gnome
from app.desktop.backends import Frame
from app.desktop.ocr.rapid import RapidOcr, TextBox
from app.features import loading
from app.options import on_a_display, words_here
from app.services.extras import way_to_add
from app.services.files import parsing
from app.services.themes import font_families
from app.services.watchdog import WatchdogWord
from app.settings import store
from app.settings.catalog import STOP_KEY, SUMMON_KEY
from app.settings.providers import with_keys
from app.settings.store import Settings, load

_SETTINGS = "Choose another key in Wisp's settings."
_NO_X = "Log in to a desktop, and start Wisp there. If you are in one, set DISPLAY to its name, such as :0."
_MISREAD = "Wisp drew the words “{written}” and read “{read}”."


def sandbox() -> Finding:
    """Check the sandbox. Wisp works without it, and then asks before every command."""
    name = "Sandbox for commands"
    if missing := wall_of(load()).missing():
        return note(name, missing, "Wisp therefore asks you before every command.")
    return ok(
        name, "Commands run in the sandbox: they can use Wisp's working folder, but not the internet or the screen."
    )


_LOCAL = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
_LIMIT_S = 0.3


def reachable() -> Finding:
    """Check which model servers answer: local ones, and those that have a key."""
    name = "Models"
    found = [name for name, port in _LOCAL.items() if _answers("127.0.0.1", port)]
    found += [row.maker for row in with_keys() if store.key_of(row.id) and _answers(row.host, 443)]
    if not found:
        return note(
            name,
            "No model can be reached. Wisp still does plain commands.",
            "Start Ollama, LM Studio or llama.cpp on this computer, or store a key in Wisp's settings and go online.",
        )
    return ok(name, Phrase("These answer: {names}.", {"names": ", ".join(found)}))


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_LIMIT_S):
            return True
    except OSError:
        return False


_ROOT = Path(__file__).resolve().parents[2]
_REINSTALL = "Run scripts/setup again, or: pip install --force-reinstall --require-hashes -r requirements.lock"


def _version(distribution: str) -> tuple[int, ...] | None:
    try:
        text = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:  # because a frozen build carries no metadata
        return None
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def qt_and_python() -> Finding:
    """Check for PySide6 6.12, which loses references to None on Python before 3.12 and then crashes."""
    name = "Window library"
    version = _version("pyside6-essentials")
    running = ".".join(map(str, sys.version_info[:3]))
    if version is None:
        return fail(name, "PySide6 is not installed, so Wisp can open no window.", _REINSTALL)
    both = {"qt": ".".join(map(str, version)), "python": running}
    if version >= (6, 12) and sys.version_info < (3, 12):
        told = Phrase("PySide6 {qt} crashes on Python {python}.", both)
        return fail(name, told, 'pip install "pyside6-essentials<6.12"')
    return ok(name, Phrase("PySide6 {qt} runs on Python {python}.", both))


def xlib_clash() -> Finding:
    """Check that python3-xlib 0.15 did not overwrite python-xlib 0.33: both use the same package directory."""
    name = "Screen library"
    if platform.system() != "Linux":
        return ok(name, "This system needs none.")
    if _version("python3-xlib") is not None:
        return fail(
            name,
            "The package python3-xlib has overwritten python-xlib, which Wisp needs.",
            "pip uninstall -y python3-xlib && pip install --force-reinstall python-xlib",
        )
    version = _version("python-xlib")
    if version is None or version < (0, 33):
        return fail(name, "The package python-xlib is missing or older than 0.33.", _REINSTALL)
    return ok(name, Phrase("python-xlib {version} is installed.", {"version": ".".join(map(str, version))}))


_WRITTEN = "Wisp reads this"
_PICTURE_PX = (360, 60)
_PAGE = b"<p>Wisp reads this</p>"
_WORKER_LIMIT_S = 10.0


def ocr() -> Finding:
    """Check OCR: the worker reads a picture drawn here. Wisp needs it where programs describe nothing."""
    import asyncio

    name = "Text in pictures"
    if importlib.util.find_spec("rapidocr") is None:
        return note(
            name,
            "Wisp cannot read it, because one part of Wisp (text recognition) is not installed.",
            way_to_add("ocr"),
        )
    try:
        lines = asyncio.run(_read_off_a_picture())
    except WispError as error:
        return note(name, Phrase("Wisp cannot read it. {why}", {"why": error.phrase}), _REINSTALL)
    read = " ".join(line.text for line in lines)
    if _WRITTEN.replace(" ", "") not in read.replace(" ", ""):
        return note(name, Phrase(_MISREAD, {"written": _WRITTEN, "read": read}), _REINSTALL)
    return ok(name, "Wisp drew a picture with text in it, and read the text.")


async def _read_off_a_picture() -> Sequence[TextBox]:
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", _PICTURE_PX, "white")
    ImageDraw.Draw(picture).text((20, 12), _WRITTEN, "black", ImageFont.load_default(28))
    reader = RapidOcr()
    try:
        return await reader.read_text(Frame(Rect(0, 0, *_PICTURE_PX), picture.tobytes("raw", "BGRX")))
    finally:
        await reader.close()


def documents() -> Finding:
    """Check the worker that parses web pages, PDF and Office files."""
    name = "Documents"
    try:
        text = b"".join(parsing.pieces("page", {"charset": "utf-8", "url": ""}, _PAGE, "a page"))
    except WispError as error:
        told = Phrase("Wisp cannot read web pages, PDF and Office files. {why}", {"why": error.phrase})
        return note(name, told, _REINSTALL)
    if _WRITTEN.encode() not in text:
        read = text.decode(errors="replace")
        return note(name, Phrase(_MISREAD, {"written": _WRITTEN, "read": read}), _REINSTALL)
    return ok(name, "Wisp can read web pages, PDF and Office files.")


def watchdog() -> Finding:
    """Check the watchdog process, which ends commands and releases keys if Wisp hangs."""
    name = "If Wisp hangs"
    command = worker_command("watchdog", str(os.getpid()))
    try:
        done = subprocess.run(
            command,
            input=f"{WatchdogWord.BYE}\n".encode(),
            capture_output=True,
            check=False,
            cwd=_ROOT,
            timeout=_WORKER_LIMIT_S,
        )
        why = done.stderr.decode(errors="replace")[-200:] if done.returncode else ""
        is_started = not done.returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        # A check only reports, so that the checks after it still run.
        is_started, why = False, str(error)
    if not is_started:
        told = "The helper that would end commands and let go of keys does not start ({why})."
        return note(name, Phrase(told, {"why": why}), _REINSTALL)
    return ok(name, "A helper ends the commands that run, and lets go of keys that are held down.")


def display(private: str) -> Finding:
    name = "Screen"
    if private:
        told = Phrase("There is none here. Wisp can work on a screen of its own ({name}).", {"name": private})
        return note(name, told, "To let Wisp use your own screen, start it inside a desktop session.")
    told = Phrase(
        "Wisp uses {name} (X11). Other programs can take pictures of all windows here, Wisp's too.",
        {"name": os.environ.get("DISPLAY", "")},
    )
    return ok(name, told)


def capture() -> Finding:
    """Check captures: draw a small window, and capture it."""
    name = "Screen pictures"
    import asyncio

    from app.desktop.x11.connection import Connection
    from app.desktop.x11.pointer import X11Screen

    try:
        connection = Connection(os.environ)
    except NeedsPerson as error:
        return fail(name, error.phrase, _NO_X)
    screen = X11Screen(connection)
    try:
        is_seen = asyncio.run(screen.shows_drawing())
    except ToolFailed as error:
        return fail(name, error.phrase, "Use an X11 session whose screen has 24-bit colours.")
    finally:
        screen.close()
        connection.close()
    if not is_seen:
        return fail(
            name,
            "Wisp opened a window and did not see it in a picture of the screen.",
            "Unlock the screen, or close what covers it.",
        )
    return ok(name, "Wisp opened a window and saw it in a picture of the screen.")


def pointer() -> Finding:
    """Check the pointer: move it with XTEST, read its position, and move it back."""
    name = "Mouse and keyboard"
    from Xlib import X
    from Xlib.display import Display
    from Xlib.error import DisplayError
    from Xlib.ext import xtest

    try:
        connection = Display()
    except (DisplayError, OSError) as error:
        return fail(name, Phrase("The screen does not answer ({why}).", {"why": str(error)}), _NO_X)
    try:
        if not connection.has_extension("XTEST"):
            return fail(
                name,
                "The X server lets no program press keys.",
                "Ask whoever set up this computer to switch on the extension XTEST of the X server.",
            )
        root = connection.screen().root
        before = root.query_pointer()
        there = (before.root_x + (7 if before.root_x < 100 else -7), before.root_y)
        xtest.fake_input(connection, X.MotionNotify, x=there[0], y=there[1])
        connection.sync()
        after = root.query_pointer()
        xtest.fake_input(connection, X.MotionNotify, x=before.root_x, y=before.root_y)
        connection.sync()
    finally:
        connection.close()
    if (after.root_x, after.root_y) != there:
        return fail(name, "Wisp moved the pointer, and it did not arrive.", "Log in to an X11 session (“on Xorg”).")
    return ok(name, "Wisp moved the pointer and put it back.")


def windows() -> Finding:
    """Check that the window manager lists the windows."""
    name = "Windows"
    from Xlib import X
    from Xlib.display import Display
    from Xlib.error import DisplayError

    try:
        connection = Display()
    except (DisplayError, OSError) as error:
        return fail(name, Phrase("The screen does not answer ({why}).", {"why": str(error)}), _NO_X)
    try:
        listed = connection.screen().root.get_full_property(
            connection.intern_atom("_NET_CLIENT_LIST"), X.AnyPropertyType
        )
    finally:
        connection.close()
    if listed is None:
        return note(
            name,
            "No window manager runs, so Wisp looks for each window itself.",
            "Start a window manager, such as openbox: sudo apt install openbox, then run openbox.",
        )
    count = len(listed.value)
    told = Phrase("Wisp sees {count} open window.", {"count": count}, many="Wisp sees {count} open windows.")
    return ok(name, told)


def hotkeys() -> Finding:
    """Check that the stop key and the summon key are free, by grabbing them for a moment."""
    name = "Stop key and summon key"
    from Xlib.display import Display
    from Xlib.error import DisplayError

    from app.desktop.keys import chord
    from app.desktop.x11.listener import grab, places_of

    settings = load()
    if os.environ.get("WAYLAND_DISPLAY"):
        return _bound_keys(name, settings)
    keys = [settings[key] for key in (STOP_KEY, SUMMON_KEY) if settings[key]]
    try:
        connection = Display()
    except (DisplayError, OSError) as error:
        return fail(name, Phrase("The screen does not answer ({why}).", {"why": str(error)}), _NO_X)
    try:
        places = {key: places_of(connection, chord(key)) for key in keys}
        taken = [key for key, found in places.items() if found and not grab(connection, found)]
    except WispError as error:
        return note(name, error.phrase, _SETTINGS, SUMMON_KEY.key)
    finally:
        connection.close()
    missing = [key for key, found in places.items() if found is None]
    if missing:
        told = Phrase("This keyboard cannot type {keys}.", {"keys": ", ".join(missing)})
        return note(name, told, _SETTINGS, SUMMON_KEY.key)
    if taken:
        told = Phrase("Another program, or a Wisp that is open, uses {keys}.", {"keys": ", ".join(taken)})
        return note(name, told, "If no Wisp is open, choose another key in Wisp's settings.", SUMMON_KEY.key)
    return ok(name, _free(keys))


def _free(keys: Sequence[str]) -> Phrase:
    return Phrase("Wisp hears {keys}, whatever program is in front.", {"keys": ", ".join(keys)})


def _bound_keys(name: str, settings: Settings) -> Finding:
    """Check that the configuration of a Wayland compositor runs Wisp's commands at its keys."""
    here = compositor_here()
    if here is None and (passed_on := _passed_on_keys(name, settings)):
        return passed_on
    if here is None:
        return note(
            name,
            _UNHEARD,
            "In your desktop's keyboard settings, let one key run “wisp presence toggle” and another “wisp stop”.",
        )
    try:
        missing = here.unbound(settings)
    except ToolMisuse as error:
        return note(name, error.phrase, _SETTINGS, SUMMON_KEY.key)
    except (OSError, ValueError) as error:
        return note(name, Phrase("{file} cannot be read ({why}).", {"file": str(here.file), "why": str(error)}), _BIND)
    if not missing:
        return ok(
            name, Phrase("When you press one of these keys, {name} runs Wisp's command for it.", {"name": here.name})
        )
    return note(name, _UNHEARD, _BIND)


_UNHEARD = "Wayland tells Wisp of these keys only while an X11 program is in front."
_BIND = "wisp keys"


def _passed_on_keys(name: str, settings: Settings) -> Finding | None:
    """Check that GNOME or KDE passes the keys on, by asking for them for a moment. None on other desktops."""
    from app.desktop.keys import chord
    from app.desktop.wayland import gnome, kwin
    from app.desktop.wayland.bus import SessionBus
    from app.desktop.wayland.heard_key import key_of_desktop

    had, keys = [], {"stop": settings[STOP_KEY], "summon": settings[SUMMON_KEY]}
    try:
        session = SessionBus(os.environ)
    except NeedsPerson:  # because there is no desktop that could pass keys on
        return None
    try:
        with closing(session) as bus:
            if not kwin.is_here(bus) and not gnome.is_shell_here(bus):
                return None
            if not kwin.is_here(bus) and not gnome.is_here(bus):
                told = "On GNOME, Wisp hears these keys only through its extension, and the extension does not answer."
                return note(name, told, "wisp extension")
            for what_for, keys_text in keys.items():
                if keys_text and (key := key_of_desktop(bus, what_for, chord(keys_text), lambda: None)):
                    if owner := key.grab():
                        had.append(f"{keys_text} ({owner})")
                    key.leave()
    except WispError as error:
        return note(name, error.phrase, _SETTINGS, SUMMON_KEY.key)
    if not had:
        return ok(name, _free([*filter(None, keys.values())]))
    taken = Phrase("Something else uses {keys}.", {"keys": ", ".join(had)})
    return note(name, taken, "wisp extension" if is_gnome() else _SETTINGS, SUMMON_KEY.key)


def accessibility() -> Finding:
    """Check that the session has an accessibility bus, as every program does at its start."""
    name = "Buttons and fields"
    import asyncio

    try:
        asyncio.run(asyncio.wait_for(_bus_address(), timeout=3))
    except NeedsPerson as error:
        return note(
            name,
            Phrase(_UNNAMED, {"why": error.phrase}),
            "Start Wisp in a desktop session, or by: dbus-run-session wisp",
        )
    except (OSError, WispError, TimeoutError, ValueError):
        told = Phrase(_UNNAMED, {"why": Phrase("No accessibility service runs here.")})
        return note(name, told, "sudo apt-get install at-spi2-core, then log out and in.")
    return ok(name, "Programs tell Wisp the names of their buttons and fields.")


_UNNAMED = "{why} Without it, Wisp finds buttons and fields only in pictures."


async def _bus_address() -> str:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus
    from dbus_fast.errors import DBusError, InvalidAddressError

    try:
        bus = await MessageBus().connect()
    except (InvalidAddressError, OSError) as error:
        raise NeedsPerson(Phrase("This session has no D-Bus ({why}).", {"why": str(error)})) from error
    try:
        reply = await bus.call(
            Message(destination="org.a11y.Bus", path="/org/a11y/bus", interface="org.a11y.Bus", member="GetAddress")
        )
    except DBusError as error:
        raise WispError(str(error)) from error
    finally:
        bus.disconnect()
    if reply is None or not reply.body or not isinstance(reply.body[0], str):
        raise WispError("The session knows no accessibility service.")
    return reply.body[0]


def fonts() -> Finding:
    """Check the fonts. Without them the presence shows boxes."""
    name = "Fonts"
    families = font_families()
    if not families:
        told = "There are none, so Wisp's windows show boxes in place of letters."
        return note(name, told, "sudo apt-get install fontconfig fonts-dejavu-core fonts-noto-core")
    return ok(name, Phrase("{count} is installed.", {"count": len(families)}, many="{count} are installed."))


_IS_LINUX = platform.system() == "Linux"
_PERMISSIONS = (
    "If pictures are black or clicks do nothing: in the system's privacy settings, allow Wisp to record the screen and "
    "to control the computer."
)
_MARKS = {CheckVerdict.OK: "ok  ", CheckVerdict.NOTE: "note", CheckVerdict.FAIL: "FAIL"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="print the results for programs, as one JSON array in English"
    )


def run(options: argparse.Namespace) -> int:
    findings = examine()
    if options.json:
        print(json.dumps([finding.as_json() for finding in findings], indent=1))
    else:
        for finding in findings:
            print(_line(finding))
    return int(any(finding.verdict is CheckVerdict.FAIL for finding in findings))


def examine() -> list[Finding]:
    """In the order in which a person should fix them."""
    seen = (
        _on_linux() if _IS_LINUX else [note("Screen and mouse", "Wisp does not try them on this system.", _PERMISSIONS)]
    )
    libraries = [qt_and_python(), xlib_clash()]
    workers = [ocr(), documents(), watchdog()]
    reach = [keys(), reachable(), notifications()]
    added = [one for _, found in loading.each(lambda feature: [check() for check in feature.checks()]) for one in found]
    return [*libraries, settings(), looks(), *seen, sandbox(), *workers, *reach, *added, abilities()]


def _on_linux() -> list[Finding]:
    if os.environ.get("WAYLAND_DISPLAY"):
        from app.commands import wayland_findings as found

        here = (found.display, found.capture, found.pointer, found.windows, found.clipboard)
        return [check() for check in (*here, accessibility, hotkeys, fonts)]
    try:
        with on_a_display() as own:
            tried = (capture, pointer, windows, accessibility, hotkeys, fonts)
            return [display(own.private), *(check() for check in tried)]
    except NeedsPerson as error:
        return [fail("Screen", "There is none here, and Wisp cannot start a screen of its own.", error.phrase)]


def _line(finding: Finding) -> str:
    name, found, remedy = finding.spoken(words_here())
    line = f"{_MARKS[finding.verdict]}  {name}: {found}"
    return f"{line}\n      → {remedy}" if remedy else line
