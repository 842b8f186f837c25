"""The two input libraries, made harmless before use.

pyautogui sleeps 0.1 s after every call and raises when the pointer is in a corner; its companion mouseinfo ends the
whole process where tkinter is missing (https://github.com/asweigart/mouseinfo/issues/14). None of that may happen.
"""

from __future__ import annotations

import sys
import types
from functools import cache
from typing import Any

from app.base.errors import NeedsPerson


@cache
def mouse_driver() -> Any:
    """pyautogui without its pauses. Raises NeedsPerson where it cannot be loaded."""
    sys.modules.setdefault("mouseinfo", types.ModuleType("mouseinfo"))
    try:
        import pyautogui
    except (ImportError, OSError, KeyError) as error:
        raise NeedsPerson(f"The mouse cannot be driven: pyautogui does not load ({error}). Reinstall Wisp.") from None
    pyautogui.PAUSE = 0
    pyautogui.FAILSAFE = False
    return pyautogui


@cache
def key_driver() -> Any:
    """pynput's keyboard module. Raises NeedsPerson where it cannot be loaded."""
    try:
        from pynput import keyboard
    except (ImportError, OSError) as error:
        raise NeedsPerson(f"The keyboard cannot be driven: pynput does not load ({error}). Reinstall Wisp.") from None
    return keyboard


@cache
def button_driver() -> Any:
    """pynput's mouse module, for the buttons that pyautogui does not know. Raises NeedsPerson as above."""
    try:
        from pynput import mouse
    except (ImportError, OSError) as error:
        raise NeedsPerson(f"The mouse cannot be driven: pynput does not load ({error}). Reinstall Wisp.") from None
    return mouse
