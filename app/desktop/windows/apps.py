"""Programs of the start menu, and the clipboard."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app.base.errors import ToolFailed
from app.desktop.api import App, Formats, Launched, Window
from app.desktop.portable.commands import output_of
from app.desktop.programs import is_terminal

assert sys.platform == "win32"

_MENU = "Microsoft/Windows/Start Menu/Programs"
_READ = "[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-Clipboard -Raw"
_WRITE = "[Console]::InputEncoding=[Text.Encoding]::UTF8; Set-Clipboard -Value ([Console]::In.ReadToEnd())"


class StartMenu:
    """Shortcuts, started as the shell starts them: their processes are not ours."""

    def installed(self) -> tuple[App, ...]:
        roots = (os.environ.get("PROGRAMDATA", ""), os.environ.get("APPDATA", ""))
        folders = (Path(root) / _MENU for root in roots if root)
        found = (path for folder in folders for path in sorted(folder.rglob("*.lnk")))
        return tuple(App(str(path), path.stem, (path.stem.lower(),)) for path in found)

    def command(self, name: str) -> App | None:  # noqa: ARG002
        return None

    def is_launcher(self, window: Window | None, role: str = "") -> bool:  # noqa: ARG002
        return window is not None and is_terminal(window.app)

    def shown_folders(self, window: Window) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def launch(self, app: App, arguments: Sequence[str] = ()) -> Launched:
        return self._start(app.name, app.ref, " ".join(arguments))

    def open(self, address: str) -> Launched:
        return self._start(address, address, "")

    def _start(self, name: str, path: str, arguments: str) -> Launched:
        try:
            os.startfile(path, "open", arguments)
        except OSError as error:
            raise ToolFailed(f"{name} could not be opened: {error.strerror}.") from None
        return Launched(0, name)

    def how_it_ended(self, launched: Launched) -> str | None:  # noqa: ARG002
        return None


class PowerShellClipboard:
    """Text only; PowerShell knows how to share the clipboard with others."""

    async def read(self) -> str:
        return (await output_of("powershell", "-NoProfile", "-Command", _READ)).removesuffix("\r\n")

    async def write(self, text: str) -> None:
        await output_of("powershell", "-NoProfile", "-Command", _WRITE, given=text)

    async def formats(self) -> Formats:
        return {"text/plain": (await self.read()).encode("utf-8")}
