"""Writes and edits files until it is killed, and says so after each change. Takes a folder and a seed."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))


def main() -> None:
    folder = Path(sys.argv[1])
    os.environ["WISP_DATA_DIR"] = str(folder / "wisp")
    from app.services.files.changes import ChangeOrigin
    from tests.unit.services.files.test_crashes import _FILES, _made, content

    workspace, changes = _made(folder)
    chance = random.Random(int(sys.argv[2]))
    origin = ChangeOrigin("writer", "test")
    while True:
        place = workspace.locate(f"{chance.randrange(_FILES)}.txt")
        new = content(chance.randrange(10**6))
        if chance.random() < 0.5:
            changes.write(place, (new[:1_000], new[1_000:]), origin)
        else:
            changes.edit(place, lambda _old, new=new: new, origin)
        sys.stdout.write("done\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
