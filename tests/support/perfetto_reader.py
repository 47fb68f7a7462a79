"""A Perfetto trace read as Perfetto's importer reads it, by the message types of the
`perfetto` package.

Strict where the importer is lenient: what it would count as an error in its `stats`
table is an error here.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

CLEARED, NEEDED = 1, 2


@dataclass
class Slice:
    track: int
    name: str
    category: str
    start: int
    end: int
    depth: int
    arguments: dict[str, object]


@dataclass
class Track:
    uuid: int
    name: str
    parent: int
    pid: int | None
    tid: int | None
    about: str


@dataclass
class Read:
    tracks: dict[int, Track]
    processes: dict[int, str]
    slices: list[Slice]
    sequences: set[int] = field(default_factory=set)

    def on(self, name: str) -> list[Slice]:
        """Slices of all tracks of a name."""
        chosen = {uuid for uuid, track in self.tracks.items() if track.name == name}
        return [one for one in self.slices if one.track in chosen]

    def children(self, name: str) -> list[Track]:
        """Tracks below those of a name."""
        above = {uuid for uuid, track in self.tracks.items() if track.name == name}
        return [track for track in self.tracks.values() if track.parent in above]


def read(file: Path) -> Read:
    """Raises AssertionError for whatever the importer would drop or could not place."""
    data = file.read_bytes()
    trace = proto.Trace.FromString(
        gzip.decompress(data) if file.suffix == ".gz" else data
    )
    size = trace.ByteSize()
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == size, "only fields that Perfetto knows"
    tracks, processes = _tracks(trace)
    known: dict[tuple[int, str], dict[int, str]] = defaultdict(dict)
    cleared: set[int] = set()
    events: list[tuple[int, int, Any, dict[str, dict[int, str]]]] = []
    for place, packet in enumerate(trace.packet):
        if packet.HasField("track_descriptor"):
            continue
        sequence = packet.trusted_packet_sequence_id
        assert sequence > 0
        if packet.sequence_flags & CLEARED:
            assert sequence not in cleared, "state is cleared once"
            cleared.add(sequence)
        assert packet.sequence_flags & NEEDED and sequence in cleared
        for kind, content in packet.interned_data.ListFields():
            for one in content:
                text = (
                    one.str.decode("utf-8")
                    if kind.name == "debug_annotation_string_values"
                    else one.name
                )
                table = known[sequence, kind.name]
                assert one.iid > 0 and one.iid not in table, (
                    "a number stands for one text"
                )
                table[one.iid] = text
        if packet.HasField("track_event"):
            names = {
                kind: table for (of, kind), table in known.items() if of == sequence
            }
            events.append((packet.timestamp, place, packet.track_event, names))
    return Read(tracks, processes, _slices(events, tracks), cleared)


def _tracks(trace: Any) -> tuple[dict[int, Track], dict[int, str]]:
    tracks: dict[int, Track] = {}
    processes: dict[int, str] = {}
    threads: set[int] = set()
    for packet in trace.packet:
        if not packet.HasField("track_descriptor"):
            continue
        one = packet.track_descriptor
        assert one.uuid > 0 and one.uuid not in tracks, (
            "every track has a number of its own"
        )
        assert not one.parent_uuid or one.parent_uuid in tracks
        pid = tid = None
        name = one.name
        if one.HasField("process"):
            pid, name = one.process.pid, one.process.process_name
            assert pid not in processes
            processes[pid] = name
        if one.HasField("thread"):
            pid, tid, name = one.thread.pid, one.thread.tid, one.thread.thread_name
            assert pid in processes and tid not in threads and tid not in processes
            threads.add(tid)
        tracks[one.uuid] = Track(
            one.uuid, name, one.parent_uuid, pid, tid, one.description
        )
    return tracks, processes


def _slices(events: list[Any], tracks: dict[int, Track]) -> list[Slice]:
    """As the importer: all events by time, those of one time in the file's order, a
    stack for each track.
    """
    stacks: dict[int, list[Slice]] = defaultdict(list)
    found: list[Slice] = []
    for time, _, event, names in sorted(events, key=lambda one: (one[0], one[1])):
        assert event.track_uuid in tracks
        stack = stacks[event.track_uuid]
        if event.type == proto.TrackEvent.TYPE_SLICE_END:
            assert stack, "an end without a begin"
            stack.pop().end = time
            continue
        assert event.type == proto.TrackEvent.TYPE_SLICE_BEGIN
        category = "".join(event.categories)
        one = Slice(
            event.track_uuid,
            names["event_names"][event.name_iid],
            category,
            time,
            -1,
            len(stack),
            dict(_argument(argument, names) for argument in event.debug_annotations),
        )
        found.append(one)
        stack.append(one)
    assert not any(stacks.values()), "a begin without an end"
    return found


def _argument(argument: Any, names: dict[str, dict[int, str]]) -> tuple[str, object]:
    if argument.HasField("string_value_iid"):
        return argument.name, names["debug_annotation_string_values"][
            argument.string_value_iid
        ]
    return argument.name, argument.string_value
