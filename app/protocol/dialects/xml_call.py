"""One inline-XML call while it is being read, and the reports about it."""

from __future__ import annotations

from app.base import ids
from app.protocol import payload
from app.protocol.call import Block, Child
from app.protocol.dialects.stream import Stream
from app.protocol.dialects.tags import Tag
from app.protocol.events import CallClosed, CallCut, CallDelta, CallOpened, Misread
from app.protocol.spec import PROGRESS, Param, ToolSpec


def child_of(spec: ToolSpec, name: str) -> Param | None:
    """The argument a sub-tag of that name writes: attributes, children and body are spellings of one thing."""
    if name == PROGRESS.name:
        return spec.param(name) or PROGRESS
    return spec.param(name) or (Param(name) if spec.parts_of(name) else None)


class Call:
    """Collects what a call holds. A dead call (over a limit) is read to its end and reports nothing more."""

    def __init__(self, spec: ToolSpec, tag: Tag) -> None:
        self.spec = spec
        self.tag = tag
        self._id = ids.unique("call_")
        self._children: list[Child] = []
        self._body = ""
        self._dead = False
        self._attrs = {name: self._attribute(name, raw) for name, raw in tag.attrs.items()}

    @property
    def has_children(self) -> bool:
        return bool(self._children)

    def open(self, stream: Stream) -> None:
        if self.tag.too_long:
            self.kill(stream, "attributes_too_long", f"The attributes of <{self.tag.name}> are too long; use its body.")
        else:
            stream.emit(CallOpened(self._id, self.tag.name, self._attrs))

    def show(self, param: str, text: str, stream: Stream) -> None:
        if text and not self._dead:
            stream.events.append(CallDelta(self._id, param, text))

    def add(self, name: str, text: str, attrs: dict[str, str]) -> None:
        self._children.append(Child(name, text, attrs))

    def set_body(self, text: str) -> None:
        self._body = text

    def close(self, stop: int, stream: Stream) -> None:
        if not self._dead:
            stream.emit(CallClosed(self._block(stop, partial=False)))

    def cut(self, stop: int, stream: Stream) -> None:
        if not self._dead:
            stream.emit(CallCut(self._block(stop, partial=True)))

    def kill(self, stream: Stream, code: str, detail: str) -> None:
        """A limit was passed: say so once; nothing of this call will run."""
        if not self._dead:
            stream.emit(CallCut(self._block(stream.position(), partial=True)))
            stream.emit(Misread(code, detail, self.tag.start))
        self._dead = True

    def _attribute(self, name: str, raw: str) -> str:
        param = child_of(self.spec, name)
        return payload.attribute_value(raw, short=param is None or param.short)

    def _block(self, stop: int, *, partial: bool) -> Block:
        return Block(
            self._id,
            self.tag.name,
            self._attrs,
            tuple(self._children),
            self._body,
            partial=partial,
            span=(self.tag.start, stop),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> list[str]:
        given = [child.name for child in self._children]
        many = {param.name for param in self.spec.params if param.many}
        twice = [*self.tag.repeated]
        twice += [name for name in dict.fromkeys(given) if name not in many and given.count(name) > 1]
        twice += [name for name in dict.fromkeys(given) if name in self._attrs]
        return [f"{name} was given more than once; the last one counts." for name in dict.fromkeys(twice)]
