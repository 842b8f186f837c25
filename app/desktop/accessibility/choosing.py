"""Setting what is not a text: boxes that are ticked, and choices of a combo box."""

from __future__ import annotations

from app.base.clipping import clip_line
from app.base.errors import ToolMisuse
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.nodes import Key, Node
from app.desktop.accessibility.words import flag_called, normal

_DEEPEST = 3
_TOLD = 12
_NAME_CHARACTERS = 40


def wants_press(text: str, *, is_on: bool) -> bool:
    """Whether a box must be pressed to be as `text` says. ToolMisuse when it says neither on nor off."""
    wanted = flag_called(text)
    if wanted is None:
        raise ToolMisuse(f'This is on or off; value is {clip_line(text, _NAME_CHARACTERS)!r}. Write "on" or "off".')
    return wanted != is_on


async def choose(bus: Bus, combo: Key, text: str) -> bool:
    """Choose what is called `text` in a combo box; False when it does not let us (Qt's). ToolMisuse: no such choice."""
    choices = await _choices(bus, combo)
    names = [normal(name) for name in choices]
    if normal(text) not in names:
        told = ", ".join(repr(clip_line(name, _NAME_CHARACTERS)) for name in choices[:_TOLD])
        raise ToolMisuse(f"There is no choice {clip_line(text, _NAME_CHARACTERS)!r} here. There are: {told or 'none'}.")
    try:
        await bus.call(*combo, spi.SELECTION, "SelectChild", "i", names.index(normal(text)))
    except CallRefused:
        return False
    return normal(str(await bus.get(*combo, spi.ACCESSIBLE, "Name"))) == normal(text)


async def _choices(bus: Bus, combo: Key) -> list[str]:
    """The names of what is in a combo box, whether it shows or not."""
    level = [Node(combo)]
    for _ in range(_DEEPEST):
        below = await objects.all_of(bus, objects.children, [node.key for node in level])
        level = [Node(key) for keys in below for key in keys or ()]
        await objects.all_of(bus, objects.name, level)
        if named := [node.name for node in level if node.name.strip()]:
            return named
    return []
