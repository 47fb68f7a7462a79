"""The tables of a Parquet export: what each holds and means."""

from __future__ import annotations

import msgspec

from tfadvisor.vocabulary import TIME_CLASSES

SCHEMA_VERSION = "1"

INTEGER, SMALL, NUMBER, TRUTH, TEXT, CATEGORY = (
    "int64",
    "int32",
    "double",
    "bool",
    "string",
    "dictionary of string",
)


class Column(msgspec.Struct, frozen=True):
    """One column. kind: one of the names above."""

    name: str
    kind: str
    about: str


class TableOf(msgspec.Struct, frozen=True):
    """One table, in a file of its name."""

    name: str
    about: str
    columns: tuple[Column, ...]


_HOST = Column("host", SMALL, "place of the host in `hosts`, from 0")
_EVENT = Column("event", INTEGER, "number of the event within its host, in the file's order")
_VALUE = (
    Column("integer", INTEGER, "value of an integer stat; unsigned ones above 2^63 are negative"),
    Column("number", NUMBER, "value of an integer or floating-point stat"),
    Column("text", CATEGORY, "value of a text stat, references resolved"),
)

TABLES = (
    TableOf(
        "hosts",
        "One row per host.",
        (
            _HOST,
            Column("name", TEXT, "the host's"),
            Column("file", TEXT, "name of its trace file"),
            Column("size_bytes", INTEGER, "of the uncompressed file"),
            Column(
                "session_start_ns", INTEGER, "when its profiler session began, ns since the epoch; 0 where not known"
            ),
            Column(
                "origin_ns", INTEGER, "what was subtracted from the file's times, 0 where they are relative already"
            ),
        ),
    ),
    TableOf(
        "planes",
        "One row per plane: a device, the host's threads, or metadata.",
        (
            _HOST,
            Column("plane", SMALL, "place in the file, from 0"),
            Column("id", INTEGER, "the file's own"),
            Column("name", TEXT, "such as /device:GPU:0"),
        ),
    ),
    TableOf(
        "plane_stats",
        "Properties of planes, one row each; bytes are left out.",
        (_HOST, Column("plane", SMALL, "of `planes`"), Column("stat", CATEGORY, "its name"), *_VALUE),
    ),
    TableOf(
        "lines",
        "One row per line: a host thread or a stream of a device.",
        (
            _HOST,
            Column("line", SMALL, "place in the file, from 0"),
            Column("plane", SMALL, "of `planes`"),
            Column("id", INTEGER, "the file's own"),
            Column("name", TEXT, "as recorded"),
            Column("display_name", TEXT, "as the profiler shows it, mostly empty"),
            Column("timestamp_ns", INTEGER, "what the line's times were relative to"),
            Column("duration_ps", INTEGER, "0 in most files"),
            Column("events", INTEGER, "how many"),
        ),
    ),
    TableOf(
        "names",
        "Event metadata, one row per name.",
        (
            _HOST,
            Column("row", SMALL, "its number, from 0; 0 stands for missing metadata"),
            Column("plane", SMALL, "of `planes`, -1 for row 0"),
            Column("id", INTEGER, "the file's own"),
            Column("name", TEXT, "as recorded; of an HLO op on a TPU the whole instruction"),
            Column("display_name", TEXT, "the short one, mostly empty"),
        ),
    ),
    TableOf(
        "name_stats",
        "Stats that hang on event metadata instead of events; bytes are left out.",
        (_HOST, Column("row", SMALL, "of `names`"), Column("stat", CATEGORY, "its name"), *_VALUE),
    ),
    TableOf(
        "events",
        "One row per event, by host and line.",
        (
            _HOST,
            _EVENT,
            Column("plane", SMALL, "of `planes`"),
            Column("line", SMALL, "of `lines`"),
            Column("row", SMALL, "of `names`"),
            Column("name", CATEGORY, "of that row"),
            Column("start_ps", INTEGER, "since the session began; of a TPU on the chip's clock"),
            Column("duration_ps", INTEGER, "0 for an instant"),
            Column("placed", TRUTH, "false for events that are only counted and have no place in time"),
            Column("step", SMALL, "of `steps`: the one in which it begins; null outside of all"),
        ),
    ),
    TableOf(
        "event_stats",
        "One row per stat of an event, by host, stat and event.",
        (_HOST, _EVENT, Column("stat", CATEGORY, "its name"), *_VALUE),
    ),
    TableOf(
        "steps",
        "One row per step, those that do not count included.",
        (
            _HOST,
            Column("step", SMALL, "number on its host, from 0"),
            Column("name", TEXT, "of its marker or program"),
            Column("start_ps", INTEGER, "as in `events`"),
            Column("end_ps", INTEGER, "the next step's start, so gaps count"),
            Column("span_end_ps", INTEGER, "where its own marker or execution ends"),
            Column("kind", CATEGORY, "steady if it counts, else why it does not"),
        ),
    ),
    TableOf(
        "step_classes",
        "Where each step's time goes: one row per step, device and class. For one step and device they add up to its length.",
        (
            _HOST,
            Column("device", TEXT, "such as GPU:0; empty where the trace has no active device"),
            Column("step", SMALL, "of `steps`"),
            Column("class", CATEGORY, f"{', '.join(TIME_CLASSES[:-1])} or {TIME_CLASSES[-1]}"),
            Column("time_ps", INTEGER, "0 included"),
            Column("takes_part", TRUTH, "false where the device did nothing in a step that others worked in"),
        ),
    ),
    TableOf(
        "ops",
        "What ran on the devices, a step and device: the hottest 300, one row per kernel of an op. Null for what is not known.",
        (
            Column("op", TEXT, "its HLO name, else the framework's"),
            Column("kernel", TEXT, "what the device ran for it"),
            Column("module", TEXT, "the compiled program"),
            Column("kind", CATEGORY, "compute, collective, h2d, d2h, d2d, p2p, other_copy, memset or infeed"),
            Column("share", NUMBER, "of all device time, 0..1"),
            Column("ms_per_step", NUMBER, "summed time"),
            Column("count_per_step", NUMBER, "how often it runs"),
            Column("precision", CATEGORY, "of a GPU's kernel by its name"),
            Column("grid", TEXT, "blocks of the launch that takes most time, x,y,z"),
            Column("block", TEXT, "threads of a block, x,y,z"),
            Column("registers", SMALL, "of a thread"),
            Column("shared_bytes", INTEGER, "memory that the threads of a block share"),
            Column("occupancy", NUMBER, "warps that a multiprocessor holds, over those that it has room for, 0..1"),
            Column("flops", INTEGER, "of one execution, by shapes"),
            Column("bytes", INTEGER, "read and written by one execution, by shapes"),
        ),
    ),
)
