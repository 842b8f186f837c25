"""`wisp doctor`: try everything the main job needs, for real; each failure comes with one fix.

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
from app.base.startup import worker_command
from app.commands.findings import abilities, keys, looks, notifications, settings
from app.commands.keys import compositor_here, is_gnome
from app.desktop.backends import Frame
from app.desktop.ocr.rapid import RapidOcr, TextBox
from app.features import loading
from app.options import on_a_display
from app.services.extras import way_to_add
from app.services.files import parsing
from app.services.themes import font_families
from app.services.watchdog import WatchdogWord
from app.settings import store
from app.settings.catalog import STOP_KEY, SUMMON_KEY
from app.settings.providers import with_keys
from app.settings.store import Settings, load

_ASKED = "Until then each command is asked for, with everything it says."


def sandbox() -> Finding:
    """Check the sandbox. Wisp works without it, and then asks before every command."""
    name = "Sandbox for commands"
    missing = wall_of(load()).missing()
    if not missing:
        return ok(name, "bubblewrap stands: commands see the workspace, no network, no screen")
    reason, _, fix = missing.partition(". ")
    return note(name, reason.rstrip("."), f"{fix} {_ASKED}".strip())


_LOCAL = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
_LIMIT_S = 0.3


def reachable() -> Finding:
    """Check which model servers answer: local ones, and those that have a key."""
    found = [name for name, port in _LOCAL.items() if _answers("127.0.0.1", port)]
    found += [row.maker for row in with_keys() if store.key_of(row.id) and _answers(row.host, 443)]
    if not found:
        return note("Models", "no model server answers", "Start Ollama or LM Studio, or connect to the network.")
    return ok("Models", ", ".join(found))


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
    name = "PySide6 and Python"
    version = _version("pyside6-essentials")
    running = ".".join(map(str, sys.version_info[:3]))
    if version is None:
        return fail(name, "PySide6 is not installed.", _REINSTALL)
    shown = ".".join(map(str, version))
    if version >= (6, 12) and sys.version_info < (3, 12):
        return fail(name, f"PySide6 {shown} crashes on Python {running}.", 'pip install "pyside6-essentials<6.12"')
    return ok(name, f"PySide6 {shown} on Python {running}")


def xlib_clash() -> Finding:
    """Check that python3-xlib 0.15 did not overwrite python-xlib 0.33: both use the same package directory."""
    name = "Xlib"
    if platform.system() != "Linux":
        return ok(name, "not used on this system")
    if _version("python3-xlib") is not None:
        return fail(
            name,
            "python3-xlib overwrites python-xlib in this environment.",
            "pip uninstall -y python3-xlib && pip install --force-reinstall python-xlib",
        )
    version = _version("python-xlib")
    if version is None or version < (0, 33):
        return fail(name, "python-xlib 0.33 or newer is missing.", _REINSTALL)
    return ok(name, f"python-xlib {'.'.join(map(str, version))}, alone")


_WRITTEN = "Wisp reads this"
_PICTURE_PX = (360, 60)
_PAGE = b"<p>Wisp reads this</p>"
_WORKER_LIMIT_S = 10.0


def ocr() -> Finding:
    """Check OCR: the worker reads a picture drawn here. Wisp needs it where programs describe nothing."""
    import asyncio

    name = "OCR"
    if importlib.util.find_spec("rapidocr") is None:
        return note(name, "Text in pictures cannot be read: what reads it is not installed.", way_to_add("ocr"))
    try:
        lines = asyncio.run(_read_off_a_picture())
    except WispError as error:
        return note(name, f"Text in pictures cannot be read: {error}", _REINSTALL)
    read = " ".join(line.text for line in lines)
    if _WRITTEN.replace(" ", "") not in read.replace(" ", ""):
        return note(name, f"It reads {read!r} where {_WRITTEN!r} is written.", _REINSTALL)
    return ok(name, f"read {read!r} off a picture")


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
        return note(name, f"Documents and pages cannot be read: {error}", _REINSTALL)
    if _WRITTEN.encode() not in text:
        return note(name, f"The worker reads {text!r} where {_WRITTEN!r} is written.", _REINSTALL)
    return ok(name, "read a page in a process of its own")


def watchdog() -> Finding:
    """Check the watchdog process, which ends commands and releases keys if Wisp hangs."""
    name = "Watchdog"
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
    except (OSError, subprocess.TimeoutExpired) as error:
        # A check only reports, so that the checks after it still run.
        return note(name, f"It does not start: {error}", _REINSTALL)
    if done.returncode:
        return note(name, f"It ends with {done.returncode}: {done.stderr.decode(errors='replace')[-200:]}", _REINSTALL)
    return ok(name, "starts, and ends when it is told to")


def display(private: str) -> Finding:
    name = "Display"
    if private:
        return note(
            name, f"none; a private desktop works ({private})", "Start Wisp inside a desktop session to use that one."
        )
    shown = "other programs may capture every window, Wisp's too: X11 lets no window leave itself out"
    return ok(name, f"X11 on {os.environ.get('DISPLAY')}; {shown}")


def capture() -> Finding:
    """Check captures: draw a small window, and capture it."""
    name = "Screen capture"
    import asyncio

    from app.desktop.x11.connection import Connection
    from app.desktop.x11.pointer import X11Screen

    try:
        connection = Connection(os.environ)
    except NeedsPerson as error:
        return fail(name, error.for_people(), "Set DISPLAY to a running X server.")
    screen = X11Screen(connection)
    try:
        is_seen = asyncio.run(screen.shows_drawing())
    except ToolFailed as error:
        return fail(name, error.for_people(), "Run Wisp in an X11 session on a 24-bit screen.")
    finally:
        screen.close()
        connection.close()
    if not is_seen:
        return fail(name, "It drew a window and did not see it.", "Turn off what covers the screen (a locker?).")
    return ok(name, "captured the window it drew itself")


def pointer() -> Finding:
    """Check the pointer: move it with XTEST, read its position, and move it back."""
    name = "Input"
    from Xlib import X
    from Xlib.display import Display
    from Xlib.error import DisplayError
    from Xlib.ext import xtest

    try:
        connection = Display()
    except (DisplayError, OSError) as error:
        return fail(name, f"The X server cannot be reached: {error}", "Set DISPLAY to a running X server.")
    try:
        if not connection.has_extension("XTEST"):
            return fail(name, "The X server has no XTEST extension.", "Enable XTEST in the X server.")
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
        return fail(
            name, f"The pointer went to {after.root_x},{after.root_y} instead of {there}.", "Use an X11 session."
        )
    return ok(name, "moved the pointer and read it back")


def windows() -> Finding:
    """Check that the window manager lists the windows."""
    name = "Windows"
    from Xlib import X
    from Xlib.display import Display
    from Xlib.error import DisplayError

    try:
        connection = Display()
    except (DisplayError, OSError) as error:
        return fail(name, f"The X server cannot be reached: {error}", "Set DISPLAY to a running X server.")
    try:
        listed = connection.screen().root.get_full_property(
            connection.intern_atom("_NET_CLIENT_LIST"), X.AnyPropertyType
        )
    finally:
        connection.close()
    if listed is None:
        return note(name, "no window manager lists them: they are found one by one", "Start a window manager.")
    return ok(name, f"the window manager lists {len(listed.value)}")


def hotkeys() -> Finding:
    """Check that the stop key and the summon key are free, by grabbing them for a moment."""
    name = "Hotkeys"
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
        return fail(name, f"The X server cannot be reached: {error}", "Set DISPLAY to a running X server.")
    try:
        places = {key: places_of(connection, chord(key)) for key in keys}
        taken = [key for key, found in places.items() if found and not grab(connection, found)]
    except WispError as error:
        return note(name, str(error), "Choose another key in the preferences.", SUMMON_KEY.key)
    finally:
        connection.close()
    missing = [key for key, found in places.items() if found is None]
    if missing:
        return note(
            name,
            f"not on this keyboard: {', '.join(missing)}",
            "Choose another key in the preferences.",
            SUMMON_KEY.key,
        )
    if taken:
        return note(
            name,
            f"held by another program, or by a Wisp that runs: {', '.join(taken)}",
            "If Wisp does not run, choose another key in the preferences.",
            SUMMON_KEY.key,
        )
    return ok(name, f"{' and '.join(keys)} can be had")


def _bound_keys(name: str, settings: Settings) -> Finding:
    """Check that the configuration of a Wayland compositor runs Wisp's commands at its keys."""
    here = compositor_here()
    if here is None and (passed_on := _passed_on_keys(name, settings)):
        return passed_on
    if here is None:
        return note(
            name,
            "Wayland gives keys to Wisp only while an X11 program is in front.",
            "Bind keys to “wisp presence toggle” and “wisp stop” in the settings of the desktop.",
        )
    try:
        missing = here.unbound(settings)
    except (ToolMisuse, OSError, ValueError) as error:
        return note(name, str(error), "Choose another key in the preferences.", SUMMON_KEY.key)
    if not missing:
        return ok(name, f"{here.name} runs Wisp's commands at them")
    told = "Wayland gives keys to Wisp only while an X11 program is in front."
    return note(name, told, f"Run “wisp keys”, or write into {here.file}: {' · '.join(missing)}")


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
                told = "GNOME passes them on through Wisp's extension only, which does not answer"
                return note(name, told, "Run “wisp extension”, or “wisp keys” for GNOME's own shortcuts.")
            for what_for, keys_text in keys.items():
                if keys_text and (key := key_of_desktop(bus, what_for, chord(keys_text), lambda: None)):
                    if owner := key.grab():
                        had.append(f"{keys_text} ({owner})")
                    key.leave()
    except WispError as error:
        return note(name, error.for_people(), "Choose another key in the preferences.", SUMMON_KEY.key)
    if not had:
        return ok(name, f"the desktop passes on {' and '.join(filter(None, keys.values()))}")
    fix = "Run “wisp extension”, which takes them." if is_gnome() else "Choose another key in the preferences."
    return note(name, f"something else has {' and '.join(had)}", fix, SUMMON_KEY.key)


def accessibility() -> Finding:
    """Check that the session has an accessibility bus, as every program does at its start."""
    name = "Accessibility"
    import asyncio

    fix = "Install at-spi2-core and log in again: sudo apt-get install at-spi2-core"
    try:
        address = asyncio.run(asyncio.wait_for(_bus_address(), timeout=3))
    except NeedsPerson as error:
        session = "Start Wisp in a desktop session; a private desktop brings its own. By hand: dbus-run-session wisp"
        return note(name, f"{error}: clicks by name need it", session)
    except (OSError, WispError, TimeoutError, ValueError) as error:
        return note(name, f"no accessibility bus ({error or 'no answer'}): clicks by name need it", fix)
    return ok(name, f"bus at {address.partition(',')[0]}")


async def _bus_address() -> str:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus
    from dbus_fast.errors import DBusError, InvalidAddressError

    try:
        bus = await MessageBus().connect()
    except (InvalidAddressError, OSError) as error:
        raise NeedsPerson(f"this session has no D-Bus ({error})") from error
    try:
        reply = await bus.call(
            Message(destination="org.a11y.Bus", path="/org/a11y/bus", interface="org.a11y.Bus", member="GetAddress")
        )
    except DBusError as error:
        raise WispError(str(error)) from error
    finally:
        bus.disconnect()
    if reply is None or not reply.body or not isinstance(reply.body[0], str):
        raise WispError("the session's bus knows no accessibility service")
    return reply.body[0]


def fonts() -> Finding:
    """Check the fonts. Without them the presence shows boxes."""
    name = "Fonts"
    families = font_families()
    if not families:
        return note(name, "none found", "sudo apt-get install fontconfig fonts-dejavu-core fonts-noto-core")
    return Finding(name, CheckVerdict.OK, f"{len(families)} families")


_IS_LINUX = platform.system() == "Linux"
_PERMISSIONS = "Allow Wisp to record the screen and to control the computer if captures are black or clicks do nothing."
_MARKS = {CheckVerdict.OK: "ok  ", CheckVerdict.NOTE: "note", CheckVerdict.FAIL: "FAIL"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="findings as one JSON array")


def run(options: argparse.Namespace) -> int:
    findings = examine()
    if options.json:
        print(json.dumps([finding.as_json() for finding in findings], indent=1))
    else:
        for finding in findings:
            print(_line(finding))
    return int(any(finding.verdict is CheckVerdict.FAIL for finding in findings))


def examine() -> list[Finding]:
    """Return all findings, in the order in which a person should fix them."""
    seen = _on_linux() if _IS_LINUX else [note("Screen and input", "not tried on this system", _PERMISSIONS)]
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
        return [fail("Display", "There is none, and a private desktop cannot start.", str(error))]


def _line(finding: Finding) -> str:
    line = f"{_MARKS[finding.verdict]}  {finding.name}: {finding.detail}"
    return f"{line}\n      → {finding.fix}" if finding.fix else line
