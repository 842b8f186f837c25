"""`wisp do TASK`: one task without the window.

Speech and results go to standard output, or with `--json` every agent event as one line; what is about the run itself
goes to standard error. On a private desktop the first and last picture and the transcript are kept.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app import options as shared
from app.agent.agent_events import (
    AgentEvent,
    Notice,
    Outcome,
    SayDelta,
    TagDelta,
    TagStart,
    ThoughtDelta,
    ToolFinished,
    ToolRunning,
    TurnEnded,
    to_json,
)
from app.base import logs, output, paths, resources
from app.base.errors import ToolMisuse
from app.base.facts import Removed, Undoable, first
from app.base.phrases import Translations
from app.base.startup import STOPPED, stop_on_signals
from app.base.translation import words_in
from app.base.withheld import cleaned
from app.options import on_a_display
from app.protocol.call import JsonValue, Media
from app.providers import profiles
from app.providers.offline.wording import language_of
from app.services.files.workspace import why_moved
from app.settings import catalog
from app.settings.store import Settings
from app.ui.presenter.cards import has_failed
from app.ui.presenter.receipts import receipt_of

_ENDINGS = {"image/jpeg": "jpg", "image/png": "png"}


class TranscriptFolder:
    """A folder for each run, in the state folder. Only the owner can read it."""

    def __init__(self) -> None:
        self.folder = _fresh_folder()
        self._transcript = (self.folder / "transcript.jsonl").open("a", encoding="utf-8")
        self._piece: SayDelta | TagDelta | ThoughtDelta | None = None
        self._texts: list[str] = []

    def note(self, event: AgentEvent) -> None:
        """Append an event without secrets, and with the type and size of its pictures instead of the pictures.

        Pieces of one text are written as one at its end, because a secret may be spread over them.
        """
        if isinstance(event, (SayDelta, TagDelta, ThoughtDelta)):
            if self._piece is None or replace(event, text="") != replace(self._piece, text=""):
                self._write_piece()
                self._piece = replace(event, text="")
            self._texts.append(event.text)
            return
        self._write_piece()
        self._write(event)

    def _write_piece(self) -> None:
        if self._piece is not None:
            self._write(replace(self._piece, text="".join(self._texts)))
        self._piece, self._texts = None, []

    def _write(self, event: AgentEvent) -> None:
        self._transcript.write(json.dumps(cleaned(to_json(event)), ensure_ascii=False) + "\n")
        self._transcript.flush()

    def keep(self, name: str, picture: Media) -> Path:
        path = self.folder / f"{name}.{_ENDINGS.get(picture.media_type, 'bin')}"
        path.write_bytes(picture.data)
        return path

    def close(self) -> None:
        self._write_piece()
        self._transcript.close()


def _fresh_folder() -> Path:
    runs = paths.state_dir() / "runs"
    stamp = time.strftime("%Y-%m-%d-%H%M%S")
    for number in range(1000):
        folder = runs / (stamp if number == 0 else f"{stamp}-{number}")
        try:
            folder.mkdir(parents=True, mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{runs} already has a thousand runs of this second.")


_CODES = {
    Outcome.FINISHED: 0,
    Outcome.FAILED: 1,
    Outcome.UNVERIFIED: 1,
    Outcome.WAITING: 3,
    Outcome.ANSWERED: 4,
    Outcome.CUT_OFF: 5,
    Outcome.REPEATING: 6,
    Outcome.STOPPED: STOPPED,
}
_EXIT_CODES = """Exit codes:
  0    done
  1    not done, or nothing shows that it worked
  2    the command was written wrongly
  3    Wisp waits for you: for an answer, a permission, or something to install
  4    Wisp only answered in words
  5    the model's answer became too long and was cut off
  6    the model wrote the same words over and over
  130  stopped
"""
_MISUSED = 2
_DRY = "[dry run] "
_BACK = "`wisp undo` brings it back."
_DELETED = (
    "The command deleted {count} file. `wisp undo --turn {name}` puts it back.",
    "The command deleted {count} files. `wisp undo --turn {name}` puts them back.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXIT_CODES
    parser.add_argument("task", help="say what to do, in plain words and in quotes")
    parser.add_argument(
        "--json", action="store_true", help="print everything that happens, in a form for programs: JSON lines"
    )
    parser.add_argument(
        "--max-passes", type=shared.count, metavar="N", help="let the model answer at most N times for this task"
    )
    shared.add_rehearsal_options(parser)
    parser.add_argument(
        "--apart",
        action="store_true",
        help="work on a desktop of its own, so that yours stays as it is (Linux only)",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="let this task use a program, website, folder, tool server, button or tool without asking, such as "
        "--allow 'Text Editor'; may be given several times",
    )
    shared.add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    if not options.task.strip():
        shared.warn('Say what to do, such as: wisp do "open the calculator"')
        return _MISUSED
    try:
        _check_allowed(options.allow)
    except ToolMisuse as error:
        print(f"wisp: {error}", file=sys.stderr)
        return _MISUSED
    logs.to_file()
    settings = shared.settings_of(options)
    if moved := why_moved(settings):
        print(f"wisp: {moved}", file=sys.stderr)
    if options.dry_run and options.json and (settings[catalog.PROVIDER] or profiles.default_name()) == profiles.OFFLINE:
        print(output.as_json(_planned(options.task, settings)))
        return 0
    with on_a_display(needed=not (options.dry_run or options.no_screen), apart=options.apart) as own:
        own.announce()
        record = TranscriptFolder() if own.private else None
        try:
            ended = asyncio.run(_carry_out(options, settings, record))
        finally:
            if record:
                record.close()
                shared.warn(
                    "Pictures of the screen and all that happened are kept in {folder}", folder=str(record.folder)
                )
    return _CODES[ended.outcome]


def _check_allowed(names: Sequence[str]) -> None:
    """Raise ToolMisuse for a name that cannot be allowed."""
    if names:
        from app.agent.policy.unattended import check_names

        check_names(names)


def _planned(task: str, settings: Settings) -> dict[str, object]:
    """The calls that a sentence becomes without a model, or the answer, or why nothing is done."""
    from app.assembly import world_here
    from app.providers.offline import plans

    return plans.shown(task, world_here(settings))


async def _carry_out(options: argparse.Namespace, settings: Settings, record: TranscriptFolder | None) -> TurnEnded:
    prefix = _DRY if options.dry_run else ""
    language = language_of(options.task) or settings[catalog.LANGUAGE] or resources.system_language()
    if language in catalog.LANGUAGE.choices:  # so that a question has the language of the task
        settings = settings.with_values(presence__language=language)
    show = print_json if options.json else TurnPrinter(prefix, language)
    how = {"dry_run": options.dry_run, "without_screen": options.no_screen, "is_own_desktop": record is not None}
    from app.assistant import assembled  # slow to import, and a plan alone needs none of it

    async with assembled(settings, **how, allowed=options.allow) as assistant:
        assistant.subscribe(show)
        if record:
            assistant.subscribe(record.note)
            record.keep("first", await assistant.picture())
        stop_on_signals(assistant.stop)
        ended = await assistant.send(options.task, own=options.task)
        if record:
            # The programs of a private desktop end with it, also one that is still saving.
            await assistant.worked_off()
            record.keep("last", await assistant.picture())
    return ended


def print_json(event: AgentEvent) -> None:
    print(output.as_json(to_json(event)), flush=True)


class TurnPrinter:
    """Print a turn at a terminal: speech as it comes, one line for each thing done, the result.

    A result that these lines tell already is not printed. A question is the last thing on the screen.
    """

    def __init__(self, prefix: str = "", language: str = "") -> None:
        self._translated, self._prefix = words_in(language), prefix
        self._said = ""
        self._line_open = False
        self._speech: set[str] = set()
        self._silent = ""
        self._is_stop_told = False
        self._asked: dict[str, Mapping[str, JsonValue]] = {}

    def __call__(self, event: AgentEvent) -> None:
        if isinstance(event, SayDelta):
            if not event.call_id or event.call_id != self._silent:
                self._say(event.text)
            return
        if isinstance(event, ToolRunning):
            self._asked[event.call_id] = event.arguments
        if isinstance(event, TagStart):
            self._asked[event.call_id] = event.attrs
            if event.voiced:
                self._speech.add(event.call_id)
                self._silent = event.call_id if "told_by_card" in event.attrs else ""
                self._line("")
        if isinstance(event, ToolFinished):
            self._finished(event)
        elif isinstance(event, Notice):
            self._line("")
            print(f"wisp: {event.sentence}", file=sys.stderr, flush=True)
        elif isinstance(event, TurnEnded):
            self._end(event)

    def _finished(self, event: ToolFinished) -> None:
        arguments = self._asked.pop(event.call_id, {})
        if asked := event.payload.get("asked"):
            self._line(f"  ? {asked}")
        if event.call_id in self._speech and event.ok:
            return
        self._is_stop_told = bool(event.payload.get("interrupted"))
        told = receipt_of(event, arguments, self._translated)
        if event.payload.get("dry_run"):
            self._line(told if self._prefix else f"  {told}")
        else:
            self._line(f"  {'✗' if has_failed(event) else '✓'} {told}" if told else "")
        if asks := _keep_or_put_back(event, self._translated):
            self._line(asks)

    def _end(self, event: TurnEnded) -> None:
        is_told = event.told_by_card or (event.outcome is Outcome.STOPPED and self._is_stop_told)
        text = "" if is_told else self._translated(event.text.strip())
        is_last = self._said.rstrip().endswith(text) if event.outcome is Outcome.WAITING else text in self._said
        self._line("" if is_last else text)
        if event.offers:
            quoted = self._translated("“{name}”")
            said = ", ".join(quoted.format(name=one) for one in event.offers)
            self._line(self._translated("You can say: {offers}").format(offers=said))

    def _say(self, text: str) -> None:
        """Print speech, each new line with the prefix."""
        start = "" if self._line_open or not text else self._prefix
        body, end = (text[:-1], "\n") if text.endswith("\n") else (text, "")
        print(start + body.replace("\n", f"\n{self._prefix}") + end, end="", flush=True)
        self._said += text
        self._line_open = not text.endswith("\n")

    def _line(self, text: str) -> None:
        if self._line_open:
            print()
            self._line_open = False
        if text:
            print(self._prefix + text.replace("\n", f"\n{self._prefix}"), flush=True)
            self._said += f"\n{text}\n"


def _keep_or_put_back(event: ToolFinished, translated: Translations) -> str:
    """A line that says how to get back what a call deleted; "" if it deleted nothing."""
    if first(Removed, event.facts) and first(Undoable, event.facts):
        return f"  {translated(_BACK)}"
    deleted, name = event.payload.get("deleted"), event.payload.get("put_back")
    if not name or not isinstance(deleted, (list, tuple)):
        return ""
    return f"  {translated.plural(*_DELETED, len(deleted)).format(count=len(deleted), name=name)}"
