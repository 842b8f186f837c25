"""Skills: instructions for kinds of work. List them, read one, and name its files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from app.base.clipping import clip_line
from app.base.facts import Brought
from app.features.skills.store import CATALOGUE_CHARS, MOST_LISTED, FoundSkills, Skill, Skills
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, RareFamily, ToolSpec, ValueType
from app.tools.registry import Family, TurnContext

_PART_CHARS = 20_000
"""About 5,000 tokens, the limit of the format for the body of a skill."""
_CARD_CHARS = 2_000
_MOST_FILES = 40
_FITTING = 3


class SkillTools:
    """The handler of use_skill."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    async def use(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        found = await asyncio.to_thread(self._skills.find)
        name = call.text("name").strip()
        if not name:
            return _catalogue(found)
        skill = found.named(name)
        wanted = call.text("file").strip()
        text = await asyncio.to_thread(skill.file, wanted) if wanted else await asyncio.to_thread(_opened, skill)
        await turn.audit("skill_used", {"name": skill.name, "path": str(skill.folder), "file": wanted})
        start = call.integer("start")
        part = text[start : start + _PART_CHARS]
        more = (
            f"\n[{start + len(part)} of {len(text)} characters; go on with start]"
            if len(text) > start + len(part)
            else ""
        )
        payload: dict[str, JsonValue] = {"name": skill.name, "scope": skill.scope, "text": part[:_CARD_CHARS]}
        return ToolResult(True, "use_skill", payload, part + more)


class SkillHints:
    """Adds the skills that fit the person's words to each model pass. The model lists the others by use_skill."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._found: FoundSkills | None = None

    async def __call__(self, said: str) -> Mapping[str, str]:
        """The folders are searched once in a conversation; use_skill searches again."""
        if self._found is None:
            self._found = await asyncio.to_thread(self._skills.find)
        fitting = [_line(skill) for skill in self._found.fitting(said, _FITTING)]
        return {"Skills that fit (use_skill)": "\n".join(fitting)} if fitting else {}


def _opened(skill: Skill) -> str:
    files = skill.files()
    if not files:
        return skill.body
    more = f", and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    return (
        f"{skill.body}\n\n[Files of this skill, in {skill.folder}: {', '.join(files[:_MOST_FILES])}{more}. use_skill "
        "with file reads one. A script runs like any command, and asks where it needs files outside the workspace.]"
    )


def _catalogue(found: FoundSkills) -> ToolResult:
    lines = [_line(skill) for skill in found.offered[:MOST_LISTED]]
    if len(found.offered) > MOST_LISTED:
        lines.append(f"[{len(found.offered) - MOST_LISTED} more: name one to open it]")
    listed: list[JsonValue] = list(lines)
    payload: dict[str, JsonValue] = {"count": len(found.offered), "skills": listed, "text": "\n".join(lines)}
    text = "\n".join(lines)
    return ToolResult(True, "use_skill", payload, text or "There are no skills.", facts=(Brought(text),))


def _line(skill: Skill) -> str:
    return f"- {skill.name}: {clip_line(skill.description, CATALOGUE_CHARS)}"


SKILLS = Family(
    SkillTools,
    (
        ToolSpec(
            name="use_skill",
            description=(
                "Open a skill, the playbook for a kind of work, before you begin such work. It gives no permission. "
                "Without a name: all skills there are."
            ),
            effect=Effect.READS,
            execute=SkillTools.use,
            attrs=(
                Param("name", description="as the list of skills names it"),
                Param("file", description="another file of that skill, to read it instead"),
                Param("start", ValueType.INTEGER, "the character to go on at, as the answer said", minimum=0),
            ),
            examples=('<use_skill name="file-clean-up"/>',),
            rare=RareFamily("skills", "playbooks for kinds of work, to open before such work"),
            taint="skill",
        ),
    ),
)
