"""Bring the catalogues up to date with the texts of Wisp: `scripts/translations [LANG]`; LANG begins another language.

It does what xgettext and msgmerge do, and reads Wisp's tables, too. A text of the code counts if it is given to a
translating function: as a literal, or by a name whose values the module shows. A translation whose English text has
changed a little is kept, marked fuzzy: until somebody has confirmed it, people read English.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import polib

from app.base.translation import CATALOGUE
from app.features import loading
from app.settings import catalog
from app.ui.preferences import fields

ROOT = Path(__file__).resolve().parents[1]
LANGUAGES = ROOT / "resources" / "languages"
_SAYS = ("say", "warn", "is_agreed")
_TAKES = {
    **dict.fromkeys(_SAYS, 0),
    **dict.fromkeys(("Phrase", "says", "words", "word", "translated", "_translated"), 0),
    **dict.fromkeys(("ToolFailed", "NeedsPerson", "WispError"), 0),
    **dict.fromkeys(("translate", "tr", "_that"), 1),
}
"""What translates, now or later, and which of its arguments is the text."""
_TAKES_PLURAL = ("plural", "counted")
_MAKES_FINDINGS = ("ok", "note", "fail")
_TAKES_HELP = ("add_argument", "add_parser")
_NAMES_COMMANDS = ("COMMANDS", "commands", "_FIRST", "_GROUPS", "_MORE", "_SAID_PLAINLY")
"""Tables of the help of `wisp`. What stands on the right is translated; where that is a tuple, what stands on the left.
"""
_IN_TABLES = {
    "extras.toml": ("says.*", "extra.*.title", "extra.*.about"),
    "preferences.toml": ("units.*.text",),
    "prompts/loop.toml": ("endings.*",),
    "prompts/rewriting.toml": ("*.name",),
    "suggestions.toml": ("suggestions.*", "fitting.*.plain.*", "fitting.*.more.*"),
    "surfaces/engine.toml": ("frame.*", "answers.question"),
    "welcome.toml": (
        *("sentence", "again", "found", "answering", "who*"),
        *("wish.*.label", "wish.*.text", "wish.*.undo*", "offer.*.text"),
    ),
}
"""Where the texts that people read stand in the tables of `resources`."""
_BRACES = re.compile(r"\{(\w*)[^}]*\}")
_ALIKE = 0.8

Key = tuple[str, str]
"""A message: its English text, and that for many things; "" for one without plural."""


class Texts:
    """The texts of Wisp: `messages` with the places where they are, and what may have a context."""

    def __init__(self) -> None:
        self.messages: dict[Key, list[str]] = {}
        self.contexts: set[Key] = set()
        self.strings: dict[str, str] = {}
        modules = [_Module(path) for path in sorted((ROOT / "app").rglob("*.py"))]
        names: dict[str, list[ast.expr]] = {}
        for module in modules:
            for name, value in module.constants.items():
                names.setdefault(name, []).append(value)
        imported = {name: found[0] for name, found in names.items() if len(found) == 1}
        for module in modules:
            module.imported = imported
            for key, context in module.messages():
                self._add(key, module.name)
                self.contexts |= {(context, key[0])} if context else set()
            for text in module.commands():
                self._add((text, ""), module.name)
            for string in module.strings():
                self.strings.setdefault(string, module.name)
        self._add_settings()
        for file, places in _IN_TABLES.items():
            for at, text in _leaves(tomllib.loads((ROOT / "resources" / file).read_text(encoding="utf-8"))):
                if any(fnmatchcase(at, place) for place in places):
                    self._add((text, ""), f"resources/{file}")

    def _add_settings(self) -> None:
        loading.everything()
        for setting in catalog.every():
            # A language is called by its own name everywhere.
            shown = () if setting is catalog.LANGUAGE else setting.choices
            choices = (fields.english_choice(one) for one in shown)
            for text in (fields.english_label(setting), setting.description, *choices):
                self._add((text, ""), "app/settings/catalog.py")
        for page in fields.pages():
            self._add((page.title, ""), "resources/preferences.toml")

    def _add(self, key: Key, place: str) -> None:
        if any(map(str.isalpha, _BRACES.sub("", key[0]))):
            places = self.messages.setdefault(key, [])
            places += [] if place in places else [place]

    def known(self, entry: polib.POEntry) -> list[str]:
        """Return where the entry's text is; [] if it is nowhere. Values that are translated later are found so."""
        key = (entry.msgid, entry.msgid_plural)
        if entry.msgctxt and (entry.msgctxt, entry.msgid) not in self.contexts:
            return []
        if key in self.messages:
            return self.messages[key]
        where = self.strings.get(entry.msgid, "")
        return [where] if where and not entry.msgid_plural else []


class _Module:
    """A module of `app`, with the constants at its top."""

    def __init__(self, path: Path) -> None:
        self.name = path.relative_to(ROOT).as_posix()
        self._tree = ast.parse(path.read_text(encoding="utf-8"))
        self.constants = dict(_assigned(self._tree.body))
        self.imported: dict[str, ast.expr] = {}

    def strings(self) -> Iterator[str]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value

    def commands(self) -> Iterator[str]:
        """Yield what the help says about the commands of this module."""
        for name, table in _assigned(ast.walk(self._tree)):
            if name in _NAMES_COMMANDS and isinstance(table, ast.Dict):
                for left, right in zip(filter(None, table.keys), table.values, strict=True):
                    told = left if isinstance(right, ast.Tuple) else right
                    yield from self._texts(told, ())

    def messages(self, node: ast.AST | None = None, scopes: tuple[ast.AST, ...] = ()) -> Iterator[tuple[Key, str]]:
        """Yield each text that the module gives to a translating function, and the context that it names."""
        node = node or self._tree
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            scopes = (node, *scopes)
        if isinstance(node, ast.Call):
            yield from self._taken(node, scopes)
        for child in ast.iter_child_nodes(node):
            yield from self.messages(child, scopes)

    def _taken(self, call: ast.Call, scopes: tuple[ast.AST, ...]) -> Iterator[tuple[Key, str]]:
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name in _TAKES_HELP:
            helps = [keyword.value for keyword in call.keywords if keyword.arg == "help"]
            yield from (((text, ""), "") for one in helps for text in self._texts(one, scopes))
            return
        of = getattr(getattr(call.func, "value", None), "id", "")
        given = [one for arg in call.args for one in self._spread(arg, scopes)]
        many = next((keyword.value for keyword in call.keywords if keyword.arg == "many"), None)
        if name in _TAKES_PLURAL and len(given) > 1:
            given, many = given[:1], given[1]
        elif name in _MAKES_FINDINGS and self.name.startswith(("app/commands/", "app/features/")):
            yield from (((text, ""), "") for one in given for text in self._texts(one, scopes))
            return
        elif (
            (name in _SAYS and self.name.startswith(("app/protocol/", "app/ui/")))
            or name not in _TAKES
            or of == "resources"
            or len(given) <= _TAKES[name]
        ):
            return
        at = _TAKES.get(name, 0)
        ones = self._texts(given[at], scopes)
        pairs = zip(ones, self._texts(many, scopes), strict=False) if many else ((one, "") for one in ones)
        context = given[0].value if at and isinstance(given[0], ast.Constant) else ""
        yield from ((pair, str(context)) for pair in pairs)

    def _spread(self, arg: ast.expr, scopes: tuple[ast.AST, ...]) -> list[ast.expr]:
        found = self._values(arg.value, scopes) if isinstance(arg, ast.Starred) else []
        return [one for value in found if isinstance(value, ast.Tuple) for one in value.elts] or [arg]

    def _texts(self, node: ast.expr, scopes: tuple[ast.AST, ...]) -> list[str]:
        """Return the strings that an expression may be; those of an f-string only if all its parts are known."""
        found: list[str] = []
        for value in self._values(node, scopes):
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.append(value.value)
            elif isinstance(value, ast.JoinedStr):
                made = [""]
                for part in value.values:
                    inner = self._texts(part.value if isinstance(part, ast.FormattedValue) else part, scopes)
                    made = [begin + end for begin in made for end in inner]
                found += made
        return found

    def _values(
        self, node: ast.expr, scopes: tuple[ast.AST, ...], seen: frozenset[str] = frozenset()
    ) -> list[ast.expr]:
        """Return the expressions that a name, a choice or an element of a table stands for."""
        values = functools.partial(self._values, scopes=scopes, seen=seen)
        match node:
            case ast.IfExp():
                return values(node.body) + values(node.orelse)
            case ast.BoolOp():
                return [one for each in node.values for one in values(each)]
            case ast.Subscript(slice=ast.Constant(value=int(at))):
                return [one for each in values(node.value) for one in _element(each, at)]
            case ast.Subscript():
                return [one for each in values(node.value) for one in _elements(each)]
            case ast.Call(func=ast.Attribute(attr="get"), args=[_, *default]):
                table = [one for each in values(node.func.value) for one in _elements(each)]
                return table and table + [one for each in default for one in values(each)]
            case ast.Name(id=name) if name not in seen:
                return self._named(name, scopes, seen | {name})
        return [node]

    def _named(self, name: str, scopes: tuple[ast.AST, ...], seen: frozenset[str]) -> list[ast.expr]:
        for scope in scopes:
            if found := _assigned_in(scope).get(name):
                return [each for value in found for each in self._values(value, scopes, seen)]
        constant = self.constants.get(name, self.imported.get(name))
        return [] if constant is None else self._values(constant, scopes, seen)


@functools.cache
def _assigned_in(scope: ast.AST) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for name, value in _assigned(ast.walk(scope)):
        found.setdefault(name, []).append(value)
    return found


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that these statements assign, with their values; of `a, b = x` each with its element of x."""
    for node in nodes:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, ast.Tuple):
                for at, one in enumerate(target.elts):
                    if isinstance(one, ast.Name):
                        yield one.id, ast.Subscript(node.value, ast.Constant(at))


def _element(node: ast.expr, at: int) -> list[ast.expr]:
    return [node.elts[at]] if isinstance(node, ast.Tuple | ast.List) and at < len(node.elts) else []


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.values if isinstance(node, ast.Dict) else list(getattr(node, "elts", ()))


def _leaves(tree: object, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text of a table with its place, such as `page.0.title`."""
    if isinstance(tree, str):
        yield at, tree
    branches = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, branch in branches:
        yield from _leaves(branch, f"{at}.{name}".lstrip("."))


def catalogue(language: str) -> polib.POFile:
    """Return a language's catalogue; an empty one if the language is new."""
    file = LANGUAGES / language / CATALOGUE
    if file.is_file():
        return polib.pofile(str(file), encoding="utf-8", wrapwidth=0)
    made = polib.POFile(wrapwidth=0)
    made.metadata = {
        "Project-Id-Version": "Wisp",
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": "nplurals=2; plural=(n != 1);",
    }
    return made


def template(texts: Texts) -> dict[Key, list[str]]:
    """Return all messages with their places, in order: those that Wisp's code and tables show, and those that are found
    in a catalogue and stand in the code as values."""
    found = {key: list(places) for key, places in texts.messages.items()}
    for file in LANGUAGES.glob(f"*/{CATALOGUE}"):
        for entry in catalogue(file.parent.name):
            key = (entry.msgid, entry.msgid_plural)
            if not entry.msgctxt and key not in found and (places := texts.known(entry)):
                found[key] = places
    return dict(sorted(found.items(), key=lambda item: item[1][0]))


def lacking(language: str, texts: Texts) -> list[str]:
    """Return the English texts that have no translation in a language."""
    there = {(entry.msgid, entry.msgid_plural) for entry in catalogue(language).translated_entries()}
    return [key[0] for key in template(texts) if key not in there]


def unused(language: str, texts: Texts) -> list[str]:
    """Return the texts of a catalogue that Wisp no longer has."""
    return [entry.msgid for entry in catalogue(language) if not texts.known(entry)]


def update(language: str, texts: Texts) -> None:
    """Write a language's catalogue anew: with every message of Wisp, and without those that it no longer has."""
    old = catalogue(language)
    kept = {(entry.msgid, entry.msgid_plural): entry for entry in old if not entry.msgctxt}
    special = [entry for entry in old if entry.msgctxt and texts.known(entry)]
    wanted = template(texts)
    gone = {key[0]: entry for key, entry in kept.items() if key not in wanted}
    forms = range(int(re.findall(r"nplurals=(\d+)", old.metadata["Plural-Forms"])[0]))
    old.clear()
    for key, places in wanted.items():
        entry = kept.get(key) or _begun(key, gone)
        if key[1]:
            entry.msgstr_plural = {form: entry.msgstr_plural.get(form, "") for form in forms}
        entry.occurrences = [(place, "") for place in places]
        old.append(entry)
    old.extend(special)
    (LANGUAGES / language).mkdir(exist_ok=True)
    old.save(str(LANGUAGES / language / CATALOGUE))


def _begun(key: Key, gone: dict[str, polib.POEntry]) -> polib.POEntry:
    """Return a new entry, with the translation of a text that is gone and was nearly the same."""
    entry = polib.POEntry(msgid=key[0], msgid_plural=key[1])
    near = [gone[one] for one in difflib.get_close_matches(key[0], gone, 1, _ALIKE)]
    if near and bool(near[0].msgid_plural) == bool(key[1]):
        entry.msgstr, entry.msgstr_plural, entry.flags = near[0].msgstr, near[0].msgstr_plural, ["fuzzy"]
    return entry


def names_in(text: str) -> list[str]:
    """Return what stands in braces in a text, such as `{name!r}`."""
    return sorted(found[0] for found in _BRACES.finditer(text))


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/translations", description=__doc__)
    parser.add_argument("language", metavar="LANG", nargs="?", help="two letters, such as fr: begin this language")
    language, texts = parser.parse_args().language, Texts()
    there = sorted(file.parent.name for file in LANGUAGES.glob(f"*/{CATALOGUE}"))
    for one in [language] if language else there:
        update(one, texts)
        print(f"{one}: {len(lacking(one, texts))} of {len(template(texts))} texts are not translated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
