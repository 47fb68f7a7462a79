"""All codemods by name: what each does in words, and what it changes in the results of the program.

Knows no LibCST, so that they can be listed where the extra is not installed. Their names stand in `report.codemods` as well,
for rules; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from tfadvisor.errors import UsageError
from tfadvisor.report.codemods import LAUNCH_LINE

if TYPE_CHECKING:
    from tfadvisor.repair.hits import Hit, Place


class About(msgspec.Struct, frozen=True):
    """A codemod in words."""

    module: str
    """Below tfadvisor.repair.codemods; "" for the launch line."""
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
    "drop-before-map": About(
        "input.drop_before_map",
        "drops elements before they are mapped",
        "random ops of a map draw for the elements that are kept alone",
    ),
    "shuffle-before-map": About("input.shuffle_before_map", "shuffles before the map", ""),
    "cache": About(
        "input.cache",
        "caches what each epoch makes anew",
        "the whole data set is kept in host memory, as the first epoch made it",
    ),
    "one-iterator": About(
        "input.one_iterator",
        "makes the iterator once",
        "the loop goes on through the data instead of starting anew in each step",
    ),
    "read-ahead": About(
        "input.read_ahead",
        "reads batches ahead by a thread",
        "up to three more batches are taken from the source than are used",
    ),
    "call-ahead": About(
        "input.call_ahead", "makes batches ahead by a thread", "the function runs on a thread, up to three calls ahead"
    ),
    "dataloader-workers": About(
        "input.dataloader_workers", "loads in worker processes", "augmentations draw from each worker's own seed"
    ),
    "pydataset-workers": About(
        "input.pydataset_workers",
        "makes batches on several threads",
        "batches may be made at the same time and out of order",
    ),
    "stack-on-host": About("input.stack_on_host", "stacks a batch on the host and copies it once", ""),
    "arrays-once": About(
        "input.arrays_once",
        "puts an array on the device before the loop",
        "changes that the loop makes to the host's array are not seen",
    ),
    "read-one-step-late": About(
        "loop.read_one_step_late", "reads values of the step before", "logs come one step later; all values are kept"
    ),
    "every-constant": About(
        "loop.every_constant", "does it every 50 steps", "of what was kept after each step 1 in 50 is left"
    ),
    "callback-every-n": About(
        "loop.callback_every_n", "runs the callback every 50 batches", "the callback sees 1 batch in 50"
    ),
    "guard-every-n": About("loop.guard_every_n", "does it every 50 steps", "it is done in 1 step of 50"),
    "drop-wait": About(
        "loop.drop_wait", "no longer waits in each step", "times that the loop takes itself end at the dispatch"
    ),
    "predict-on-batch": About(
        "loop.predict_on_batch", "predicts without building a pipeline", "all examples are predicted as one batch"
    ),
    "train-on-batch": About(
        "loop.train_on_batch",
        "trains on the batch without building a pipeline",
        "all examples are one batch, in their order",
    ),
    "steps-per-execution": About(
        "loop.steps_per_execution", "runs 16 steps a call", "callbacks for batches run every 16 batches"
    ),
    "compile-step": About(
        "compiling.compile_step",
        "compiles the loop's step",
        "Python in it runs while it is traced only; sums may be rounded otherwise",
    ),
    "hoist-compiled": About("compiling.hoist_compiled", "makes the compiled function once", ""),
    "keep-compiled": About(
        "compiling.keep_compiled",
        "keeps a compiled function for each set of arguments that it is made for",
        "these arguments need a hash; the compiled functions stay in memory",
    ),
    "compile-control-flow": About(
        "compiling.compile_control_flow",
        "compiles the function around a scan or loop of JAX",
        "Python in it runs while it is traced only; sums may be rounded otherwise",
    ),
    "no-static-arguments": About(
        "compiling.no_static_arguments",
        "makes a changing number an ordinary argument",
        "rounding: constants are no longer folded in",
    ),
    "tensor-arguments": About("compiling.tensor_arguments", "passes numbers as tensors", ""),
    "reduce-retracing": About("compiling.reduce_retracing", "lets the function generalise over shapes", ""),
    "pad-to-powers": About(
        "compiling.pad_to_powers",
        "rounds lengths up to a multiple times a power of two",
        "batches hold more padding, which the loss must mask",
    ),
    "no-jit-compile": About(
        "compiling.no_jit_compile", "lets TensorFlow's graph take all shapes", "sums may be rounded otherwise"
    ),
    "debug-switches": About(
        "compiling.debug_switches", "removes settings left from debugging", "what they checked is no longer checked"
    ),
    "run-eagerly": About(
        "compiling.run_eagerly", "lets Keras compile its step", "Python in the step runs while it is traced only"
    ),
    "cached-partial": About(
        "compiling.cached_partial",
        "lets Flax look through the modules once",
        "the step may change values of the modules, not what they consist of",
    ),
    "donate": About("compiling.donate", "donates the step's inputs", "the inputs cannot be read after the call"),
    "jit-compile": About("compiling.jit_compile", "lets XLA fuse the step", "sums may be rounded otherwise"),
    "vectorized-map": About("kernels.vectorized_map", "maps all elements at once", "sums may be rounded otherwise"),
    "time-distributed": About(
        "kernels.time_distributed", "applies the layer to all moments at once", "weights get other names in checkpoints"
    ),
    "vmap-rows": About(
        "kernels.vmap_rows",
        "computes all rows at once",
        "sums may be rounded otherwise; all rows are in memory at once",
    ),
    "gather-rows": About(
        "kernels.gather_rows",
        "looks rows up by index",
        "an index out of range is an error or the last row, not a row of zeros",
    ),
    "fft-convolve": About("kernels.fft_convolve", "convolves in the frequency domain", "sums are rounded otherwise"),
    "state-not-exchanged": About(
        "kernels.state_not_exchanged",
        "leaves the updated state as each device has it",
        "a state that has drifted apart is no longer made equal",
    ),
    "collective-after-loop": About(
        "kernels.collective_after_loop",
        "sums over the devices once, behind the loop",
        "sums may be rounded otherwise",
    ),
    "some-second-derivatives": About(
        "kernels.some_second_derivatives",
        "takes the second derivatives that are used",
        "sums may be rounded otherwise",
    ),
    "no-whole-sort": About(
        "kernels.no_whole_sort",
        "picks a few without sorting all",
        "a row may be drawn twice, and other rows are drawn",
    ),
    "rows-penalty": About(
        "kernels.rows_penalty",
        "penalises the rows of the batch instead of the whole table",
        "rows that no batch looks up are no longer penalised",
    ),
    "debug-print": About(
        "kernels.debug_print", "removes prints from the compiled step", "these lines are no longer printed"
    ),
    "callback-at-once": About(
        "kernels.callback_at_once",
        "calls Python once for all elements",
        "the function gets arrays of one more dimension",
    ),
    "single-precision": About(
        "precision.single_precision",
        "computes in 32 bits instead of 64",
        "numbers have 7 digits instead of 16: compare losses",
    ),
    "full-precision-on-cpu": About(
        "precision.full_on_cpu", "computes in 32 bits", "results are those of 32 bits, not of 16; on a GPU take it back"
    ),
    "mixed-precision": About(
        "precision.mixed_precision", "computes in 16 bits", "products are rounded to 16 bits: compare losses"
    ),
    LAUNCH_LINE: About("", "sets variables and flags where the program is launched", "as the fix says"),
}


def load(name: str) -> Callable[[Any, Place], list[Hit]]:
    """A codemod's function. Raises UsageError where LibCST is missing."""
    try:
        module = import_module(f"tfadvisor.repair.codemods.{CODEMODS[name].module}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("libcst"):
            raise
        raise UsageError("patches need LibCST, which is not installed: pip install 'tfadvisor[fix]'") from error
    hits: Callable[[Any, Place], list[Hit]] = module.hits
    return hits
