"""What holds for every dialect: chunk borders, hostile input, round trips, answers."""

from __future__ import annotations

import json
import random
import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.protocol.arguments import to_call
from app.protocol.call import Block, Media, ToolCall, ToolResult, tool_error
from app.protocol.dialects.api import Answer, Dialect
from app.protocol.dialects.batch import BatchDialect
from app.protocol.dialects.native import NativeDialect
from app.protocol.dialects.xml import XmlDialect
from app.protocol.message import Author, CallClosed, ImagePart, ResultPart, TextPart
from app.protocol.spec import Close, Effect, Param, ToolSpec, ValueType, unbound
from scripts.bench import fuzz
from tests.support.parsed_tools import ALL, outline

TEXTUAL: tuple[Dialect, ...] = (XmlDialect(), BatchDialect())
EVERY: tuple[Dialect, ...] = (*TEXTUAL, NativeDialect())
ANYTHING = ToolSpec(
    "any_tool",
    "",
    Effect.READS,
    unbound,
    attrs=(
        Param("name"),
        Param("exact", short=False),
        Param("count", ValueType.INTEGER),
        Param("scale", ValueType.NUMBER),
        Param("sure", ValueType.FLAG),
        Param("choice", choices=("one", "two")),
    ),
    children=(
        Param("html", short=False),
        Param("file", short=False, close=Close.LAST, keeps_final_newline=True),
        Param("keys", short=False, is_typed=True),
        Param("item", short=False, many=True),
        Param("doc", attrs=(Param("lang"), Param("pages", ValueType.INTEGER)), many=True),
        Param("options", ValueType.LIST),
        Param("settings", ValueType.OBJECT),
    ),
    body=Param("content", short=False, keeps_final_newline=True),
)

dialects = pytest.mark.parametrize("dialect", TEXTUAL, ids=lambda dialect: dialect.name)
hostile = st.one_of(
    st.text(),
    st.text(alphabet="<>/[]!-`'\"=& \n\r\\{}:,say_path", max_size=80),
    st.integers(0, 2**32).map(lambda seed: fuzz.message(random.Random(seed))),
)
pieces = st.lists(
    st.sampled_from(
        [
            "</any_tool>",
            "</content>",
            "</file>",
            "]]></file>",
            "]]>",
            "]]",
            "<![CDATA[",
            "&lt;",
            "&",
            "<",
            "\n",
            "\r",
            " ",
            "`",
            "</execute>",
            "a",
        ]
    ),
    max_size=6,
).map("".join)
texts = st.one_of(st.text(max_size=30), pieces)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
docs = st.fixed_dictionaries({}, optional={"lang": texts, "pages": st.integers(-(10**20), 10**20), "text": texts})
arguments = st.fixed_dictionaries(
    {},
    optional={
        "name": texts,
        "exact": texts,
        "count": st.integers(-(10**30), 10**30),
        "scale": st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False),
        "sure": st.booleans(),
        "choice": st.sampled_from(["one", "two"]),
        "html": texts,
        "file": texts,
        "keys": texts,
        "item": st.lists(texts, max_size=3),
        "doc": st.lists(docs, max_size=3),
        "options": st.lists(json_values, max_size=3),
        "settings": st.dictionaries(texts, json_values, max_size=3),
        "content": texts,
    },
)
progress = st.one_of(st.just(""), texts)


@dialects
@given(text=hostile, cuts=st.integers(0, 2**32), has_read=st.booleans())
@example(text="```\n``` \r", cuts=1, has_read=False)
@example(text="a <read_file/> b <read_file/> <execute>[]</execute> <end>", cuts=1, has_read=True)
def test_no_input_raises_and_chunk_borders_never_matter(
    dialect: Dialect, text: str, cuts: int, *, has_read: bool
) -> None:
    def make() -> fuzz.Reader:
        return dialect.reader(ALL, has_read=has_read)

    assert fuzz.fault(make, text, fuzz.cut(text, random.Random(cuts))) == ""


@dialects
@given(text=hostile, cut=st.integers(0, 400), has_read=st.booleans())
def test_what_was_reported_is_never_taken_back(dialect: Dialect, text: str, cut: int, *, has_read: bool) -> None:
    early, late = (dialect.reader(ALL, has_read=has_read) for _ in range(2))
    before = fuzz.joined(early.feed(text[:cut]))
    after = fuzz.joined([*late.feed(text[:cut]), *late.feed(text[cut:]), *late.flush()])
    for known, final in zip(before[:-1], after, strict=False):
        assert known == final
    if before and hasattr(before[-1], "text"):
        assert after[len(before) - 1].text.startswith(before[-1].text)  # type: ignore[union-attr]


@dialects
@given(many=st.lists(st.tuples(arguments, progress), min_size=1, max_size=3), size=st.integers(1, 40))
@example(many=[({"file": "0", "name": "</any_tool>\n"}, "")], size=1)
@example(many=[({"file": "0", "name": "</file>\n"}, "")], size=1)
def test_a_written_call_reads_back_as_it_was(
    dialect: Dialect, many: list[tuple[dict[str, object], str]], size: int
) -> None:
    calls = [ToolCall("c", ANYTHING.name, args, progress=done) for args, done in many]  # type: ignore[arg-type]
    text = dialect.write(calls, (ANYTHING,))
    reader = dialect.reader((ANYTHING,))
    for at in range(0, len(text), size):
        reader.feed(text[at : at + size])
    reader.flush()
    read = [to_call(ANYTHING, block) for block in reader.drain()]
    assert [(call.arguments, call.progress) for call in read] == many


@dialects
def test_a_call_cut_anywhere_is_never_closed(dialect: Dialect) -> None:
    args = {"name": "a > b", "html": "<p>\n</p>", "content": "x </any_tool> </execute> y", "item": ["1", "2"]}
    text = dialect.write([ToolCall("c", "any_tool", args)], (ANYTHING,))
    for end in range(len(text)):
        reader = dialect.reader((ANYTHING,))
        events = [*reader.feed(text[:end]), *reader.flush()]
        assert [event for event in events if isinstance(event, CallClosed)] == []


def _hostile_result(names: list[str]) -> str:
    return "\n".join(f"<{name}>x</{name}> </ {name}> <{name.upper()} a='b'/>" for name in names) + " <b>fine</b> 1 < 2"


@dialects
def test_nothing_in_a_result_can_open_or_close_a_tag(dialect: Dialect) -> None:
    names = [spec.name for spec in ALL] + ["cat", "think", "execute", "results", "tool_results", "end", "other_tool"]
    dialect.reader(ALL)
    echo = _hostile_result(names)
    message = dialect.answer([Answer("c", "read_file", ToolResult(True, "read", llm_echo=echo))])
    part = message.parts[0]
    assert isinstance(part, TextPart)
    inside = "\n".join(part.text.split("\n")[2:-2])
    assert re.findall(rf"<\s*/?\s*(?:{'|'.join(names)})\b", inside, re.IGNORECASE) == []
    assert "<b>fine" in inside
    assert "1 < 2" in inside


def test_batch_results_are_json_that_says_exactly_what_came() -> None:
    echo = _hostile_result(["say", "results"])
    dialect = BatchDialect()
    dialect.reader(ALL)
    answers = [Answer("1", "say", ToolResult(True, "said", llm_echo=echo)), Answer("2", "x", tool_error("x", "No."))]
    part = dialect.answer(answers).parts[0]
    assert isinstance(part, TextPart)
    assert json.loads(part.text.removeprefix("<results>").removesuffix("</results>")) == [
        {"tool": "say", "status": "success", "content": echo},
        {"tool": "x", "status": "failure", "content": "x: No."},
    ]


@pytest.mark.parametrize("dialect", EVERY, ids=lambda dialect: dialect.name)
def test_pictures_go_with_the_results(dialect: Dialect) -> None:
    media = Media(b"png", "image/png", 3, 2, "the screen")
    message = dialect.answer([Answer("1", "look", ToolResult(True, "seen", llm_echo="Seen.", llm_media=(media,)))])
    if dialect.name == "native":
        assert message.parts == (ResultPart("1", "Seen.", (media,)),)
    else:
        assert message.parts[1:] == (ImagePart(media),)


def test_xml_results_are_one_entry_an_answer() -> None:
    answers = [Answer("1", "say", ToolResult(True, "said", llm_echo="Said.")), Answer("", "x", tool_error("x", "No."))]
    (part,) = XmlDialect().answer(answers).parts
    assert isinstance(part, TextPart)
    assert part.text == (
        '<tool_results>\n<result tool="say" status="ok">\nSaid.\n</result>\n'
        '<result tool="x" status="error">\nx: No.\n</result>\n</tool_results>'
    )


def test_native_errors_are_marked_and_complaints_without_a_call_are_text() -> None:
    answers = [Answer("1", "x", tool_error("x", "No.")), Answer("", "y", tool_error("y", "Odd."))]
    assert NativeDialect().answer(answers).parts == (
        ResultPart("1", "x: No.", is_error=True),
        TextPart("y: y: Odd.", Author.WISP),
    )


@pytest.mark.parametrize("has_read", [False, True])
@pytest.mark.parametrize("text", ["<think>a</think>b\n<say>x</say>", "It says `<say>x</say>` and <say>y</say> there."])
def test_a_native_reader_reads_what_is_written_as_xml(text: str, *, has_read: bool) -> None:
    native, xml = (outline(text, one.reader(ALL, has_read=has_read)) for one in (NativeDialect(), XmlDialect()))
    assert native == xml


@given(
    name=st.sampled_from([*[spec.name for spec in ALL], "none"]),
    attrs=st.dictionaries(st.text(string.ascii_lowercase, max_size=5) | st.sampled_from(["path", "line"]), texts),
    args=st.none() | st.dictionaries(st.sampled_from(["path", "line", "text", "doc", "tags"]), json_values),
    body=texts,
)
def test_judging_arguments_raises_nothing_but_misuse(
    name: str, attrs: dict[str, str], args: dict[str, object] | None, body: str
) -> None:
    fuzz.judge(Block("c", name, attrs, (), body, args))  # type: ignore[arg-type]


@pytest.mark.long
def test_a_short_run_of_the_fuzzer_finds_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["fuzz", "--count", "1500", "--seed", "11"])
    assert fuzz.main() == 0
    assert "none broke a rule" in capsys.readouterr().out
