"""Anthropic's computer tools as calls of ours."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from anthropic.types.computer_member_name import ComputerMemberName

from app.base.geometry import Size
from app.providers.anthropic.computer_toolset import MEMBERS, TOOLSET, declared, to_our_call

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
        ("zoom", {"region": [10, 20, 110, 220]}, "zoom", {"region": "10,20,110,220"}),
        ("left_click", {"coordinate": [3, 4]}, "computer_click", {"x": 3, "y": 4}),
        ("left_click", {"coordinate": [3, 4], "text": None}, "computer_click", {"x": 3, "y": 4}),
        ("left_click", {"text": "ctrl"}, "computer_click", {"modifiers": "ctrl"}),
        ("right_click", {"coordinate": [3, 4]}, "computer_click", {"button": "right", "x": 3, "y": 4}),
        ("middle_click", {"coordinate": [3, 4]}, "computer_click", {"button": "middle", "x": 3, "y": 4}),
        ("double_click", {"coordinate": [3, 4]}, "computer_click", {"count": 2, "x": 3, "y": 4}),
        ("triple_click", {"coordinate": [3, 4]}, "computer_click", {"count": 3, "x": 3, "y": 4}),
        (
            "left_click_drag",
            {"start_coordinate": [1, 2], "coordinate": [3, 4], "text": "shift"},
            "computer_drag",
            {"path": "1,2 3,4", "modifiers": "shift"},
        ),
        ("mouse_move", {"coordinate": [3, 4]}, "computer_move", {"x": 3, "y": 4}),
        ("left_mouse_down", {}, "mouse_down", {}),
        ("left_mouse_up", {}, "mouse_up", {}),
        ("scroll", {"scroll_direction": "down", "scroll_amount": 5}, "computer_scroll", {"dy": 5}),
        (
            "scroll",
            {"scroll_direction": "left", "scroll_amount": 2, "coordinate": [3, 4], "text": "ctrl"},
            "computer_scroll",
            {"dx": -2, "x": 3, "y": 4, "modifiers": "ctrl"},
        ),
        ("type", {"text": "Grüße\n"}, "computer_type", {"text": "Grüße\n"}),
        ("key", {"text": "ctrl+s"}, "computer_key", {"keys": "ctrl+s"}),
        ("key", {"text": "Down", "repeat": 3}, "computer_key", {"keys": "Down", "repeat": 3}),
        ("hold_key", {"text": "shift", "duration": 2}, "computer_key", {"keys": "shift", "hold_ms": 2000}),
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
