"""What the assistant says to the person: speech, the result, a question only they can answer."""

from __future__ import annotations

from app.base import resources
from app.base.errors import ToolMisuse
from app.protocol.call import FINISHED, WAITING, JsonValue, ToolCall, ToolResult
from app.protocol.spec import Close, Effect, Param, ToolSpec
from app.tools.registry import Family, TurnContext

TONES = tuple(resources.table("speech.toml", resources.Table)["tones"])


class Speech:
    """Handlers of speech. Results that end the turn carry what is shown to the person as `text` in their payload."""

    async def say(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return ToolResult(True, "say", {"tone": call.text("tone", "neutral"), "text": call.text("text")})

    async def attempt_completion(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        """`command` is a demonstration for the person to see; nothing runs it."""
        text = call.text("result") or call.text("response")
        if not text:
            raise ToolMisuse(
                "attempt_completion needs result: what was done and where it is, in one to three sentences."
            )
        payload: dict[str, JsonValue] = {"text": text}
        if call.has("command"):
            payload["command"] = call.text("command")
        return ToolResult(True, "attempt_completion", payload, ends_turn=FINISHED)

    async def wait_for_human_input(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        payload = {"kind": call.text("kind", "question"), "text": call.text("text")}
        return ToolResult(True, "wait_for_human_input", payload, ends_turn=WAITING)


SAY = Family(
    Speech,
    (
        ToolSpec(
            name="say",
            description=(
                "Speak to the person in the bubble, while you work. One or two short sentences. Not a result: it "
                "returns nothing, and a reply that holds nothing but speech ends the turn."
            ),
            effect=Effect.TALKS,
            execute=Speech.say,
            attrs=(
                Param("tone", description="how it sounds; neutral if left out", choices=TONES, otherwise="neutral"),
            ),
            body=Param("text", description="what to say", required=True, short=False),
            examples=('<say tone="warm">On it.</say>',),
            voiced=True,
            feeds_back=False,
            is_speech=True,
        ),
        ToolSpec(
            name="attempt_completion",
            description=(
                "Show the result and end the turn. Only after results have shown that everything asked for is done. "
                "Call nothing after it."
            ),
            effect=Effect.TALKS,
            execute=Speech.attempt_completion,
            children=(
                Param(
                    "command",
                    description="optional, a command that shows the result; the person sees it, nobody runs it",
                ),
                Param("response", description="the same as result", short=False),
            ),
            body=Param(
                "result",
                description="always: what was done and where it is, in one to three sentences",
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
                "Ask the person for what only they can give, and end the turn until they answer. That is a choice, a "
                "code sent to their phone, a password they type themselves, a click you may not make. Call nothing "
                "after it."
            ),
            effect=Effect.TALKS,
            execute=Speech.wait_for_human_input,
            attrs=(Param("kind", description="one word for what is needed: choice, code, sign-in, captcha, click"),),
            body=Param("text", description="what is needed, and why, in plain words", required=True, short=False),
            examples=('<wait_for_human_input kind="choice">Save it as PDF or as text?</wait_for_human_input>',),
            voiced=True,
            feeds_back=False,
        ),
    ),
)
