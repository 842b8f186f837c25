"""The commands of `wisp`, one module each: `add_arguments(parser)` and `run(options)`."""
