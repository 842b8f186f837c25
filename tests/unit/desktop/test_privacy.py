"""Private windows are black in every picture, as far as they show."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from app.base.geometry import Point, Rect
from app.desktop.backends import Frame, Window
from app.desktop.headless import HeadlessDesktop
from app.desktop.privacy import Private, Veiled, private_by
from app.desktop.takeover import StopFlag
from app.services.files.places import is_named_secret

_WHITE = bytes((255, 255, 255, 0))
_WHOLE = Rect(0, 0, 100, 80)
_VAULT = Window("w1", "Passwords.kdbx", "KeePassXC", Rect(10, 10, 40, 30))


def seen(windows: Sequence[Window], private: Private, area: Rect = _WHOLE) -> Frame:
    desktop = HeadlessDesktop(Frame(_WHOLE, _WHITE * _WHOLE.size.area))
    desktop.opened[:] = windows
    backend = desktop.backend(StopFlag())
    return Veiled(backend.screen, backend.windows, private).grab(area)


def black_in(frame: Frame) -> set[Point]:
    area = frame.area
    points = [Point(x, y) for y in range(area.y, area.bottom) for x in range(area.x, area.right)]
    return {p for p in points if frame.bgrx[4 * ((p.y - area.y) * area.width + p.x - area.x)] == 0}


def inside(*areas: Rect) -> set[Point]:
    return {Point(x, y) for a in areas for x in range(a.x, a.right) for y in range(a.y, a.bottom)}


def test_a_password_manager_is_black_and_named_and_nothing_else_is() -> None:
    frame = seen([_VAULT], private_by(""))
    assert (black_in(frame), frame.hidden) == (inside(_VAULT.area), ("Passwords.kdbx",))


def test_a_part_of_the_screen_is_veiled_where_it_lies() -> None:
    frame = seen([_VAULT], private_by(""), Rect(30, 20, 50, 50))
    assert black_in(frame) == inside(Rect(30, 20, 20, 20))


def test_what_lies_in_front_is_seen() -> None:
    front = Window("w2", "Letter", "editor", Rect(30, 0, 70, 25))
    assert black_in(seen([front, _VAULT], private_by(""))) == inside(_VAULT.area) - inside(front.area)


def test_what_can_be_seen_through_and_our_own_windows_cover_nothing() -> None:
    glass = Window("w2", "Terminal", "term", _WHOLE, is_solid=False)
    ours = Window("w3", "Wisp", "wisp", _WHOLE, pid=os.getpid())
    assert black_in(seen([ours, glass, _VAULT], private_by(""))) == inside(_VAULT.area)


def test_without_a_private_window_the_pixels_are_left_alone() -> None:
    frame = seen([Window("w2", "Letter", "editor", _WHOLE)], private_by(""))
    assert (black_in(frame), frame.hidden) == (set(), ())


@pytest.mark.parametrize(
    ("app", "is_private"),
    [
        ("KeePassXC", True),
        ("Bitwarden", True),
        ("Gcr-prompter", True),
        ("pinentry-qt", True),
        ("Seahorse", True),
        ("Mousepad", False),
        ("", False),
    ],
)
def test_password_managers_are_known_by_their_programs(app: str, *, is_private: bool) -> None:
    assert private_by("").hides(title="Any", app=app) is is_private


def test_a_page_about_a_password_manager_is_no_password_manager() -> None:
    assert not private_by("").hides(title="KeePassXC - Chromium", app="Chromium")


def test_a_person_names_programs_and_parts_of_titles() -> None:
    private = private_by("Thunderbird, My Bank")
    assert private.hides(title="Inbox", app="thunderbird")
    assert private.hides(title="Welcome to my bank - Chromium", app="Chromium")
    assert not private.hides(title="News - Chromium", app="Chromium")
    assert private.hides(title="Vault", app="Bitwarden")


def test_a_person_may_let_a_password_manager_be_seen() -> None:
    private = private_by("-KeePassXC")
    assert not private.hides(title="Vault", app="KeePassXC")
    assert private.hides(title="Vault", app="Bitwarden")


def test_a_program_is_also_known_by_its_process() -> None:
    with open("/proc/self/comm", encoding="utf-8") as told:
        private = Private(programs=(told.read().strip().casefold(),))
    assert private.hides(title="", app="Something", pid=os.getpid())
    assert not private.hides(title="", app="Something", pid=1 << 30)


@pytest.mark.parametrize(
    ("title", "is_private"),
    [
        (".netrc - Mousepad", True),
        ("config (~/.ssh) - gedit", True),
        ("● .env - project - Visual Studio Code", True),
        ("vault.kdbx", True),
        ("config (~/project) - gedit", False),
        ("How to write a .env file - Chromium", False),
        ("", False),
    ],
)
def test_a_window_that_shows_a_secret_by_the_table_is_private(title: str, *, is_private: bool) -> None:
    assert private_by("", is_named_secret).hides(title=title, app="any") is is_private


def test_a_person_may_let_a_secret_file_be_seen() -> None:
    private = private_by("-.env", is_named_secret)
    assert not private.hides(title=".env - Mousepad", app="mousepad")
    assert private.hides(title=".netrc - Mousepad", app="mousepad")
