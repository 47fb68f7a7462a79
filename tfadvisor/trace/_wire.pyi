"""Types of the compiled module; what each function does is said in _wire.pyx."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Int64Array: TypeAlias = "npt.NDArray[np.int64]"

class WireError(Exception):
    position: int
    reason: str

class PlaneKey:
    def __init__(
        self,
        row_ids: Int64Array,
        row_table: npt.NDArray[np.int32],
        row_base: int,
        stat_ids: Int64Array,
        stat_slots: npt.NDArray[np.int16],
        stat_table: npt.NDArray[np.int16],
        slot_groups: npt.NDArray[np.int16],
        row_groups: npt.NDArray[np.uint64],
        unknown_row_groups: int,
        occurrence_slot: int,
    ) -> None: ...

def texts_of(
    buf: memoryview, rows: Int64Array, column: int, longest: int
) -> tuple[str, ...]: ...

class StatBuffer:
    def __len__(self) -> int: ...
    def tally(self, slots: Int64Array) -> None: ...
    def into(self, columns: StatColumns) -> None: ...

class StatColumns:
    def __init__(self, number: int) -> None: ...
    def give(
        self,
        slot: int,
        event: npt.NDArray[np.int32],
        value: npt.NDArray[np.int32] | Int64Array,
        kind: npt.NDArray[np.uint8] | None,
        length: Int64Array | None,
    ) -> None: ...

def scan_space(buf: memoryview) -> Int64Array: ...
def scan_plane(buf: memoryview, lo: int, hi: int) -> tuple[int, Int64Array]: ...
def scan_metadata(buf: memoryview, entries: Int64Array) -> Int64Array: ...
def check_event_metadata(buf: memoryview, scanned: Int64Array) -> None: ...
def message_stats(
    buf: memoryview, lo: int, hi: int, field: int
) -> list[tuple[int, int, int, int]]: ...
def read_stats(
    buf: memoryview, ranges: Int64Array
) -> list[tuple[int, int, int, int]]: ...
def scan_lines(
    buf: memoryview, lines: Int64Array, chunk_events: int
) -> tuple[Int64Array, Int64Array]: ...
def decode_chunk(
    buf: memoryview,
    key: PlaneKey,
    lo: int,
    hi: int,
    count: int,
    base_ps: int,
    first_event: int,
    start_ps: Int64Array,
    duration_ps: Int64Array,
    row: npt.NDArray[np.int32],
    exemplar: Int64Array,
) -> StatBuffer: ...
def intern_spans(
    buf: memoryview, at: Int64Array, length: Int64Array
) -> tuple[npt.NDArray[np.int32], Int64Array]: ...
def message_entries(
    data: bytes | memoryview, lo: int, hi: int
) -> list[tuple[int, int, int]] | None: ...
def packed_numbers(data: bytes | memoryview, lo: int, hi: int) -> list[int] | None: ...

class Fields:
    def __init__(
        self,
        texts: Sequence[int],
        numbers: Sequence[int],
        lists: Sequence[int],
        places: Sequence[int],
    ) -> None: ...
    def read(self, data: bytes | memoryview, lo: int, hi: int) -> list[Any] | None: ...
