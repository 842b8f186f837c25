"""JSON as people write it: comments and trailing commas go, and every place in the text stays."""

from __future__ import annotations

import json

from app.base.commented_json import as_json, without_comments

_TEXT = '{ // mine, "x"\n  "a": "// no comment, }", /* two\n  lines */ "b": [1, 2, ],\n}'


def test_comments_and_trailing_commas_become_spaces() -> None:
    assert json.loads(as_json(_TEXT)) == {"a": "// no comment, }", "b": [1, 2]}
    for text in (as_json(_TEXT), without_comments(_TEXT)):
        assert (len(text), text.count("\n"), text.index('"b"')) == (len(_TEXT), 3, _TEXT.index('"b"'))
    assert without_comments(_TEXT).count(",") == 5
