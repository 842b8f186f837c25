"""Hand the texts of a language to translators and take them back: `scripts/translations export|import LANG FILE.ts`.

The file has the format of Qt Linguist (`.ts`), which Weblate and Poedit read too. A text without a translation is
marked `unfinished`. Importing names the texts that are still missing, and refuses a translation that lacks a name in
braces or that belongs to no text of Wisp.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

LANGUAGES = Path(__file__).resolve().parents[1] / "resources" / "languages"
_CONTEXT = "Wisp"
_NAMES = re.compile(r"\{\w*\}")
_HEADER = (
    "# {language}. Each English text of the presence and its translation; braces hold names that stay as they are.\n"
)


class Unusable(Exception):
    """The file cannot be imported. The message names what to repair."""


def sources(folder: Path = LANGUAGES) -> list[str]:
    """Return every English text that has a translation in some language, in the order of the files."""
    return list(dict.fromkeys(text for file in sorted(folder.glob("*.toml")) for text in _texts(file)))


def exported(language: str, folder: Path = LANGUAGES) -> str:
    """Return the texts of a language as a `.ts` file. A new language begins with all texts unfinished."""
    known = _texts(folder / f"{language}.toml")
    root = ElementTree.Element("TS", version="2.1", language=language, sourcelanguage="en")
    context = ElementTree.SubElement(root, "context")
    ElementTree.SubElement(context, "name").text = _CONTEXT
    for text in sources(folder):
        message = ElementTree.SubElement(context, "message")
        ElementTree.SubElement(message, "source").text = text
        translation = ElementTree.SubElement(message, "translation")
        if text in known:
            translation.text = known[text]
        else:
            translation.set("type", "unfinished")
    ElementTree.indent(root)
    written = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{written}\n'


def imported(language: str, text: str, folder: Path = LANGUAGES) -> list[str]:
    """Write a translator's `.ts` file into the language's table. Returns the English texts that are still missing.

    Raises Unusable, and then writes nothing.
    """
    found = _translations(text)
    known = sources(folder)
    if unknown := [source for source in found if source not in known]:
        raise Unusable(f"Wisp has no such text: {unknown[0]!r}")
    for source, translation in found.items():
        if set(_NAMES.findall(source)) != set(_NAMES.findall(translation)):
            raise Unusable(f"The names in braces differ: {source!r} and {translation!r}")
    file = folder / f"{language}.toml"
    header = file.read_text(encoding="utf-8").partition("\n")[0] + "\n" if file.is_file() else ""
    lines = [f"{_quoted(source)} = {_quoted(found[source])}\n" for source in known if source in found]
    head = header or _HEADER.format(language=language)
    file.write_text(f"{head}\n[texts]\n{''.join(lines)}", encoding="utf-8")
    return [source for source in known if source not in found]


def _translations(text: str) -> Mapping[str, str]:
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise Unusable(f"This is no .ts file: {error}") from error
    found: dict[str, str] = {}
    for message in root.iter("message"):
        translation = message.find("translation")
        if translation is not None and translation.get("type") is None and (translation.text or "").strip():
            found[message.findtext("source", "")] = translation.text or ""
    return found


def _texts(file: Path) -> Mapping[str, str]:
    return tomllib.loads(file.read_text(encoding="utf-8"))["texts"] if file.is_file() else {}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/translations", description=__doc__)
    parser.add_argument("what", choices=("export", "import"))
    parser.add_argument("language", metavar="LANG", help="two letters, such as de")
    parser.add_argument("file", metavar="FILE.ts", type=Path)
    options = parser.parse_args()
    if options.what == "export":
        options.file.write_text(exported(options.language), encoding="utf-8")
        return 0
    try:
        missing = imported(options.language, options.file.read_text(encoding="utf-8"))
    except (OSError, Unusable) as error:
        print(error, file=sys.stderr)
        return 1
    print(*(f"Not translated: {text}" for text in missing), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
