"""What programs say that changed, in sentences: said once, clipped, and nothing of a password."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from dbus_fast import Message, MessageType, Variant

from app.base.facts import Became, Came, Change, ControlChanged, Fact, MenuClosed, Named, StateNow, ValueNow, Went
from app.base.geometry import Rect
from app.desktop.accessibility import acting
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.changes import ChangeFeed, LastRead
from app.desktop.accessibility.nodes import Node, Program
from app.desktop.elements import Changed, Element, NoAction

_PROGRAM = ":1.7"
_SHOWING = spi.BITS["showing"] | spi.BITS["visible"]


class Programs(Bus):
    """A bus with one program on it; `objects` are its objects by path: role, name, text, children."""

    def __init__(self) -> None:
        super().__init__({})
        self.objects: dict[str, tuple[str, str, str, tuple[str, ...]]] = {}
        self.hidden: set[str] = set()
        self.tell: Callable[[Message], None] = lambda _: None

    async def on_message(self, handler: Callable[[Message], None], ready: Callable[[], Awaitable[None]]) -> None:
        self.tell = handler

    async def call(self, _name: str, path: str, _interface: str, member: str, *_: Any) -> list[Any]:
        role, _, text, children = self._object(path)
        states = 0 if path in self.hidden else _SHOWING
        answers: dict[str, list[Any]] = {
            "GetState": [[states & 0xFFFFFFFF, states >> 32]],
            "GetRole": [spi.ROLES.index(role)],
            "GetText": [text],
            "GetChildren": [[(_PROGRAM, child) for child in children]],
            "GetExtents": [(len(path) * 100, 0, 10, 10)],
        }
        return answers[member]

    async def get(self, _name: str, path: str, _interface: str, name: str) -> Any:
        _, called, text, _ = self._object(path)
        return {"Name": called, "CharacterCount": len(text)}[name]

    def _object(self, path: str) -> tuple[str, str, str, tuple[str, ...]]:
        if path not in self.objects:
            raise CallRefused("gone")
        return self.objects[path]

    def event(self, path: str, member: str, detail: str, number: int, told: Variant | None = None) -> None:
        body = [detail, number, 0, told or Variant("i", 0), {}]
        self.tell(
            Message(
                message_type=MessageType.SIGNAL,
                sender=_PROGRAM,
                path=path,
                interface="org.a11y.atspi.Event.Object",
                member=member,
                signature="siiva{sv}",
                body=body,
            )
        )


@pytest.fixture
async def programs() -> Programs:
    return Programs()


async def _told(programs: Programs, last_read: LastRead, *events: tuple[Any, ...]) -> tuple[Fact, ...]:
    return (await _changed(programs, last_read, *events)).lines


_BOX = Named("check box", "Agree")


async def _changed(programs: Programs, last_read: LastRead, *events: tuple[Any, ...]) -> Changed:
    feed = ChangeFeed(programs, lambda _: None, last_read, limit_s=60)  # so that a busy machine cuts no list short
    await feed.listen()
    following = feed.follow(frozenset({_PROGRAM}))
    for event in events:
        programs.event(*event)
    told = await following.told(Rect(0, 0, 10, 10))
    following.close()
    return told


def _read(*nodes: tuple[str, str, str], states: int = _SHOWING) -> LastRead:
    """A window that held these when it was read: path, role, name."""
    last_read, window = LastRead(), Node((_PROGRAM, "/window"), "frame")
    window.children = [Node((_PROGRAM, path), role, name, states=states) for path, role, name in nodes]
    last_read.keep(Program(_PROGRAM, windows=[window]))
    return last_read


async def test_a_text_that_changed_is_told_with_what_it_was(programs: Programs) -> None:
    programs.objects["/a"] = ("label", "1 item", "", ())
    told = await _told(programs, _read(("/a", "label", "0 items")), ("/a", "PropertyChange", "accessible-name", 0))
    assert told == (Became(Named("label", "0 items"), "1 item"),)


@pytest.mark.parametrize(
    ("states", "told"),
    [
        (_SHOWING, (StateNow(_BOX, "checked", is_on=True),)),
        (_SHOWING | spi.BITS["indeterminate"], (StateNow(_BOX, "indeterminate", is_on=False),)),
    ],
)
async def test_a_tick_is_not_hidden_by_a_state_that_the_box_never_had(
    programs: Programs, states: int, told: tuple[Fact, ...]
) -> None:
    programs.objects["/a"] = ("check box", "Agree", "", ())
    events = (("/a", "StateChanged", "checked", 1), ("/a", "StateChanged", "indeterminate", 0))  # as GTK 4 sends them
    assert await _told(programs, _read(("/a", "check box", "Agree"), states=states), *events) == told


@pytest.mark.parametrize(
    ("is_vague", "told"), [(True, (StateNow(Named("toggle button", "Bold"), "pressed", is_on=True),)), (False, ())]
)
async def test_a_button_that_is_held_down_is_no_effect_and_one_that_stays_down_is(
    programs: Programs, told: tuple[Fact, ...], *, is_vague: bool
) -> None:
    programs.objects["/a"] = ("button", "Bold", "", ())
    programs.vague |= {_PROGRAM} if is_vague else set()
    assert await _told(programs, _read(("/a", "button", "Bold")), ("/a", "StateChanged", "pressed", 1)) == told


@pytest.mark.parametrize(
    ("role", "name", "told"),
    [
        ("label", "", ()),
        ("label", "Sum", (ControlChanged(Named("label", "Sum")),)),
        ("text", "", (ControlChanged(Named("text", "")),)),
    ],
)
async def test_what_has_no_name_and_tells_no_text_is_no_news(
    programs: Programs, role: str, name: str, told: tuple[Fact, ...]
) -> None:
    programs.objects["/a"] = (role, name, "", ())  # as LibreOffice's status bar, some time after an act
    assert await _told(programs, LastRead(), ("/a", "TextChanged", "insert", 0)) == told


async def test_nothing_of_a_password_is_told(programs: Programs) -> None:
    programs.objects["/a"] = ("password text", "Password", "hunter2", ())
    told = await _told(programs, LastRead(), ("/a", "TextChanged", "insert", 0, Variant("s", "hunter2")))
    assert told == (ControlChanged(Named("password text", "Password"), Change.TEXT),)


async def test_what_came_is_listed_in_one_line_and_what_went_by_its_last_name(programs: Programs) -> None:
    programs.objects |= {
        "/list": ("list", "", "", ("/b",)),
        "/b": ("panel", "", "", ("/c", "/d")),
        "/c": ("button", "Save", "", ()),
        "/d": ("button", "Cancel", "", ()),
    }
    told = await _told(
        programs,
        _read(("/old", "button", "Close")),
        ("/list", "ChildrenChanged", "remove", 0, Variant("(so)", (_PROGRAM, "/old"))),
        ("/list", "ChildrenChanged", "add", 0, Variant("(so)", (_PROGRAM, "/b"))),
    )
    assert told == (
        Came((Named("button", "Save"), Named("button", "Cancel"))),
        Went((Named("button", "Close"),)),
    )


async def test_at_most_twelve_lines_are_told_the_nearest_first(programs: Programs) -> None:
    paths = ["/" + "x" * count for count in range(1, 21)]
    programs.objects |= {path: ("check box", path, "", ()) for path in paths}
    told = await _told(programs, LastRead(), *((path, "StateChanged", "checked", 1) for path in reversed(paths)))
    assert told == tuple(StateNow(Named("check box", path), "checked", is_on=True) for path in paths[:12])


@pytest.mark.parametrize(
    ("hidden", "event", "is_in_sight"),
    [
        ((), ("/undo", "StateChanged", "sensitive", 0), True),
        (("/undo",), ("/undo", "StateChanged", "sensitive", 0), False),
        ((), ("/list", "ChildrenChanged", "add", 0, Variant("(so)", (_PROGRAM, "/bare"))), True),
        (("/list",), ("/list", "ChildrenChanged", "add", 0, Variant("(so)", (_PROGRAM, "/bare"))), False),
    ],
)
async def test_what_nobody_can_see_informs_and_proves_nothing(
    programs: Programs, hidden: tuple[str, ...], event: tuple[Any, ...], is_in_sight: bool
) -> None:
    programs.objects |= {
        "/undo": ("menu item", "Undo", "", ()),
        "/list": ("list", "", "", ("/bare",)),
        "/bare": ("panel", "", "", ()),
    }
    programs.hidden |= set(hidden)
    told = await _changed(programs, LastRead(), event)
    assert (bool(told.lines), told.is_in_sight) == (True, is_in_sight)


async def test_what_nobody_sees_is_told_only_where_nothing_else_changed(programs: Programs) -> None:
    programs.objects |= {"/undo": ("menu item", "Undo", "", ()), "/a": ("check box", "Agree", "", ())}
    programs.hidden.add("/undo")
    unseen = ("/undo", "StateChanged", "sensitive", 1)
    assert await _told(programs, LastRead(), unseen) == (StateNow(Named("menu item", "Undo"), "sensitive", is_on=True),)
    both = await _told(programs, LastRead(), unseen, ("/a", "StateChanged", "checked", 1))
    assert both == (StateNow(_BOX, "checked", is_on=True),)


async def test_a_clock_stays_one_during_a_run_of_acts() -> None:
    programs, now = Programs(), [100.0]
    programs.objects["/clock"] = ("label", "second 9", "", ())
    feed = ChangeFeed(programs, lambda _: None, LastRead(), lambda: now[0], limit_s=60)
    await feed.listen()

    def tick() -> None:
        now[0] += 0.5
        programs.event("/clock", "PropertyChange", "accessible-name", 0)

    tick(), tick()
    for _ in range(8):
        following = feed.follow(frozenset({_PROGRAM}))
        tick()
        assert (await following.told()).lines == ()
        following.close()
    now[0] += 9
    following = feed.follow(frozenset({_PROGRAM}))
    tick()
    assert (await following.told()).lines != ()


async def test_a_slider_whose_text_is_empty_is_read_by_its_number(programs: Programs) -> None:
    programs.objects["/volume"] = ("slider", "Volume", "", ())
    slider = Element("e1", "slider", "Volume", "40", Rect(0, 0, 10, 10), frozenset(), "World", "chromium", 7)
    assert await acting.whole_text(programs, (_PROGRAM, "/volume"), slider) == "40"


@pytest.mark.parametrize(
    ("name", "is_weak"),
    [("Places", True), ("Recent", False)],
    ids=["a name that is told again proves nothing", "another name proves something"],
)
async def test_parts_that_go_away_prove_little_whatever_is_reported_without_a_change(
    programs: Programs, name: str, is_weak: bool
) -> None:
    programs.objects["/places"] = ("scroll pane", name, "", ())
    last_read = _read(("/desktop", "label", "Desktop"), ("/places", "scroll pane", "Places"))
    gone, told_again = ("/desktop", "StateChanged", "showing", 0), ("/places", "PropertyChange", "accessible-name", 0)
    changed = await _changed(programs, last_read, gone, told_again)
    assert (changed.lines[-1], changed.is_weak) == (Went((Named("label", "Desktop"),)), is_weak)


async def test_a_text_without_a_name_that_holds_something_else_proves_something(programs: Programs) -> None:
    programs.objects["/display"] = ("text", "", "7", ())
    changed = await _changed(programs, LastRead(), ("/display", "TextChanged", "insert", 0))
    assert (changed.lines, changed.is_weak) == ((ValueNow(Named("text", ""), "7"),), False)


@pytest.mark.parametrize(("path", "is_new"), [(spi.ROOT, True), ("/panel", False)])
async def test_a_window_that_a_program_has_made_is_known_before_it_is_on_the_screen(
    programs: Programs, path: str, is_new: bool
) -> None:
    programs.objects |= {"/dialog": ("dialog", "Save As", "", ()), "/ok": ("button", "OK", "", ())}
    made = (path, "ChildrenChanged", "add", 0, Variant("(so)", (_PROGRAM, "/dialog")))
    changed = await _changed(programs, LastRead(), made, ("/ok", "StateChanged", "showing", 1))
    assert (changed.lines, changed.has_new_window) == ((Came((Named("button", "OK"),)),), is_new)


async def test_a_menu_that_closes_is_told_as_no_more_than_that(programs: Programs) -> None:
    programs.objects = {
        "/cut": ("menu item", "Cut", "", ()),
        "/edit": ("menu", "Edit", "", ()),
        "/bar": ("menu bar", "", "", ()),
    }
    programs.hidden = {"/cut"}
    last_read = _read(("/cut", "menu item", "Cut"), ("/edit", "menu", "Edit"), ("/bar", "menu bar", ""))
    closing = (
        ("/cut", "StateChanged", "showing", 0),
        ("/edit", "StateChanged", "selected", 0),
        ("/bar", "SelectionChanged", "", 0),
    )
    told = await _changed(programs, last_read, *closing)
    assert (told.lines, told.is_menu) == ((MenuClosed(),), True)
    programs.objects["/tick"] = ("check menu item", "Wrap", "", ())
    programs.hidden |= {"/tick"}
    ticked = await _changed(programs, last_read, *closing, ("/tick", "StateChanged", "checked", 1))
    assert StateNow(Named("check menu item", "Wrap"), "checked", is_on=True) in ticked.lines
    assert not ticked.is_menu


async def test_what_was_so_before_is_no_change(programs: Programs) -> None:
    programs.objects = {"/count": ("text", "Count", "0", ()), "/tab": ("page tab", "General", "", ())}
    last_read = _read(
        ("/count", "text", "Count"), ("/tab", "page tab", "General"), states=_SHOWING | spi.BITS["selected"]
    )
    count = last_read.node((_PROGRAM, "/count"))
    assert count is not None
    count.value = "0"
    events = (("/count", "TextChanged", "insert", 0), ("/tab", "StateChanged", "selected", 1))
    assert await _told(programs, last_read, *events) == ()
    count.value = "7"
    for value in ("0", "7", "0"):  # a display that is cleared and filled again
        programs.objects["/count"] = ("text", "Count", value, ())
        assert await _told(programs, last_read, events[0]) == (ValueNow(Named("text", "Count"), value),)


async def test_what_is_only_made_anew_is_neither_new_nor_gone(programs: Programs) -> None:
    programs.objects = {"/new": ("icon", "b.txt", "", ()), "/other": ("icon", "c.txt", "", ())}
    last_read = _read(("/old", "icon", "b.txt"), ("/left", "icon", "a.txt"))
    gone = [(path, "StateChanged", "showing", 0) for path in ("/old", "/left")]
    came = [(path, "StateChanged", "showing", 1) for path in ("/new", "/other")]
    told = await _changed(programs, last_read, *gone, *came)
    assert told.lines == (Came((Named("icon", "c.txt"),)), Went((Named("icon", "a.txt"),)))
    assert ("icon", "b.txt") in told.known


async def test_ticks_in_a_menu_are_told_only_where_it_is_known_of_what(programs: Programs) -> None:
    programs.objects = {path: ("check menu item", "", "", ()) for path in ("/one", "/two")}
    events = [(path, "StateChanged", "checked", 1) for path in ("/one", "/two")]
    assert len(await _told(programs, LastRead(), events[0])) == 1
    assert await _told(programs, LastRead(), *events) == ()
    programs.objects["/two"] = ("check menu item", "Wrap", "", ())
    told = await _told(programs, LastRead(), *events)
    assert told == (StateNow(Named("check menu item", "Wrap"), "checked", is_on=True),)


@pytest.mark.parametrize("expandable", [True, False])
async def test_a_row_is_expanded_only_where_it_can_be(monkeypatch: pytest.MonkeyPatch, *, expandable: bool) -> None:
    answers = {"GetActions": [[("Expandir", "", "")]], "GetName": ["expand or contract"], "DoAction": [True]}

    async def call(*asked: Any) -> list[Any]:
        return answers[asked[3]]

    programs = Programs()
    monkeypatch.setattr(programs, "call", call)
    states = frozenset({"expandable"} if expandable else ())
    row = Element("e1", "table cell", "Pear", "", Rect(0, 0, 10, 10), states, "World", "zenity", 7)
    if expandable:
        assert await acting.press(programs, (_PROGRAM, "/row"), row) == "Expandir"
    else:
        with pytest.raises(NoAction):
            await acting.press(programs, (_PROGRAM, "/row"), row)
