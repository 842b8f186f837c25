"""Other agents drive this desktop through Wisp, as clients of its MCP server (`wisp mcp serve`).

A client's calls come in over standard input and go through the same gate as a model's: the person decides which
programs it may use, in the presence if one runs. Results, receipts and pictures go out as MCP defines them. `wisp mcp
install` enters Wisp into a client's configuration.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.base.phrases import Phrase
from app.base.remains import Remains
from app.features.feature import AskPerson, Feature, Tell
from app.features.serve.settings import ALL


class ServeFeature(Feature):
    name = "serve"
    about = Phrase("Letting other agents use this desktop (MCP server)")
    commands = {  # noqa: RUF012
        "mcp serve": "let another agent, such as Claude Code, use this desktop; that agent runs this command itself",
        "mcp install": "set up another agent, such as Claude Code, so that it can use this desktop",
        "mcp uninstall": "remove Wisp from another agent, so that it can no longer use this desktop",
    }
    settings = ALL

    def remains(self) -> Sequence[Remains]:
        from app.features.serve.clients import remains

        return remains()

    async def accompany(self, tell: Tell, ask: AskPerson, /) -> None:
        from app.features.serve.questions import hear_questions

        await hear_questions(tell, ask)


FEATURE = ServeFeature()
