"""The inside of inline-XML calls: bodies, children, where payloads end, what a cut leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.protocol.call import Block, Child
from app.protocol.dialects.xml import finished, read_xml
from app.protocol.payload import Limits
from app.protocol.spec import Close, Param
from tests.support.parsed_tools import ALL, WRITE, call, events, outline, shown

PATH = {"path": "a"}


@pytest.mark.parametrize(
    ("inside", "body"),
    [
        ("plain", "plain"),
        ("\r\nline\r\n", "line"),
        ("<![CDATA[]]>", ""),
        ("<![CDATA[AAA]]> oops", "AAA"),
        ("<rss><title><![CDATA[Hi]]></title></rss>", "<rss><title><![CDATA[Hi]]></title></rss>"),
        ('<path d="M0"/>', '<path d="M0"/>'),
        ("text <path>evil</path>", "text <path>evil</path>"),
    ],
)
def test_a_body_is_what_stands_between_the_tags(inside: str, body: str) -> None:
    assert outline(f'<write_file path="a">{inside}</write_file> after') == [
        call("write_file", PATH, body=body),
        " after",
    ]


@pytest.mark.parametrize(
    ("inside", "body"),
    [
        ("x", "x"),
        ("x\n", "x\n"),
        ("\nx\n\n", "x\n\n"),
        ("\r\nx\r\n", "x\r\n"),
        ("<![CDATA[\nx\n]]>", "x\n"),
        ("\n<![CDATA[\n\nx\r\n]]>\n", "\nx\r\n"),
        ("<![CDATA[\nx]]>", "x"),
        ("<![CDATA[x\n]]", "x\n"),
        ("\n", ""),
    ],
)
def test_a_body_that_keeps_its_final_newline_loses_only_the_first(inside: str, body: str) -> None:
    content = Param("content", short=False, close=Close.LAST, keeps_final_newline=True)
    specs = (replace(WRITE, body=content),)
    text = f'<write_file path="a">{inside}</write_file>'
    assert outline(text, read_xml(specs)) == [call("write_file", PATH, body=body)]
    assert "".join(piece for _, piece in shown(text, read_xml(specs))) == body
    child = f"<write_file><content>{inside}</content></write_file>"
    assert outline(child, read_xml(specs)) == [call("write_file", {}, ("content", body))]


def test_a_broken_cdata_end_does_not_swallow_the_next_file() -> None:
    text = '<write_file path="a"><![CDATA[AAA]]</write_file>\n<write_file path="b"><![CDATA[BBB]]></write_file>'
    assert outline(text) == [
        call("write_file", PATH, body="AAA"),
        "\n",
        call("write_file", {"path": "b"}, body="BBB"),
    ]


def test_cdata_that_never_ends_ends_with_the_message() -> None:
    assert outline('<write_file path="a"><![CDATA[AAA</write_file>\nAll done.') == [
        call("write_file", PATH, body="AAA"),
        "\nAll done.",
    ]


@pytest.mark.parametrize(
    ("inside", "children"),
    [
        ("<html><html>a</html></html><doc>d</doc>", (("html", "<html>a</html>"), ("doc", "d"))),
        ("<html><![CDATA[</html></create_app>]]></html><doc>d</doc>", (("html", "</html></create_app>"), ("doc", "d"))),
        ("<doc>see </html></doc><html>x</html>", (("doc", "see </html>"), ("html", "x"))),
        ("<html>a</html> and <doc>evil</doc></html>", (("html", "a</html> and <doc>evil</doc>"),)),
        ("<html>\n  x\n</html>\n<doc>\n  y &amp; z\n</doc>\n", (("html", "  x"), ("doc", "y & z"))),
        ("<doc><html>x</html></doc>", (("doc", "<html>x</html>"),)),
        ("<!-- <doc>no</doc> --><doc>yes</doc>", (("doc", "yes"),)),
        ("<doc/>", (("doc", ""),)),
        ("<doc>a</doc><doc>b</doc>", (("doc", "a"), ("doc", "b"))),
    ],
)
def test_children_are_read_if_the_tool_declares_them(inside: str, children: tuple[tuple[str, str], ...]) -> None:
    assert outline(f"<create_app>{inside}</create_app>!") == [call("create_app", {}, *children), "!"]


def test_a_child_keeps_its_attributes() -> None:
    assert outline("<create_app><doc lang=\"de\" pages='3'>x</doc></create_app>") == [
        Block("", "create_app", children=(Child("doc", "x", {"lang": "de", "pages": "3"}),))
    ]


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("<write_file><path>a</path><content>x</content></write_file>", (("path", "a"), ("content", "x"))),
        ("<write_file><content>x</content><path>a</path></write_file>", (("content", "x"), ("path", "a"))),
    ],
)
def test_attribute_and_body_may_both_be_written_as_children(text: str, block: tuple[tuple[str, str], ...]) -> None:
    assert outline(text) == [call("write_file", {}, *block)]


def test_a_body_may_follow_a_child() -> None:
    assert outline("<write_file><path>a</path>\nsome <path>text</path>\n</write_file>") == [
        call("write_file", {}, ("path", "a"), body="some <path>text</path>")
    ]


def test_text_between_children_of_a_tool_without_a_body_is_kept_aside() -> None:
    assert outline("<attempt_completion>So: <result>Done.</result></attempt_completion>") == [
        call("attempt_completion", {}, ("result", "Done."), body="So:")
    ]


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ('<write_file path="a">', call("write_file", PATH, partial=True)),
        ('<write_file path="a">hal', call("write_file", PATH, body="hal", partial=True)),
        ('<write_file path="a">hal</wri', call("write_file", PATH, body="hal", partial=True)),
        ('<write_file path="a"><![CDATA[\nhal', call("write_file", PATH, body="hal", partial=True)),
        ("<read_file><path>a.t", call("read_file", {}, ("path", "a.t"), partial=True)),
        ("<read_file><path>a.t</pa", call("read_file", {}, ("path", "a.t"), partial=True)),
        ("<read_file><path>a.t</path>\n", call("read_file", {}, ("path", "a.t"), partial=True)),
        ("<create_app><html>x</html>", call("create_app", {}, ("html", "x"), partial=True)),
        ("<create_app><!-- x", call("create_app", {}, partial=True)),
    ],
)
def test_a_cut_call_is_partial_with_what_it_has(text: str, block: Block) -> None:
    reader = read_xml(ALL)
    reader.feed(text)
    assert reader.is_open
    assert reader.tail(len(text) + 9) == text
    assert reader.tail(3) == text[-3:]
    assert outline("", reader) == [block]


def test_a_cut_call_is_continued_on_the_same_reader() -> None:
    reader = read_xml(ALL)
    reader.feed('<write_file path="a"><![CDATA[hello wor')
    reader.feed("ld]]></write_file>")
    reader.flush()
    assert [(block.name, block.body, block.partial) for block in reader.drain()] == [
        ("write_file", "hello world", False)
    ]
    assert reader.drain() == []


def test_an_unclosed_call_before_another_tool_does_not_run_and_is_told() -> None:
    assert outline('<read_file path="a">\n<say>hello</say>') == [
        call("read_file", PATH, partial=True, body=""),
        ("misread", "unclosed_call"),
        call("say", body="hello"),
    ]


def test_a_payload_beyond_its_limit_is_an_error_and_the_rest_is_read() -> None:
    reader = read_xml(ALL, Limits(payload=100))
    assert outline(f'<write_file path="a">{"x" * 300}</write_file> ok', reader) == [
        call("write_file", PATH, partial=True),
        ("misread", "payload_too_long"),
        " ok",
    ]


def test_a_message_beyond_its_limit_is_an_error_once() -> None:
    reader = read_xml(ALL, Limits(message=10))
    assert outline("a" * 8, reader) == ["a" * 8]
    reader = read_xml(ALL, Limits(message=10))
    assert [type(event).__name__ for event in reader.feed("a" * 12)] == ["Text", "Misread"]
    assert reader.feed("more") == []


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("<say>\nHi there\n</say>", [("text", "Hi there")]),
        ("<say><![CDATA[\nHi ]]> there\n]]></say>", [("text", "Hi ]]> there")]),
        ("<create_app><html>a</html>b</html></create_app>", [("html", "a</html>b")]),
        ("<read_file><path> a </path></read_file>", [("path", "a")]),
        ('<write_file path="a">cut</wri', [("content", "cut")]),
    ],
)
def test_what_is_shown_while_it_arrives_is_the_value(text: str, pieces: list[tuple[str, str]]) -> None:
    assert shown(text) == pieces


def test_arguments_given_twice_are_noted() -> None:
    closed = [e.block for e in events('<cat path="a" path="b"><path>c</path></cat>') if hasattr(e, "block")]
    assert closed[0].notes == ("path was given more than once; the last one counts.",)


def test_spans_are_places_in_the_message() -> None:
    text = 'Hi. <say>a</say> <read_file path="x"/>'
    spans = [event.block.span for event in events(text) if hasattr(event, "block")]
    assert [text[start:stop] for start, stop in spans] == ["<say>a</say>", '<read_file path="x"/>']


_GAPS = (" and now ", "\n- ", "\nNow: ", "<say>next</say>", "\n", "", " ", "\n\n> ", " stray > text, then ")
_ENDS = ("]]", "]] ", "]]\n", "]>", "]] >", "]]> oops", "]]>\nAnd that is it.\n", "]]]")


@pytest.mark.parametrize("gap", _GAPS)
@pytest.mark.parametrize("end", _ENDS)
def test_no_malformed_end_of_cdata_swallows_the_next_call(gap: str, end: str) -> None:
    second = '<write_file path="b"><![CDATA[BBB]]></write_file>'
    blocks = finished(read_xml(ALL), f'<write_file path="a"><![CDATA[AAA{end}</write_file>{gap}{second}')
    bodies = [(block.attrs["path"], block.body) for block in blocks if block.name == "write_file"]
    assert bodies == [("a", {"]>": "AAA]>", "]]]": "AAA]"}.get(end, "AAA")), ("b", "BBB")]


@pytest.mark.parametrize("gap", _GAPS)
@pytest.mark.parametrize(
    ("first", "content"),
    [
        ("<content><![CDATA[AAA]]</content></write_file>", "AAA"),
        ("<content><![CDATA[AAA]]> oops</content></write_file>", "AAA"),
        ("<content><![CDATA[AAA</content></write_file>", "AAA"),
        ("<content>AAA</content></write_file>", "AAA"),
        ("<content><![CDATA[AAA]]></write_file>", None),
    ],
)
def test_a_child_swallows_the_next_call_no_more_than_a_body(first: str, content: str | None, gap: str) -> None:
    second = "<write_file><path>b</path><content><![CDATA[BBB]]></content></write_file>"
    blocks = finished(read_xml(ALL), f"<write_file><path>a</path>{first}{gap}{second}")
    given = [{child.name: child.text for child in block.children} for block in blocks if block.name == "write_file"]
    ran = [] if content is None else [{"path": "a", "content": content}]
    assert given == [*ran, {"path": "b", "content": "BBB"}]


@pytest.mark.parametrize("gap", [gap for gap in _GAPS if gap != " stray > text, then "])
def test_cdata_without_an_end_swallows_no_file_that_has_its_own(gap: str) -> None:
    second = '<write_file path="b"><![CDATA[BBB]]></write_file>'
    blocks = finished(read_xml(ALL), f'<write_file path="a"><![CDATA[AAA</write_file>{gap}{second}')
    assert [block.body for block in blocks if block.name == "write_file"] == ["AAA", "BBB"]


@pytest.mark.parametrize(
    "body",
    ["use </write_file> here", "a ]]</write_file> b", "call <read_file/>, then </write_file> and <read_file/> again"],
)
def test_a_file_that_speaks_of_the_protocol_stays_whole(body: str) -> None:
    blocks = finished(read_xml(ALL), f'<write_file path="a"><![CDATA[{body}]]></write_file> Done.')
    assert [block.body for block in blocks] == [body]


_CDATA = "<![CDATA["


@pytest.mark.parametrize(
    "body",
    [
        "one\nuse </write_file> to end\n<think>\nthree",
        "a ]]></write_file> b\nc",
        "a\n]]></write_file>\n<think>\nb",
        f'So:\n<write_file path="x">{_CDATA}\nhello\n]]></write_file>\n<read_file path="x"/>\nand so on',
        f'Never </write_file>.\n<write_file path="x">{_CDATA}\nhello\n]]></write_file>\nend',
    ],
)
@pytest.mark.parametrize("after", ["", "\nDone.\n<say>x</say>"])
def test_cdata_ends_at_the_last_end_that_is_its_own(body: str, after: str) -> None:
    assert finished(read_xml(ALL), f'<write_file path="a">{_CDATA}\n{body}\n]]></write_file>{after}')[0].body == body
    child = body.replace("write_file", "html").replace("read_file", "write_file")
    text = f"<create_app><html>{_CDATA}\n{child}\n]]></html></create_app>{after}"
    assert finished(read_xml(ALL), text)[0].children == (Child("html", child),)


@pytest.mark.parametrize(
    "inside",
    [
        "\none\nuse </write_file> to end\nthree\n",
        "use </write_file> to end",
        "\none\n</write_file>\n<read_file path='x'/>\nthree\n",
        "\n<write_file path='x'>\nhi\n</write_file>\n<read_file path='x'/>\nend\n",
        "<content>\none\n</content>\n</write_file>\nthree\n</content>\n",
    ],
)
@pytest.mark.parametrize("after", ["", "\nDone.\n"])
def test_of_a_plain_payload_with_two_readings_nothing_runs(inside: str, after: str) -> None:
    seen = outline(f'<write_file path="a">{inside}</write_file>{after}')
    assert [one.partial for one in seen if isinstance(one, Block)] == [True]
    assert seen[-1:] == ([after] if after else [("misread", "unclear_end")])


_INSIDE = ["</write_file>", "</content>", "<read_file path='x'/>", "<think>", "</think>", "<say>", "]]", "\n", " ", "a"]


@given(
    st.lists(st.sampled_from(_INSIDE), max_size=12).map("".join),
    st.sampled_from([(_CDATA, "]]>"), (f"<content>{_CDATA}", "]]></content>"), ("", ""), ("<content>", "</content>")]),
)
def test_a_file_is_written_whole_or_not_at_all(text: str, form: tuple[str, str]) -> None:
    blocks = finished(read_xml(ALL), f'<write_file path="a">{form[0]}\n{text}\n{form[1]}</write_file>')
    written = [
        [block.body, *(one.text for one in block.children)][-1] for block in blocks if block.name == "write_file"
    ]
    assert written == [text] or (not written and _CDATA not in form[0])
