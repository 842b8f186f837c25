"""Generate the tool docs for the system prompt from the specs. They are short because every pass sends them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum

from app.base.values import dataclass, replace
from app.protocol.call import JsonValue
from app.protocol.spec import PROGRESS, Param, RareFamily, ToolSpec, ValueType

_SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z])")
_BY_LINE = "### Told in one line each: what they take, and what they do"
_FAMILIES = "### Rarer tools, by family, each with what it must be given"
_SHOWN_KIND = {
    ValueType.INTEGER: "integer",
    ValueType.NUMBER: "number",
    ValueType.FLAG: "true/false",
    ValueType.OBJECT: "JSON object",
    ValueType.LIST: "JSON array",
}


class Tier(IntEnum):
    """How much the prompt says about a tool: all, a line, a share of its family's line, or that family's purpose."""

    FULL = 0
    LINE = 1
    FAMILY = 2
    PURPOSE = 3


@dataclass(frozen=True, slots=True)
class Detail:
    """How much the prompt says about tools: those named `in_full` have all their words (None: all tools but the rare
    ones), others a line, rare ones a share of their family's line.

    If it `is_short`, each is told one step less, but for tools that do not feed back: no answer could bring their docs.
    """

    in_full: frozenset[str] | None = None
    is_short: bool = False

    def tier(self, spec: ToolSpec) -> Tier:
        is_full = self.in_full is None or spec.name in self.in_full
        tier = Tier.FAMILY if spec.rare else Tier.FULL if is_full else Tier.LINE
        return Tier(tier + 1) if self.is_short and spec.feeds_back else tier

    def told_by_line(self, specs: Sequence[ToolSpec]) -> list[ToolSpec]:
        """Return the tools of which the prompt leaves something out, so that an answer must bring the rest."""
        known = {param for spec in specs if self.tier(spec) is Tier.FULL for param in spec.taught}
        return [
            spec for spec in specs if (tier := self.tier(spec)) and not (tier is Tier.LINE and _is_told(spec, known))
        ]


EVERYTHING = Detail()
"""All words of all tools, but the rare ones."""


def xml(specs: Sequence[ToolSpec]) -> str:
    """Return one paragraph per tool: what it does, its attributes, children, body and examples.

    Each argument is described once: where it appears again, only its name stands.
    """
    known: set[Param] = set()
    return "\n\n".join(_xml_tool(spec, known) for spec in specs)


def taught(specs: Sequence[ToolSpec], write: Callable[[Sequence[ToolSpec]], str], detail: Detail) -> str:
    """Return the docs of all tools in the given detail. `write` writes those that are told in full."""
    full = write([spec for spec in specs if detail.tier(spec) is Tier.FULL])
    lines = [f"- {spec.name}{_arguments(spec)}: {purpose(spec)}" for spec in specs if detail.tier(spec) is Tier.LINE]
    parts = (full, "\n".join([_BY_LINE, *lines]) if lines else "", families(specs, detail, has_bodies=write is xml))
    return "\n\n".join(part for part in parts if part)


def families(specs: Sequence[ToolSpec], detail: Detail, *, has_bodies: bool = False) -> str:
    """Return one line per family: its name, its purpose, and its tools with their required arguments.

    `has_bodies`: an argument may be the text between two tags, and is called so.
    """
    found: dict[RareFamily, list[str]] = {}
    for spec in (spec for spec in specs if detail.tier(spec) >= Tier.FAMILY):
        names = found.setdefault(spec.rare or _USUAL, [])
        if detail.tier(spec) is Tier.FAMILY:
            names.append(f"{spec.name}{_needed(spec, has_bodies=has_bodies)}")
    lines = [f"- {family.name} ({family.purpose}){': ' * bool(of)}{', '.join(of)}" for family, of in found.items()]
    return "\n".join([_FAMILIES, *lines]) if lines else ""


_USUAL = RareFamily("without a family", "what many tasks need")


def _needed(spec: ToolSpec, *, has_bodies: bool) -> str:
    needed = [param for param in spec.params if param.required]
    names = [f"{param.name}, the body" if has_bodies and param is spec.body else param.name for param in needed]
    return f" ({', '.join(names)})" if names else ""


def _arguments(spec: ToolSpec) -> str:
    names = [f"{param.name}{'*' if param.required else ''}" for param in spec.taught]
    return f" ({', '.join(names)})" if names else ""


def batch(specs: Sequence[ToolSpec], example: Callable[[ToolSpec], str]) -> str:
    """Return the docs of the tools with JSON arguments, each argument described once. `example` writes a call."""
    known: set[Param] = set()
    return "\n\n".join(_batch_tool(spec, known, example(spec)) for spec in specs)


def purpose(spec: ToolSpec) -> str:
    """The description's first sentence."""
    return f"{_SENTENCE.split(spec.description, maxsplit=1)[0].rstrip('.:')}."


def brief(spec: ToolSpec) -> str:
    """Return a tool's purpose and the names of its optional arguments."""
    more = ", ".join(param.name for param in spec.taught if not param.required)
    return f"{purpose(spec)} Also: {more}." if more else purpose(spec)


def _is_told(spec: ToolSpec, known: Collection[Param]) -> bool:
    """True if one line says everything. `known` are the arguments that other tools describe."""
    return not _SENTENCE.search(spec.description) and not any(
        param.description or param.choices or param.attrs for param in spec.taught if param not in known
    )


def _xml_tool(spec: ToolSpec, known: set[Param]) -> str:
    lines = [f"### {spec.name}", spec.description]
    lines += _listed("attributes", [param for param in spec.attrs if param.is_taught], known)
    lines += _listed("children", [param for param in spec.children if param.is_taught], known)
    if spec.body:
        lines.append(f"body: {_stated(spec.body, known)}")
    return "\n".join([*lines, *spec.examples])


def _batch_tool(spec: ToolSpec, known: set[Param], example: str) -> str:
    return "\n".join([f"### {spec.name}", spec.description, *_listed("args", spec.taught, known), example])


def _listed(title: str, params: Sequence[Param], known: set[Param]) -> list[str]:
    return [f"{title}: " + "; ".join(_stated(param, known) for param in params)] if params else []


def _stated(param: Param, known: set[Param]) -> str:
    """Return `name* (integer): description`. A star marks a required argument; limits are left out: Wisp checks them.

    An argument that is `known` has only its name; others are added to `known`.
    """
    if param in known:
        return f"{param.name}{'*' if param.required else ''}"
    known.add(param)
    facts = [fact for fact in (_SHOWN_KIND.get(param.kind, ""), "|".join(param.choices)) if fact]
    if param.many:
        facts.append("may be repeated")
    if param.attrs:
        facts.append("attributes " + ", ".join(_stated(attr, known) for attr in param.attrs))
    shown = f" ({', '.join(facts)})" if facts else ""
    name = f"{param.name}{'*' if param.required else ''}{shown}"
    return f"{name}: {param.description}" if param.description else name


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
    return replace(param, minimum=None, maximum=None, choices=())


def _object(params: Sequence[Param], *, closed: bool | None) -> dict[str, JsonValue]:
    """If `closed` is None, the schema does not say whether more fields are allowed."""
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
