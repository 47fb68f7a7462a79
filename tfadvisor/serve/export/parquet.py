"""The tables of a Parquet export, events and report: what each holds and means."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import asdict

from tfadvisor.advice.findings import Finding
from tfadvisor.report.model import Report
from tfadvisor.report.wording import evidence_words, location_words
from tfadvisor.vocabulary import TIME_CLASSES

SCHEMA_VERSION = "1"

INTEGER, SMALL, NUMBER, TRUTH, TEXT, CATEGORY, TEXTS = (
    "int64",
    "int32",
    "double",
    "bool",
    "string",
    "dictionary of string",
    "list of string",
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
        "What ran on the devices, per counted step and device: the report's table of ops.",
        (
            Column("op", TEXT, "HLO name, null where there is none"),
            Column("kernel", TEXT, "of the device"),
            Column("module", TEXT, "program"),
            Column("kind", CATEGORY, "compute, collective, h2d, d2h, d2d, p2p, other_copy, memset or infeed"),
            Column("share", NUMBER, "of all device time, 0 to 1"),
            Column("ms_per_step", NUMBER, "of a device"),
            Column("count_per_step", NUMBER, "of a device"),
            Column("precision", CATEGORY, "of a GPU kernel by its name"),
            Column("opcode", CATEGORY, "of the HLO op"),
            Column("flops", INTEGER, "of one execution, by shapes"),
            Column("bytes", INTEGER, "of one execution, by shapes"),
            Column("file", TEXT, "of the user's program"),
            Column("line", SMALL, "in it"),
        ),
    ),
    TableOf(
        "metrics",
        "The report's metrics.",
        (
            Column("metric", TEXT, "its name"),
            Column("value", NUMBER, "null where the trace does not give it"),
            Column("unit", TEXT, "fraction, ms, us, bytes, count, GB/s …"),
            Column("reason", TEXT, "why it is null"),
        ),
    ),
    TableOf(
        "findings",
        "The report's findings, the largest saving first.",
        (
            Column("rank", SMALL, "from 1"),
            Column("rule", TEXT, "its id, as `tfadvisor rules show` takes it"),
            Column("category", CATEGORY, "as in the JSON report"),
            Column("severity", CATEGORY, "critical, high, medium, low or info"),
            Column("title", TEXT, "in one line"),
            Column("summary", TEXT, "with its numbers"),
            Column("saving_low", NUMBER, "share of step time"),
            Column("saving_high", NUMBER, "share of step time"),
            Column("basis", TEXT, "what the saving rests on"),
            Column("caveat", TEXT, "why to trust it less, empty when nothing speaks against it"),
            Column("claims", TEXTS, "classes of step time that the saving comes out of, as in `step_classes`"),
            Column("locations", TEXTS, "`file:line in function`"),
            Column("evidence", TEXTS, "in words"),
        ),
    ),
)

# The report as rows of the export's tables.


def report_rows(report: Report) -> dict[str, list[dict[str, Any]]]:
    """Name of a table -> its rows."""
    return {
        "ops": [asdict(op) for op in report.ops],
        "metrics": [
            {"metric": name, "value": one.value, "unit": one.unit, "reason": one.reason}
            for name, one in report.metrics.items()
        ],
        "findings": [_finding(rank, one) for rank, one in enumerate(report.findings, start=1)],
    }


def _finding(rank: int, one: Finding) -> dict[str, Any]:
    return {
        "rank": rank,
        "rule": one.rule_id,
        "category": one.category,
        "severity": one.severity.value,
        "title": one.title,
        "summary": one.summary,
        "saving_low": one.saving.low if one.saving else 0.0,
        "saving_high": one.saves,
        "basis": one.saving.basis if one.saving else "",
        "caveat": one.caveat,
        "claims": list(one.claims),
        "locations": [location_words(location) for location in one.locations],
        "evidence": [evidence_words(evidence) for evidence in one.evidence],
    }
