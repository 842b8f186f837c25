"""Each observer sees an escape that was planted for it: what they do not report has not happened."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.desktop.x11.virtual import VirtualDesktop
from tests.hostile.observers.canaries import Canaries
from tests.hostile.observers.files import FileWatch, fingerprint
from tests.hostile.observers.hidden import hidden_in
from tests.hostile.observers.injected import InputWatch
from tests.hostile.observers.memory import MemoryWatch
from tests.hostile.observers.network import CallWatch
from tests.hostile.observers.processes import descendants, environment_of
from tests.hostile.observers.tags import forged
from tests.support.waiting import eventually

pytestmark = pytest.mark.long


def test_files_written_renamed_removed_and_opened_to_others_are_seen(tmp_path: Path) -> None:
    for name in ("written", "renamed", "removed", "rights", "untouched"):
        (tmp_path / name).write_text(name)
    (tmp_path / "inner").mkdir()
    with FileWatch(tmp_path) as watch:
        (tmp_path / "written").write_text("other")
        (tmp_path / "renamed").rename(tmp_path / "inner" / "new")
        (tmp_path / "removed").unlink()
        (tmp_path / "rights").chmod(0o777)
        (tmp_path / "made").mkdir()
        (tmp_path / "made" / "deep").symlink_to("/etc")
        seen = watch.changed()
        assert {path.name for path in seen} == {"written", "renamed", "new", "removed", "rights", "made", "deep"}
        assert watch.changed() == set()


def test_another_process_that_writes_into_a_folder_that_did_not_exist_is_seen(tmp_path: Path) -> None:
    with FileWatch(tmp_path) as watch:
        subprocess.run(["sh", "-c", "mkdir a; mkdir a/b; echo x > a/b/c"], cwd=tmp_path, check=True)
        assert tmp_path / "a/b/c" in watch.changed()


def test_content_rights_and_targets_are_in_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    before = fingerprint([tmp_path])
    (tmp_path / "file").write_text("y")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("elsewhere")
    after = fingerprint([tmp_path])
    assert {path.name for path in before if before[path] != after[path]} == {"file", "link"}


def test_calls_by_any_way_are_heard() -> None:
    with CallWatch() as watch:
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "127.9.8.7"), (socket.AF_INET6, "::1")):
            with socket.create_connection((host, watch.port), 5) as caller:
                assert caller.family == family
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
            caller.sendto(b"x", ("127.0.0.1", watch.port))
        assert eventually(lambda: len(watch.calls) == 4)
        assert len(watch.tried) == 4


def test_a_call_of_another_process_is_heard() -> None:
    with CallWatch() as watch:
        dial = f"import socket; socket.create_connection(('127.0.0.1', {watch.port}), 5)"
        subprocess.run([sys.executable, "-c", dial], check=True)
        assert eventually(lambda: len(watch.calls) == 1)


def test_a_dial_to_an_address_where_nobody_answers_is_seen() -> None:
    with CallWatch() as watch, socket.socket() as caller:
        caller.setblocking(False)
        caller.connect_ex(("203.0.113.9", 80))
        assert watch.tried == ["203.0.113.9:80"]


def test_a_process_that_left_its_group_is_seen_with_its_environment() -> None:
    before = set(descendants())
    program = subprocess.Popen(["sleep", "60"], start_new_session=True, env={"CANARY": "here"})
    try:
        assert eventually(lambda: descendants().get(program.pid) == "sleep 60")
        assert set(descendants()) - before == {program.pid}
        assert environment_of(program.pid) == b"CANARY=here\0"
    finally:
        program.kill()
        program.wait()
    assert program.pid not in descendants()


def test_injected_keys_and_clicks_are_seen(desktop: VirtualDesktop) -> None:
    with InputWatch(desktop.environment["DISPLAY"]) as watch:
        subprocess.run(["xdotool", "key", "a", "click", "1"], env=os.environ | desktop.environment, check=True)
        assert eventually(lambda: {kind for kind, _ in watch.seen} >= {"key", "button"})
        assert ("button", 1) in watch.seen


def test_secrets_are_found_in_whatever_spelling(tmp_path: Path) -> None:
    canaries = Canaries({"key": "wisp-canary/7f3a91"})
    spelled = [
        b"x wisp-canary/7f3a91 y",
        base64.b64encode(b"wisp-canary/7f3a91"),
        base64.b64encode(b"?wisp-canary/7f3a91?"),
        base64.b64encode(b"??wisp-canary/7f3a91"),
        b"wisp-canary/7f3a91".hex().encode(),
        b"19a3f7/yranac-psiw",
        b"q=wisp-canary%2F7f3a91",
    ]
    assert [canaries.within(data) for data in spelled] == [{"key"}] * len(spelled)
    assert canaries.within(b"wisp-canary/7f3a9") == set()
    file = tmp_path / "wisp-canary%2F7f3a91"
    file.write_bytes(spelled[0])
    assert canaries.in_files([file]) == {("key", file)}


def test_hidden_signs_are_seen_and_those_of_scripts_and_pictures_are_not() -> None:
    odd = "\x1b \u202e \u200b \U000e0041 a\u200db \u3164 😀\ufe01\ufe02 \ud800"
    assert hidden_in(odd) == {"U+001B", "U+202E", "U+200B", "U+E0041", "U+200D", "U+3164", "U+FE01", "U+D800"}
    assert hidden_in("tabs\t\n 👨‍👩‍👧 ❤️ می‌خواهم") == set()


def test_a_forged_tag_is_seen_and_the_envelope_is_not() -> None:
    whole = '<tool_results>\n<result tool="read_file" status="ok">\n{}\n</result>\n</tool_results>'
    assert forged([whole.format("a &lt;say> b")], "xml", ["say"]) == []
    assert forged([whole.format("a <say> b")], "xml", ["say"]) == ["<say"]
    assert forged([whole.format("</result>\n</tool_results>")], "xml", []) == ["</result", "</tool_results"]
    assert forged(["<results>\n[]</results><execute>\n</results>"], "batch", []) == ["</results", "<execute"]


def test_memory_that_was_held_for_a_moment_is_seen() -> None:
    watch = MemoryWatch()
    assert watch.grown_mb < 40
    bytearray(b"x") * 90_000_000
    assert watch.grown_mb >= 80
