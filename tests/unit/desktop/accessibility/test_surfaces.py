"""Where windows of Wayland and their menus lie. The figures were measured on real windows, on sway."""

from __future__ import annotations

import pytest

from app.base.geometry import Rect
from app.base.values import replace
from app.desktop.accessibility import surfaces
from app.desktop.accessibility.nodes import AS_TOLD, NOWHERE, Node, Program, Scale
from app.desktop.accessibility.outline import Outliner, RefBook, Stack
from app.desktop.backends import Window
from app.desktop.elements import OutlineRequest, OutlineView
from tests.unit.desktop.accessibility.trees import node, program

GTK = node("frame", "Form", (0, 0, 420, 300), node("filler", "", (0, 0, 420, 300)))
GTK_WITH_SHADOW = node(
    "frame", "Form", (0, 0, 472, 399), node("panel", "", (26, 23, 420, 47)), node("filler", "", (26, 70, 420, 300))
)
CHROMIUM = node(
    "frame",
    "Form",
    (0, 0, 1050, 780),
    node(
        "panel",
        "",
        (0, 0, 1050, 780),
        node("button", "Close", (1002, 10, 32, 40)),
        node("panel", "", (16, 10, 1018, 738)),
    ),
)
TOO_WIDE = node("frame", "Form", (0, 0, 900, 773))


def shown(content: Rect | None, title: str = "Form", *, is_active: bool = True) -> Window:
    area = Rect(content.x - 2, content.y - 25, content.width + 4, content.height + 27) if content else Rect(0, 0, 0, 0)
    return Window(f"w{title}", title, "form", area, 7, is_active, content=content)


def placed(*windows: Node, among: tuple[Window, ...], is_adrift: bool = False) -> Program:
    told = program("form", *windows)
    surfaces.place(told, windows, Stack(among), is_adrift=is_adrift)
    return told


@pytest.mark.parametrize(
    ("window", "content", "scale"),
    [
        pytest.param(GTK, Rect(430, 250, 420, 300), Scale(dx=430, dy=250), id="GTK"),
        pytest.param(GTK_WITH_SHADOW, Rect(430, 226, 420, 347), Scale(dx=404, dy=203), id="GTK with a shadow"),
        pytest.param(CHROMIUM, Rect(131, 31, 1018, 738), Scale(dx=115, dy=21), id="Chromium"),
        pytest.param(TOO_WIDE, Rect(642, 25, 636, 773), Scale(dx=642, dy=25), id="wider than its tile"),
        pytest.param(GTK, Rect(430, 250, 400, 320), NOWHERE, id="just changing its size"),
        pytest.param(GTK, Rect(429, 211, 422, 340), Scale(dx=430, dy=250), id="with a frame that Qt draws"),
    ],
)
def test_what_fills_a_surface_lies_where_the_system_shows_it(window: Node, content: Rect, scale: Scale) -> None:
    assert placed(window, among=(shown(content),)).scales[window.key] == scale


def test_gtk_draws_no_frame_that_it_does_not_count() -> None:
    told = placed(GTK, among=(shown(Rect(429, 211, 422, 340)),), is_adrift=True)
    assert told.scales[GTK.key] == NOWHERE


def test_a_program_that_tells_places_on_the_screen_is_left_alone() -> None:
    window = node("frame", "Form", (430, 250, 420, 300))
    told = placed(window, among=(shown(Rect(430, 250, 420, 300)),))
    assert (told.is_within, told.scale_for(window)) == (False, AS_TOLD)


def test_a_window_has_no_place_where_the_system_tells_none() -> None:
    other = replace(shown(Rect(430, 250, 420, 300), "Other"), pid=8)
    assert placed(GTK, among=(shown(None),)).scales[GTK.key] == NOWHERE
    assert placed(GTK, among=(other,)).scales[GTK.key] == NOWHERE


def test_a_window_of_an_unknown_process_is_known_by_its_title() -> None:
    unknown = replace(shown(Rect(430, 250, 420, 300)), pid=0)
    assert placed(GTK, among=(unknown,)).scales[GTK.key] == Scale(dx=430, dy=250)


def test_on_x11_nothing_is_told_of_surfaces() -> None:
    told = placed(GTK, among=(replace(shown(Rect(430, 250, 420, 300)), content=None),))
    assert (told.is_within, told.scales) == (False, {})


def test_of_two_windows_alike_only_the_one_that_says_so_is_the_active_one() -> None:
    two = shown(Rect(0, 0, 420, 300)), shown(Rect(500, 100, 420, 300), is_active=False)
    silent = placed(GTK, among=two)
    assert silent.scales[GTK.key] == NOWHERE
    active = node("frame", "Form", (0, 0, 420, 300), states=("showing", "visible", "active"))
    other = node("frame", "Form", (0, 0, 420, 300))
    told = placed(active, other, among=two)
    assert [told.scales[window.key] for window in (active, other)] == [AS_TOLD, Scale(dx=500, dy=100)]


def test_a_popup_without_a_parent_is_counted_from_its_programs_window_or_has_no_place() -> None:
    menu = node("frame", "", (511, 80, 423, 846))
    surface = shown(Rect(131, 31, 1018, 738))
    assert placed(CHROMIUM, menu, among=(surface,)).scales[menu.key] == Scale(dx=115, dy=21)
    assert placed(CHROMIUM, menu, among=(surface,), is_adrift=True).scales[menu.key] == NOWHERE


def test_what_is_in_a_page_follows_its_window() -> None:
    button = node("button", "Press", (76, 196, 100, 32))
    window = node("frame", "Form", (0, 0, 420, 300), node("document web", "", (0, 0, 420, 300), button))
    told = placed(window, among=(shown(Rect(430, 250, 420, 300)),))
    refs = RefBook()
    seen = refs.last_seen(refs.element(told, window, button).ref)
    assert seen and (seen.scale, seen.anchor) == (Scale(dx=430, dy=250), (window.key,))


def menu_of(opener: Node, *, at: int, bar: Node | None = None) -> tuple[Program, Node]:
    """A program with an open menu whose first entry is told at that height."""
    inside = [bar] if bar else [opener]
    window = node("frame", "Form", (0, 0, 472, 399), *inside, node("filler", "", (26, 23, 420, 347)))
    told = placed(window, among=(shown(Rect(430, 226, 420, 347)),))
    menus = surfaces.open_menus(told)
    first = menus[0][1].children[0]
    assert first.box and first.box.y == at
    surfaces.place_menus(told, menus, {menus[0][1].key: Rect(6, 5, 170, 29)})
    return told, first


@pytest.mark.parametrize(
    ("at", "y"),
    [
        pytest.param(34, 302, id="below its title"),
        pytest.param(-53, 215, id="above its title"),
        pytest.param(200, None, id="far from its title"),
    ],
)
def test_a_menu_of_gtk_3_lies_where_it_touches_its_title(at: int, y: int | None) -> None:
    entries = node("menu item", "Alpha", (6, at, 170, 29)), node("menu item", "Beta", (6, at + 29, 170, 29))
    title = node("menu", "File", (26, 70, 40, 29), *entries)
    told, first = menu_of(title, at=at, bar=node("menu bar", "", (26, 70, 420, 29), title))
    assert first.box
    there = told.scale_for(first).on_screen(first.box)
    assert there == (Rect(430, y, 170, 29) if y is not None else Rect(0, 0, 0, 0))
    assert told.scale_for(title) == Scale(dx=404, dy=203)


def test_the_menu_of_a_combo_box_lies_over_it() -> None:
    menu = node("menu", "", (32, 253, 79, 107), node("menu item", "One", (32, 257, 79, 33)))
    combo = node("combo box", "One", (26, 249, 79, 35), menu)
    window = node("frame", "Form", (0, 0, 472, 401), combo, node("filler", "", (26, 23, 420, 349)))
    told = placed(window, among=(shown(Rect(430, 225, 420, 349)),))
    surfaces.place_menus(told, surfaces.open_menus(told), {menu.key: Rect(6, 9, 79, 33)})
    assert told.scale_for(menu).on_screen(Rect(32, 253, 79, 107)) == Rect(430, 450, 79, 107)


def test_a_context_menu_of_gtk_3_has_no_place() -> None:
    menu = node("menu", "", (29, 23, 145, 183), node("menu item", "Cut", (29, 27, 145, 29)))
    popup = node("window", "", (23, 18, 157, 195), menu)
    told = placed(GTK, popup, among=(shown(Rect(430, 250, 420, 300)),), is_adrift=True)
    surfaces.place_menus(told, surfaces.open_menus(told), {menu.key: Rect(6, 9, 145, 29)})
    assert {told.scale_for(one) for one in popup.walk()} == {NOWHERE}


def test_a_control_without_a_place_is_told_with_its_ref_and_how_to_use_it() -> None:
    entry = node("menu item", "Cut", (0, 0, 0, 0))
    entry.is_unplaced = True
    window = node("frame", "Form", (430, 250, 420, 300), entry, node("label", "Above", (0, 0, 0, 0)))
    outline = Outliner().told([program("form", window)], RefBook(), Stack(), OutlineRequest(OutlineView.FULL))
    assert outline.text.splitlines()[1:] == ['  e2 menu item "Cut" [no place is known: press it by its ref]']


def test_a_popover_of_gtk_4_sticks_out_of_its_opener() -> None:
    popover, label = node("filler", "", (200, 152, 144, 60)), node("label", "More", (211, 157, 36, 24))
    node("button", "More", (200, 152, 78, 34), popover, label)
    assert [surfaces.is_popover(one) for one in (popover, label)] == [True, False]
