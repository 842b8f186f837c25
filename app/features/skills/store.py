"""Skills: folders with a SKILL.md that explains how to do a kind of work (https://agentskills.io/specification).

They are read leniently, because existing collections break the format, and written strictly. A skill grants no
permission: its scripts run like any command.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from app.base import paths, resources
from app.base.clipping import clip_line
from app.base.errors import ToolFailed, WispError
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.services import fact_search
from app.services.files import origins, places

_SHIPPED = "skills"
FILE = "SKILL.md"
MOST_LISTED = 40
CATALOGUE_CHARS = 250
"""How much of a description is shown in a list of many skills."""
_NAME_CHARS, _DESCRIPTION_CHARS = 64, 1024  # https://agentskills.io/specification
_MOST_BYTES = 200_000
_DEPTH, _MOST_FOLDERS = 6, 2_000
_SKIPPED = frozenset({".git", "node_modules"})
_NAME = re.compile(r"[^\W_A-Z]+(?:-[^\W_A-Z]+)*")
_KEY = re.compile(r"([A-Za-z][\w-]*):(?:\s+(.*))?")
_BLOCK = re.compile(r"[|>][+-]?\d?")
_NEAR_BEST = 0.6
"""A skill with less than this share of the best score is not worth its words in the prompt."""
_HIDES = "disable-model-invocation"


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill. `scope` is `project`, `person` or `wisp`. `warnings` say where its file breaks the format.

    `is_hidden`: its file says that the catalogue must not list it.
    """

    name: str
    description: str
    folder: Path
    scope: str
    warnings: tuple[str, ...] = ()
    is_hidden: bool = False

    @property
    def body(self) -> str:
        """The text of its file below the front matter."""
        return _parted(_text(self.folder / FILE))[1].strip()

    def files(self) -> list[str]:
        """The other files of its folder, as paths in it."""
        return [name for name in _files_of(self.folder) if name != FILE]

    def file(self, name: str) -> str:
        """Return the text of one of its files. Raises ToolFailed for an unknown name, a secret, or no text."""
        if name not in self.files():
            values = {"skill": self.name, "file": name, "files": _listed(self.files())}
            raise ToolFailed(
                Phrase("the skill {skill!r} has no file {file!r}. It has: {files}", values), argument="file"
            )
        path = self.folder / name
        if places.is_local_secret(path) or places.is_private_key(path):
            raise ToolFailed(f"{path} holds keys or passwords; it is left alone.")
        return _text(self.folder / name)


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """The skills that were found. `problems` are sentences on unreadable folders, and on skills hidden by another."""

    skills: tuple[Skill, ...]
    problems: tuple[str, ...] = ()

    @property
    def offered(self) -> tuple[Skill, ...]:
        """The skills in the model's catalogue."""
        return tuple(skill for skill in self.skills if not skill.is_hidden)

    def named(self, name: str) -> Skill:
        """Raises ToolFailed if there is no skill of that name."""
        wanted = _known_as(name)
        found = next((skill for skill in self.skills if _known_as(skill.name) == wanted), None)
        if found is None:
            near = ", ".join(skill.name for skill in self.fitting(name.replace("-", " "), 3)) or "none is like it"
            what = Phrase("there is no skill {name!r} ({near}).", {"name": name, "near": (near,)})
            advice = Phrase("`wisp skills` lists them.")
            raise ToolFailed(what, "Without a name, use_skill lists them.", argument="name", advice=advice)
        return found

    def fitting(self, words: str, limit: int) -> list[Skill]:
        """Return the offered skills whose name or description matches the words, the best first."""
        asked = fact_search.read(words)
        offered = dict(enumerate(self.offered))
        postings: dict[str, list[int]] = {}
        for number, skill in offered.items():
            for stem in set(fact_search.stems_of(f"{skill.name} {skill.description}").split()):
                postings.setdefault(stem, []).append(number)
        found = fact_search.scored(asked, postings, len(offered), limit, rare=0)
        least = _NEAR_BEST * max((match.score for match in found), default=0.0)
        return [offered[match.id] for match in found if match.is_strong and match.score >= least]


class Skills:
    """The skills of a workspace, of the person and of Wisp. Blocks: call it in a thread."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def find(self) -> FoundSkills:
        """Find all skills. A project's skills count only if its folder is the person's own, or trusted."""
        problems: list[str] = []
        skills = {_known_as(skill.name): skill for skill in _in_folder(shipped(), "wisp", problems)}
        own = frozenset(skills)
        for folder, scope in self._places(problems):
            for skill in _in_folder(folder, scope, problems):
                name = _known_as(skill.name)
                if name in own:
                    problems.append(f"{skill.folder} has the name of a skill of Wisp's own and is left out.")
                elif name in skills:
                    problems.append(f"{skill.folder} is hidden by {skills[name].folder}.")
                else:
                    skills[name] = skill
        return FoundSkills(
            tuple(sorted(skills.values(), key=lambda skill: (skill.scope != "project", skill.name))), tuple(problems)
        )

    def _places(self, problems: list[str]) -> Iterator[tuple[Path, str]]:
        read_from = places.table()["skills"]
        inside = [self._workspace / name for name in read_from["workspace"] if (self._workspace / name).is_dir()]
        if inside and origins.foreign_folder(self._workspace):
            problems.append(
                f"The skills of {self._workspace} are left out, because it came from elsewhere: wisp policy trust "
                f"{self._workspace}"
            )
            inside = []
        yield from ((folder, "project") for folder in inside)
        yield own_folder(), "person"
        yield from ((Path.home() / name, "person") for name in read_from["home"])


def _known_as(name: str) -> str:
    """For comparison: letter case, letter width, and blanks, `-` or `_` make no difference."""
    return re.sub(r"[\s_-]+", "-", unicodedata.normalize("NFKC", name).strip().casefold())


def shipped() -> Path:
    """Return the folder of the skills that come with Wisp."""
    return resources.path(_SHIPPED)


def own_folder() -> Path:
    """Return the folder where `wisp skills add` puts skills."""
    return paths.config_dir() / "skills"


def add(source: Path) -> Skill:
    """Copy a skill into the person's folder, with a correct front matter. Raises WispError."""
    source = source.parent if source.name == FILE else source
    skill = read(source, "person")
    name = re.sub(r"[^\w]+|_+", "-", skill.name.lower()).strip("-")[:_NAME_CHARS].strip("-")
    target = own_folder() / name
    if not name or name in resources.folders(_SHIPPED) or target.exists():
        what = "A skill called {name!r} is there already: rename the new one in its {file}."
        raise WispError(Phrase(what, {"name": name, "file": FILE}))
    if any(one.is_symlink() for one in source.rglob("*")):
        raise WispError(f"{source} holds links, which may lead anywhere: replace them by what they lead to.")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*_SKIPPED))
    try:
        (target / FILE).write_text(written(name, skill.description, _text(source / FILE)), encoding="utf-8")
    except OSError:  # Remove the partial copy, or else a broken skill would be offered.
        shutil.rmtree(target)
        raise
    return read(target, "person")


def written(name: str, description: str, text: str) -> str:
    """Return a SKILL.md in the correct format. Of its other fields, the known ones stay, as plain values."""
    fields, body = _parted(text)
    kept = {key: fields[key] for key in ("license", "compatibility", _HIDES) if fields.get(key)}
    head = {"name": name, "description": description[:_DESCRIPTION_CHARS], **kept}
    # A JSON string is a YAML string too.
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    return "\n".join(["---", *lines, "---", "", body.strip(), ""])


def read(folder: Path, scope: str) -> Skill:
    """Read a skill's front matter. Raises WispError without a description, because nothing could choose it."""
    text = _text(folder / FILE)
    fields, body = _parted(text)
    description = " ".join(fields.get("description", "").split())
    if not description:
        raise WispError(f"{folder / FILE} has no description in its front matter, so it is left out.")
    if not body.strip():
        raise WispError(f"{folder / FILE} says nothing below its front matter, so it is left out.")
    name = fields.get("name", "").strip() or folder.name
    warnings = [
        (not _NAME.fullmatch(name) or len(name) > _NAME_CHARS, f"the name {name!r} does not keep to the format"),
        (name != folder.name, f"the folder is called {folder.name!r}, the skill {name!r}"),
        (len(description) > _DESCRIPTION_CHARS, f"the description has more than {_DESCRIPTION_CHARS} characters"),
    ]
    is_hidden = fields.get(_HIDES, "").lower() == "true"
    told = tuple(f"{folder / FILE}: {sentence}." for is_so, sentence in warnings if is_so)
    return Skill(clip_line(name, _NAME_CHARS), description[:_DESCRIPTION_CHARS], folder, scope, told, is_hidden)


def _in_folder(root: Path, scope: str, problems: list[str]) -> Iterator[Skill]:
    """Yield the skills below a folder. Links to folders are not followed."""
    left = _MOST_FOLDERS
    for place, folders, files in os.walk(root):
        left -= 1
        depth = len(Path(place).relative_to(root).parts)
        is_skill = FILE in files
        folders[:] = sorted(one for one in folders if one not in _SKIPPED) if depth < _DEPTH and not is_skill else []
        if left < 0:
            problems.append(f"{root} holds more than {_MOST_FOLDERS} folders; the rest was not looked at.")
            return
        if is_skill:
            try:
                skill = read(Path(place), scope)
            except WispError as error:  # because one broken skill must not hide the others
                problems.append(str(error))
            else:
                problems.extend(skill.warnings)
                yield skill


def _parted(text: str) -> tuple[Mapping[str, str], str]:
    """The front matter's fields (empty if there is none), and the text below it."""
    lines = text.replace("\r\n", "\n").lstrip("\ufeff").split("\n")
    if not lines or lines[0].strip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    if not end:
        return {}, text
    return _fields(lines[1:end]), "\n".join(lines[end + 1 :])


def _fields(lines: Sequence[str]) -> Mapping[str, str]:
    """Only those not indented. Lists and tables are skipped; a value with a colon needs no quotes."""
    found: dict[str, str] = {}
    key = ""
    for line in lines:
        match = _KEY.fullmatch(line.rstrip())
        if match:
            key, value = match[1], (match[2] or "").strip()
            found[key] = "" if _BLOCK.fullmatch(value) else value
        elif key and line.strip() and line[:1] in " \t" and not line.lstrip().startswith("- "):
            found[key] = f"{found[key]} {line.strip()}".lstrip()
    return {name: _unquoted(value) for name, value in found.items()}


def _unquoted(value: str) -> str:
    if len(value) < 2 or value[0] not in "\"'" or value[-1] != value[0]:
        return value
    if value[0] == "'":
        return value[1:-1].replace("''", "'")
    try:
        return str(json.loads(value, strict=False))
    except ValueError:
        return value[1:-1]


def _text(path: Path) -> str:
    if path.is_symlink() or places.is_known_inode(path):
        raise ToolFailed(f"{path} is a link; it is not read as a part of a skill.")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ToolFailed(f"{path} is larger than {_MOST_BYTES} bytes; it is not read as a part of a skill.")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ToolFailed(f"{path} is no text in UTF-8.") from error
    except OSError as error:
        raise ToolFailed(f"{path} cannot be read: {error.strerror}.") from error


def _files_of(folder: Path) -> list[str]:
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in _SKIPPED)
        found += [(Path(place) / one).relative_to(folder).as_posix() for one in sorted(files)]
        found = [one for one in found if not (folder / one).is_symlink()]
        if len(found) > _MOST_FOLDERS:
            break
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_LISTED]) or "none"
