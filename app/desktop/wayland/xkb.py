"""The layout of a keyboard that the compositor owns, read by libxkbcommon as the programs read it.

https://xkbcommon.org/doc/current/group__keymap.html. Every compositor and toolkit needs that library, so it is there.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator
from functools import cache

from app.base.errors import NeedsPerson
from app.base.values import dataclass

_TEXT_V1 = 1
_X11_OFFSET = 8  # the keycodes of XKB are those of the kernel and eight more
_NAME_BYTES = 64
_MOST_MASKS = 16
_OTHER_NAMES = {"Prior": "Page_Up", "Next": "Page_Down"}
"""Of two names for one key, the library tells the older one."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a symbol is typed: the kernel's code of its key, and what is held with it."""

    code: int
    shift: bool = False
    level3: bool = False


@cache
def load() -> ctypes.CDLL:
    """Raises NeedsPerson if libxkbcommon is missing."""
    try:
        found = ctypes.CDLL(ctypes.util.find_library("xkbcommon") or "libxkbcommon.so.0")
    except OSError:
        raise NeedsPerson("Wisp cannot type, because libxkbcommon is missing. Install libxkbcommon0.") from None
    pointer, word = ctypes.c_void_p, ctypes.c_uint32
    for name, result, *arguments in (
        ("xkb_context_new", pointer, ctypes.c_int),
        ("xkb_context_unref", None, pointer),
        ("xkb_keymap_new_from_string", pointer, pointer, ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
        ("xkb_keymap_unref", None, pointer),
        ("xkb_keymap_min_keycode", word, pointer),
        ("xkb_keymap_max_keycode", word, pointer),
        ("xkb_keymap_num_layouts", word, pointer),
        ("xkb_keymap_num_layouts_for_key", word, pointer, word),
        ("xkb_keymap_num_levels_for_key", word, pointer, word, word),
        ("xkb_keymap_key_get_syms_by_level", ctypes.c_int, pointer, word, word, word, pointer),
        ("xkb_keymap_key_get_mods_for_level", ctypes.c_size_t, pointer, word, word, word, pointer, ctypes.c_size_t),
        ("xkb_keymap_mod_get_index", word, pointer, ctypes.c_char_p),
        ("xkb_keysym_get_name", ctypes.c_int, word, ctypes.c_char_p, ctypes.c_size_t),
        ("xkb_keysym_to_utf32", word, word),
    ):
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


def layouts(keymap: str) -> list[dict[str, Stroke]]:
    """Return how each symbol is typed, for each layout of a keymap in XKB's text format.

    Symbols are characters and X's names of keys. One that is on several keys is taken where the least is held.
    """
    library = load()
    context = library.xkb_context_new(0)
    compiled = library.xkb_keymap_new_from_string(context, keymap.encode(), _TEXT_V1, 0)
    try:
        if not compiled:
            raise NeedsPerson(
                "The desktop uses a keyboard layout that Wisp cannot read. Choose "
                "another one in the desktop's settings."
            )
        first, last = library.xkb_keymap_min_keycode(compiled), library.xkb_keymap_max_keycode(compiled)
        masks = tuple(1 << library.xkb_keymap_mod_get_index(compiled, name) for name in (b"Shift", b"Mod5"))
        found: list[dict[str, Stroke]] = [{} for _ in range(library.xkb_keymap_num_layouts(compiled))]
        for key in range(first, last + 1):
            own = library.xkb_keymap_num_layouts_for_key(compiled, key)
            for layout in range(len(found)) if own else ():
                # Keys such as space have one layout, which counts in the others too.
                for symbol, stroke in _on_key(compiled, key, layout % own, masks):
                    known = found[layout].get(symbol)
                    if known is None or _held(stroke) < _held(known):
                        found[layout][symbol] = stroke
        return found
    finally:
        library.xkb_keymap_unref(compiled)
        library.xkb_context_unref(context)


def _held(stroke: Stroke) -> int:
    return stroke.shift + 2 * stroke.level3


def _on_key(keymap: int, key: int, layout: int, known: tuple[int, int]) -> Iterator[tuple[str, Stroke]]:
    """Yield the symbols of a key that nothing but shift and the third level is held for."""
    library, symbols = load(), ctypes.POINTER(ctypes.c_uint32)()
    masks = (ctypes.c_uint32 * _MOST_MASKS)()
    shift, level3 = known
    for level in range(library.xkb_keymap_num_levels_for_key(keymap, key, layout)):
        count = library.xkb_keymap_key_get_syms_by_level(keymap, key, layout, level, ctypes.byref(symbols))
        of_level = library.xkb_keymap_key_get_mods_for_level(keymap, key, layout, level, masks, _MOST_MASKS)
        held = next((mask for mask in masks[:of_level] if not mask & ~(shift | level3)), None)
        if count != 1 or held is None:
            continue
        stroke = Stroke(key - _X11_OFFSET, bool(held & shift), bool(held & level3))
        for name in _names(symbols[0]):
            yield name, stroke


def _names(symbol: int) -> Iterator[str]:
    """Yield X's name of a symbol, and the character that it types."""
    library, name = load(), ctypes.create_string_buffer(_NAME_BYTES)
    if library.xkb_keysym_get_name(symbol, name, _NAME_BYTES) > 0:
        told = name.value.decode()
        yield _OTHER_NAMES.get(told, told)
    if name.value.startswith(b"KP_"):  # because num lock changes what they type
        return
    if (code := library.xkb_keysym_to_utf32(symbol)) >= ord(" ") and chr(code).isprintable():
        yield chr(code)
