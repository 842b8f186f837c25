"""What opening a document comes to, by its name and its content together."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from app.services.files.document_kinds import DocumentKind, NamedTarget, kind_of, target_of

PNG = b"\x89PNG\r\n\x1a\n"
HTML = b"<html><script>location='http://evil.example'</script>"

CASES = [
    ("a.txt", b"hello\n", "plain"),
    ("a.csv", b'a,"=WEBSERVICE(""http://evil.example"")"\n', "loads"),
    ("a.svg", b"<svg/>", "loads"),
    ("a.txt", b"\xef\xbb\xbf \n<svg onload='x'>", "loads"),
    ("a.py", b"print()\n", "runs"),
    ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "runs"),
    ("a.docx", b"no archive", "unknown"),
]


@pytest.mark.parametrize(("name", "content", "kind"), CASES)
def test_a_document_is_judged_by_its_name_and_its_content(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert kind_of(str(path)) == kind


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ({"word/document.xml": "<w/>"}, "plain"),
        ({"word/_rels/settings.xml.rels": '<R Type="a/attachedTemplate" TargetMode="External" Target="h"/>'}, "loads"),
        (
            {"word/_rels/a.rels": '<R Type="x/image" TargetMode="External"/>'.encode("utf-16")},
            "loads",
        ),
        ({"styles.xml": '<image href="//evil.example/a"/>'}, "loads"),
        ({"xl/worksheets/a.xml": "<c><f>WEBSERVICE(A1)</f></c>"}, "loads"),
        ({"_rels/.rels": '<R Type="x/officeDocument" Target="/word/document.xml"/>'}, "plain"),
        ({"content.xml": b"\xff\xff<a/>"}, "unknown"),
    ],
)
def test_a_document_of_an_office_program_is_judged_by_its_parts(
    tmp_path: Path, parts: dict[str, str | bytes], kind: str
) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    assert kind_of(str(path)) == kind


def test_a_folder_is_shown_and_what_is_not_there_is_unknown(tmp_path: Path) -> None:
    assert kind_of(str(tmp_path)) is DocumentKind.FOLDER
    assert kind_of(str(tmp_path / "none.txt")) is DocumentKind.UNKNOWN


def test_a_link_is_plain_only_by_both_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "b.html").symlink_to("a.txt")
    (tmp_path / "b.txt").symlink_to("a.txt")
    found = [kind_of(str(tmp_path / name)) for name in ("b.html", "b.txt")]
    assert found == [DocumentKind.UNKNOWN, DocumentKind.PLAIN]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("calculator", None),
        ("text editor", None),
        ("http://a.example/?x", NamedTarget(address="http://a.example/?x")),
        ("HTTPS://a.example", NamedTarget(address="HTTPS://a.example")),
        ("/tmp/a b.txt", NamedTarget(path="/tmp/a b.txt")),
        ("file:///tmp/a%20b.txt", NamedTarget(path="/tmp/a b.txt")),
        ("file://elsewhere/tmp/a.txt", NamedTarget(path="file://elsewhere/tmp/a.txt")),
        ("mailto:a@b.example?body=x", NamedTarget(path="mailto:a@b.example?body=x")),
    ],
)
def test_a_name_is_an_address_a_path_or_a_program(name: str, target: NamedTarget | None) -> None:
    assert target_of(name) == target
