"""Anthropic's computer and browser tools as calls of ours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, get_args

import pytest
from anthropic.types.computer_member_name import ComputerMemberName

from app.assembly import registry
from app.base.errors import ToolMisuse
from app.base.geometry import Size
from app.protocol.arguments import to_call
from app.protocol.call import Block
from app.providers.anthropic.browser_toolset import BROWSER_MEMBERS, BROWSER_TOOLSET, to_browser_call, with_browser
from app.providers.anthropic.computer_toolset import MEMBERS, TOOLSET, Member, declared, to_our_call

SCREEN = Size(1280, 800)
OURS = sorted({member.tool for member in MEMBERS.values()} - {"cursor_position"})


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "description": "", "input_schema": {"type": "object"}} for name in names]


def test_every_member_of_the_toolset_is_known() -> None:
    assert set(MEMBERS) == set(get_args(ComputerMemberName))


@pytest.mark.parametrize(
    ("member", "args", "tool", "ours"),
    [
        ("screenshot", {}, "screen_capture", {}),
        ("left_click", {"coordinate": [3, 4], "text": None}, "computer_click", {"x": 3, "y": 4}),
        ("middle_click", {"coordinate": [3, 4]}, "computer_click", {"button": "middle", "x": 3, "y": 4}),
        ("mouse_move", {"coordinate": [3, 4]}, "computer_move", {"x": 3, "y": 4}),
        ("scroll", {"scroll_direction": "down", "scroll_amount": 5}, "computer_scroll", {"dy": 5}),
        ("key", {"text": "ctrl+s"}, "computer_key", {"keys": "ctrl+s"}),
        ("wait", {"duration": 2}, "wait", {"seconds": 2}),
    ],
)
def test_a_member_becomes_a_call_of_ours(member: str, args: dict[str, Any], tool: str, ours: dict[str, Any]) -> None:
    assert to_our_call(member, args) == (tool, ours)


@pytest.mark.parametrize(
    ("member", "args"),
    [
        ("left_click", {"coordinate": "3,4"}),
        ("left_click", {"coordinate": 3}),
        ("scroll", {"scroll_direction": "sideways", "scroll_amount": 1}),
        ("scroll", {"scroll_direction": "down"}),
        ("hold_key", {"text": "a", "duration": "long"}),
        ("type", {}),
    ],
)
def test_arguments_of_another_shape_are_left_for_our_tool_to_refuse(member: str, args: dict[str, Any]) -> None:
    assert to_our_call(member, args) == (MEMBERS[member].tool, args)


def test_an_unknown_member_is_no_tool_of_ours() -> None:
    assert to_our_call("fly", {"to": "Rome"}) == ("computer.fly", {"to": "Rome"})


def test_the_toolset_replaces_what_it_covers_and_switches_off_what_we_lack() -> None:
    assert declared(TOOLSET, tools(*OURS, "open_app"), SCREEN) == [
        {"type": TOOLSET, "configs": {"cursor_position": {"enabled": False}}},
        *tools("computer_click", "open_app"),
    ]


def test_older_models_get_the_older_tool_with_the_size_of_the_pictures() -> None:
    assert declared("computer_20251124", tools(*OURS, "open_app"), SCREEN) == [
        {
            "type": "computer_20251124",
            "name": "computer",
            "display_width_px": 1280,
            "display_height_px": 800,
            "enable_zoom": True,
        },
        *tools("computer_click", "open_app"),
    ]
    oldest = declared("computer_20250124", tools(*OURS), SCREEN)
    assert oldest[0] == {
        "type": "computer_20250124",
        "name": "computer",
        "display_width_px": 1280,
        "display_height_px": 800,
    }
    assert [one["name"] for one in oldest[1:]] == [name for name in OURS if name in ("computer_click", "zoom")]


def test_without_a_screen_to_drive_or_a_tool_to_declare_ours_stay_ours() -> None:
    assert declared(TOOLSET, tools("wait", "read_file"), SCREEN) == tools("wait", "read_file")
    assert declared("", tools(*OURS), SCREEN) == tools(*OURS)


def test_our_click_stays_for_names_and_refs_and_leaves_places_to_the_vendor() -> None:
    places = {name: {"type": "string"} for name in ("x", "y", "capture", "space")}
    shape = {"type": "object", "properties": {"target": {"type": "string"}, **places}}
    ours = [
        {"name": "computer_click", "description": "Click.", "input_schema": shape},
        *tools("screen_capture"),
    ]
    [_, click] = declared(TOOLSET, ours, SCREEN)
    assert click["input_schema"] == {"type": "object", "properties": {"target": {"type": "string"}}}


PAGES = ("browser_action", "open_app")


@pytest.mark.parametrize(
    ("member", "args", "ours"),
    [
        ("navigate", {"url": "https://example.com/a"}, {"action": "launch", "url": "https://example.com/a"}),
        ("navigate", {"url": "back", "tab_id": "2"}, {"action": "back", "number": 2}),
        ("left_click", {"target": {"type": "coordinate", "x": 3, "y": 4}}, {"action": "click", "coordinate": "3,4"}),
        (
            "scroll",
            {"scroll_direction": "down", "scroll_amount": 3, "target": {"type": "coordinate", "x": 5, "y": 6}},
            {"action": "scroll_down", "coordinate": "5,6"},
        ),
        ("key", {"text": "Return"}, {"action": "press", "keys": "Return"}),
        ("get_page_text", {}, {"action": "read"}),
        ("switch_tab", {"tab_id": "2"}, {"action": "tab", "number": 2}),
    ],
)
def test_a_member_of_the_browser_tools_becomes_an_action_of_ours(
    member: str, args: dict[str, Any], ours: dict[str, Any]
) -> None:
    expected = {"action": "type", **ours} if member == "form_input" else ours
    assert to_browser_call(member, args) == ("browser_action", expected)


@pytest.mark.parametrize(
    ("member", "args"),
    [
        ("scroll", {"scroll_direction": "left"}),
        ("left_click", {"target": "e7"}),
        ("switch_tab", {"tab_id": "second"}),
        ("navigate", {"url": None}),
    ],
)
def test_what_our_browser_cannot_do_is_left_for_it_to_refuse(member: str, args: dict[str, Any]) -> None:
    tool, passed = to_browser_call(member, args)
    assert tool == "browser_action"
    assert "launch" not in passed.values()


_OTHER_TYPES: tuple[Any, ...] = (
    None,
    True,
    7,
    2.5,
    1e308,
    math.inf,
    "",
    "x",
    [],
    [1, 2],
    ["x"],
    {},
    {"type": "ref"},
    {"x": []},
)


@pytest.mark.parametrize(
    ("members", "to_ours"), [(BROWSER_MEMBERS, to_browser_call), (MEMBERS, to_our_call)], ids=["browser", "computer"]
)
def test_values_of_another_type_become_a_call_or_a_sentence(
    members: Mapping[str, Member], to_ours: Callable[[str, dict[str, Any]], tuple[str, Mapping[str, Any]]]
) -> None:
    known = registry()
    names = {name for member in members.values() for name in (*member.spelled, *(member.joined or ((),))[0])}
    for member, name, value in itertools.product(members, sorted(names | {"text", "ref"}), _OTHER_TYPES):
        tool, ours = to_ours(member, {name: value})
        if spec := known.find(tool):
            with suppress(ToolMisuse):
                to_call(spec, Block("c1", tool, args=ours))


@pytest.mark.parametrize("url", [7, ["https://example.com"], {"to": "example.com"}, True])
@pytest.mark.feature("browser")
def test_an_address_that_is_no_text_is_named_as_that(url: Any) -> None:
    tool, ours = to_browser_call("navigate", {"url": url})
    spec = registry().find(tool)
    assert spec is not None
    with pytest.raises(ToolMisuse, match=r"^url must be text, not ") as refused:
        to_call(spec, Block("c1", tool, args=ours))
    assert "\n" not in str(refused.value)


def test_every_member_of_the_vendors_browser_tools_is_carried_out_or_switched_off() -> None:
    from anthropic._data import BROWSER_TOOLSET_MEMBERS

    [entry, _, _] = with_browser(tools(*PAGES))
    off = set(entry["configs"])
    on = {name for name, member in BROWSER_TOOLSET_MEMBERS.items() if member["enabled_by_default"]}
    assert on == set(BROWSER_MEMBERS) | off
    assert not off & set(BROWSER_MEMBERS)
    assert entry == {"type": BROWSER_TOOLSET, "configs": {name: {"enabled": False} for name in sorted(off)}}


def test_our_browser_tool_stays_for_what_the_vendors_lack_and_without_it_nothing_is_added() -> None:
    shape = {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["launch", "click", "close", "download", "upload"]},
            "coordinate": {"type": "string"},
            "attach": {"type": "boolean"},
        },
    }
    ours = [*tools("open_app"), {"name": "browser_action", "description": "Use pages.", "input_schema": shape}]
    [before, entry, beside] = with_browser(ours)
    assert (before, entry["type"]) == (tools("open_app")[0], BROWSER_TOOLSET)
    assert sorted(beside["input_schema"]["properties"]) == ["action", "attach"]
    assert beside["input_schema"]["properties"]["action"]["enum"] == ["launch", "close", "download", "upload"]
    assert with_browser(tools("open_app")) == tools("open_app")
