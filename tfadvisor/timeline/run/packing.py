"""Records as bytes that any machine can take: msgpack with a table of the records' fields. No pickle: reading it runs nothing.

[FORMAT, version of tfadvisor, records, value]. records: [[module, class, fields…], …]. A value is null, a boolean, a number, a
text or bytes as msgpack has them, or a list that begins with its kind: 0 a tuple, 1 a record (number, values), 2 an enum
(number, value), 3 a mapping (key, value, …), 4 a frozen set, 5 a list, 6 an array of NumPy (type, shape, bytes).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from importlib import import_module
from typing import Any

import msgspec
import numpy as np

from tfadvisor.errors import UsageError
from tfadvisor.version import VERSION

FORMAT = 1
_TUPLE, _RECORD, _ENUM, _MAPPING, _SET, _LIST, _ARRAY = range(7)
_PACKAGE = "tfadvisor."
_AS_THEY_ARE = (bool, int, float, str, bytes)
_KIND_OF: Mapping[type, int] = {tuple: _TUPLE, frozenset: _SET, list: _LIST}


class WrongVersion(UsageError):
    """Bytes of another tfadvisor."""


def pack(value: Any) -> bytes:
    """Of records, enums, arrays and plain data. Raises TypeError for anything else."""
    packer = _Packer()
    body = packer.packed(value)
    return msgspec.msgpack.encode([FORMAT, VERSION, packer.table(), body])


def unpack(data: bytes) -> Any:
    """The same again. Raises WrongVersion for bytes of another version, ValueError for what is none of ours."""
    try:
        its_format, version, *rest = msgspec.msgpack.decode(data)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise ValueError("these bytes are no records") from error
    if (its_format, version) != (FORMAT, VERSION):
        raise WrongVersion(f"a worker has tfadvisor {version}, and this is {VERSION}. Install the same one everywhere.")
    table, body = rest
    return _unpacked(body, [_class_of(*entry) for entry in table])


class _Packer:
    def __init__(self) -> None:
        self._numbers: dict[type, int] = {}

    def table(self) -> list[list[str]]:
        return [[one.__module__, one.__qualname__, *getattr(one, "__struct_fields__", ())] for one in self._numbers]

    def packed(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in _AS_THEY_ARE:
            return value
        if kind in _KIND_OF:
            return [_KIND_OF[kind], *map(self.packed, value)]
        if isinstance(value, msgspec.Struct):
            fields = (self.packed(getattr(value, name)) for name in value.__struct_fields__)
            return [_RECORD, self._number(kind), *fields]
        if isinstance(value, Enum):
            return [_ENUM, self._number(kind), value.value]
        if isinstance(value, Mapping):
            return [_MAPPING, *(self.packed(one) for pair in value.items() for one in pair)]
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            return [_ARRAY, value.dtype.str, list(value.shape), value.tobytes(), isinstance(value, np.generic)]
        raise TypeError(f"{kind.__name__} cannot be packed")

    def _number(self, kind: type) -> int:
        return self._numbers.setdefault(kind, len(self._numbers))


def _class_of(module: str, name: str, *fields: str) -> type:
    if not module.startswith(_PACKAGE):
        raise ValueError(f"{module} is not of tfadvisor")
    found = getattr(import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, msgspec.Struct | Enum)):
        raise ValueError(f"{module} has no record {name}")
    if getattr(found, "__struct_fields__", ()) != fields:
        raise WrongVersion(
            f"a worker's {name} has other fields than this one's. Install the same tfadvisor everywhere."
        )
    return found


def _unpacked(value: Any, classes: list[type]) -> Any:
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == _ARRAY:
        dtype, shape, data, scalar = rest
        array = np.frombuffer(data, np.dtype(dtype)).reshape(shape)
        return array[()] if scalar else array.copy()
    if kind == _ENUM:
        return classes[rest[0]](rest[1])
    if kind == _RECORD:
        return classes[rest[0]](*[_unpacked(one, classes) for one in rest[1:]])
    items = [_unpacked(one, classes) for one in rest]
    if kind == _MAPPING:
        return dict(zip(items[::2], items[1::2], strict=True))
    return {_TUPLE: tuple, _SET: frozenset, _LIST: list}[kind](items)
