"""What a model reads before the conversation begins: the tokens of the prompt and of the declared tools.

    .venv/bin/python scripts/bench/prompts.py [--before CHECKOUT]

A row is a dialect, or a kind of model with the profile of one of its kind. With `--before` another checkout of Wisp is
counted as well. A token is taken as 3.6 characters, a little too high for English and for JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_CHARS_A_TOKEN = 3.6
_MODELS = {
    "Claude with its own tools": "claude-opus-4-8",
    "a local model": "llama3.2",
    "a local model of 8,192 tokens": "gemma2",
}


def _counted() -> Iterator[tuple[str, int, int]]:
    """Yield each row: its name, and the characters of the prompt and of the declarations."""
    from app.agent.prompt import teaching
    from app.assembly import registry
    from app.base.geometry import Size
    from app.protocol.dialects import choose
    from app.providers import profiles
    from app.providers.anthropic.computer_toolset import TOOLSET, declared
    from app.settings.store import Settings

    specs = tuple(spec for spec in registry().specs if "auto" in (getattr(spec, "taught_in", ()) or ("auto",)))
    settings = Settings({}, {})
    for name in choose.NAMES:
        prompt, tools = teaching(choose.by_name(name), specs, settings, {})
        yield name, len(prompt), _chars([dict(tool) for tool in tools])
    for name, model in _MODELS.items():
        profile = profiles.profile_of(model)
        is_toolset = profile.computer_tool == TOOLSET
        by_name = choose.shortest if getattr(profile, "reads_little", False) else choose.by_name
        dialect = by_name("native" if is_toolset else profile.dialect)
        prompt, tools = teaching(dialect, specs, settings, profile.tool_names)
        ours = [dict(tool) for tool in tools]
        yield name, len(prompt), _chars(declared(TOOLSET, ours, Size(1280, 800)) if is_toolset else ours)


def _chars(tools: object) -> int:
    return len(json.dumps(tools, ensure_ascii=False)) if tools else 0


def _of(root: Path) -> dict[str, tuple[int, int]]:
    command = [sys.executable, __file__, "--count", str(root)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name: (prompt, tools) for name, prompt, tools in json.loads(told)}


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another checkout of Wisp to compare with")
    parser.add_argument("--count", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        sys.path.insert(0, str(options.count.resolve()))
        print(json.dumps(list(_counted())))
        return 0
    roots = {"before": options.before, "now": _ROOT} if options.before else {"now": _ROOT}
    found = {name: _of(root) for name, root in roots.items()}
    for row in found["now"]:
        told = []
        for name, rows in found.items():
            prompt, tools = (round(chars / _CHARS_A_TOKEN) for chars in rows[row])
            told.append(f"{name} {prompt + tools:6,} tokens (prompt {prompt:6,}, declared {tools:6,})")
        print(f"{row:<32} {'   '.join(told)}")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
