"""What no program describes and nothing is written on is found in a picture, by the model through the vendor's SDK."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image, ImageChops

from app.agent.policy.rules import persons_file
from tests.e2e.conftest import Screen
from tests.support.fixture_window import FixtureWindow
from tests.support.loopback import AnthropicServer
from tests.support.loopback.server import Seen

pytestmark = pytest.mark.long

TARGET = "the blue Share button"
LOOK = f'<locate_screen_element target="{TARGET}"/>'
END = "<attempt_completion><result>Done.</result></attempt_completion>"
SAME = '{"name": "a blue button", "same": true}'
OTHER = '{"name": "a blue stripe", "same": false}'
PLACE, SIZE = (240, 150), (80, 40)


def pictures(body: dict[str, Any]) -> list[Image.Image]:
    found = re.findall(r'"media_type": "image/jpeg", "data": "([^"]+)"', json.dumps(body))
    return [Image.open(io.BytesIO(base64.b64decode(one))).convert("RGB") for one in found]


def blue_in(picture: Image.Image) -> tuple[int, int, int, int]:
    """The box of all that is blue in the picture."""
    red, green, blue = picture.split()
    dark = [255] * 60 + [0] * 196
    mask = ImageChops.multiply(red.point(dark), green.point(dark))
    box = ImageChops.multiply(mask, blue.point([0] * 200 + [255] * 56)).getbbox()
    assert box is not None, "nothing in the picture is blue"
    return box


def seeing(seen: Seen) -> str:
    """The model's answer to the first question: where the blue is, in words around the JSON, and other places."""
    box = list(blue_in(pictures(seen.body)[-1]))
    places = [{"name": "Share button", "box": box}, {"name": "a grey border", "box": [0, 0, 9, 9]}]
    places += [{"name": "outside", "box": [0, 0, 99999, 9]}, {"name": "", "box": [1, 1, 5, 5]}]
    return f"I see it. {json.dumps({'places': places})}"


def clicking(seen: Seen) -> str:
    told = re.search(r'x=\\"(\d+)\\" y=\\"(\d+)\\"\s+capture=\\"(\w+)\\"', json.dumps(seen.body["messages"][-1]))
    assert told is not None, seen.body["messages"][-1]
    x, y, capture = told.groups()
    return f'<computer_click x="{x}" y="{y}" capture="{capture}"/>'


def play(screen: Screen, *replies: str | Callable[[Seen], str], arguments: tuple[str, ...] = ()) -> AnthropicServer:
    server = AnthropicServer(replies=replies)
    with server:
        done = screen.wisp(
            *("do", f"click {TARGET}", "--json", "--allow", "fixture_window.py", "--provider", "anthropic", *arguments),
            WISP_BASE_URL=server.url,
            ANTHROPIC_API_KEY="k",
            WISP_DIALECT="xml",
        )
    assert done.returncode in (0, 1), done.stdout + done.stderr  # a click that shows nothing is not confirmed
    return server


def canvas(screen: Screen) -> FixtureWindow:
    blue = ",".join(map(str, (*PLACE, *SIZE)))
    return FixtureWindow("canvas", "--at", "200,120", "--blue", blue, environment=screen.environment)


def test_what_only_a_picture_shows_is_found_by_two_looks_and_clicked(screen: Screen) -> None:
    with canvas(screen) as window:
        server = play(screen, LOOK, seeing, SAME, clicking, END)
        pressed = window.wait(lambda event: event["event"] == "press")
    left, top = window.ready["x"] + PLACE[0], window.ready["y"] + PLACE[1]
    assert left <= pressed["x"] < left + SIZE[0] and top <= pressed["y"] < top + SIZE[1]
    first, second = server.bodies[1], server.bodies[2]
    assert (len(pictures(first)), len(pictures(second))) == (1, 1)
    assert TARGET in str(first["messages"]) and TARGET in str(second["messages"])
    assert "tools" not in first
    assert blue_in(pictures(second)[0])
    assert pictures(second)[0].size < pictures(first)[0].size
    assert pictures(server.bodies[3]) == [], "a place that was found needs no picture"


def test_what_the_second_look_does_not_confirm_is_not_used_but_listed_beside_the_picture(screen: Screen) -> None:
    with canvas(screen) as window:
        server = play(screen, LOOK, seeing, OTHER, END)
        assert not [event for event in window.quiet() if event["event"] == "press"]
    told = json.dumps(server.bodies[-1]["messages"][-1])
    assert "'Share button' at (" in told and "'a grey border' at (" in told
    assert "outside" not in told
    assert len(pictures(server.bodies[-1])) == 1


def test_no_picture_goes_out_that_the_rules_forbid(screen: Screen) -> None:
    persons_file().write_text('[[rule]]\nname = "no pictures"\ntool = "screen_capture"\nthen = "deny"\n')
    with canvas(screen):
        server = play(screen, LOOK, END)
    assert len(server.bodies) == 2
    assert pictures(server.bodies[-1]) == []
    assert "No picture of it may be taken" in str(server.bodies[-1]["messages"][-1])
