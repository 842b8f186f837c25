"""Generate the tool docs for the system prompt from the specs. They are short because every pass sends them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from app.protocol.call import JsonValue
from app.protocol.spec import PROGRESS, Param, RareFamily, ToolSpec, ValueType

_SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z])")
_FAMILIES = """### Rarer tools, by family
Behind each stands what it must be given. The answer to its first call tells what else it takes, and tool_docs does."""
_SHOWN_KIND = {
    ValueType.INTEGER: "integer",
    ValueType.NUMBER: "number",
    ValueType.FLAG: "true/false",
    ValueType.OBJECT: "JSON object",
    ValueType.LIST: "JSON array",
}


def xml(specs: Sequence[ToolSpec]) -> str:
    """Return one paragraph per tool: what it does, its attributes, children, body and examples."""
    return "\n\n".join(_xml_tool(spec) for spec in specs)


def taught(specs: Sequence[ToolSpec], write: Callable[[Sequence[ToolSpec]], str]) -> str:
    """Return the docs of all tools. `write` writes those of the usual tools; each rare family gets one line."""
    parts = (write([spec for spec in specs if not spec.rare]), families(specs))
    return "\n\n".join(part for part in parts if part)


def families(specs: Sequence[ToolSpec]) -> str:
    """Return one line per rare family: its name, its purpose, and its tools with their required arguments."""
    found: dict[RareFamily, list[str]] = {}
    for spec in specs:
        if spec.rare:
            found.setdefault(spec.rare, []).append(f"{spec.name}{_needed(spec)}")
    lines = [f"- {family.name} ({family.purpose}): {', '.join(tools)}" for family, tools in found.items()]
    return "\n".join([_FAMILIES, *lines]) if lines else ""


_USUAL = RareFamily("usual tools", "what most tasks need")


def shortest(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return the specs so that each tool has only its share of a family's line, for models that read little at once.

    Tools that do not feed back keep their docs, because no answer could bring them.
    """
    return tuple(replace(spec, rare=spec.rare or _USUAL) if spec.feeds_back else spec for spec in specs)


def _needed(spec: ToolSpec) -> str:
    names = [f"{param.name}, the body" if param is spec.body else param.name for param in spec.params if param.required]
    return f" ({', '.join(names)})" if names else ""


def batch(specs: Sequence[ToolSpec]) -> str:
    """Return the docs of the tools with JSON arguments."""
    return "\n\n".join(_batch_tool(spec) for spec in specs)


def brief(spec: ToolSpec) -> str:
    """Return the first sentence of a tool's description and the names of its optional arguments."""
    purpose = _SENTENCE.split(spec.description, maxsplit=1)[0].rstrip(".:")
    more = ", ".join(param.name for param in spec.taught if not param.required)
    return f"{purpose}. Also: {more}." if more else f"{purpose}."


def is_told(spec: ToolSpec) -> bool:
    """Return whether `brief` says everything about the tool."""
    return not _SENTENCE.search(spec.description) and not any(
        param.description or param.choices or param.attrs for param in spec.taught
    )


def _xml_tool(spec: ToolSpec) -> str:
    lines = [f"### {spec.name}", spec.description]
    lines += _listed("attributes", [param for param in spec.attrs if param.is_taught])
    lines += _listed("children", spec.children)
    if spec.body:
        lines.append(f"body: {_stated(spec.body)}")
    return "\n".join([*lines, *spec.examples])


def _batch_tool(spec: ToolSpec) -> str:
    return "\n".join([f"### {spec.name}", spec.description, *_listed("args", spec.taught), *_batch_example(spec)])


def _batch_example(spec: ToolSpec) -> list[str]:
    required = {param.name: _sample(param) for param in spec.params if param.required or param is spec.body}
    return [json.dumps({"name": spec.name, "args": required}, ensure_ascii=False)]


def _sample(param: Param) -> object:
    if param.many or param.kind is ValueType.LIST:
        return []
    if param.attrs or param.kind is ValueType.OBJECT:
        return {}
    if param.choices:
        return param.choices[0]
    samples: dict[ValueType, object] = {
        ValueType.INTEGER: int(param.minimum or 1),
        ValueType.NUMBER: 1.5,
        ValueType.FLAG: True,
    }
    return samples.get(param.kind, "…")


def _listed(title: str, params: Sequence[Param]) -> list[str]:
    return [f"{title}: " + "; ".join(_stated(param) for param in params)] if params else []


def _stated(param: Param) -> str:
    """Return `name* (integer, 1 to 3): description`. A star marks a required argument."""
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


def of_tool(spec: ToolSpec) -> dict[str, JsonValue]:
    """Return the JSON schema of a tool's arguments. Undeclared arguments are forbidden unless the spec is `open`."""
    return _object(spec.taught if spec.param(PROGRESS.name) else (*spec.taught, PROGRESS), closed=not spec.open)


def compact(
    spec: ToolSpec, known: set[Param], *, is_brief: bool = False, has_progress: bool = False
) -> dict[str, JsonValue]:
    """Return the schema of a tool in as few characters as possible, without limits: Wisp checks those itself.

    An argument in `known` was described earlier, so it gets no description here; others are added to `known`. A brief
    schema holds only the required arguments and does not mark them as required.
    """
    if is_brief:
        params = tuple(replace(_bare(param), description="", required=False) for param in spec.params if param.required)
    else:
        params = tuple(_undescribed(param, known) for param in spec.taught)
    return _object((*params, PROGRESS) if has_progress else params, closed=None)


def _undescribed(param: Param, known: set[Param]) -> Param:
    if param in known:
        return replace(_bare(param), description="")
    known.add(param)
    return replace(_bare(param), choices=param.choices, attrs=tuple(_undescribed(attr, known) for attr in param.attrs))


def _bare(param: Param) -> Param:
    """Return the argument without its limits and choices."""
    return replace(param, minimum=None, maximum=None, choices=())


def _object(params: Sequence[Param], *, closed: bool | None) -> dict[str, JsonValue]:
    """Return the schema of an object. If `closed` is None, it does not say whether more fields are allowed."""
    properties: dict[str, JsonValue] = {param.name: of_param(param) for param in params}
    required = [param.name for param in params if param.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        **({} if closed is None else {"additionalProperties": not closed}),
    }


def of_param(param: Param) -> dict[str, JsonValue]:
    """Return the schema of one argument. A child with attributes is an object; a repeated argument is an array."""
    if param.many:
        return _described(param, {"type": "array", "items": _value(param)})
    return _described(param, _value(param))


def _described(param: Param, schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {**schema, **({"description": param.description} if param.description else {})}


def _value(param: Param) -> dict[str, JsonValue]:
    if param.attrs:
        return _object((*param.attrs, Param("text", description="the text inside")), closed=True)
    schema: dict[str, JsonValue] = {"type": param.kind.value}
    if param.kind is ValueType.LIST:
        schema["items"] = {}
    if param.choices:
        schema["enum"] = list(param.choices)
    if param.minimum is not None:
        schema["minimum"] = _plain(param.minimum)
    if param.maximum is not None:
        schema["maximum"] = _plain(param.maximum)
    return schema


def _plain(number: float) -> JsonValue:
    return int(number) if float(number).is_integer() else number
