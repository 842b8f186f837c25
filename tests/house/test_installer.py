"""The package for Linux asks for what the product needs, and names nothing that is not there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts import packaging

ROOT = Path(__file__).resolve().parents[2]
LINUX = ROOT / "installer" / "linux"


def _field(name: str) -> set[str]:
    control = (LINUX / "control").read_text(encoding="utf-8")
    found = re.search(rf"^{name}: (.*(?:\n .*)*)", control, re.MULTILINE)
    assert found
    return {re.split(r"[ |(]", entry.strip())[0] for entry in found.group(1).split(",")}


def test_the_package_depends_on_all_that_setup_installs() -> None:
    setup = (ROOT / "scripts" / "setup").read_text(encoding="utf-8")
    needed = re.search(r"^packages=\(([^)]*)\)", setup, re.MULTILINE)
    assert needed
    assert set(needed.group(1).split()) - _field("Depends") == set()
    assert {name for name in _field("Depends") if name.startswith("python")} == set()


def test_the_control_file_takes_name_version_and_description_from_the_project() -> None:
    control = (LINUX / "control").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(re.findall(r"@(\w+)@", control)) == {"version", "architecture", "size_kb", "description"}
    assert project["version"] not in control
    assert len(project["description"]) <= 80


def test_the_container_of_a_node_copies_what_there_is_and_adds_exactly_what_the_cluster_needs_besides() -> None:
    text = (ROOT / "installer" / "fleet" / "Containerfile").read_text(encoding="utf-8")
    copied = [name for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE) for name in line.split()]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE))
    needed = {re.split(r"[^\w.-]", one)[0] for one in metadata.requires("ray") or [] if "extra ==" not in one}
    added = re.search(r"\^\(([\w|-]+)\)==", text)
    assert added
    assert set(added[1].split("|")) == {"ray", *needed} - locked


def test_the_menu_entry_starts_the_program_by_its_name() -> None:
    entry = (LINUX / "wisp.desktop").read_text(encoding="utf-8")
    assert {"Exec=wisp", "Icon=wisp", "Type=Application"} <= set(entry.splitlines())
    assert (LINUX / "wisp.svg").is_file()


def test_the_first_release_of_the_changelog_is_this_version_and_what_software_centres_read() -> None:
    version, date, points = packaging.releases()[0]
    release = ElementTree.fromstring(packaging.metainfo()).find("releases/release")
    assert release is not None
    assert release.attrib == {"version": version, "date": date}
    assert [point.text for point in release.iter("li")] == points
    assert 0 < len(points) <= 10
    assert version == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_the_man_page_and_the_completion_know_all_arguments_of_commands_and_of_those_below_them() -> None:
    parser = packaging.whole_parser()
    assert parser.parse_args(["mcp", "serve", "--desktop", "private"]).desktop == "private"
    assert parser.parse_args(["do", "--mode", "plan", "a task"]).task == "a task"


def test_the_locks_pin_and_hash_everything_and_hold_no_address() -> None:
    for lock in (
        ROOT / "requirements.lock",
        ROOT / "tests" / "requirements.lock",
        ROOT / "installer" / "requirements.lock",
    ):
        entries = re.split(r"\n(?=[a-z0-9])", lock.read_text(encoding="utf-8").strip())
        assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []
        assert "://" not in lock.read_text(encoding="utf-8")


def test_python3_xlib_is_installed_nowhere() -> None:
    for lock in (ROOT / "requirements.lock", ROOT / "tests" / "requirements.lock"):
        lines = [line for line in lock.read_text(encoding="utf-8").splitlines() if line.startswith("python3-xlib")]
        assert [line for line in lines if "sys_platform == 'never'" not in line] == []


def test_the_scripts_of_the_package_are_valid_shell() -> None:
    for script, shell in ((ROOT / "scripts" / "package", "bash"), (LINUX / "check", "sh")):
        subprocess.run([shell, "-n", str(script)], check=True)


_HOLDS = """
import fcntl, sys
with open(sys.argv[1], "w") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""
_APT = """#!/bin/sh
case "$*" in
    *update*) exec /usr/bin/apt-get -o Dir::State::lists={lists} -o Dir::Etc::sourcelist=/dev/null \\
        -o Dir::Etc::sourceparts=/dev/null -o Dir::Cache={lists} "$@" ;;
    *) echo "$@" >>{installed}; exit 7 ;;
esac
"""
_SUDO = """#!/bin/sh
[ "$1" = -n ] && shift
exec "$@"
"""


@pytest.mark.skipif(not shutil.which("apt-get"), reason="another system, without apt")
def test_the_set_up_waits_for_another_apt(tmp_path: Path) -> None:
    lists, installed, commands = (tmp_path / name for name in ("lists", "installed", "commands"))
    for folder in (lists / "partial", commands):
        folder.mkdir(parents=True)
    for name, script in {
        "apt-get": _APT.format(lists=lists, installed=installed), "sudo": _SUDO, "dpkg-query": "#!/bin/sh\n",
    }.items():  # fmt: skip
        (commands / name).write_text(script, encoding="utf-8")
        (commands / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{commands}:{os.environ['PATH']}"}
    holds = [sys.executable, "-c", _HOLDS, str(lists / "lock")]
    with subprocess.Popen(holds, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin and other.stdout
        other.stdout.readline()
        with subprocess.Popen(
            [ROOT / "scripts" / "setup"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as setup:
            assert setup.stderr
            said = ""
            for line in setup.stderr:
                said += line
                if "another apt is at work" in line:
                    other.stdin.close()  # ends the other one only now, so that the set-up must have met it
    assert (setup.returncode, "another apt is at work" in said) == (7, True), said
    assert "DPkg::Lock::Timeout=300" in installed.read_text(encoding="utf-8")
