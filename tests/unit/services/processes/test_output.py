"""What of a command's output a model may read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.processes.output import local_url, plain


@given(st.binary())
def test_any_bytes_become_text(data: bytes) -> None:
    assert isinstance(plain(data), str)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("Local:   http://localhost:5173/", "http://localhost:5173/"),
        ("listening on http://127.0.0.1:8000.", "http://127.0.0.1:8000"),
        ("(http://0.0.0.0:80/x?y=1)", "http://0.0.0.0:80/x?y=1"),
        ("http://[::1]:3000/a", "http://[::1]:3000/a"),
        ("see https://example.com/docs", ""),
        ("http://localhost.example.com/ or http://localhosts", ""),
    ],
)
def test_the_address_of_a_local_server_is_found(text: str, url: str) -> None:
    assert local_url(text) == url
