"""What is fuzzed: each target takes bytes and raises where something is wrong that no input may bring about."""

from __future__ import annotations

import functools
import gzip
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))
_LARGEST_SEED, _SMALL_SEED = 40_000, 4_000


class Target(NamedTuple):
    """check: raises on a fault. seeds: where it begins. binary: whether the bytes are protobuf messages, else text."""

    check: Callable[[bytes], bool]
    seeds: Callable[[], Sequence[bytes]]
    binary: bool


class Fault(Exception):
    """Something that must not be, though nothing raised it."""


def decoder(data: bytes) -> bool:
    """The compiled decoder and its twin: the same columns, or both refuse. Returns whether they took the bytes."""
    from tfadvisor.errors import TraceError
    from tfadvisor.xplane import compiled
    from tfadvisor.xplane.columns import Selection
    from tfadvisor.xplane.source import Source

    source = Source("fuzz", memoryview(data), len(data))
    try:
        one = compiled.decode(source, Selection(None))
    except TraceError:
        one = None
    if one is not None:
        for row in range(min(len(one.names), 50)):
            one.details.metadata_stats(row)
            one.details.exemplar_stats(row)
    return one is not None


def agreement(data: bytes) -> bool:
    """The compiled decoder against its twin."""
    from tfadvisor.errors import TraceError
    from tfadvisor.xplane import compiled, twin
    from tfadvisor.xplane.columns import Selection
    from tfadvisor.xplane.source import Source

    source = Source("fuzz", memoryview(data), len(data))
    found = []
    for decode in (compiled.decode, twin.decode):
        try:
            found.append(decode(source, Selection(None)))
        except TraceError:
            found.append(None)
    one, other = found
    if (one is None) != (other is None):
        raise Fault(f"the compiled decoder {'refuses' if one is None else 'takes'} what its twin does not")
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
    from hlo.test_damaged_bytes import ask_everything

    answered, _ = ask_everything(data)
    return bool(answered)


def analyze(data: bytes) -> bool:
    """A whole analysis, every output of its report, and the report's own promises."""
    from tfadvisor import api
    from tfadvisor.errors import AdvisorError
    from tfadvisor.gate.baseline.snapshot import snapshot_of
    from tfadvisor.gate.baseline.snapshot_json import as_text, from_text
    from tfadvisor.report.outputs import brief, html, json_text, markdown, sarif, terminal
    from tfadvisor.xplane.runs import Run

    _load_rules_once()
    path = _scratch() / "fuzz.xplane.pb"
    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            page = api.draw_run(Run("fuzz", path, (path,)), api.Options())
            report = page.report
            written = json_text.as_json(report)
            terminal.as_text(report, details=True)
            for write in (markdown.as_markdown, brief.as_brief, sarif.as_sarif):
                write(report)
            html.as_html([page])
            from_text(as_text(snapshot_of(report)))
    except AdvisorError:
        return False
    if report.broken:
        raise Fault(f"broken: {report.broken[0]}")
    _check_report(json.loads(written, parse_constant=_no_constant))
    return True


def _check_report(report: Mapping[str, Any]) -> None:
    shares = report["breakdown"].values()
    if any(not -1e-6 <= share <= 1 + 1e-6 for share in shares) or not (abs(sum(shares) - 1) < 1e-6 or sum(shares) == 0):
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
    from tfadvisor.engine.loading.catalogue import checked
    from tfadvisor.engine.loading.yaml_marks import load
    from tfadvisor.errors import RuleError

    try:
        checked(load(data.decode("utf-8", "replace"), "fuzz.yaml"))
    except RuleError:
        return False
    return True


def gate_config(data: bytes) -> bool:
    """A configuration of the gate."""
    from tfadvisor.cli.gate_inputs import known_names
    from tfadvisor.errors import UsageError
    from tfadvisor.gate.config.file import read_config
    from tfadvisor.gate.config.read import read

    path = _scratch() / "tfadvisor.toml"
    path.write_bytes(data)
    try:
        read(read_config(path), _known(known_names), None)
    except UsageError:
        return False
    return True


def baseline(data: bytes) -> bool:
    """A snapshot of a baseline."""
    from tfadvisor.gate.baseline.checked_json import SnapshotError
    from tfadvisor.gate.baseline.snapshot_json import as_text, from_text

    try:
        snapshot = from_text(data.decode("utf-8", "replace"))
    except SnapshotError:
        return False
    from_text(as_text(snapshot))
    return True


def flags(data: bytes) -> bool:
    """A line of flags, as somebody pastes it."""
    from tfadvisor.cli.main import guarded_main

    code = guarded_main(["flags", "check", "--", data.decode("utf-8", "replace").replace("\0", "")])
    if code not in (0, 1, 2):
        raise Fault(f"exit code {code}")
    return code == 0


@functools.cache
def _load_rules_once() -> None:
    from tfadvisor import api

    api.load_catalogue = functools.lru_cache(api.load_catalogue)


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
        collective.kernel("GPU:0", "gemm", at + 2, at + 200, launched=(at, at + 1)).collective(
            "GPU:0", at + 200, at + 700
        )
    made = [
        trace().steps(3, period=100).busy("GPU:0", (0, 250)),
        trace().steps(3, period=100, span=90).busy("GPU:0", (0, 250)).call("$a.py:1 f", 0, 290),
        collective,
    ]
    recorded = sorted((ROOT / "fixtures").rglob("*.xplane.pb.gz"), key=lambda one: one.stat().st_size)
    unpacked = [gzip.decompress(one.read_bytes()) for one in recorded[:40]]
    return [*(one.bytes() for one in made), *(one for one in unpacked if len(one) <= _LARGEST_SEED)]


def hlo_seeds() -> list[bytes]:
    """The module that the tests damage, which holds every opcode that is asked about."""
    from hlo.test_damaged_bytes import RICH

    return [RICH]


def texts(pattern: str) -> Callable[[], list[bytes]]:
    """Files of the repository."""
    return lambda: [one.read_bytes() for one in sorted(ROOT.glob(pattern))]


def config_seeds() -> list[bytes]:
    """The example of the guide."""
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    return [block.partition("```")[0].encode() for block in page.split("```toml\n")[1:]]


def baseline_seeds() -> list[bytes]:
    """Of a run made by hand."""
    from support.made_runs import snapshot

    from tfadvisor.gate.baseline.snapshot_json import as_text

    return [as_text(snapshot()).encode()]


TARGETS: Mapping[str, Target] = {
    "decoder": Target(decoder, small_trace_seeds, True),
    "agreement": Target(agreement, small_trace_seeds, True),
    "hlo": Target(hlo, hlo_seeds, True),
    "analyze": Target(analyze, trace_seeds, True),
    "rules": Target(rules, texts("rules/*/*[!s].yaml"), False),
    "gate-config": Target(gate_config, config_seeds, False),
    "baseline": Target(baseline, baseline_seeds, False),
    "flags": Target(flags, lambda: [b"--xla_gpu_autotune_level=4 --xla_gpu_enable_x=true NCCL_DEBUG=INFO"], False),
}
