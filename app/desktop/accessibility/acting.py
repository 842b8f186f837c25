"""Operate an object through its own accessibility interfaces, without the mouse."""

from __future__ import annotations

import asyncio

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.phrases import Phrase
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility import objects
from app.desktop.accessibility.bus import Bus, CallRefused, ProgramLeft
from app.desktop.accessibility.matching import flag_called, normal
from app.desktop.accessibility.nodes import Key, Node
from app.desktop.elements import Element, NoAction, TakesNoValue

_DEEPEST = 3
_TOLD = 12
_NAME_CHARACTERS = 40


def wants_press(text: str, *, is_on: bool) -> bool:
    """Return whether a box must be pressed to become what `text` says.

    Raises ToolMisuse if the text means neither on nor off.
    """
    wanted = flag_called(text)
    if wanted is None:
        raise ToolMisuse(f'This is on or off; value is {clip_line(text, _NAME_CHARACTERS)!r}. Write "on" or "off".')
    return wanted != is_on


async def choose(bus: Bus, combo: Key, text: str) -> bool:
    """Choose the entry called `text` in a combo box. Returns False if the program refuses this (Qt programs do), or
    tells of no entries (GTK 4 programs do not while the list is closed).

    Raises ToolMisuse if there is no such entry.
    """
    choices = await _choices(bus, combo)
    names = [normal(choice.name) for choice in choices]
    if not names:
        return False
    if normal(text) not in names:
        told = ", ".join(repr(clip_line(choice.name, _NAME_CHARACTERS)) for choice in choices[:_TOLD])
        raise ToolMisuse(f"There is no choice {clip_line(text, _NAME_CHARACTERS)!r} here. There are: {told}.")
    try:
        await bus.call(*combo, spi.SELECTION, "SelectChild", "i", names.index(normal(text)))
    except CallRefused:  # because Qt's combo boxes refuse SelectChild
        return False
    return normal(text) in (
        normal(str(await bus.get(*combo, spi.ACCESSIBLE, "Name"))),
        normal(await _chosen(bus, combo)),
    )


async def _chosen(bus: Bus, combo: Key) -> str:
    """The chosen entry's name; "" if the program of the combo box does not tell."""
    try:
        entry = Node(tuple((await bus.call(*combo, spi.SELECTION, "GetSelectedChild", "i", 0))[0]))
        await objects.name(bus, entry)
    except CallRefused:  # because nothing may be chosen
        return ""
    return entry.name


async def _choices(bus: Bus, combo: Key) -> list[Node]:
    """Entries that are not visible are included."""
    level = [Node(combo)]
    for _ in range(_DEEPEST):
        below = await objects.all_of(bus, objects.read_children, [node.key for node in level])
        level = [Node(key) for keys in below for key in keys or ()]
        await objects.all_of(bus, objects.name, level)
        if named := [node for node in level if node.name.strip()]:
            return named
    return []


_LIMIT_S = 1.0
_HOLDERS = 4
_WHOLE = 2**31 - 1  # the largest count that AT-SPI can carry, because it counts characters in 32 bits
_EXPANDS = "expand or contract"
_DEFAULT_ACTIONS = ("click", "press", "activate", "jump", "toggle", "open", "select", _EXPANDS, "doDefault")


async def press(bus: Bus, key: Key, element: Element) -> str:
    """Run the default action of an element and return its name. It counts as run even if no answer comes in time.

    Raises NoAction if the element has none that does anything, and ToolFailed if it refuses it.
    """
    names = await _actions(bus, key)
    index = next((names.index(name) for name in _DEFAULT_ACTIONS if name in names), 0)
    if not names or await _only_expands(bus, key, element, index):
        raise NoAction(
            _that(element, "{thing} cannot be pressed by its name."), f"Click it instead: {_click(element)}."
        )
    try:
        async with asyncio.timeout(_LIMIT_S):
            done = (await bus.call(*key, spi.ACTION, "DoAction", "i", index))[0]
    except (TimeoutError, ProgramLeft):  # because the action may be a modal dialog, or the program's end
        return names[index]
    except CallRefused as refused:
        what = _that(element, "{thing} refused to be pressed ({why}).", why=str(refused))
        raise ToolFailed(what, f"Click it: {_click(element)}.") from refused
    if not done:
        what = _that(element, "{thing} did not do {action!r}.", action=names[index])
        raise ToolFailed(what, f"Click it: {_click(element)}.")
    return names[index]


async def _only_expands(bus: Bus, key: Key, element: Element, index: int) -> bool:
    """True if the action would expand what cannot be expanded: GTK 3 offers that for every cell of a list."""
    if element.is_("expandable"):
        return False
    try:
        async with asyncio.timeout(_LIMIT_S):  # GetActions tells the names in the person's language
            name = (await bus.call(*key, spi.ACTION, "GetName", "i", index))[0]
    except (TimeoutError, CallRefused):
        return False
    return str(name).casefold() == _EXPANDS


async def scroll_to(bus: Bus, node: Node) -> bool:
    """Ask an object's program to scroll it into sight. Returns False if the program cannot."""
    try:
        async with asyncio.timeout(_LIMIT_S):
            return bool((await bus.call(*node.key, spi.COMPONENT, "ScrollTo", "u", spi.ANYWHERE))[0])
    except (TimeoutError, CallRefused):  # because a program may lack ScrollTo, or be busy
        return False


async def scroll_list_to(bus: Bus, node: Node) -> bool:
    """Move a list's scroll bar so that the row `node` is visible. Returns False if the list has no scroll bar.

    If three quarters of the rows are before this row, the bar is set to three quarters of its range.
    """
    family = node.parent.children if node.parent else [node]
    cells = [one for one in family if one.role == node.role]  # without the headers, which do not scroll along
    columns = max(sum(one.role in spi.HEADERS for one in family), 1)
    share = (cells.index(node) // columns) / max((len(cells) - 1) // columns, 1)
    try:
        async with asyncio.timeout(_LIMIT_S):
            bar = await _scroll_bar(bus, node)
            if bar is None:
                return False
            least, most = [float(await bus.get(*bar, spi.VALUE, f"{end}Value")) for end in ("Minimum", "Maximum")]
            return await _put(bus, bar, least + (most - least) * share)
    except (TimeoutError, CallRefused):  # because a scroll bar may forbid a new value
        return False


async def _scroll_bar(bus: Bus, node: Node) -> Key | None:
    """The vertical one, of the list that contains a row."""
    for holder in [above for _, above in zip(range(_HOLDERS), node.ancestors(), strict=False)][1:]:
        parts = await objects.described(bus, await objects.read_children(bus, holder.key), holder, hidden_too=True)
        for part in parts:
            if part.role == "scroll bar" and part.has("vertical"):
                return part.key
    return None


async def set_value(bus: Bus, key: Key, element: Element, text: str) -> None:
    """Set an element's text, number, "on" or "off", or combo box entry. Raises TakesNoValue if this is refused."""
    try:
        async with asyncio.timeout(_LIMIT_S):
            taken = await _taken(bus, key, element, text)
    except TimeoutError as late:
        what = Phrase("{app} did not answer in {limit} s.", {"app": element.app, "limit": f"{_LIMIT_S:g}"})
        raise ToolFailed(what, "Look at the screen before trying again.") from late
    except CallRefused as refused:
        what = _that(element, "{thing} takes no text directly ({why}).", why=str(refused))
        raise TakesNoValue(what, "Click it and type instead.") from refused
    if not taken:
        hint = f"Click it ({_click(element)}) and choose or type instead."
        raise TakesNoValue(_that(element, "{thing} did not accept that."), hint)


async def _taken(bus: Bus, key: Key, element: Element, text: str) -> bool:
    if element.role in spi.FLAGS:
        if wants_press(text, is_on=element.is_("checked")):
            await press(bus, key, element)
        return True
    if element.role == "combo box" and not element.is_("editable"):
        return await choose(bus, key, text)
    if element.role in spi.VALUES and not element.is_("editable"):
        return await _set_number(bus, key, element, text)
    return bool((await bus.call(*key, spi.EDITABLE, "SetTextContents", "s", text))[0])


async def whole_text(bus: Bus, key: Key, element: Element) -> str:
    """Return the whole text of an object. Without a text: its value, or "on" or "off" for a check box.

    Returns "" for a password field. Raises ToolFailed if the program does not answer.
    """
    if element.role == spi.SECRET:
        return ""
    if element.role in spi.FLAGS:
        return "on" if element.is_("checked") else "off"
    try:
        async with asyncio.timeout(_LIMIT_S):
            text = await objects.text(bus, Node(key), _WHOLE)
            # Chromium's sliders have a text, too, which is empty.
            return (text or element.value) if text != spi.IN_PLACE_OF_AN_OBJECT else await objects.chosen(bus, key)
    except TimeoutError as late:
        raise ToolFailed(f"{element.app} did not answer in {_LIMIT_S:g} s.", transient=True) from late
    except CallRefused:  # because the object has no text interface
        return element.value or element.name


async def _set_number(bus: Bus, key: Key, element: Element, text: str) -> bool:
    try:
        number = float(text)
    except ValueError:
        raise ToolFailed(_that(element, "{thing} takes a number, not {text!r}.", text=text)) from None
    return await _put(bus, key, number)


async def _put(bus: Bus, key: Key, number: float) -> bool:
    from dbus_fast import Variant

    await bus.call(*key, spi.PROPERTIES, "Set", "ssv", spi.VALUE, "CurrentValue", Variant("d", number))
    return True


async def _actions(bus: Bus, key: Key) -> list[str]:
    try:
        async with asyncio.timeout(_LIMIT_S):
            return [str(action[0]) for action in (await bus.call(*key, spi.ACTION, "GetActions"))[0]]
    except TimeoutError as late:
        raise ToolFailed("The program does not answer.", transient=True) from late
    except CallRefused:  # because the object has no action interface
        return []


def _that(element: Element, said: str, **values: str) -> Phrase:
    return Phrase(said, {"thing": element.called(), **values})


def _click(element: Element) -> str:
    return f"computer_click ref={element.ref!r}"
