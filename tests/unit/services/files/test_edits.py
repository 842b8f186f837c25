"""SEARCH/REPLACE: what a generated diff must give, and what no diff may ever do."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.files.edits import EditRefused, apply_diff

_MARKER = re.compile(r"\\*(?:(?:-{3,}|<{3,}) SEARCH>?|={3,}|(?:\+{3,}|>{3,}) REPLACE>?)\s*")
_ODD = (
    "",
    " ",
    "=======",
    "------- SEARCH",
    "+++++++ REPLACE",
    "\\=======",
    "=====",
    "<<<<<<< HEAD",
    "]]>",
    "}",
    "\t}",
)
_LINE = st.one_of(st.sampled_from(_ODD), st.text(st.sampled_from("ab ={}\t<é🙂"), max_size=6))
_LINES = st.lists(_LINE, max_size=25)


def _escaped(line: str) -> str:
    return "\\" + line if _MARKER.fullmatch(line) else line


def _block(search: list[str], replace: list[str]) -> str:
    parts = ["------- SEARCH", *map(_escaped, search), "=======", *map(_escaped, replace), "+++++++ REPLACE"]
    return "\n".join(parts)


def _places(lines: list[str], search: list[str]) -> int:
    return sum(lines[at : at + len(search)] == search for at in range(len(lines) - len(search) + 1))


@st.composite
def _edits(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, int, list[str]]]]:
    """A file's lines and disjoint edits of it: start, end, new lines; each old part fits one place and has words."""
    lines = draw(st.lists(_LINE, min_size=1, max_size=25))
    edits: list[tuple[int, int, list[str]]] = []
    at = 0
    while at < len(lines):
        start = draw(st.integers(at, len(lines) - 1))
        end = draw(st.integers(start + 1, min(start + 4, len(lines))))
        old = lines[start:end]
        if any(line.strip() for line in old) and _places(lines, old) == 1:
            edits.append((start, end, draw(st.lists(_LINE, max_size=4))))
        at = end + draw(st.integers(0, 5))
    return lines, edits


@given(_edits(), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.randoms())
def test_a_diff_made_from_two_files_turns_one_into_the_other(
    made: tuple[list[str], list[tuple[int, int, list[str]]]], end: str, has_last: bool, random: object
) -> None:
    lines, edits = made
    has_last = has_last or not lines[-1]
    text = end.join(lines) + (end if has_last else "")
    end = end if end in text else "\n"
    target, at = [], 0
    for start, stop, new in edits:
        target += [line + end for line in lines[at:start]] + [line + end for line in new]
        if stop == len(lines) and new and not has_last:
            target[-1] = target[-1].removesuffix(end)
        at = stop
    target += [line + end for line in lines[at:]]
    if at < len(lines) and not has_last:
        target[-1] = target[-1].removesuffix(end)
    order = list(edits)
    random.shuffle(order)  # type: ignore[attr-defined]
    diff = "\nand then\n".join(_block(lines[start:stop], new) for start, stop, new in order)
    if not edits:
        return
    all_blank = "".join(target) == "" and any(new for *_, new in edits)
    assert apply_diff(text, diff).text == (end if all_blank else "".join(target))


@given(st.lists(st.tuples(_LINE, st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=20), _LINES, _LINES)
def test_nothing_but_the_addressed_lines_ever_changes(
    file: list[tuple[str, str]], search: list[str], replace: list[str]
) -> None:
    text = "".join(line + end for line, end in file)
    try:
        done = apply_diff(text, _block(search, replace))
    except EditRefused:
        return
    [block] = done.blocks
    whole = text.split("\n")
    assert done.text.startswith("".join(line + "\n" for line in whole[: block.first - 1]))
    assert done.text.endswith("\n".join(whole[block.last :]))


@given(st.text(max_size=200), st.lists(st.one_of(_LINE, st.text(max_size=8)), max_size=20))
def test_no_diff_whatever_raises_anything_but_a_refusal(text: str, diff: list[str]) -> None:
    try:
        assert isinstance(apply_diff(text, "\n".join(diff)).text, str)
    except EditRefused as refusal:
        assert (str(refusal).startswith("diff: "), refusal.code != "") == (True, True)


@pytest.mark.parametrize(
    ("code", "text", "diff"),
    [
        ("malformed", "a\n", "------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n+++++++ REPLACE"),
        ("malformed", "a\n", "------- SEARCH\na\n=======\nb\n+++++++ REPL"),
        ("malformed", "a\n", "=======\n------- SEARCH\na\n=======\nb\n+++++++ REPLACE"),
        ("empty_search", "a\n", "------- SEARCH\n \n=======\nb\n+++++++ REPLACE"),
        ("empty_search", "", "------- SEARCH\n\n=======\nb\n+++++++ REPLACE"),
        ("no_match", "", "------- SEARCH\na\n=======\nb\n+++++++ REPLACE"),
        (
            "overlap",
            "a\nb\nc\n",
            "------- SEARCH\na\nb\n=======\n+++++++ REPLACE\n------- SEARCH\nb\nc\n=======\n+++++++ REPLACE",
        ),
    ],
)
def test_what_cannot_be_applied_has_a_code(code: str, text: str, diff: str) -> None:
    with pytest.raises(EditRefused) as refusal:
        apply_diff(text, diff)
    assert refusal.value.code == code


@pytest.mark.parametrize(
    ("text", "diff", "result"),
    [
        ("Title\n=====\n", "------- SEARCH\nTitle\n=====\n=======\nNew\n===\n+++++++ REPLACE", "New\n===\n"),
        ("", "------- SEARCH\n=======\nfirst\n+++++++ REPLACE", "first\n"),
        ("a  \nb\n", "------- SEARCH\na\nb\n=======\na\nc\n+++++++ REPLACE", "a  \nc\n"),
        (
            "\tif x:\n\t\tgo()\n",
            "------- SEARCH\nif x:\n    go()\n=======\nif y:\n    go()\n    stop()\n+++++++ REPLACE",
            "\tif y:\n\t\tgo()\n\t\tstop()\n",
        ),
        (
            "f {\n 1\n 2\n 3\n four\n}\n",
            "------- SEARCH\nf {\n 1\n 2\n 3\n 4\n}\n=======\ng {\n}\n+++++++ REPLACE",
            "g {\n}\n",
        ),
        (
            "f {\n  go\n}\n",
            "------- SEARCH\nf {\ngo\n}\n=======\nf {\nrun\n}\n+++++++ REPLACE",
            "f {\n  run\n}\n",
        ),
        ("a\n", "```diff\n------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n```\n", "b\n"),
    ],
)
def test_what_stands_in_the_file_stays_in_its_style(text: str, diff: str, result: str) -> None:
    assert apply_diff(text, diff).text == result


def test_hostile_repetition_takes_no_time_to_speak_of() -> None:
    """Would take hours if anything in it were quadratic in the file."""
    text = "x\n" * 200_000
    many = ["x"] * 3_000
    with pytest.raises(EditRefused):
        apply_diff(text, _block([*many, "y"], many))
    with pytest.raises(EditRefused):
        apply_diff(text, _block(["x", *["z"] * 2_000, "x"], many))
