"""Host events by name: TensorFlow's and XLA's own annotations, driver calls, and what
users annotate.

Names are C++ identifiers and short phrases that the runtimes chose. Classification runs
once per distinct name, never per event, and uses plain string tests, which unlike
patterns cost nothing when the command starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np

from tfadvisor.arrays import Int8Array
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.device_events import ALLOCATOR_EVENTS
from tfadvisor.timeline.names.drivers import is_launch, waits_somewhere
from tfadvisor.timeline.names.frames import (
    asks_tf_data,
    frame_class,
    marks_loading,
)
from tfadvisor.timeline.names.op_path import without_numbers

_ACCELERATOR_THREAD = re.compile(r"tf_[A-Za-z]{0,40}_?Event_Manager")
"""Threads of TensorFlow that wait for a GPU's events: `tf_GPU_Event_Manager`, in some
releases `tf_Device_Event_Manager`.
"""
PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
"""TensorFlow ops that run a Python function and hold Python's lock meanwhile."""

_PYTHON_THUNK = re.compile(
    r"^(?:pure_callback|io_callback|debug_callback|debug_print|python_callback|xla(?:_ffi)?_(?:partitioned_)?python_(?:cpu|gpu)_callback)"
    r"(?:[._]\d+)*$"
)
"""XLA ops that run a Python function, as JAX names them."""
_EAGER_OP = "EagerLocalExecute: "
"""TensorFlow's eager runtime handling one op or function, which the rest of the name
gives.
"""
_WRITING_OPS = frozenset(
    """
        SaveV2 Save SaveSlices MergeV2Checkpoints WriteFile WriteSummary
        WriteScalarSummary WriteHistogramSummary WriteImageSummary WriteAudioSummary
        WriteRawProtoSummary WriteGraphSummary FlushSummaryWriter
    """.split()
)
"""TensorFlow ops that write a checkpoint, a summary or another file."""
_PIPELINE_OPS = ("Dataset", "Iterator", "IteratorHandle")
"""Ends of the types of ops that make, hand over or delete a tf.data pipeline:
`TensorSliceDataset`, `AnonymousIteratorV2`, `MakeIterator`.
"""
_STATE_OPS = _WRITING_OPS | frozenset(
    """
        ReadVariableOp AssignVariableOp VarHandleOp VarIsInitializedOp RestoreV2 Restore
        ShardedFilename StringJoin Identity
    """.split()
)
"""TensorFlow ops that save or restore a program's variables, file names and writing
included.
"""
_CHANGING = (
    "ResourceApply",
    "ResourceSparseApply",
    "ResourceScatter",
    "AssignSub",
    "AssignVariable",
)
"""Begins of the types of ops that change a variable otherwise than by adding to it."""
_MAKING_OPS = ("VarHandleOp", "VarIsInitializedOp")
_FILLING_OPS = (
    *_MAKING_OPS,
    *"""
        AssignVariableOp ReadVariableOp Const Identity Fill ZerosLike OnesLike Reshape
        Shape Pack StridedSlice Cast Mul Add AddV2 Sub RandomUniform
        RandomStandardNormal TruncatedNormal
    """.split(),
)
_STATELESS = ("StatelessRandom", "StatelessTruncatedNormal")
_ON_VARIABLES = (
    "MatMul",
    "Conv",
    "Einsum",
    "RNN",
    "Gather",
    "Lookup",
    "Xla",
    "Apply",
    "Assign",
    "TRTEngine",
)
"""In the types of ops that multiply variables, look rows of them up, compute on them as
one compiled cluster, or change them.
"""
_OP = re.compile(r"^[A-Za-z0-9._][\w.\\/>\- ]*:([A-Z_]\w*)$")
"""A TensorFlow op's kernel: `layer/name:Type`."""
# Ops that run other ops; their events cover their children's time or nothing at all.
_CONTROL_OP_TYPES = frozenset(
    """
        PartitionedCall StatefulPartitionedCall TPUPartitionedCall While StatelessWhile
        If StatelessIf Case StatelessCase For RemoteCall SymbolicGradient _Send _Recv
        _HostSend _HostRecv Send Recv NoOp _Arg _Retval _DeviceArg _DeviceRetval Switch
        Merge Enter Exit NextIteration LoopCond ControlTrigger XlaLaunch XlaLaunchV2
        _XlaRun XlaRun XlaCompileOnDemand
    """.split()
)

SENDING_OPS = ("_Send", "_HostSend")
"""Types of ops that pass a tensor from the host to another device:
`IteratorGetNext/_3:_Send`.
"""
_GET_NEXT_STARTS = (
    "IteratorGetNext",
    "MultiDeviceIteratorGetNext",
    "OneShotIteratorGetNext",
)
"""The consumer's end of a tf.data pipeline."""
_COPY_STARTS = (
    "H2D Dispatch",
    "H2D Copy",
    "D2H Dispatch",
    "D2H Copy",
    "Transpose::Execute",
    "CommonPjRtClient::LinearizeInto",
)
"""PJRT copying an array into or out of the pinned memory from which a GPU's copy engine
takes it.
"""
_END_MARK = "end: "
"""XLA's CPU runtime, where an asynchronous thunk ends."""
_LOSS_SCALING = ("lossscal", "loss_scal")
"""Parts of the names of TensorFlow's variables and ops of a loss scale."""
_LOOKS = ("Wait for donation holds", "Wait for usage holds")
"""PJRT looks whether a buffer is still held, for a microsecond of each dispatch."""
_NOTHING_STARTS = (
    "ThreadpoolListener::",
    *ALLOCATOR_EVENTS,
    "ExecutorPropagateOutputs",
    "ThenExecuteCallback:",  # PJRT has a stream call it back
    *_LOOKS,
    _END_MARK,
)
"""Bookkeeping that says nothing of what a thread does."""
SCHEDULING = (
    "ThreadpoolListener::",
    "ExecutorState::",
    "ExecutorDoneCallback",
    "FunctionRun",
)
"""TensorFlow's executor at work: very many events, whose stats of producers and
consumers say nothing of use.
"""
RUNS_OF_FUNCTIONS = ("ExecutorState::Process", "InstantiatedCapturedFunction::")
"""Events that bear the step id of a function's run."""
_PROCESS_STARTS = ("ExecutorState::Process", "ExecutorDoneCallback", "RemoteCallOp")
"""TensorFlow's executor picking ops."""
_PROFILER_STARTS = ("ProfilerSession", "CollectData", "ProfilerStart", "ProfilerStop")
"""The profiler starting or stopping."""
_COMPILE_STARTS = (
    "tf.function-graph_building",
    "XlaCompil",
    "CompileGraph",
    "BuildExecutable",
    "CompilePtx",
    "CompileModule",
    "CompileTo",
    "MetaOptimizer",
    "GraphOptimization",
    "Grappler",
    "OptimizeGraph",
    "RemoteCall: Instantiate",
    "InstantiateFunction",
    "backend_compile",
    "compile_or_get_cached",
    "lower_sharding_computation",
    "lower_jaxpr",
    "trace_to_jaxpr",
    "HLO passes",
    "TaskDispatcher::dispatch",
    "ThunkEmitter::",
    "MlirToHlo",
    "Autotun",
    "XlaComputationFrom",
    "DeserializeExecutable",
    "LoadSerialized",
    "Compiling IR",
)
"""Tracing, lowering, compiling and autotuning, in TensorFlow, JAX and XLA."""
_COMPILE_PARTS = ("Compiler::", "Client::Compile", "AlgorithmPicker")
"""The same in the middle of a C++ name."""
_HANDS_OVER = "PjRtCApiCompiler::BufferFromHost"
"""JAX 0.11 hands arrays to a device by a method of the class that also compiles."""
_WAIT_STARTS = (
    "Rendezvous",
    "Wait:",
    "Wait ",
    "np.asarray(jax.Array)",
    "device_get",
    "jax.device_get",
)
"""Blocking until a value or an event of another thread or device is there."""
_WAIT_PARTS = (
    "BlockUntilReady",
    "block_until_ready",
    "BlockHostUntilDone",
    "(wait for completion)",
    "::Await",
    "AwaitReady",
    "TensorHandleResolve",
)
"""The same in the middle of a C++ name."""
_LAUNCH_STARTS = (
    "PjitFunction",
    "TFE_",
    "EagerExecute",
    "EagerKernelExecute",
    "EagerCopyToDevice",
    "FunctionRun",
    "SessionRun",
    "ParseArguments",
    "DevicePut",
    "ExecuteHelper",
    "ExecuteSharded",
    "convert_to_tensor",
    "tf.constant",
    "TpuExecute",
    "ThunkExecutor::",
    "RunExecutable",
    "BufferFromHost",
    "CopyToDevice",
    "TransferTo",
    "Enqueue",
    "MemcpyH",
    "MemcpyD",
    "MemcpyP",
    "Memset",
)
"""Dispatch by TensorFlow, JAX and PjRt; what the drivers call it is in drivers.py."""
_LAUNCH_PARTS = ("Executable::",)
"""The same in the middle of a C++ name."""


@lru_cache(maxsize=4)  # the hosts of a run mostly have the same names
def host_classes(names: tuple[str, ...]) -> Int8Array:
    """The class of every name; not to be written to. Where tf.data's runtime tells when
    the loop waits for it, frames that ask it are Python on the way to its op.
    """
    classes = np.fromiter(map(host_class, names), np.int8, len(names))
    if (classes == HostClass.GET_NEXT).any():
        for row in np.flatnonzero(classes == HostClass.INPUT).tolist():
            if asks_tf_data(names[row]):
                classes[row] = HostClass.LAUNCH
    return classes


def host_class(name: str) -> HostClass:
    """The class of one host event's name. The first group that knows it decides."""
    if name.startswith("$"):
        return frame_class(name)
    return _pipeline_class(name) or _runtime_class(name) or _op_or_annotation(name)


@lru_cache(maxsize=1 << 16)  # several questions are asked of each name
def op_type(name: str) -> str | None:
    """`dense/MatMul:MatMul` -> `MatMul`; None for a name that is no TensorFlow op."""
    match = _OP.match(name)
    return match.group(1) if match else None


def runs_ops(name: str) -> bool:
    """Whether TensorFlow's executor picks ops of a function to run."""
    return name.startswith(_PROCESS_STARTS)


def is_python_op(name: str) -> bool:
    """Whether an op is TensorFlow's call of Python."""
    return op_type(name) in PYTHON_OPS


def runs_python(name: str) -> bool:
    """Whether an op of a compiled program calls Python and holds Python's lock
    meanwhile.
    """
    return op_type(name) in PYTHON_OPS or _PYTHON_THUNK.match(name) is not None


def reads_variable(name: str) -> bool:
    """Whether a function's op reads a variable, as of a model's weights."""
    return op_type(name) == "ReadVariableOp"


def works_on_variables(name: str) -> bool:
    """Whether an op uses variables in a way that needs no product of its own, or may
    hold products: lookups, compiled clusters, products themselves."""
    op = op_type(name) or ""
    return any(word in op for word in _ON_VARIABLES)


def writes_file(name: str) -> bool:
    """Whether an op that Python dispatches writes a checkpoint, a summary or another
    file.
    """
    return name.startswith(_EAGER_OP) and name.removeprefix(_EAGER_OP) in _WRITING_OPS


def keeps_state(name: str) -> bool:
    """Whether an op that Python dispatches by itself reads, saves or restores
    variables, as checkpoints do by the hundred.
    """
    return name.startswith(_EAGER_OP) and name.removeprefix(_EAGER_OP) in _STATE_OPS


def op_writes(name: str) -> bool:
    """Whether an op writes a checkpoint, a summary or another file, whoever runs it:
    its kernel, or the eager runtime's call.
    """
    return _op_run(name) in _WRITING_OPS


def op_computes(name: str) -> bool:
    """Whether an op may be part of what a step computes: none that writes a file or
    builds an input pipeline is, whoever runs it.
    """
    op = _op_run(name)
    return op not in _WRITING_OPS and not _unversioned(op).endswith(_PIPELINE_OPS)


def _op_run(name: str) -> str:
    """`FlushSummaryWriter` of its kernel's name or of the eager runtime's call."""
    return op_type(name) or name.removeprefix(_EAGER_OP)


def makes_variable(name: str) -> bool:
    """Whether an op makes a variable, as those of a model or an optimizer are made
    before its first step.
    """
    return _op_run(name) in _MAKING_OPS


def fills_variable(name: str) -> bool:
    """Whether an op makes a variable, or may be part of what gives it its first
    value.
    """
    op = _op_run(name)
    return op in _FILLING_OPS or op.startswith(_STATELESS)


def makes_dataset(name: str) -> bool:
    """Whether Python makes a tf.data dataset here."""
    return name.startswith(_EAGER_OP) and _unversioned(name).endswith("Dataset")


def makes_iterator(name: str) -> bool:
    """Whether Python makes an iterator of a tf.data dataset here."""
    return name.startswith(_EAGER_OP) and _unversioned(name).endswith("Iterator")


def _unversioned(name: str) -> str:
    return name.rstrip("0123456789").removesuffix("V")


def is_single_op(name: str) -> bool:
    """Whether TensorFlow's eager runtime runs one op here, no compiled function."""
    return (
        name.startswith(_EAGER_OP)
        and not name.startswith(f"{_EAGER_OP}__")
        and "PartitionedCall" not in name
    )


def single_op(name: str) -> str:
    """The op that TensorFlow's eager runtime runs here: `EagerLocalExecute: Mul` ->
    `Mul`.
    """
    return name.partition(": ")[2]


_CALLED_FUNCTION = re.compile(
    rf"^{re.escape(_EAGER_OP)}__(?:inference|forward)_(\w+?)_\d+$"
)


def calls_function(name: str) -> bool:
    """Whether TensorFlow's eager runtime runs a tf.function here: `EagerLocalExecute:
    __inference_train_step_1332`.
    """
    return _CALLED_FUNCTION.match(name) is not None


def called_function(name: str) -> str:
    """The name that the program gave the tf.function that is run: `train_step`; the
    event's own name of other events.
    """
    found = _CALLED_FUNCTION.match(name)
    return found.group(1) if found else name


def changes_variables(name: str) -> bool:
    """Whether a function's op changes a variable otherwise than by adding to it, as
    optimizers do and metrics do not.
    """
    return (op_type(name) or "").startswith(_CHANGING)


def hides_ops(name: str) -> bool:
    """Whether an op runs others that the trace does not name, as a compiled cluster or
    Python does.
    """
    op = op_type(name) or ""
    return "Xla" in op or op in PYTHON_OPS


def is_end_mark(name: str) -> bool:
    """Whether an event marks where an asynchronous thunk ends, `end: all-reduce.1`."""
    return name.startswith(_END_MARK)


def scales_loss(name: str) -> bool:
    """Whether an event is about TensorFlow's dynamic loss scale."""
    return "cal" in name and any(word in name.lower() for word in _LOSS_SCALING)


def is_eager_function(name: str) -> bool:
    """Whether TensorFlow's eager runtime runs a tf.function here."""
    return name.startswith(f"{_EAGER_OP}__")


def is_allocation(name: str) -> bool:
    """Whether a pool of memory tells what it gives out or takes back."""
    return name.startswith(ALLOCATOR_EVENTS)


def reads_array(name: str) -> bool:
    """Whether the host reads an array of JAX's."""
    return name.startswith("np.asarray(jax.Array)")


def blocks_in_eager_call(name: str) -> bool:
    """Whether TensorFlow's eager runtime blocks here until the op or function that it
    runs is over.
    """
    return name == "EagerKernelExecute"


PROGRAM_RUNS = ("GpuExecutable::",)
"""Runs of XLA programs on a GPU, whose stat names the program."""
_NAMED_RUN = ":XLA GPU module"
_KERNEL_LAUNCHES = (
    "cuLaunchKernel",
    "cudaLaunchKernel",
    "hipLaunchKernel",
    "hipModuleLaunchKernel",
    "hipExtModuleLaunch",
    "zeCommandListAppendLaunchKernel",
)


def is_kernel_launch(name: str) -> bool:
    """Whether a driver's call launches one kernel; a graph's launch runs any number of
    them.
    """
    return name.startswith(_KERNEL_LAUNCHES)


def copies_to_peer(name: str) -> bool:
    """Whether PJRT hands a buffer to another device: its
    `PjRtStreamExecutorBuffer::CopyToDeviceHelper::async_copy_to_device`.
    """
    return "::CopyToDeviceHelper" in name


def is_named_run(name: str) -> bool:
    """Whether an event is a run of an XLA program on a GPU that bears the program's
    name: `jit_f:XLA GPU module`.
    """
    return name.endswith(_NAMED_RUN)


def function_name(name: str) -> str:
    """The tf.function that an event is a call of, without the number of its copy:
    `__inference_step_42` -> `__inference_step`.
    """
    return without_numbers(name).removeprefix(_EAGER_OP)


def is_kernel_of_one_op(name: str) -> bool:
    """Whether the run inside this event of the eager runtime is the kernel of the op
    that it names, no function.
    """
    op = name.removeprefix(_EAGER_OP)
    return (
        not op.startswith("__")
        and op_type(f"x:{op}") is not None
        and "PartitionedCall" not in op
    )


def _pipeline_class(name: str) -> HostClass | None:
    """tf.data: its stages, the functions that it runs, and the consumer's end."""
    asked = name.removeprefix(_EAGER_OP)
    if asked.startswith(_GET_NEXT_STARTS):
        # Not `IteratorGetNext/_3:_Send`, which hands the batch on.
        op = op_type(name) or asked
        if op.startswith(_GET_NEXT_STARTS):
            return HostClass.GET_NEXT
    if name.startswith(("Iterator::", "MakeIterator::")):
        return HostClass.DATASET
    if name.isidentifier() and name.endswith(("Produce", "Consume")):
        return HostClass.DATASET
    if name.startswith("InstantiatedCapturedFunction::"):
        return HostClass.CAPTURED
    return None


def _runtime_class(name: str) -> HostClass | None:
    """What the runtimes and drivers call their own work."""
    for kind, holds in _RUNTIMES:
        if holds(name):
            return kind
    return None


def _called(
    starts: tuple[str, ...],
    parts: tuple[str, ...] = (),
) -> Callable[[str], bool]:
    """Whether a name begins with one of these texts or holds one of those."""
    if not parts:
        return lambda name: name.startswith(starts)

    def holds(name: str) -> bool:
        return name.startswith(starts) or any(map(name.__contains__, parts))

    return holds


def _runs_eagerly(name: str) -> bool:
    return name.startswith("KernelAndDevice") and name.endswith("::Run")


def _executes(name: str) -> bool:
    return "PjRt" in name and "::Execute" in name


def _generates_code(name: str) -> bool:
    return name == "Codegen"


_RUNTIMES = (
    (HostClass.OTHER, _called(_LOOKS)),
    (HostClass.COPY, _called(_COPY_STARTS)),
    (HostClass.LAUNCH, _called((_HANDS_OVER,))),
    (HostClass.PROCESS, _called(_PROCESS_STARTS)),
    (HostClass.EAGER_OP, _called((_EAGER_OP,))),
    (HostClass.PROFILER, _called(_PROFILER_STARTS)),
    (HostClass.COMPILE, _called(_COMPILE_STARTS, _COMPILE_PARTS)),
    (HostClass.WAIT, _called(_WAIT_STARTS, _WAIT_PARTS)),
    (HostClass.WAIT, waits_somewhere),
    (HostClass.LAUNCH, _called(_LAUNCH_STARTS, _LAUNCH_PARTS)),
    (HostClass.LAUNCH, is_launch),
    (HostClass.RUN_EAGER, _runs_eagerly),
    (HostClass.LAUNCH, _executes),
    (HostClass.COMPILE, _generates_code),
)
"""The first that holds of a name is its class."""


def _op_or_annotation(name: str) -> HostClass:
    """A TensorFlow op, or whatever a user called a stretch of the program."""
    if name.startswith(_NOTHING_STARTS):
        return HostClass.OTHER
    op = op_type(name)
    if op is None:
        return HostClass.INPUT if marks_loading(name) else HostClass.OTHER
    if op.startswith(_GET_NEXT_STARTS):
        return HostClass.GET_NEXT
    return HostClass.CONTROL_OP if _runs_other_ops(op) else HostClass.OP


def _runs_other_ops(op: str) -> bool:
    if op in _CONTROL_OP_TYPES or op.startswith("__"):
        return True
    return op.lstrip("_").startswith(("inference_", "forward_", "backward_"))


def names_of_windows(threads: Iterable[str]) -> bool:
    """Whether TensorFlow's threads bear no number, as on Windows: `tf_Compute` instead
    of `tf_Compute/223742`.
    """
    own = [name for name in threads if name.startswith("tf_")]
    return bool(own) and not any("/" in name for name in own)


def is_accelerator_thread(name: str) -> bool:
    """Whether a thread of this name exists only beside a GPU that is used, whether or
    not its work was recorded.
    """
    return _ACCELERATOR_THREAD.match(name) is not None
