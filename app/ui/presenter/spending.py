"""What the running turn and the conversation have used."""

from __future__ import annotations

from dataclasses import replace

from app.agent import events as agent
from app.agent.archive import Spent
from app.ui.presenter.view import View


def turn_begun(view: View) -> View:
    """A turn begins: the one before is part of the conversation now."""
    return replace(view, before=conversation(view), turn=Spent())


def used(view: View, event: agent.UsageChanged) -> View:
    """The turn has used this so far."""
    spent = Spent(
        event.input_tokens,
        event.output_tokens,
        event.cache_read_tokens,
        event.cache_write_tokens,
        event.cost_usd,
        turns=1,
    )
    return replace(view, turn=spent)


def conversation(view: View) -> Spent:
    """All turns of the conversation; its money is not known where that of one turn is not."""
    one, other = view.before, view.turn
    known = one.cost_usd is not None and other.cost_usd is not None
    return Spent(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cache_read_tokens + other.cache_read_tokens,
        one.cache_write_tokens + other.cache_write_tokens,
        (one.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        one.turns + other.turns,
    )
