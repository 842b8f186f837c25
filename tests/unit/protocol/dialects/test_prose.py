"""Where a tag counts: not in code, comments or reasoning, and not where it is only spoken of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from app.protocol.dialects.batch import read_batch
from app.protocol.dialects.stream import StreamReader
from app.protocol.dialects.xml import read_xml
from app.protocol.message import CallClosed, Text, Thought
from tests.support.parsed_tools import ALL, call, events, outline

SAID = call("say", body="x")


@pytest.mark.parametrize(
    "quoted",
    [
        "`<say>x</say>`",
        "```xml\n<say>x</say>\n```",
        "- ```xml\n  <say>x</say>\n  ```\n",
        "```\nnever closed <say>x</say>",
        "use <read_file> to look",
        "<read_file> reads a file",
        "(see <say>)",
    ],
)
def test_a_tag_that_is_only_quoted_is_text(quoted: str) -> None:
    assert outline(quoted) == [quoted]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("a stray ` tick ", ""),
        ("```\ncode\n```\n", ""),
        ("**", "**"),
        ("> ", ""),
        ("<!-- c -->", "<!-- d -->"),
        ("```\ncode\n``` not closed\n```\n", ""),
    ],
)
def test_a_call_among_prose_is_a_call_and_no_prose_is_lost(before: str, after: str) -> None:
    assert outline(f"{before}<say>x</say>{after}") == [part for part in (before, SAID, after) if part]


def test_a_mention_does_not_swallow_the_calls_after_it() -> None:
    text = "First I use <read_file>, then <execute_command> or <write_file>.\n\n<say>x</say>"
    assert outline(text) == [text.removesuffix("<say>x</say>"), SAID]


def test_a_call_whose_payload_begins_like_a_sentence_is_still_a_call() -> None:
    assert outline("So: <say> x, y</say>") == ["So: ", call("say", body=" x, y")]


@pytest.mark.parametrize("name", ["think", "thinking"])
def test_nothing_runs_in_reasoning(name: str) -> None:
    assert outline(f"<{name}>a <say>x</say></{name}>b") == [("thought", "a <say>x</say>"), "b"]


@pytest.mark.parametrize("chunk", [1, 5, 1000])
@pytest.mark.parametrize(
    ("thought", "after"),
    [
        ("<thinking>a <think>b</think> <say>x</say> c</thinking>", ""),
        ("<think>a <thinking>b</thinking> <say>x</say> c</think>", ""),
        ("<think>a <think>b</think> <say>x</say> c</think>", ""),
        ("<thinking>Use <think> here.</thinking>", ""),
        ("<think>Close `<think>` here.</think>", ""),
        ("<think>a</thinking>", ""),
        ("<think>a</think>", " b</think>"),
    ],
)
def test_a_thought_ends_with_its_own_close_tag(thought: str, after: str, chunk: int) -> None:
    reader, text = read_xml(ALL), f"{thought}<say>y</say>{after}"
    seen = [event for at in range(0, len(text), chunk) for event in reader.feed(text[at : at + chunk])]
    seen += reader.flush()
    assert [event.block.body for event in seen if isinstance(event, CallClosed)] == ["y"]
    inside = thought.partition(">")[2].rpartition("<")[0]
    assert "".join(event.text for event in seen if isinstance(event, Thought)) == inside
    assert "".join(event.text for event in seen if isinstance(event, Text)) == after.removesuffix("</think>")


@pytest.mark.parametrize("chunk", [1, 5, 1000])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('Write "<think>" before and "</think>" after your thoughts.', None),
        ("Write “<thinking>” before and “</thinking>” after.", None),
        ("It ends with `</think>`.", None),
        ("```\na</think>\n```", None),
        ("A table: <td>x</td></table>", None),
        ("I should say hello.</think>Hello.", "I should say hello.Hello."),
        ("Hm.\n</thinking>\n\nHello.</think", "Hm.\n\n\nHello.</think"),
        ("Hm.</think>", "Hm."),
    ],
)
@pytest.mark.parametrize("read", [partial(read_xml, ALL), read_batch], ids=["xml", "batch"])
def test_a_thought_tag_is_shown_only_if_it_is_quoted(
    text: str, shown: str | None, chunk: int, read: Callable[[], StreamReader]
) -> None:
    reader = read()
    seen = [event for at in range(0, len(text), chunk) for event in reader.feed(text[at : at + chunk])]
    seen += reader.flush()
    assert {type(event) for event in seen} == {Text}
    assert "".join(event.text for event in seen if isinstance(event, Text)) == (text if shown is None else shown)


@pytest.mark.parametrize("read", [partial(read_xml, ALL), read_batch], ids=["xml", "batch"])
@pytest.mark.parametrize("name", ["think", "thinking", "results", "tool_results"])
@pytest.mark.parametrize("blank", ["", " ", "\n\t\r\n"])
def test_a_block_of_white_space_is_nothing(name: str, blank: str, read: Callable[[], StreamReader]) -> None:
    assert events(f"a<{name}>{blank}</{name}>b", read()) == [Text("a"), Text("b")]


@pytest.mark.parametrize("name", ["tool_results", "results"])
def test_results_that_the_model_wrote_are_set_apart(name: str) -> None:
    assert outline(f"<{name}>84 <say>y</say></{name}><say>x</say>") == [("invented", "84 <say>y</say>"), SAID]
    assert outline(f"<{name}>84 <say>y</say>") == [("invented", "84 <say>y</say>")]


def test_very_long_prose_after_a_mention_is_let_go() -> None:
    text = "use <read_file> " + "word " * 3000
    assert outline(text) == [text]


_LONG = "The build went through, and `make` says 12 < 13.\n\n" * 40


@pytest.mark.parametrize("chunk", [1, 3, 16, 100_000])
@pytest.mark.parametrize(
    ("before", "is_quoted"),
    [
        ("", False),
        ("```\n" + _LONG + "```\n", False),
        ("~~~\n" + _LONG + "``", True),
        ('He wrote: "it".\n' + "word " * 300 + "\n", False),
        ("> quoted\n" * 90 + "\n", False),
        ("<blockquote>\n" + _LONG, True),
        ("This is the text:\n“\n", True),
    ],
)
def test_what_stands_far_before_a_call_says_whether_it_is_quoted(before: str, is_quoted: bool, chunk: int) -> None:
    message = f'{_LONG}{before}<read_file path="a.txt"/>\n'
    reader = read_xml(ALL, has_read=True)
    for at in range(0, len(message), chunk):
        reader.feed(message[at : at + chunk])
    reader.flush()
    assert [block.name for block in reader.drain()] == ([] if is_quoted else ["read_file"])
