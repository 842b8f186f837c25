"""The cost of a turn so far, and its limits: passes, seconds, tokens, money."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from app.agent.agent_events import UsageChanged
from app.base import resources
from app.base.clock import Clock
from app.base.phrases import Phrase
from app.base.translation import words_in
from app.base.values import dataclass, fields
from app.providers.api import Usage
from app.settings.catalog import MAX_COST_USD, MAX_PASSES, MAX_SECONDS, MAX_TURN_TOKENS
from app.settings.store import Settings

_MOST_PASSES = "I stopped: the model has answered {count} times, the most for one task. To allow more: chat.max_passes"
_MOST_SECONDS = "I stopped: one task may last {count} seconds at most. To allow more: chat.max_seconds"
_MOST_TOKENS = "I stopped after {used} tokens: one task may use {count}. To allow more: chat.max_tokens"
_MOST_MONEY = "I stopped at ${used}: one task may cost ${most}. To allow more: chat.max_cost_usd"
_PER = 1_000_000  # because vendors price a million tokens


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    prefix: str
    input: float
    output: float
    cache_read: float
    cache_write: float

    def of(self, usage: Usage) -> float:
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        ) / _PER


@cache
def _prices() -> tuple[Price, ...]:
    tree = resources.table("prices.toml", resources.Table)
    return tuple(Price(**entry) for entry in tree["price"])


def price_of(model: str) -> Price | None:
    """Return the price of a model, or None if no listed price applies to it.

    A listed name applies to the model with just that id, and to ids that continue it with a `-`. The longest one wins.
    """
    matching = [price for price in _prices() if f"{model}-".startswith(f"{price.prefix}-")]
    return max(matching, key=lambda price: len(price.prefix), default=None)


def summed(first: Usage, second: Usage) -> Usage:
    return Usage(*(getattr(first, field.name) + getattr(second, field.name) for field in fields(Usage)))


def told(usage: Usage, price: Price | None) -> UsageChanged:
    """As an event for the interface. The cost is None if the price is unknown."""
    cost = price.of(usage) if price else None
    return UsageChanged(
        usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens, cost
    )


def greater(first: Usage, second: Usage) -> Usage:
    """Return the larger of each figure, because reports within one stream are cumulative and may be incomplete."""
    return Usage(*(max(getattr(first, field.name), getattr(second, field.name)) for field in fields(Usage)))


@dataclass(frozen=True, slots=True)
class Ceilings:
    passes: int
    seconds: float
    tokens: int
    cost_usd: float

    @staticmethod
    def of(settings: Settings) -> Ceilings:
        return Ceilings(settings[MAX_PASSES], settings[MAX_SECONDS], settings[MAX_TURN_TOKENS], settings[MAX_COST_USD])


class Budget:
    """The account of one turn. Time that it waits for the person does not count."""

    def __init__(self, ceilings: Ceilings, price: Price | None, clock: Clock) -> None:
        self._ceilings = ceilings
        self._price = price
        self._clock = clock
        self._begun = clock.now()
        self._finished = Usage()
        self._current = Usage()
        self._waited_s = 0.0
        self._waiting_since = 0.0
        self._waiters = 0
        self.passes = 0

    @property
    def price(self) -> Price | None:
        return self._price

    @property
    def seconds_left(self) -> float:
        """The rest of the turn's time. It does not run while the turn waits for the person."""
        now = self._clock.now()
        waiting = now - self._waiting_since if self._waiters else 0.0
        return self._ceilings.seconds - (now - self._begun - self._waited_s - waiting)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside it, the turn waits for the person. Several calls may wait at once."""
        if not self._waiters:
            self._waiting_since = self._clock.now()
        self._waiters += 1
        try:
            yield
        finally:
            self._waiters -= 1
            if not self._waiters:
                self._waited_s += self._clock.now() - self._waiting_since

    def begin_stream(self) -> None:
        """Begin to count another stream: its usage is added to that of the streams before it."""
        self._finished = self.usage
        self._current = Usage()

    def spend(self, usage: Usage) -> None:
        """Add usage outside of the turn's own streams."""
        self._finished = summed(self._finished, usage)

    def add(self, usage: Usage) -> None:
        """Set the figures of the running stream, which are cumulative."""
        self._current = greater(self._current, usage)

    @property
    def usage(self) -> Usage:
        return summed(self._finished, self._current)

    @property
    def prompt_tokens(self) -> int:
        """The size of the conversation, as the provider counted it for the latest stream."""
        current = self._current
        return current.input_tokens + current.cache_read_tokens + current.cache_write_tokens

    @property
    def cost_usd(self) -> float | None:
        return self._price.of(self.usage) if self._price else None

    def changed(self) -> UsageChanged:
        return told(self.usage, self._price)

    def exceeded(self, language: str = "") -> str:
        """Return the sentence that ends the turn, in this language; "" while the turn is within its limits."""
        told = self._exceeded()
        return told.said(words_in(language)) if told else ""

    def _exceeded(self) -> Phrase | None:
        if self.passes >= self._ceilings.passes:
            return Phrase(_MOST_PASSES, {"count": self.passes})
        if self.seconds_left < 0:
            return Phrase(_MOST_SECONDS, {"count": f"{self._ceilings.seconds:g}"})
        usage = self.usage
        tokens = sum(getattr(usage, field.name) for field in fields(Usage))
        if tokens > self._ceilings.tokens:
            return Phrase(_MOST_TOKENS, {"used": tokens, "count": self._ceilings.tokens})
        cost, ceiling = self.cost_usd, self._ceilings.cost_usd
        if cost is not None and cost > ceiling:
            return Phrase(_MOST_MONEY, {"used": f"{cost:.2f}", "most": f"{ceiling:.2f}"})
        return None
