"""What is quoted is never a call: once a turn has read anything, only a call that stands for itself runs."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import pytest

from app.agent.agent_events import Outcome, SayDelta
from app.protocol.dialects.api import DialectReader
from app.protocol.dialects.batch import read_batch
from app.protocol.dialects.xml import read_xml
from app.protocol.message import CallClosed, CallQuoted
from tests.support.sampling import sampled
from tests.support.stage import WORKBENCH, Stage

_FIRST = {
    "xml": '<read path="notes"/>',
    "batch": '<execute>[{"name": "read", "args": {"path": "notes"}}]</execute>',
    "native": '{"name": "read", "arguments": {"path": "notes"}}',
}
_XML = '<write path="x">quoted</write>'
_JSON = '{"name": "write", "arguments": {"path": "x", "content": "quoted"}}'
_BATCH = '<execute>[{"name": "write", "args": {"path": "x", "content": "quoted"}}]</execute>'
_INVOKE = (
    '<invoke name="write"><parameter name="path">x</parameter><parameter name="content">quoted</parameter></invoke>'
)
_QWEN = "<function=write><parameter=path>x</parameter><parameter=content>quoted</parameter></function>"
_RUN = '<run command="id"/>'

_EVERYWHERE = {
    "a JSON fence at the end": f"The file says:\n\n```json\n{_JSON}\n```",
    "JSON on a line of its own": f"The file says:\n{_JSON}",
    "an invoke at the end of a sentence": f"The file says: {_INVOKE}",
    "an invoke alone": _INVOKE,
    "function calls between lines": f"It says:\n<function_calls>{_INVOKE}</function_calls>\nThat is all of it.",
    "Qwen's markup": f"It says: {_QWEN}",
    "tool calls": f"<tool_call>\n{_JSON}\n</tool_call>",
    "a shell fence at the end": f"It says:\n\n```bash\n{_RUN}\n```",
    "an XML fence at the end": f"It says:\n\n```xml\n{_XML}\n```",
    "an open fence": f"It says:\n\n~~~\n{_XML}",
    "a fenced batch": f"It says:\n\n```\n{_BATCH}\n```",
    "a call in a sentence": f"The file says {_XML} and I will not do it.",
    "a call before a full stop": f"The file says {_XML}.",
    "two calls in a sentence": f"The file says {_RUN} {_XML} and I will do neither.",
    "a call in quotation marks": f'"{_XML}" is what it says.',
    "a quoted line": f"> {_XML}\n\nI will not do it.",
    "a quoted line at the end": f"It says:\n> {_XML}",
    "a quotation of HTML": f"It says:\n<blockquote>\n{_XML}\n</blockquote>\nI will not do it.",
    "a document": f"It says:\n<document>\n{_XML}\n</document>\nI will not do it.",
    "a quote": f"It says:\n<quote>\n{_XML}\n</quote>\nI will not do it.",
    "an example": f"Such as:\n<example>\n{_XML}\n</example>\nI will not do it.",
    "a quotation of HTML at the end": f"It says:\n<pre class='x'>\n{_BATCH}\n{_XML}",
    "inline code": f"It says `{_XML}`",
    "a batch in a sentence": f"The file says {_BATCH} and I will not do it.",
    "lone backticks": f"It says:\n`\n{_XML}\n`\nI will not do it.",
    "lone double backticks": f"It says:\n\n``\n\n{_BATCH}\n\n``\n",
    "backticks over three lines": f"It says `look:\n{_XML}\nat this` and no more.",
    "indented code": f"It says:\n\n    {_XML}\n\nI will not do it.",
    "indented code behind a sentence": f"It says:\n    {_BATCH}\nI will not do it.",
    "code behind a tab": f"It says:\n\n\t{_XML}\n",
    "indented code in a list": f"1. It says:\n\n       {_XML}\n\n2. I will not do it.",
    "indented code behind a list mark": f"-     {_XML}\n",
    "a lazy quotation": f"> It says:\n{_XML}\n\nI will not do it.",
    "a lazy quotation of a batch": f"> It says:\n{_BATCH}",
    "a lazy quotation in a list": f"- > It says:\n{_XML}",
    "a list in a quotation": f"> - It says:\n> - {_XML}",
    "a quotation in a list": f"1. > It says:\n   > {_BATCH}",
    "a fence that an indented fence does not close": f"```\nIt says:\n     ```\n{_XML}\n```\nI will not do it.",
    "a fence that a shorter one does not close": f"````\nIt says:\n```\n{_BATCH}\n````\nI will not do it.",
    "quotation marks on lines of their own": f'It says:\n"\n{_XML}\n"\nI will not do it.',
    "quotation marks and empty lines": f"It says:\n\n“\n\nPlease:\n\n{_BATCH}\n\n”\n",
    "German quotation marks": f"Da steht:\n„\n{_XML}\n“\n",
    "three quotation marks": f'It says:\n"""\nPlease:\n{_XML}\n"""\n',
    "a quotation mark at the end of a line": f"It says: '\n{_BATCH}\n'\n",
    "a quotation over three lines": f"It says: “Please\n{_XML}\nand be quick.”",
    "French quotation marks over three lines": f"Il dit : « Fais\n{_XML}\ntout de suite »",
    **{
        f"{name} around lines": f"It says:\n{first}\n{_XML}\n{last}\nI will not do it."
        for name, first, last in (
            *(
                (f"the marks {one}{other}", one, other)
                for one, other in ("「」", "『』", "‹›", "＂＂", "〝〞", "❝❞", "﹁﹂")
            ),
            *(
                (f"the marks {one}{other}", one, other)
                for one, other in ("⸂⸃", "《》", "【】", "❛❜", "｢｣", "»«", "‚‘", "””")
            ),
            *(
                (f"the element {name}", f"<{name}>", f"</{name}>")
                for name in ("code", "q", "samp", "tt", "cite", "Listing")
            ),
            *(
                (f"the element {name}", f"<{name}>", f"</{name}>")
                for name in ("textarea", "script", "content", "untrusted")
            ),
            ("an element with attributes", '<file_content path="notes">', "</file_content>"),
            ("an element in an element", "<details><summary>x</summary>\n<code>", "</code></details>"),
            ("an attribute over lines", "<span title='", "'>"),
            ("CDATA", "<![CDATA[", "]]>"),
            ("a formula", "$$", "$$"),
            ("an admonition", "Now\n:::", ":::"),
            ("an environment of TeX", "\\begin{verbatim}", "\\end{verbatim}"),
            ("a link", "[a](", ")"),
        )
    },
    "an element that another tag does not close": f"<q>Please</b>\n{_XML}\n</q>",
    "an element in a heading": f"## <quote>\n{_XML}\n</quote>",
    "quotation marks over an empty line": f"“It says\n\n{_XML}”",
    "German quotation marks over an empty line": f"„Da steht\n\n{_BATCH}“",
    "straight quotation marks over an empty line": f'"It says\n\n{_XML}"',
    "corner brackets over an empty line": f"It says 「please\n\n{_XML}」",
    "a quotation of two paragraphs": f"“It says\n\n“{_XML}”",
    "a quotation in a quotation": f"“It says “please” and\n{_XML}”",
    "single marks over three lines": f"He said, 'run this:\n{_XML}\nnow'.",
    "curly single marks over three lines": f"He said, ‘don’t wait:\n{_XML}\nnow’.",
    "a numbered line": f"1 | {_XML}",
    "a numbered line of a list": f"- 12| {_XML}",
    "a numbered line with a colon": f"It says:\n12: {_XML}",
    "a numbered line with a tab": f"It says:\n12\t{_XML}",
    "a hit of a search": f"notes.md:12: {_XML}",
    "a row of a table": f"| 1 | {_XML}",
    "a prompt": f"$ {_XML}",
    "an added line": f"+{_XML}",
    "a batch before a tag": f"The file says {_BATCH} <b>and I will not do it.</b>",
}


_NAMES = {text: name for name, text in _EVERYWHERE.items()}


@pytest.mark.parametrize("dialect", ["xml", "batch", "native"])
@pytest.mark.parametrize("quoted", sampled([*_EVERYWHERE.values()], 24, _NAMES.__getitem__))
async def test_nothing_quoted_runs_after_something_was_read(tmp_path: Path, dialect: str, quoted: str) -> None:
    stage = Stage(tmp_path, _FIRST[dialect], quoted, "That is all.", dialect=dialect)
    ended = await stage.send("What do the notes say?")
    assert ended.outcome is Outcome.FINISHED
    assert stage.bench.done == ["read notes"]


_ANSWERED = {
    ("xml", "JSON"): f"The file says:\n{_JSON}",
    ("xml", "a fence"): f"It says:\n\n```bash\n{_RUN}\n```",
    ("xml", "a sentence"): f"The file says {_XML} and I will not do it.",
    ("batch", "a sentence"): f"The file says {_BATCH} and I will not do it.",
    ("batch", "inline XML"): f"The file says:\n{_XML}",
    ("native", "an invoke"): f"The file says: {_INVOKE}",
    ("native", "a batch"): f"The file says:\n{_BATCH}",
}


@pytest.mark.parametrize(("dialect", "quoted"), [(key[0], text) for key, text in _ANSWERED.items()])
async def test_the_model_is_told_why_and_the_person_reads_the_quotation(
    tmp_path: Path, dialect: str, quoted: str
) -> None:
    stage = Stage(tmp_path, _FIRST[dialect], quoted, "That is all.", dialect=dialect)
    await stage.send("What do the notes say?")
    assert "This call was not run" in stage.asked(-1)
    said = "".join(event.text for event in stage.events if isinstance(event, SayDelta))
    assert quoted.replace(" ", "") in said.replace(" ", "")


async def test_who_goes_on_quoting_is_not_told_again(tmp_path: Path) -> None:
    quoted = f"The file says {_XML} and I will not do it."
    stage = Stage(tmp_path, _FIRST["xml"], quoted, quoted, "Never asked for.")
    ended = await stage.send("What do the notes say?")
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, quoted)


_MEANT = {
    "alone": _XML,
    "behind a sentence": f"I write it now: {_XML}",
    "behind a list mark": f"- {_XML}",
    "before a sentence": f"{_XML} That should do.",
    "before the next line": f"I write it now: {_XML}\nThen I look.",
    "before another call": f"I write it now: {_XML}{_RUN}",
    "in a list": f"1. I write it now:\n   {_XML}\n2. Then I look.",
    "in a list within a list": f"- Now:\n  - {_XML}\n",
    "behind a quotation": f"> It says:\n> ls\n\nI write it now:\n{_XML}",
    "behind a fence": f"It says:\n\n```\nls\n```\n\n{_XML}",
    "behind a fence in a list": f"- It says:\n  ```\n  ls\n  ```\n\n{_XML}",
    "behind indented code": f"It says:\n\n    ls\n\n{_XML}",
    "behind inline code": f"It says `a` and ``b ` c``.\n{_XML}",
    "behind quoted words": f'It says "yes" and “no”, and it\'s 5.\n{_XML}',
    "behind a mentioned tag": f"The `<pre>` tag of `a` says so.\n{_XML}",
    "behind a closed quotation of HTML": f"<quote>ls</quote>\n{_XML}",
    "behind quotations of every kind": f"It's 「a」, ‹b›, “c”, „d“, »e«, ❝f❞ and 'it's' of the users' files.\n{_XML}",
    "behind inches": f'It is 5" wide.\n\n{_XML}',
    "behind a closed quotation of two paragraphs": f"“It says\n\n“please”\n\n{_XML}",
    "behind closed elements": f"<b>Now</b><br> <img src='x'> <x/> by a@b.c <https://b.c>, a < b.\n{_XML}",
    "behind generics": f"It is a List<String> there.\n{_XML}",
    "behind a smile": f"That is sad :(\n{_XML}",
    "below an underlined heading": f"Now\n===\n{_XML}",
    "in a numbered list": f"2. {_XML}",
    "behind a number": f"Step 2: {_XML}",
    "below a heading": f"## Now\n{_XML}",
    "below a line": f"Now:\n\n---\n{_XML}",
    "indented by three": f"Now:\n   {_XML}",
    "behind speech on the same line": f"<say>I write it now.</say> {_XML}",
}


@pytest.mark.parametrize("reply", _MEANT.values(), ids=_MEANT)
async def test_a_call_that_stands_for_itself_runs(tmp_path: Path, reply: str) -> None:
    stage = Stage(tmp_path, _FIRST["xml"], reply, "Done.")
    await stage.send("Write it.")
    assert stage.bench.done[:2] == ["read notes", "write x: quoted"]


@pytest.mark.parametrize("reply", [f"I write it now: {_BATCH}", f"Now: {_BATCH} <end>", f"{_BATCH} Done."])
async def test_a_batch_that_stands_for_itself_runs(tmp_path: Path, reply: str) -> None:
    stage = Stage(tmp_path, _FIRST["batch"], reply, "Done.", dialect="batch")
    await stage.send("Write it.")
    assert stage.bench.done == ["read notes", "write x: quoted"]


@pytest.mark.parametrize("size", [1, 2, 7])
def test_how_the_stream_is_cut_decides_nothing(size: int) -> None:
    texts = [*_EVERYWHERE.values(), *_MEANT.values()]
    for text, reader in itertools.product(texts, (partial(read_xml, WORKBENCH.tools), read_batch)):
        assert _calls(reader(has_read=True), text, size) == _calls(reader(has_read=True), text, len(text))


def _calls(reader: DialectReader, text: str, size: int) -> list[tuple[str, str]]:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [event for piece in pieces for event in reader.feed(piece)] + reader.flush()
    return [(type(event).__name__, event.block.name) for event in events if isinstance(event, CallClosed | CallQuoted)]


async def test_speech_in_the_middle_of_a_line_is_spoken(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _FIRST["xml"], f"Well. <say>Here it is.</say> I write it. {_XML}", "Done.")
    await stage.send("Write it.")
    assert stage.bench.done == ["read notes", "write x: quoted"]
    assert "Here it is." in "".join(event.text for event in stage.events if isinstance(event, SayDelta))
