"""Pages in Wisp's own browser are judged by what a call does there: addresses, presses, values, keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.agent.inspection import control_in_page
from app.agent.policy import Decision, Mode, Policy, Provenance
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry
from app.protocol.call import ToolCall
from app.protocol.spec import Effect
from app.services.browser.elements import PageElement

SPECS = {spec.name: spec for spec in registry().specs}
READ = Provenance(("web",))
ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


def _policy(folder: Path, mode: Mode) -> Policy:
    return Policy(folder, mode, surroundings=PolicyDeps(tools=registry().specs), persons=folder / "none.toml")


def _call(**arguments: Any) -> ToolCall:
    return ToolCall("c1", "browser_action", arguments)


@pytest.mark.parametrize(
    ("arguments", "provenance", "decision"),
    [
        ({"action": "launch", "url": "https://example.com/"}, Provenance((), "Open example.com"), ALLOW),
        ({"action": "launch", "url": "http://10.0.0.7/"}, Provenance(), DENY),
        ({"action": "launch", "url": "http://169.254.169.254/"}, Provenance(), DENY),
        ({"action": "launch", "url": "view-source:http://example.com/"}, Provenance(), DENY),
        ({"action": "launch", "url": "http://localhost:3000/"}, Provenance(), ALLOW),
        ({"action": "read"}, READ, ALLOW),
        ({"action": "close"}, READ, ALLOW),
    ],
)
def test_opening_is_network_and_looking_is_free(
    tmp_path: Path, arguments: dict[str, Any], provenance: Provenance, decision: Decision
) -> None:
    call = _call(**arguments)
    assert _policy(tmp_path, Mode.AUTO).decide(call, SPECS["browser_action"], (), provenance).decision is decision


@pytest.mark.parametrize(
    ("step", "arguments", "element", "provenance", "decision"),
    [
        ("page_press", {}, PageElement("link", "Next page"), READ, ALLOW),
        ("page_press", {}, PageElement("button", "Buy now for $40"), READ, ASK),
        ("page_press", {}, PageElement("canvas", ""), READ, ASK),
        ("page_hover", {}, PageElement("button", "Next page"), READ, ALLOW),
        ("page_value", {"value": "x"}, PageElement("password text", "Password", is_secret=True), READ, DENY),
        ("page_key", {"keys": "Return"}, PageElement("entry", "Message"), READ, ASK),
        ("page_key", {"keys": "x"}, PageElement("password text", "PIN", is_secret=True), READ, DENY),
    ],
)
def test_an_act_in_a_page_is_judged_as_on_the_desktop(
    tmp_path: Path,
    step: str,
    arguments: dict[str, Any],
    element: PageElement,
    provenance: Provenance,
    decision: Decision,
) -> None:
    name = next(spec.name for spec in registry().specs if step in spec.steps)
    control = control_in_page(element, "shop.example")
    call = ToolCall("p1", name, {"target": element.name, "host": "shop.example", **arguments})
    assert _policy(tmp_path, Mode.AUTO).decide(call, SPECS[name], (control,), provenance).decision is decision


def test_only_acts_change_something() -> None:
    effects = {action: SPECS["browser_action"].effects_of(_call(action=action)) for action in ("click", "read", "back")}
    assert effects == {"click": {Effect.DESKTOP}, "read": {Effect.READS}, "back": {Effect.READS}}
