"""The child: `worker.py JOB OPTIONS` reads standard input and writes what it found; then it ends.

Exit code 0: all of it. REFUSED: the sentence on standard error says why. Anything else: it broke, or met a limit.
"""

from __future__ import annotations

import json
import mimetypes
import os
import sys
from pathlib import Path
from typing import Any

REFUSED = 65
MOST_SAID_BYTES = 4_096
_PACKAGE = Path(__file__).resolve().parents[3]
_SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo")


def main(job: str, options: dict[str, Any]) -> int:
    """Lock the cell, then do the job. Raises nothing that was foreseen."""
    sys.path.insert(0, str(_PACKAGE))
    mimetypes.knownfiles.clear()  # the system's tables lie where nothing can be opened any more
    from app.base.errors import WispError
    from app.services.parsing import cell, jobs

    answers, complaints = os.fdopen(os.dup(1), "wb"), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for printed in (1, 2):  # whatever the libraries print must not get between the answers, nor fill a pipe
        os.dup2(nowhere, printed)
    cell.lock([sys.prefix, sys.base_prefix, sys.base_exec_prefix, str(_PACKAGE / "app"), *_SYSTEM])
    try:
        with sys.stdin.buffer as file:
            for piece in jobs.JOBS[job](file, options):
                answers.write(piece)
        answers.close()
    except WispError as error:
        os.write(complaints, str(error).encode(errors="replace")[:MOST_SAID_BYTES])
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
