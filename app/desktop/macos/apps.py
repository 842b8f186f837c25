"""Programs in the Applications folders, started by `open`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from app.base.errors import ToolFailed
from app.desktop.api import App, Formats, Launched, Window
from app.desktop.portable.commands import output_of
from app.desktop.programs import is_terminal

_FOLDERS = ("/Applications", "/System/Applications", "/System/Applications/Utilities", "~/Applications")


class MacApps:
    """`open` hands the program to the system; its process is not ours."""

    def installed(self) -> tuple[App, ...]:
        folders = (Path(folder).expanduser() for folder in _FOLDERS)
        found = (path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.app")))
        return tuple(App(str(path), path.stem, (path.stem.lower(),)) for path in found)

    def command(self, name: str) -> App | None:  # noqa: ARG002
        return None

    def is_launcher(self, window: Window | None, role: str = "") -> bool:  # noqa: ARG002
        return window is not None and is_terminal(window.app)

    def shown_folders(self, window: Window) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def launch(self, app: App, arguments: Sequence[str] = ()) -> Launched:
        return self._open(app.name, ["-a", app.ref, *(("--args", *arguments) if arguments else ())])

    def open(self, address: str) -> Launched:
        return self._open(address, [address])

    def _open(self, name: str, words: list[str]) -> Launched:
        done = subprocess.run(["open", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ToolFailed(f"{name} could not be opened: {done.stderr.strip()}")
        return Launched(0, name)

    def how_it_ended(self, launched: Launched) -> str | None:  # noqa: ARG002
        return None


class MacClipboard:
    """Text, by pbpaste and pbcopy."""

    async def read(self) -> str:
        return await output_of("pbpaste")

    async def write(self, text: str) -> None:
        await output_of("pbcopy", given=text)

    async def formats(self) -> Formats:
        return {"public.utf8-plain-text": (await self.read()).encode("utf-8")}
