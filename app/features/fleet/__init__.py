"""Many tasks, each on a private desktop of its own: on this computer, or on a Ray cluster.

`wisp run-all` reads tasks from a file. Each runs in a process of its own (`wisp desk`), which has a desktop, a home
folder and a clipboard for this task alone. Results are kept as they come, so that a batch goes on after any end.
`wisp.benchmark` gives the same desktops to harnesses.
"""

from __future__ import annotations

from app.base.phrases import Phrase
from app.features.feature import Feature


class FleetFeature(Feature):
    name = "fleet"
    about = Phrase("Doing many tasks, each on a desktop of its own")
    commands = {  # noqa: RUF012
        "run-all": "do all tasks of a file, each on a private desktop, and write down what came of them",
        "desk": "serve one private desktop to another program; run-all and wisp.benchmark run this by themselves",
    }


FEATURE = FleetFeature()
