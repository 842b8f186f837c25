"""What the registry refuses."""

from __future__ import annotations

import pytest

from app.protocol.spec import Effect, Gesture, ScreenAim, ToolSpec, unbound
from app.tools.registry import Family, Registry


def _desktop_tool(
    name: str, *steps: str, aim: ScreenAim | None = ScreenAim.NONE, gesture: Gesture | None = None
) -> ToolSpec:
    return ToolSpec(name, "A tool.", Effect.DESKTOP, unbound, aim=aim, gesture=gesture, steps=steps)


@pytest.mark.parametrize("aim", [None, ScreenAim.POINT, ScreenAim.ELEMENT])
def test_a_desktop_tool_that_does_not_say_what_it_does_to_the_screen_is_refused(aim: ScreenAim | None) -> None:
    with pytest.raises(ValueError, match="insert_text does not say what it does to the screen"):
        Registry(Family(object, (_desktop_tool("insert_text", aim=aim),)))


def test_two_tools_cannot_be_the_same_step_of_a_batch() -> None:
    with pytest.raises(ValueError, match="Two tools are the step 'click'"):
        Registry(Family(object, (_desktop_tool("a", "click"), _desktop_tool("b", "click"))))


def test_a_step_is_found_by_its_own_name_only() -> None:
    click = _desktop_tool("computer_click", "click", aim=ScreenAim.POINT, gesture=Gesture.CLICK)
    registry = Registry(Family(object, (click,)))
    assert (registry.find_step("click"), registry.find_step("computer_click")) == (click, None)
