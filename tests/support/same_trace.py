"""Whether two decoded traces are the same in all that anybody may ask of them."""

from __future__ import annotations

import msgspec
import numpy as np

from tfadvisor.trace.columns import HostTrace


def assert_same(one: HostTrace | None, other: HostTrace | None) -> None:
    assert (one is None) == (other is None)
    if one is None or other is None:
        return
    assert repr(one.planes) == repr(other.planes)
    for name in ("hostnames", "errors", "warnings", "origin_ns"):
        assert getattr(one, name) == getattr(other, name), name
    for table in ("lines", "events", "names"):
        assert_same_table(getattr(one, table), getattr(other, table))
    assert set(one.stats) == set(other.stats)
    for name, column in one.stats.items():
        assert_same_table(column, other.stats[name])
    for row in range(len(one.names)):
        assert repr(one.details.metadata_stats(row)) == repr(
            other.details.metadata_stats(row)
        )
        assert repr(one.details.exemplar_stats(row)) == repr(
            other.details.exemplar_stats(row)
        )


def assert_same_table(one: msgspec.Struct, other: msgspec.Struct) -> None:
    for field in one.__struct_fields__:
        left, right = getattr(one, field), getattr(other, field)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, field
            assert np.array_equal(left, right), field
        else:
            assert left == right, field
