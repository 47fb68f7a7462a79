"""How many whole analyses of tiny hostile traces hold what SECURITY.md promises? As
JSON, and one other form by turns.

python benchmarks/hostile_analyses.py [--seconds 60] [--count N] [--workers 1] [--seed
0] [--out FILE] [--only NUMBER]

Each trace has steps, threads, devices, HLO and samples as profilers write them. Its
names come from the fixtures and from patterns at which code breaks or takes for ever,
its numbers from those at which arithmetic does. An analysis fails when it raises
anything but tfadvisor's own errors (a warning of NumPy counts), takes more than 5 s of
the processor, takes more than 200 MB and twenty times its file, breaks a rule or
metric, or writes what a form may not hold. --out is written once a minute: how many,
the slowest, the most memory, and the faults with their numbers. --only makes one trace
again, and says what it does.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "fuzz")]

from support import hlo_builder as hlo  # noqa: E402
from support.wire import number, sized, varint  # noqa: E402
from targets import _check_report, _no_constant, _outputs  # noqa: E402

import tfadvisor.metrics  # noqa: E402, F401
from tfadvisor import analysis  # noqa: E402
from tfadvisor.advice.loading.catalogue import load_catalogue  # noqa: E402
from tfadvisor.errors import AdvisorError  # noqa: E402
from tfadvisor.report.assembly.page import gather_page  # noqa: E402
from tfadvisor.report.forms import html  # noqa: E402
from tfadvisor.trace.counters import CounterReading  # noqa: E402
from tfadvisor.trace.runs import Run  # noqa: E402

_LONGEST_S = 5.0
_MOST_MB, _MOST_PER_BYTE = 200, 20
_ADDRESS_SPACE = 2 << 30
"""Of a worker beyond what it has when it begins."""
_TOLD_EVERY_S = 60.0
_PS = 1_000_000

PIECES = (
    "a/", "_1", "1_", ".1", "::", "<a", "a>", "(", ")", "[", "{", "%", "$", " ", "\n", "\t", ":", "-", "=", "9", "0", "#", "é",
    "\u202e", "\x1b[31m", "\x00", "|", "`", "*", "_", "<b>", "</script>", "&lt;", "::error::", "##[group]", "\n::warning::",
    "@all ",
    "/gradient_tape/", "gradient_tape/a", "transpose(", "jit(f)/", "while/body/", "remat/", ".remat", "-start", "-done", "fusion",
    "all-reduce", "all-gather-start.1", "ncclDevKernel_", "MemcpyH2D", "Iterator::", "Prefetch::ParallelMap[0]::", "$a.py:1 ",
    "H2D Dispatch", "np.asarray(jax.Array)", "Build buffer allocations", "memcpy128", "PjRtCApiCompiler::BufferFromHost",
    "PjitFunction(", "__inference_", "EagerLocalExecute: ", "XlaModule:", "%fusion.1 = f32[", "f32[1,", "]{0}", "S(5)", "step ",
    "void a<", "Eigen::internal::", "scalar_product_op<", "cutlass::", "int, ", "sm90_", "gemm_", "model_1/dense_2/", ":MatMul",
    "nan", "inf", "1e999", "-1", "null", "true", "../", "/etc/passwd", "C:\\", "http://a/?b#c", "{}", "%s", "\\", '"', "'",
)  # fmt: skip
"""What names repeat or are put together from."""
DRIVERS = (
    "train",
    "TraceContext",
    "PjitFunction(step)",
    "StepMarker",
    "0",
    "H2D Dispatch",
    "np.asarray(jax.Array)",
)
"""What a thread that drives steps may be in."""
NUMBERS = (
    0, 1, 2, 3, 7, 255, 1 << 15, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 52, (1 << 53) + 1,
    1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
)  # fmt: skip
HOST_LINES = (
    "python",
    "MainThread",
    "tf_XLAEigen/1",
    "tf_data_iterator_get_next/7",
    "TFStreamExecutor",
    "Steps",
    "0xdeadbeef",
    "",
)
DEVICE_LINES = (
    "Stream #1(Compute)", "Stream #2(MemcpyH2D,D2H)", "XLA Ops", "XLA Modules", "Steps", "Framework Ops", "TensorFlow Name Scope",
    "Async XLA Ops", "Source code", "TensorCore", "SparseCore", "Stream #" + "9" * 30, "",
)  # fmt: skip
LENGTHS = (0, 1, 5 * _PS, 20 * _PS, 80 * _PS, 100 * _PS - 1, 300 * _PS)
LINKS = (
    ("step_num", None), ("_r", 1), ("correlation_id", None), ("group_id", None), ("program_id", 7), ("hlo_module", b"jit_step"),
    ("hlo_op", b"fusion.1"), ("hlo_op", b"all-reduce.3"),
)  # fmt: skip
"""Stats by which events find each other; None: the number of the step."""
PLANES = (
    "/host:CPU", "/device:GPU:0", "/device:GPU:1", "/device:TPU:0", "/device:TPU:1", "/host:metadata",
    "/device:CUSTOM:Megascale Trace", "Task Environment", "/host:CUPTI", "/device:GPU:" + "9" * 400,
    "/device:TPU:0 SparseCore 1", "/host:python-tracer",
    "#Chip2#", "",
    "/device:CPU:0", "/host:TFStreamz",
)  # fmt: skip


@cache
def known_names() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """(names of events, names of stats, texts of stats) of the fixtures, so that
    hostile names look like what is known.
    """
    from tfadvisor.trace.columns import Selection
    from tfadvisor.trace.decode import decode_file

    names: set[str] = set()
    stats: set[str] = set()
    texts: set[str] = set()
    for file in sorted(
        (ROOT / "fixtures").glob("*/*.xplane.pb.gz"), key=lambda one: one.stat().st_size
    )[:60]:
        host = decode_file(file, Selection(None))
        names.update(host.names.name[:400])
        stats.update(host.stats)
        for column in host.stats.values():
            texts.update(column.texts[:30])
        for plane in host.planes:
            stats.update(plane.stats)
    return tuple(sorted(names)), tuple(sorted(stats)), tuple(sorted(texts))


class Maker:
    """Makes the trace of a number; the same again for the same seed and number."""

    def __init__(self, seed: int, at: int) -> None:
        """Of a seed and a number."""
        self.chance = random.Random(f"{seed} {at}")
        self.names, self.stat_names, self.texts = known_names()

    def name(self) -> str:
        """Known, known and longer, put together, or one piece again and again."""
        chance = self.chance
        how = chance.random()
        if how < 0.35:
            return chance.choice(self.names)
        if how < 0.55:
            known = chance.choice(self.names)
            cut = chance.randrange(len(known) + 1)
            return (
                known[:cut]
                + chance.choice(PIECES) * chance.choice((1, 1, 2, 40))
                + known[cut:]
            )
        if how < 0.8:
            return "".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 9)))
        long = chance.choices((30, 300, 4000, 40_000), (50, 45, 4, 1))[0]
        piece = chance.choice(PIECES) + (
            chance.choice(PIECES) if chance.random() < 0.3 else ""
        )
        return (
            chance.choice(("", "", "$", "%a = ", "a/"))
            + piece * (long // len(piece))
            + chance.choice(("", "x", "!", "\n", " f"))
        )

    def text(self) -> bytes:
        """A name or a text of a stat as bytes, some no UTF-8, some packed."""
        one = (
            self.chance.choice(self.texts)
            if self.chance.random() < 0.4
            else self.name()
        )
        data = one.encode("utf-8", "surrogatepass")
        how = self.chance.random()
        if how < 0.03:
            return data + b"\xff\xed\xa0\x80"
        return gzip.compress(data, 1, mtime=0) if how < 0.05 else data

    def number(self) -> int:
        """Where arithmetic breaks, or a small one."""
        return (
            self.chance.choice(NUMBERS)
            if self.chance.random() < 0.4
            else self.chance.randrange(1 << 20)
        )

    def stat(self, row: int) -> bytes:
        """A value of any kind."""
        kind = self.chance.choice((2, 3, 4, 5, 5, 5, 6, 7))
        if kind == 2:
            value = varint(2 << 3 | 1) + struct.pack(
                "<d",
                self.chance.choice((math.inf, -math.inf, math.nan, 1e300, 0.1, -0.0)),
            )
        elif kind in (5, 6):
            value = sized(kind, self.text())
        else:
            value = number(kind, self.number())
        return number(1, row) + value

    def plane(self, plane: str, lines: Sequence[str], steps: int) -> bytes:
        """Steps of 100 us, in each line some events of each, in one another or behind
        each other.
        """
        chance, body = self.chance, b""
        names: list[str] = []
        rows: dict[str, int] = {}
        for line in lines:
            events = b""
            mine = [self.name() for _ in range(chance.randrange(1, 5))]
            if line in ("python", "Steps"):
                mine.append(chance.choice(DRIVERS))
            apart, lengths = (
                chance.choice((0, 1, 10, 20)) * _PS,
                [chance.choice(LENGTHS) for _ in mine],
            )
            linked = chance.random() < 0.6
            for step in range(steps):
                for index, usual in enumerate(lengths):
                    start, length = step * 100 * _PS + index * apart, usual
                    if chance.random() < 0.02:
                        start, length = self.number(), self.number()
                    stats = self.usual(rows, step) if linked else b""
                    if chance.random() < 0.3:
                        stats += sized(4, self.stat_of(rows))
                    events += sized(
                        4,
                        number(1, len(names) + index + 1)
                        + number(2, start)
                        + number(3, length)
                        + stats,
                    )
            names += mine
            body += sized(
                3,
                number(1, chance.choice((1, 2, 3, self.number())))
                + sized(2, line.encode())
                + events,
            )
        for at, one in enumerate(names, start=1):
            told = number(1, at) + sized(2, one.encode("utf-8", "surrogatepass"))
            if chance.random() < 0.1:
                told += sized(5, self.stat_of(rows))
            body += sized(4, number(1, at) + sized(2, told))
        if chance.random() < 0.3:
            body += b"".join(sized(6, self.stat_of(rows)) for _ in range(3))
        for one, at in rows.items():
            body += sized(
                5,
                number(1, at)
                + sized(
                    2, number(1, at) + sized(2, one.encode("utf-8", "surrogatepass"))
                ),
            )
        return sized(2, plane.encode()) + body

    def stat_of(self, rows: dict[str, int]) -> bytes:
        """A value of a stat that is known, or of one that nobody knows; rows: the names
        of the plane's stats so far.
        """
        name = (
            self.chance.choice(self.stat_names)
            if self.chance.random() < 0.9
            else self.name()
        )
        return self.stat(rows.setdefault(name, len(rows) + 1))

    def usual(self, rows: dict[str, int], step: int) -> bytes:
        """What links events of profilers: step numbers, launches, programs."""
        out = b""
        for name, known in LINKS:
            if self.chance.random() < 0.4:
                value = step if known is None else known
                told = number(3, value) if isinstance(value, int) else sized(5, value)
                out += sized(4, number(1, rows.setdefault(name, len(rows) + 1)) + told)
        return out

    def program(self) -> bytes:
        """A plane of HLO with hostile names, shapes, and notes of the backend."""
        chance = self.chance
        opcodes = (
            "add",
            "dot",
            "fusion",
            "all-reduce",
            "while",
            "custom-call",
            "constant",
            "tuple",
            "get-tuple-element",
            "convolution",
        )
        built = [hlo.op(1, "parameter", self.shape(), name=self.name()[:300])]
        for at in range(2, chance.randrange(3, 8)):
            config = chance.choice(
                (
                    "",
                    "{",
                    '{"known_trip_count":{"n":"'
                    + "9" * chance.choice((1, 30, 5000))
                    + '"}}',
                    self.name()[:200],
                )
            )
            built.append(
                hlo.op(
                    at,
                    chance.choice(opcodes),
                    self.shape(),
                    chance.randrange(1, at),
                    name=chance.choice(
                        ("fusion.1", "op.2", "all-reduce.3", self.name()[:2000])
                    ),
                    target=chance.choice(("", "__cublas$gemm", "Sharding")),
                    config=config,
                    metadata=hlo.metadata(
                        self.name()[:2000],
                        chance.choice(("a.py", self.name()[:200])),
                        self.number() >> 33,
                    ),
                    calls=(1,) if chance.random() < 0.1 else (),
                )
            )
        data = hlo.module(hlo.computation(1, *built))
        stat = sized(5, number(1, 1) + sized(2, number(1, 1) + sized(2, b"Hlo Proto")))
        name = (
            number(1, 1)
            + sized(2, chance.choice((b"jit_step(7)", b"jit_step", self.text()[:300])))
            + sized(5, number(1, 1) + sized(6, data))
        )
        return (
            sized(2, b"/host:metadata") + sized(4, number(1, 1) + sized(2, name)) + stat
        )

    def shape(self) -> str:
        """As HLO writes it."""
        chance = self.chance
        dims = ",".join(
            str(chance.choice((0, 1, 8, 1024, 1 << 31, 1 << 62)))
            for _ in range(chance.randrange(4))
        )
        return f"{chance.choice(('f32', 'bf16', 'pred', 's64', 'token'))}[{dims}]"

    def trace(self) -> bytes:
        """A whole XSpace."""
        chance, out = self.chance, b""
        steps = chance.choice((1, 2, 3, 4, 6))
        planes = [
            "/host:CPU",
            *(chance.choice(PLANES) for _ in range(chance.randrange(1, 4))),
        ]
        for plane in planes:
            lines = DEVICE_LINES if plane.startswith("/device") else HOST_LINES
            out += sized(
                1,
                self.plane(
                    plane,
                    [chance.choice(lines) for _ in range(chance.randrange(1, 4))],
                    steps,
                ),
            )
        if chance.random() < 0.4:
            out += sized(1, self.program())
        if chance.random() < 0.2:
            out += sized(chance.choice((2, 3)), self.text())
        if chance.random() < 0.3:
            out += sized(4, self.text())
        if chance.random() < 0.3:
            stat = sized(
                5,
                number(1, 1) + sized(2, number(1, 1) + sized(2, b"profile_start_time")),
            )
            out += sized(
                1,
                sized(2, b"Task Environment")
                + sized(6, number(1, 1) + number(3, 1_700_000_000_000_000_000))
                + stat,
            )
        return out

    def samples(self) -> str | None:
        """What may lie beside it; mostly nothing."""
        chance = self.chance
        if chance.random() > 0.15:
            return None
        count = chance.choice((0, 2, 40, 400))
        frames = [
            [
                chance.choice(("a.py", self.name()[:900])),
                self.name()[:900],
                self.number() % (1 << 62),
            ]
            for _ in range(3)
        ]
        every_us = chance.choice((10, 100, 10_000))
        start = chance.choice(
            (1_700_000_000_000_000_000, 0, 1 << 62, 1_700_000_000_000_000_000)
        )
        whole: dict[str, object] = {
            "version": 2,
            "every_ns": chance.choice((1000, 1_000_000, 10**9)),
            "began_ns": start,
            "ended_ns": start + chance.choice((0, 10**9, 1 << 61)),
            "first_step_ns": chance.choice((0, start, 1 << 62)),
            "frames": frames,
            "stacks": [[0], [0, 1], [0, 1, 2], []],
            "threads": [["MainThread", True, "python"], [self.name()[:900], False, ""]],
            "samples": [
                [
                    at * every_us,
                    chance.choice((0, 0, 1)),
                    chance.randrange(4),
                    chance.choice((1, 2, 1 << 39)),
                ]
                for at in range(count)
            ],
            "asleep": chance.choice(([], [[0, 10**6]], [[10**13, 0]])),
            "recorded_ns": chance.choice(([], [[start, start + 10**6]])),
            "round_ms": chance.choice((0, 5e-324, 0.02, 0.1, 1e9)),
            "loop": chance.choice((None, ("a.py", "", 1, 5), ("", "main", 1 << 62, 0))),
            "step": chance.choice(
                ("", "train", "a.py:1", f"a.py:{'9' * 900}", self.name()[:900])
            ),
        }
        return json.dumps(whole)

    def machine(self) -> str | None:
        """Counters beside it; mostly none."""
        chance = self.chance
        if chance.random() > 0.15:
            return None
        numbers = (0, 1, 1e-300, 1e18, 1700000000, 5e-324, 0.1)
        opened, closed = (
            {
                one: chance.choice(numbers)
                for one in CounterReading.__struct_fields__
                if chance.random() < 0.8
            }
            for _ in range(2)
        )
        settings = {
            "cores": chance.choice((1, 1 << 20)),
            "allowed_cores": chance.choice((1, 1 << 20)),
            "quota_cores": chance.choice((1e-300, 0.5, 1e6)),
            "memory_bytes": chance.choice(numbers),
            "versions": {self.name()[:300]: self.name()[:300] for _ in range(3)},
            "variables": {
                chance.choice(
                    ("XLA_FLAGS", "OMP_NUM_THREADS", self.name()[:300])
                ): self.name()[:300]
            },
            "threads": {
                chance.choice(
                    ("intra_op", "inter_op", self.name()[:300])
                ): chance.choice((0, 1, 1 << 20))
            },
            "huge_pages": self.name()[:300],
        }
        gpu = {
            one: chance.choice(numbers)
            for one in (
                "clock_mhz",
                "highest_clock_mhz",
                "power_limit_w",
                "usual_power_limit_w",
            )
        }
        whole: dict[str, object] = {
            "version": 1,
            "opened": opened | {"time": 1700000000},
            "closed": closed
            | {"time": chance.choice((1700000000.002, 1700000010, 1709000000))},
            "settings": settings,
            "gpus": [
                gpu
                | {
                    "name": self.name()[:300],
                    "utilization": chance.choice((0, 1, 1e-300)),
                }
            ],
        }
        return json.dumps(whole)

    def beside(self) -> dict[str, bytes]:
        """What lies beside the trace, by the end of its name."""
        found: dict[str, bytes] = {}
        for end, text in (
            (".samples.json", self.samples()),
            (".machine.json", self.machine()),
        ):
            if text is not None:
                found[f"host{end}"] = text.encode("utf-8", "replace")
        return found


class Hang(BaseException):
    """An analysis took longer than any may."""


class Wrong(Exception):
    """A form holds what it may not."""


def late(_number: int, _frame: FrameType | None) -> None:
    raise Hang(f"longer than {_LONGEST_S} s")


@cache
def scripts() -> int:
    """How often a page without data holds the end of a script."""
    return (
        (ROOT / "tfadvisor" / "report" / "forms" / "page.html")
        .read_text(encoding="utf-8")
        .count("</script")
    )


_TEXT, _PAGE = 0, 3
"""Of the forms that fuzz/targets.py writes by turns."""
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def whole(file: Path, catalogue: Any, turn: int) -> bool:
    """Whether the trace was accepted: its report, its JSON, and one more form by turns.
    Raises whatever is wrong.
    """
    form = turn % len(_outputs())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report, summary = analysis.conclude(
                Run("hostile", file, (file,)),
                analysis.Options(),
                detail=analysis.Detail.EVERY_STEP,
                catalogue=catalogue,
            )
            page = gather_page(report, summary)
            written = html.as_json(report)
            drawn = _outputs()[form](page)
    except AdvisorError:
        return False
    if report.broken:
        raise Wrong(f"broken: {report.broken[0]}")
    _check_report(json.loads(written, parse_constant=_no_constant))
    if form == _TEXT and (found := _CONTROL.search(str(drawn))):
        raise Wrong(f"the text holds {found.group()!r}")
    if form == _PAGE and str(drawn).count("</script") != scripts():
        raise Wrong("the page holds another script")
    return True


class Watched:
    """Runs analyses one after the other, and counts."""

    def __init__(self, seed: int, folder: Path) -> None:
        """folder: for one trace after the other."""
        self.seed, self.file = seed, folder / "host.xplane.pb"
        self.catalogue, self.left = load_catalogue(), ()
        self.counts: dict[str, Any] = {
            "analyses": 0, "accepted": 0, "slowest_s": 0.0, "slowest": -1, "most_mb": 0.0,
            "largest": -1, "seconds": 0.0, "bytes": 0, "faults": {},
        }  # fmt: skip

    def one(self, at: int) -> None:
        """The analysis of a number."""
        maker = Maker(self.seed, at)
        data, beside = maker.trace(), maker.beside()
        self.file.write_bytes(data)
        for name in self.left:
            self.file.with_name(name).unlink()
        for name, content in beside.items():
            self.file.with_name(name).write_bytes(content)
        self.left = tuple(beside)
        before, began = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            time.process_time(),
        )
        signal.setitimer(signal.ITIMER_PROF, _LONGEST_S, 0.2)
        try:
            self.counts["accepted"] += whole(self.file, self.catalogue, at)
        except (Exception, Hang) as error:
            self.note(at, error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        took, grown = (
            time.process_time() - began,
            (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        )
        self.counts["analyses"] += 1
        self.counts["bytes"] += len(data)
        if took > self.counts["slowest_s"]:
            self.counts.update(slowest_s=round(took, 3), slowest=at)
        if grown > self.counts["most_mb"]:
            self.counts.update(most_mb=round(grown, 1), largest=at)
        if grown > _MOST_MB + _MOST_PER_BYTE * len(data) / (1 << 20):
            self.note(at, Wrong(f"{grown:.0f} MB for {len(data):,} bytes"))

    def note(self, at: int, error: BaseException) -> None:
        """Each fault once, by where it was raised."""
        place = next(
            (
                one
                for one in reversed(traceback.extract_tb(error.__traceback__))
                if "/tfadvisor/" in one.filename
            ),
            None,
        )
        where = (
            f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
            if place
            else type(error).__name__
        )
        known = self.counts["faults"].setdefault(
            f"{where}: {str(error)[:200]}" if not place else where,
            {"first": at, "times": 0, "said": str(error)[:200]},
        )
        known["times"] += 1


def work(
    seed: int, first: int, each: int, count: int, seconds: float, out: Path
) -> None:
    """Every `each`-th number from the first on; tells the file how far it is."""
    signal.signal(signal.SIGPROF, late)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as folder:
        watched, told = Watched(seed, Path(folder)), begun
        for at in range(20):  # imports and caches are no analysis's
            with contextlib.suppress(Exception):
                watched.one(-1 - at)
        watched.counts.update(
            analyses=0, accepted=0, slowest_s=0.0, most_mb=0.0, bytes=0
        )
        size = (
            int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            * resource.getpagesize()
        )
        resource.setrlimit(
            resource.RLIMIT_AS, (size + _ADDRESS_SPACE, resource.RLIM_INFINITY)
        )
        for at in range(first, count, each):
            watched.one(at)
            now = time.monotonic()
            if now - told > _TOLD_EVERY_S or now - begun > seconds:
                told = now
                watched.counts["seconds"] = round(now - begun, 1)
                out.write_text(json.dumps(watched.counts), encoding="utf-8")
            if now - begun > seconds:
                return
        watched.counts["seconds"] = round(time.monotonic() - begun, 1)
        out.write_text(json.dumps(watched.counts), encoding="utf-8")


def together(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all workers counted."""
    whole: dict[str, Any] = {
        name: sum(one[name] for one in found)
        for name in ("analyses", "accepted", "bytes")
    }
    for value, which in (("slowest_s", "slowest"), ("most_mb", "largest")):
        most = max(found, key=lambda one: one[value])
        whole |= {value: most[value], which: most[which]}
    whole["seconds"] = max(one["seconds"] for one in found)
    faults: dict[str, Any] = {}
    for one in found:
        for where, known in one["faults"].items():
            so_far = faults.setdefault(where, {**known, "times": 0})
            so_far["times"] += known["times"]
    return {**whole, "faults": faults}


def main(arguments: Sequence[str]) -> int:
    """1 when a fault was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=1 << 62)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", type=int)
    asked = parser.parse_args(arguments)
    if asked.only is not None:
        return alone(asked.seed, asked.only)
    known_names()
    with tempfile.TemporaryDirectory() as folder:
        outs = [Path(folder, str(number)) for number in range(asked.workers)]
        children: list[int] = []
        for index, out in enumerate(outs):
            child = os.fork()
            if not child:
                run(
                    lambda out=out, index=index: work(
                        asked.seed,
                        index,
                        asked.workers,
                        asked.count,
                        asked.seconds,
                        out,
                    )
                )
            children.append(child)
        while children:
            time.sleep(0.5)
            children = [
                one for one in children if os.waitpid(one, os.WNOHANG) == (0, 0)
            ]
            told = [
                json.loads(one.read_text(encoding="utf-8"))
                for one in outs
                if one.exists() and one.stat().st_size
            ]
            if asked.out is not None and told:
                asked.out.write_text(
                    json.dumps(together(told), indent=2) + "\n", encoding="utf-8"
                )
        ended = len([one for one in outs if one.exists()]) < len(outs)
    found = together(told)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 1 if found["faults"] or ended else 0


def run(job: Callable[[], None]) -> None:
    """In this child, which then ends."""
    code = 1
    try:
        job()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def alone(seed: int, at: int) -> int:
    """One trace, kept in this folder's `hostile-NUMBER`, with what it raises."""
    folder = Path(f"hostile-{at}")
    folder.mkdir(exist_ok=True)
    maker = Maker(seed, at)
    (folder / "host.xplane.pb").write_bytes(maker.trace())
    for name, content in maker.beside().items():
        (folder / name).write_bytes(content)
    began = time.process_time()
    try:
        accepted = whole(folder / "host.xplane.pb", load_catalogue(), at)
    except Exception:
        traceback.print_exc()
        return 1
    sys.stdout.write(f"accepted: {accepted}, {time.process_time() - began:.2f} s\n")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
