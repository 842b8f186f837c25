"""What is said about the HTML of a surface: each fault by its sentence, and nothing about a page without faults."""

from __future__ import annotations

import pytest

from app.features.apps.page import Findings, blocked, check, wanted_size

GOOD = """<!doctype html><html lang="en"><head><title>Timer</title><style>
body { background: url(data:image/png;base64,AAAA) } .a { fill: url(#grad) }</style></head><body>
<svg xmlns="http://www.w3.org/2000/svg"><use href="#a"/></svg><a href="#top">Up</a><input id="minutes">
<script>
// fetch( and eval( in a comment, localStorage too
const parent = document.querySelector("#minutes").parentElement;
parent.appendChild(document.createElement("p"));
const tree = { parent: { top: 1 }, fetch: () => 1, open: () => 2 };
tree.fetch(); tree.open("a"); tree.parent.top += 1; model.eval("x"); tree.confirm("x");
class Roll { print(sheet) { return sheet; } } function prompt(text) { return text; } prompt("its own");
setTimeout(() => {}, 5);
const { count = 0 } = await wisp.getState(); wisp.setState({ count });
window.parent.postMessage({}, "*");
</script></body></html>"""


def _page(script: str = "", body: str = "", head: str = "<title>A</title>") -> str:
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}<script>{script}</script></body></html>'


@pytest.mark.parametrize(
    "html",
    [
        _page(head=f"<style>{part * (500_000 // len(part))}</style>", script=part * (500_000 // len(part)))
        for part in (
            "print()",
            "print( ",
            "const ",
            "function *",
            "@import ",
            "@import" + " " * 9_000,
            "url( ",
            "\n",
            "/*",
            "import ",
            "import{",
            "<head",
            "fetch ",
        )
    ],
    ids=lambda html: repr(html[60:80]),
)
def test_no_page_keeps_the_process_busy(html: str) -> None:
    """Before, one of these stopped every thread for minutes: the limit of the test is what fails."""
    assert isinstance(check(html), Findings)


def test_a_page_without_faults_is_not_complained_about() -> None:
    assert check(GOOD) == Findings((), ())


@pytest.mark.parametrize(
    ("html", "says"),
    [
        ("", "empty"),
        (_page(head='<link rel="stylesheet" href="https://fonts.example/a.css">'), "style sheet or font"),
        (_page(body='<a href="https://a.example/">b</a>'), "of <a> leads"),
        (_page("eval('1')"), "eval"),
        (_page("alert('done')"), "alert()"),
        (_page("if (confirm('Delete?')) { clear(); }"), "showModal()"),
        (_page("async function confirm2() {} confirm2(); window.prompt('a')"), "<input>"),
        (_page("function print() {} navigator.clipboard.writeText('a')"), "Clipboard"),
        (_page(body='<a download="a.txt" href="data:,a">b</a>'), "download"),
        (_page("window.parent.document.title"), "around it"),
        (_page("navigator.sendBeacon('/a')"), "no network"),
        (_page("wisp.readFile('/etc/passwd')"), "wisp.readFile does not exist"),
    ],
)
def test_each_fault_is_said_in_a_sentence(html: str, says: str) -> None:
    problems = check(html).problems
    assert len(problems) == 1
    assert says in problems[0]


@pytest.mark.parametrize(
    ("html", "says"),
    [
        (_page("let a = 1", body="<input>"), "never uses the bridge"),
        (_page(head=""), "no <title>"),
        ("<html><title>A</title></html>", "no lang"),
    ],
)
def test_what_is_only_unwise_is_a_remark(html: str, says: str) -> None:
    found = check(html)
    assert found.problems == ()
    assert says in " ".join(found.remarks)


@pytest.mark.parametrize("script", ["eval('1')", "localStorage.a = 1", "alert('a')", "fetch('/a')", "open('/a')"])
def test_what_is_blocked_is_in_the_list_that_the_model_reads_before_it_writes(script: str) -> None:
    [problem] = check(_page(script)).problems
    assert problem in blocked()


def test_all_faults_are_said_at_once() -> None:
    assert len(check(_page("eval('1'); localStorage.a = 1; fetch('/a')", '<img src="/a.png">')).problems) == 4


@pytest.mark.parametrize(
    ("head", "size"),
    [
        ('<meta name="viewport" content="width=360, height=420">', (360, 420)),
        ("<META content='height=420' NAME=viewport>", (0, 420)),
        ('<meta name="viewport" content="width=device-width">', (0, 0)),
        ('<meta name="description" content="width=360">', (0, 0)),
        ("", (0, 0)),
    ],
)
def test_a_page_says_how_large_its_window_shall_be(head: str, size: tuple[int, int]) -> None:
    assert wanted_size(f"<!doctype html><html><head>{head}<title>x</title></head></html>") == size
