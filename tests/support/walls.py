"""Whether a sandbox can stand on this machine: containers often refuse the namespaces it is made of."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def _refused() -> str:
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    tried = subprocess.run(
        ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip() or f"exit code {tried.returncode}" if tried.returncode else ""


_WHY = _refused()

needs_wall = pytest.mark.skipif(bool(_WHY), reason=f"no sandbox can stand on this machine: {_WHY}")
"""For tests of what is behind the wall; that everything asks where there is none is tested everywhere."""
