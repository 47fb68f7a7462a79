"""What a rule may say of codemods: their names, and how far each is to be trusted. `repair` holds what they do."""

from __future__ import annotations

import msgspec

SURE = ("mechanical", "guess")
CHECKS = ("batches", "values", "none")
LAUNCH_LINE = "launch-line"
"""No codemod of a source: the fix's variables and flags as lines for the script that launches the program."""
CODEMODS = (
    "prefetch",
    "parallel-calls",
    "parallel-reads",
    "batch-before-map",
    "drop-before-map",
    "shuffle-before-map",
    "cache",
    "one-iterator",
    "read-ahead",
    "call-ahead",
    "dataloader-workers",
    "pydataset-workers",
    "stack-on-host",
    "arrays-once",
    "read-one-step-late",
    "every-constant",
    "callback-every-n",
    "guard-every-n",
    "drop-wait",
    "predict-on-batch",
    "train-on-batch",
    "steps-per-execution",
    "compile-step",
    "hoist-compiled",
    "keep-compiled",
    "compile-control-flow",
    "no-static-arguments",
    "tensor-arguments",
    "reduce-retracing",
    "pad-to-powers",
    "no-jit-compile",
    "debug-switches",
    "run-eagerly",
    "cached-partial",
    "donate",
    "jit-compile",
    "vectorized-map",
    "time-distributed",
    "vmap-rows",
    "gather-rows",
    "fft-convolve",
    "state-not-exchanged",
    "collective-after-loop",
    "some-second-derivatives",
    "no-whole-sort",
    "rows-penalty",
    "debug-print",
    "callback-at-once",
    "single-precision",
    "full-precision-on-cpu",
    "mixed-precision",
    LAUNCH_LINE,
)
"""All names."""


class CodemodRef(msgspec.Struct, frozen=True):
    """A rule's word on a codemod."""

    name: str
    sure: str
    """mechanical: derived from the source alone, results stay; guess: to be tried or confirmed."""
    check: str
    """What must stay the same to trust it: the first batches, the first steps' values, or nothing (none)."""
    then: tuple[str, ...] = ()
    """Codemods that are applied on top, each where it finds one place."""
