"""What XProf's pages say as causes: the sentences of its overview page, its smart
suggestions and its input pipeline analyzer.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version as version_of
from pathlib import Path

from answers import Answer, Diagnosis

sys.path.append(str(Path(__file__).resolve().parents[2]))

from ask_xprof import asked, cell, overview, properties

NAME = "XProf"
HOW = (
    "the sentences of its overview page that name a cause, in their order, and its "
    "smart suggestions. Where it says that the "
    "run is input-bound, the largest part and the slowest op of its input pipeline "
    "analyzer count with that sentence, as "
    "`input/preprocessing` for any fault of a map. One sentence may name several "
    "causes and is right when one of them is. "
    "What it says that only may be so counts as an answer that it is not sure of."
)

SAYS = (
    ("HIGHLY input-bound", ("input",)),
    ("MODERATELY input-bound", ("input",)),
    ("host overhead that is not input-related", ("host",)),
    ("on 'Kernel Launch'", ("launch",)),
    ("used eager execution", ("launch/op-by-op",)),
    ("Expensive tf-functions detected", ("compile/recompilation",)),
    ("on 'Device Collective Communication'", ("collective",)),
    ("on actual AllReduce", ("collective",)),
    ("synchronization with other TPU cores", ("imbalance",)),
    ("HIGHLY output-bound", ("transfer/device-to-host",)),
    ("MODERATELY output-bound", ("transfer/device-to-host",)),
    ("16-bit Ops", ("compute/precision",)),
)
HINTS = (
    ("POTENTIALLY input-bound", ("input", "host", "launch")),
    ("COULD be input-bound", ("input", "host", "launch")),
    ("Python execution", ("host", "launch")),
)
PARTS = {
    "demanded_file_read_us": "input/slow-source",
    "advanced_file_read_us": "input/slow-source",
    "preprocessing_us": "input/preprocessing",
    "enqueue_us": "transfer/host-to-device",
}
OPS = (
    (("Generator",), "input/generator"),
    (("TFRecord", "TextLine", "FixedLengthRecord", "Interleave"), "input/slow-source"),
    (("Shuffle",), "input/shuffle-buffer"),
    (("Map",), "input/preprocessing"),
)


def version() -> str:
    return version_of("xprof")


def unmapped() -> list[str]:
    """Nothing: a sentence without a known phrase names no cause."""
    return []


def diagnose(traces: Sequence[Path]) -> Diagnosis:
    said = overview(traces)
    answers = [
        one
        for sentence in said.sentences
        if (one := answer(sentence, traces)) is not None
    ]
    return Diagnosis(tuple(answers), said.step_ms)


def answer(sentence: str, traces: Sequence[Path]) -> Answer | None:
    """None for a sentence that names no cause."""
    for sure, table in ((True, SAYS), (False, HINTS)):
        causes = [
            cause for words, causes in table if words in sentence for cause in causes
        ]
        if "input" in causes:
            causes += [cause for cause in input_causes(traces) if cause not in causes]
        if causes:
            return Answer(tuple(dict.fromkeys(causes)), sure, sentence)
    return None


def input_causes(traces: Sequence[Path]) -> list[str]:
    """By the largest part of the input pipeline analyzer and by the op with the longest
    self time that is no mere wait.
    """
    tables = unpacked_and_asked(traces)
    parts = next(
        (
            found
            for table in tables
            if "preprocessing_us" in (found := properties(table))
        ),
        {},
    )
    causes = []
    largest = max(PARTS, key=lambda name: float(parts.get(name, 0)))
    if float(parts.get(largest, 0)) > 0:
        causes.append(PARTS[largest])
    ops = [
        (float(cell(row, 4)), cell(row, 0))
        for table in tables
        if table.get("cols") and table["cols"][0].get("label") == "Input Op"
        for row in table["rows"]
    ]
    for _, name in sorted(ops, reverse=True):
        kind = name.split("::")[-1]
        if not kind.startswith(("Prefetch", "Root", "Model")):
            causes += [
                cause for words, cause in OPS if any(word in kind for word in words)
            ][:1]
            break
    return causes


def unpacked_and_asked(traces: Sequence[Path]) -> list[dict]:
    with tempfile.TemporaryDirectory() as place:
        copies = []
        for trace in traces:
            copies.append(str(Path(place) / trace.name.removesuffix(".gz")))
            Path(copies[-1]).write_bytes(gzip.decompress(trace.read_bytes()))
        return asked(copies, "input_pipeline_analyzer")
