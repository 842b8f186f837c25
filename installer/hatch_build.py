"""The wheel carries the man page and the completion, if scripts/package made them. Both are found by pipx."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Share(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        made = Path(self.root, "build", "share")
        for part in ("man", "bash-completion", "zsh", "fish"):
            if version == "standard" and (made / part).is_dir():
                build_data["shared_data"][str(made / part)] = f"share/{part}"
