"""Word what Wisp asks of the person, and why a call is denied.

All words are in `resources/languages`, with the order of words of each language as templates: `tools.toml` says what
calls do, `asking.toml` what commands do, and what is asked and denied.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

from app.agent.command_words import PIPED, CommandProgram, programs
from app.agent.policy.values import Action, Consequence, Decision, Need, Subject, Tier, Trust
from app.base import resources, translation
from app.base.clipping import clip_line
from app.base.phrases import Phrase
from app.base.tool_words import tool_words
from app.base.values import dataclass
from app.protocol.spec import Effect

_SHOWN_CHARS = 160
_WHOLE = (
    Subject.SETTINGS,
    Subject.SESSION,
    Subject.WARNING,
    Subject.KEEPING,
    Subject.COMMAND,
    Subject.LEAVING,
    Subject.OPENING,
    Subject.SENDING,
)
"""What is asked by what the call does, not by a name."""


MODELS = "models"
"""The language of models: English, where "you" is the model."""


def words_in(language: str, name: str) -> Mapping[str, Any]:
    """The `deeds` or the `words` of `asking.toml`; what the language lacks is English."""
    if language == MODELS:
        english = resources.in_language("asking.toml", "")[name]
        return resources.over(english, resources.table("prompts/refusing.toml", resources.Table))
    words: Mapping[str, Any] = resources.in_language("asking.toml", language)[name]
    return words


def of_wall(wall: Consequence, act: Action, language: str = "") -> str:
    """Return the sentence that says which wall denies the call."""
    words, control = words_in(language, "words"), act.control
    fields = {
        "tool": act.tool,
        "path": next(iter(act.paths), "") or clip_line(act.text, _SHOWN_CHARS),
        "host": next(iter(act.hosts), "") or clip_line(act.text, _SHOWN_CHARS),
        "program": control.window.owner.name or control.window.app,
        "control": str(words["quoted"]).format(clip_line(control.name, _SHOWN_CHARS)) if control.name else words["it"],
        "keys": clip_line(" ".join(act.keys), _SHOWN_CHARS),
    }
    return str(words["walls"][wall.value]).format_map(fields)


def instead(by: str) -> str:
    """Return what a model may do instead of a call that a wall or the plan mode denies; "" if there is nothing."""
    return str(words_in("", "words")["instead"].get(by, ""))


def of_plan(act: Action, language: str = "") -> str:
    """Return the sentence for a call in plan mode."""
    words = words_in(language, "words")
    return str(words["plan"]).format(does=words["does"][act.effect.value])


def of_rule(then: Decision, act: Action, language: str = "") -> str:
    """Return the sentence of a rule of the person that has none of its own."""
    words = words_in(language, "words")
    return str(words["rule"][then.value]).format(does=words["does"][act.effect.value])


def of_needs(needs: Sequence[Need], act: Action, trust: Trust, language: str = "") -> str:
    """Return why the person must be asked: what their words do not name, and whose words were read before."""
    words = words_in(language, "words")
    kinds = list(dict.fromkeys(need.subject.value for need in needs))
    told = [str(words["why"][kind]).format(name=_names(needs, kind, words)) for kind in kinds]
    notes = [str(words["tiers"][need.tier.value]) for need in needs if need.tier.value in words["tiers"]]
    if trust.secrets and any(need.is_outward for need in needs):
        notes.append(str(words["after_secrets"]).format(secret=", ".join(trust.secrets)))
    elif trust.tainted_by:
        notes.append(str(words["after_reading"]).format(source=", ".join(sources(trust.tainted_by, language))))
    return " ".join(
        [*told, *dict.fromkeys(notes), *(reason.said(translation.words_in(language)) for reason in act.reasons)]
    )


def of_tier(tier: Tier) -> str:
    """Return what a program of this tier can do for whoever uses it; "" for an ordinary one."""
    return str(words_in("", "words")["tiers"].get(tier.value, ""))


def way_on(needs: Sequence[Need]) -> tuple[str, ...]:
    """Return the names that would allow these needs: `wisp do --allow NAME`. Only what is on one line can be a name.

    There are none if one of the needs cannot be named: then only the person's yes helps.
    """
    if not all(need.is_nameable for need in needs):
        return ()
    return tuple(dict.fromkeys(need.name for need in needs if need.name and need.name.isprintable()))


def who(act: Action) -> str:
    """Return what the call acts on, as a person writes it: the window and its program, the host, or the place."""
    control = act.control
    window, program = clip_line(control.window.title, _SHOWN_CHARS), control.window.owner.name or control.window.app
    if window or program:
        return f"{window} ({program})" if window and program else window or program
    place = next(iter((*act.hosts, *(ends[-1] if (ends := _ends(act)) else act.paths))), "")
    return _Asker("").path(place) if place.startswith("/") else place


def sources(tainted_by: Iterable[str], language: str = "") -> tuple[str, ...]:
    """Return the sources that the turn has read, by names that people know."""
    known = words_in(language, "words")["sources"]
    return tuple(known.get(source, source) for source in tainted_by)


def undo(act: Action, language: str = "") -> str:
    """Return a sentence on what can be undone afterwards."""
    own = tool_words(act.tool, language).undo if Effect.SETTINGS in act.effects else ""
    return own or str(words_in(language, "words")["undo"].get(act.effect.value, ""))


def _names(needs: Iterable[Need], kind: str, words: Mapping[str, Any]) -> str:
    own = words["names"]
    names = list(dict.fromkeys(own.get(need.name, need.name) for need in needs if need.subject.value == kind))
    return str(words["and"]).join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _called(text: str, unnamed: str, words: Mapping[str, Any]) -> str:
    return str(words["quoted"]).format(clip_line(text, _SHOWN_CHARS)) if text.strip() else unnamed


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
        return AskedSentence(f"{self.text} {text}".strip(), self.deed, self.strong)

    def within(self, text: str, begin: str = "") -> AskedSentence:
        """As a part of a longer text, which contains the question."""
        text = f"{begin}{text}"
        at = text.rindex(self.text)
        return AskedSentence(text, self.deed, tuple((start + at, end + at) for start, end in self.strong))


def question(needs: Sequence[Need], act: Action, language: str = "", by: str = "") -> AskedSentence:
    """Return the question for the person: what they would let Wisp use, and what it is about to do.

    `by` is the name of the agent that does it through Wisp, as it calls itself; "" for Wisp.
    """
    by = clip_line(by, _OBJECT_CHARS).translate(_MARKS)
    words = words_in(language, "words")
    deed = _Asker(language, by).question(act).followed_by(_unsaved(act, words))
    named = [need for need in needs if need.subject not in _WHOLE and need.subject.value in words["let"]]
    if not named:
        return deed
    kinds = list(dict.fromkeys(need.subject.value for need in named))
    lets = [str(words["let"][kind]).format(name=_names(named, kind, words)) for kind in kinds]
    begin = str(words["let_begin_by"]).format(by=by) if by else str(words["let_begin"])
    return deed.within(f"{str(words['and']).join(lets)}? {deed.text}", begin=begin)


def _unsaved(act: Action, words: Mapping[str, Any]) -> str:
    """The windows that would lose unsaved changes, where the act ends what is open; "" if none shows any."""
    if Effect.ENDS not in act.effects or not act.controls:
        return ""
    titles = dict.fromkeys(control.window.title for control in act.controls)
    return str(words["unsaved"]).format(windows=", ".join(_called(title, "", words) for title in titles))


class _Asker:
    """Writes questions in one language. A verb stands between marks until the sentence is whole."""

    def __init__(self, language: str, by: str = "") -> None:
        self._language = language
        self._by = by
        self._words, self._names = words_in(language, "deeds"), words_in(language, "words")
        self._commands: Mapping[str, Any] = resources.table("asking/commands.toml", resources.Table)

    def question(self, act: Action) -> AskedSentence:
        words = self._words
        only_looks = Consequence.LOOKS in act.kinds
        folder = str(act.arguments.get("cwd", ""))
        command = act.command if folder in ("", ".", "./") else f"cd {shlex.quote(folder)} && {act.command}"
        told = self._deeds(command, only_looks=only_looks) if act.command else [self._deed(act)]
        joined = str(words["and"]).join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
        framed = str(words["frame_by" if self._by else "frame"]).format(deeds=joined, by=self._by)
        pieces = re.split(f"[{_OPEN}{_SHUT}]", framed)
        ends = [sum(map(len, pieces[: number + 1])) for number in range(len(pieces))]
        strong = tuple((ends[number - 1], ends[number]) for number in range(1, len(pieces), 2))
        return AskedSentence("".join(pieces), joined.translate(_MARKS), strong)

    def _deeds(self, command: str, *, only_looks: bool) -> list[str]:
        found = list(self._phrases(command))
        is_weighty = any(weight > 2 for weight, _ in found)
        told = {phrase: weight for weight, phrase in found if weight or not is_weighty}
        if is_weighty and len(told) > _MOST_DEEDS:
            told = {phrase: weight for weight, phrase in found if weight > 1}
        unknown = [self._marked("unknown", command=clip_line(command, _OBJECT_CHARS))]
        return self._some(told) if told and (is_weighty or only_looks) else unknown

    def _some(self, weights: Mapping[str, int]) -> list[str]:
        """All that must be told, the first of what need not be, and how many other things there are."""
        room = max(_MOST_DEEDS - 1 - sum(weight > 3 for weight in weights.values()), 0)
        first = [phrase for phrase, weight in weights.items() if weight < 4][:room]
        told = [phrase for phrase, weight in weights.items() if weight > 3 or phrase in first]
        left = len(weights) - len(told)
        if len(weights) <= _MOST_DEEDS or left <= 1:
            return list(weights)
        return [*told, self._marked("several", count=str(left))]

    def path(self, text: str, form: str = "") -> str:
        """The path as a person writes it, in a form of the language, such as "to": as where something goes."""
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
        """`field`, and `field:to` for each form that the language has."""
        forms = ("", *self._words["forms"])
        return {f"{field}:{form}".rstrip(":"): self._listed([self.path(one, form) for one in paths]) for form in forms}

    def _deed(self, act: Action) -> str:
        """Only for a call that is no command."""
        if act.agreed is not None:
            return self._agreed(act.agreed)
        words, fields = self._words, self._fields(act)
        is_pointed = act.effect is Effect.DESKTOP and not act.text
        templates = tool_words(act.tool, self._language).asked or ([words["pointed"]] if is_pointed else [])
        return self._said([*templates, words["effects"][act.effect.value]], fields)

    def _agreed(self, phrase: Phrase) -> str:
        """The phrase that the tool itself has for the call; it is agreed to word for word."""
        words = translation.words_in(self._language)
        # Not by `_said`, because a part may be empty.
        return self._put(self._with_verb(phrase.chosen(words)), phrase.spoken(words))

    def _fields(self, act: Action) -> dict[str, str]:
        control, names = act.control, self._names
        given = {name: str(value) for name, value in act.arguments.items() if isinstance(value, str | int | float)}
        whole = {name: clip_line(given[name], _WHOLE_CHARS) for name in _AGREED_TO if name in given}
        title, app = control.window.title, control.window.app
        fields: dict[str, str] = {
            **{name: clip_line(value, _OBJECT_CHARS) for name, value in given.items()},
            **whole,
            "tool": act.tool.replace("_", " "),
            "control": _called(control.name or control.default or given.get("target", ""), names["unnamed"], names),
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
            found = programs(command.translate(_MARKS), {**self._commands, **self._words})
        except ValueError:
            return
        for program in found:
            phrase = self._said(self._words["programs"].get(program.key, ()), self._objects(program))
            phrase = phrase or self._marked("unknown", command=clip_line(" ".join(program.written), _OBJECT_CHARS))
            is_mild = (program.name if program.key == "*" else program.key) in self._commands["mild"]
            usual = 2 if program.key == "cd" else 3 if program.key in self._commands["makers"] else 4
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
        """A name in the template may have a form, as in `{last:to}`."""
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
    """The path as it is written, or as it was judged if that is elsewhere."""
    parts = Path(path).expanduser().parts
    is_plain = not judged or path.rstrip("/") in ("", ".", "..") or Path(judged[0]).parts[-len(parts) :] == parts
    return path if is_plain else judged[0]


def _ends(act: Action) -> tuple[Sequence[str], ...]:
    """Return the paths that a call moves or copies, and those where they go; () for any other call."""
    counts = [
        len(given) for name in ("source", "destination") if isinstance(given := act.arguments.get(name), list | tuple)
    ]
    if len(counts) != 2 or sum(counts) != len(act.paths):
        return ()
    return act.paths[: counts[0]], act.paths[counts[0] :]
