"""A goal on a real screen, set by a model through the vendor's real SDK: looked at, reached, told with a picture."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Screen
from tests.support.loopback import AnthropicServer
from tests.support.observer import text_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.long


def test_a_goal_is_reached_on_the_screen_and_its_last_picture_is_seen(screen: Screen) -> None:
    replies = [
        "<computer_use>Open the calculator and work out 12*7. Reached when it shows 84.</computer_use>",
        '<open_app name="calculator"/>',
        "<computer_type>12*7=</computer_type>",
        '<wait_for text="84" limit_s="20"/>',
        "<attempt_completion><result>The display reads 84.</result></attempt_completion>",
        "<attempt_completion><result>12 times 7 is 84.</result></attempt_completion>",
    ]
    with AnthropicServer(replies=replies) as server:
        done = screen.wisp(
            *("do", "what is 12*7 in the calculator?", "--json", "--provider", "anthropic"),
            WISP_BASE_URL=server.url,
            ANTHROPIC_API_KEY="k",
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert eventually(lambda: text_of("galculator", environment=screen.environment).strip() == "84")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    cards = [event for event in events if event["event"] == "tag_start" and not event["voiced"]]
    outer = cards[0]["call_id"]
    assert [(card["tool"], card["within"]) for card in cards] == [
        ("computer_use", ""), ("open_app", outer), ("computer_type", outer), ("wait_for", outer),
    ]  # fmt: skip
    last = server.requests[-1].body["messages"][-1]["content"]
    assert [part["type"] for part in last if part["type"] == "image"] == ["image"]
    assert "It says that the goal is reached: The display reads 84." in str(last)
