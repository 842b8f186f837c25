"""`dataclass` for Wisp's values: like `dataclasses.dataclass`, at a fifth of the cost at start.

The standard one compiles six methods for each frozen class (https://github.com/python/cpython/issues/109870), more than
a third of the processor time of a start. Here the methods of a frozen, slotted class are closures, and its `__init__`
is compiled when the first instance is created.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field, fields, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ("dataclass", "field", "fields", "replace")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False, **other):
        """Make a class a dataclass. Every form but the frozen, slotted one is left to the standard library."""
        if cls is not None or not (frozen and slots) or other:
            make = dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only, **other)
            return make if cls is None else make(cls)
        return partial(_value, kw_only=kw_only)


def _value(cls: type, *, kw_only: bool) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # because dataclasses otherwise works out a signature for it
    own = set(vars(cls))
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=True, kw_only=kw_only)
    every = dataclasses.fields(made)
    methods = {"__init__": _init_of(made, every), "__repr__": _repr_of(every)}
    methods |= _comparing(every) | _frozen(made, every)
    for name in methods.keys() - own:
        methods[name].__name__, methods[name].__qualname__ = name, f"{made.__qualname__}.{name}"
        setattr(made, name, methods[name])
    return made  # type: ignore[no-any-return]


Fields = tuple[dataclasses.Field[Any], ...]


def _init_of(made: Any, every: Fields) -> Any:
    def begin(self: Any, *given: Any, **named: Any) -> None:
        made.__init__ = whole = _compiled(every, has_more=hasattr(made, "__post_init__"))
        whole(self, *given, **named)

    return begin


_MISSING = object()


def _compiled(every: Fields, *, has_more: bool) -> Any:
    """Its parameters are the fields. It bypasses the frozen `__setattr__`."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": _MISSING}
    taken, body = ["self"], ["pass"]
    for one in sorted(every, key=lambda one: bool(one.kw_only)):
        value, default = one.name, ""
        if one.default is not dataclasses.MISSING:
            names[f"_default_{one.name}"], default = one.default, f"=_default_{one.name}"
        elif one.default_factory is not dataclasses.MISSING:
            names[f"_make_{one.name}"], default = one.default_factory, "=_missing"
            value = f"_make_{one.name}() if {one.name} is _missing else {one.name}"
        if one.init:
            taken += ["*"] if one.kw_only and "*" not in taken else []
            taken.append(f"{one.name}{default}")
            body.append(f"_set(self, {one.name!r}, {value})")
    body += ["self.__post_init__()"] if has_more else []
    exec(f"def __init__({', '.join(taken)}):\n " + "\n ".join(body), names)
    return names["__init__"]


def _repr_of(every: Fields) -> Any:
    shown = [one.name for one in every if one.repr]

    def describe(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    return describe


def _comparing(every: Fields) -> dict[str, Any]:
    names = [one.name for one in every if one.compare]
    read = attrgetter(*names) if names else type

    def equal(self: object, other: object) -> bool:
        return bool(read(self) == read(other)) if type(self) is type(other) else NotImplemented

    def hashed(self: object) -> int:
        return hash(read(self))

    return {"__eq__": equal, "__hash__": hashed}


def _frozen(made: Any, every: Fields) -> dict[str, Any]:
    names = [one.name for one in every]

    def refuse_to_set(self: object, name: str, value: object) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def refuse_to_delete(self: object, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    def state(self: object) -> list[object]:
        return [getattr(self, name) for name in names]

    def restore(self: object, values: list[object]) -> None:
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)

    return {
        "__setattr__": refuse_to_set,
        "__delattr__": refuse_to_delete,
        "__getstate__": state,
        "__setstate__": restore,
    }
