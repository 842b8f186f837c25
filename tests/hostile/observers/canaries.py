"""Where planted secrets turn up: in bytes, in files, in what a model is told."""

from __future__ import annotations

import base64
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path

_LARGEST = 50_000_000


class Canaries:
    """Secrets by the place where they were planted; also found in base64, hexadecimal, reversed and percent-encoded."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms = {name: _forms(secret) for name, secret in secrets.items()}

    def within(self, data: bytes) -> set[str]:
        """The names of the secrets that the bytes hold."""
        return {name for name, forms in self._forms.items() if any(form in data for form in forms)}

    def in_files(self, paths: Iterable[Path]) -> set[tuple[str, Path]]:
        """Secrets in the contents and in the names of files."""
        found: set[tuple[str, Path]] = set()
        for path in paths:
            if path.is_file() and not path.is_symlink() and path.stat().st_size < _LARGEST:
                found |= {(name, path) for name in self.within(path.read_bytes())}
            found |= {(name, path) for name in self.within(str(path).encode())}
        return found


def _forms(secret: str) -> tuple[bytes, ...]:
    raw = secret.encode()
    inner = [base64.b64encode(b"-" * shift + raw)[4 if shift else 0 : -4] for shift in range(3)]
    percent = urllib.parse.quote(secret, safe="").encode()
    return (raw, raw[::-1], raw.hex().encode(), percent, *inner)
