"""`num_parallel_reads` for record and text files that one reader opens one after another.

https://www.tensorflow.org/api_docs/python/tf/data/TFRecordDataset
"""

from __future__ import annotations

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Program, called, keyword, positional, with_keyword

_READERS = ("TFRecordDataset", "TextLineDataset")
_BEFORE_IT = 3


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each reader of several files."""
    found = []
    for call in program.calls(*_READERS):
        if keyword(call, "num_parallel_reads") or not call.args or len(positional(call)) > _BEFORE_IT:
            continue
        first, last = program.lines(call)
        source = program.changed({call: lambda now: with_keyword(now, "num_parallel_reads", "tf.data.AUTOTUNE")})
        found.append(Hit(first, last, f"{called(call)} reads several files at once", source))
    return found
