"""What features declare for the presence: their pages and their kinds of cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from app.features import loading
from app.features.feature import Feature
from app.ui.cards.kinds import CardContent, CardKind
from tests.support.pages import list_pages


def _only(monkeypatch: pytest.MonkeyPatch, *features: Feature) -> None:
    monkeypatch.setattr(loading, "features", lambda: features)
    monkeypatch.setattr(loading, "_problems", {})


def test_a_feature_that_is_switched_off_has_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [page.name for page in list_pages()] == ["apps", "planned", "memory", "servers", "extras"]
    _only(monkeypatch, *(one for one in loading.features() if one.name not in ("apps", "memory")))
    assert [page.name for page in list_pages()] == ["planned", "servers", "extras"]


class Broken(CardKind):
    def shown(self, payload: Mapping[str, object], /) -> CardContent | None:
        raise KeyError("id")


class Whole(CardKind):
    def shown(self, payload: Mapping[str, object], /) -> CardContent | None:
        return CardContent(about={"id": "1"})


class Cards(Feature):
    def __init__(self, name: str, kinds: Mapping[str, CardKind]) -> None:
        self.name = name  # type: ignore[misc]
        self._kinds = kinds

    def cards(self) -> Mapping[str, CardKind]:
        return self._kinds


def test_a_fault_of_a_kind_of_card_costs_its_own_feature_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, Cards("one", {"a": Broken()}), Cards("two", {"a": Whole(), "b": Whole()}))
    kinds = loading.card_kinds()
    shown: Sequence[CardContent | None] = [kinds[name].shown({}) for name in ("a", "b")]
    assert shown == [None, CardContent(about={"id": "1"})]
    assert list(loading.problems()) == ["one"]
