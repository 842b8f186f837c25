"""Buttons below the thread's newest item, which go when somebody says something; also the inbox and the turns'
usage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from app.agent import agent_events as agent
from app.agent.recording import Spent
from app.base.clipping import clip_line
from app.base.errors import Remedy
from app.base.facts import TakenBack, Undoable, first
from app.base.phrases import Translations
from app.ui.presenter.cards import added
from app.ui.presenter.view import Approval, News, Offer, ShownPicture, SpokenItem, TakeBack, View
from app.ui.presenter.wording import unmarked

_MOST = 8
_ANSWER_CHARS = 200
_MOST_NEAR = 3
_HELP = "What can you do?"
_CALM = "calm"
_REMEDIES = {
    Remedy.AGAIN: "Try again",
    Remedy.KEY: "Add key",
    Remedy.SETTINGS: "Open settings",
    Remedy.LOG: "Show log",
    Remedy.EXTRA: "Get the small window engine (175 MB)",
    Remedy.PROVIDER: "Choose who answers",
    Remedy.PRESSES: "Allow my remote desktop",
}


def offered(view: View, event: agent.ToolFinished) -> View:
    """With a button for each answer that the model's question suggests; unchanged if there is none."""
    options = event.payload.get("options") if event.ok else ()
    return offer_answers(view, options if isinstance(options, (list, tuple)) else ())


def withdrawn(view: View) -> View:
    """Without buttons for answers. Called when the person or the model has said something.

    The choice of who answers stays until it is made.
    """
    return _without(view, lambda offer: offer.remedy is not Remedy.PROVIDER)


def chosen(view: View) -> View:
    """Without the choice of who answers."""
    return _without(view, lambda offer: offer.remedy is Remedy.PROVIDER)


def _without(view: View, goes: Callable[[Offer], bool]) -> View:
    left = tuple(item for item in view.items if not (isinstance(item, Offer) and goes(item)))
    return view if len(left) == len(view.items) else replace(view, items=left)


def proposed(view: View, sentence: str, buttons: Mapping[str, str], remedy: Remedy = Remedy.AGAIN) -> View:
    """Return the view with a sentence said by Wisp and buttons: each label with the wish that it sends. With another
    remedy, they do what that says."""
    view = added(view, SpokenItem(f"i{view.serial}", "welcome", "warm", sentence, done=True))
    return added(view, Offer(f"i{view.serial}", tuple(buttons.values()), tuple(buttons), remedy)) if buttons else view


def offer_remedy(view: View, remedy: Remedy, wish: str, words: Translations, others: Sequence[str] = ()) -> View:
    """Return the view with a button for `remedy`, such as "Add key". "Try again" sends `wish` again.

    `others` are what the person may say instead of trying it again.
    """
    more = _answers(others) if remedy is Remedy.AGAIN else ()
    return added(view, Offer(f"i{view.serial}", (wish, *more), (words(_REMEDIES[remedy]), *more), remedy))


def offer_answers(view: View, offers: Sequence[str]) -> View:
    answers = _answers(offers)
    return added(view, Offer(f"i{view.serial}", answers)) if answers else view


def offer_nearest(view: View, near: Sequence[str], words: Translations) -> View:
    """With a button for each of the nearest tasks, and one for help. The last words are calm."""
    last = view.items[-1] if view.items else None
    if isinstance(last, SpokenItem):
        view = replace(view, items=(*view.items[:-1], replace(last, tone=_CALM)))
    answers = _answers((*near[:_MOST_NEAR], words(_HELP)))
    return added(view, Offer(f"i{view.serial}", answers, answers))


def _answers(options: Sequence[object]) -> tuple[str, ...]:
    """Without repetitions. A button shows, and sends, exactly this text."""
    lines = (clip_line(option, _ANSWER_CHARS) for option in options if isinstance(option, str))
    return tuple(dict.fromkeys(line for line in lines if line))[:_MOST]


def question(key: str, event: agent.ApprovalWanted) -> Approval:
    """Make the row that asks for an approval. It takes all texts of the event unchanged."""
    return Approval(
        key,
        event.approval_id,
        event.call_id,
        event.sentence,
        event.detail,
        who=event.who,
        undo=event.undo,
        rule=event.rule,
        why=event.why,
        sources=tuple(event.sources),
        reasons=tuple(event.reasons),
        scopes=tuple(event.scopes),
        picture=_picture(event),
        deed=event.deed,
        strong=tuple(event.strong),
        icon=event.icon,
    )


def _picture(event: agent.ApprovalWanted) -> ShownPicture | None:
    if event.picture is None:
        return None
    media = event.picture
    return ShownPicture(media.data, media.width, media.height, media.label, event.ring)


def noted(view: View, event: agent.ToolFinished) -> View:
    """With the files of this call added to `changed`, if the call changed files and can be undone."""
    if not event.ok or first(Undoable, event.facts) is None:
        return view
    listed = [event.payload.get(name) for name in ("deleted", "paths")]
    changed = [event.payload.get("path"), *(one for many in listed if isinstance(many, (list, tuple)) for one in many)]
    return replace(view, changed=view.changed | {one for one in changed if isinstance(one, str)})


def ask_about_deleted(view: View, event: agent.ToolFinished) -> View:
    """With the buttons "Keep" and "Put back", if the call was a command that deleted the person's files."""
    name, deleted = event.payload.get("put_back"), event.payload.get("deleted")
    if not event.ok or not name or not isinstance(name, str) or not isinstance(deleted, (list, tuple)):
        return view
    paths = frozenset(path for path in deleted if isinstance(path, str))
    return added(view, TakeBack(f"i{view.serial}", name, len(paths), paths))


def offer_takeback(view: View, event: agent.TurnEnded) -> View:
    """With an offer to undo the turn; unchanged if the turn changed no file."""
    if not view.changed:
        return view
    is_mixed = any(name.startswith("#") for name in view.changed)
    made = TakeBack(f"i{view.serial}", event.turn_id, len(view.changed), is_mixed=is_mixed)
    return replace(added(view, made), changed=frozenset())


def taken_back(view: View, event: agent.ToolFinished) -> View:
    """Return the view whose offer to undo counts without what this call has undone. With nothing left, it goes."""
    if (back := first(TakenBack, event.facts)) is None:
        return view
    offered = (item for item in reversed(view.items) if isinstance(item, TakeBack))
    item = next((one for one in offered if not back.turn or f"{back.turn}/".startswith(f"{one.turn_id}/")), None)
    if item is None:
        return view
    if item.count <= back.count:
        return declined(view, item.turn_id)
    left = replace(item, count=item.count - back.count)
    return replace(view, items=tuple(left if one is item else one for one in view.items))


def accepted(view: View, turn_id: str) -> View:
    """The turn's offer to undo goes, because the person has pressed Undo."""
    used = [item for item in view.items if isinstance(item, TakeBack) and item.turn_id == turn_id]
    changed = view.changed.difference(*(item.deleted for item in used))
    return replace(declined(view, turn_id), changed=changed)


def declined(view: View, turn_id: str) -> View:
    """The turn's offer to undo goes, because the person keeps the changes."""
    left = (item for item in view.items if not (isinstance(item, TakeBack) and item.turn_id == turn_id))
    return replace(view, items=tuple(left))


KEPT = 100
_TEXT_CHARS = 240
_LEVELS = {
    agent.Outcome.FINISHED: "done",
    agent.Outcome.WAITING: "question",
    agent.Outcome.STOPPED: "stopped",
    agent.Outcome.FAILED: "error",
    agent.Outcome.ANSWERED: "done",
    agent.Outcome.UNVERIFIED: "done",
    agent.Outcome.CUT_OFF: "error",
    agent.Outcome.REPEATING: "error",
}


def after(view: View, event: agent.AgentEvent, now: float) -> View:
    """With the event in the inbox, if it matters and the person is not looking; else unchanged."""
    if view.attended:
        return view
    if isinstance(event, agent.TurnEnded):
        return add_news(view, _LEVELS[event.outcome], event.text, now)
    if isinstance(event, agent.ApprovalWanted):
        return add_news(view, "approval", event.sentence, now)
    if isinstance(event, agent.Notice) and event.level != "info":
        return add_news(view, event.level, event.sentence, now)
    return view


def add_news(view: View, level: str, text: str, now: float) -> View:
    """With this text in the inbox, as news that leads to the thread's newest item."""
    item = view.items[-1].key if view.items else ""
    number = int(view.news[-1].key[1:]) + 1 if view.news else 0
    made = News(f"n{number}", level, clip_line(unmarked(text), _TEXT_CHARS), item, now)
    return replace(view, news=(*view.news, made)[-KEPT:], unread=view.unread + 1, unseen=view.unseen + 1)


def kept(view: View, level: str, text: str, now: float) -> View:
    """With this text as news that the person has not opened yet, although they look at the bubble."""
    return replace(add_news(view, level, text, now), unread=view.unread)


def seen(view: View) -> View:
    """After the person has opened the inbox."""
    return replace(view, unseen=0) if view.unseen else view


def cleared(view: View) -> View:
    """After the person has emptied the inbox."""
    return replace(view, news=(), unseen=0)


def turn_begun(view: View) -> View:
    """At the start of a turn: the last turn's usage is added to the conversation's, and the new one is 0."""
    return replace(view, before=conversation(view), turn=Spent())


def used(view: View, event: agent.UsageChanged) -> View:
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
    """All turns together. The cost is None if the cost of one turn is unknown."""
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
