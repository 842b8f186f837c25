"""The tool that works towards a goal on the screen, step by step: look, find, act, look again."""

from __future__ import annotations

from app.base.clipping import clip_line
from app.base.errors import ToolMisuse
from app.base.facts import Failed
from app.base.phrases import Phrase
from app.desktop.capture import Capture
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, RareFamily, ScreenAim, ToolSpec, ValueType
from app.tools.pictures import ModelSight, shown
from app.tools.registry import Family, GoalLimits, Pursued, TurnContext

_PASSES = 25
_SECONDS = 300
_MOST_PASSES = 100
_MOST_SECONDS = 1800
_TOLD = 8
_LINE_CHARS = 140


class Goals:
    """The handler of this tool. `sight` says what the model can see: only some models get the last picture."""

    def __init__(self, desktop: Desktop, sight: ModelSight | None = None) -> None:
        self._desktop = desktop
        self._sight = sight or ModelSight()

    async def pursue(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        goal = call.text("goal").strip()
        if not goal:
            raise ToolMisuse("There is no goal: say what is to be reached, and how to tell.")
        cost = call.number("max_cost_usd") if call.has("max_cost_usd") else None
        limits = GoalLimits(call.integer("max_passes", _PASSES), call.number("max_seconds", _SECONDS), cost)
        pursued = await turn.pursue(goal, limits)
        await turn.audit("computer_use", {"goal": clip_line(goal, _LINE_CHARS), "passes": pursued.passes})
        return await self._told(call, pursued)

    async def _told(self, call: ToolCall, pursued: Pursued) -> ToolResult:
        payload: dict[str, JsonValue] = {
            "reached": pursued.is_reached,
            "text": pursued.text,
            "passes": pursued.passes,
            "actions": len(pursued.deeds),
            "seconds": round(pursued.seconds, 1),
            "cost_usd": pursued.cost_usd,
        }
        if not pursued.is_reached:
            payload |= {"tag": call.name, "reason": pursued.text}
        facts = () if pursued.is_reached else (Failed(Phrase(pursued.text)),)
        event = call.name if pursued.is_reached else "tool_error"
        if not self._sight.takes_pictures():
            return ToolResult(pursued.is_reached, event, payload, _account(pursued), facts=facts)
        picture = shown(call, await self._desktop.run(_looked, self._sight), _account(pursued))
        told = {**picture.payload, **payload}
        return ToolResult(pursued.is_reached, event, told, picture.llm_echo, picture.llm_media, facts=facts)


async def _looked(controller: DesktopController, sight: ModelSight) -> Capture:
    return await controller.screen_capture.capture(controller.region_of(0, ""), "screen", sight.budget)


def _account(pursued: Pursued) -> str:
    cost = f", ${pursued.cost_usd:.2f}" if pursued.cost_usd else ""
    state = "It says that the goal is reached" if pursued.is_reached else "The goal was not reached"
    spent = f"{pursued.passes} passes, {len(pursued.deeds)} actions, {pursued.seconds:.0f} s{cost}"
    last = " last" if len(pursued.deeds) > _TOLD else ""
    deeds = [f"- {clip_line(deed, _LINE_CHARS)}" for deed in pursued.deeds[-_TOLD:]]
    return "\n".join([f"{state}: {pursued.text}", f"({spent}.) What it did{last}:" if deeds else f"({spent}.)", *deeds])


GOALS = Family(
    Goals,
    (
        ToolSpec(
            "computer_use",
            "Reach a small goal on the screen. It looks, finds, acts and looks again by itself until the goal is "
            "reached or a ceiling is, and tells the outcome with the last picture. Every action is judged and shown as "
            "if you had made it. Say how to tell that the goal is reached; say everything that must be known, for it "
            "has not read this conversation.",
            Effect.DESKTOP,
            Goals.pursue,
            attrs=(
                Param("max_passes", ValueType.INTEGER, f"looks and acts; {_PASSES}", minimum=1, maximum=_MOST_PASSES),
                Param("max_seconds", ValueType.NUMBER, f"time; {_SECONDS}", minimum=1, maximum=_MOST_SECONDS),
                Param("max_cost_usd", ValueType.NUMBER, "money, in US dollars", minimum=0, maximum=100),
            ),
            body=Param("goal", description="what is to be reached", required=True, short=False),
            examples=(
                "<computer_use>Set the calculator to scientific mode. Reached when it shows a sin button."
                "</computer_use>",
            ),
            aim=ScreenAim.NONE,
            rare=RareFamily("goals", "have a small goal on the screen reached, without seeing each step"),
        ),
    ),
)
