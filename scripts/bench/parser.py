"""How fast the readers read: `python -m scripts.bench.parser [--mb 8] [--chunk 16]`.

Prints MB/s for prose, the same once something was read (then quotations are followed), one large `write_file` and one
large batch in chunks of 1, 16 and 4096 characters, how the time grows from 1 MB to the full size, and the same beside a
baseline that parses the whole message again for every chunk, which is what the readers exist to avoid. Processor time,
medians of several runs (one for single characters), so that a busy machine counts for little.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable

from app.protocol.dialects.api import DialectReader
from app.protocol.dialects.batch import read_batch
from app.protocol.dialects.xml import read_xml
from app.protocol.payload import Limits
from app.protocol.spec import Close, Effect, Param, ToolSpec, unbound

_MB = 1_000_000
_RUNS = {1: 1, 16: 5, 4096: 25}
"""How often each size of chunk is measured: the quicker, the more often."""
_OTHER_RUNS = 5
_BASELINE_KB = 40
_LIMITS = Limits(message=64 * _MB, payload=64 * _MB)
_SPECS = (
    ToolSpec(
        "write_file",
        "",
        Effect.WRITES,
        unbound,
        attrs=(Param("path"),),
        body=Param("content", short=False, close=Close.LAST),
    ),
    ToolSpec("say", "", Effect.TALKS, unbound, body=Param("text", short=False)),
)
_SENTENCE = "The build went through, and `make test` says 12 < 13 in the end.\n"
_CODE = 'def add(a: int, b: int) -> int:\n    return a + b  # "<b>" & more\n\n'


def prose(size: int) -> str:
    return (_SENTENCE * (size // len(_SENTENCE) + 1))[:size]


def write_file(size: int) -> str:
    return f'<write_file path="a.py"><![CDATA[\n{(_CODE * (size // len(_CODE) + 1))[:size]}\n]]></write_file>'


def batch(size: int) -> str:
    content = (_CODE * (size // len(_CODE) + 1))[: int(size * len(_CODE) / len(json.dumps(_CODE)))]
    call = {"name": "write_file", "args": {"path": "a.py", "content": content}}
    return f"<execute>\n{json.dumps([call])}\n</execute>"


MESSAGES: dict[str, tuple[Callable[[int], str], Callable[[], DialectReader]]] = {
    "prose": (prose, lambda: read_xml(_SPECS, _LIMITS)),
    "prose, read": (prose, lambda: read_xml(_SPECS, _LIMITS, has_read=True)),
    "write_file": (write_file, lambda: read_xml(_SPECS, _LIMITS)),
    "batch": (batch, lambda: read_batch(_LIMITS)),
}


def seconds(make: Callable[[], DialectReader], text: str, chunk: int) -> float:
    """One reading of a message, whose chunks have arrived."""
    reader = make()
    chunks = [text[at : at + chunk] for at in range(0, len(text), chunk)]
    started = time.process_time()
    for piece in chunks:
        reader.feed(piece)
    reader.flush()
    return time.process_time() - started


def compared(make: Callable[[], DialectReader], small: str, large: str, chunk: int) -> tuple[float, float]:
    """Medians for a small and a large message, measured in turns so that both meet the same machine."""
    runs = [(seconds(make, small, chunk), seconds(make, large, chunk)) for _ in range(_RUNS.get(chunk, _OTHER_RUNS))]
    return statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)


_BASELINE = re.compile(r"<(write_file|say)(?:\s[^>]*)?>(.*?)(?:</\1>|\Z)", re.DOTALL)


def baseline_seconds(text: str, chunk: int) -> float:
    """The message so far, parsed anew for every chunk."""
    started = time.process_time()
    whole = ""
    for at in range(0, len(text), chunk):
        whole += text[at : at + chunk]
        _BASELINE.findall(whole)
    return time.process_time() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=8, help="size of the large message in millions of characters")
    parser.add_argument("--chunk", type=int, action="append", help="characters a chunk; may be given several times")
    options = parser.parse_args()
    print(f"{'message':<12}{'chunk':>7}{'1 MB':>10}{f'{options.mb} MB':>10}{'MB/s':>8}{'growth':>8}")
    for name, (text, make) in MESSAGES.items():
        for chunk in options.chunk or _RUNS:
            small, large = compared(make, text(_MB), text(options.mb * _MB), chunk)
            speed = options.mb / large
            print(f"{name:<12}{chunk:>7}{small:>9.2f}s{large:>9.2f}s{speed:>8.1f}{large / small:>7.1f}x")
    text = write_file(_BASELINE_KB * 1000)
    again, ours = baseline_seconds(text, 20), seconds(MESSAGES["write_file"][1], text, 20)
    print(f"{_BASELINE_KB} kB at 20 characters: parsed anew {again:.2f} s, ours {ours:.4f} s, {again / ours:.0f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
