"""A drawing and a generated picture become files that an undo takes back, and the model sees them."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PIL import Image

from app.agent.policy import Decision, Mode, Policy, Trust
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry
from app.base import paths
from app.base.errors import ToolMisuse, WispError
from app.features.looks.drawings import Drawings
from app.features.looks.wallpaper import DesktopWallpaper
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.providers.images import PictureMaker, shape_of
from app.services.files.changes import Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.places import Workspace
from app.services.svg import SvgRenderer
from app.services.web.pages import Pages
from app.settings.store import Settings
from app.tools.registry import TurnContext, admitted
from tests.support.loopback.openai import OpenAIServer
from tests.support.loopback.replies import Status
from tests.support.loopback.server import Seen

SUN = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10"><circle r="5" cx="5" cy="5"/><script/></svg>'


class Studio:
    """A workspace, with a maker on loopback."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        settings = Settings({}, {}).with_values(images__base_url=address)
        workspace = Workspace(self.folder)
        self.changes = Changes(workspace, Checkpoints(folder / "checkpoints"))
        maker = PictureMaker(lambda: settings, lambda _name: "")
        self.renderer = SvgRenderer()
        self._drawings = Drawings(workspace, self.changes, self.renderer, maker, Pages(loopback=True))

    async def call(self, tool: str, judged: Sequence[str] | None = None, **arguments: JsonValue) -> ToolResult:
        handler = {"create_svg": self._drawings.create_svg, "generate_image": self._drawings.generate}[tool]
        context = TurnContext(admitted, turn_id="t1", judged=lambda: judged)
        return await handler(ToolCall("c1", tool, arguments), context)


def _picture() -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (30, 20), "blue").save(data, "PNG")
    return data.getvalue()


def _answers(seen: Seen) -> Status:
    if seen.body["prompt"] == "by address":
        return Status(200, body=json.dumps({"created": 1, "data": [{"url": "http://127.0.0.1:9/x.png"}]}))
    coded = base64.b64encode(b"no picture" if seen.body["prompt"] == "broken" else _picture()).decode()
    return Status(200, body=json.dumps({"created": 1, "data": [{"b64_json": coded}]}))


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    with OpenAIServer(extra=_answers) as server:
        made = Studio(tmp_path, server.url)
        yield made
        made.renderer.close()


async def test_a_drawing_is_kept_without_what_could_run_and_is_seen(studio: Studio) -> None:
    done = await studio.call("create_svg", name="The Sun!", svg=SUN)
    assert (done.payload["path"], done.payload["undoable"]) == ("images/the-sun.svg", True)
    assert "Left out, because it could run or reach something: script." in done.llm_echo
    kept = (studio.folder / "images" / "the-sun.svg").read_text()
    assert "circle" in kept
    assert "script" not in kept
    [media] = done.llm_media
    assert (media.media_type, media.width, media.height) == ("image/png", 1024, 512)


@pytest.mark.parametrize("tool", ["create_svg", "generate_image"])
@pytest.mark.parametrize("path", ["sun", "sun.svg", ""])
async def test_no_link_leads_a_drawing_to_what_was_not_judged(studio: Studio, tool: str, path: str) -> None:
    kept, ending = studio.folder.parent / "kept", "svg" if tool == "create_svg" else "png"
    kept.mkdir()
    (kept / "thesis").write_text("mine")
    for link in ("sun.svg", "sun.png"):
        (studio.folder / link).symlink_to(kept / "thesis")
    (studio.folder / "images").symlink_to(kept)
    given = {"path": path} if path else {}
    drawn = {"svg": SUN, "name": "sun"} if ending == "svg" else {"prompt": "sun"}
    with pytest.raises(WispError, match="leads to another place"):
        await studio.call(tool, (str(studio.folder / path),), **given, **drawn)
    assert [one.read_text() for one in kept.iterdir()] == ["mine"]


async def test_the_next_one_of_that_name_replaces_nothing_and_each_is_taken_back(studio: Studio) -> None:
    for _ in range(2):
        await studio.call("create_svg", name="Sun", svg=SUN)
    assert sorted(path.name for path in (studio.folder / "images").iterdir()) == ["sun-2.svg", "sun.svg"]
    studio.changes.restore("t1")
    assert list(studio.folder.rglob("*.svg")) == []


async def test_a_generated_picture_is_kept_whole_and_seen(studio: Studio) -> None:
    done = await studio.call("generate_image", prompt="A blue  field", size="landscape")
    assert done.payload["path"] == "images/a-blue-field.png"
    assert (studio.folder / "images" / "a-blue-field.png").read_bytes() == _picture()
    assert [(media.width, media.height) for media in done.llm_media] == [(30, 20)]
    assert "30x20" in done.llm_echo


@pytest.mark.parametrize("path", ["/etc/x.png", ".git/hooks/x.png", ".git/hooks/pre-commit.d/x"])
async def test_nothing_is_generated_for_a_place_that_may_not_be_written(tmp_path: Path, path: str) -> None:
    with OpenAIServer(extra=_answers) as server:
        studio = Studio(tmp_path, server.url)
        with pytest.raises(WispError, match=r"protected|outside|allowed|workspace"):
            await studio.call("generate_image", prompt="a cat", path=path)
        assert server.others == []


async def test_what_is_no_picture_is_kept_nowhere(studio: Studio) -> None:
    for prompt, says in (("broken", "picture"), ("by address", "cannot be reached|could not|refused|connect")):
        with pytest.raises(Exception, match=says):
            await studio.call("generate_image", prompt=prompt)
    with pytest.raises(ToolMisuse, match="prompt"):
        await studio.call("generate_image", prompt=" ")
    assert list(studio.folder.iterdir()) == []


@pytest.mark.parametrize(("mode", "decision"), [(Mode.ASK, "ask"), (Mode.AUTO, "allow"), (Mode.PLAN, "deny")])
def test_generating_is_judged_as_what_reaches_the_network(tmp_path: Path, mode: Mode, decision: str) -> None:
    policy = Policy(tmp_path, mode, surroundings=PolicyDeps(tools=registry().specs))
    spec = registry().find("generate_image")
    assert spec
    verdict = policy.decide(ToolCall("c1", "generate_image", {"prompt": "a sun"}), spec, (), Trust(words="Draw a sun"))
    assert verdict.decision is Decision(decision)


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        ("1024x1024", "square"),
        ("1792x1024", "landscape"),
        ("9:16", "portrait"),
        ("", "square"),
        ("portrait", "portrait"),
    ],
)
def test_sizes_of_a_surface_become_shapes(size: str, shape: str) -> None:
    assert shape_of(size) == shape


async def test_of_the_copies_for_the_desktop_those_stay_that_an_undo_shows(tmp_path: Path) -> None:
    program = tmp_path / "gsettings"
    program.write_text(f"""#!/bin/sh
[ "$1" = get ] && {{ cat "{tmp_path}/kept" 2>/dev/null; exit 0; }}
printf '%s' "$4" > "{tmp_path}/kept"
""")
    program.chmod(0o755)
    environment = {"XDG_CURRENT_DESKTOP": "MATE", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    workspace = Workspace(tmp_path)
    (tmp_path / "sun.png").write_bytes(_picture())
    drawings = Drawings(
        workspace,
        Changes(workspace, Checkpoints(tmp_path / "checkpoints")),
        SvgRenderer(),
        PictureMaker(Settings, lambda _name: ""),
        Pages(),
        DesktopWallpaper(environment),
    )
    turn, copies = TurnContext(admitted, turn_id="t1"), paths.data_dir() / "wallpapers"
    counts = []
    for given in (*({"path": "sun.png"},) * 2, {"restore": True}, *({"path": "sun.png"},) * 9):
        await drawings.set_wallpaper(ToolCall("c1", "set_wallpaper", given), turn)
        counts.append(len(list(copies.iterdir())))
    assert (counts[:4], max(counts)) == ([1, 2, 2, 3], 5)
    assert any(str(copy) in (tmp_path / "kept").read_text() for copy in copies.iterdir())
