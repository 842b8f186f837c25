"""The tasks of a batch: JSON lines, one task a line, written by the person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from app.agent.policy.unattended import check_names
from app.base.errors import NeedsPerson, ToolMisuse
from app.providers.scripted import replies_of
from app.settings import catalog

_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
"""An id is the name of a folder, too."""
_DAY_S = 86_400.0


def _by_name(given: Any) -> Any:
    """A list of files means that each keeps its name."""
    return {Path(str(one)).name: one for one in given} if isinstance(given, list) else given


class Task(BaseModel):
    """One line of the file.

    `words` is what Wisp is told. `script` takes the place of a model: its answers one after the other, as in the file
    of `wisp do --script`. `files` are copied into the working folder, by their names there; their paths count from the
    file of tasks. `setup` and `check` are commands of the person, run by `sh` before and after; the task has passed if
    the check's exit code is 0. `allow` is as in `wisp do --allow`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=_ID)]
    words: str = ""
    script: tuple[str | dict[str, Any], ...] = ()
    files: Annotated[dict[str, str], BeforeValidator(_by_name)] = {}
    setup: str = ""
    check: str = ""
    time_limit_s: Annotated[float, Field(gt=0, le=_DAY_S)] = 300.0
    memory_limit_mb: Annotated[int, Field(ge=100)] = 4000
    provider: str = ""
    model: str = ""
    allow: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_whole(self) -> Task:
        if not (self.words.strip() or self.script):
            raise ValueError("it has neither words nor a script")
        if self.provider not in catalog.PROVIDER.choices:
            raise ValueError(f"there is no provider {self.provider!r}; there are {', '.join(catalog.PROVIDER.choices)}")
        for name in self.files:
            if Path(name).is_absolute() or ".." in Path(name).parts or not Path(name).name:
                raise ValueError(f"{name!r} lies outside of the working folder")
        try:
            self.given.encode()
            check_names(self.allow)
            replies_of(self.script)
        except UnicodeEncodeError as error:
            raise ValueError(f"it holds half of a character ({error.object[error.start]!r})") from None
        except ToolMisuse as error:
            raise ValueError(str(error)) from None
        except (KeyError, TypeError) as error:
            raise ValueError(f"its script cannot be played ({type(error).__name__}: {error})") from None
        return self

    @property
    def given(self) -> str:
        """The task as one line of JSON, by which a changed task is known."""
        return json.dumps(self.model_dump(exclude_defaults=True), ensure_ascii=False)


def read_tasks(path: Path) -> list[Task]:
    """Return the tasks of a file. Raises NeedsPerson with the line that is wrong, or OSError."""
    tasks: dict[str, Task] = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise NeedsPerson(
            f"{path} is no UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8."
        ) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = Task.model_validate(json.loads(line))
            _check_files(task, path.parent)
        except json.JSONDecodeError as error:
            raise _wrong(path, number, f"it is no JSON object ({error.msg} at column {error.colno})") from None
        except ValidationError as error:
            raise _wrong(path, number, _said(error.errors()[0])) from None
        except ValueError as error:
            raise _wrong(path, number, str(error)) from None
        if task.id in tasks:
            raise _wrong(path, number, f"there is a task {task.id!r} already; each needs an id of its own")
        tasks[task.id] = task
    if not tasks:
        raise NeedsPerson(f'{path} holds no task. Write one a line: {{"id": "first", "words": "open the calculator"}}')
    return list(tasks.values())


def _check_files(task: Task, folder: Path) -> None:
    for source in task.files.values():
        if not (folder / source).is_file():
            raise ValueError(f"there is no file {str(folder / source)!r}")


def _wrong(path: Path, number: int, why: str) -> NeedsPerson:
    return NeedsPerson(f"{path}, line {number}: {why}.")


def _said(problem: Mapping[str, Any]) -> str:
    """Return what is wrong, with the name of the field."""
    where = ".".join(map(str, problem["loc"]))
    why = str(problem.get("ctx", {}).get("error", problem["msg"]))
    if where == "id" and problem["type"] == "string_pattern_mismatch":
        return f"an id has up to 80 letters, digits, dots, dashes and underscores, unlike {problem['input']!r}"
    if problem["type"] == "model_type":
        return "it is no JSON object"
    if problem["type"] == "extra_forbidden":
        return f"there is no field {where!r}; there are {', '.join(Task.model_fields)}"
    return f"{where}: {why}" if where else why
