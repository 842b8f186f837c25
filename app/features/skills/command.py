"""`wisp skills`: show and add skills, which explain how to do a kind of work."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app import options as shared
from app.base.clipping import clip_line
from app.features.skills import store as skills
from app.features.skills.store import Skills
from app.services.files.workspace import workspace_of

_LINE_CHARS = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="list all skills (`wisp skills` alone does it, too)")
    show = what.add_parser("show", help="print a skill, as a model reads it, and the names of its files")
    show.add_argument("name", help="its name, as `wisp skills` lists it")
    add = what.add_parser("add", help="copy a skill to your own skills")
    add.add_argument("path", type=Path, help="its folder, with a file SKILL.md in it")


def run(options: argparse.Namespace) -> int:
    if options.what == "add":
        added = skills.add(options.path.resolve())
        shared.say("Added {name}: {folder}", name=added.name, folder=str(added.folder))
        for name in added.files():
            shared.say("It brings the file {name}. Scripts in it run like any other command.", name=name)
        return 0
    found = Skills(workspace_of(shared.settings_of(options))).find()
    if options.what == "show":
        skill = found.named(options.name)
        print(f"# {skill.name} ({skill.scope}, {skill.folder})\n\n{skill.description}\n\n{skill.body}")
        print(*(f"- {name}" for name in skill.files()), sep="\n", end="")
        return 0
    for skill in found.skills:
        hidden = " (hidden from models)" if skill.is_hidden else ""
        print(f"{skill.name:<28} {skill.scope:<8}{hidden} {clip_line(skill.description, _LINE_CHARS)}")
    for problem in found.problems:
        print(f"wisp: {problem}", file=sys.stderr)
    return 0
