"""What is kept of a run on a private desktop: first and last picture, and the transcript."""

from __future__ import annotations

import json
import time
from pathlib import Path

from app.agent.events import AgentEvent, to_json
from app.base import paths
from app.base.redaction import cleaned
from app.protocol.result import Media

_ENDINGS = {"image/jpeg": "jpg", "image/png": "png"}


class Record:
    """One folder a run, under the state folder; only the owner can read it."""

    def __init__(self) -> None:
        self.folder = _fresh_folder()
        self._transcript = (self.folder / "transcript.jsonl").open("a", encoding="utf-8")

    def note(self, event: AgentEvent) -> None:
        """Append an event; pictures are named by their sizes, not stored twice."""
        self._transcript.write(json.dumps(cleaned(to_json(event)), ensure_ascii=False) + "\n")
        self._transcript.flush()

    def keep(self, name: str, picture: Media) -> Path:
        path = self.folder / f"{name}.{_ENDINGS.get(picture.media_type, 'bin')}"
        path.write_bytes(picture.data)
        return path

    def close(self) -> None:
        self._transcript.close()


def _fresh_folder() -> Path:
    runs = paths.state_dir() / "runs"
    stamp = time.strftime("%Y-%m-%d-%H%M%S")
    for number in range(1000):
        folder = runs / (stamp if number == 0 else f"{stamp}-{number}")
        try:
            folder.mkdir(parents=True, mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{runs} already has a thousand runs of this second.")
