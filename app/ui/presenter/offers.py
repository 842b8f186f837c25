"""Answers that the person may give by a press, while nothing else has been said."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from app.agent import agent_events as agent
from app.agent.recording import Spent
from app.base.errors import Remedy
from app.base.texts import clip_line
from app.ui.presenter.cards import added
from app.ui.presenter.view import Approval, News, Offer, ShownPicture, SpokenItem, TakeBack, View
from app.ui.presenter.wording import unmarked

_QUESTION = "ask_followup_question"
_MOST = 8
_ANSWER_CHARS = 200
_MOST_NEAR = 3
_HELP = "What can you do?"
_QUOTED = re.compile(r"[“„]([^“”„]+)[“”]")
_REMEDIES = {
    Remedy.AGAIN: "Try again",
    Remedy.KEY: "Add key",
    Remedy.SETTINGS: "Open settings",
    Remedy.LOG: "Show log",
}


def offered(view: View, event: agent.ToolFinished) -> View:
    """The view with a question's answers below its words; nothing for a question without any."""
    answers = _answers(event.payload.get("options")) if event.ok and _QUESTION in (event.tool, event.event) else ()
    return added(view, Offer(f"i{view.serial}", answers)) if answers else view


def withdrawn(view: View) -> View:
    """Something was said: what was offered before is gone."""
    if not any(isinstance(item, Offer) for item in view.items):
        return view
    return replace(view, items=tuple(item for item in view.items if not isinstance(item, Offer)))


def proposed(view: View, sentence: str, wish: str, label: str) -> View:
    """The view with a sentence of Wisp's own and one button below it, which says `wish`."""
    view = added(view, SpokenItem(f"i{view.serial}", "welcome", "warm", sentence, done=True))
    return added(view, Offer(f"i{view.serial}", (wish,), (label,))) if wish else view


def offer_remedy(view: View, remedy: Remedy, wish: str, words: Callable[[str], str]) -> View:
    """The view with the one button that mends a failure; `wish` is what is tried again."""
    return added(view, Offer(f"i{view.serial}", (wish,), (words(_REMEDIES[remedy]),), remedy))


def offer_nearest(view: View, wish: str, said: str, words: Callable[[str], str]) -> View:
    """The view with what could be done instead of `wish`: what the answer quotes, and what Wisp can do."""
    quoted = (clip_line(found, _ANSWER_CHARS) for found in _QUOTED.findall(said))
    near = [found for found in dict.fromkeys(quoted) if found.casefold() not in wish.casefold()][:_MOST_NEAR]
    answers = (*near, words(_HELP))
    return added(view, Offer(f"i{view.serial}", answers, answers))


def _answers(options: object) -> tuple[str, ...]:
    """Lines that are shown, and sent, as they are."""
    if not isinstance(options, (list, tuple)):
        return ()
    lines = (clip_line(option, _ANSWER_CHARS) for option in options if isinstance(option, str))
    return tuple(dict.fromkeys(line for line in lines if line))[:_MOST]


def question(key: str, event: agent.ApprovalWanted) -> Approval:
    """Everything the person must know before they answer, word for word."""
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
    )


def _picture(event: agent.ApprovalWanted) -> ShownPicture | None:
    if event.picture is None:
        return None
    media = event.picture
    return ShownPicture(media.data, media.width, media.height, media.label, event.ring)


_TOOLS = frozenset(
    {
        *("write_file", "replace_in_file", "delete_file", "move_file", "copy_file", "make_folder", "execute_command"),
        *("remember", "forget"),
    }
)


def noted(view: View, event: agent.ToolFinished) -> View:
    """The view that remembers the files which a call has changed, where the change can be undone."""
    if not event.ok or event.tool not in _TOOLS or event.payload.get("undoable") is not True:
        return view
    listed = [event.payload.get(name) for name in ("deleted", "paths")]
    changed = [event.payload.get("path"), *(one for many in listed if isinstance(many, (list, tuple)) for one in many)]
    return replace(view, changed=view.changed | {one for one in changed if isinstance(one, str)})


def ask_about_deleted(view: View, event: agent.ToolFinished) -> View:
    """The view with Keep and Put back below the command that has deleted files which the person may miss."""
    name, deleted = event.payload.get("put_back"), event.payload.get("deleted")
    if not event.ok or not name or not isinstance(name, str) or not isinstance(deleted, (list, tuple)):
        return view
    paths = frozenset(path for path in deleted if isinstance(path, str))
    return added(view, TakeBack(f"i{view.serial}", name, len(paths), paths))


def offer_takeback(view: View, event: agent.TurnEnded) -> View:
    """The view with the offer below everything else; nothing for a turn that has changed no file."""
    if not view.changed:
        return view
    is_mixed = any(name.startswith("#") for name in view.changed)
    made = TakeBack(f"i{view.serial}", event.turn_id, len(view.changed), is_mixed=is_mixed)
    return replace(added(view, made), changed=frozenset())


def accepted(view: View, turn_id: str) -> View:
    """Remove a turn's offer to undo its changes, because the person has used it."""
    used = [item for item in view.items if isinstance(item, TakeBack) and item.turn_id == turn_id]
    changed = view.changed.difference(*(item.deleted for item in used))
    return replace(declined(view, turn_id), changed=changed)


def declined(view: View, turn_id: str) -> View:
    """Remove the offer, because the person keeps what was done."""
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
    """Add the event to the inbox if it matters and the person is not looking at the presence."""
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
    """One more piece of news, about the thread's newest item."""
    item = view.items[-1].key if view.items else ""
    number = int(view.news[-1].key[1:]) + 1 if view.news else 0
    made = News(f"n{number}", level, clip_line(unmarked(text), _TEXT_CHARS), item, now)
    return replace(view, news=(*view.news, made)[-KEPT:], unread=view.unread + 1, unseen=view.unseen + 1)


def seen(view: View) -> View:
    """The person has opened the inbox."""
    return replace(view, unseen=0) if view.unseen else view


def cleared(view: View) -> View:
    """The person needs none of it any more."""
    return replace(view, news=(), unseen=0)


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
