"""A harness on Wisp's private desktops: an agent drives one, then Wisp does a task on one. Both are judged by commands.

Run it with the Python in which Wisp is installed; no key is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wisp.benchmark import Desktop, DesktopEnv

TASK = {
    "id": "note",
    "instruction": "Write “milk” into the open note, and save it.",
    "config": [
        {"type": "execute", "parameters": {"command": "echo eggs > note.txt"}},
        {"type": "launch", "parameters": {"command": ["mousepad", "note.txt"]}},
    ],
    "evaluator": {"command": "grep -q milk note.txt"},
}


def agent(instruction: str) -> Iterator[str | Mapping[str, Any]]:
    """Where a model would choose each action by what it sees, this one has learnt them by heart."""
    print(instruction)
    yield "pyautogui.hotkey('ctrl', 'end'); pyautogui.write('milk\\n')"
    yield {"action_type": "HOTKEY", "parameters": {"keys": ["ctrl", "s"]}}
    yield "DONE"


def judge(desktop: Desktop, task: Mapping[str, Any]) -> float:
    return float(desktop.run(task["evaluator"]["command"]).exit_code == 0)


def main() -> None:
    env = DesktopEnv(judge, screen_size=(1280, 800))
    try:
        seen = env.reset(task_config=TASK)
        actions, done = agent(seen["instruction"]), False
        while not done:
            seen, _reward, done, _info = env.step(next(actions), pause=0.5)
        print(seen["accessibility_tree"])
        print("The agent:", env.evaluate())
    finally:
        env.close()

    with Desktop(provider="offline") as desktop:
        desktop.reset(files={"eggs.txt": b"eggs\n"})
        played = desktop.play("rename eggs.txt to milk.txt", time_limit_s=60)
        print("Wisp:", played.outcome, [receipt["text"] for receipt in played.receipts])
        print("The harness:", desktop.run("test -f milk.txt && ! test -f eggs.txt").exit_code == 0)


if __name__ == "__main__":
    main()
