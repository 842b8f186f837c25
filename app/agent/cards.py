"""Turn the reader's events into what the person sees: one card for each call, and one stream of speech.

Every opened card is closed exactly once, even if the stream breaks or the person stops the turn.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.agent.agent_events import SayDelta, TagDelta, TagStart, ThoughtDelta, ToolFinished, ToolProgress, ToolRunning
from app.agent.turn import Tell
from app.protocol.call import Block, JsonValue, ToolCall, ToolResult, tool_error
from app.protocol.spec import ToolSpec
from app.tools.registry import Registry


def speech_param(spec: ToolSpec) -> str:
    """Return the argument of a voiced tool that contains its words: the body, or else its first child."""
    spoken = spec.body or next(iter(spec.children), None)
    return spoken.name if spoken else ""


class Cards:
    """Shows a card to the person for each call of one pass."""

    def __init__(self, tell: Tell, registry: Registry) -> None:
        self._tell = tell
        self._registry = registry
        self._open: dict[str, str] = {}
        self._tones: dict[str, str] = {}
        self._spoken: set[str] = set()
        self._blank = ""
        self._begun = False

    def prose(self, text: str) -> None:
        """Show a piece of plain speech. Blanks at its ends are left out, such as those between two calls."""
        text = self._blank + text if self._begun else text.lstrip()
        said = text.rstrip()
        self._blank = text[len(said) :]
        if said:
            self._begun = True
            self._tell(SayDelta("", "", said))

    def thought(self, text: str) -> None:
        self._tell(ThoughtDelta(text))

    def opened(self, call_id: str, name: str, attrs: Mapping[str, JsonValue]) -> None:
        if call_id in self._open:
            return
        self._blank, self._begun = "", False
        spec = self._registry.find(name)
        self._open[call_id] = spec.name if spec else name
        self._tones[call_id] = str(attrs.get("tone", ""))
        self._tell(TagStart(call_id, self._open[call_id], dict(attrs), spec is not None and spec.voiced))

    def delta(self, call_id: str, param: str, text: str) -> None:
        spec = self._registry.find(self._open.get(call_id, ""))
        if spec and spec.voiced and param == speech_param(spec):
            self._spoken.add(call_id)
            self._tell(SayDelta(call_id, self._tones[call_id], text))
        else:
            self._tell(TagDelta(call_id, param, text))

    def closed(self, block: Block) -> None:
        """Note that the call is complete. If the dialect reported no start, the card opens now."""
        self.opened(block.call_id, block.name, dict(block.args or block.attrs))

    def running(self, call: ToolCall, spec: ToolSpec) -> None:
        """Note that the call runs now. Speech that came in one piece, without deltas, is shown here."""
        if spec.voiced:
            self._speak(call.id, str(call.arguments.get("tone", "")), call.arguments.get(speech_param(spec)))
        self._tell(ToolRunning(call.id, spec.name, dict(call.arguments)))

    def progress(self, call_id: str, event: str, payload: Mapping[str, JsonValue]) -> None:
        if call_id in self._open:
            self._tell(ToolProgress(call_id, event, dict(payload)))

    def finished(self, call_id: str, result: ToolResult, elapsed_s: float = 0.0) -> None:
        """Close a card. A second call does nothing. Words that only the result contains are shown first."""
        tool = self._open.pop(call_id, None)
        if tool is None:
            return
        spec = self._registry.find(tool)
        if spec and spec.voiced and result.ok:
            self._speak(call_id, self._tones[call_id], result.payload.get("text"))
        self._tell(
            ToolFinished(
                call_id,
                tool,
                result.ok,
                result.event,
                dict(result.payload),
                result.llm_echo,
                result.llm_media,
                elapsed_s,
                result.facts,
            )
        )

    def _speak(self, call_id: str, tone: str, words: JsonValue) -> None:
        """Show the words of a voiced call, unless they were shown before."""
        if words and call_id not in self._spoken:
            self._spoken.add(call_id)
            self._tell(SayDelta(call_id, tone, str(words)))

    def close_all(self, reason: str) -> None:
        """Close every open card as not run, with this reason."""
        for call_id, tool in list(self._open.items()):
            self.finished(call_id, tool_error(tool, reason, for_model=True))
