"""Files that cost more than they weigh: bombs, loops, lies about sizes. Each is made anew and small on the disk."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_MAIN = "application/vnd.openxmlformats-officedocument.{}.main+xml"
_LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))


def make(path: Path, recipe: str) -> None:
    """Put the payload `name` or `name:size` there."""
    name, _, size = recipe.partition(":")
    path.parent.mkdir(parents=True, exist_ok=True)
    if name in _PLACES:
        _PLACES[name](path, int(size))
    else:
        path.write_bytes(_FILES[name](int(size or 0)))


def _zip(entries: dict[str, bytes], *, claim: int = 0) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 1)
    data = out.getvalue()
    if not claim:
        return data
    first = archive.infolist()[-1]
    return data.replace(struct.pack("<I", first.file_size), struct.pack("<I", claim))


def _package(main: str, kind: str, document: bytes, **more: bytes) -> dict[str, bytes]:
    """The parts of an Office file around its main part."""
    types = (
        f'{_XML}<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        f'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="{_MAIN.format(kind)}"/></Types>'
    )
    rels = (
        f'{_XML}<Relationships xmlns="{_RELS}"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
        f'Target="{main}"/></Relationships>'
    )
    return {"[Content_Types].xml": types.encode(), "_rels/.rels": rels.encode(), main: document, **more}


def _word(body: str, doctype: str = "") -> dict[str, bytes]:
    document = f'{_XML}{doctype}<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
    return _package("word/document.xml", "wordprocessingml.document", document.encode())


def _sheet(rows: str) -> dict[str, bytes]:
    book = (
        f'{_XML}<workbook xmlns="{_S}" xmlns:r="{_OFFICE}"><sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets>'
        "</workbook>"
    )
    parts = _package("xl/workbook.xml", "spreadsheetml.sheet", book.encode())
    link = f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    parts["xl/_rels/workbook.xml.rels"] = f'{_XML}<Relationships xmlns="{_RELS}">{link}</Relationships>'.encode()
    parts["xl/worksheets/sheet1.xml"] = (
        f'{_XML}<worksheet xmlns="{_S}"><sheetData>{rows}</sheetData></worksheet>'.encode()
    )
    return parts


def _paragraphs(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def _pdf(*objects: bytes) -> bytes:
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    return out + head + table + b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)


def _stream(data: bytes, more: bytes = b"/Filter/FlateDecode") -> bytes:
    return b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(data), more, data)


def _pages(content: bytes) -> bytes:
    return _pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<>>>>",
        content,
    )


def _squeezed(size: int, unit: bytes = b"\0") -> bytes:
    """`size` bytes that weigh a thousandth."""
    packer = zlib.compressobj(9)
    piece = unit * (1 << 20)
    return b"".join(packer.compress(piece) for _ in range(max(size // len(piece), 1))) + packer.flush()


def _png(width: int, height: int, pixels: bytes, *more: tuple[bytes, bytes]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    extra = b"".join(chunk(kind, data) for kind, data in more)
    return b"\x89PNG\r\n\x1a\n" + head + extra + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def _bmp(width: int, height: int) -> bytes:
    return (
        b"BM"
        + struct.pack("<IHHI", 54, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    )


def _gif(frames: int) -> bytes:
    frame = b"\x21\xf9\x04\0\0\0\0\0" + b"\x2c\0\0\0\0\x01\0\x01\0\0" + b"\x02\x02\x44\x01\0"
    return b"GIF89a\xff\xff\xff\xff\x80\0\0" + bytes(6) + frame * frames + b";"


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def _deep(path: Path, levels: int) -> None:
    path.mkdir()
    fd = os.open(path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)


def _wide(path: Path, count: int) -> None:
    path.mkdir()
    for number in range(count):
        (path / f"{number:06}").touch()


_PLACES: dict[str, Callable[[Path, int], None]] = {"sparse": _sparse, "deep-folder": _deep, "wide-folder": _wide}
_FILES: dict[str, Callable[[int], bytes]] = {
    "docx-bomb": lambda size: _zip(_word(_paragraphs("a" * size))),
    "docx-many": lambda size: _zip(_word(_paragraphs("a") * size)),
    "docx-liar": lambda size: _zip(_word(_paragraphs("a" * size)), claim=10),
    "docx-laughs": lambda _: _zip(_word(_paragraphs("&a9;"), f'<!DOCTYPE x [<!ENTITY a0 "haha">{_LAUGHS}]>')),
    "docx-quadratic": lambda size: _zip(_word(_paragraphs("&a;" * size), f'<!DOCTYPE x [<!ENTITY a "{"b" * size}">]>')),
    "docx-file": lambda _: _zip(_word(_paragraphs("&a;"), '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>')),
    "docx-net": lambda _: _zip(_word(_paragraphs("&a;"), '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">')),
    "docx-nested": lambda size: _zip(_word("<w:tbl><w:tr><w:tc>" * size + "</w:tc></w:tr></w:tbl>" * size)),
    "docx-traversal": lambda _: _zip({**_word(_paragraphs("a")), "../../../home/Documents/letter.txt": b"spoiled"}),
    "docx-cut": lambda _: _zip(_word(_paragraphs("a")))[:-30],
    "xlsx-rows": lambda size: _zip(_sheet("<row><c><v>1</v></c></row>" * size)),
    "xlsx-far": lambda size: _zip(_sheet(f'<row r="{size}"><c r="XFD{size}"><v>1</v></c></row>')),
    "xlsx-wide": lambda size: _zip(_sheet('<row r="1">' + '<c r="XFD1"><v>1</v></c>' * size + "</row>")),
    "xlsx-number": lambda size: _zip(_sheet(f'<row r="1"><c r="A1"><v>{"9" * size}</v></c></row>')),
    "xlsx-formula": lambda _: _zip(_sheet('<row r="1"><c r="A1"><f>WEBSERVICE("http://127.0.0.1:9/")</f></c></row>')),
    "zip-overlap": lambda size: _zip({f"{n}.xml": b"a" * 1_000_000 for n in range(size)}),
    "pdf-bomb": lambda size: _pages(_stream(_squeezed(size, b"BT (a) Tj ET\n"))),
    "pdf-twice": lambda size: _pages(_stream(zlib.compress(_squeezed(size)), b"/Filter[/FlateDecode/FlateDecode]")),
    "pdf-length": lambda size: _pages(b"<</Length %d>>\nstream\nBT ET\nendstream" % size),
    "pdf-tree": lambda _: _pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9999999>>"),
    "pdf-self": lambda _: _pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"2 0 R"),
    "pdf-nested": lambda size: _pages(_stream(zlib.compress(b"[" * size + b"]" * size))),
    "pdf-array": lambda size: _pdf(b"<</Type/Catalog/Pages 2 0 R/X " + b"[" * size + b"]" * size + b">>", b"<<>>"),
    "pdf-kids": lambda size: _pdf(
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[" + b"3 0 R " * size + b"]>>", b"<<>>"
    ),
    "pdf-cut": lambda _: _pages(_stream(zlib.compress(b"BT ET")))[:-60],
    "pdf-noise": lambda size: b"%PDF-1.7\n" + b"1 0 obj <<" * size,
    "png-size": lambda size: _png(size, size, b""),
    "png-bomb": lambda size: _png(size, size, _squeezed(size * (size * 3 + 1))),
    "png-text": lambda size: _png(1, 1, zlib.compress(bytes(4)), (b"zTXt", b"a\0\0" + _squeezed(size))),
    "png-profile": lambda size: _png(1, 1, zlib.compress(bytes(4)), (b"iCCP", b"a\0\0" + _squeezed(size))),
    "png-cut": lambda _: _png(9, 9, zlib.compress(bytes(999)))[:50],
    "png-nothing": lambda _: b"\x89PNG\r\n\x1a\n",
    "bmp-size": lambda size: _bmp(size, size),
    "bmp-negative": lambda size: _bmp(-size, -size),
    "gif-frames": _gif,
    "jpeg-cut": lambda _: bytes.fromhex(
        "ffd8ffe000104a46494600010100000100010000ffc0001108ffffffff03011100021101031101"
    ),
    "tiff-loop": lambda _: b"II*\0\x08\0\0\0\0\0\x08\0\0\0",
    "webp-cut": lambda _: b"RIFF\xff\xff\xff\x7fWEBPVP8L\xff\xff\xff\x7f/\xff\xff\xff\xff",
    "ico-many": lambda _: b"\0\0\1\0\xff\xff" + b"\xff" * 64,
    "ipynb-deep": lambda size: b'{"cells":' + b"[" * size + b"]" * size + b"}",
    "ipynb-number": lambda size: b'{"cells":[{"cell_type":"code","source":' + b"9" * size + b"}]}",
    "ipynb-many": lambda size: json.dumps({"cells": [{"cell_type": "code", "source": "x"}] * size}).encode(),
    "code-deep": lambda size: b"def f(): return " + b"(" * size + b")" * size,
    "code-wide": lambda size: b"def f(): pass\n" * size,
    "line": lambda size: b"a" * size,
    "lines": lambda size: b"a\n" * size,
    "utf16": lambda size: b"\xff\xfe" + b"a\0" * size,
    "invalid": lambda size: b"\xff\xfe\xfd\xc0\x80" * size,
    "gitignore": lambda size: b"*a*a*a*a*a*a*a*a*a*a*b\n" * size,
}
