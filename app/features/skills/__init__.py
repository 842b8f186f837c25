"""Playbooks for kinds of work: folders with a `SKILL.md`, Wisp's own, the person's and those of a workspace. Each pass
of the model learns the names of those that fit; the model reads one by its tool. `wisp skills add` takes others in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.phrases import Phrase
from app.features.feature import Feature, OpenFeature, Room

if TYPE_CHECKING:
    from app.tools.registry import Family


class SkillFeature(Feature):
    name = "skills"
    about = Phrase("Instructions for certain kinds of work (skills)")
    words = Path(__file__).parent / "words"
    commands = {"skills": "list, show or add skills: instructions that the model follows for certain kinds of work"}  # noqa: RUF012

    def families(self) -> Sequence[Family]:
        from app.features.skills.tools import SKILLS

        return (SKILLS,)

    def open(self, room: Room, /) -> OpenFeature:
        from app.features.skills.store import Skills
        from app.features.skills.tools import SkillHints, SkillTools

        skills = Skills(room.workspace.folder)
        return OpenFeature(handlers=(SkillTools(skills),), remind=SkillHints(skills))


FEATURE = SkillFeature()
