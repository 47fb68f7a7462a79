"""The compiled decoder returns what its twin on protobuf messages returns, on anything
at all.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import FIXTURES
from support.same_trace import assert_same
from support.shared_traces import shared_trace_files
from support.trace_builder import trace

from tfadvisor.errors import TraceError
from tfadvisor.timeline.host_build import SELECTION
from tfadvisor.trace import compiled_decoder, messages, twin
from tfadvisor.trace.columns import HostTrace, NameFilter, Selection
from tfadvisor.trace.source import Source, open_source

TRACES = sorted(FIXTURES.glob("*/*.xplane.pb.gz"))
EVERYTHING = Selection(None)
SOME = Selection(
    {"s0": None, "s1": NameFilter(("e1",)), "s2": NameFilter(("e",), invert=True)}
)


def both(
    data: bytes, selection: Selection
) -> tuple[HostTrace | None, HostTrace | None]:
    source = Source("memory", memoryview(data), len(data))
    found: list[HostTrace | None] = []
    for decoder in (compiled_decoder, twin):
        try:
            found.append(decoder.decode(source, selection))
        except TraceError:
            found.append(None)
    return found[0], found[1]


@pytest.mark.slow
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize(
    "selection", [EVERYTHING, SELECTION], ids=["everything", "timeline"]
)
def test_agree_on_every_fixture(path: Path, selection: Selection) -> None:
    source = open_source(path)

    decoded = compiled_decoder.decode(source, selection)

    assert len(decoded.events) > 0
    assert_same(decoded, twin.decode(source, selection))


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", shared_trace_files(), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_agree_on_traces_recorded_by_others(path: Path) -> None:
    data = path.read_bytes()

    for selection in (EVERYTHING, SELECTION):
        assert_same(*both(data, selection))


def small_file() -> bytes:
    builder = (
        trace()
        .step(0, 10)
        .busy("GPU:0", (1, 2), (3, 4))
        .plane_stat("/device:GPU:0", clock_rate=7, name_="x")
    )
    return builder.warning("careful").bytes()


def test_agree_on_every_prefix_of_a_small_file() -> None:
    data = small_file()

    for length in range(len(data) + 1):
        assert_same(*both(data[:length], EVERYTHING))


def test_a_prefix_that_ends_between_fields_of_the_space_is_accepted_by_both() -> None:
    """So the test above compares accepted traces too, not only two refusals."""
    data = small_file()
    accepted = [
        length
        for length in range(len(data) + 1)
        if both(data[:length], EVERYTHING)[0] is not None
    ]

    assert len(accepted) >= 3
    assert accepted[-1] == len(data)


def test_agree_on_mutated_bytes() -> None:
    """Bytes changed, dropped, doubled: refused by both or read alike by both."""
    chance, data = random.Random(1), small_file()
    accepted = 0
    for _ in range(4000):
        mutant = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(mutant))
            if chance.random() < 0.5:
                mutant[at] = chance.randrange(256)
            elif chance.random() < 0.5:
                del mutant[at]
            else:
                mutant[at:at] = (
                    mutant[max(0, at - chance.randint(1, 12)) : at] or b"\x0b"
                )
        one, other = both(bytes(mutant), EVERYTHING)
        assert_same(one, other)
        accepted += one is not None
    assert accepted > 100


@settings(max_examples=400)
@given(st.binary(max_size=60))
def test_agree_on_random_bytes(data: bytes) -> None:
    assert_same(*both(data, EVERYTHING))


INT64 = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(-2, 5)
TEXT = st.binary(max_size=4)


@st.composite
def stats(draw: st.DrawFn) -> messages.XStat:
    stat = messages.XStat(metadata_id=draw(SMALL))
    kind = draw(
        st.sampled_from(
            ["none", "double", "uint64", "int64", "str", "bytes", "ref", "compressed"]
        )
    )
    if kind == "double":
        stat.double_value = draw(st.floats(allow_nan=False))
    elif kind == "uint64":
        stat.uint64_value = draw(st.integers(0, 2**64 - 1))
    elif kind == "int64":
        stat.int64_value = draw(INT64)
    elif kind == "str":
        stat.str_value = draw(TEXT)
    elif kind == "bytes":
        stat.bytes_value = draw(TEXT)
    elif kind == "ref":
        stat.ref_value = draw(st.integers(0, 5))
    elif kind == "compressed":
        import gzip

        stat.compressed_str_value = draw(
            st.sampled_from([b"not gzip", gzip.compress(b"text", mtime=0)])
        )
    return stat


@st.composite
def events(draw: st.DrawFn) -> messages.XEvent:
    event = messages.XEvent(
        metadata_id=draw(SMALL), duration_ps=draw(st.integers(0, 100))
    )
    if draw(st.booleans()):
        event.offset_ps = draw(st.one_of(st.integers(0, 1000), INT64))
    else:
        event.num_occurrences = draw(st.integers(0, 9))
    event.stats.extend(draw(st.lists(stats(), max_size=3)))
    return event


@st.composite
def planes(draw: st.DrawFn) -> messages.XPlane:
    plane = messages.XPlane(
        id=draw(SMALL),
        name=draw(
            st.sampled_from([b"/host:CPU", b"/device:GPU:0", b"Task Environment"])
        ),
    )
    for key in draw(st.sets(SMALL, max_size=4)):
        plane.event_metadata[key].name = draw(st.sampled_from([b"e0", b"e1", b"\xff"]))
        plane.event_metadata[key].display_name = draw(TEXT)
        plane.event_metadata[key].stats.extend(draw(st.lists(stats(), max_size=2)))
    for key in draw(st.sets(SMALL, max_size=4)):
        plane.stat_metadata[key].name = draw(
            st.sampled_from([b"s0", b"s1", b"s2", b"profile_start_time"])
        )
    plane.stats.extend(draw(st.lists(stats(), max_size=2)))
    for _ in range(draw(st.integers(0, 2))):
        line = plane.lines.add(
            id=draw(SMALL),
            name=draw(TEXT),
            display_name=draw(TEXT),
            timestamp_ns=draw(
                st.one_of(
                    st.integers(0, 9),
                    st.integers(1_600_000_000 * 10**9, 1_700_000_000 * 10**9),
                    INT64,
                )
            ),
            duration_ps=draw(INT64),
        )
        line.events.extend(draw(st.lists(events(), max_size=4)))
    return plane


@settings(max_examples=400)
@given(
    st.lists(planes(), max_size=3),
    st.lists(TEXT, max_size=2),
    st.sampled_from([EVERYTHING, SOME]),
)
@pytest.mark.slow
def test_agree_on_made_up_spaces(
    made: list[messages.XPlane], texts: list[bytes], selection: Selection
) -> None:
    space = messages.XSpace(planes=made, warnings=texts, hostnames=texts)

    one, other = both(space.SerializeToString(), selection)

    assert one is not None
    assert_same(one, other)
