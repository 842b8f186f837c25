"""Opening tags of inline XML: what is one, and what it holds."""

from __future__ import annotations

import pytest

from app.protocol.dialects.xml import read_xml
from app.protocol.payload import Limits
from tests.support.parsed_tools import ALL, call, outline


@pytest.mark.parametrize(
    ("text", "attrs"),
    [
        ('<read_file path="a"/>', {"path": "a"}),
        ("<read_file path=a/>", {"path": "a"}),
        ('<read_file\r\n  path = "a"\n/>', {"path": "a"}),
        ('<read_file path="a > b < c"/>', {"path": "a > b < c"}),
        ('<read_file path="a" whole/>', {"path": "a", "whole": "true"}),
        ('<read_file path="a &lt; b &amp;amp; &quot;c&quot; &#100;"/>', {"path": 'a < b &amp; "c" d'}),
        ('<read_file path="a" path="b"/>', {"path": "b"}),
    ],
)
def test_attributes_are_read_in_every_spelling(text: str, attrs: dict[str, str]) -> None:
    assert outline(text) == [call("read_file", attrs)]


def test_an_alias_is_the_tool_it_stands_for() -> None:
    assert outline("<cat><path>a</path></cat>") == [call("cat", {}, ("path", "a"))]


@pytest.mark.parametrize(
    "text",
    [
        "<Read_File path='a'/>",
        "<read_files path='a'/>",
        "<read_file is a tool that reads>",
        "<read_file path='a' /x>",
        "<unknown a='b'>text</unknown>",
        "<",
        "<sa",
    ],
)
def test_what_is_no_tag_of_ours_stays_text(text: str) -> None:
    assert outline(text) == [text]


def test_a_missing_quote_does_not_take_the_next_call_along() -> None:
    assert outline('<say tone="warm>Hello</say>\n<say>"second"</say>') == [
        call("say", partial=True),
        ("misread", "unclosed_quote"),
        "\n",
        call("say", body='"second"'),
    ]


@pytest.mark.parametrize("cut", range(4, len('<write_file path="a.txt" line=3')))
def test_a_stream_that_ends_in_an_opening_tag_leaves_a_partial_call_and_no_text(cut: int) -> None:
    block = outline('<write_file path="a.txt" line=3'[:cut])[0]
    assert getattr(block, "name", None) == "write_file"
    assert getattr(block, "partial", None) is True


def test_attributes_beyond_their_limit_are_an_error_and_no_call() -> None:
    reader = read_xml(ALL, Limits(attributes=100))
    assert outline(f'<say tone="{"x" * 200}"><read_file path="a"/></say> ok', reader) == [
        call("say", {"tone": ""}, partial=True),
        ("misread", "attributes_too_long"),
        " ok",
    ]
