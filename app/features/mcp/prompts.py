"""Servers' prompts as commands: the person types `/server:prompt name=value …` instead of a task.

A prompt's text comes from the server, so it counts as somebody else's words. Only a server that the person has agreed
to is started for it.
"""

from __future__ import annotations

import asyncio
import re
import shlex

from app.base.clipping import clip_middle
from app.base.errors import NeedsPerson, ToolFailed
from app.features.mcp.pins import ServedPrompt
from app.features.mcp.servers import McpServers

_COMMAND = re.compile(r"\s*/([A-Za-z0-9][\w.-]*):([\w.-]+)(?:\s+(.*))?", re.DOTALL)
_HEAD_CHARS, _TAIL_CHARS = 48_000, 16_000


class PromptCommands:
    """The commands of all servers that the person agreed to."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    def known(self) -> list[str]:
        """Return all commands, for completion: `/server:prompt`, up to the first required argument. Blocks.

        They are as saved when each server was last asked: no server is started for this.
        """
        states = [one for one in self._servers.states() if one.state not in ("off", "new")]
        return [
            f"/{one.entry.name}:{prompt.name}" + (f" {prompt.required[0]}=" if prompt.required else "")
            for one in states
            for prompt in self._servers.pins.prompts(one.entry.pin)
        ]

    async def expand(self, text: str) -> str:
        """Return the text of the prompt that a command names; "" if `text` is no command.

        Raises NeedsPerson for an unknown command, a missing argument, and a server that was not agreed to. Raises
        ToolFailed if the server fails.
        """
        command = _COMMAND.fullmatch(text)
        if command is None:
            return ""
        entry = self._servers.configuration.read().servers.get(command[1])
        if entry is None or entry.is_disabled:
            raise NeedsPerson(await self._unknown(command[1], command[2]))
        if not await asyncio.to_thread(self._servers.may_start, entry):
            raise NeedsPerson(f"You have not agreed to {entry.name} yet. Ask for the list of its tools first.")
        await self._servers.tools(entry)
        prompts = {one.name: one for one in await self._servers.prompts(entry)}
        if command[2] not in prompts:
            raise NeedsPerson(await self._unknown(command[1], command[2]))
        arguments = _arguments(command[1], prompts[command[2]], command[3] or "")
        answer = await self._servers.prompt(entry, command[2], arguments)
        if not answer.text.strip():
            raise ToolFailed(f"The prompt {command[2]} of {entry.name} is empty.")
        return clip_middle(answer.text, _HEAD_CHARS, _TAIL_CHARS)

    async def _unknown(self, server: str, prompt: str) -> str:
        known = await asyncio.to_thread(self.known)
        listed = ", ".join(dict.fromkeys(one.partition(" ")[0] for one in known)) or "none"
        return f"There is no command /{server}:{prompt}. Known commands: {listed}."


def _arguments(server: str, prompt: ServedPrompt, told: str) -> dict[str, str]:
    """Return the arguments by name. Values without a name fill the others in order; the last gets all that is left.

    Raises NeedsPerson if a required argument is missing.
    """
    try:
        words = shlex.split(told)
    except ValueError:  # because of a single quotation mark, as in "don't"
        words = told.split()
    named = [word.partition("=") for word in words if word.partition("=")[0] in prompt.arguments and "=" in word]
    given = {name: value for name, _, value in named}
    loose = [word for word in words if word.partition("=")[0] not in prompt.arguments or "=" not in word]
    free = [name for name in prompt.arguments if name not in given]
    for place, name in enumerate(free):
        taken = loose[place:] if place == len(free) - 1 else loose[place : place + 1]
        if taken:
            given[name] = " ".join(taken)
    if missing := [name for name in prompt.required if not given.get(name)]:
        form = " ".join([f"/{server}:{prompt.name}", *(f"{name}=…" for name in prompt.arguments)])
        raise NeedsPerson(f"The prompt {prompt.name} needs {' and '.join(missing)}. Write it so: {form}")
    return given
