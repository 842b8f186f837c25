"""The single instance, the tray's menu, the pointing ring, the viewer and the gallery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.agent import agent_events
from app.base import resources
from app.base.geometry import Point, Rect
from app.base.translation import words_in
from app.ui import translation
from app.ui.composer import home
from app.ui.machine import PresenceEntry
from app.ui.orb.state import Orb
from app.ui.presence import Presence
from app.ui.presenter.view import Card, ShownPicture, View
from app.ui.system.instance import OPEN, WELCOME, Instance
from app.ui.system.tray import Actions, Tray, menu_for
from app.ui.theme.appearance import Look
from app.ui.windows.curtain import X11Curtain
from app.ui.windows.overlays import PictureWindow, RingWindow
from app.ui.windows.x_connection import XConnection
from tests.support.gallery import board, samples


def test_a_second_start_summons_the_first(qtbot: QtBot, qapp: QApplication) -> None:
    first, second = Instance(), Instance()
    assert first.claim()
    with qtbot.waitSignal(first.summoned) as told:
        assert not second.claim()
    assert told.args == [OPEN]
    with qtbot.waitSignal(first.summoned) as told:
        assert not second.claim(WELCOME)
    assert told.args == [WELCOME]
    first.release()
    assert second.claim()
    second.release()


def test_a_socket_left_behind_does_not_stop_the_start(qapp: QApplication) -> None:
    dead = Instance()
    assert dead.claim()
    assert dead._server is not None
    path = Path(dead._server.fullServerName())
    content = path.is_socket()
    dead.release()
    path.touch()
    alive = Instance()
    assert content
    assert alive.claim()
    alive.release()


def test_the_menu_does_what_it_says(qtbot: QtBot, still: Look) -> None:
    done: list[str] = []
    actions = Actions(*(lambda name=name: done.append(name) for name in ("toggle", "stop", "settings", "quit")))
    menu = menu_for(actions, is_open=False, running=True)
    entries = [action for action in menu.actions() if not action.isSeparator()]
    assert [entry.text() for entry in entries] == ["Open", "Stop", "Settings", "Quit"]
    for entry in entries:
        entry.trigger()
    assert done == ["toggle", "stop", "settings", "quit"]
    idle = menu_for(actions, is_open=True, running=False)
    assert not idle.actions()[1].isEnabled()


class _Family:
    """Some presences. Keeps which one was opened."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.shown: list[str] = []

    def entries(self) -> list[PresenceEntry]:
        return [PresenceEntry(name.casefold(), name, is_this=name == "Ada") for name in self._names]

    def show(self, presence: str, /) -> None:
        self.shown.append(presence)


def test_the_menu_switches_to_another_presence_if_there_is_one(qtbot: QtBot) -> None:
    family, alone = _Family(("Ada", "Bob & Co")), _Family(("Ada",))
    still = (lambda: None,) * 4
    menu = menu_for(Actions(*still, family), is_open=False, running=False)
    (switch,) = [action.menu() for action in menu.actions() if action.menu()]
    assert isinstance(switch, QMenu)
    ada, bob = switch.actions()
    assert [(one.text(), one.isChecked(), one.isEnabled()) for one in (ada, bob)] == [
        ("Ada", True, False),
        ("Bob && Co", False, True),
    ]
    bob.trigger()
    assert family.shown == ["bob & co"]
    only = menu_for(Actions(*still, alone), is_open=False, running=False)
    assert not any(one.menu() for one in only.actions())


def test_the_tray_follows_the_state(qtbot: QtBot, still: Look) -> None:
    tray = Tray(still.theme, Actions(*[lambda: None] * 4), "Wisp")
    tray.show_view(View(orb=Orb.BUSY))
    assert [entry.text() for entry in tray.entries if not entry.isSeparator()] == ["Open", "Stop", "Settings", "Quit"]
    tray.hide()


def test_the_tray_shows_the_presences_and_the_name_of_the_moment(qtbot: QtBot, still: Look) -> None:
    names = ["Ada"]
    tray = Tray(still.theme, Actions(*[lambda: None] * 4, _Family(names)), "Ada")
    names += ["Bob", "Eve"]
    tray.menu.aboutToShow.emit()
    (switch,) = [menu for entry in tray.entries if isinstance(menu := entry.menu(), QMenu)]
    assert [entry.text() for entry in switch.actions()] == names
    tray.restyle(still.theme, "Robin")
    assert tray.name == "Robin"
    tray.hide()


def test_the_ring_shows_where_it_clicked_takes_no_input_and_goes(qtbot: QtBot, look: Look) -> None:
    ring = RingWindow(look.theme, look.around, look.ticker)
    qtbot.addWidget(ring)
    ring.point_at(Rect(300, 200, 1, 1), Point(300, 200), "Save", Rect(0, 0, 1000, 800))
    qtbot.waitExposed(ring)
    assert ring.geometry().center().x() in (299, 300)
    assert ring.accessibleName() == "Save"
    ring.point_at(Rect(5, 795, 1, 1), Point(5, 795), "A name that is long", Rect(0, 0, 1000, 800))
    assert ring.x() == 0
    assert ring.geometry().center().y() < 795  # the name is above, because there is no room below
    assert ring.windowFlags() & Qt.WindowType.WindowTransparentForInput
    assert ring.windowFlags() & Qt.WindowType.WindowDoesNotAcceptFocus
    qtbot.waitUntil(lambda: not ring.isVisible() and not look.ticker.is_running)


def test_the_ring_goes_around_a_control_and_names_it(qtbot: QtBot, look: Look) -> None:
    ring = RingWindow(look.theme, look.around, look.ticker)
    qtbot.addWidget(ring)
    control = Rect(300, 200, 160, 30)
    ring.point_at(control, control.center, "Save all", Rect(0, 0, 1000, 800))
    qtbot.waitExposed(ring)
    covered = [part for part in ring.marked if part.overlap(control)]
    assert covered == []  # the control itself stays free
    around = Rect(280, 180, 200, 70)
    assert any(part.overlap(around) for part in ring.marked)


@pytest.mark.parametrize("is_composited", [True, False])
@pytest.mark.parametrize(
    ("came_from", "is_led_to"),
    [(Point(600, 400), True), (Point(40, 700), True), (Point(480, 215), False), (Point(385, 215), False)],
    ids=["from the right", "from far below", "from beside it", "from inside it"],
)
def test_a_trail_leads_to_the_control_from_where_the_pointer_was(
    qtbot: QtBot, look: Look, came_from: Point, *, is_led_to: bool, is_composited: bool
) -> None:
    look.around.composited = is_composited
    ring = RingWindow(look.theme, look.around, look.ticker)
    qtbot.addWidget(ring)
    control = Rect(300, 200, 160, 30)
    ring.point_at(control, control.center, "Save all", Rect(0, 0, 1000, 800))
    alone = ring.geometry()
    ring.point_at(control, came_from, "Save all", Rect(0, 0, 1000, 800))
    qtbot.waitExposed(ring)
    assert (ring.geometry() != alone) is is_led_to
    assert ring.geometry().contains(alone)
    assert [part for part in ring.marked if part.overlap(control)] == []
    led = [part for part in ring.marked if not alone.adjusted(-3, -3, 3, 3).contains(part.center.x, part.center.y)]
    towards = (came_from.x > control.center.x, came_from.y > control.center.y)
    assert {(p.center.x > control.center.x, p.center.y > control.center.y) for p in led} == (
        {towards} if led else set()
    )


@pytest.mark.parametrize("wanted", [True, False])
def test_the_ring_shows_before_an_act_unless_it_is_switched_off(qtbot: QtBot, still: Look, *, wanted: bool) -> None:
    presence = Presence(replace(still, rings=wanted))
    presence.show()
    curtain = X11Curtain(still.around, XConnection())

    def shown() -> list[str]:
        rings = [window for window in QApplication.topLevelWidgets() if isinstance(window, RingWindow)]
        return [ring.accessibleName() for ring in rings if ring.isVisible()]

    asked = curtain.point_at(Rect(600, 300, 80, 30), "Save", Point(0, 0))
    if wanted:
        assert asked
        qtbot.waitUntil(asked.done)
        assert shown() == ["Save"]
        curtain.unmark()
    else:
        assert asked is None
    qtbot.waitUntil(lambda: not shown())
    curtain.close()
    presence.close()
    presence.orb.close()


def test_a_picture_opens_in_its_full_size_and_closes_by_a_key(qtbot: QtBot, still: Look) -> None:
    sample = samples.picture(400, 300)
    viewer = PictureWindow(still.theme, still.around)
    qtbot.addWidget(viewer)
    viewer.show_picture(ShownPicture(sample.data, 400, 300, "the screen", (10, 10)), Rect(0, 0, 1280, 800))
    qtbot.waitExposed(viewer)
    assert viewer.body().width() == 400 + 32
    qtbot.keyClick(viewer, Qt.Key.Key_Escape)
    assert not viewer.isVisible()


def test_a_picture_larger_than_the_screen_is_made_to_fit(qtbot: QtBot, still: Look) -> None:
    sample = samples.picture(3000, 2000)
    viewer = PictureWindow(still.theme, still.around)
    qtbot.addWidget(viewer)
    viewer.show_picture(ShownPicture(sample.data, 3000, 2000), Rect(0, 0, 1280, 800))
    assert viewer.body().width() <= 1280
    assert viewer.body().height() <= 800
    viewer.hide()


@pytest.mark.long
def test_the_gallery_shows_every_state_in_light_and_dark(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> None:
    made = board.boards()
    files = board.shoot(made, tmp_path / "shots")
    names = {path.name for path in files}
    assert {f"orb-{state.value}-{scheme}.png" for state in Orb for scheme in ("light", "dark")} <= names
    assert {"bubble-cards-light.png", "bubble-approval-dark.png", "composer-light.png", "all-dark.png"} <= names
    assert all(path.stat().st_size > 500 for path in files)


def test_a_compositor_is_seen_only_where_there_is_one(qapp: QApplication) -> None:
    server = XConnection()
    assert not server.is_composited()
    server.close()


def _newest_card(presence: Presence) -> tuple[str, str]:
    cards = [item for item in presence.inbox.view.items if isinstance(item, Card)]
    return cards[-1].verb, cards[-1].object


def test_in_german_cards_and_buttons_speak_german(qtbot: QtBot, qapp: QApplication, still: Look) -> None:
    translator = translation.install(qapp, "de")
    assert translator is not None
    made = Presence(still, translation.words)
    try:
        made.inbox.receive(agent_events.TagStart("1", "open_app", {"name": "Rechner"}))
        qtbot.waitUntil(lambda: made.inbox.view.doing != "")
        assert made.inbox.view.doing == "Öffnet Rechner"
        made.inbox.receive(agent_events.TagStart("2", "cron", {}))
        made.inbox.receive(agent_events.ToolRunning("2", "cron", {"action": "list"}))
        qtbot.waitUntil(lambda: made.inbox.view.doing == "Schlägt nach: was geplant ist")
        made.inbox.receive(agent_events.TagStart("3", "set_theme", {"name": "dark"}))
        made.inbox.receive(
            agent_events.ToolFinished("3", "set_theme", True, "set_theme", {"theme": "Plain", "scheme": "Dark"})
        )
        qtbot.waitUntil(lambda: _newest_card(made) == ("Gestaltung geändert:", "Schlicht, Dunkel"))
        assert made.bubble.header.stop.text() == "Anhalten"
    finally:
        qapp.removeTranslator(translator)
        made.close()


def test_in_german_the_empty_field_and_what_it_offers_are_german(qtbot: QtBot, qapp: QApplication, still: Look) -> None:
    translator = translation.install(qapp, "de")
    assert translator is not None
    made = Presence(still, translation.words)
    try:
        known = resources.table("suggestions.toml", home.Suggestions).suggestions
        assert made.composer.field.placeholderText() in map(words_in("de"), known)
        made.bubble.home.offer("mousepad", "Mousepad", (), has_model=False)
        chosen: list[str] = []
        made.bubble.home.chosen.connect(chosen.append)
        made.bubble.home.lines[0].click()
        assert chosen == ["Tippe Franz jagt im Taxi durch Bayern"]
    finally:
        qapp.removeTranslator(translator)
        made.close()


def test_a_count_has_the_form_of_its_language(qapp: QApplication) -> None:
    def said() -> list[str]:
        return [translation.counted("{count} step", "{count} steps", count) for count in (0, 1, 2)]

    assert said() == ["0 steps", "1 step", "2 steps"]
    translator = translation.install(qapp, "de")
    assert translator is not None
    assert said() == ["0 Schritte", "1 Schritt", "2 Schritte"]
    qapp.removeTranslator(translator)


def test_a_language_without_a_catalogue_is_english(qapp: QApplication) -> None:
    assert translation.install(qapp, "xx") is None
    assert translation.words("Opening") == "Opening"
