"""What is fuzzed: each target takes bytes and raises where something is wrong that no
input may bring about.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gzip
import json
import math
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tfadvisor.trace import compiled_decoder

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))
_LARGEST_SEED, _SMALL_SEED = 40_000, 4_000


class Target(NamedTuple):
    """check: raises on a fault. seeds: where it begins. binary: whether the bytes are
    protobuf messages, else text. neighbours: how many more inputs are made of a new one
    by another byte each, where to make one costs more than to try it."""

    check: Callable[[bytes], bool]
    seeds: Callable[[], Sequence[bytes]]
    binary: bool
    neighbours: int = 0


class Fault(Exception):
    """Something that must not be, though nothing raised it."""


def decoder(data: bytes) -> bool:
    """The compiled decoder and its twin: the same columns, or both refuse. Returns
    whether they took the bytes.
    """
    from tfadvisor.errors import TraceError
    from tfadvisor.trace.columns import Selection
    from tfadvisor.trace.source import Source

    with placed(data) as bytes_alone:
        try:
            one = compiled_decoder.decode(
                Source("fuzz", bytes_alone, len(data)), Selection(None)
            )
        except TraceError:
            return False
        for row in range(
            min(len(one.names), 50) if one.events.row.size % 4 == 0 else 0
        ):
            one.details.metadata_stats(row)
            one.details.exemplar_stats(row)
    return True


def passes(data: bytes) -> bool:
    """The compiled passes of the decoder alone."""
    from passes import decode

    with placed(data) as bytes_alone:
        return decode(bytes_alone)


@contextlib.contextmanager
def placed(data: bytes) -> Iterator[memoryview]:
    """The bytes in a block of malloc's own, of their size: AddressSanitizer notices a
    read of the byte behind them.
    """
    library = _c_library()
    block = library.malloc(len(data) or 1)
    ctypes.memmove(block, data, len(data))
    try:
        yield memoryview((ctypes.c_ubyte * len(data)).from_address(block)).cast("B")
    finally:
        library.free(block)


@functools.cache
def _c_library() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = (
        ctypes.c_void_p,
        (ctypes.c_size_t,),
    )
    library.free.restype, library.free.argtypes = None, (ctypes.c_void_p,)
    return library


def agreement(data: bytes) -> bool:
    """The compiled decoder against its twin."""
    from tfadvisor.errors import TraceError
    from tfadvisor.trace import twin
    from tfadvisor.trace.columns import Selection
    from tfadvisor.trace.source import Source

    source = Source("fuzz", memoryview(data), len(data))
    found = []
    for decode in (compiled_decoder.decode, twin.decode):
        try:
            found.append(decode(source, Selection(None)))
        except TraceError:
            found.append(None)
    one, other = found
    if (one is None) != (other is None):
        raise Fault(
            f"the compiled decoder {'refuses' if one is None else 'takes'} what its "
            "twin does not"
        )
    if one is None or other is None:
        return False
    for name in ("planes", "hostnames", "errors", "warnings", "origin_ns"):
        if repr(getattr(one, name)) != repr(getattr(other, name)):
            raise Fault(f"{name} differ")
    for name in ("start_ps", "duration_ps", "row"):
        if (getattr(one.events, name) != getattr(other.events, name)).any():
            raise Fault(f"events.{name} differ")
    if one.names.name != other.names.name or set(one.stats) != set(other.stats):
        raise Fault("names or stats differ")
    return True


def hlo(data: bytes) -> bool:
    """The reader of HLO, and every question about a module and its instructions."""
    from unit.program.test_damaged_bytes import ask_everything

    answered, _ = ask_everything(data)
    return bool(answered)


def analyze(data: bytes) -> bool:
    """A whole analysis, its JSON, one more output in turn, and the report's own
    promises; one input of 32 as a command.
    """
    from tfadvisor import analysis
    from tfadvisor.errors import AdvisorError
    from tfadvisor.report.forms import html as json_text
    from tfadvisor.trace.runs import Run

    _load_rules_once()
    path = _scratch() / "fuzz.xplane.pb"
    path.write_bytes(data)
    turn = zlib.crc32(data)
    if turn % 32 == 0:
        _as_command(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            page = analysis.draw_run(Run("fuzz", path, (path,)), analysis.Options())
            written = json_text.as_json(page.report)
            _outputs()[turn % len(_outputs())](page)
    except AdvisorError:
        return False
    if page.report.broken:
        raise Fault(f"broken: {page.report.broken[0]}")
    _check_report(json.loads(written, parse_constant=_no_constant))
    return True


def _as_command(path: Path) -> None:
    from tfadvisor.cli.main import guarded_main

    code = guarded_main(["analyze", str(path), "--format", "json"])
    if code not in (0, 3):
        raise Fault(f"exit code {code}")


@functools.cache
def _outputs() -> Sequence[Callable[[Any], object]]:
    """Each writes another form of a page's report."""
    from tfadvisor.comparison.baseline.snapshot import snapshot_of
    from tfadvisor.comparison.baseline.snapshot_json import as_text, from_text
    from tfadvisor.report.forms import brief, html, markdown, terminal

    return (
        lambda page: terminal.as_text(page.report, details=True),
        lambda page: markdown.as_markdown(page.report),
        lambda page: brief.as_brief(page.report),
        lambda page: html.as_html([page]),
        lambda page: from_text(as_text(snapshot_of(page.report))),
    )


def _check_report(report: Mapping[str, Any]) -> None:
    shares = report["breakdown"].values()
    if any(not -1e-6 <= share <= 1 + 1e-6 for share in shares) or not (
        abs(sum(shares) - 1) < 1e-6 or sum(shares) == 0
    ):
        raise Fault(f"breakdown {dict(report['breakdown'])}")
    for name, metric in report["metrics"].items():
        value = metric["value"]
        if value is not None and not math.isfinite(value):
            raise Fault(f"{name} is {value}")
    for step in report["steps"]["each"]:
        if step["duration_ms"] < 0:
            raise Fault(f"a step of {step['duration_ms']} ms")


def _no_constant(name: str) -> None:
    raise Fault(f"{name} in the report")


def rules(data: bytes) -> bool:
    """A rule file."""
    from tfadvisor.advice.loading.catalogue import checked
    from tfadvisor.advice.loading.yaml_marks import load
    from tfadvisor.errors import RuleError

    try:
        checked(load(data.decode("utf-8", "replace"), "fuzz.yaml"))
    except RuleError:
        return False
    return True


def gate_config(data: bytes) -> bool:
    """A configuration of the gate."""
    from tfadvisor.cli.gate_inputs import known_names
    from tfadvisor.comparison.gate.config_file import read_config
    from tfadvisor.comparison.gate.read_config import read
    from tfadvisor.errors import UsageError

    path = _scratch() / "tfadvisor.toml"
    path.write_bytes(data)
    try:
        read(read_config(path), _known(known_names), None)
    except UsageError:
        return False
    return True


def baseline(data: bytes) -> bool:
    """A snapshot of a baseline."""
    from tfadvisor.comparison.baseline.snapshot_json import (
        SnapshotError,
        as_text,
        from_text,
    )

    try:
        snapshot = from_text(data.decode("utf-8", "replace"))
    except SnapshotError:
        return False
    from_text(as_text(snapshot))
    return True


def flags(data: bytes) -> bool:
    """A line of flags, as somebody pastes it."""
    from tfadvisor.cli.main import guarded_main

    code = guarded_main(
        ["flags", "check", "--", data.decode("utf-8", "replace").replace("\0", "")]
    )
    if code not in (0, 1, 2):
        raise Fault(f"exit code {code}")
    return code == 0


@functools.cache
def _load_rules_once() -> None:
    from tfadvisor import analysis

    analysis.load_catalogue = functools.lru_cache(analysis.load_catalogue)


@functools.cache
def _known(known_names: Callable[[Sequence[Path]], Any]) -> Any:
    return known_names(())


@functools.cache
def _scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="tfadvisor-fuzz-"))


def small_trace_seeds() -> list[bytes]:
    """Those that are decoded in no time, so that millions can be."""
    return [one for one in trace_seeds() if len(one) <= _SMALL_SEED]


def trace_seeds() -> list[bytes]:
    """Traces made by hand, and the small ones of the fixtures."""
    from support.trace_builder import trace

    collective = trace().steps(4, period=1000)
    for at in range(0, 4000, 1000):
        collective.kernel(
            "GPU:0", "gemm", at + 2, at + 200, launched=(at, at + 1)
        ).collective("GPU:0", at + 200, at + 700)
    made = [
        trace().steps(3, period=100).busy("GPU:0", (0, 250)),
        trace()
        .steps(3, period=100, span=90)
        .busy("GPU:0", (0, 250))
        .call("$a.py:1 f", 0, 290),
        collective,
    ]
    recorded = sorted(
        (ROOT / "fixtures").rglob("*.xplane.pb.gz"), key=lambda one: one.stat().st_size
    )
    unpacked = [gzip.decompress(one.read_bytes()) for one in recorded[:40]]
    return [
        *(one.bytes() for one in made),
        *(one for one in unpacked if len(one) <= _LARGEST_SEED),
    ]


def hlo_seeds() -> list[bytes]:
    """The module that the tests damage, which holds every opcode that is asked
    about.
    """
    from unit.program.test_damaged_bytes import RICH

    return [RICH]


def texts(pattern: str) -> Callable[[], list[bytes]]:
    """Files of the repository."""
    return lambda: [one.read_bytes() for one in sorted(ROOT.glob(pattern))]


def config_seeds() -> list[bytes]:
    """The example of the docs, which has every setting."""
    return [(ROOT / "docs" / "tfadvisor.toml").read_bytes()]


def baseline_seeds() -> list[bytes]:
    """Of a run made by hand."""
    from support.made_runs import snapshot

    from tfadvisor.comparison.baseline.snapshot_json import as_text

    return [as_text(snapshot()).encode()]


TARGETS: Mapping[str, Target] = {
    "passes": Target(passes, small_trace_seeds, True, 7),
    "decoder": Target(decoder, small_trace_seeds, True, 7),
    "agreement": Target(agreement, small_trace_seeds, True, 3),
    "hlo": Target(hlo, hlo_seeds, True),
    "analyze": Target(analyze, trace_seeds, True),
    "rules": Target(rules, texts("rules/*/*[!s].yaml"), False),
    "gate-config": Target(gate_config, config_seeds, False),
    "baseline": Target(baseline, baseline_seeds, False),
    "flags": Target(
        flags,
        lambda: [b"--xla_gpu_autotune_level=4 --xla_gpu_enable_x=true NCCL_DEBUG=INFO"],
        False,
    ),
}
