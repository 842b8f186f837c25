"""The web in cards: a browser's steps share one card, a search shows what it has found."""

from __future__ import annotations

from collections.abc import Iterable

from app.agent import agent_events as agent
from app.base.facts import Failed
from app.base.phrases import Phrase
from app.protocol.call import JsonValue, Media
from app.ui.presenter import cards
from app.ui.presenter.presenter import Presenter
from app.ui.presenter.view import BrowserStep, Card, Source, Status, View


def shown(events: Iterable[agent.AgentEvent]) -> list[Card]:
    view = View()
    for event in events:
        view = Presenter().after(view, event, 0.0)
    return [item for item in view.items if isinstance(item, Card)]


def step(number: int, action: str, **payload: JsonValue) -> list[agent.AgentEvent]:
    call = f"b{number}"
    media = () if action == "close" else (Media(f"picture {number}".encode(), "image/png", 1024, 720),)
    return [
        agent.TagStart(call, "browser_action", {"action": action}),
        agent.ToolFinished(call, "browser_action", True, "browser_action", {"action": action, **payload}, media=media),
    ]


def test_the_steps_of_one_browser_share_a_card() -> None:
    (card,) = shown(
        [
            *step(1, "launch", url="https://a.example"),
            *step(2, "click", x=10, y=20, console=["\x1b[31mred\x1b[0m", {"level": "error", "text": "boom"}]),
        ]
    )
    assert (card.status, card.url, [one.action for one in card.sights]) == (
        Status.OK,
        "https://a.example",
        ["launch", "click"],
    )
    last = card.sights[-1]
    assert last.picture is not None
    assert (last.url, last.picture.ring, last.console) == ("https://a.example", (10, 20), ("red", "error boom"))


def test_after_the_browser_was_closed_or_something_else_was_done_another_card_begins() -> None:
    cards = shown(
        [
            *step(1, "launch", url="https://a.example"),
            *step(2, "close"),
            *step(3, "launch", url="https://b.example"),
            agent.TagStart("x", "open_app", {"name": "Editor"}),
            agent.ToolFinished("x", "open_app", True, "app_opened"),
            *step(4, "click", x=1, y=1),
        ]
    )
    assert [(card.tool, len(card.sights)) for card in cards] == [
        ("browser_action", 2),
        ("browser_action", 1),
        ("open_app", 0),
        ("browser_action", 1),
    ]


def test_a_step_that_fails_leaves_its_sentence_on_the_card() -> None:
    (card,) = shown(
        [
            *step(1, "launch", url="https://a.example"),
            agent.TagStart("b2", "browser_action"),
            agent.ToolFinished(
                "b2", "browser_action", False, "tool_error", facts=(Failed(Phrase("The page does not answer.")),)
            ),
        ]
    )
    assert (card.status, card.sentence, len(card.sights)) == (Status.FAILED, "The page does not answer.", 2)
    assert card.sights[1].picture == card.sights[0].picture


def test_a_long_browsing_stays_within_bounds() -> None:
    (card,) = shown(event for number in range(80) for event in step(number, "click", x=1, y=1))
    assert len(card.sights) == cards.KEPT_SIGHTS
    assert sum(one.picture is not None for one in card.sights) == cards.KEPT_PICTURES
    assert cards.newest_picture(card) is not None


def test_a_search_shows_what_it_has_found_and_nonsense_shows_nothing() -> None:
    results: list[JsonValue] = [
        {"title": "One", "url": "https://one.example", "snippet": "first\nline"},
        {"title": 4, "url": None},
        "not a result",
    ]
    for told, sources in (
        (results, (Source("One", "https://one.example", "first line"),)),
        ("nonsense", ()),
        (None, ()),
    ):
        (card,) = shown(
            [
                agent.TagStart("1", "web_search", {"query": "x"}),
                agent.ToolFinished("1", "web_search", True, "web_search", {"results": told}),
            ]
        )
        assert card.sources == sources


def test_a_console_that_is_one_text_is_read_by_lines() -> None:
    (card,) = shown(step(1, "launch", url="u", console="one\n\ntwo"))
    assert card.sights == (BrowserStep("launch", "u", card.sights[0].picture, ("one", "two")),)
