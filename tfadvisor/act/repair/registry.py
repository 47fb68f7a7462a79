"""All codemods by name: what each does in words, and what it changes in the results of the program.

Knows no LibCST, so that they can be listed where the extra is not installed. Rules know them by
`advice.codemods`; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from tfadvisor.advice.codemods import LAUNCH_LINE
from tfadvisor.errors import UsageError

if TYPE_CHECKING:
    from tfadvisor.act.repair.hits import Hit, Place


class About(msgspec.Struct, frozen=True):
    """A codemod in words."""

    module: str
    """Below tfadvisor.act.repair.codemods; "" for the launch line."""
    does: str
    changes: str
    """What the program's results, logs or memory lose or gain; "" where nothing changes but the time."""


CODEMODS: dict[str, About] = {
    "prefetch": About("input.prefetch", "ends the pipeline with a prefetch", ""),
    "parallel-calls": About(
        "input.parallel_calls", "lets maps and interleaves run in parallel", "random ops of a map draw in another order"
    ),
    "parallel-reads": About("input.parallel_reads", "reads several files at once", "examples come in another order"),
    "batch-before-map": About(
        "input.batch_before_map",
        "maps whole batches instead of examples",
        "the function sees batches: compare the first ones",
    ),
    "shuffle-before-map": About("input.shuffle_before_map", "shuffles before the map", ""),
    "cache": About(
        "input.cache",
        "caches what each epoch makes anew",
        "the whole data set is kept in host memory, as the first epoch made it",
    ),
    "dataloader-workers": About(
        "input.dataloader_workers", "loads in worker processes", "augmentations draw from each worker's own seed"
    ),
    "pydataset-workers": About(
        "input.pydataset_workers",
        "makes batches on several threads",
        "batches may be made at the same time and out of order",
    ),
    "read-one-step-late": About(
        "loop.read_one_step_late", "reads values of the step before", "logs come one step later; all values are kept"
    ),
    "every-constant": About(
        "loop.every_constant",
        "does it every N steps, as the fix says",
        "of what was kept after each step 1 in N is left",
    ),
    "callback-every-n": About(
        "loop.callback_every_n", "runs the callback every N batches, as the fix says", "the callback sees 1 batch in N"
    ),
    "guard-every-n": About("loop.guard_every_n", "does it every N steps, as the fix says", "it is done in 1 step of N"),
    "drop-wait": About(
        "loop.drop_wait", "no longer waits in each step", "times that the loop takes itself end at the dispatch"
    ),
    "steps-per-execution": About(
        "loop.steps_per_execution", "runs N steps a call, as the fix says", "callbacks for batches run every N batches"
    ),
    "compile-step": About(
        "compiling.compile_step",
        "compiles the loop's step",
        "Python in it runs while it is traced only; sums may be rounded otherwise",
    ),
    "reduce-retracing": About("compiling.reduce_retracing", "lets the function generalise over shapes", ""),
    "no-jit-compile": About(
        "compiling.no_jit_compile", "lets TensorFlow's graph take all shapes", "sums may be rounded otherwise"
    ),
    "debug-switches": About(
        "compiling.debug_switches", "removes settings left from debugging", "what they checked is no longer checked"
    ),
    "run-eagerly": About(
        "compiling.run_eagerly", "lets Keras compile its step", "Python in the step runs while it is traced only"
    ),
    "donate": About("compiling.donate", "donates the step's inputs", "the inputs cannot be read after the call"),
    "jit-compile": About("compiling.jit_compile", "lets XLA fuse the step", "sums may be rounded otherwise"),
    "debug-print": About(
        "kernels.debug_print", "removes prints from the compiled step", "these lines are no longer printed"
    ),
    "single-precision": About(
        "precision.single_precision",
        "computes in 32 bits instead of 64",
        "numbers have 7 digits instead of 16: compare losses",
    ),
    "mixed-precision": About(
        "precision.mixed_precision", "computes in 16 bits", "products are rounded to 16 bits: compare losses"
    ),
    LAUNCH_LINE: About("", "sets variables and flags where the program is launched", "as the fix says"),
}


def load(name: str) -> Callable[[Any, Place], list[Hit]]:
    """A codemod's function. Raises UsageError where LibCST is missing."""
    try:
        module = import_module(f"tfadvisor.act.repair.codemods.{CODEMODS[name].module}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("libcst"):
            raise
        raise UsageError("patches need LibCST, which is not installed: pip install 'tfadvisor[fix]'") from error
    hits: Callable[[Any, Place], list[Hit]] = module.hits
    return hits
