"""What counts as only looking: known programs with known flags, in plain words, inside the workspace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.sandbox.layout import CommandClass, SandboxRequest, classify
from app.services.sandbox.read_only_commands import plain_commands


def _looks(command: str, folder: Path) -> bool:
    return classify(command, folder, folder).read_only


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "git status --short | head -3 && ls 'a b' \"c d\"; cat x || true",
        "ls\npwd",
        "find . -name '*.py'",
        "python3 --version",
        "date +%s",
        "grep -rn --include=*.py x .",
    ],
)
def test_looking_is_known(tmp_path: Path, command: str) -> None:
    assert _looks(command, tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        *("python", "python3", "node", "make", "npm", "bash", "sh", "cargo", "gcc", "git", "xargs", "env", "sudo ls"),
        *(
            "make all",
            "python3 x.py",
            "node x.js",
            "npm test",
            "./ls",
            "/usr/bin/ls",
            "command ls",
            "exec ls",
            "time ls",
        ),
        *("ls > x", "ls >> x", "cat < x", "ls 2>/dev/null", "cat <<E\nE", "ls &", "ls |& cat", "ls; rm x", "! ls"),
        *("echo $(x)", "echo `x`", "echo $x", "echo ${x}", "echo $'a'", "a=1 ls", "(ls)", "{ ls; }", "ls <(x)"),
        *("for a in b; do ls; done", "if ls; then ls; fi", "f() { ls; }", "[[ a ]]", "((1))", "coproc ls", "ls # x"),
        *("cat ~/x", "cat ~", "echo {a,b}", "ls \\*", "echo a\\ b", "echo !x", "=ls", "ls *(e:x:)", "ls 'a", "ls ||"),
        *("sed -i s/a/b/ x", "sed -n 1e x", "sed p x", "sed -n -i 5p x", "find . -delete", "find . -exec ls {} +"),
        *(
            "find . -fprint x",
            "rg foo *",
            "rg --pre x y",
            "sort -o x y",
            "uniq a b",
            "date -s 1",
            "date 1",
            "tree -o x",
        ),
        *(
            "git -c a=b status",
            "git branch new",
            "git log --output=x",
            "git stash",
            "git commit",
            "git fetch",
            "git -C x log",
        ),
        *(
            "cat /etc/passwd",
            "cat ../x",
            "ls /",
            "cd ..",
            "cat link/x",
            "grep -f/etc/hosts x",
            "grep --file=/etc/hosts x",
        ),
        *("ls\u00a0-l", "ls\u2028rm x", "ls\r\nrm x", "ls\0", "ls\u200b", "", " ", "ls " + "a" * 10_000),
    ],
)
def test_everything_else_may_do_more(tmp_path: Path, command: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    assert not _looks(command, tmp_path)


def test_many_commands_are_all_looked_at(tmp_path: Path) -> None:
    assert _looks(" && ".join(["true"] * 200), tmp_path)
    assert not _looks(" && ".join([*["true"] * 200, "rm x"]), tmp_path)


@given(st.text(alphabet=" abls|;&<>$`'\"\\\n(){}*~#=!-/.\u00a0", max_size=30))
def test_no_text_is_too_odd_to_judge(text: str) -> None:
    found = plain_commands(text)
    assert found is None or all(words and all(isinstance(word.text, str) for word in words) for words in found)


def test_a_class_says_what_is_wanted_and_why(tmp_path: Path) -> None:
    online, outside = SandboxRequest(network=True), SandboxRequest(outside=True)
    assert classify("ls", tmp_path, tmp_path) == CommandClass(True, True, False, False, ())
    asked = classify("make", tmp_path, tmp_path, online)
    assert (asked.read_only, asked.sandboxed, asked.wants_network, asked.wants_outside) == (False, True, True, False)
    assert "'make'" in asked.reasons[-1].for_models and len(asked.reasons) == 2
    asked = classify("ls", tmp_path, tmp_path, outside)
    assert (asked.sandboxed, asked.wants_outside, len(asked.reasons)) == (False, True, 1)
    asked = classify("ls", tmp_path, tmp_path, no_wall="There is none.")
    assert (asked.sandboxed, asked.reasons[0].for_models) == (False, "There is none.")


def test_a_folder_outside_is_a_wish_for_the_outside_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "space").mkdir()
    (tmp_path / "space/out").symlink_to(tmp_path)
    for folder in (tmp_path, tmp_path / "space/out", tmp_path / "space/.."):
        found = classify("pwd", folder, tmp_path / "space")
        assert (found.sandboxed, found.wants_outside) == (False, True)
        assert str(folder) in found.reasons[0].for_models
