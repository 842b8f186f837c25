"""Tool docs for the system prompt, generated from the specs: short, because they are read on every pass."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from app.protocol.spec import Kind, Param, ToolSpec

_SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z])")
_SHOWN_KIND = {
    Kind.INTEGER: "integer",
    Kind.NUMBER: "number",
    Kind.FLAG: "true/false",
    Kind.OBJECT: "JSON object",
    Kind.LIST: "JSON array",
}


def xml(specs: Sequence[ToolSpec]) -> str:
    """One paragraph a tool: what it does, its attributes, children and body, its examples."""
    return "\n\n".join(_xml_tool(spec) for spec in specs)


def batch(specs: Sequence[ToolSpec]) -> str:
    """The same with JSON arguments."""
    return "\n\n".join(_batch_tool(spec) for spec in specs)


def brief(spec: ToolSpec) -> str:
    """The purpose of a tool in its first sentence, and the names of what it may be given."""
    purpose = _SENTENCE.split(spec.description, maxsplit=1)[0].rstrip(".:")
    more = ", ".join(param.name for param in spec.params if not param.required)
    return f"{purpose}. May be given: {more}." if more else f"{purpose}."


def is_told(spec: ToolSpec) -> bool:
    """Whether `brief` leaves nothing out."""
    return not _SENTENCE.search(spec.description) and not any(
        param.description or param.choices or param.attrs for param in spec.params
    )


def _xml_tool(spec: ToolSpec) -> str:
    lines = [f"### {spec.name}", spec.description]
    lines += _listed("attributes", spec.attrs)
    lines += _listed("children", spec.children)
    if spec.body:
        lines.append(f"body: {_stated(spec.body)}")
    return "\n".join([*lines, *spec.examples])


def _batch_tool(spec: ToolSpec) -> str:
    return "\n".join([f"### {spec.name}", spec.description, *_listed("args", spec.params), *_batch_example(spec)])


def _batch_example(spec: ToolSpec) -> list[str]:
    required = {param.name: _sample(param) for param in spec.params if param.required or param is spec.body}
    return [json.dumps({"name": spec.name, "args": required}, ensure_ascii=False)]


def _sample(param: Param) -> object:
    if param.many or param.kind is Kind.LIST:
        return []
    if param.attrs or param.kind is Kind.OBJECT:
        return {}
    if param.choices:
        return param.choices[0]
    samples: dict[Kind, object] = {Kind.INTEGER: int(param.minimum or 1), Kind.NUMBER: 1.5, Kind.FLAG: True}
    return samples.get(param.kind, "…")


def _listed(title: str, params: Sequence[Param]) -> list[str]:
    return [f"{title}: " + "; ".join(_stated(param) for param in params)] if params else []


def _stated(param: Param) -> str:
    """`name* (integer, 1 to 3): what it is`; a star marks what must be given."""
    facts = [fact for fact in (_SHOWN_KIND.get(param.kind, ""), _bounds(param), "|".join(param.choices)) if fact]
    if param.many:
        facts.append("may be repeated")
    if param.attrs:
        facts.append("attributes " + ", ".join(_stated(attr) for attr in param.attrs))
    shown = f" ({', '.join(facts)})" if facts else ""
    name = f"{param.name}{'*' if param.required else ''}{shown}"
    return f"{name}: {param.description}" if param.description else name


def _bounds(param: Param) -> str:
    if param.minimum is not None and param.maximum is not None:
        return f"{param.minimum:g} to {param.maximum:g}"
    if param.minimum is not None:
        return f"at least {param.minimum:g}"
    return f"at most {param.maximum:g}" if param.maximum is not None else ""
