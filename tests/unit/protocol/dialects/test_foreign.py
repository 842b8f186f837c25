"""Foreign formats: read as a last resort, and only where nothing is in doubt."""

from __future__ import annotations

import pytest

from app.protocol.arguments import to_call
from app.protocol.call import Block
from app.protocol.dialects.foreign import read_foreign, split_foreign
from tests.support.parsed_tools import ALL, APP, READ


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "read_file", "arguments": {"path": "a", "line": 3}}',
        '[{"name": "read_file", "args": {"path": "a", "line": 3}}]',
        '{"function": {"name": "read_file", "arguments": "{\\"path\\": \\"a\\", \\"line\\": 3}"}}',
        '<tool_call>\n{"name": "read_file", "parameters": {"path": "a", "line": 3}}\n</tool_call>',
        'Here:\n```json\n{"name": "Read", "input": {"file_path": "a", "line": 3}}\n```\n',
        "<function=read_file><parameter=path>a</parameter><parameter=line>3</parameter></function>",
        '<invoke name="Read"><parameter name="file_path">a</parameter><parameter name="line">3</parameter></invoke>',
        '```xml\n<read_file path="a" line="3"/>\n```',
        '<execute>\n[{"name": "read_file", "args": {"path": "a", "line": 3}}]\n</execute>',
        'I look.\n<read_file path="a" line="3"/>',
    ],
)
def test_a_foreign_call_becomes_ours(text: str) -> None:
    blocks = read_foreign(text, ALL)
    assert [to_call(READ, block).arguments for block in blocks] == [{"path": "a", "line": 3}]


def test_values_that_are_no_text_keep_their_shape() -> None:
    text = '{"name": "create_app", "arguments": {"tags": ["a"], "doc": [{"lang": "en", "text": "x"}]}}'
    assert to_call(APP, read_foreign(text, ALL)[0]).arguments == {
        "tags": ["a"],
        "doc": [{"lang": "en", "text": "x"}],
    }


@pytest.mark.parametrize(
    "text",
    [
        'An example: {"name": "read_file", "arguments": {"path": "a"}}',
        '{"name": "read_file", "arguments": {"path": "a"}',
        "```\n<function=read_file><parameter=path>a</parameter></function>\n```",
        '```xml\n<read_file path="a"/>\n```\nor\n```xml\ntext\n```',
        "```xml\ntext\n```",
        '<execute>[{"name": "read_file", "args": {"path": "a"}}',
        "{" * 5000 + '"name":',
    ],
)
def test_what_is_not_certain_stays_text(text: str) -> None:
    assert split_foreign(text, ALL) == [text]


def test_prose_before_a_foreign_call_stays() -> None:
    parts = split_foreign("Reading.\n<function=read_file><parameter=path>a</parameter></function>\nok", ALL)
    assert [part if isinstance(part, str) else part.name for part in parts] == ["Reading.\n", "read_file", "\nok"]


@pytest.mark.parametrize(
    "fence",
    [
        '```xml\n<read_file path="a"/>\n```\n',
        '```\n<read_file path="a"/>\n```',
        '~~~ xml\r\n<read_file path="a"/>\r\n~~~~\r\n',
        '  ```xml\n  <read_file path="a"/>\n  ```',
        '```xml\n<read_file path="a"/>',
        "```xml\n<read_file><path>a</path></read_file>\n```",
    ],
)
def test_a_fence_that_ends_the_reply_holds_calls_and_the_prose_before_it_stays(fence: str) -> None:
    before = "Sure!\n```\nan example\n```\nNow:\n"
    text, block = split_foreign(before + fence, ALL)
    assert text == before
    assert isinstance(block, Block)
    assert to_call(READ, block).arguments == {"path": "a"}
