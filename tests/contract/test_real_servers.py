"""Tool servers of others, in the sandbox as a person adds them: offered, called, and done by effect.

Those of Python come with the test set-up. `python -m scripts.bench.real_servers FOLDER` installs those of npm and the
skills; WISP_REAL_SERVERS=FOLDER names that folder.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from app.features.skills.store import Skills
from scripts.bench.real_servers import REAL_SERVERS, SKILLS, RealServer, failures, skills_read

FOLDER = Path(os.environ.get("WISP_REAL_SERVERS", "/nowhere"))


@pytest.mark.long
@pytest.mark.parametrize("server", REAL_SERVERS, ids=lambda server: server.name)
async def test_a_real_server_is_offered_and_does_what_it_is_asked(server: RealServer, tmp_path: Path) -> None:
    command = server.installed(FOLDER)
    if not command or not shutil.which(command[0]):
        pytest.skip(f"{server.module} is not installed: python -m scripts.bench.real_servers FOLDER")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    folder = FOLDER if FOLDER.exists() else workspace
    offered, failed = await failures(server, command, folder, workspace)
    assert (failed, offered > 0) == ([], True)


def test_a_real_collection_of_skills_is_read_and_offered(tmp_path: Path) -> None:
    if not (FOLDER / "node_modules" / "ai-labs-claude-skills").exists():
        pytest.skip("the collection is not installed: python -m scripts.bench.real_servers FOLDER")
    assert skills_read(FOLDER) == (SKILLS, [])
    found = Skills(tmp_path).find()
    assert len([skill for skill in found.skills if skill.scope == "person"]) == SKILLS
