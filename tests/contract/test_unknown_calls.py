"""A call of a tool that does not exist is answered, and what models are likely to guess is understood."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.agent.agent_events import Outcome
from app.agent.deps import ConversationRequests
from app.agent.policy import Mode, Policy
from app.assembly import registry
from app.assistant import assembled
from app.features.apps.tools import SURFACES
from app.features.browser.tools import BROWSER
from app.features.looks.drawings import DRAWING
from app.features.looks.tools import LOOKS
from app.features.mcp.tools import MCP
from app.features.memory.tools import MEMORY
from app.features.schedule.tools import SCHEDULES
from app.features.web.settings import SEARCHERS
from app.features.web.tools import WEB
from app.protocol.arguments import to_call
from app.protocol.call import Block, JsonValue
from app.protocol.dialects.choose import by_name
from app.protocol.message import CallClosed
from app.protocol.spec import Param, ToolSpec
from app.services.tasks import Checklist
from app.services.themes import Appearance
from app.settings import store
from app.settings.store import Settings
from app.tools.conversation import SAY, TASKS, Speech, Tasks
from app.tools.executor import Executor
from app.tools.registry import Registry
from tests.support.stage import FakeClock, Stage

TOOLS = registry()

_UNKNOWN = [
    ('<create_app name="x">print(1)</create_app>', "create_app"),
    ("<remember>tea</remember>", "remember"),
    ('<readfile path="notes.md"/>', "readfile"),
    ('<Read_File path="notes.md"/>', "Read_File"),
    ('<creat_file path="x">y</creat_file>', "creat_file"),
    ("<set_theme><theme>dark</theme></set_theme>", "set_theme"),
    ('I look.\n<screen-capture window="Editor"/>', "screen-capture"),
]


def _blocks(text: str, dialect: str = "xml", size: int = 10_000) -> list[Block]:
    reader = by_name(dialect).reader(TOOLS.specs)
    events = [event for at in range(0, len(text), size) for event in reader.feed(text[at : at + size])]
    return [event.block for event in [*events, *reader.flush()] if isinstance(event, CallClosed)]


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize(("text", "name"), _UNKNOWN)
def test_what_has_the_form_of_a_call_is_read_as_one(text: str, name: str, size: int) -> None:
    assert [block.name for block in _blocks(text, size=size)] == [name]


@pytest.mark.parametrize(
    "text",
    [
        '<div class="read_file">x</div>',
        "<b>bold</b> and <i>italic</i>",
        "<user_list><user/></user_list>",
        "Use <remember> to keep something.",
        "`<create_app>x</create_app>`",
        "```\n<readfile path='a'/>\n```",
        "if a <read and b> c",
    ],
)
def test_other_markup_stays_text(text: str) -> None:
    assert _blocks(text) == []


async def test_the_model_is_told_what_is_nearest(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "<remember>tea</remember><look/>", "Done.")
    await stage.send()
    assert "There is no tool called 'remember'" in stage.asked(1)
    assert stage.bench.done == []


async def test_a_native_reply_with_such_a_tag_is_answered_too(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "<create_app>x</create_app>", "Done.", dialect="native")
    await stage.send()
    assert len(stage.provider.requests) == 2


@pytest.mark.parametrize(
    ("body", "typed"),
    [
        ("url\n ", "url"),
        ("url\n", "url"),
        ("\nurl\n\n", "url"),
        ("url ", "url "),
        ("a\nb\r\n", "a\nb"),
        ("<![CDATA[url\n]]>", "url\n"),
        ("<![CDATA[url\n ]]>\n", "url\n "),
    ],
)
def test_blank_lines_at_the_end_are_typed_only_out_of_cdata(body: str, typed: str) -> None:
    spec = TOOLS.find("computer_type")
    assert spec is not None
    [block] = _blocks(f"<computer_type>{body}</computer_type>")
    assert to_call(spec, block).arguments == {"text": typed}


async def test_blank_results_cost_no_pass_and_nothing_behind_the_end_is_kept(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "All done. <results> </results>\n<end>\nAnd then the person said:", dialect="batch")
    ended = await stage.send()
    assert (ended.text, len(stage.provider.requests)) == ("All done.", 1)
    assert "the person said" not in str(stage.session.history.messages)


async def test_an_end_without_the_checklist_that_was_kept_is_sent_back_once(tmp_path: Path) -> None:
    async def keep(_progress: str) -> dict[str, JsonValue]:
        return {}

    begun = '<read path="a"><task_progress>- [ ] read it</task_progress></read>'
    end = "<attempt_completion><result>Read.</result></attempt_completion>"
    stage = Stage(tmp_path, begun, end, end, "Never asked for.", keep_progress=keep)
    ended = await stage.send()
    assert (ended.text, len(stage.provider.requests)) == ("Read.", 3)
    assert "task_progress" in stage.asked(2)


async def test_questions_are_taught_except_while_yolo_counts(tmp_path: Path) -> None:
    policy = Policy(tmp_path, Mode.ASK)
    tools = Registry(SAY, TASKS)
    tasks = Tasks(ConversationRequests(policy), Checklist(tmp_path), Appearance())
    asked = "<ask_followup_question><question>Which?</question></ask_followup_question>"
    stage = Stage(
        tmp_path,
        *("One.", asked, "Two.", "Three."),
        registry=tools,
        executor=Executor(tools, [Speech(), tasks], FakeClock()),
        policy=policy,
    )
    for mode in (Mode.ASK, Mode.YOLO, Mode.ASK):
        policy.switch(mode)
        await stage.send()
    taught = ["ask_followup_question" in request.system for request in stage.provider.requests]
    assert taught == [True, False, False, True]
    assert "Nobody answers questions" in stage.asked(2)


_UNREAD = [
    '<tap target="Preferences"/>',
    'Now I set the slider.\n<computer_set_value ref="e9">70</computer_set_value>',
    "<open_page>\n<name>Terms</name>\n</open_page>",
    '<tool_call>{"name": "slide", "arguments": {"x": 1}}</tool_call>',
    '<tool_call>\n{"name": "read", "arguments": {"path": }}\n</tool_call>',
    "<function=slide><parameter=x>1</parameter></function>",
    '<say>Now I tap it.</say><tap target="Preferences"/>',
]


@pytest.mark.parametrize("dialect", ["xml", "batch", "native"])
@pytest.mark.parametrize("reply", _UNREAD)
async def test_a_reply_that_ends_with_a_call_no_tool_fits_is_sent_back(
    tmp_path: Path, reply: str, dialect: str
) -> None:
    stage = Stage(tmp_path, reply, "Then by another way.", dialect=dialect)
    assert (await stage.send()).text == "Then by another way."
    assert "Nothing ran" in stage.asked(1)
    stage = Stage(tmp_path, *[reply] * 9, dialect=dialect, attended=False)
    assert (await stage.send()).outcome is Outcome.FAILED
    assert (len(stage.provider.requests), stage.bench.done) == (3, [])


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Make it bold.", "<b>bold</b>"),
        ("List them.", '<ul>\n<li class="x">a</li>\n</ul>'),
        ("Show a picture.", '<img name="cat.png"/>'),
        ("Which rows?", "<user_list>\n<user/>\n</user_list>"),
        ("How do I tap?", 'So:\n```\n<tap_it x="1"/>\n```'),
        ("How do I tap?", 'Write `<tap_it x="1"/>`'),
        ("How do I tap?", '<tap_it x="1"/>\nIs what you write.'),
        ("How do I tap?", '<b>So:</b> <tap_it x="1"/>'),
        ("Which XML is that?", '<tap_it x="1"/>'),
        ("Which keys?", '{"name": "slide", "arguments": {}}'),
    ],
)
async def test_an_answer_that_holds_markup_stays_an_answer(tmp_path: Path, asked: str, answer: str) -> None:
    stage = Stage(tmp_path, answer, "Asked in vain.")
    assert (await stage.send(asked)).text == answer


_GUESSES: list[tuple[str, str, dict[str, JsonValue]]] = [
    ('<read_file file="notes.md"/>', "read_file", {"path": "notes.md"}),
    ('<read_batch paths="a, b"/>', "read_batch", {"path": ["a", "b"]}),
    ("<read_batch><paths>a</paths><path>b</path></read_batch>", "read_batch", {"path": ["a", "b"]}),
    ('<computer_click coordinate="[10, 20]"/>', "computer_click", {"x": 10, "y": 20}),
    ('<computer_click element="Save" name="Other" target="OK"/>', "computer_click", {"target": "OK"}),
    ('<open_app id="mousepad"/>', "open_app", {"name": "mousepad"}),
    ("<execute_command><cmd>ls</cmd></execute_command>", "execute_command", {"command": "ls"}),
]


@pytest.mark.parametrize(("text", "tool", "arguments"), _GUESSES)
def test_likely_guesses_are_understood(text: str, tool: str, arguments: dict[str, JsonValue]) -> None:
    spec = TOOLS.find(tool)
    assert spec is not None
    [block] = _blocks(text)
    assert to_call(spec, block).arguments == arguments


@pytest.mark.parametrize(
    ("call", "tool", "arguments"),
    [
        ({"name": "read", "args": {"file": "a.txt"}}, "read_file", {"path": "a.txt"}),
        ({"name": "write", "args": {"file": "b", "content": "x"}}, "write_file", {"path": "b", "content": "x"}),
        ({"name": "write", "args": {"file": "b", "content": {"a": [1]}}}, "write_file", None),
        ({"name": "shell", "args": {"cmd": "ls"}}, "execute_command", {"command": "ls"}),
        ({"name": "computer_click", "args": {"coordinate": [10, 20.5]}}, "computer_click", {"x": 10, "y": 20.5}),
    ],
)
def test_a_batch_takes_the_names_of_its_own_guide(
    call: dict[str, JsonValue], tool: str, arguments: dict[str, JsonValue] | None
) -> None:
    spec = TOOLS.find(tool)
    assert spec is not None
    [block] = _blocks(f"<execute>{json.dumps([call])}</execute>", "batch")
    assert TOOLS.find(block.name) is spec
    read = to_call(spec, block).arguments
    assert read == (arguments or {"path": "b", "content": '{\n  "a": [\n    1\n  ]\n}'})


_OTHER_TYPES: tuple[JsonValue, ...] = (True, -1, 10**30, 2.5, "", "12,", "²", "http://[", "a/~2", "99 99 * * *")
_OTHER_TYPES += ([], [1], ["x"], [[]], [{}], {}, {"a": 1}, {"text": "x"})
_FAMILIES = (BROWSER, WEB, MCP, MEMORY, SCHEDULES, SURFACES, LOOKS, DRAWING)


def _fitting(param: Param) -> JsonValue:
    """A value of the right type, so that the wrong one beside it is what counts."""
    if param.attrs:
        one: JsonValue = {attr.name: _fitting(attr) for attr in param.attrs if attr.required} | {"text": "x"}
    elif param.choices:
        one = param.choices[0]
    else:
        one = {"string": "hello", "integer": 1, "number": 1, "boolean": True, "object": {}, "array": ["x"]}[param.kind]
    return [one] if param.many else one


def _misfits(spec: ToolSpec) -> Iterator[dict[str, JsonValue]]:
    """Calls in which one argument has each of the wrong values, beside each choice that there is."""
    required = {param.name: _fitting(param) for param in spec.params if param.required}
    chosen: list[dict[str, JsonValue]] = [{param.name: one} for param in spec.params for one in param.choices]
    for param, value, rest in itertools.product(spec.params, _OTHER_TYPES, chosen or [{}]):
        yield {**required, **rest, param.name: value}
        for attr in param.attrs:
            inner: JsonValue = {attr.name: value, "text": "x"}
            yield {**required, **rest, param.name: [inner] if param.many else inner}


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["native", "batch"])
async def test_values_of_another_type_get_a_sentence_of_every_tool_that_reaches_out(
    dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    store.save(SEARCHERS, "brave")  # which has no key, so that nothing is searched for
    settings = Settings({}, {}).with_values(workspace__path=str(tmp_path), model__provider="offline")
    async with assembled(settings, without_screen=True) as assistant:
        for spec in (spec for family in _FAMILIES for spec in family.tools):
            calls = list(_misfits(spec))[:: 1 if dialect == "native" else 7]
            for arguments in calls:
                block = Block("c1", spec.name, args=arguments)
                if dialect == "batch":
                    [block] = _blocks(
                        f"<execute>{json.dumps([{'name': spec.name, 'args': arguments}])}</execute>", "batch"
                    )
                result = await assistant.run(block)
                assert result.llm_echo, (spec.name, arguments)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
