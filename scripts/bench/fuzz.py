"""Throws random and mutated messages at the readers, cut at random: `python -m scripts.bench.fuzz --count 1000000`.

Of every message it must hold, however it is cut: no exception; the same reports; exactly one end for every call that
was opened; no call closed before its close tag was read; no prose lost. Stops at the first message that breaks one of
these, and prints it.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from app.base.errors import ToolMisuse
from app.protocol.arguments import to_call
from app.protocol.call import Block
from app.protocol.dialects.api import DialectReader
from app.protocol.dialects.batch import read_batch
from app.protocol.dialects.foreign import split_foreign
from app.protocol.dialects.xml import read_xml
from app.protocol.message import (
    CallClosed,
    CallCut,
    CallDelta,
    CallOpened,
    CallQuoted,
    Invented,
    Misread,
    ReaderEvent,
    Text,
    Thought,
)
from app.protocol.spec import Close, Effect, Param, ToolSpec, ValueType, unbound

_PATH = Param("path", required=True)
SPECS: tuple[ToolSpec, ...] = (
    ToolSpec("say", "", Effect.TALKS, unbound, attrs=(Param("tone"),), body=Param("text", short=False), is_speech=True),
    ToolSpec("read_file", "", Effect.READS, unbound, attrs=(_PATH, Param("line", ValueType.INTEGER)), aliases=("cat",)),
    ToolSpec(
        "write_file",
        "",
        Effect.WRITES,
        unbound,
        attrs=(_PATH,),
        body=Param("content", required=True, short=False, close=Close.LAST),
    ),
    ToolSpec(
        "create_app",
        "",
        Effect.WRITES,
        unbound,
        children=(
            Param("html", short=False, close=Close.LAST),
            Param("doc", attrs=(Param("lang"),), many=True),
            Param("open", ValueType.FLAG),
        ),
    ),
)

_PIECES = (
    *("<say>", "</say>", '<say tone="warm">', "<say/>", "</say >", "<say\n>", "<read_file>", "</read_file>", "<cat>"),
    *("</cat>", "<path>", "</path>", '<read_file path="a"/>', "<read_file path='a' line=3 />", '<read_file path="a'),
    *('<write_file path="x">', "<write_file>", "</write_file>", "<content>", "</content>", "<create_app>"),
    *("</create_app>", "<html>", "</html>", "<doc>", '<doc lang="en">', "</doc>", "<open/>", "<task_progress>"),
    *("</task_progress>", "<![CDATA[", "]]>", "]]", "]", "<!--", "-->", "<think>", "</think>", "<thinking>"),
    *(
        "</thinking>",
        "<tool_results>",
        "</tool_results>",
        "<results>",
        "</results>",
        "<execute>",
        "</execute>",
        "<end>",
    ),
    *(
        '[{"name": "say", "args": {"text": "hi"}}]',
        '{"name": "',
        '"args": {',
        "}",
        "[",
        '"',
        "\\",
        '\\"',
        "\\u00",
        "NaN",
    ),
    *(
        "`",
        "``",
        "```",
        "```xml\n",
        "\n```\n",
        "~~~",
        "\n",
        "\r\n",
        "\n\n",
        " ",
        "  ",
        "\t",
        "a",
        "word ",
        "- ",
        "use ",
    ),
    *(
        "<",
        ">",
        "/",
        "</",
        "<p",
        "<pa",
        "&lt;",
        "&amp;",
        "&",
        "=",
        "'",
        "é",
        "😀",
        "\ud800",
        "\0",
        "<b>",
        "</b>",
        "<Say>",
    ),
)
_CORPUS = (
    '<say tone="warm">Building it now.</say>\n<write_file path="a.html"><![CDATA[\n<p>a < b</p>\n]]></write_file>',
    "Reading. <read_file><path>a.txt</path><line>3</line></read_file>",
    '<create_app><html><html><body>hi</body></html></html><doc lang="en">notes</doc></create_app>',
    "<write_file><path>a</path><content>x </content> <path>evil</path> y</content></write_file>",
    '<think>first</think>\n<execute>\n[{"name": "say", "args": {"text": "</execute>"}}]\n</execute> rest',
    "use `<read_file>` or <read_file> to look.\n\n```xml\n<say>no</say>\n```\n<say>yes</say>",
    "<function=read_file><parameter=path>a</parameter></function>",
    '<write_file path="a"><![CDATA[AAA]]</write_file>\n<write_file path="b"><![CDATA[BBB]]></write_file>',
)

Make = Callable[[], DialectReader]


def message(random_: random.Random) -> str:
    """Pieces of protocol, thrown together, or a real message with a few characters changed."""
    if random_.random() < 0.7:
        return "".join(random_.choices(_PIECES, k=random_.randint(1, 14)))
    letters = list(random_.choice(_CORPUS))
    for _ in range(random_.randint(0, 4)):
        at = random_.randrange(len(letters))
        what = random_.random()
        if what < 0.4:
            del letters[at : at + random_.randint(1, 6)]
        elif what < 0.8:
            letters.insert(at, random_.choice(_PIECES))
        else:
            letters = letters[: max(at, 1)]
        letters = letters or ["<"]
    return "".join(letters)


def cut(text: str, random_: random.Random) -> list[str]:
    """The text in pieces of random length."""
    longest = random_.choice((1, 2, 5, 20, 200))
    pieces = []
    while text:
        size = random_.randint(1, longest)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def read(make: Make, pieces: Iterable[str]) -> list[ReaderEvent]:
    """All reports about a message."""
    reader = make()
    events: list[ReaderEvent] = []
    for piece in pieces:
        events += reader.feed(piece)
    return events + reader.flush()


def joined(events: Sequence[ReaderEvent]) -> list[ReaderEvent]:
    """Reports as they must be for any cut: pieces of one kind joined, random ids numbered."""
    numbers: dict[str, str] = {}
    whole: list[ReaderEvent] = []
    for event in (_numbered(event, numbers) for event in events):
        last = whole[-1] if whole else None
        if isinstance(event, Text) and isinstance(last, Text):
            whole[-1] = Text(last.text + event.text)
        elif isinstance(event, Thought) and isinstance(last, Thought) and not last.last:
            whole[-1] = Thought(last.text + event.text, event.last)
        elif isinstance(event, CallDelta) and isinstance(last, CallDelta) and last.param == event.param:
            whole[-1] = last._replace(text=last.text + event.text)
        else:
            whole.append(event)
    return whole


def _numbered(event: ReaderEvent, numbers: dict[str, str]) -> ReaderEvent:
    def number(call_id: str) -> str:
        return numbers.setdefault(call_id, str(len(numbers)))

    if isinstance(event, CallDelta):
        return event._replace(call_id=number(event.call_id))
    if isinstance(event, CallOpened):
        return replace(event, call_id=number(event.call_id))
    if isinstance(event, (CallClosed, CallCut, CallQuoted)):
        return replace(event, block=replace(event.block, call_id=number(event.block.call_id)))
    return replace(event, call_ids=tuple(map(number, event.call_ids))) if hasattr(event, "call_ids") else event


_BLANK_THOUGHT = re.compile(r"<think(?:ing)?\s*/?>\s*(?:</think(?:ing)?\s*>)?")


def fault(make: Make, text: str, pieces: Sequence[str]) -> str:
    """What is wrong with how a message was read; empty if nothing is."""
    reports = read(make, [text])
    whole = joined(reports)
    if joined(read(make, pieces)) != whole:
        return "the cut changes what is read"
    return _unpaired(whole) or _lost(text, reports) or _early(make, text, whole)


def _unpaired(events: Sequence[ReaderEvent]) -> str:
    opened = [event.call_id for event in events if isinstance(event, CallOpened)]
    ended = [event.block.call_id for event in events if isinstance(event, (CallClosed, CallCut, CallQuoted))]
    if len(set(ended)) != len(ended) or set(opened) - set(ended):
        return "a call that was opened has not exactly one end"
    partial = [event.block.partial for event in events if isinstance(event, CallClosed)]
    return "a partial call was closed" if any(partial) else ""


def _lost(text: str, events: Sequence[ReaderEvent]) -> str:
    """Prose, thoughts and results come in order, each found in the message behind the one before."""
    at = 0
    for event in events:
        if isinstance(event, (Text, Thought, Invented)):
            found = text.find(event.text, at)
            if found < 0:
                return f"text was made up or came out of order: {event.text!r}"
            at = found + len(event.text)
        elif isinstance(event, (CallClosed, CallCut, CallQuoted)) and event.block.span[0] > at:
            at = event.block.span[0]
    kept = sum(len(event.text) for event in events if isinstance(event, (Text, Thought, Invented)))
    spans = sum(
        event.block.span[1] - event.block.span[0]
        for event in events
        if isinstance(event, (CallClosed, CallCut, CallQuoted))
    )
    marks = 60 * (1 + sum(isinstance(event, (Thought, Invented)) for event in events))
    marks += sum(len(blank) for blank in _BLANK_THOUGHT.findall(text))
    if not any(isinstance(event, (CallClosed, CallQuoted, Misread)) for event in events) and kept + spans + marks < len(
        text
    ):
        return "text was lost"
    return ""


def _early(make: Make, text: str, events: Sequence[ReaderEvent]) -> str:
    """What closed when only a beginning was fed stays closed just so when the rest comes."""
    reader = make()
    half = len(text) // 2
    before = [_plain(block) for block in _closed(reader.feed(text[:half]))]
    after = [_plain(block) for block in _closed(events)]
    return "" if after[: len(before)] == before else "a closed call was taken back"


def _closed(events: Sequence[ReaderEvent]) -> list[Block]:
    return [event.block for event in events if isinstance(event, CallClosed)]


def _plain(block: Block) -> Block:
    return replace(block, call_id="")


def judge(block: Block) -> None:
    """Arguments are judged without anything but `ToolMisuse`."""
    for spec in SPECS:
        if spec.name == block.name:
            try:
                to_call(spec, block)
            except ToolMisuse:
                return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random_ = random.Random(options.seed)
    makes: dict[str, Make] = {
        "xml": lambda: read_xml(SPECS),
        "xml after reading": lambda: read_xml(SPECS, has_read=True),
        "batch": read_batch,
        "batch after reading": lambda: read_batch(has_read=True),
    }
    started = time.perf_counter()
    for number in range(options.count):
        text = message(random_)
        name = random_.choice(("xml", "xml", "xml after reading", "batch", "batch after reading"))
        problem = fault(makes[name], text, cut(text, random_))
        if problem:
            print(f"message {number} ({name}): {problem}\n{text!r}")
            return 1
        for event in read(makes[name], [text]):
            if isinstance(event, (CallClosed, CallCut, CallQuoted)):
                judge(event.block)
        split_foreign(text, SPECS)
    print(f"{options.count} messages in {time.perf_counter() - started:.0f} s: none broke a rule.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
