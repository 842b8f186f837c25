"""Tools for the conversation itself: speech, questions, results, plans, the checklist, a new start, its name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from app.base import paths, resources
from app.base.errors import ToolMisuse
from app.base.facts import Proposed
from app.protocol.call import FINISHED, NOT_DONE, WAITING, JsonValue, ToolCall, ToolResult, question_result
from app.protocol.spec import PROGRESS, Close, Effect, Param, RareFamily, ToolSpec, ValueType
from app.services.tasks import Checklist, Item, parse_options, render
from app.services.themes import Appearance
from app.settings import store
from app.settings.catalog import NAME
from app.tools.registry import Family, TurnContext

_log = logging.getLogger(__name__)

_MOST_OPTIONS = 8
_NAME_CHARS = 40


class Conversation(Protocol):
    """What these tools need from the session that runs them."""

    def is_planning(self) -> bool: ...

    def is_yolo(self) -> bool: ...

    async def hand_over(self, summary: str) -> None:
        """Start a new conversation with this summary after the turn."""
        ...

    async def reset(self) -> None:
        """Start an empty conversation after the turn."""
        ...

    async def rename(self, name: str) -> None:
        """Change the assistant's name."""
        ...


class Tasks:
    """The handlers of the tools that change nothing but the conversation, and the assistant's name."""

    def __init__(self, conversation: Conversation, checklist: Checklist, looks: Appearance) -> None:
        self._conversation = conversation
        self._checklist = checklist
        self._looks = looks

    async def ask(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        if self._conversation.is_yolo():
            raise ToolMisuse("Nobody answers questions in this mode. Decide yourself, and say what you decided.")
        question = _said(call, "question")
        options = _options(call.arguments.get("options"))
        return question_result(question, options, "The person was asked.")

    async def plan(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        if not self._conversation.is_planning():
            raise ToolMisuse("This is not plan mode: do what was asked instead of planning it.")
        response = _said(call, "response")
        more = call.flag("needs_more_exploration")
        payload: dict[str, JsonValue] = {"text": response, "needs_more_exploration": more}
        if more:
            return ToolResult(True, "plan_mode_respond", payload, "The plan so far was shown. Go on exploring.")
        return ToolResult(True, "plan_mode_respond", payload, "The plan was shown.", ends_turn=WAITING)

    async def focus(self, _call: ToolCall, _turn: TurnContext) -> ToolResult:
        items = await asyncio.to_thread(self._checklist.items)
        edited = " The person has edited it." if items and self._checklist.was_edited() else ""
        echo = f"The checklist:{edited}\n{render(items)}" if items else "There is no checklist yet: give task_progress."
        return ToolResult(True, PROGRESS.name, checklist_payload(items), echo)

    async def new_task(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        summary = _said(call, "context")
        await self._conversation.hand_over(summary)
        await turn.audit("new_task", {"chars": len(summary)})
        payload: dict[str, JsonValue] = {"context": summary, "text": "I start afresh with what matters."}
        return ToolResult(True, "new_task", payload, "A fresh conversation begins.", ends_turn=FINISHED)

    async def reset_chat(self, _call: ToolCall, turn: TurnContext) -> ToolResult:
        await self._conversation.reset()
        await turn.audit("reset_chat", {})
        payload: dict[str, JsonValue] = {"text": "The conversation is cleared."}
        return ToolResult(True, "reset_chat", payload, "The conversation is cleared.", ends_turn=FINISHED)

    async def set_name(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        name = " ".join(_said(call, "name").split())
        if len(name) > _NAME_CHARS or not name.isprintable():
            raise ToolMisuse(f"name: give at most {_NAME_CHARS} visible characters.")
        try:
            await asyncio.to_thread(store.check_name, name, paths.presence())
        except ValueError as error:
            raise ToolMisuse(f"name: {error}") from error
        await asyncio.to_thread(self._looks.choose, {NAME: name}, turn.turn_id)
        await self._conversation.rename(name)
        await turn.audit("set_ai_name", {"name": name})
        payload: dict[str, JsonValue] = {"name": name, "undoable": True, "paths": ["#name"]}
        return ToolResult(True, "set_ai_name", payload, f"From now on your name is {name}.")


def checklist_payload(items: Sequence[Item]) -> dict[str, JsonValue]:
    listed: list[JsonValue] = [{"text": item.text, "done": item.done} for item in items]
    return {"items": listed, "done": sum(item.done for item in items), "total": len(items)}


def _said(call: ToolCall, name: str) -> str:
    text = call.text(name).strip()
    if not text:
        raise ToolMisuse(f"{name} is empty: write it out.")
    return text


def _options(value: JsonValue) -> tuple[str, ...]:
    """If the list has one item, that is a text which contains all answers."""
    items = [str(item).strip() for item in value] if isinstance(value, list) else []
    found = parse_options(items[0]) if len(items) == 1 else tuple(dict.fromkeys(item for item in items if item))
    return found[:_MOST_OPTIONS]


def _payload(name: str, description: str) -> Param:
    return Param(name, description=description, required=True, close=Close.LAST, short=False)


_RARE = RareFamily("conversation", "read your checklist, begin afresh, take a name")

TASKS = Family(
    Tasks,
    (
        ToolSpec(
            name="ask_followup_question",
            description=(
                "Ask the person one thing that you cannot find out yourself, with 2 to 5 likely answers as options (a "
                "JSON list, never one that switches modes), and end the turn until they answer."
            ),
            effect=Effect.TALKS,
            execute=Tasks.ask,
            children=(
                _payload("question", "one clear question"),
                Param("options", description='a JSON list of answers: ["PDF", "Text"]', many=True, short=False),
            ),
            examples=(
                "<ask_followup_question><question>Which format?</question>"
                '<options>["PDF", "Text"]</options></ask_followup_question>',
            ),
            voiced=True,
            taught_in=("ask", "auto", "plan"),
        ),
        ToolSpec(
            name="plan_mode_respond",
            description="Show your plan. Ends the turn, unless more has to be explored first.",
            effect=Effect.TALKS,
            execute=Tasks.plan,
            children=(
                _payload("response", "the plan"),
                Param("needs_more_exploration", ValueType.FLAG, "true to go on looking before the person answers"),
            ),
            examples=("<plan_mode_respond><response>First I would …</response></plan_mode_respond>",),
            voiced=True,
            taught_in=("plan",),
        ),
        ToolSpec(
            name="focus_chain",
            description=(
                "Read the checklist of this task, as the person may have edited it. To change it, give task_progress "
                "with any call."
            ),
            effect=Effect.READS,
            execute=Tasks.focus,
            examples=("<focus_chain/>",),
            is_checklist=True,
            rare=_RARE,
        ),
        ToolSpec(
            name="new_task",
            description=(
                "Propose a fresh conversation that knows only your summary. Put into it: current work, decisions, "
                "files, what was solved, what is left, with the person's own words where they matter. The person "
                "decides; a yes ends the turn."
            ),
            effect=Effect.TALKS,
            is_powerless=True,
            is_always_asked=True,
            execute=Tasks.new_task,
            children=(_payload("context", "the summary"),),
            examples=("<new_task><context>Current work: …</context></new_task>",),
            rare=_RARE,
        ),
        ToolSpec(
            name="reset_chat",
            description="Forget this conversation and begin with nothing, when the person asks for it. Ends the turn.",
            effect=Effect.SETTINGS,
            is_powerless=True,
            execute=Tasks.reset_chat,
            examples=("<reset_chat/>",),
            rare=_RARE,
        ),
        ToolSpec(
            name="set_ai_name",
            description="Take the name that the person wants to call you, for good.",
            effect=Effect.SETTINGS,
            is_powerless=True,
            execute=Tasks.set_name,
            attrs=(Param("name", description="the new name", required=True),),
            examples=('<set_ai_name name="Robin"/>',),
            rare=_RARE,
        ),
    ),
)

_OFFERS = Param("offers", ValueType.LIST, is_taught=False)
"""What the person may say next, as buttons. Models ask instead, so only the offline provider gives it."""


_TOLD_BY_CARD = Param("told_by_card", ValueType.FLAG, is_taught=False)
"""Whether the rows of the turn's calls tell the same already. Only the offline provider, which reads facts, knows."""


def _marks(call: ToolCall) -> dict[str, JsonValue]:
    given = call.arguments.get(_OFFERS.name)
    offers: dict[str, JsonValue] = {_OFFERS.name: given[:_MOST_OPTIONS]} if isinstance(given, list) and given else {}
    return offers | ({_TOLD_BY_CARD.name: True} if call.flag(_TOLD_BY_CARD.name) else {})


TONES = tuple(resources.table("speech.toml", resources.Table)["tones"])


class Speech:
    """The handlers of the tools that speak. A result that ends the turn has `text` for the person in its payload."""

    async def say(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        payload: dict[str, JsonValue] = {"tone": call.text("tone", "neutral"), "text": call.text("text")}
        return ToolResult(True, "say", payload | _marks(call))

    async def attempt_completion(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        """Return the result of the turn, which is not done if the call says so. Nothing runs the `command`."""
        text = call.text("result") or call.text("response")
        if not text:
            raise ToolMisuse(
                "attempt_completion needs result: what was done and where it is, in one to three sentences."
            )
        payload: dict[str, JsonValue] = {"text": text} | _marks(call)
        facts = (Proposed(call.text("command")),) if call.has("command") else ()
        ends = NOT_DONE if call.arguments.get("done") is False else FINISHED
        return ToolResult(True, "attempt_completion", payload, ends_turn=ends, facts=facts)

    async def wait_for_human_input(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        payload = {"kind": call.text("kind", "question"), "text": call.text("text")}
        return ToolResult(True, "wait_for_human_input", payload, ends_turn=WAITING)


SAY = Family(
    Speech,
    (
        ToolSpec(
            name="say",
            description=(
                "Speak to the person while you work, in one or two short sentences. It returns nothing; a reply of "
                "nothing but speech ends the turn."
            ),
            effect=Effect.TALKS,
            execute=Speech.say,
            attrs=(
                Param("tone", description="how it sounds; neutral if left out", choices=TONES, otherwise="neutral"),
                _OFFERS,
                _TOLD_BY_CARD,
            ),
            body=Param("text", description="what to say", required=True, short=False),
            examples=('<say tone="warm">On it.</say>',),
            voiced=True,
            feeds_back=False,
            is_speech=True,
        ),
        ToolSpec(
            name="attempt_completion",
            description="Give the result and end the turn. Call nothing after it.",
            effect=Effect.TALKS,
            execute=Speech.attempt_completion,
            attrs=(
                Param("done", ValueType.FLAG, "no: it is not done"),
                _OFFERS,
                _TOLD_BY_CARD,
            ),
            children=(
                Param(
                    "command",
                    description="optional: one that shows the result; the person sees it, nobody runs it",
                ),
                Param("response", description="the same as result", short=False, is_taught=False),
            ),
            body=Param(
                "result",
                description="always: what was done and where it is",
                close=Close.LAST,
                short=False,
            ),
            examples=("<attempt_completion><result>The calculator shows 84.</result></attempt_completion>",),
            voiced=True,
            feeds_back=False,
        ),
        ToolSpec(
            name="wait_for_human_input",
            description=(
                "Ask the person for what only they can give (a choice, a code, a password that they type themselves, "
                "a click you may not make), and end the turn until they answer. Call nothing after it."
            ),
            effect=Effect.TALKS,
            execute=Speech.wait_for_human_input,
            attrs=(Param("kind", description="choice, code, sign-in, captcha, click or another word"),),
            body=Param("text", description="what is needed, and why, in plain words", required=True, short=False),
            examples=('<wait_for_human_input kind="choice">Save it as PDF or as text?</wait_for_human_input>',),
            voiced=True,
            feeds_back=False,
        ),
    ),
)


class Keeper:
    """Saves what a model reports as `task_progress`. If the disk refuses, it writes to the log and the task goes on."""

    def __init__(self, checklist: Checklist) -> None:
        self._checklist = checklist

    async def __call__(self, progress: str) -> Mapping[str, JsonValue]:
        try:
            items = await asyncio.to_thread(self._checklist.update, progress)
        except OSError as error:  # A full disk must not stop the task, since the checklist is only an aid.
            _log.warning("The checklist could not be kept: %s", error)
            return {}
        return checklist_payload(items)
