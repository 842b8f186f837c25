"""Stories in a browser, told to the real `wisp tool`; the page's own server says what arrived."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.co_process import CoProcess
from tests.support.observer import observe, started
from tests.support.waiting import eventually

pytestmark = pytest.mark.long

_BROWSER = ("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--force-renderer-accessibility")
_PAGES = {
    "/start": "<title>Start</title><h1>Ready</h1>",
    "/form": """<title>Order form</title><h1>Order</h1><form action=/ordered>
        <p><label>Name <input name=name></label></p>
        <p><label><input type=checkbox name=gift value=yes> As a gift</label></p>
        <p><label>Size <select name=size><option>Small<option>Medium<option>Large</select></label></p>
        <p><label><input type=radio name=ship value=post> By post</label>
           <label><input type=radio name=ship value=fetched> I fetch it</label></p>
        <p><label>Remarks<br><textarea name=remarks rows=3></textarea></label></p>
        <button>Order now</button></form>""",
    "/ordered": "<title>Ordered</title><h1>Thank you</h1>",
    "/links": "<title>Links</title><p><a href=/near>The near page</a> <a href=/other>The other page</a></p>",
    "/near": "<title>Near</title><h1>Here</h1>",
    "/long": "<title>Long</title>" + "".join(f"<p>Line {n} of the text</p>" for n in range(200))
    + "<p><a href=/end>To the very end</a></p>",
    "/end": "<title>The end</title><h1>Done</h1>",
    "/pad": """<title>Pad</title><div id=pad style="width:600px;height:300px;background:#cde"
        onmousedown="d=1" onmouseup="fetch('/drawn?n='+n)" onmousemove="if(d)n++">Draw here</div>
        <script>d=0;n=0</script>""",
}  # fmt: skip


class Site(ThreadingHTTPServer):
    """Serves `_PAGES` and writes down every address it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"

    def was_asked(self, path: str) -> bool:
        return any(urlsplit(asked).path == path for asked in self.asked)

    def form(self, path: str) -> dict[str, list[str]]:
        """What the last request for `path` carried."""
        return next((parse_qs(urlsplit(a).query) for a in reversed(self.asked) if urlsplit(a).path == path), {})


class _Answer(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        page = _PAGES.get(urlsplit(self.path).path, "")
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<!doctype html><meta charset=utf-8>{page}".encode())

    def log_message(self, format: str, *args: object) -> None:
        return None


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[dict[str, str]]:
    """A desktop with the browser open on it."""
    with VirtualDesktop(1280, 800) as virtual:
        environment = virtual.environment | {"WISP_DATA_DIR": str(tmp_path_factory.mktemp("data"))}
        command = (*_BROWSER, "--window-size=1200,700", f"{site.address}/start")
        with started(*command, app="Chromium", environment=environment):
            yield environment


@pytest.fixture(scope="module")
def wisp(environment: dict[str, str]) -> Iterator[CoProcess]:
    with CoProcess(environment) as process:
        yield process


def _visit(wisp: CoProcess, site: Site, path: str, title: str) -> None:
    site.asked.clear()
    wisp("focus_window", title="Chromium")
    wisp("computer_key", keys="ctrl+l")
    wisp("computer_type", text=f"{site.address}{path}\n")
    wisp("wait_for", window=title)


def test_a_form_is_filled_and_sent(wisp: CoProcess, site: Site) -> None:
    _visit(wisp, site, "/form", "Order form")
    wisp("computer_click", target="Name")
    wisp("computer_type", text="Zoë Łukasz 李")
    wisp("computer_click", target="As a gift")
    wisp("computer_click", target="I fetch it")
    wisp("computer_click", target="Remarks")
    wisp("computer_type", text="left door\nnot “right”")
    wisp("computer_click", target="Order now")
    assert eventually(lambda: site.was_asked("/ordered"))
    assert site.form("/ordered") == {
        "name": ["Zoë Łukasz 李"], "gift": ["yes"], "size": ["Small"], "ship": ["fetched"],
        "remarks": ["left door\r\nnot “right”"],
    }  # fmt: skip


def test_a_choice_is_made_with_the_keys(wisp: CoProcess, site: Site) -> None:
    _visit(wisp, site, "/form", "Order form")
    wisp("computer_click", target="Name")
    wisp("computer_key", keys="Tab Tab")
    wisp("computer_type", text="Large")
    wisp("computer_click", target="Order now")
    assert eventually(lambda: site.was_asked("/ordered"))
    assert site.form("/ordered")["size"] == ["Large"]


def test_a_choice_is_made_from_the_list_that_opens(wisp: CoProcess, site: Site) -> None:
    _visit(wisp, site, "/form", "Order form")
    wisp("computer_click", target="Size")
    wisp("computer_click", target="Medium")
    wisp("computer_click", target="Order now")
    assert eventually(lambda: site.was_asked("/ordered"))
    assert site.form("/ordered")["size"] == ["Medium"]


def test_a_link_is_followed_and_the_way_back_taken(wisp: CoProcess, site: Site, environment: dict[str, str]) -> None:
    _visit(wisp, site, "/links", "Links")
    wisp("computer_click", target="The near page")
    wisp("wait_for", window="Near")
    assert site.was_asked("/near")
    wisp("computer_key", keys="alt+Left")
    assert eventually(lambda: any(n.name == "The near page" for n in observe("Chromium", environment)))
    assert not site.was_asked("/other")


def _shows(environment: dict[str, str], name: str, *, in_sight: bool) -> bool:
    return any(node.name == name and node.showing >= in_sight for node in observe("Chromium", environment))


def test_a_page_is_scrolled_until_the_link_at_its_end_shows(
    wisp: CoProcess, site: Site, environment: dict[str, str]
) -> None:
    _visit(wisp, site, "/long", "Long")
    assert eventually(lambda: _shows(environment, "Line 3 of the text", in_sight=True))
    wisp("computer_scroll", target="Line 3 of the text", dy=100)
    assert eventually(lambda: _shows(environment, "To the very end", in_sight=True))
    wisp("computer_click", target="To the very end")
    assert eventually(lambda: site.was_asked("/end"))


def test_what_stands_below_is_clicked_by_the_point_that_locating_gave(
    wisp: CoProcess, site: Site, environment: dict[str, str]
) -> None:
    _visit(wisp, site, "/long", "Long")
    assert eventually(lambda: _shows(environment, "To the very end", in_sight=False))
    found = wisp("locate_screen_element", target="To the very end")
    wisp("computer_click", ref=found["payload"]["ref"])
    assert eventually(lambda: site.was_asked("/end"))


def test_a_point_of_the_picture_is_the_place_on_the_page(wisp: CoProcess, site: Site) -> None:
    _visit(wisp, site, "/pad", "Pad")
    place = wisp("locate_screen_element", target="Draw here")["payload"]
    wisp("screen_capture")
    x, y = place["x"], place["y"] + 40
    wisp("computer_drag", path=f"{x},{y} {x + 200},{y + 60} {x + 40},{y + 90}", duration_ms=300)
    assert eventually(lambda: site.was_asked("/drawn"))
    assert int(site.form("/drawn")["n"][0]) > 10
