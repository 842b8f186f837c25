"""`wisp tools`: the tool docs exactly as a model gets them, all words of some tools, or the schemas as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from app import options as shared
from app.base import output
from app.protocol import docs
from app.protocol.dialects.batch import json_docs
from app.protocol.dialects.choose import NAMES, by_name
from app.protocol.spec import ToolSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="describe only these tools, in full")
    parser.add_argument("--dialect", choices=NAMES, default="xml", help="the form in which the model writes calls")
    parser.add_argument(
        "--json", action="store_true", help="print names, descriptions and JSON schemas in place of the text"
    )


def run(options: argparse.Namespace, specs: Sequence[ToolSpec] | None = None) -> int:
    """Print the tools, and return 0; 2 if a named tool does not exist. `specs` default to the registry's."""
    known = registered() if specs is None else specs
    if options.names:
        unknown = sorted(set(options.names) - {spec.name for spec in known})
        if unknown:
            shared.warn("There is no tool {names}. To list them all: wisp tools", names=", ".join(unknown))
            return 2
        known = [spec for spec in known if spec.name in options.names]
    write = _in_full if options.names else _taught
    print(output.as_json(_listed(known), indent=2) if options.json else write(options.dialect, known))
    return 0


def registered() -> Sequence[ToolSpec]:
    """Loading the specs takes long, so only commands that need them call this."""
    from app.assembly import registry

    return registry().specs


def _in_full(name: str, specs: Sequence[ToolSpec]) -> str:
    return (docs.xml if name == "xml" else json_docs)(specs)


def _taught(name: str, specs: Sequence[ToolSpec]) -> str:
    dialect = by_name(name)
    declared = dialect.schemas(specs)
    text = dialect.teach(specs)
    return text if not declared else f"{text}\n{json.dumps(declared, ensure_ascii=False, indent=2)}"


def _listed(specs: Sequence[ToolSpec]) -> list[dict[str, object]]:
    return [
        {
            "name": spec.name,
            "description": spec.description,
            "aliases": list(spec.aliases),
            "effect": spec.effect.value,
            "voiced": spec.voiced,
            "feeds_back": spec.feeds_back,
            "examples": list(spec.examples),
            "input_schema": docs.of_tool(spec),
        }
        for spec in specs
    ]
