"""`python -m app` is `wisp`. Ctrl+C is taken care of before anything else is imported."""

from __future__ import annotations

import sys

from app.base.startup import ENTRY, exit_on_ctrl_c, restore_library_path, run_worker


def main() -> int:
    """Run the command line; the entry point of the `wisp` script."""
    exit_on_ctrl_c()
    if getattr(sys, "frozen", False):
        restore_library_path()
    if sys.argv[1:2] == [ENTRY]:
        return run_worker(sys.argv[2:])
    try:
        from app.base.output import make_lasting
        from app.cli import main as run

        make_lasting()
        return run()
    finally:
        # An event loop gives SIGINT back to Python, which would write a traceback while the interpreter ends.
        exit_on_ctrl_c()


if __name__ == "__main__":
    sys.exit(main())
