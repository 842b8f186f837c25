"""Compute what the presence shows: `Presenter.after(view, event, now)` returns the view that follows an event.

A view stays bounded whatever arrives: long speech is cut into several items, a card keeps only the end of its text, and
old items and old pictures are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from app.agent import agent_events as agent
from app.base.errors import Remedy
from app.base.facts import Proposed, first
from app.base.phrases import ENGLISH, Translations
from app.base.values import dataclass, field, replace
from app.ui.cards.kinds import CardKind
from app.ui.orb.state import Orb
from app.ui.presenter import cards, offers
from app.ui.presenter.cards import KEPT_CHARS, CardSteps, added, dropped_below, open_card, replaced
from app.ui.presenter.offers import offered, question, withdrawn
from app.ui.presenter.view import (
    Approval,
    Asked,
    Card,
    Command,
    Item,
    NoticeItem,
    Offer,
    SpokenItem,
    Status,
    TakeBack,
    TurnOutcome,
    View,
)
from app.ui.presenter.wording import open_fence

SAID_CHARS = 2_000
"""Speech longer than this goes on in another item, so that no single widget has to lay out a book."""
CODE_CHARS = 40_000
"""The same for code between fences, which is copied as a whole."""

_NOTE = {
    agent.Outcome.WAITING: Orb.NEEDS_YOU,
    agent.Outcome.FAILED: Orb.ERROR,
    agent.Outcome.CUT_OFF: Orb.ERROR,
    agent.Outcome.REPEATING: Orb.ERROR,
}
_FAILURES = (agent.Outcome.FAILED, agent.Outcome.CUT_OFF, agent.Outcome.REPEATING)
ANSWERS = (agent.Outcome.FINISHED, agent.Outcome.ANSWERED)
Step = Callable[[View, Any, float], View]


@dataclass(frozen=True, slots=True)
class Presenter:
    """Makes the view that follows an event. `words` translates English texts into the person's language, `kinds` are
    the features' kinds of cards."""

    words: Translations = ENGLISH
    kinds: Mapping[str, CardKind] = field(default_factory=dict)

    def after(self, view: View, event: agent.AgentEvent, now: float) -> View:
        """Return the view after an event. `now` is in seconds on a clock that only goes forward.

        An event of an unknown kind changes nothing.
        """
        cards = CardSteps(self.words, self.kinds)
        steps: Mapping[type, Step] = {
            agent.TurnStarted: _turn_started,
            agent.SaidMeanwhile: _said_meanwhile,
            agent.StateChanged: _state_changed,
            agent.SayDelta: _said,
            agent.TagStart: lambda old, event, now: cards.started(_silenced(old, event), event, now),
            agent.TagDelta: cards.delta,
            agent.ToolRunning: cards.running,
            agent.ToolProgress: cards.progress,
            agent.ToolFinished: lambda old, event, now: _with_outcome(cards.finished(old, event, now), event),
            agent.ApprovalWanted: _approval_wanted,
            agent.ApprovalAnswered: _approval_answered,
            agent.ProgramsUsed: _programs_used,
            agent.ModeChanged: _mode_changed,
            agent.UsageChanged: _usage,
            agent.Notice: _notice,
            agent.TurnEnded: self._ended,
        }
        step = steps.get(type(event))
        return dropped_below(offers.after(step(view, event, now), event, now)) if step else view

    def noticed(self, view: View, level: str, sentence: str, now: float = 0.0, remedy: Remedy = Remedy.AGAIN) -> View:
        """Return the view with a sentence of the presence itself, and for a `remedy` other than AGAIN with its button.

        The view stays unchanged if it already reports the bug that ended the turn.
        """
        match view.items[-2:]:
            case (TurnOutcome(), Offer(remedy=Remedy.LOG)) if remedy is Remedy.LOG:
                return view
        view = added(view, NoticeItem(_key(view), level, sentence))
        view = view if view.attended else offers.add_news(view, level, sentence, now)
        return view if remedy is Remedy.AGAIN else offers.offer_remedy(view, remedy, "", self.words)

    def _ended(self, view: View, event: agent.TurnEnded, now: float) -> View:
        """Return the view after a turn. A failed turn gets one button that repairs the failure. If Wisp only did not
        understand the task, the view shows no alarm and offers similar tasks."""
        wish = next((item.said for item in reversed(view.items) if _is_taken(item) and isinstance(item, Asked)), "")
        acted = any(isinstance(item, Card) for item in _of_this_turn(view))
        is_said = bool(event.text.strip()) and _was_said(view, event.text)
        is_calm = event.outcome is agent.Outcome.FAILED and not acted and is_said
        view = offers.offer_takeback(_turn_ended(view, event, now, is_calm=is_calm), event)
        if view.lacks_extra:
            return offers.offer_remedy(replace(view, lacks_extra=False), Remedy.EXTRA, "", self.words)
        if event.outcome is not agent.Outcome.FAILED or not wish or isinstance(view.items[-1], TakeBack):
            return offers.offer_answers(view, event.offers)
        if is_calm:
            return offers.offer_nearest(replace(view, orb=Orb.IDLE), event.offers, self.words)
        return offers.offer_remedy(view, event.remedy, wish, self.words, event.offers)


def attended(view: View) -> View:
    """While the person looks at the bubble: nothing is unread, and the orb tells of no failure."""
    return replace(view, attended=True, unread=0, orb=_seen(view))


def unattended(view: View) -> View:
    """After the bubble is closed: what arrives from now on is unread."""
    return replace(view, attended=False, orb=_seen(view))


def _seen(view: View) -> Orb:
    """The orb once the person has seen the thread: a failure is told there, with what mends it."""
    return Orb.IDLE if view.orb is Orb.ERROR else view.orb


def retold(how: Presenter, events: Iterable[agent.AgentEvent], before: View) -> View:
    """Return the view of another conversation, made from its `events`. Nothing runs or waits in it; the news stays."""
    view = View(attended=True, serial=before.serial, news=before.news, unseen=before.unseen)
    for event in events:
        view = how.after(view, event, 0.0)
    if view.running:  # because the record may end in the middle of a turn
        view = _turn_ended(view, agent.TurnEnded("", agent.Outcome.STOPPED, ""), 0.0)
    return replace(view, orb=Orb.IDLE, unread=0)


def sent(view: View, text: str, attached: tuple[str, ...] = ()) -> View:
    """With a message that the person has sent and the agent has not taken yet."""
    view = withdrawn(view)
    return added(view, Asked(_key(view), text, attached, waits=True)) if text.strip() or attached else view


def asleep(view: View) -> View:
    """The orb sleeps if it was idle. Called after a time without events."""
    return replace(view, orb=Orb.SLEEP) if view.orb is Orb.IDLE and not view.running else view


def awake(view: View) -> View:
    return replace(view, orb=Orb.IDLE) if view.orb is Orb.SLEEP else view


def _key(view: View) -> str:
    return f"i{view.serial}"


def _turn_started(view: View, event: agent.TurnStarted, now: float) -> View:
    view = offers.turn_begun(withdrawn(view))
    view = replace(
        view, running=True, since=now, orb=Orb.THINKING, doing="", checklist="", changed=frozenset(), lacks_extra=False
    )
    return _taken(view, event)


def _said_meanwhile(view: View, event: agent.SaidMeanwhile, _now: float) -> View:
    return _taken(view, event)


def _taken(view: View, event: agent.TurnStarted | agent.SaidMeanwhile) -> View:
    """The agent has taken this message. It moves to the end if anything came after it."""
    said = (event.text, tuple(event.attached))
    asked = (item for item in view.items if isinstance(item, Asked))
    waiting = next((item for item in asked if item.waits and (item.text, item.attached) == said), None)
    if waiting is None:
        return added(view, Asked(_key(view), *said)) if event.text.strip() or event.attached else view
    after = view.items[view.items.index(waiting) + 1 :]
    if all(isinstance(item, Asked) and item.waits for item in after):
        return replaced(view, replace(waiting, waits=False))
    left = tuple(item for item in view.items if item is not waiting)
    return added(replace(view, items=left), replace(waiting, waits=False))


def _state_changed(view: View, event: agent.StateChanged, _now: float) -> View:
    orb = Orb(event.state.value)
    if orb is Orb.IDLE and view.orb in (Orb.NEEDS_YOU, Orb.ERROR) and not view.running:
        return view  # so that the last turn's outcome stays visible until the next one
    return replace(view, orb=orb, running=view.running and orb is not Orb.IDLE)


def _silenced(view: View, event: agent.TagStart) -> View:
    """Return the view in which the words of this call will not show, if the turn's only card tells the same.

    The cards of several calls fold into one line, so that their answer is said.
    """
    is_told = event.voiced and "told_by_card" in event.attrs and _has_one_card(view)
    return replace(view, silent=event.call_id) if is_told else view


def _has_one_card(view: View) -> bool:
    return sum(isinstance(item, Card) for item in _of_this_turn(view)) == 1


def _said(view: View, event: agent.SayDelta, _now: float) -> View:
    if event.call_id and event.call_id == view.silent:
        return view
    text = event.text
    last = view.items[-1] if view.items else None
    goes_on = isinstance(last, SpokenItem) and last.call_id == event.call_id and not last.done
    if not goes_on:
        text = text.lstrip()
        if not text:
            return view
        view = added(view, SpokenItem(_key(view), event.call_id, event.tone, ""))
    while text:
        said = view.items[-1]
        assert isinstance(said, SpokenItem)
        room = _room(said, text)
        view = replaced(view, replace(said, text=said.text + text[:room], done=room < len(text)))
        text = text[room:]
        if text:
            whole = view.items[-1]
            fence = open_fence(whole.text, whole.fence) if isinstance(whole, SpokenItem) else ""
            view = added(view, SpokenItem(_key(view), event.call_id, event.tone, "", fence=fence))
    return view


def _room(said: SpokenItem, more: str) -> int:
    """How many characters of `more` still fit. The cut is at a space, in code at a line's end."""
    room = max(SAID_CHARS - len(said.text), 0)
    if len(more) <= room:
        return len(more)
    if open_fence(said.text + more[:room], said.fence):
        return _code_room(said, more)
    space = max(more.rfind(" ", 0, room), more.rfind("\n", 0, room))
    return space + 1 if space >= 0 else room


def _code_room(said: SpokenItem, more: str) -> int:
    """As `_room` for an item that ends in code: to the code's end, if it is not too long."""
    fence, end = open_fence(said.text, said.fence), 0
    most = max(CODE_CHARS - len(said.text), 0)
    for line in more.splitlines(keepends=True):
        if end + len(line) > most:
            return end or most
        before, fence, end = fence, open_fence(line, fence), end + len(line)
        if before and not fence and len(said.text) + end > SAID_CHARS:
            return end
    return end


def _with_outcome(view: View, event: agent.ToolFinished) -> View:
    view = offers.noted(offers.taken_back(view, event), event)
    view = offers.ask_about_deleted(offered(cards.read(view, event), event), event)
    if event.payload.get("remedy") == Remedy.EXTRA.value:
        view = replace(view, lacks_extra=True)
    proposed = first(Proposed, event.facts)
    if proposed is None or not proposed.command.strip() or len(proposed.command) > KEPT_CHARS:
        return view  # because a command that is cut would read as another command
    return added(view, Command(_key(view), proposed.command.strip()))


def _mode_changed(view: View, event: agent.ModeChanged, _now: float) -> View:
    return replace(view, mode=event.mode)


def _programs_used(view: View, event: agent.ProgramsUsed, _now: float) -> View:
    return replace(view, using=tuple(event.names))


def _approval_wanted(view: View, event: agent.ApprovalWanted, _now: float) -> View:
    view = replace(view, orb=Orb.NEEDS_YOU)
    view = _with_card(view, event.call_id, Status.WAITING)
    key = f"a{event.approval_id}"
    return added(view, question(key, event))


def _approval_answered(view: View, event: agent.ApprovalAnswered, now: float) -> View:
    def answered(item: Item) -> Item:
        if isinstance(item, Approval) and item.approval_id == event.approval_id and item.is_open:
            if event.is_withdrawn:
                return replace(item, closed=True)
            return replace(item, allowed=event.allowed, words=event.words, scope=event.scope, at=now)
        return item

    asked = view.open_approval
    view = _each(view, answered)
    if asked is not None and asked.approval_id == event.approval_id:
        view = _with_card(view, asked.call_id, Status.RUNNING)
    if view.orb is not Orb.NEEDS_YOU or view.open_approval is not None:
        return view
    # A question of a small app or of another agent belongs to no turn, so no end of a turn follows.
    return replace(view, orb=Orb.BUSY if view.running else Orb.IDLE)


def _with_card(view: View, call_id: str, status: Status) -> View:
    card = open_card(view, call_id)
    return view if card is None else replaced(view, replace(card, status=status))


def _usage(view: View, event: agent.UsageChanged, _now: float) -> View:
    return offers.used(view, event)


def _notice(view: View, event: agent.Notice, _now: float) -> View:
    return added(view, NoticeItem(_key(view), event.level, event.sentence))


def _turn_ended(view: View, event: agent.TurnEnded, now: float, *, is_calm: bool = False) -> View:
    def closed(item: Item) -> Item:
        if isinstance(item, Card) and item.is_open:
            return replace(item, status=Status.STOPPED, elapsed_s=now - item.since)
        if isinstance(item, SpokenItem) and not item.done:
            return replace(item, done=True)
        return replace(item, closed=True) if isinstance(item, Approval) and item.is_open else item

    view = _each(view, closed)
    view = replace(
        view,
        running=False,
        doing="",
        orb=_NOTE.get(event.outcome, Orb.IDLE),
    )
    if event.told_by_card and _has_one_card(view):
        return view
    view = _said_once(view, event.text) if event.outcome in _FAILURES and not is_calm else view
    last = view.items[-1] if view.items else None
    if isinstance(last, SpokenItem) and event.outcome in ANSWERS and _was_said(view, event.text):
        view = replaced(view, replace(last, final=True))
    if not event.text.strip() or _was_said(view, event.text):
        return view
    return added(view, TurnOutcome(_key(view), event.outcome, event.text))


def _of_this_turn(view: View) -> tuple[Item, ...]:
    """The items after the person's last message that the agent has taken."""
    begins = (at for at in range(len(view.items) - 1, -1, -1) if _is_taken(view.items[at]))
    return view.items[next(begins, -1) + 1 :]


def _is_taken(item: Item) -> bool:
    return isinstance(item, Asked) and not item.waits


def _spoken(view: View) -> str:
    """All that Wisp said in this turn, without blanks and line breaks."""
    return _bare("".join(item.text for item in _of_this_turn(view) if isinstance(item, SpokenItem)))


def _was_said(view: View, text: str) -> bool:
    """True if the turn's final text was already said in it, so that it is not shown twice."""
    return _bare(text) in _spoken(view)


def _said_once(view: View, final: str) -> View:
    """Without the speech of this turn that `final` repeats: a failure shows as one."""
    repeated = {
        item.key for item in _of_this_turn(view) if isinstance(item, SpokenItem) and _bare(item.text) in _bare(final)
    }
    return replace(view, items=tuple(item for item in view.items if item.key not in repeated))


def _bare(text: str) -> str:
    return "".join(text.split())


def _each(view: View, change: Callable[[Item], Item]) -> View:
    return replace(view, items=tuple(change(item) for item in view.items))
