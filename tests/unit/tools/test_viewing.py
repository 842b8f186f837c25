"""How a picture reaches the model, and whose words it brings in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from app.agent.policy import Policy
from app.agent.policy.call_analysis import source_of
from app.assembly import registry
from app.base.errors import ToolFailed, ToolMisuse
from app.protocol.call import ToolCall
from app.services.files.places import Workspace
from app.services.web.pages import Pages
from app.tools.registry import TurnContext, admitted
from app.tools.viewing import Viewing
from tests.support.site import Reply, Site, site


@pytest.fixture
def here() -> Iterator[Site]:
    with site() as server:
        yield server


def _viewing(folder: Path | None = None) -> Viewing:
    return Viewing(Pages(loopback=True), Workspace(folder or Path.cwd()))


async def test_a_picture_of_the_web_is_attached(here: Site, tmp_path: Path) -> None:
    here.replies["/p"] = Reply(_png(tmp_path), headers={"Content-Type": "image/png"})
    seen = await _viewing().view(ToolCall("c1", "view_image", {"url": f"{here.url}/p"}), TurnContext(admitted))
    assert (seen.payload["width"], seen.llm_media[0].media_type) == (7, "image/png")


async def test_a_picture_in_a_file_is_attached(tmp_path: Path) -> None:
    _png(tmp_path)
    seen = await _viewing(tmp_path).view(ToolCall("c1", "view_image", {"path": "p.png"}), TurnContext(admitted))
    assert (seen.ok, seen.payload, len(seen.llm_media)) == (True, {"path": "p.png", "width": 7, "height": 5}, 1)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(b"<p>no</p>"), "is text/html"),
        (Reply(b"no", 404), "answered 404"),
        (Reply(b"no", headers={"Content-Type": "image/png"}), "damaged"),
        (Reply(b"", 302, {"Location": "https://example.org/"}), "to another site: https://example.org/"),
        (Reply(b"a" * 5_000_001, headers={"Content-Type": "image/png"}), "is too large"),
    ],
)
async def test_what_is_no_picture_is_refused_with_the_reason(here: Site, reply: Reply, why: str) -> None:
    here.replies["/p"] = reply
    with pytest.raises(ToolFailed, match=why):
        await _viewing().view(ToolCall("c1", "view_image", {"url": f"{here.url}/p"}), TurnContext(admitted))


@pytest.mark.parametrize("arguments", [{}, {"url": "https://example.com/a.png", "path": "a.png"}])
async def test_a_picture_has_one_place(arguments: dict[str, str]) -> None:
    with pytest.raises(ToolMisuse, match="either url or path"):
        await _viewing().view(ToolCall("c1", "view_image", arguments), TurnContext(admitted))


@pytest.mark.parametrize(
    ("arguments", "taint"), [({"url": "https://example.com/a.png"}, "web"), ({"path": "/srv/a.png"}, "")]
)
def test_a_picture_brings_in_the_words_of_where_it_is_from(
    tmp_path: Path, arguments: dict[str, str], taint: str
) -> None:
    spec = next(one for one in registry().specs if one.name == "view_image")
    act = Policy(tmp_path).read(ToolCall("c1", "view_image", arguments), spec)
    assert source_of(act, spec) == taint


def _png(folder: Path) -> bytes:
    Image.new("RGB", (7, 5), "red").save(folder / "p.png")
    return (folder / "p.png").read_bytes()
