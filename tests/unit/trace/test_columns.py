"""What the columns say, on traces small enough to check by eye."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from support.trace_builder import trace

from tfadvisor.trace import compiled_decoder, messages, twin
from tfadvisor.trace.columns import Kind, NameFilter, Selection, origin_of
from tfadvisor.trace.source import Source


@pytest.fixture(params=[compiled_decoder, twin], ids=["compiled", "twin"])
def decode(request):
    def run(data, selection=Selection(None)):
        return request.param.decode(
            Source("memory", memoryview(data), len(data)), selection
        )

    return run


def test_event_start_is_the_line_plus_the_offset(decode) -> None:
    """A line at 5 ns with an event at offset 70 ps starts it at 5,070 ps."""
    space = messages.XSpace()
    line = space.planes.add().lines.add(timestamp_ns=5)
    line.events.add(offset_ps=70, duration_ps=9)

    decoded = decode(space.SerializeToString())

    assert decoded.events.start_ps.tolist() == [5070]
    assert decoded.events.duration_ps.tolist() == [9]


def test_timestamps_since_the_epoch_are_made_relative_to_the_session(decode) -> None:
    """1.7e18 ns times 1000 does not fit into int64; the session start of the file is taken off."""
    start = 1_700_000_000_000_000_000
    space = messages.XSpace()
    environment = space.planes.add(name=b"Task Environment")
    environment.stat_metadata[1].name = b"profile_start_time"
    environment.stats.add(metadata_id=1).uint64_value = start
    space.planes.add(name=b"/host:CPU").lines.add(timestamp_ns=start + 3).events.add(
        offset_ps=1
    )

    decoded = decode(space.SerializeToString())

    assert decoded.events.start_ps.tolist() == [3001]
    assert decoded.origin_ns == start


def test_without_a_session_start_the_earliest_epoch_timestamp_is_the_origin() -> None:
    late, early = 1_700_000_000_000_000_500, 1_700_000_000_000_000_000

    assert origin_of(np.array([7, late, early]), 0) == early
    assert origin_of(np.array([7, 9]), early) == 0


def test_a_reference_is_the_name_that_it_points_at(decode) -> None:
    space = messages.XSpace()
    plane = space.planes.add()
    plane.stat_metadata[1].name = b"kernel_details"
    plane.stat_metadata[2].name = b"regs:16"
    plane.lines.add().events.add().stats.add(metadata_id=1).ref_value = 2

    column = decode(space.SerializeToString()).stat("kernel_details")

    assert column.kind.tolist() == [Kind.TEXT]
    assert column.texts == ("regs:16",)


def test_a_compressed_string_is_inflated(decode) -> None:
    space = messages.XSpace()
    plane = space.planes.add()
    plane.stat_metadata[1].name = b"hlo"
    plane.lines.add().events.add().stats.add(
        metadata_id=1
    ).compressed_str_value = gzip.compress(b"HloModule")

    assert decode(space.SerializeToString()).stat("hlo").texts == ("HloModule",)


def test_negative_and_unsigned_numbers_keep_their_value(decode) -> None:
    space = messages.XSpace()
    plane = space.planes.add()
    plane.stat_metadata[1].name = b"id"
    event = plane.lines.add(id=-5).events.add()
    event.stats.add(metadata_id=1).int64_value = -7
    event.stats.add(metadata_id=1).uint64_value = 9
    event.stats.add(metadata_id=1).double_value = 1.5

    decoded = decode(space.SerializeToString())
    _, integers = decoded.stat("id").integers()
    _, numbers = decoded.stat("id").numbers()

    assert integers.tolist() == [-7, 9]
    assert numbers.tolist() == [-7.0, 9.0, 1.5]
    assert decoded.lines.id.tolist() == [-5]


def test_lines_with_equal_ids_and_planes_with_equal_names_stay_apart_in_the_columns(
    decode,
) -> None:
    space = messages.XSpace()
    for _ in range(2):
        plane = space.planes.add(name=b"/host:CPU")
        plane.event_metadata[1].name = b"same"
        plane.lines.add(id=1).events.add(metadata_id=1)
        plane.lines.add(id=1).events.add(metadata_id=1)

    decoded = decode(space.SerializeToString())

    assert decoded.lines.first.tolist() == [0, 1, 2, 3, 4]
    assert decoded.lines.plane.tolist() == [0, 0, 1, 1]
    assert [decoded.names.name[row] for row in decoded.events.row] == ["same"] * 4


def test_only_the_stats_asked_for_are_decoded(decode) -> None:
    data = trace().call("a", 0, 1, wanted=1, other=2).call("b", 1, 2, wanted=3).bytes()

    decoded = decode(data, Selection({"wanted": NameFilter(("a",))}))

    assert set(decoded.stats) == {"wanted"}
    assert decoded.stat("wanted").integers()[1].tolist() == [1]
    assert len(decoded.stat("other")) == 0


def test_a_counted_event_is_told_apart(decode) -> None:
    space = messages.XSpace()
    space.planes.add().lines.add().events.add(num_occurrences=4, duration_ps=8)

    decoded = decode(space.SerializeToString())

    assert decoded.stat("num_occurrences").integers()[1].tolist() == [4]


def test_stats_on_the_metadata_and_of_the_first_event_are_there_on_demand(
    decode,
) -> None:
    space = messages.XSpace()
    plane = space.planes.add()
    plane.stat_metadata[1].name = b"flops"
    plane.event_metadata[1].stats.add(metadata_id=1).int64_value = 12
    line = plane.lines.add()
    line.events.add(metadata_id=1).stats.add(metadata_id=1).int64_value = 1
    line.events.add(metadata_id=1).stats.add(metadata_id=1).int64_value = 2

    decoded = decode(space.SerializeToString(), Selection({}))
    row = int(decoded.events.row[0])

    assert decoded.details.metadata_stats(row) == {"flops": 12}
    assert decoded.details.exemplar_stats(row) == {"flops": 1}
    assert not decoded.stats


def test_many_threads_give_what_one_gives(monkeypatch, decode) -> None:
    """Chunks of two events over four threads; the order of the columns does not depend
    on who was first.
    """
    builder = trace()
    for index in range(40):
        builder.thread(f"t{index % 3}").call(
            f"n{index % 5}", index, index + 1, value=index
        )
    data = builder.bytes()
    whole = decode(data)
    monkeypatch.setattr(compiled_decoder, "_EVENTS_A_CHUNK", 2)
    monkeypatch.setattr(compiled_decoder, "_processors", lambda: 4)

    split = decode(data)

    assert split.events.start_ps.tolist() == whole.events.start_ps.tolist()
    assert split.stat("value").value.tolist() == whole.stat("value").value.tolist()
    assert [split.details.exemplar_stats(row) for row in range(6)] == [
        whole.details.exemplar_stats(row) for row in range(6)
    ]


def test_a_machine_that_gives_no_thread_decodes_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where the limit of the process' memory leaves no room for one more stack."""

    def refused(_: object) -> None:
        raise RuntimeError("can't start new thread")

    builder = trace()
    for at in range(8):
        builder.call("a", at, at + 1)
    data = builder.bytes()
    alone = compiled_decoder.decode(
        Source("memory", memoryview(data), len(data)), Selection(None)
    )
    monkeypatch.setattr(compiled_decoder, "_EVENTS_A_CHUNK", 2)
    monkeypatch.setattr(compiled_decoder, "_processors", lambda: 4)
    monkeypatch.setattr(compiled_decoder.Thread, "start", refused)

    found = compiled_decoder.decode(
        Source("memory", memoryview(data), len(data)), Selection(None)
    )

    assert (
        found.events.start_ps.tolist()
        == alone.events.start_ps.tolist()
        == [at * 1_000_000 for at in range(8)]
    )
