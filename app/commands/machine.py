"""Answers what the presence's welcome and settings ask about this machine.

It is there before the first paint, so it loads what it needs when it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.base.errors import WispError
from app.ui.machine import Finding, ModelServer


class ThisMachine:
    """The doctor's checks, the model servers that answer, and a try of a key."""

    async def findings(self) -> Sequence[Finding]:
        import asyncio

        from app.commands import doctor

        found = await asyncio.to_thread(doctor.examine)
        return [Finding(each.name, each.verdict.value, each.detail, each.fix) for each in found]

    async def servers(self) -> Sequence[ModelServer]:
        from app.providers.openai_compatible.provider import local_endpoints

        return [ModelServer(found.name, found.base_url, found.models) for found in await local_endpoints()]

    async def tried(self, provider: str, key: str, base_url: str = "") -> str:
        from app.providers import catalog
        from app.settings import store

        settings = store.load().with_values(model__base_url=base_url)
        try:
            made = catalog.make(provider, settings, lambda name: key or store.key_of(name))
            try:
                await made.models()
            finally:
                await made.close()
        except WispError as error:
            return str(error)
        return ""
