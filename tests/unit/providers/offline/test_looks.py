"""How people say that Wisp shall look otherwise, and what is none of that."""

from __future__ import annotations

import pytest

from app.providers.offline.plans import Plan, Talk, understood
from app.providers.offline.reading import Refusal
from app.providers.offline.wording import phrasebook
from tests.unit.providers.offline.dialogue import WORLD

_RESET, _NAMED = "reset_theme", "themes"
_SAID = {
    "light": """
use the paper theme | light mode please | make it bright again | change to the light theme | turn off dark mode
turn the dark mode off | set your theme to light | heller Modus | mach es wieder hell | mach den Dunkelmodus aus
nimm bitte wieder das helle Design | mach's hell
""",
    "dark": """
make it dark | dark mode | turn on dark mode | could you go dark? | I want a dark theme | night mode
open the dark theme | mach's dunkel
mach es dunkel | dunkler Modus | Dunkelmodus an | schalte den Dunkelmodus ein | stell auf dunkel um
""",
    "cyberpunk": """
use the cyberpunk theme | I'd like the cyberpunk look | ich hätte gern das Cyberpunk-Design
""",
    "cyberpunk dark": """
use the cyberpunk theme in dark | dark cyberpunk please | make it dark cyberpunk | use the dark cyberpunk theme
nimm das Cyberpunk-Thema in dunkel | dunkles Cyberpunk bitte | nimm Cyberpunk in dunkel
""",
    "plain": """
use the plain theme | nimm das schlichte Design
""",
    "memphis": """
memphis theme | change your look to memphis | nimm das Thema Memphis | Memphis-Design
""",
    _RESET: """
back to normal | the usual look again | reset your look | make yourself normal again
zurück zum Normalen
zurück zum normalen Aussehen | wieder das übliche Aussehen | sieh wieder normal aus | sei wieder normal
""",
    _NAMED: """
use the vaporwave theme | nimm das Sonnenuntergang-Design | what themes are there
""",
}
_OTHER = """
make the picture dark | make the window light | make the font normal again | use the dark picture | back
turn off the light | click dark mode | type dark mode | search for dark mode | is dark mode on? | dark
don't use dark mode | I like dark mode | go back to the normal view | switch to plan mode | auto mode
turn on airplane mode | delete the memphis theme | set the paper size to A4 | what is a dark theme
mach das Bild dunkel | mach das Licht aus | mach den Text hell | nimm das helle Bild | zurück | normal
klicke auf Dunkelmodus | nicht in den Dunkelmodus | zurück zum Desktop | mach den Flugmodus an
"""


def _each(listed: str) -> list[str]:
    return [wish.strip() for line in listed.strip().splitlines() for wish in line.split(" | ")]


def _meant(wish: str) -> str:
    """The theme that the wish asks for, another tool's name, or what is answered."""
    match understood(wish, WORLD):
        case Plan((step,)):
            return str(step.arguments["name"]) if step.tool == "set_theme" else step.tool
        case Talk(topic):
            return topic
    return ""


@pytest.mark.parametrize("meant", _SAID)
def test_everyday_words_choose_a_theme_or_go_back(meant: str) -> None:
    wishes = _each(_SAID[meant])
    assert {wish: _meant(wish) for wish in wishes} == dict.fromkeys(wishes, meant)


@pytest.mark.parametrize("wish", ["mach das Licht aus", "turn off the light"])
def test_who_turns_off_a_light_closes_no_window(wish: str) -> None:
    assert isinstance(understood(wish, WORLD), Refusal)


def test_nothing_else_is_taken_for_a_theme() -> None:
    assert {wish for wish in _each(_OTHER) if _meant(wish) in _SAID} == set()


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_theme_is_told_by_its_name_for_people(language: str) -> None:
    plan = understood("use the pixel theme", WORLD)
    assert isinstance(plan, Plan)
    assert "Pixel CRT" in phrasebook(language).finished(plan.steps, [], "")
