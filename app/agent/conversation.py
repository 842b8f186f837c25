"""What tools may ask of the conversation they run in. It is carried out when the turn is over, never in its middle."""

from __future__ import annotations

from dataclasses import dataclass

from app.agent.policy import Mode, Policy


@dataclass(frozen=True, slots=True)
class Wishes:
    """`begin_with` is the summary a fresh conversation begins with; None keeps the history, empty clears it."""

    begin_with: str | None = None
    name: str = ""


class Conversation:
    """Given to tools before the session exists; the session takes the wishes after each turn."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._begin_with: str | None = None
        self._name = ""

    def is_planning(self) -> bool:
        return self._policy.mode is Mode.PLAN

    def is_yolo(self) -> bool:
        return self._policy.mode is Mode.YOLO

    async def hand_over(self, summary: str) -> None:
        """After this turn: a fresh conversation that begins with the summary."""
        self._begin_with = summary

    async def reset(self) -> None:
        """After this turn: an empty conversation."""
        self._begin_with = ""

    async def rename(self, name: str) -> None:
        """From the next turn on the assistant is called so."""
        self._name = name

    def take(self) -> Wishes:
        """What was wished for since the last time."""
        wishes = Wishes(self._begin_with, self._name)
        self._begin_with, self._name = None, ""
        return wishes
