"""Profiles equal, field by field, what jaxlib makes of the same files; where they do
not, the fault is shown to be jaxlib's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.shared_traces import FOLDER, needs_shared_traces, shared_trace_files
from support.trace_builder import trace

from tfadvisor.program.wire import Proto, entries, messages_of, span_of, text_of
from tfadvisor.serve.export import pgle
from tfadvisor.serve.export.pgle import (
    Costs,
    Counting,
    InstructionCost,
    aggregate,
    as_binary,
    counting_of,
    profile,
)

jaxlib = pytest.importorskip("jaxlib.version")
VERSION: str = jaxlib.__version__
GPU_TRACES = ("reactant-2gpu-1080ti", "tracelens-jax-mi300", "tracelens-jax-te")
EXACT = counting_of(VERSION) is Counting.EVENT
"""From 0.12 on jaxlib adds up in the order of a hash table, which differs from process
to process.
"""


def theirs() -> Any:
    """jaxlib's own converter."""
    try:
        from jaxlib import _profiler
    except ImportError:  # before 0.6
        from jaxlib import xla_extension

        return xla_extension.profiler
    return _profiler


def read(data: bytes) -> dict[str, float]:
    """Name -> µs of a ProfiledInstructionsProto, as the wire has it. Fails on any field
    but those of costs.
    """
    proto = Proto(data, "profile")
    fields = entries(proto, 0, len(data))
    assert {key >> 3 for key, _, _ in fields} <= {1}
    found = {
        text_of(proto, fields_of, 1): us
        for fields_of, us in zip(
            messages_of(proto, fields, 1), costs_of(proto, fields), strict=True
        )
    }
    assert len(found) == len(fields)
    return found


def costs_of(proto: Proto, fields: list[tuple[int, int, int]]) -> Iterator[float]:
    """Field 2 of each cost: a double stands behind the name, or is left out when it is
    0.
    """
    for (_, lo, hi), inner in zip(fields, messages_of(proto, fields, 1), strict=True):
        _, end = span_of(inner, 1)
        end = end or lo
        yield (
            struct.unpack("<d", bytes(proto.data[end + 1 : hi]))[0]
            if hi - end == 9
            else 0.0
        )


@pytest.fixture(autouse=True, scope="module")
def recorded_by_this_jaxlib() -> Iterator[None]:
    """Each file, as far as counting goes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pgle, "_jax_version", lambda _trace: VERSION)
        yield


def ours(*files: Path) -> Costs:
    return profile(files).costs


def assert_equal(mine: Costs, other: dict[str, float]) -> None:
    assert list(mine) == sorted(other)
    written = read(as_binary(mine))
    assert written == (other if EXACT else pytest.approx(other, rel=1e-14))


@needs_shared_traces
@pytest.mark.parametrize(
    "path", shared_trace_files(), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_every_public_trace(path: Path) -> None:
    if "CORRUPT" in path.name:
        return
    other = read(theirs().get_fdo_profile(path.read_bytes()))

    assert bool(other) == any(one in str(path) for one in GPU_TRACES)
    assert_equal(ours(path), other)


@needs_shared_traces
def test_several_traces_together() -> None:
    files = [
        path
        for one in GPU_TRACES
        for path in sorted((FOLDER / one).rglob("*.xplane.pb"))
    ]
    assert len(files) == 8
    profiles = [theirs().get_fdo_profile(file.read_bytes()) for file in files]

    other = read(theirs().aggregate_profiled_instructions(profiles, 90))

    assert_equal(ours(*files), other)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["/device:GPU:0", "/device:GPU:1", "/device:TPU:0", "/host:CPU"]
        ),
        st.sampled_from(["Stream #1", "Stream #2", "Async XLA Ops", "XLA Ops"]),
        st.integers(0, 9),
        st.integers(0, 3_000_000),
        st.sampled_from(["dot.1", "add.2", None]),
        st.sampled_from(["jit_a", "jit_b", None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from([4, 5, None]),
    ),
    max_size=12,
)


@given(EVENTS)
def test_made_up_traces(events: list[Any]) -> None:
    import tempfile

    builder = trace()
    for plane, line, start, ps, op, module, program, scope in events:
        stats = {
            "hlo_op": op,
            "hlo_module": module,
            "program_id": program,
            "scope_range_id": scope,
        }
        given_stats = {
            name: value for name, value in stats.items() if value is not None
        }
        builder.on_line(plane, line, "k", start, start + ps / 1e6, **given_stats)
    builder.call("python", 0, 1)
    with tempfile.TemporaryDirectory() as folder:
        (file,) = builder.write(Path(folder)).glob("*.xplane.pb")
        other = read(theirs().get_fdo_profile(file.read_bytes()))

        assert_equal(ours(file), other)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["a", "b", "c"]), st.floats(0.001, 1e6)),
        min_size=1,
        max_size=6,
    )
)
def test_made_up_profiles_together(profiles: list[dict[str, float]]) -> None:
    mine = [
        {name: InstructionCost(us, 1) for name, us in sorted(one.items())}
        for one in profiles
    ]
    written = [as_binary(one) for one in mine]

    other = read(theirs().aggregate_profiled_instructions(written, 90))

    assert {name: cost.us for name, cost in aggregate(mine).items()} == other
