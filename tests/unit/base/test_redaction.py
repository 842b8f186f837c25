"""Secrets are blanked out before anything is kept; everything else stays, and no text takes long."""

from __future__ import annotations

import random
import re
import string
from pathlib import Path

import pytest

from app.base.redaction import RedactedStream
from app.base.withheld import cleaned, redaction, shown, without_secrets

DATA = Path(__file__).parents[2] / "data" / "redaction"


def _lines(name: str) -> list[str]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _planted(line: str) -> tuple[str, list[str]]:
    """The text with its secrets in it, and the secrets."""
    chance = random.Random(line)
    secrets: list[str] = []

    def plant(found: re.Match[str]) -> str:
        if found.group(2):
            secrets.append(found.group(2))
        else:
            letters = string.ascii_letters + string.digits
            secrets.append("".join(chance.choice(letters) for _ in range(int(found.group(1)))))
        return secrets[-1]

    return re.sub(r"@(\d+)|\^([^^]+)\^", plant, line.replace("|", "")), secrets


@pytest.mark.parametrize("line", _lines("secrets.txt"))
def test_a_secret_is_blanked_out(line: str) -> None:
    text, secrets = _planted(line)
    kept = without_secrets(text)
    assert secrets
    assert [secret for secret in secrets if secret in kept] == []
    assert shown() in kept


@pytest.mark.parametrize("line", _lines("plain.txt"))
def test_what_is_no_secret_stays(line: str) -> None:
    assert without_secrets(line) == line


def test_the_text_around_a_secret_stays() -> None:
    assert without_secrets('first\nexport API_KEY="0123456789abcdef" # mine\nlast') == (
        f"first\nexport API_KEY={shown()} # mine\nlast"
    )


def test_a_private_key_goes_as_a_whole() -> None:
    body = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"] * 20)
    kept = without_secrets(f"before -----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY----- after")
    assert "MIIE" not in kept
    assert kept == f"before {shown()} after"


def test_trees_are_cleaned_by_their_names_and_in_their_texts() -> None:
    tree = {
        "user": "me",
        "Password": "x",
        "pin": 1234,
        "deep": [{"X-API-Key": "k", "note": "password: hunter2hunter2"}],
    }
    assert cleaned(tree) == {
        "user": "me",
        "Password": shown(),
        "pin": shown(),
        "deep": [{"X-API-Key": shown(), "note": f"password: {shown()}"}],
    }


@pytest.mark.parametrize("separator", ["\n", " "])
def test_a_secret_is_found_wherever_it_stands_in_a_long_text(separator: str) -> None:
    filler = separator.join(["nothing to see here"] * 300) + separator
    text = "".join(f"{filler}GITHUB_TOKEN={number:020d}{separator}" for number in range(60))
    kept = without_secrets(text)
    assert kept.count(shown()) == 60
    assert kept == "".join(f"{filler}GITHUB_TOKEN={shown()}{separator}" for _ in range(60))


@pytest.mark.long
@pytest.mark.parametrize(
    "piece",
    ["sk-", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----",
     "key", "ghp_", "=", "4111-1111-1111-1112\n"],
)  # fmt: skip
def test_no_text_takes_long(piece: str) -> None:
    assert without_secrets(piece * (400_000 // len(piece))) is not None


def _streamed(text: str, size: int) -> str:
    stream = RedactedStream(redaction())
    data = text.encode()
    kept = [stream.feed(data[start : start + size]) for start in range(0, len(data), size)]
    return b"".join([*kept, stream.rest()]).decode()


_KEY = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 20
    + "-----END PRIVATE KEY-----"
)


@pytest.mark.parametrize("size", [1, 7, 64, 4_096, 1 << 20])
def test_where_a_stream_is_cut_changes_nothing(size: int) -> None:
    text = f"grüße\nghp_{'Ab1' * 12}\ncard 4111 1111 1111 1111\n{_KEY}\nlast £"
    assert _streamed(text, size) == f"grüße\n{shown()}\ncard {shown()}\n{shown()}\nlast £"


@pytest.mark.parametrize("space", ["", " "])
@pytest.mark.parametrize("before", range(32_740, 32_780, 3))
def test_a_secret_is_found_in_the_middle_of_an_endless_line(before: int, space: str) -> None:
    text = f"{'-' * before}{space} 4111 1111 1111 1111 {'-' * 90_000}"
    assert _streamed(text, 4_096) == text.replace("4111 1111 1111 1111", shown()) == without_secrets(text)
