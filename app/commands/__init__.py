"""The commands of `wisp`, one module each: `add_arguments(parser)` and `run(options)`. In come the options that
argparse read, out go an exit code and what is printed. A feature has its commands in its own folder; `app/cli.py` finds
both.
"""
