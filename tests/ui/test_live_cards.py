"""The cards of features: their buttons, which of them follow what they show, and what a fault costs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from app.agent import agent_events
from app.agent.agent_events import Media
from app.base.phrases import Phrase
from app.base.values import replace
from app.ui.cards.kinds import REVIVE, CardActions, CardContent, CardKind, Offered
from app.ui.cards.live import MOST_LIVE
from app.ui.presence import Presence
from app.ui.presenter.view import PressCard
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent
from tests.ui.shown_cards import call, cards, picture, show, views

_TOOL, _KIND = "create_app", "app"
"""A tool whose words name a kind of card. The kind that the tests bring has nothing of the feature's."""


class Notes(CardKind):
    """A kind of card with a text and a button, as another package may bring it."""

    is_live = True

    def __init__(self) -> None:
        self.looked_at: list[str] = []
        self.offered: object = None

    def shown(self, payload: Mapping[str, object], /) -> CardContent | None:
        about = {"id": str(payload["id"])}
        return CardContent(Phrase("3 notes"), {"more": Phrase("More")}, about=about, is_live=True)

    async def press(self, button: str, content: CardContent, does: CardActions, /) -> None:
        self.offered = does.offered(Notes)
        does.show(replace(content, line=Phrase("4 notes")))
        does.tell(f"{button} of {content.about['id']}")

    async def renewed(self, content: CardContent, offered: Offered, /) -> CardContent:
        self.looked_at.append(content.about["id"])
        drawn: Media = picture("red")
        return replace(content, picture=drawn, is_live=True)

    def rested(self, content: CardContent, /) -> CardContent:
        return replace(content, buttons={REVIVE: Phrase("Revive")}, is_live=False)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def kinds(notes: Notes) -> Mapping[str, CardKind]:
    return {_KIND: notes}


def test_a_card_shows_what_its_kind_says_and_a_press_reaches_the_kind(
    presence: Presence, agent: FakeAgent, notes: Notes, drive: Drive
) -> None:
    agent.offers[Notes] = notes

    async def person() -> None:
        show(presence, call(1, _TOOL, {"id": "n1"}))
        await until(lambda: bool(views(presence)))
        [view] = views(presence)
        assert [button.text() for button in view.buttons.values()] == ["More"]
        view.buttons["more"].click()
        await until(lambda: [card.content and card.content.line for card in cards(presence)] == [Phrase("4 notes")])

    drive(person())
    assert [item.sentence for item in presence.inbox.view.items[-1:]] == ["more of n1"]  # type: ignore[union-attr]
    assert notes.offered is notes


def _live(presence: Presence) -> list[str]:
    return [card.content.about["id"] for card in cards(presence) if card.content and card.content.is_live]


def test_five_cards_are_live_and_a_press_revives_an_older_one(presence: Presence, notes: Notes, drive: Drive) -> None:
    names = [f"n{number}" for number in range(MOST_LIVE + 2)]

    async def person() -> None:
        show(presence, [one for at, name in enumerate(names) for one in call(at, _TOOL, {"id": name})])
        await until(lambda: _live(presence) == names[-MOST_LIVE:])
        presence.cards.press(PressCard(REVIVE, cards(presence)[0]))
        await until(lambda: _live(presence) == [names[0], *names[-MOST_LIVE + 1 :]])
        presence.close()
        await until(lambda: not presence.is_open)
        notes.looked_at.clear()

    drive(person())
    assert notes.looked_at == [], "nothing is looked at while the bubble is closed"


def test_a_card_of_a_feature_stays_in_sight_when_the_steps_fold(presence: Presence, drive: Drive) -> None:
    async def person() -> None:
        steps = [one for at in range(3) for one in call(at, "list_surfaces", {})]
        made = call(9, _TOOL, {"id": "n1"})
        ended = agent_events.TurnEnded("t1", agent_events.Outcome.FINISHED, "It is open.")
        show(presence, [*steps, *made, ended])
        await until(lambda: bool(views(presence)))

    drive(person())


@pytest.mark.parametrize("tool", ["list_surfaces", "create_svg"])
def test_a_tool_without_a_kind_of_its_own_or_whose_kind_is_missing_has_a_plain_row(
    presence: Presence, drive: Drive, tool: str
) -> None:
    async def person() -> None:
        show(presence, call(1, tool, {"id": "n1", "file": "/sun.svg"}))
        await until(lambda: bool(presence.bubble.thread_view.realised))

    drive(person())
    assert (views(presence), cards(presence)) == ([], [])
