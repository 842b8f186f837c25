"""A harness drives private desktops by `wisp.benchmark`, and judges from outside: by commands, files and windows."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from PIL import Image, ImageChops

from app.base.errors import ToolMisuse, WispError
from app.features.fleet.actions import Hands, Step, read
from tests.support.waiting import eventually
from wisp.benchmark import ActionFailed, DeskLost, DeskNotStarted, Desktop, DesktopEnv, EpisodeEnded, Observation

pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).resolve().parents[3]
_WINDOW = ROOT / "tests" / "support" / "fixture_window.py"
# The window ends with its input.
_SETUP = f'sleep 600 | PYTHONUNBUFFERED=1 "$WISP_PYTHON" "{_WINDOW}" canvas --blue 20,30,80,40 > told.jsonl &'
_BLUE = (0, 0, 255)


@pytest.fixture(scope="module")
def desktop() -> Iterator[Desktop]:
    with Desktop(provider="offline") as one:
        yield one


# --- what an action says, without a desktop


def _calls(action: str | Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    hands = Hands(lambda: (7, 8))
    return [call for step in read(action) for call in hands.calls(step)]


@pytest.mark.parametrize(
    ("python", "kind", "parameters"),
    [
        ("pyautogui.click(x=3, y=4, clicks=2, button='right')", "CLICK", (3, 4, "right", 2)),
        ("import pyautogui; pyautogui.doubleClick((3, 4))", "DOUBLE_CLICK", (3, 4)),
        ("pyautogui.rightClick()", "RIGHT_CLICK", ()),
        ("pyautogui.moveTo(3, 4, duration=1.5)", "MOVE_TO", (3, 4)),
        ("pyautogui.dragTo(3, 4, 0.5, button='left')", "DRAG_TO", (3, 4, None, None, "left")),
        ("pyautogui.scroll(-250)", "SCROLL", (None, None, None, -250)),
        ("pyautogui.typewrite('Grüße\\n', interval=0.1)", "TYPING", ("Grüße\n",)),
        ("pyautogui.press('pagedown', presses=3)", "PRESS", ("pagedown", 3)),
        ("pyautogui.hotkey('ctrlleft', 'c')", "HOTKEY", (["ctrlleft", "c"],)),
        ("time.sleep(0.5)", "WAIT", (0.5,)),
    ],
)
def test_both_action_spaces_of_osworld_say_the_same(python: str, kind: str, parameters: tuple[Any, ...]) -> None:
    names = {
        "CLICK": ("x", "y", "button", "num_clicks"),
        "DRAG_TO": ("x", "y", "dx", "dy", "button"),
        "SCROLL": ("x", "y", "dx", "dy"),
        "TYPING": ("text",),
        "PRESS": ("key", "presses"),
        "HOTKEY": ("keys",),
        "WAIT": ("seconds",),
    }.get(kind, ("x", "y"))
    given = dict(zip(names, parameters, strict=False))
    assert _calls(python) == _calls({"action_type": kind, "parameters": given}) != []
    assert _calls(python) == _calls({"action_type": kind, **given})


def test_a_held_key_counts_until_it_is_let_go_and_up_is_up() -> None:
    held = "pyautogui.keyDown('shift'); pyautogui.click(3, 4); pyautogui.press('end'); pyautogui.keyUp('shift')"
    click, key, scroll = _calls(f"{held}; pyautogui.scroll(2)")
    assert (click[1]["modifiers"], key[1]["keys"], scroll[1]) == ("shift", "shift+end", {"dy": -2})


@pytest.mark.parametrize(
    "action",
    [
        "import os; os.system('touch {marker}')",
        "pyautogui.click(3, 4); open('{marker}', 'w')",
        "pyautogui.write(open('{marker}', 'w').name)",
        "pyautogui.press(__import__('os').system('touch {marker}'))",
        "[pyautogui.press('a') for _ in range(9)]",
        "pyautogui.screenshot('{marker}')",
        "pyautogui.click(1e999, 2)",
        "pyautogui.click('3', 4)",
        "pyautogui.click(3, 4",
        "(" * 5000,
        {"action_type": "CLICK", "parameters": {"z": 3}},
        {"action_type": "HOTKEY"},
        {"action_type": "JUMP"},
        {"tool": 3},
        {},
    ],
)
def test_anything_else_is_refused_before_anything_is_done(action: Any, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with pytest.raises(ToolMisuse):
        read(action.replace("{marker}", str(marker)) if isinstance(action, str) else action)
    assert not marker.exists()


def test_the_special_words_are_those_of_osworld() -> None:
    assert [read(word) for word in ("WAIT", "DONE", "FAIL")] == [[Step("WAIT")], [Step("DONE")], [Step("FAIL")]]


# --- on a desktop


def _told(desktop: Desktop, *kinds: str) -> list[dict[str, Any]]:
    lines = (desktop.folder / "told.jsonl").read_text(encoding="utf-8").splitlines()
    return [event for line in lines if (event := json.loads(line))["event"] in kinds]


def _middle_of_blue(seen: Observation) -> tuple[int, int]:
    picture = Image.open(io.BytesIO(seen.picture)).convert("RGB")
    others = ImageChops.difference(picture, Image.new("RGB", picture.size, _BLUE)).convert("L")
    box = others.point([255] + [0] * 255).getbbox()
    assert box
    return (box[0] + box[2]) // 2, (box[1] + box[3]) // 2


def test_pixels_of_the_picture_are_where_each_form_of_an_action_acts(desktop: Desktop) -> None:
    x, y = _middle_of_blue(desktop.reset(setup=_SETUP))
    actions: list[str | dict[str, Any]] = [
        f"pyautogui.moveTo({x}, {y}); pyautogui.click()",
        {"action_type": "CLICK", "parameters": {"x": x, "y": y}},
        {"tool": "computer_click", "arguments": {"x": x, "y": y, "space": "screen"}},
    ]
    for number, action in enumerate(actions, 1):
        desktop.act(action)
        assert eventually(lambda wanted=number: len(_told(desktop, "release")) == wanted)
    # Two presses of three are a double click for the window, or are moved apart within the control.
    assert {(event["x"], event["y"], event["button"]) for event in _told(desktop, "press", "double")} == {
        (x, y, "LeftButton")
    }


def test_what_is_pressed_stays_pressed_until_it_is_let_go(desktop: Desktop) -> None:
    x, y = _middle_of_blue(desktop.reset(setup=_SETUP))
    desktop.act(f"pyautogui.moveTo({x}, {y}); pyautogui.mouseDown()")
    desktop.act({"action_type": "MOVE_TO", "parameters": {"x": x + 90, "y": y + 50}})
    assert not _told(desktop, "release")
    desktop.act("pyautogui.mouseUp(); pyautogui.keyDown('ctrl'); pyautogui.scroll(-3); pyautogui.keyUp('ctrl')")
    assert eventually(lambda: _told(desktop, "wheel"))
    (press,), (release,) = _told(desktop, "press"), _told(desktop, "release")
    assert [(one["x"], one["y"]) for one in (press, release)] == [(x, y), (x + 90, y + 50)]
    assert {(one["dy"] < 0, *one["modifiers"]) for one in _told(desktop, "wheel")} == {(True, "ctrl")}


def test_a_harness_sees_a_program_types_into_it_and_finds_the_file(desktop: Desktop) -> None:
    seen = desktop.reset(files={"a/list.txt": b"one\n"}, setup="mousepad a/list.txt &", instruction="Write two.")
    assert ("Mousepad" in seen.tree, "one" in seen.tree) == (True, True)
    assert seen.instruction == "Write two."
    seen = desktop.act("pyautogui.hotkey('ctrl', 'end'); pyautogui.write('two'); pyautogui.hotkey('ctrl', 's')")
    assert "two" in seen.tree
    assert desktop.run("cat a/list.txt").output == "one\ntwo"
    desktop.act("DONE")
    with pytest.raises(EpisodeEnded):
        desktop.act("pyautogui.press('a')")
    assert desktop.run("test -f a/list.txt").exit_code == 0


def test_hands_are_the_harnesss_and_the_walls_stand(desktop: Desktop, tmp_path: Path) -> None:
    """A click that deletes or sends, and a terminal, need a person's word elsewhere."""
    setup = "(zenity --question --ok-label='Delete all' --text='Sure?'; echo $? > answer) & "
    desktop.reset(setup=setup)
    desktop.act({"tool": "computer_click", "arguments": {"target": "Delete all"}})
    assert eventually(lambda: desktop.run("cat answer").output == "0")
    outside = tmp_path / "outside"
    for tool in ({"tool": "write_file", "arguments": {"path": str(outside), "content": "x"}}, {"tool": "no_such_tool"}):
        with pytest.raises(ActionFailed):
            desktop.act(tool)
    command = {"tool": "execute_command", "arguments": {"command": f"touch '{outside}'"}}
    desktop.act(command)  # in the sandbox, which has no such folder
    assert not outside.exists()
    with pytest.raises(ActionFailed, match="1280x800"):
        desktop.act("pyautogui.click(1280, 3)")


def test_wisp_plays_and_the_harness_judges_also_after_a_time_limit(desktop: Desktop) -> None:
    desktop.reset(files={"eggs.txt": b"eggs\n"})
    assert desktop.play("wait 60 seconds", time_limit_s=1).outcome == "timed out"
    played = desktop.play("rename eggs.txt to milk.txt", time_limit_s=60)
    assert (played.outcome, [receipt["ok"] for receipt in played.receipts]) == ("done", [True])
    assert desktop.run("cat milk.txt").output == "eggs"
    script = ['<write_file path="pie.txt">eggs and milk</write_file>', "Done."]
    assert desktop.play("Bake.", script=script, time_limit_s=60).outcome == "done"
    assert desktop.run("cat pie.txt").output == "eggs and milk"


def test_two_at_once_share_neither_home_nor_clipboard_nor_screen() -> None:
    both = Barrier(2, timeout=120)

    def own(name: str) -> tuple[str, str, str]:
        with Desktop(provider="offline", width=1000, height=700) as desktop:
            desktop.reset(files={name: b""})
            both.wait()
            desktop.act({"tool": "write_clipboard", "arguments": {"text": f"copied {name}"}})
            both.wait()
            copied = desktop.act({"tool": "read_clipboard"}).told
            told = desktop.run("ls ~/Wisp; echo $DISPLAY $HOME").output
            both.wait()
            return told, copied, str(Image.open(io.BytesIO(desktop.observe().picture)).size)

    with ThreadPoolExecutor(2) as threads:
        (one, copied_one, size), (two, copied_two, _) = threads.map(own, ("one", "two"))
    assert [("copied one" in copied_one), ("copied two" in copied_two), size] == [True, True, "(1000, 700)"]
    assert [one.splitlines()[0], two.splitlines()[0]] == ["one", "two"]
    assert set(one.split()).isdisjoint(two.split())


def test_what_does_not_start_or_has_ended_says_so(desktop: Desktop) -> None:
    with pytest.raises(DeskNotStarted, match="nobody"):
        Desktop(provider="nobody").reset()
    with pytest.raises(EpisodeEnded):
        Desktop().act("WAIT")
    desktop.reset()
    desktop.run("pkill -9 -P $PPID Xvfb")
    with pytest.raises(WispError) as gone:
        desktop.observe()
    assert not isinstance(gone.value, DeskLost)  # it answers, at once
    with pytest.raises(DeskLost):
        desktop.run("kill -9 $PPID")
    with pytest.raises(EpisodeEnded):
        desktop.act("WAIT")


def test_an_osworld_loop_runs_unchanged() -> None:
    """A failed action ends nothing, and FAIL is right for a task that cannot be done."""
    task = {"instruction": "Fly.", "evaluator": {"func": "infeasible"}}
    env = DesktopEnv(lambda _desktop, _task: 0.5, provider="offline", screen_size=(1000, 700))
    try:
        seen = env.reset(task_config=task)
        assert set(seen) == {"screenshot", "accessibility_tree", "terminal", "instruction"}
        assert (seen["instruction"], seen["terminal"], bool(seen["accessibility_tree"])) == ("Fly.", None, True)
        seen, reward, done, info = env.step("import os", 0)
        assert (seen["screenshot"][:4], reward, done, list(info)) == (b"\x89PNG", 0.0, False, ["error"])
        assert env.evaluate() == 0.0
        assert env.step("FAIL", 0)[2:] == (True, {"fail": True})
        assert env.evaluate() == 1.0
    finally:
        env.close()


@pytest.mark.long
def test_the_example_of_a_harness_works() -> None:
    script = str(ROOT / "examples" / "harness.py")
    ran = subprocess.run(
        [sys.executable, script], cwd=ROOT, env=_with_path(), capture_output=True, text=True, timeout=200, check=False
    )
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "The harness: True"), ran.stderr
    assert "The agent: 1.0" in ran.stdout


def _with_path() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}
