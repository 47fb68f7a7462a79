"""By which names a trace tells its framework, its version, what it lost, and that Keras runs the loop."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tfadvisor.timeline.names import stats

_DROPPED = re.compile(r"(\d[\d,]*)\s+(?:\w+\s+)?events? dropped|dropped\D{0,40}?(\d[\d,]*)", re.IGNORECASE)
"""`1,234 events dropped`, and the same the other way round."""
_TORCH = re.compile(r"^(?:XLAGraphExecutor|torch_xla|LazyGraphExecutor|\$.*torch_xla)")
"""PyTorch/XLA's executor and Python files."""
_TENSORFLOW = re.compile(
    r"^(?:TFE_|EagerExecute|EagerKernelExecute|EagerLocalExecute|ExecutorState::|FunctionRun|IteratorGetNext|tf\.)"
)
"""TensorFlow's eager runtime, executor and Python ops."""
_JAX = re.compile(r"^(?:PjitFunction|\$(?:pjit|dispatch|pxla|xla_bridge)\.py)|^(?:jit_|jit\()")
"""JAX's dispatch, its Python files and modules."""
VERSION_STATS = {"jax": stats.JAX_VERSION}
"""Framework -> the stat of a plane that gives its version."""
UNKNOWN = "unknown"


def framework_of(events: Iterable[str], modules: Iterable[str]) -> str:
    """tensorflow, jax, pytorch-xla or unknown, by the names of events, else by those of XLA modules."""
    names = tuple(events)
    for framework, pattern in (("pytorch-xla", _TORCH), ("tensorflow", _TENSORFLOW), ("jax", _JAX)):
        if any(pattern.search(name) for name in names):
            return framework
    return "jax" if any(_JAX.search(name) for name in modules) else UNKNOWN


def says_graphs_are_off(name: str) -> bool:
    """Whether XLA says in a host's event that it runs command buffers, which are CUDA graphs, kernel by kernel while it is
    profiled."""
    return name.startswith("WARNING: CommandBuffer disabled when profiling")


def is_between_slices(name: str) -> bool:
    """Whether a host sends for its TPUs over the network between slices: `MegaScale: Communication Transport Receive`."""
    return name.startswith("MegaScale")


def lost_events(warning: str) -> int:
    """How many events the profiler says it dropped; 0 for warnings of other things."""
    match = _DROPPED.search(warning)
    return int((match.group(1) or match.group(2)).replace(",", "")) if match else 0


_COMPILED = r"(?:multi_step_on_iterator|one_step_on_iterator|one_step_on_data|(?:train|test|predict)_function)"
_KERAS = re.compile(
    rf"__inference_{_COMPILED}_\d+$|\$(?:\S*keras/\S*|trainer\.py|training\.py):\d+ (?:fit|train_on_batch|{_COMPILED})$"
    r"|keras/src/trainers/|^Profiled batch$"
)
"""`EagerLocalExecute: __inference_one_step_on_iterator_310`, `$trainer.py:260 fit`."""
_PY_DATASET = re.compile(r"PyDataset|KerasSequence|OrderedEnqueuer|\$(?:\S*/)?py_dataset_adapter\.py:")
"""`$py_dataset_adapter.py:241 get`; Keras 2 calls the same a Sequence."""


def is_keras(name: str) -> bool:
    """Whether an event is Keras' own training loop, or a function that it compiled."""
    return _KERAS.search(name) is not None


def is_py_dataset(name: str) -> bool:
    """Whether an event is Keras taking batches from a PyDataset or Sequence."""
    return _PY_DATASET.search(name) is not None
