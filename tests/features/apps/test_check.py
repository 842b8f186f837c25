"""What `wisp doctor` says of small apps."""

from __future__ import annotations

import pytest

from app.base.findings import CheckVerdict
from app.features.apps import webengine


@pytest.mark.parametrize(
    ("engines", "why", "verdict", "detail"),
    [
        (("webengine", "chromium"), "", CheckVerdict.OK, "small window engine"),
        (("chromium", "webengine"), "no libnss3", CheckVerdict.OK, "chromium"),
        (("webengine", "chromium"), "no libnss3", CheckVerdict.NOTE, "(no libnss3); /usr/bin/chromium shows them"),
        (("webengine",), "no libnss3", CheckVerdict.NOTE, "(no libnss3)"),
        ((), "", CheckVerdict.NOTE, "nothing on this computer"),
    ],
)
def test_the_doctor_names_what_shows_small_apps_and_an_engine_that_does_not_load(
    monkeypatch: pytest.MonkeyPatch, engines: tuple[str, ...], why: str, verdict: CheckVerdict, detail: str
) -> None:
    monkeypatch.setattr(webengine, "installed_engines", lambda: engines)
    monkeypatch.setattr(webengine, "why_unusable", lambda: why)
    monkeypatch.setattr(webengine, "program", lambda: "/usr/bin/chromium")
    found = webengine.check_engines()
    assert (found.verdict, detail in found.detail, bool(found.fix)) == (verdict, True, verdict is not CheckVerdict.OK)
