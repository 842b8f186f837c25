"""Tell a model how a call is written that it wrote in another form, or under another name."""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.agent.prompt import told
from app.base.errors import WispError
from app.protocol.arguments import to_call
from app.protocol.call import Block, ToolCall
from app.protocol.dialects.api import Dialect, Pacing
from app.protocol.dialects.xml import finished, read_xml
from app.protocol.spec import ToolSpec

_MOST_CHARS = 300


def how_to_write(block: Block | None, dialect: Dialect, specs: Sequence[ToolSpec], *, is_shown: bool = True) -> str:
    """Return one line that says how to write the call in this dialect; "" if its tool does not exist.

    If the arguments do not fit the tool, are long, or are not to be shown, the line is the tool's own example.
    """
    spec = next((one for one in specs if block and block.name in (one.name, *one.aliases)), None)
    if block is None or spec is None:
        return ""
    call = _call(spec, block) if is_shown and (block.attrs or block.children or block.body) else None
    if call is None or sum(len(str(value)) for value in call.arguments.values()) > _MOST_CHARS:
        call = _example(spec)
    if call is None:
        return ""
    if dialect.pacing is Pacing.WHOLE_MESSAGE:
        return told("call_declared", name=call.name, args=json.dumps(dict(call.arguments), ensure_ascii=False))
    return told("write_call", line=dialect.write([call], specs))


def _call(spec: ToolSpec, block: Block) -> ToolCall | None:
    try:
        return to_call(spec, block)
    except WispError:
        return None


def _example(spec: ToolSpec) -> ToolCall | None:
    blocks = finished(read_xml([spec]), spec.examples[0]) if spec.examples else []
    return _call(spec, blocks[0]) if blocks else None
