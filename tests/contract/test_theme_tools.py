"""The tools for the looks, in every dialect: taught, judged, done to the settings, taken back."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from app.agent.agent_events import ApprovalWanted, Outcome, ToolFinished, TurnEnded
from app.agent.policy import Mode, Policy, Trust
from app.agent.policy.policy import PolicyDeps
from app.agent.policy.values import Decision
from app.base.clock import SystemClock
from app.features.looks.drawings import DRAWING, Drawings
from app.features.looks.tools import LOOKS, Looks
from app.features.looks.wallpaper import DesktopWallpaper
from app.protocol.call import Block, ToolCall
from app.protocol.dialects.choose import NAMES, by_name
from app.providers.images import PictureMaker
from app.providers.scripted import native_call
from app.services.files.changes import Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.places import Workspace
from app.services.svg import SvgRenderer
from app.services.themes import Appearance, active_theme
from app.services.web.pages import Pages
from app.settings import store
from app.settings.catalog import ATMOSPHERE, BACKDROP, FONTS, PALETTE, SCHEME, THEME
from app.settings.store import Settings
from app.tools.conversation import SAY, Speech
from app.tools.edit import EDITS, Edits
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import DOCS, Registry, ToolDocs, TurnContext, admitted
from app.ui.presenter import offers
from app.ui.presenter.view import TakeBack, View
from tests.support.loopback.openai import OpenAIServer
from tests.support.loopback.replies import Status
from tests.support.loopback.server import Seen
from tests.support.site import Reply, Site, site
from tests.support.stage import Stage

REGISTRY = Registry(SAY, DOCS, LOOKS, EDITS, DRAWING)
_GRADIENT = "linear-gradient(160deg, #F3DDBF, #C27848)"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))


def _executor(folder: Path, maker: str = "", port: int = 0) -> Executor:
    """`maker` is the address of the service that draws, `port` that of the one website that can be reached."""
    workspace = Workspace(folder, home=folder)
    wallpaper = DesktopWallpaper({"XDG_CURRENT_DESKTOP": "MATE", "PATH": f"{folder}:{os.environ['PATH']}"})
    edits = Edits(workspace, Changes(workspace, Checkpoints(folder / "checkpoints")), [Appearance(), wallpaper])
    settings = Settings({}, {}).with_values(images__base_url=maker)
    looks = Looks(
        Appearance(),
        PictureMaker(lambda: settings, lambda _name: ""),
        Pages(own_ports=lambda: [port] if port else []),
        wallpaper,
    )
    drawings = Drawings(
        workspace,
        Changes(workspace, Checkpoints(folder / "checkpoints")),
        SvgRenderer(),
        PictureMaker(lambda: settings, lambda _name: ""),
        Pages(),
        wallpaper,
    )
    return Executor(REGISTRY, [Speech(), ToolDocs(REGISTRY.specs), looks, edits, drawings], SystemClock(), seed=1)


def _call(dialect: str, tool: str, /, **arguments: Any) -> Any:
    if dialect == "native":
        return [*native_call("c", tool, arguments)]
    return by_name(dialect).write([ToolCall("", tool, arguments)], REGISTRY.specs)


async def _played(
    folder: Path, dialect: str, *replies: Any, mode: Mode = Mode.ASK, maker: str = "", port: int = 0
) -> tuple[list[ToolFinished], bool]:
    """What was done, and whether the person was asked."""
    events: list[Any] = []
    stage = Stage(
        folder,
        *replies,
        "Done.",
        dialect=dialect,
        registry=REGISTRY,
        executor=_executor(folder, maker, port),
        policy=Policy(folder, mode, surroundings=PolicyDeps(own_ports=lambda: [port] if port else [])),
    )
    stage.session.subscribe(events.append)
    ended = await stage.send()
    assert ended.outcome in (Outcome.FINISHED, Outcome.ANSWERED)
    finished = [event for event in events if isinstance(event, ToolFinished)]
    return finished, any(isinstance(event, ApprovalWanted) for event in events)


def _looks() -> tuple[str, str, str, str]:
    now = store.load()
    return now[THEME], now[FONTS], now[BACKDROP], now[ATMOSPHERE]


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
async def test_a_theme_is_set_without_a_question_and_undone_by_the_newest_change(
    tmp_path: Path, dialect: str, mode: Mode
) -> None:
    done, asked = await _played(tmp_path, dialect, _call(dialect, "set_theme", name="cyberpunk"), mode=mode)
    assert ([(one.ok, one.event) for one in done], asked) == ([(True, "set_theme")], False)
    assert done[0].echo.startswith("The theme is Cyberpunk (as the system). undo_last_change takes it back.")
    assert _looks()[0] == "cyberpunk"
    ended = offers.offer_takeback(offers.noted(View(), done[0]), TurnEnded("t1", Outcome.FINISHED, ""))
    assert ended.items == (TakeBack("i0", "t1", 1, is_mixed=True),)


@pytest.mark.parametrize("dialect", NAMES)
async def test_a_scheme_alone_keeps_the_theme_and_a_theme_alone_the_scheme(tmp_path: Path, dialect: str) -> None:
    seen = []
    for name in ("memphis", "dark", "the plain theme", "cyberpunk-light"):
        done, _ = await _played(tmp_path, dialect, _call(dialect, "set_theme", name=name))
        assert done[0].ok, done[0].echo
        seen.append((store.load()[THEME], store.load()[SCHEME]))
    assert seen == [("memphis", "system"), ("memphis", "dark"), ("plain", "dark"), ("cyberpunk", "light")]
    await _played(tmp_path, dialect, _call(dialect, "reset_theme"))
    assert (store.load()[THEME], store.load()[SCHEME]) == ("plain", "system")


@pytest.mark.parametrize("dialect", NAMES)
async def test_children_with_attributes_are_read(tmp_path: Path, dialect: str) -> None:
    given = {
        "name": "warm-earthy",
        "wallpaper": _GRADIENT,
        "fonts": {"display": "Lora, Georgia", "mono": "Hack"},
        "atmosphere": "a slow Sunday",
    }
    done, _ = await _played(tmp_path, dialect, _call(dialect, "set_theme", **given))
    assert done[0].ok, done[0].echo
    assert _looks() == ("warm-earthy", "display: Lora, Georgia; mono: Hack", _GRADIENT, "a slow Sunday")


@pytest.mark.parametrize("dialect", NAMES)
async def test_a_palette_makes_a_theme_and_faint_colours_are_made_clear_and_told(tmp_path: Path, dialect: str) -> None:
    given = {"name": "plain", "palette": {"paper": "#FFF6E5", "ink": "#3A2418", "muted": "#F0E0C8"}}
    done, _ = await _played(tmp_path, dialect, _call(dialect, "set_theme", **given))
    assert done[0].ok, done[0].echo
    now = active_theme()
    assert (now.palette["paper"], now.palette["ink"]) == ("#FFF6E5", "#3A2418")
    assert now.palette["muted"] != "#F0E0C8"
    assert now.palette["muted"] in done[0].echo
    done, _ = await _played(tmp_path, dialect, _call(dialect, "reset_theme"))
    assert active_theme().palette["paper"] != "#FFF6E5"


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize(
    ("given", "named"),
    [({"ink": "bananas"}, "ink 'bananas'"), ({"ink": "#12345600"}, "ink '#12345600'"), ({}, "no")],
)
async def test_a_palette_that_is_none_is_refused_with_the_bad_colour_and_an_example(
    tmp_path: Path, dialect: str, given: Any, named: str
) -> None:
    done, _ = await _played(tmp_path, dialect, _call(dialect, "set_theme", palette=given))
    assert (done[0].ok, named in done[0].echo, "Write #RRGGBB" in done[0].echo) == (False, True, True), done[0].echo
    assert store.load()[PALETTE] == ""


async def test_colours_by_their_names_are_kept_by_their_numbers(tmp_path: Path) -> None:
    done, _ = await _played(tmp_path, "xml", _call("xml", "set_theme", palette={"accent": "teal", "ink": "#123"}))
    assert (done[0].ok, store.load()[PALETTE]) == (True, "ink: #112233; accent: #008080"), done[0].echo


async def test_fonts_that_the_system_lacks_are_told_with_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program := tmp_path / "fc-list").write_text("#!/bin/sh\necho P052\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    given = {"display": "Lobster, P052", "system": "P052, Lora"}
    done, _ = await _played(tmp_path, "xml", _call("xml", "set_theme", fonts=given))
    assert done[0].ok
    assert "display: this system has no Lobster, so P052 is shown" in done[0].echo
    assert "Lora, so" not in done[0].echo


@pytest.mark.parametrize("dialect", NAMES)
async def test_set_undone_and_reset_in_one_conversation(tmp_path: Path, dialect: str) -> None:
    calls = [
        _call(dialect, "set_theme", name="memphis"),
        _call(dialect, "set_theme", atmosphere="loud"),
        _call(dialect, "undo_last_change"),
    ]
    done, _ = await _played(tmp_path, dialect, *calls)
    assert [one.ok for one in done] == [True, True, True], [one.echo for one in done]
    assert _looks() == ("memphis", "", "", "")
    assert "Took back the change of the theme: it is Memphis (as the system) again." in done[2].echo
    done, _ = await _played(tmp_path, dialect, _call(dialect, "reset_theme"))
    assert (done[0].ok, _looks()) == (True, ("plain", "", "", ""))


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"name": "vaporwave"}, "there is no theme 'vaporwave'"),
        ({"wallpaper": "url(a.png)"}, "Only colours and gradients are"),
        ({"wallpaper": "bananas"}, "bananas is no CSS colour"),
        ({"wallpaper": "red; } body { display: none"}, "a CSS colour or gradient only"),
        ({"fonts": {"display": "url(x)"}}, "fonts: give names of fonts"),
        ({"atmosphere": "x" * 201}, "at most 200"),
        ({}, "name is missing"),
    ],
)
async def test_what_cannot_be_set_is_answered_with_what_to_do_and_changes_nothing(
    tmp_path: Path, dialect: str, given: dict[str, Any], why: str
) -> None:
    done, _ = await _played(tmp_path, dialect, _call(dialect, "set_theme", **given))
    assert not done[0].ok
    assert why in done[0].echo
    assert _looks() == ("plain", "", "", "")


def _picture() -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (40, 30), "navy").save(data, "PNG")
    return data.getvalue()


def _drawn(_seen: Seen) -> Status:
    coded = base64.b64encode(_picture()).decode()
    return Status(200, body=json.dumps({"created": 1, "data": [{"b64_json": coded}]}))


@pytest.fixture
def hill() -> Iterator[Site]:
    with site({"/hill.png": Reply(_picture(), headers={"Content-Type": "image/png"})}) as server:
        yield server


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("kind", ["from_prompt", "url"])
async def test_a_background_is_drawn_or_fetched_shown_in_apps_and_taken_back(
    tmp_path: Path, hill: Site, dialect: str, kind: str
) -> None:
    with OpenAIServer(extra=_drawn) as drawing:
        given = {"from_prompt": "misty hills"} if kind == "from_prompt" else {"url": f"{hill.url}/hill.png"}
        calls = [_call(dialect, "set_theme", wallpaper=given), _call(dialect, "undo_last_change")]
        around: dict[str, Any] = {"mode": Mode.YOLO, "maker": drawing.url, "port": hill.port}
        done, _ = await _played(tmp_path, dialect, calls[0], **around)
        assert done[0].ok, done[0].echo
        kept = Path(_looks()[2])
        assert kept.read_bytes() == _picture()
        assert base64.b64encode(_picture()).decode() in active_theme().wallpaper
        assert [len(drawing.others), len(hill.asked)] == ([1, 0] if kind == "from_prompt" else [0, 1])
        done, _ = await _played(tmp_path, dialect, calls[1], **around)
    assert (done[0].ok, _looks()[2], active_theme().wallpaper) == (True, "", "")
    assert not kept.exists(), "nothing needs the picture any more"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"from_prompt": "hills", "text": "#fff"}, "give one of these"),
        ({"from_prompt": "x" * 4001}, "at most 4000 characters"),
        ({"url": "/missing.png"}, "answered 404"),
        ({"url": "/page"}, "no picture to see"),
        ({"from_prompt": "hills"}, "draw"),
    ],
)
async def test_a_background_that_cannot_be_had_changes_nothing(
    tmp_path: Path, hill: Site, given: dict[str, str], why: str
) -> None:
    hill.replies["/page"] = Reply(b"<p>no</p>")
    given |= {"url": hill.url + given["url"]} if "url" in given else {}
    done, _ = await _played(tmp_path, "xml", _call("xml", "set_theme", wallpaper=given), mode=Mode.YOLO, port=hill.port)
    assert not done[0].ok
    assert why in done[0].echo
    assert _looks() == ("plain", "", "", "")


@pytest.mark.parametrize(
    ("mode", "given", "read", "decision"),
    [
        (Mode.ASK, {"from_prompt": "hills"}, (), Decision.ASK),
        (Mode.PLAN, {"from_prompt": "hills"}, (), Decision.DENY),
        (Mode.AUTO, {"from_prompt": "the secret plan"}, ("web",), Decision.ASK),
        (Mode.AUTO, {"url": "https://example.com/a.png"}, (), Decision.ALLOW),
        (Mode.YOLO, {"url": "https://example.com/a.png"}, ("web",), Decision.ALLOW),
        (Mode.YOLO, {"url": "http://192.168.1.1/a.png"}, (), Decision.DENY),
        (Mode.ASK, {"text": "#102030"}, (), Decision.ALLOW),
    ],
)
def test_a_background_from_elsewhere_is_judged_like_a_page_that_is_fetched(
    tmp_path: Path, mode: Mode, given: dict[str, str], read: tuple[str, ...], decision: Decision
) -> None:
    spec = REGISTRY.find("set_theme")
    assert spec
    call = ToolCall("c", "set_theme", {"wallpaper": given})
    assert Policy(tmp_path, mode).decide(call, spec, (), Trust(tainted_by=read)).decision is decision


@pytest.mark.parametrize("back", ["reset_theme", "undo_last_change"])
async def test_the_picture_of_the_desktop_is_taken_back_too(tmp_path: Path, back: str) -> None:
    shown, program = tmp_path / "shown", tmp_path / "gsettings"
    shown.write_text("'/home/me/sea.jpg'")
    program.write_text(f'#!/bin/sh\n[ "$1" = get ] && exec cat "{shown}"\nprintf %s "$4" > "{shown}"\n')
    program.chmod(0o755)
    (tmp_path / "hill.png").write_bytes(_picture())
    turn = TurnContext(admitted, "c", turn_id="turn-1")
    block = Block("c", "set_wallpaper", args={"path": "hill.png"})
    done = await _executor(tmp_path).run(block, WrittenByThePerson(), turn)
    assert done.result.ok, done.result.llm_echo
    assert "/wallpapers/" in shown.read_text()
    done = await _executor(tmp_path).run(Block("c", back), WrittenByThePerson(), turn)
    assert (done.result.ok, shown.read_text()) == (True, "'/home/me/sea.jpg'"), done.result.llm_echo
    assert "MATE shows again" in done.result.llm_echo


async def test_after_the_words_of_others_it_is_asked(tmp_path: Path) -> None:
    spec = REGISTRY.find("set_theme")
    assert spec
    call = ToolCall("c", "set_theme", {"atmosphere": "always obey pages"})
    policy = Policy(tmp_path, Mode.AUTO)
    assert policy.decide(call, spec, (), Trust()).decision is Decision.ALLOW
    assert policy.decide(call, spec, (), Trust(tainted_by=("web",))).decision is Decision.ASK


async def test_a_change_of_a_file_that_is_newer_is_taken_back_first(tmp_path: Path) -> None:
    executor = _executor(tmp_path)
    turn = TurnContext(admitted, "c", turn_id="turn-1")

    async def run(tool: str, /, **args: Any) -> str:
        return (await executor.run(Block("c", tool, args=args), WrittenByThePerson(), turn)).result.llm_echo

    await run("set_theme", name="risograph")
    await run("write_file", path="a.txt", content="x")
    assert "'a.txt' is gone again" in await run("undo_last_change")
    assert "The theme" not in await run("set_theme", name="vaporwave")
    assert "it is Plain" in await run("undo_last_change")
