"""What names are sorted into: classes of host threads and devices, frameworks, planes
and lines.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from tfadvisor.patterns import pattern
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.drivers import host_planes
from tfadvisor.units import number_of


class HostClass(IntEnum):
    """What a host thread does while an event of this name is the innermost
    known one.
    """

    OTHER = 0
    INPUT = 1
    """Waits for or prepares the next batch on the very thread that needs it."""
    COMPILE = 2
    """Traces, lowers, compiles or autotunes."""
    LAUNCH = 3
    """Dispatches ops, programs, kernels or copies."""
    WAIT = 4
    """Blocks until something else is done; belongs to what it waits for."""
    OP = 5
    """A TensorFlow op's kernel, `name:Type`."""
    CONTROL_OP = 6
    """An op that only runs other ops: a function call, a loop, a send or receive."""
    PROCESS = 7
    """TensorFlow's executor picking ops: dispatch, where no op runs inside it."""
    CAPTURED = 8
    """tf.data running a user function; its `id` marks the executor work that belongs to
    the input pipeline.
    """
    DATASET = 9
    """A stage of a tf.data pipeline."""
    RUN_EAGER = 10
    """TensorFlow's eager runtime inside a kernel: the op itself on a CPU, a wait when
    the op is a function.
    """
    PROFILER = 11
    """The profiler starting or stopping."""
    FRAME = 12
    """A Python frame that says nothing by its name."""
    EAGER_OP = 13
    """The eager runtime handling one named op: dispatch around the kernel."""
    GET_NEXT = 14
    """The consumer's end of a tf.data pipeline: the step waits for a batch."""
    COPY = 15
    """The host's part of a copy to or from a device: into or out of pinned memory."""


class DeviceClass(IntEnum):
    """What a device does in an event."""

    COMPUTE = 0
    COLLECTIVE = 1
    H2D = 2
    D2H = 3
    D2D = 4
    P2P = 5
    OTHER_COPY = 6
    MEMSET = 7
    INFEED = 8
    """A TPU waits for the host to hand over the next batch."""
    NO_WORK = 9
    """Nothing that the device does: an allocation, a page fault, a sample of a counter.
    """


COPIES = (
    DeviceClass.H2D,
    DeviceClass.D2H,
    DeviceClass.D2D,
    DeviceClass.P2P,
    DeviceClass.OTHER_COPY,
    DeviceClass.MEMSET,
)

# By which names a trace tells its framework, its version, what it lost, and that Keras
# runs the loop.

_DROPPED = pattern(
    r"(?<!\d)(?<!\d,)(\d+(?:,\d+)*)\s+(?:\w+\s+)?events? "
    r"dropped|dropped\D{0,40}?(\d[\d,]*)",
    re.IGNORECASE,
)
"""`1,234 events dropped`, and the same the other way round."""
_TORCH = pattern(r"^(?:XLAGraphExecutor|torch_xla|LazyGraphExecutor|\$.*torch_xla)")
"""PyTorch/XLA's executor and Python files."""
_TENSORFLOW = pattern(
    r"^(?:TFE_|EagerExecute|EagerKernelExecute|EagerLocalExecute|ExecutorState::|FunctionRun|IteratorGetNext|tf\."
    r"|cluster_\w*function)"
)
"""TensorFlow's eager runtime, executor and Python ops, and what it compiles for TPUs.
"""
_JAX = pattern(
    r"^(?:PjitFunction|\$(?:pjit|dispatch|pxla|xla_bridge)\.py)|^(?:jit_|jit\()"
)
"""JAX's dispatch, its Python files and modules."""
VERSION_STATS = {"jax": stats.JAX_VERSION}
"""Framework -> the stat of a plane that gives its version."""
UNKNOWN = "unknown"


def is_graphs_off(name: str) -> bool:
    """Whether XLA says by this event that it runs command buffers, which are CUDA
    graphs, kernel by kernel meanwhile.
    """
    return name.startswith("WARNING: CommandBuffer disabled when profiling")


@lru_cache(maxsize=4)  # the hosts of a run mostly have the same names
def framework_of(names: tuple[str, ...], modules: tuple[str, ...]) -> str:
    """tensorflow, jax, pytorch-xla or unknown, by the names of events, else by those of
    XLA modules.
    """
    for framework, written in (
        ("pytorch-xla", _TORCH),
        ("tensorflow", _TENSORFLOW),
        ("jax", _JAX),
    ):
        if any(written.search(name) for name in names):
            return framework
    return "jax" if any(_JAX.search(name) for name in modules) else UNKNOWN


def is_between_slices(name: str) -> bool:
    """Whether a host sends for its TPUs over the network between slices, `MegaScale:
    Communication Transport Receive`, or an op of theirs has it sent: `%recv-done.9 = …
    frontend_attributes={_xla_host_transfer_handler_name="xla_megascale_runtime"}`."""
    return name.startswith("MegaScale") or "xla_megascale_" in name


def lost_events(warning: str) -> int:
    """How many events the profiler says it dropped; 0 for warnings of other things."""
    match = _DROPPED.search(warning)
    if match:
        return number_of((match.group(1) or match.group(2)).replace(",", "")) or 0
    return 0


def is_about_gpus(error: str) -> bool:
    """Whether the profiler reports that it could not record GPUs: `Failed to load
    libcupti (is it installed and accessible?)`.
    """
    lower = error.lower()
    return any(word in lower for word in ("cupti", "rocprof", "roctracer"))


_KERAS_STEPS = tuple(
    "multi_step_on_iterator one_step_on_iterator one_step_on_data_distributed "
    "one_step_on_data train_function test_function predict_function".split()
)
"""Functions of Keras that it compiles for a model."""
_COMPILED = f"(?:{'|'.join(_KERAS_STEPS)})"
_KERAS = pattern(
    rf"__inference_{_COMPILED}_\d+$|^\$(?:\S*keras/\S*|trainer\.py|training\.py):\d+ "
    rf"(?:fit|train_on_batch|{_COMPILED})$"
    r"|keras/src/trainers/|^Profiled batch$"
)
"""`EagerLocalExecute: __inference_one_step_on_iterator_310`, `$trainer.py:260 fit`."""
_PY_DATASET = pattern(
    r"PyDataset|KerasSequence|OrderedEnqueuer|^\$(?:\S*/)?py_dataset_adapter\.py:"
)
"""`$py_dataset_adapter.py:241 get`; Keras 2 calls the same a Sequence."""


def is_keras(name: str) -> bool:
    """Whether an event is Keras' own training loop, or a function that it compiled."""
    return _KERAS.search(name) is not None


def is_keras_step(function: str) -> bool:
    """Whether Keras makes a function of this name for a model, and compiles it."""
    return function in _KERAS_STEPS


def is_py_dataset(name: str) -> bool:
    """Whether an event is Keras taking batches from a PyDataset or Sequence."""
    return _PY_DATASET.search(name) is not None


# Names of planes and of their lines: whose work a plane holds, and which lines only
# repeat other lines' time.


DEVICE_PLANES = "/device:"
"""What the name of every device's plane begins with."""
_HOST_PLANES = ("/host:CPU", "/host:python-tracer", "/host:TPU-runtime")
"""Planes whose lines are threads; drivers have further ones."""
_TPU_PLANES = "/device:TPU"
"""Of TPUs and their sparse cores."""

STEPS_LINE = "Steps"
"""Steps as a TPU's profiler marks them, or as an old version of the profiler's viewer
saved them.
"""
TPU_LINES = ("XLA Ops", "Async XLA Ops")
"""Of a TPU's lines those that hold its ops; the others sum them up."""
_SPARSE_CORE = " SparseCore "
_SPARSE_OPS = "Sparse Core Ops"
"""After the device in the name of the plane of one of its sparse cores, and the line of
what that ran.
"""
TPU_REGIONS = "XLA TraceMe"
"""Of a TPU's lines that of regions inside of ops and between them, `barrier-cores`
among them.
"""
_TPU_BARRIER = "barrier-cores"
_KERNELS_WAITS = ("ep_wait_in", "ep_wait_out")
TPU_PROGRAMS = "XLA Modules"
"""Of a TPU's lines that of whole programs."""
_VIEWERS_LINE_IDS = (-559038737, -559038700)
"""Of the lines that the profiler's viewer draws and old versions saved."""
_DERIVED_GPU_LINE = pattern(
    r"^(?:Steps|Launch Stats|(?:Framework|TensorFlow) (?:Name Scope|Ops)|XLA "
    r"Modules|XLA Ops|XLA TraceMe|Source code|Source)"
    r"(?: - from #\d+)?$"
)
"""What the viewer calls them."""
_COUNTERS = "_counters_"
"""Of a device's lines that of samples of counters: clock, power, temperature."""
_COLLECTOR_OVERHEAD = "overhead"
"""In the name of a line of the time that the collector itself took."""


def is_host_plane(name: str) -> bool:
    """Whether a plane's lines are threads of the host."""
    return name.startswith((*_HOST_PLANES, *host_planes()))


def device_number(name: str, label: str) -> int | None:
    """`/device:GPU:3` -> 3 for the label `GPU`; None for any other plane."""
    number = name.removeprefix(f"{DEVICE_PLANES}{label}:")
    return number_of(number) if number != name else None


def is_tpu_plane(name: str) -> bool:
    """Whether a plane belongs to a TPU, parts of it such as its sparse cores
    included.
    """
    return name.startswith(_TPU_PLANES)


def holds_sparse_work(
    plane: str,
    line: str,
    device: str,
) -> bool:
    """Whether a line holds what a sparse core of a device ran: `Sparse Core Ops` of
    `/device:TPU:0 SparseCore 1`.
    """
    return line == _SPARSE_OPS and plane.startswith(
        f"{DEVICE_PLANES}{device}{_SPARSE_CORE}"
    )


def is_tpu_barrier(name: str) -> bool:
    """Whether a TPU waits for other cores in an event of this name, outside of every
    op.
    """
    return name.removeprefix("%").startswith(_TPU_BARRIER)


def is_kernels_wait(name: str) -> bool:
    """Whether a Pallas kernel waits in a region of this name: its pipeline's
    `ep_wait_in` and `ep_wait_out`, for copies (DMA) between device memory and the core.
    """
    return name.startswith(_KERNELS_WAITS)


def drawn_by_viewer(line_id: int) -> bool:
    """Whether the profiler's viewer drew a line and an old version saved it: their ids
    begin at 0xdeadbeef.
    """
    signed = line_id - (1 << 32) if line_id >= 1 << 31 else line_id
    return _VIEWERS_LINE_IDS[0] <= signed <= _VIEWERS_LINE_IDS[1]


def is_derived(name: str, line_id: int) -> bool:
    """Whether a GPU's line holds no work of its own: drawn by the viewer, overhead of
    the collector, or counters.
    """
    return (
        name == _COUNTERS
        or drawn_by_viewer(line_id)
        or bool(_DERIVED_GPU_LINE.match(name))
        or _COLLECTOR_OVERHEAD in name.lower()
    )
