"""Describe a call and the policy's reason in words, for the person who is asked and for the model.

All words are in `resources/policy` (`asking.toml`, `sentences.toml`); this module fills them in. The sentences for a
person in another language are in `resources/languages/policy`: a file for each, with its order of words as templates.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from string import Formatter, Template
from typing import Any

from app.agent.policy.command_words import PIPED, CommandProgram, programs
from app.agent.policy.values import Action, Consequence, Mode, Provenance
from app.base import resources
from app.base.texts import Phrase, clip_line
from app.base.values import dataclass
from app.protocol.spec import Effect


def table(name: str) -> Mapping[str, Any]:
    """Return a file of `resources/policy` by its stem. Raises OSError or ValueError if it cannot be read."""
    return resources.table(f"policy/{name}.toml", resources.Table)


def told_in(language: str, name: str) -> Mapping[str, Any]:
    """Return a file of `resources/policy` with its words in a language; what that lacks is English."""
    file = f"languages/policy/{language}.toml"
    if not language or not resources.path(file).is_file():
        return table(name)
    return _merged(table(name), resources.table(file, resources.Table)[name])


def _merged(whole: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    nested = {name: _merged(whole[name], one) for name, one in other.items() if isinstance(whole.get(name), dict)}
    return {**whole, **other, **nested}


def by_tool(entries: Mapping[str, Any], tool: str) -> Any:
    """Return a tool's entry in a table whose keys are names or patterns. Its own name wins, then the first match."""
    if tool in entries:
        return entries[tool]
    return next((value for pattern, value in entries.items() if fnmatchcase(tool, pattern)), None)


_SHOWN_CHARS = 160
KINDS_IN_ORDER = (
    "own", "password", "secret", "starts", "session", "inner", "odd", "launches", "terminal", "outward", "irreversible",
    "privileged", "persists", "outside", "carries", "unclear", "submits", "closes", "crafted address", "new host",
    "private unasked", "typed to others",
)  # fmt: skip


def told(template: str, act: Action, mode: Mode, provenance: Provenance, language: str = "") -> str:
    """Return a rule's sentence for a person, in a language, without what only the model is to do."""
    rules, broken = told_in(language, "sentences")["rules"], table("sentences")["broken"]
    begin = broken if template.startswith(broken) else template
    own = rules.get(begin, begin) + template[len(begin) :]
    return sentence(own, act, mode, provenance, language)


def sentence(template: str, act: Action, mode: Mode, provenance: Provenance, language: str = "") -> str:
    """Return a rule's sentence with its names filled in."""
    fields = {
        **_fields(act, language),
        "what": what(act, language),
        "mode": mode.value,
        "app": act.control.window.app,
        "command": clip_line(act.command, _SHOWN_CHARS),
        "personal": ", ".join(sources(provenance.personal, language)),
        "source": ", ".join(sources(provenance.tainted_by, language)),
        "secret": ", ".join(provenance.secrets),
    }
    return Template(template).safe_substitute(fields)


def _fields(act: Action, language: str = "") -> dict[str, str]:
    words, control = told_in(language, "sentences"), act.control
    return {
        "tool": act.tool,
        "does": words["does"].get(act.effect.value, act.effect.value),
        "path": " → ".join(_from_and_to(act)) or _first(act.paths),
        "host": _first(act.hosts),
        "control": _called(control.name or control.scene.default, words["unnamed"], words),
        "button": _called(control.name, "", words) if "button" in control.role else "",
        "window": _called(control.window.title, words["unknown_window"], words),
        "keys": clip_line(" ".join(act.keys), _SHOWN_CHARS),
    }


def what(act: Action, language: str = "") -> str:
    """Return what the call would do, as a clause that begins a sentence."""
    words = told_in(language, "sentences")
    opened = _first(act.paths) or _called(act.control.name, words["unnamed"], words)
    fields = {**_fields(act, language), "opened": opened}
    given = {name: clip_line(value, _SHOWN_CHARS) for name, value in act.arguments.items() if isinstance(value, str)}
    known, templates = {**given, **fields}, words["named"].get(act.tool, ())
    named = next((one for one in templates if all(known.get(name) for name in _named(one))), "").format_map(known)
    return named or Template(_template(act, words)).safe_substitute(fields)


def who(act: Action) -> str:
    """Return what the call acts on: the window and its program, the host, or the place; of a copy, where it goes."""
    control = act.control
    window = clip_line(control.window.title, _SHOWN_CHARS)
    if window or control.window.app:
        return f"{window} ({control.window.app})" if window and control.window.app else window or control.window.app
    ends = _from_and_to(act)
    return _first(act.hosts) or (ends[1] if ends else _first(act.paths))


def who_as_written(act: Action) -> str:
    """Return what the call acts on, a path as the question writes it."""
    place = who(act)
    return _Asker("").path(place) if place in act.paths else place


def sources(tainted_by: Iterable[str], language: str = "") -> tuple[str, ...]:
    """Return the sources that the turn has read, by names that people know."""
    known = table("sentences")["sources"]
    return tuple(_plain_in(language, known.get(source, source)) for source in tainted_by)


def undo(act: Action, language: str = "") -> str:
    """Return a sentence on what can be undone afterwards."""
    words = table("sentences")["undo"]
    if act.tool in words["tools"] and Effect.SETTINGS in act.effects:
        return _plain_in(language, words["tools"][act.tool])
    for kind in KINDS_IN_ORDER:
        if kind in act.kinds and kind in words:
            return _plain_in(language, words[kind])
    return _plain_in(language, words.get(act.effect.value, ""))


def in_language(text: str, language: str) -> str:
    """Return an English sentence for a person in a language, with the names in it, such as a path, as they are."""
    return _reframed(_plain_in(language, text), told_in(language, "sentences"))


def _reframed(text: str, words: Mapping[str, Any]) -> str:
    """Return a text with names in it, such as a path, in the words of the first frame that it fits."""
    if text in words["phrases"]:
        return str(words["phrases"][text])
    for english, other in words["frames"].items():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(english))
        if found := re.fullmatch(pattern, text):
            return str(other).format_map({name: _reframed(one, words) for name, one in found.groupdict().items()})
    return text


def _plain_in(language: str, text: str) -> str:
    """Return a text without names in it in a language, or as it is where that has none."""
    return resources.texts_of(language).get(text, text) if language else text


def _template(act: Action, all_words: Mapping[str, Any]) -> str:
    words = all_words["what"]
    by_kind = next((words[kind] for kind in KINDS_IN_ORDER if kind in act.kinds and kind in words), None)
    if by_kind is words["terminal"] and act.control.window.opens_items:
        by_kind = words["typed"]
    plain = words.get(act.effect.value, words["other"])
    elsewhere = words.get(f"{act.effect.value} elsewhere", plain) if Consequence.FOREIGN in act.kinds else plain
    shape = by_kind if by_kind is not None else elsewhere
    if isinstance(shape, str):
        return shape
    return str(shape["keys"] if act.keys else shape["text"] if act.text else shape["press"])


def _called(text: str, unnamed: str, words: Mapping[str, Any]) -> str:
    return str(words["quoted"]).format(clip_line(text, _SHOWN_CHARS)) if text.strip() else unnamed


def _first(values: Iterable[str]) -> str:
    return clip_line(next(iter(values), ""), _SHOWN_CHARS)


_MOST_DEEDS = 3
_OBJECT_CHARS = 60
_WHOLE_CHARS = 4_000
_AGREED_TO = ("starts",)
"""Of what is agreed to word for word."""
_HOST = re.compile(r"(?:\w+://)?(?:[^/?#@]*@)?([\w-]+(?:\.[\w-]+)+)(?:[:/?#]|$)")
_REMOTE = re.compile(r"[^/]+:")
_OPEN, _SHUT = "\x02", "\x03"
"""Around a verb, until the sentence is whole. No text of a call keeps them."""
_MARKS = str.maketrans("", "", _OPEN + _SHUT + PIPED)
_VERB = re.compile(r"\*([^*]+)\*")
_VERBS_AT = {"first": re.compile(r"^[^\s{}]+"), "last": re.compile(r"[^\s{}]+$")}


@dataclass(frozen=True, slots=True)
class AskedSentence:
    """The question to the person. `deed` is what it asks for, without the words around it. `strong` are its verbs, each
    as the number of its first character and of the one behind it.
    """

    text: str
    deed: str = ""
    strong: tuple[tuple[int, int], ...] = ()

    def followed_by(self, text: str) -> AskedSentence:
        """Return the question with another sentence behind it."""
        return AskedSentence(f"{self.text} {text}".strip(), self.deed, self.strong)

    def within(self, text: str) -> AskedSentence:
        """Return the question as a part of a longer text, which contains it."""
        at = text.index(self.text)
        return AskedSentence(text, self.deed, tuple((start + at, end + at) for start, end in self.strong))


def question(act: Action, provenance: Provenance, language: str = "") -> AskedSentence:
    """Return the question for the person before a call runs: what it does, to what, where, and the risk."""
    return _Asker(language).question(act, provenance)


class _Asker:
    """Writes questions in one language. A verb stands between marks until the sentence is whole."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._words, self._names = told_in(language, "asking"), told_in(language, "sentences")

    def question(self, act: Action, provenance: Provenance) -> AskedSentence:
        words = self._words
        only_looks = Consequence.LOOKS in act.kinds
        folder = str(act.arguments.get("cwd", ""))
        command = act.command if folder in ("", ".", "./") else f"cd {shlex.quote(folder)} && {act.command}"
        told = self._deeds(command, only_looks=only_looks) if act.command else [self._deed(act)]
        joined = str(words["and"]).join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
        risk = self._risk(act, provenance)
        pieces = re.split(f"[{_OPEN}{_SHUT}]", str(words["frame"]).format(deeds=joined, risk=risk))
        ends = [sum(map(len, pieces[: number + 1])) for number in range(len(pieces))]
        strong = tuple((ends[number - 1], ends[number]) for number in range(1, len(pieces), 2))
        return AskedSentence("".join(pieces), f"{joined}{risk}".translate(_MARKS), strong)

    def _deeds(self, command: str, *, only_looks: bool) -> list[str]:
        found = list(self._phrases(command))
        is_weighty = any(weight > 2 for weight, _ in found)
        told = {phrase: weight for weight, phrase in found if weight or not is_weighty}
        if is_weighty and len(told) > _MOST_DEEDS:
            told = {phrase: weight for weight, phrase in found if weight > 1}
        unknown = [self._marked("unknown", command=clip_line(command, _OBJECT_CHARS))]
        return self._some(told) if told and (is_weighty or only_looks) else unknown

    def _some(self, weights: Mapping[str, int]) -> list[str]:
        """Return all that must be told, the first of what need not be, and how many other things there are."""
        room = max(_MOST_DEEDS - 1 - sum(weight > 3 for weight in weights.values()), 0)
        first = [phrase for phrase, weight in weights.items() if weight < 4][:room]
        told = [phrase for phrase, weight in weights.items() if weight > 3 or phrase in first]
        left = len(weights) - len(told)
        if len(weights) <= _MOST_DEEDS or left <= 1:
            return list(weights)
        return [*told, self._marked("several", count=str(left))]

    def path(self, text: str, form: str = "") -> str:
        """Return a path as a person writes it, in a form of the language, such as "to": as where something goes."""
        words = self._words
        if text == PIPED:
            return self._formed(words["piped"], form)
        text = text.removesuffix(":")
        if text.rstrip("/") in (".", ".."):
            return self._formed(words["here" if text.startswith("./") or text == "." else "above"], form)
        if text == "*" or text.endswith("/*"):
            folder = text[:-2] or ("/" if text == "/*" else ".")
            return self._put(str(words["everything"]), self.in_forms("folder", [folder]))
        home = str(Path.home())
        short = " ".join((f"~{text[len(home) :]}" if text.startswith(f"{home}/") else text).split())
        if len(short) > _OBJECT_CHARS:  # in the middle, because the name of the file is at the end
            end = short[1 + _OBJECT_CHARS // 3 - _OBJECT_CHARS :]
            short = f"{short[: _OBJECT_CHARS // 3]}…{end[max(end.find('/'), 0) :]}"
        return self._formed(short, form)

    def _formed(self, name: str | Mapping[str, str], form: str) -> str:
        if not isinstance(name, str):
            return name[form]
        return str(self._words["forms"].get(form, "{}")).format(name) if name else ""

    def in_forms(self, field: str, paths: Sequence[str]) -> dict[str, str]:
        """Return the fields of a list of paths: `field`, and `field:to` for each form that the language has."""
        forms = ("", *self._words["forms"])
        return {f"{field}:{form}".rstrip(":"): self._listed([self.path(one, form) for one in paths]) for form in forms}

    def _risk(self, act: Action, provenance: Provenance) -> str:
        """Return the call's worst consequence in words, and whose text the model had read before."""
        words, kinds = self._words["risk"], {str(kind) for kind in act.kinds}
        order = (*KINDS_IN_ORDER, "leaves", "reaches out", "unsandboxed", "unknown")
        if str(act.arguments.get("read_back", "")).startswith(tuple(self._words["passing"])):
            kinds.discard("persists")
        first = next((str(words[kind]) for kind in order if kind in kinds and kind in words), "")
        if provenance.secrets and act.hosts:
            return first + str(words["secret_read"]).format(secret=", ".join(provenance.secrets).translate(_MARKS))
        others = sources(provenance.tainted_by, self._language)
        return first + (str(words["read"]).format(source=self._listed(others)) if others else "")

    def _deed(self, act: Action) -> str:
        """Return what a call that is no command does."""
        if act.agreed is not None:
            return self._agreed(act.agreed)
        words, fields = self._words, self._fields(act)
        templates = by_tool({name: one for name, one in words["tools"].items() if name != "*"}, act.tool)
        if templates is None:
            is_pointed = act.effect.value == "desktop" and not act.text
            templates = words["tools"]["*"] if is_pointed else [words["effects"][act.effect.value]]
        return self._said([*templates, words["effects"][act.effect.value]], fields)

    def _agreed(self, phrase: Phrase) -> str:
        """Return the phrase that the tool itself has for the call, which is agreed to word for word."""
        words = partial(in_language, language=self._language)
        # Not by `_said`, because a part may be empty.
        return self._put(self._with_verb(words(phrase.text)), phrase.spoken(words))

    def _fields(self, act: Action) -> dict[str, str]:
        control, names = act.control, self._names
        given = {name: str(value) for name, value in act.arguments.items() if isinstance(value, str | int | float)}
        whole = {name: clip_line(given[name], _WHOLE_CHARS) for name in _AGREED_TO if name in given}
        title, app = control.window.title, control.window.app
        fields: dict[str, str] = {
            **{name: clip_line(value, _OBJECT_CHARS) for name, value in given.items()},
            **whole,
            "tool": act.tool.replace("_", " "),
            "control": _called(
                control.name or control.scene.default or given.get("target", ""), names["unnamed"], names
            ),
            "button": _called(control.name, "", names) if "button" in control.role else "",
            "window": _called(title, app or names["unknown_window"], names),
            "window:to": _called(title, app or names["unknown_window_to"], names),
            "host": self._listed(act.hosts),
            "keys": " ".join(map(self._chord, act.keys)) or self._chord(given.get("keys", "")),
        }
        if ends := _ends(act):
            fields |= {**self.in_forms("things", ends[0]), **self.in_forms("to", ends[1])}
        if act.paths or "path" in given:
            as_written = [_as_judged(given["path"], act.paths)] if "path" in given else act.paths
            fields |= self.in_forms("path", as_written)
        if act.text and "text" not in given:
            fields["text"] = clip_line(act.text, _OBJECT_CHARS)
        return fields

    def _chord(self, keys: str) -> str:
        return "+".join(self._words["keys"].get(key, key) for key in keys.split("+"))

    def _phrases(self, command: str) -> Iterator[tuple[int, str]]:
        """Yield a pair for each program of the command: a weight, and the phrase for it.

        0: it only reads. 1: it reads for the next one. 2: it changes the folder. 3: it makes something. 4: it may do
        anything else, which is always told.
        """
        try:
            found = programs(command.translate(_MARKS), self._words)
        except ValueError:
            return
        for program in found:
            phrase = self._said(self._words["programs"].get(program.key, ()), self._objects(program))
            phrase = phrase or self._marked("unknown", command=clip_line(" ".join(program.written), _OBJECT_CHARS))
            is_mild = (program.name if program.key == "*" else program.key) in self._words["mild"]
            usual = 2 if program.key == "cd" else 3 if program.key in self._words["makers"] else 4
            weight = int(program.is_piped) if is_mild else usual
            yield (4, str(self._words["admin"]).format(deed=phrase)) if program.is_admin else (weight, phrase)

    def _objects(self, program: CommandProgram) -> dict[str, str]:
        """Return the words of a program under the names that the templates use, such as `first`, `all` and `host`."""
        rest = program.objects
        lists = {"all": rest, "most": rest[:-1], "all_but_first": rest[1:], "first": rest[:1], "last": rest[-1:]}
        lists |= {"remote": rest[-1:] if rest and _REMOTE.match(rest[-1]) else (), **program.values}
        hosts = [found[1] for one in rest if (found := _HOST.match(one))]
        as_written = [self.path(one) if one == PIPED else one for one in rest]
        return {
            **{name: text for one in lists for name, text in self.in_forms(one, lists[one]).items()},
            "program": program.name,
            "word": clip_line(as_written[0], _OBJECT_CHARS) if rest else "",
            "words": clip_line(" ".join(as_written), _OBJECT_CHARS),
            "more": clip_line(" ".join(as_written[1:]), _OBJECT_CHARS),
            "host": self._listed(hosts) if len(hosts) == len(rest) else "",
        }

    def _marked(self, name: str, **fields: str) -> str:
        return self._said([self._words[name]], fields)

    def _said(self, templates: Iterable[str], fields: Mapping[str, str]) -> str:
        """Return the first template whose names all have a value, filled in and with its verb marked; "" without one.

        The verb is what stands between asterisks, or else the first or last word, as the language has it.
        """
        template = next((one for one in templates if all(fields.get(name) for name in _named(one))), "")
        return self._put(self._with_verb(template), fields)

    def _with_verb(self, template: str) -> str:
        verb, at = (_VERB, 1) if "*" in template else (_VERBS_AT[self._words["verb"]], 0)
        return verb.sub(lambda found: f"{_OPEN}{found[at]}{_SHUT}", template)

    def _put(self, template: str, fields: Mapping[str, str]) -> str:
        """Return the template filled in. A name may have a form, as in `{last:to}`."""
        pieces = Formatter().parse(template)
        return "".join(
            text + (fields[f"{name}:{form}".rstrip(":")].translate(_MARKS) if name else "")
            for text, name, form, _ in pieces
        )

    def _listed(self, values: Sequence[str]) -> str:
        """`a`, `a and b`, `a and 3 more`."""
        words = self._words
        if len(values) > _MOST_DEEDS:
            return str(words["many"]).format(first=values[0], count=len(values) - 1)
        return str(words["and"]).join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values)


def _named(template: str) -> list[str]:
    return [f"{name}:{form}".rstrip(":") for _, name, form, _ in Formatter().parse(template) if name]


def _as_judged(path: str, judged: Sequence[str]) -> str:
    """Return a path as it is written, or as it was judged if that is elsewhere."""
    parts = Path(path).expanduser().parts
    is_plain = not judged or path.rstrip("/") in ("", ".", "..") or Path(judged[0]).parts[-len(parts) :] == parts
    return path if is_plain else judged[0]


def _from_and_to(act: Action) -> tuple[str, ...]:
    """Return what a call moves or copies and where to, as texts for people; () for any other call."""
    return tuple(_Asker("").in_forms("all", ends)["all"] for ends in _ends(act))


def _ends(act: Action) -> tuple[Sequence[str], ...]:
    """Return the paths that a call moves or copies, and those where they go; () for any other call."""
    counts = [
        len(given) for name in ("source", "destination") if isinstance(given := act.arguments.get(name), list | tuple)
    ]
    if len(counts) != 2 or sum(counts) != len(act.paths):
        return ()
    return act.paths[: counts[0]], act.paths[counts[0] :]
