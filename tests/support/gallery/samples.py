"""Sample conversations, as events of an agent."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter

from app.agent import agent_events as agent
from app.agent.agent_events import Media
from app.base.facts import Failed, Proposed, Undoable
from app.base.phrases import Phrase
from app.ui.composer.attachments import Attached
from app.ui.presenter.presenter import Presenter
from app.ui.presenter.view import View
from app.ui.theme.theme import Theme

Events = Sequence[agent.AgentEvent]


def picture(width: int = 960, height: int = 600) -> Media:
    """Draw a made-up screenshot: a calculator on a plain desktop."""
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(86, 110, 128))
    painter = QPainter(image)
    painter.fillRect(QRectF(0, 0, width, 28), QColor(38, 42, 48))
    painter.fillRect(QRectF(300, 90, 360, 430), QColor(240, 240, 238))
    painter.fillRect(QRectF(320, 120, 320, 70), QColor(255, 255, 255))
    font = painter.font()
    font.setPixelSize(40)
    painter.setFont(font)
    painter.setPen(QColor(30, 30, 30))
    painter.drawText(QRectF(320, 120, 306, 70), Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, "84")
    font.setPixelSize(22)
    painter.setFont(font)
    for index, label in enumerate("789/456*123-0.=+"):
        box = QRectF(320 + index % 4 * 82, 206 + index // 4 * 76, 74, 66)
        painter.fillRect(box, QColor(222, 222, 218))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, label)
    painter.end()
    return Media(_png(image), "image/png", width, height, "the calculator shows 84")


def rewritten() -> tuple[str, str]:
    """Return a text as it was selected, and as it would be replaced."""
    return "I am  afraid that I will be late tomorow , sorry.", "I am afraid I will be late tomorrow. Sorry!"


def attached() -> Sequence[Attached]:
    """Return one attachment of each kind."""
    return (
        Attached("screenshot", "Screenshot", media=picture()),
        Attached("file", "Quarterly report of the northern branch, final.pdf", "/home/anna/report.pdf", 420_000),
        Attached("folder", "Holidays", "/home/anna/Holidays"),
    )


def _png(image: QImage) -> bytes:
    store = QByteArray()
    buffer = QBuffer(store)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(store.data())


def _call(call_id: str, tool: str, arguments: dict[str, object], **finish: object) -> list[agent.AgentEvent]:
    """Return the events of one call. `finish` are the fields of its end; without them, the call still runs."""
    made: list[agent.AgentEvent] = [
        agent.TagStart(call_id, tool),
        agent.ToolRunning(call_id, tool, arguments),  # type: ignore[arg-type]
    ]
    if finish:
        made.append(agent.ToolFinished(call_id, tool, event=tool, **{"ok": True, **finish}))  # type: ignore[arg-type]
    return made


def at_work() -> Events:
    """Return the events of a task that runs: speech, small actions, a look at the screen, a running command."""
    return [
        agent.TurnStarted("t1", "Open the calculator and type 12*7="),
        agent.StateChanged(agent.State.THINKING),
        agent.SayDelta("s1", "warm", "I'll open the calculator and work it out."),
        *_call("1", "open_app", {"name": "Calculator"}, elapsed_s=1.4),
        *_call("2", "computer_type", {"text": "12*7="}, payload={"text": "12*7=", "verdict": "changed"}),
        *_call("3", "screen_capture", {}, payload={"x": 600.0, "y": 467.0}, media=(picture(),), elapsed_s=0.2),
        agent.StateChanged(agent.State.BUSY),
        *_call("4", "computer_click", {"target": "Copy result"}),
    ]


def finished() -> Events:
    return [
        *at_work()[:-2],
        agent.SayDelta("s2", "calm", "The calculator shows 84. Twelve times seven is eighty-four."),
        agent.TagStart("5", "attempt_completion", voiced=True),
        agent.ToolFinished("5", "attempt_completion", True, "answered", facts=(Proposed("echo $((12 * 7))"),)),
        agent.TurnEnded("t1", agent.Outcome.FINISHED, "The calculator shows 84."),
    ]


def cards() -> Events:
    """Return the events of one card in each state."""
    made: list[agent.AgentEvent] = [agent.TurnStarted("t1", "Show me every card")]
    made += _call("1", "open_app", {"name": "Text Editor"}, elapsed_s=2.2)
    made += _call("2", "computer_click", {"x": 412, "y": 80}, payload={"verified": False})
    made += _call(
        "3",
        "computer_click",
        {"target": "Save as"},
        ok=False,
        facts=(Failed(Phrase("There is no {name!r} in this window.", {"name": "Save as"})),),
    )
    made += [
        agent.TagStart("4", "write_file", {"path": "notes/plan.md"}),
        agent.TagDelta("4", "content", "# Plan\n\n1. Look at the screen\n2. Do one thing\n3. Look again\n"),
        agent.ToolFinished("4", "write_file", True, "file_written", {"path": "notes/plan.md"}),
        *_call("5", "replace_in_file", {"path": "app/main.py"}),
        agent.TagDelta("5", "diff", "@@ greeting @@\n-print('hello')\n+print('good morning')\n return 0\n"),
        agent.ToolFinished("5", "replace_in_file", True, "file_changed", {"path": "app/main.py"}),
        *_call("6", "wait", {"text": "Finished"}),
        agent.ToolProgress("6", "waiting", {"left_s": 7.0, "fraction": 0.3}),
        *_call("7", "some_new_tool", {}, elapsed_s=65.0),
        *_call("8", "execute_command", {"command": "python -m pytest -q"}),
        agent.ToolProgress("8", "output", {"output": "................................ [ 64%]\n" * 3}),
    ]
    return made


def small_actions() -> Events:
    """Return the events of several small actions, which fold into one line."""
    made: list[agent.AgentEvent] = [agent.TurnStarted("t1", "Press 1 2 3 4 5")]
    for number in range(1, 8):
        made += _call(str(number), "computer_click", {"target": str(number)}, elapsed_s=0.1)
    made += _call("9", "computer_key", {"keys": "ctrl+s"}, elapsed_s=0.1)
    return made


def checklist() -> Events:
    """Return the events of a half-finished task with a checklist."""
    texts = (
        "Open the letter",
        "Find the address in the contacts",
        "Put the address and today's date at its top, where the old ones are now",
        "Save it as PDF",
        "Send it to Anna",
    )
    steps = [{"text": text, "done": number < 2} for number, text in enumerate(texts)]
    return [
        agent.TurnStarted("t1", "Send Anna the letter with her new address"),
        *_call("1", "open_app", {"name": "Text Editor"}, elapsed_s=1.4),
        agent.ToolProgress("1", "task_progress", {"items": steps, "done": 2, "total": 5}),  # type: ignore[dict-item]
        *_call("2", "computer_click", {"target": "Address"}),
    ]


def web() -> Events:
    """Return the events of a web search, and of a browser after three steps."""
    visit = "https://museum.example/visit"
    results = [
        {"title": "Opening hours", "url": visit, "snippet": "Open from 10 to 18, on Thursdays to 20."},
        {"title": "Museum of Clocks", "url": "https://en.example.org/wiki/Clocks", "snippet": "Founded in 1923."},
    ]
    made: list[agent.AgentEvent] = [agent.TurnStarted("t1", "When does the museum of clocks close today?")]
    made += _call("1", "web_search", {"query": "museum of clocks opening hours"}, payload={"results": results})
    steps: list[dict[str, object]] = [
        {"action": "launch", "url": visit},
        {"action": "click", "url": visit, "x": 512.0, "y": 330.0},
        {"action": "click", "url": f"{visit}/today", "x": 480.0, "y": 155.0, "console": ["error: map.js not found"]},
    ]
    for number, step in enumerate(steps, start=10):
        made += _call(str(number), "browser_action", step, payload=step, media=(picture(),), elapsed_s=1.2)
    return made


def changed() -> Events:
    """Return the events of a turn that has changed files, so that the view offers to undo them."""
    made: list[agent.AgentEvent] = [agent.TurnStarted("t1", "Put the date into both letters")]
    for number, name in enumerate(("letters/anna.md", "letters/karl.md"), start=1):
        made += _call(str(number), "write_file", {"path": name}, payload={"path": name}, facts=(Undoable(),))
    return [*made, agent.TurnEnded("t1", agent.Outcome.FINISHED, "Both letters have today's date.")]


def search() -> Events:
    """Return the events of the web search alone, so that its card is the newest one and open."""
    return web()[:4]


def tones(theme: Theme) -> Events:
    """Return the events of one sentence in each tone of voice."""
    words = {
        "warm": "Good to see you again. Shall we go on with the letter?",
        "neutral": "There are four windows open.",
        "excited": "It worked, and on the first try!",
        "calm": "This takes a minute. I'll tell you when it is done.",
        "serious": "This would delete 214 files for good.",
        "playful": "Eighty-four. The calculator agrees with me.",
        "apologetic": "I pressed the wrong button. I have undone it.",
        "urgent": "The disk is full: saving the document failed.",
    }
    return [agent.SayDelta(f"s{name}", name, words.get(name, name)) for name in theme.tones]


def approval() -> Events:
    return [
        agent.TurnStarted("t1", "Clean up my downloads"),
        agent.SayDelta("s1", "serious", "Before I delete anything, I ask you."),
        agent.TagStart("1", "execute_command", {"command": "rm -r ~/Downloads/old"}),
        agent.ApprovalWanted(
            "a1",
            "1",
            "execute_command",
            "Wisp wants to delete ~/Downloads/old.",
            "rm -r ~/Downloads/old\u202e",
            undo="Wisp cannot undo what a command does.",
            rule="mode ask",
            why="The command runs outside the sandbox, so it can do all that you can. "
            "Before this, Wisp read something that others may have written: the screen.",
            sources=("the screen",),
            reasons=("It works in ~/Downloads, outside the workspace.",),
            scopes=(agent.Scope.TASK, agent.Scope.ALWAYS),
            deed="delete ~/Downloads/old",
            strong=((14, 20),),
        ),
    ]


def click_approval() -> Events:
    """Return the events of the largest approval: for a program, with its icon and a picture of the place."""
    shown: dict[str, Any] = {"picture": picture(480, 200), "ring": (240, 104)}
    return [
        agent.TurnStarted("t1", "Answer the mail from Jo"),
        agent.ProgramsUsed(("Files", "Text Editor")),
        agent.TagStart("1", "computer_click", {"target": "Send"}),
        agent.ApprovalWanted(
            "a1",
            "1",
            "computer_click",
            "Let Wisp use Thunderbird? Wisp wants to press “Send” in “Inbox”.",
            "",
            who="Inbox (Thunderbird)",
            undo="Wisp cannot undo it. Perhaps the program can.",
            rule="mode ask",
            why="You did not name Thunderbird. There, Wisp can do all that you can while you are signed in.",
            scopes=(agent.Scope.TASK, agent.Scope.ALWAYS),
            deed="press “Send” in “Inbox”",
            strong=((40, 45),),
            icon="thunderbird",
            **shown,
        ),
    ]


def answer() -> Events:
    """Return the events of an answer with all kinds of Markdown."""
    return [
        agent.TurnStarted("t1", "How do I back up my photos?"),
        *_call("1", "list_files", {"path": "Pictures"}, elapsed_s=0.4),
        *_call("2", "web_search", {"query": "rsync backup"}, elapsed_s=1.2),
        agent.TurnEnded("t1", agent.Outcome.FINISHED, _ANSWER),
    ]


def short_answer() -> Events:
    return [agent.TurnStarted("t1", "What is 12*7?"), agent.TurnEnded("t1", agent.Outcome.ANSWERED, "**84**")]


_ANSWER = """## Two ways
You have **1,204 photos** in `~/Pictures`, 8.1 GB. Either

1. copy them to the *stick*, or
2. use `rsync`, which copies only what is new:

```bash
rsync -a --delete ~/Pictures/ /media/stick/Pictures/
```

| Way | First time | Later |
|---|---|---|
| copy | 6 min | 6 min |
| rsync | 6 min | 10 s |

More is in the [manual](https://rsync.samba.org/documentation.html).
"""


def question() -> Events:
    return [
        agent.TurnStarted("t1", "Send the file to Anna"),
        agent.SayDelta("s1", "neutral", "There are two Annas in your contacts. Anna Berg or Anna Lind?"),
        agent.TagStart("1", "ask_followup_question", voiced=True),
        agent.ToolFinished(
            "1",
            "ask_followup_question",
            True,
            "ask_followup_question",
            {"options": ["Anna Berg", "Anna Lind", "Both of them, each in a mail of her own", "Neither"]},
        ),
        agent.TurnEnded("t1", agent.Outcome.WAITING, "There are two Annas in your contacts. Anna Berg or Anna Lind?"),
    ]


def trouble() -> Events:
    return [
        agent.TurnStarted("t1", "Summarise this page"),
        agent.Notice("warning", "The service is busy; trying again in 4 s."),
        agent.Notice("info", "The page was long: 12,000 characters were left out."),
        agent.TurnEnded("t1", agent.Outcome.FAILED, "The key was refused. Open the settings and enter another one."),
    ]


def view_of(events: Events) -> View:
    """Return the view that follows after these events."""
    view, presenter, now = View(), Presenter(), time.monotonic()
    for event in events:
        view = presenter.after(view, event, now)
    return view
