"""Make what lies beside the program in a package, out of what the program says itself.

`python -m scripts.packaging share FOLDER` fills a /usr/share: man page, completion, menu entry, icons, AppStream data.
`python -m scripts.packaging wheel FILE` names what a wheel lacks, or holds too much. Both end with 1 and a sentence if
something is wrong. Libraries that only packaging needs are in installer/requirements.in.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from app import cli

ROOT = Path(__file__).resolve().parents[1]
LINUX = ROOT / "installer" / "linux"
COMPLETIONS = {
    "bash": "bash-completion/completions/wisp",
    "zsh": "zsh/site-functions/_wisp",
    "fish": "fish/vendor_completions.d/wisp.fish",
}
MAN_PAGE = "man/man1/wisp.1"
IN_WHEEL = (MAN_PAGE, *COMPLETIONS.values())
_ICON_PX = (48, 64, 128, 256)
_RELEASE = re.compile(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", re.MULTILINE)
_POINT = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)


def project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser of `wisp` with all arguments of all commands. `mcp serve` and its kin stand below `mcp`."""
    parser = argparse.ArgumentParser(prog="wisp", description=project()["description"])
    parser.add_argument("--version", action="store_true", help="print Wisp's version")
    parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, one in sorted(cli._commands().items()):
        *above, last = name.split(" ")
        about = one.about.replace("%", "%%")
        of = _below(parser).choices[above[0]] if above else parser
        one.load().add_arguments(_below(of).add_parser(last, help=about, description=about))
    return parser


def releases() -> list[tuple[str, str, list[str]]]:
    """Return version, date and points of each release in the changelog. The first one must be the project's version."""
    parts = _RELEASE.split((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[1:]
    found = [
        (version, date, [" ".join(point.replace("`", "").split()) for point in _POINT.findall(text)])
        for version, date, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]
    if not found or found[0][0] != project()["version"]:
        told = found[0][0] if found else "no release"
        raise SystemExit(f"CHANGELOG.md tells of {told} first, but pyproject.toml has {project()['version']}.")
    return found


def metainfo() -> str:
    """Return the AppStream data, with the releases of the changelog."""
    tree = ElementTree.parse(LINUX / "metainfo.xml")
    below = tree.find("releases")
    assert below is not None
    for version, date, points in releases():
        release = ElementTree.SubElement(below, "release", version=version, date=date)
        listed = ElementTree.SubElement(ElementTree.SubElement(release, "description"), "ul")
        for point in points:
            ElementTree.SubElement(listed, "li").text = point
    ElementTree.indent(tree)
    return ElementTree.tostring(tree.getroot(), encoding="unicode", xml_declaration=True) + "\n"


def man_page() -> str:
    """Return the man page in troff."""
    from argparse_manpage.manpage import Manpage  # type: ignore[import-not-found]

    about = project()
    told = {"project_name": "wisp", "version": about["version"], "manual_title": "Wisp"}
    return str(Manpage(whole_parser(), told | {"description": about["description"]}, format="single-commands-section"))


def completion(shell: str) -> str:
    """Return the completion for a shell."""
    import shtab  # type: ignore[import-not-found]

    return str(shtab.complete(whole_parser(), shell=shell))


def fill(share: Path) -> None:
    """Write everything below a folder that stands for /usr/share."""
    name = ElementTree.parse(LINUX / "metainfo.xml").findtext("id")
    texts = {MAN_PAGE: man_page(), f"metainfo/{name}.metainfo.xml": metainfo()}
    for place, text in {**texts, **{place: completion(shell) for shell, place in COMPLETIONS.items()}}.items():
        (share / place).parent.mkdir(parents=True, exist_ok=True)
        (share / place).write_text(text, encoding="utf-8")
    for place, source in {
        "applications/wisp.desktop": LINUX / "wisp.desktop",
        "icons/hicolor/scalable/apps/wisp.svg": LINUX / "wisp.svg",
    }.items():
        (share / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, share / place)
    _draw_icons(share / "icons" / "hicolor")


def wrong_in(wheel: Path) -> list[str]:
    """Return a line for each file that a wheel lacks, and for each that is not the product's."""
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {path.relative_to(ROOT).as_posix() for name in ("app", "wisp") for path in _files(ROOT / name)}
    wanted |= {f"app/{path.relative_to(ROOT).as_posix()}" for path in _files(ROOT / "resources")}
    data = f"wisp_desktop-{project()['version']}.data/data/share"
    wanted |= {f"{data}/{place}" for place in IN_WHEEL}
    differing = (("missing", wanted - there), ("not ours", there - wanted))
    return [f"{what}: {name}" for what, names in differing for name in sorted(names)]


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def _below(parser: argparse.ArgumentParser) -> Any:
    """Return the commands below a parser. argparse has no public way to them."""
    return next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))


def _draw_icons(folder: Path) -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    for size in _ICON_PX:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        QSvgRenderer(str(LINUX / "wisp.svg")).render(painter)
        painter.end()
        place = folder / f"{size}x{size}" / "apps" / "wisp.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        image.save(str(place))


def main() -> int:
    what, place = sys.argv[1:]
    if what == "share":
        fill(Path(place))
        return 0
    wrong = wrong_in(Path(place))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
