"""Surfaces on a real desktop: a wish makes one, its window is there, it keeps what is entered, and it ends with it."""

from __future__ import annotations

import asyncio
import hashlib
import io
import itertools
import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageGrab

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.backends import Frame
from app.desktop.ocr.rapid import RapidOcr
from app.features.apps.client import SurfaceEngine
from app.features.apps.library import keep_on_desktop
from app.features.apps.store import APP, PAGE, STATE, SurfaceStore, Written
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints
from app.settings import store as settings_store
from app.settings.catalog import BACKDROP, LANGUAGE
from tests.e2e.conftest import Screen
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium on this machine")


@pytest.fixture
def shown(screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    """A private desktop whose surfaces end with the test."""
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    screen.environment["WISP_DATA_DIR"] = str(tmp_path / "wisp")
    yield screen
    engine = SurfaceEngine(_folder(tmp_path))
    asyncio.run(engine.stop())
    assert eventually(lambda: not engine.is_running)


def _folder(tmp_path: Path) -> Path:
    return tmp_path / "wisp" / "data" / "surfaces"


def _titles(screen: Screen, presence: str = "Wisp") -> list[str]:
    """The titles of all windows, without the name of the presence behind them."""
    command = ["xdotool", "search", "--onlyvisible", "--name", ".", "getwindowname", "%@"]
    told = subprocess.run(command, env=screen.environment, capture_output=True, text=True, check=False).stdout
    return [title.removesuffix(f" — {presence}") for title in told.splitlines()]


def _place(screen: Screen, title: str) -> tuple[int, ...]:
    """Return the x, y, width and height of the window with this title."""
    command = f"xdotool search --onlyvisible --name '^{title} —' getwindowgeometry --shell"
    told = subprocess.run(
        command, shell=True, env=screen.environment, capture_output=True, text=True, check=False
    ).stdout
    found = dict(line.split("=") for line in told.splitlines())
    return tuple(int(found.get(name, 0)) for name in ("X", "Y", "WIDTH", "HEIGHT"))


def _do(screen: Screen, *words: str, tool: str = "") -> subprocess.CompletedProcess[str]:
    done = screen.wisp("tool", tool) if tool else screen.wisp("do", "--provider", "offline", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.long
def test_a_timer_is_made_by_a_sentence_and_its_window_closes_with_the_surface(shown: Screen, tmp_path: Path) -> None:
    _do(shown, "set a timer for 5 minutes")
    assert eventually(lambda: "Timer" in _titles(shown))
    assert eventually(lambda: _place(shown, "Timer")[2:] == (380, 560)), _place(shown, "Timer")
    left, top, width, height = _place(shown, "Timer")
    assert abs(left + width / 2 - 640) < 40 and abs(top + height / 2 - 400) < 60  # the middle, but for its frame
    store = SurfaceStore(_folder(tmp_path), Checkpoints(tmp_path / "checkpoints"))
    [made] = store.all()
    assert (made.id, made.name) == ("app-timer", "Timer")
    assert eventually(lambda: store.state(made).get("end", 0) > 0), "it runs"
    assert store.state(made)["total"] == 300
    again = json.loads(_do(shown, tool='<launch_app id="Timer"/>').stdout)
    assert "is in front now" in again["echo"]
    assert _titles(shown).count("Timer") == 1
    _do(shown, "delete the timer")
    assert eventually(lambda: "Timer" not in _titles(shown))
    assert SurfaceEngine(_folder(tmp_path)).is_running, "the next one opens at once"


@pytest.mark.long
def test_a_timer_that_ran_out_while_its_window_was_closed_says_so_when_it_is_opened(
    shown: Screen, tmp_path: Path
) -> None:
    _do(shown, "make a timer")
    assert eventually(lambda: "Timer" in _titles(shown))
    asyncio.run(SurfaceEngine(_folder(tmp_path)).tell("app-timer", "close"))
    assert eventually(lambda: "Timer" not in _titles(shown))
    store = SurfaceStore(_folder(tmp_path), Checkpoints(tmp_path / "checkpoints"))
    (store.find("app-timer").folder / "state.json").write_text('{"total": 60, "left": 60, "end": 1000}')
    _do(shown, tool='<launch_app id="app-timer"/>')
    assert eventually(lambda: "Timeisup" in _written(_look("app-timer", tmp_path)))


@pytest.mark.long
def test_another_presence_shows_its_apps_too(shown: Screen) -> None:
    assert shown.wisp("presence", "create", "Mira").returncode == 0
    shown.environment["WISP_PRESENCE"] = "mira"
    _do(shown, "make a timer")
    assert eventually(lambda: "Timer" in _titles(shown, "Mira"))
    _do(shown, tool='<delete_app id="app-timer"/>')
    assert eventually(lambda: "Timer" not in _titles(shown, "Mira"))


ECHO = """<!doctype html><html lang="en"><head><title>Echo</title></head><body><script>
wisp.onState((state) => { if (state.n !== state.seen) wisp.setState({ ...state, seen: state.n }); });
%s;
</script></body></html>"""
TOO_LARGE = "wisp.setState({ text: 'a'.repeat(2e6) }).catch(() => wisp.setState({ page: 2 }))"


def test_an_open_window_follows_what_changes_its_files_as_an_undo_does(shown: Screen, tmp_path: Path) -> None:
    store = SurfaceStore(_folder(tmp_path), Checkpoints(tmp_path / "checkpoints"))
    made = store.create(
        APP, "Echo", Written(ECHO % "wisp.setState({ page: 1 })", "", None), ChangeOrigin("t", "create_app")
    )
    asyncio.run(SurfaceEngine(store.folder, environment=shown.environment).open(made.id))
    assert eventually(lambda: store.state(made) == {"page": 1})
    (made.folder / STATE).write_text('{"n": 1}')
    assert eventually(lambda: store.state(made) == {"n": 1, "seen": 1})
    (made.folder / PAGE).write_text(ECHO % TOO_LARGE)
    assert eventually(lambda: store.state(made) == {"page": 2})
    (made.folder / PAGE).unlink()
    assert eventually(lambda: "Echo" not in _titles(shown))


async def test_a_window_opens_also_while_the_engine_ends_with_its_last_one(shown: Screen, tmp_path: Path) -> None:
    store = SurfaceStore(_folder(tmp_path), Checkpoints(tmp_path / "checkpoints"))
    made = store.create(APP, "Echo", Written(ECHO % "0", "", None), ChangeOrigin("t", "create_app"))
    engine = SurfaceEngine(store.folder, environment=shown.environment)
    for _ in range(4):
        assert "window is open" in await engine.open(made.id)
        await engine.tell(made.id, "close")


def test_what_a_person_enters_is_kept_and_what_a_model_changes_is_shown_at_once(shown: Screen, tmp_path: Path) -> None:
    _do(shown, "mach eine Aufgabenliste")
    assert eventually(lambda: "Aufgaben" in _titles(shown))
    store = SurfaceStore(_folder(tmp_path), Checkpoints(tmp_path / "checkpoints"))
    [made] = store.all()

    def texts() -> list[str]:
        return [item["text"] for item in store.state(made).get("items", [])]

    def enters(word: str) -> bool:
        """Click into the field and write a line, as a person does."""
        field = "xdotool search --onlyvisible --name '^Aufgaben —' mousemove --window %1 350 105 click 1"
        write = f"{field}; xdotool type {word}; xdotool key Return"
        subprocess.run(write, shell=True, env=shown.environment, check=False)
        return eventually(lambda: word in texts(), limit_s=3)

    assert eventually(lambda: enters("milk")), "the keys of a person arrive in the page"
    patch = [{"op": "replace", "path": "/items", "value": [{"id": "a", "text": "bread", "done": False}]}]
    _do(shown, tool=f'<mutate_surface_data id="{made.id}">{json.dumps(patch)}</mutate_surface_data>')
    assert texts() == ["bread"]
    assert eventually(lambda: enters("tea"))
    assert texts()[0] == "bread", "the page went on from what was changed behind it"


@pytest.mark.long
def test_an_open_window_takes_a_new_theme_and_name_without_being_loaded_again(shown: Screen, tmp_path: Path) -> None:
    _do(shown, "make a to-do list")
    before = _brightness(tmp_path)
    field = "xdotool search --onlyvisible --name '^To-do list —' mousemove --window %1 350 105 click 1"

    def has_typed() -> bool:
        subprocess.run(f"{field}; xdotool type tomatoes", shell=True, env=shown.environment, check=False)
        return eventually(lambda: "tomatoes" in _written(_look("app-to-do-list", tmp_path)), limit_s=6)

    assert eventually(has_typed)
    assert json.loads(_do(shown, tool='<set_theme name="dark"/>').stdout)["ok"]
    assert eventually(lambda: _brightness(tmp_path) < before / 2), "it is dark now"
    assert "tomatoes" in _written(_look("app-to-do-list", tmp_path)), "the line that was not yet added"
    _do(shown, tool="<undo_last_change/>")
    assert eventually(lambda: _brightness(tmp_path) > before * 0.9), "and light again"
    _do(shown, "your name is Robin")
    assert eventually(lambda: "To-do list" in _titles(shown, "Robin"))
    assert "tomatoes" in _written(_look("app-to-do-list", tmp_path))


@pytest.mark.long
def test_an_open_window_takes_the_persons_background_picture(shown: Screen, tmp_path: Path) -> None:
    picture = tmp_path / "wall.png"
    Image.new("RGB", (64, 64), (200, 0, 120)).save(picture)
    _do(shown, "make a timer")
    settings_store.save(BACKDROP, str(picture))

    def below_the_card() -> object:
        window = _look("app-timer", tmp_path)
        return window.getpixel((window.width // 2, window.height - 8))

    assert eventually(lambda: below_the_card() == pytest.approx((200, 0, 120), abs=12))


@pytest.mark.long
@pytest.mark.parametrize(
    ("language", "said", "name", "shows"),
    [
        ("en", "make a unit converter", "Unit converter", ("From", "Length")),
        ("en", "make a habit tracker", "Habit tracker", ("Nohabityet",)),
        ("de", "mach einen Einheitenumrechner", "Einheiten umrechnen", ("Von",)),
        ("de", "mach einen Gewohnheitstracker", "Gewohnheiten", ("NochkeineGewohnheit",)),
        ("de", "mach eine Aufgabenliste", "Aufgaben", ("Nichtszutun",)),
        ("de", "mach einen Timer", "Timer", ("Minuten",)),
    ],
)
def test_a_small_app_made_by_a_sentence_speaks_the_language_of_the_presence(
    shown: Screen, tmp_path: Path, language: str, said: str, name: str, shows: tuple[str, ...]
) -> None:
    settings_store.save(LANGUAGE, language)
    _do(shown, said)
    assert eventually(lambda: name in _titles(shown))
    [made] = SurfaceStore(_folder(tmp_path), Checkpoints(tmp_path / "checkpoints")).all()
    assert eventually(lambda: all(word in _written(_look(made.id, tmp_path)) for word in shows))


@pytest.mark.long
def test_without_a_setting_a_small_app_speaks_the_language_of_the_system(shown: Screen, tmp_path: Path) -> None:
    _do(replace(shown, environment=shown.environment | {"LC_ALL": "de_DE.UTF-8"}), "mach einen Timer")
    assert eventually(lambda: "Timer" in _titles(shown))
    assert eventually(lambda: "Minuten" in _written(_look("app-timer", tmp_path)))


def _look(surface: str, tmp_path: Path) -> Image.Image:
    taken = asyncio.run(SurfaceEngine(_folder(tmp_path)).look(surface))
    assert taken
    return Image.open(io.BytesIO(taken[0])).convert("RGB")


def _brightness(tmp_path: Path) -> float:
    found = _look("app-to-do-list", tmp_path).convert("L").resize((1, 1)).getpixel((0, 0))
    assert isinstance(found, (int, float))
    return found


def _written(picture: Image.Image) -> str:
    """The text in a picture, as Wisp itself reads a window that does not describe itself; without blanks."""

    async def read() -> str:
        ocr = RapidOcr()
        frame = Frame(Rect(0, 0, *picture.size), picture.convert("RGBA").tobytes("raw", "BGRA"))
        found = await ocr.read_text(frame)
        await ocr.close()
        return "".join(line.text for line in found).replace(" ", "")

    return asyncio.run(read())


@pytest.mark.long
def test_a_window_is_pictured_for_its_card_and_pinned_behind_the_others(shown: Screen, tmp_path: Path) -> None:
    _do(shown, "make a timer")
    engine = SurfaceEngine(_folder(tmp_path))
    taken = asyncio.run(engine.look("app-timer"))
    assert taken
    with Image.open(io.BytesIO(taken[0])) as picture:
        assert (picture.format, picture.size) == ("JPEG", taken[1:])
        colors = picture.convert("RGB").resize((40, 30)).getcolors(1200)
        assert colors and len(colors) > 5, "something is drawn in it"
    assert "stays on the desktop now" in keep_on_desktop("app-timer", is_kept=True, environment=shown.environment)
    assert eventually(lambda: "_NET_WM_STATE_BELOW" in _state(shown))
    assert eventually(lambda: "= 4294967295" in _state(shown)), "it is on every workspace"
    assert "like any other again" in keep_on_desktop("app-timer", is_kept=False, environment=shown.environment)
    assert eventually(lambda: "_NET_WM_STATE_BELOW" not in _state(shown))
    with pytest.raises(ToolFailed, match="Open it first"):
        keep_on_desktop("app-time", is_kept=True, environment=shown.environment)
    _do(shown, tool='<delete_app id="app-timer"/>')
    assert eventually(lambda: asyncio.run(engine.look("app-timer")) is None)


@pytest.mark.long
def test_a_pinned_app_is_behind_the_others_also_when_it_is_started_from_the_menu(shown: Screen, tmp_path: Path) -> None:
    _do(shown, "make a timer")
    assert shown.wisp("apps", "pin", "Timer").returncode == 0
    assert eventually(lambda: "_NET_WM_STATE_BELOW" in _state(shown))
    asyncio.run(SurfaceEngine(_folder(tmp_path)).tell("app-timer", "close"))
    assert eventually(lambda: "Timer" not in _titles(shown))
    [entry] = (Path(shown.environment["HOME"]) / ".local/share/applications").iterdir()
    line = next(one for one in entry.read_text(encoding="utf-8").splitlines() if one.startswith("Exec="))
    subprocess.run(shlex.split(line.removeprefix("Exec=")), env=shown.environment, check=True, cwd="/")
    assert eventually(lambda: "_NET_WM_STATE_BELOW" in _state(shown))
    assert shown.wisp("apps", "unpin", "Timer").returncode == 0
    assert eventually(lambda: "_NET_WM_STATE_BELOW" not in _state(shown))


@pytest.mark.long
async def test_taking_a_picture_of_a_window_changes_nothing_that_the_person_sees(shown: Screen, tmp_path: Path) -> None:
    _do(shown, "make a timer")
    engine = SurfaceEngine(_folder(tmp_path))

    def seen() -> str:
        return hashlib.sha256(ImageGrab.grab(xdisplay=shown.environment["DISPLAY"]).tobytes()).hexdigest()

    states: list[str] = []
    for _ in range(10):
        looking = asyncio.ensure_future(engine.look("app-timer"))
        while not looking.done():
            states.append(await asyncio.to_thread(seen))
        assert looking.result()
    changed = [state for state, _ in itertools.groupby(states)]
    assert len(changed) == len(set(changed)), "nothing appears for a moment only"


def _state(screen: Screen) -> str:
    command = "xprop -id $(xdotool search --onlyvisible --name '^Timer —') _NET_WM_STATE _NET_WM_DESKTOP"
    return subprocess.run(
        command, shell=True, env=screen.environment, capture_output=True, text=True, check=False
    ).stdout
