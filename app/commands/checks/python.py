"""The interpreter and what is installed in it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from pathlib import Path

from app.commands.checks.report import Finding, fail, note, ok

_REINSTALL = "Run scripts/setup again, or: pip install --force-reinstall --require-hashes -r requirements.lock"


def _version(distribution: str) -> tuple[int, ...] | None:
    try:
        text = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def qt_and_python() -> Finding:
    """PySide6 6.12 loses references to None on interpreters without immortal objects (before 3.12)."""
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
    """python3-xlib 0.15 and python-xlib 0.33 are the same package directory; the last one installed wins."""
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


def ocr() -> Finding:
    """Text on the screen where programs tell nothing about themselves; the models are inside the wheel."""
    found = importlib.util.find_spec("rapidocr_onnxruntime")
    if not found or not found.origin:
        return note("OCR", "Text in pictures cannot be read.", _REINSTALL)
    models = sorted(Path(found.origin).parent.rglob("*.onnx"))
    if not models:
        return note("OCR", "The OCR models are missing from their wheel.", _REINSTALL)
    return ok("OCR", f"{len(models)} models at hand")
