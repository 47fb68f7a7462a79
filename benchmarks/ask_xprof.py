"""What XProf says of traces: its overview page and smart suggestions, asked through its
own converter.

XProf reads copies in a temporary folder, because it writes its caches beside a trace.
"""

from __future__ import annotations

import gzip
import html
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xprof.convert import raw_to_tool_data

# XProf's step breakdown: its property, the name on its page, and the class of
# bottleneck that the name stands for.
PARTS = (
    ("infeed_time_ms_avg", "input", "input"),
    ("device_compute_time_ms_avg", "device compute", "compute"),
    ("device_to_device_time_ms_avg", "device to device", "transfer"),
    ("device_collectives_time_ms_avg", "device collectives", "collective"),
    ("host_compute_time_ms_avg", "host compute", "host"),
    ("kernel_launch_time_ms_avg", "kernel launch", "launch"),
    ("outfeed_time_ms_avg", "output", "transfer"),
    ("compile_time_ms_avg", "compilation", "compile"),
    ("other_time_ms_avg", "all others", ""),
)
SHARES = (
    ("device_duty_cycle_percent", "device duty cycle"),
    ("device_idle_time_percent", "device idle"),
    ("host_idle_time_percent", "host idle"),
    ("device_op_time_eager_percent", "eager on the device"),
    ("host_op_time_eager_percent", "eager on the host"),
)
FIXED_TIPS = ("faq", "host", "device", "doc")


@dataclass(frozen=True)
class Overview:
    """XProf's overview page. parts: ms of the average step by XProf's name; asides:
    next steps and diagnostics.
    """

    step_ms: float | None
    parts: dict[str, float]
    shares: tuple[str, ...]
    sentences: tuple[str, ...]
    asides: tuple[str, ...]


def overview(traces: Sequence[Path]) -> Overview:
    """XProf's overview page and its smart suggestions for copies of the traces, all
    hosts together.
    """
    with tempfile.TemporaryDirectory() as place:
        copies = []
        for trace in traces:
            copy = Path(place) / trace.name.removesuffix(".gz")
            copy.write_bytes(gzip.decompress(trace.read_bytes()))
            copies.append(str(copy))
        tables = asked(copies, "overview_page")
        suggestions = asked(copies, "smart_suggestion")["suggestions"]
    general, step, _, advice, *rest = tables
    numbers, words = properties(step), properties(advice)
    step_ms = float(numbers["steptime_ms_average"])
    statements = [numbers["input_conclusion"]]
    statements += [
        value
        for name, value in sorted(words.items())
        if re.search(r"statement(_html)?$", name)
    ]
    statements += [
        cell(row, 1) for row in advice["rows"] if cell(row, 0) not in FIXED_TIPS
    ]
    statements += [one["suggestionText"] for one in suggestions]
    diagnostics = [
        f"{cell(row, 0).capitalize()}: {cell(row, 1)}"
        for row in rest[-1].get("rows", [])
    ]
    return Overview(
        step_ms=step_ms if step_ms > 0 else None,
        parts={name: ms for key, name, _ in PARTS if (ms := float(numbers[key])) > 0},
        shares=tuple(
            f"{name} {share}"
            for key, name in SHARES
            if (share := properties(general).get(key, "0.0%")) not in ("0.0%", "0%", "")
        ),
        sentences=plain(statements),
        asides=plain([numbers["summary_nextstep"], *diagnostics]),
    )


def asked(traces: list[str], tool: str) -> Any:
    with quiet():
        answer, _ = raw_to_tool_data.xspace_to_tool_data(traces, tool, {})
    if answer is None:
        raise SystemExit(
            f"XProf gives no {tool} for "
            f"{', '.join(Path(trace).name for trace in traces)}"
        )
    return json.loads(answer)


@contextmanager
def quiet() -> Iterator[None]:
    """XProf's C++ code logs every call to standard error, past Python."""
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def properties(table: dict[str, Any]) -> dict[str, str]:
    return table.get("p") or {}


def cell(row: dict[str, Any], column: int) -> str:
    return str(row["c"][column]["v"])


def plain(texts: list[str]) -> tuple[str, ...]:
    """Without tags, each sentence once, in their order."""
    stripped = (html.unescape(re.sub(r"<[^>]+>", "", text)).strip() for text in texts)
    return tuple(dict.fromkeys(text for text in stripped if text))


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
