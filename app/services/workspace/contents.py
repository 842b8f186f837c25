"""What a file shows a reader: lines of its text, the text of a document, or a picture."""

from __future__ import annotations

from dataclasses import dataclass

from app.services.parsing import child
from app.services.workspace import documents, pictures
from app.services.workspace.pictures import Picture
from app.services.workspace.places import Place, Workspace
from app.services.workspace.reading import Slice, lines_of, open_file, sliced

MOST_LINES = 1_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Lines from `first` to `last` (from 1, inclusive; None: the ends), at most `most`."""

    first: int | None = None
    last: int | None = None
    most: int = MOST_LINES


def look(workspace: Workspace, place: Place, wanted: Wanted) -> Slice | Picture:
    """The file's content. Raises WispErrors that say what it is where it cannot be shown."""
    with open_file(workspace, place) as file:
        name = place.path.name
        if pictures.is_picture(name):
            return pictures.unpacked(b"".join(child.pieces("picture", {"shown": place.shown}, file, place.shown)))
        if documents.reader_of(name):
            texts = child.texts("document", {"name": name, "shown": place.shown}, file, place.shown)
            return sliced(texts, wanted.first, wanted.last, wanted.most)
        return lines_of(file, place, wanted.first, wanted.last, wanted.most)
