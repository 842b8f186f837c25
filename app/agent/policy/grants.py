"""Keep what the person always allows: programs, hosts, tool servers, folders and commands."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.agent.policy.values import LASTING, Need, Subject
from app.base import own_files, paths
from app.base.errors import NeedsPerson
from app.base.values import dataclass

_MENDING = "{file} cannot be used ({error}), so nothing is always allowed. Mend it, or remove it."


@dataclass(frozen=True, slots=True)
class SavedGrant:
    """Something that the person always allows. `since` is a day, as in 2026-11-27."""

    subject: Subject
    key: str
    name: str
    since: str

    @property
    def grant(self) -> tuple[Subject, str]:
        return self.subject, self.key


def grants_file() -> Path:
    return paths.config_dir() / "grants.toml"


class SavedGrants:
    """The person's lasting grants, in one file that other processes of theirs may change meanwhile."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or grants_file()
        self._stamp: tuple[int, int] | None = None
        self._known: tuple[SavedGrant, ...] = ()
        self.problem = ""

    def all(self) -> tuple[SavedGrant, ...]:
        """The oldest first; none if the file cannot be used: then `problem` says why."""
        try:
            found = self._file.stat()
        except OSError:  # because nothing was granted yet
            self._stamp, self._known, self.problem = None, (), ""
            return ()
        stamp = found.st_mtime_ns, found.st_ino
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                told = tomllib.loads(self._file.read_text(encoding="utf-8")).get("grant", [])
                self._known = tuple(
                    SavedGrant(Subject(one["for"]), str(one["key"]), str(one["name"]), str(one["since"]))
                    for one in told
                )
                self.problem = ""
            except (OSError, ValueError, KeyError, TypeError) as error:
                self._known, self.problem = (), _MENDING.format(file=self._file, error=error)
        return self._known

    def add(self, needs: Iterable[Need]) -> Sequence[SavedGrant]:
        """Save what these needs ask for. Returns what is new. Raises NeedsPerson if that is not possible."""
        today = time.strftime("%Y-%m-%d")
        with self._changing() as known:
            new = [
                SavedGrant(need.subject, need.key, need.name, today)
                for need in dict.fromkeys(needs)
                if need.subject in LASTING and need.key and need.grant not in {one.grant for one in known}
            ]
            self._write((*known, *new))
        return new

    def remove(self, name: str) -> Sequence[SavedGrant]:
        """Take back the grants with this name or key. Returns them. Raises NeedsPerson if that is not possible."""
        wanted = name.casefold()
        with self._changing() as known:
            gone = [one for one in known if wanted in (one.name.casefold(), one.key.casefold())]
            if gone:
                self._write([one for one in known if one not in gone])
        return gone

    @contextmanager
    def _changing(self) -> Iterator[Sequence[SavedGrant]]:
        """Nobody else changes the grants meanwhile. Raises NeedsPerson."""
        try:
            with own_files.locked(self._file):
                self._stamp = None  # because a change within one tick of the disk's clock leaves the same stamp
                yield self.all()
        except OSError as error:
            raise NeedsPerson(f"The grant could not be written: {error}. Mend that, or allow this once.") from None

    def _write(self, grants: Iterable[SavedGrant]) -> None:
        import tomlkit  # late, because only writing needs it

        if self.problem:
            raise NeedsPerson(self.problem)
        document, listed = tomlkit.document(), tomlkit.aot()
        for one in grants:
            entry = tomlkit.table()
            entry.update({"for": one.subject.value, "key": one.key, "name": one.name, "since": one.since})
            listed.append(entry)
        document["grant"] = listed
        own_files.write(self._file, tomlkit.dumps(document))
