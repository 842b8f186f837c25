"""Ask a model for a few words, so that a person sees whether it answers."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from app.base.clipping import clip_line
from app.base.errors import BadAnswer, Unreachable
from app.protocol.message import Message, Role, TextPart
from app.providers.api import Request, TextDelta
from app.providers.profiles import ChosenProvider

_LONGEST_S = 60.0
"""A model on this computer may first have to be loaded from the disk."""
_MOST_CHARS = 160
_SYSTEM = "You are an assistant on a person's desktop, who tries whether you answer. Write plain text."


async def first_words(chosen: ChosenProvider, language: str) -> str:
    """Return what the model says to a hello, in one line of at most 160 characters, and close the provider.

    `language` is the two letters of the one that it shall answer in. Raise ProviderError.
    """
    hello = f"Say hello in one short sentence, in the language with the code {language}."
    request = Request(chosen.model, _SYSTEM, (Message(Role.USER, (TextPart(hello),)),), max_tokens=1024)
    said = ""
    try:
        async with asyncio.timeout(_LONGEST_S), aclosing(chosen.provider.stream(request)) as events:  # type: ignore[type-var]
            async for event in events:
                said += event.text if isinstance(event, TextDelta) else ""
                if len(said) > _MOST_CHARS:
                    break
    except TimeoutError as error:
        raise Unreachable(f"It said nothing for {_LONGEST_S:g} seconds. It may still be loading: try again.") from error
    finally:
        await chosen.provider.close()
    if not said.strip():
        raise BadAnswer("It answered without a word. Choose another model.")
    return clip_line(said, _MOST_CHARS)
