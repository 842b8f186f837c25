"""OpenGL for KWin on a machine without a graphics card: without it, KWin gives programs no picture of its screen."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

_SOURCE = Path(__file__).with_suffix(".c")


def rendering(folder: Path, program: Path) -> tuple[str, ...]:
    """Return how a command begins that runs this program with a render node. What that needs is put into a folder."""
    library, node, copy = folder / "render_node.so", folder / "renderD128", folder / program.name
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, _SOURCE], check=True)
    node.touch()
    shutil.copyfile(program, copy)  # without the file capabilities, which switch LD_PRELOAD off
    copy.chmod(0o755)
    environment = (f"LD_PRELOAD={library}", f"RENDER_NODE={node}", "GBM_ALWAYS_SOFTWARE=1", "KWIN_COMPOSE=O2")
    return ("env", *environment, str(copy))
