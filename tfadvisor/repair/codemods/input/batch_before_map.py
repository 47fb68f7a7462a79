"""`.map(f).batch(n)` becomes `.batch(n).map(f)`: one call a batch instead of one an example.

Right where f works on a batch as on an example. Functions whose text shows that they do not are left alone.
https://www.tensorflow.org/guide/data_performance#vectorizing_mapping
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.pipelines import pipeline_calls, text_reached
from tfadvisor.repair.reading.program import Program, called

_PER_EXAMPLE = re.compile(
    r"""\[\s*[^\]"'\w]|\[\s*\d|\[[^\]"']*:        # indices and slices of an example; names of columns are none
    |axis\s*=\s*(?!-1\b)|reshape|transpose|expand_dims|squeeze|perm\s*=|@|matmul|shape\(|\.shape
    |py_function|numpy_function|parse_single|decode_|read_file|tf\.image\.|random|flatten|padded|ensure_shape
    |tf\.stack\((?![^()]*axis=-1)""",
    re.X,
)
_LITERAL_LIST = re.compile(r"(?<=[(,=\s])\[[^\[\]]*\]")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each map of single examples right before a batch."""
    found = []
    for batch in pipeline_calls(program, "batch"):
        mapped = batch.func.value
        if not isinstance(mapped, cst.Call) or called(mapped) != "map" or not isinstance(mapped.func, cst.Attribute):
            continue
        if _PER_EXAMPLE.search(_LITERAL_LIST.sub("", text_reached(program, mapped))):
            continue
        first, last = program.lines(batch)
        found.append(Hit(first, last, "batch before map", program.changed({batch: _swapped})))
    return found


def _swapped(batch: Any) -> Any:
    """The batch takes what the map took, the map takes the batch."""
    mapped = batch.func.value
    inner = batch.with_changes(func=batch.func.with_changes(value=mapped.func.value))
    return mapped.with_changes(func=mapped.func.with_changes(value=inner))
