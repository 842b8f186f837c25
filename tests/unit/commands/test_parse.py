"""`wisp parse`: bytes in, JSON lines out."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path

import pytest

from app.commands import parse
from tests.support.parsed_tools import ALL


def _run(
    data: bytes, monkeypatch: pytest.MonkeyPatch, *, dialect: str = "xml", chunk: int | None = None, tools: str = ""
) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return parse.run(argparse.Namespace(dialect=dialect, chunk=chunk, tools=tools or None), ALL)


def _lines(capsys: pytest.CaptureFixture[str]) -> list[object]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("chunk", [None, 1, 2, 5])
def test_every_kind_of_block_has_its_line(
    chunk: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        'Hé <think>a</think><think>b</think>\n<create_app name="n"><html>x</html><doc lang="de">y</doc></create_app>'
        '<results>[]</results>\n<read_file path="a">\n<say tone="warm">cut'
    )
    assert _run(text.encode(), monkeypatch, chunk=chunk) == 0
    children = {"html": "x", "doc": {"lang": "de", "text": "y"}}
    assert _lines(capsys) == [
        {"kind": "text", "text": "Hé "},
        {"kind": "think", "text": "a"},
        {"kind": "think", "text": "b"},
        {
            "kind": "tool",
            "name": "create_app",
            "attrs": {"name": "n"},
            "children": children,
            "body": "",
            "partial": False,
        },
        {"kind": "results", "text": "[]"},
        {"kind": "tool", "name": "read_file", "attrs": {"path": "a"}, "children": {}, "body": "", "partial": True},
        {
            "kind": "error",
            "code": "unclosed_call",
            "text": "<read_file> was not closed before the next tool; "
            "end it with </read_file>, or write <read_file …/>.",
        },
        {"kind": "tool", "name": "say", "attrs": {"tone": "warm"}, "children": {}, "body": "cut", "partial": True},
    ]


@pytest.mark.parametrize("dialect", ["xml", "batch"])
@pytest.mark.parametrize("chunk", [None, 1])
def test_a_blank_thought_is_none(
    dialect: str, chunk: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = b"<think></think><thinking>\n \n</thinking><think/>a<think>\n b</think>"
    _run(text, monkeypatch, dialect=dialect, chunk=chunk)
    assert _lines(capsys) == [{"kind": "text", "text": "a"}, {"kind": "think", "text": "\n b"}]


def test_a_batch_is_its_calls_and_a_line_that_runs_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(b'Go <execute>[{"name":"a","args":{"x":[1,null]}}]</execute> dropped', monkeypatch, dialect="batch", chunk=3)
    assert _lines(capsys) == [
        {"kind": "text", "text": "Go "},
        {"kind": "tool", "name": "a", "args": {"x": [1, None]}, "partial": False},
        {"kind": "execute"},
    ]


@pytest.mark.parametrize("chunk", [None, 1])
def test_bytes_that_are_no_utf_8_are_replaced(
    chunk: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(b"a\xff<say>\xe2\x82</say>\xf0", monkeypatch, chunk=chunk)
    assert [line["text"] if "text" in line else line["body"] for line in _lines(capsys)] == ["a�", "�", "�"]  # type: ignore[operator, index]


def test_a_lone_surrogate_is_replaced(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _run(rb'<execute>[{"name":"a","args":{"x":"\ud83d"}}]</execute>', monkeypatch, dialect="batch")
    assert "\ufffd" in capsys.readouterr().out


def test_line_breaks_of_windows_stay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _run(b"a\r\nb", monkeypatch)
    assert _lines(capsys) == [{"kind": "text", "text": "a\r\nb"}]


def test_shapes_from_a_file_take_the_place_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = {"page": {"attrs": ["id"], "children": ["part"], "body": False, "close": {"part": "last"}}}
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"tools": shapes}), encoding="utf-8")
    text = b'<say>x</say><page id="1"><part>a</part>b</part></page>'
    assert _run(text, monkeypatch, tools=str(file)) == 0
    page = {"kind": "tool", "name": "page", "attrs": {"id": "1"}, "body": "", "partial": False}
    assert _lines(capsys) == [{"kind": "text", "text": "<say>x</say>"}, page | {"children": {"part": "a</part>b"}}]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "The tools file is no JSON"),
        ("[]", 'needs an object "tools"'),
        ('{"tools": {"a": 1}}', "The shape of 'a' must be an object"),
        ('{"tools": {"a": {"params": []}}}', "The shape of 'a' must be an object"),
        ('{"tools": {"a": {"attrs": "x"}}}', "attrs of 'a' must be a list of names"),
        ('{"tools": {"a": {"close": {"x": "end"}}}}', 'must map names of children to "first" or "last"'),
    ],
)
def test_a_tools_file_that_cannot_be_used_is_told(
    content: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(content, encoding="utf-8")
    assert _run(b"", monkeypatch, tools=str(file)) == 2
    assert sentence in capsys.readouterr().err


def test_a_missing_tools_file_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(b"", monkeypatch, tools="nowhere.json") == 2
    assert "nowhere.json" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["0", "-1", "x", "٣"])
def test_a_chunk_is_a_number_from_one(size: str) -> None:
    parser = argparse.ArgumentParser()
    parse.add_arguments(parser)
    with pytest.raises(SystemExit) as left:
        parser.parse_args(["--chunk", size])
    assert left.value.code == 2
