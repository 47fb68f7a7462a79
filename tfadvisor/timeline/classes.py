"""What an event's name says about it: which host activity it is, or which kind of device work.

Names come from three worlds: TensorFlow's and XLA's TraceMe annotations (C++ names), JAX's Python tracer (frames like
`$train.py:42 load_batch`, `$builtins sum`), and what users annotate themselves. Classification runs once per distinct
name, never per event.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt


class HostClass(IntEnum):
    """What a host thread does while an event of this name is the innermost known one."""

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
    """tf.data running a user function; its `id` marks the executor work that belongs to the input pipeline."""
    DATASET = 9
    """A stage of a tf.data pipeline."""
    RUN_EAGER = 10
    """TensorFlow's eager runtime inside a kernel: the op itself on a CPU, a wait when the op is a function."""
    PROFILER = 11
    """The profiler starting or stopping."""
    FRAME = 12
    """A Python frame that says nothing by its name."""
    EAGER_OP = 13
    """The eager runtime handling one named op: dispatch around the kernel."""
    GET_NEXT = 14
    """The consumer's end of a tf.data pipeline: the step waits for a batch."""


class DeviceClass(IntEnum):
    """What an accelerator does in an event."""

    COMPUTE = 0
    COLLECTIVE = 1
    H2D = 2
    D2H = 3
    D2D = 4
    P2P = 5
    OTHER_COPY = 6
    MEMSET = 7


COPIES = (
    DeviceClass.H2D,
    DeviceClass.D2H,
    DeviceClass.D2D,
    DeviceClass.P2P,
    DeviceClass.OTHER_COPY,
    DeviceClass.MEMSET,
)

# Ops that run other ops; their events cover their children's time or nothing at all.
_CONTROL_OP_TYPES = frozenset(
    """
    PartitionedCall StatefulPartitionedCall TPUPartitionedCall While StatelessWhile If StatelessIf Case StatelessCase For
    RemoteCall SymbolicGradient _Send _Recv _HostSend _HostRecv Send Recv NoOp _Arg _Retval _DeviceArg _DeviceRetval
    Switch Merge Enter Exit NextIteration LoopCond ControlTrigger XlaLaunch XlaLaunchV2 _XlaRun XlaRun XlaCompileOnDemand
    """.split()
)
PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
"""TensorFlow ops that run a Python function and hold Python's lock meanwhile."""
_GET_NEXT = re.compile(
    r"^(?:(?:Iterator|MultiDeviceIterator|OneShotIterator)GetNext\w*(?:::DoCompute)?"
    r"|EagerLocalExecute: (?:MultiDevice)?IteratorGetNext\w*|.*:(?:MultiDevice)?IteratorGetNext\w*)$"
)
_OP = re.compile(r"^[A-Za-z0-9._][\w.\\/>\- ]*:([A-Z_]\w*)$")
_FUNCTION_TYPE = re.compile(r"^_*(?:inference|forward|backward|wrapped)_|^__")

_HOST_PATTERNS: tuple[tuple[HostClass, re.Pattern[str]], ...] = (
    (
        HostClass.OTHER,
        re.compile(r"^(?:ThreadpoolListener::|Memory(?:A|Dea)llocation$|ExecutorPropagateOutputs|end: )"),
    ),
    (HostClass.DATASET, re.compile(r"^(?:Iterator::|MakeIterator::|\w+(?:Produce|Consume)$)")),
    (HostClass.CAPTURED, re.compile(r"^InstantiatedCapturedFunction::")),
    (HostClass.PROCESS, re.compile(r"^(?:ExecutorState::Process|ExecutorDoneCallback|RemoteCallOp)")),
    (HostClass.RUN_EAGER, re.compile(r"^KernelAndDevice\w*::Run")),
    (HostClass.EAGER_OP, re.compile(r"^EagerLocalExecute: ")),
    (
        HostClass.PROFILER,
        re.compile(
            r"^(?:ProfilerSession|CollectData|ProfilerStart|ProfilerStop)|^\$profiler(?:_v2)?\.py:\d+ (?:start|stop)"
        ),
    ),
    (
        HostClass.COMPILE,
        re.compile(
            r"^(?:tf\.function-graph_building|XlaCompil|Xla\w*Compiler|CompileGraph|BuildExecutable|Compile(?:Ptx|Module|To)"
            r"|MetaOptimizer|GraphOptimization|Grappler|OptimizeGraph|RemoteCall: Instantiate|InstantiateFunction"
            r"|backend_compile|compile_or_get_cached|lower_sharding_computation|lower_jaxpr|trace_to_jaxpr"
            r"|\w*(?:Cpu|Gpu|Tpu|NVPTX|AMDGPU)Compiler::|\w+Client::Compile|HLO passes|Codegen$|JitCompiler::"
            r"|FusionCompiler::|TaskDispatcher::dispatch|ThunkEmitter::|MlirToHlo|Autotun|Gemm\w*Picker|\w*ConvAlgorithmPicker"
            r"|XlaComputationFrom|DeserializeExecutable|LoadSerialized)"
            r"|^\$(?:pjit|partial_eval|compiler|pxla|mlir|compilation_cache|stages|xla_bridge)\.py:\d+ "
            r"(?:_trace_for_jit|_create_pjit_jaxpr|trace_to_jaxpr\w*|backend_compile\w*|compile_or_get_cached"
            r"|lower_sharding_computation|_cached_lowering_to_hlo|lower_jaxpr_to_\w+|_resolve_and_lower|_pjit_lower"
            r"|_cached_compilation|compile|lower|trace|from_hlo)$"
            r"|^\$(?:func_graph|polymorphic_function|tracing_compilation|autograph|concrete_function|atomic_function)\.py:\d+ "
            r"(?:func_graph_from_py_func|trace_function|_maybe_define_function|_create_concrete_function|from_func_graph)$"
        ),
    ),
    (
        HostClass.WAIT,
        re.compile(
            r"(?:BlockUntilReady|block_until_ready|BlockHostUntilDone|StreamSynchronize|EventSynchronize|CtxSynchronize"
            r"|DeviceSynchronize|^Rendezvous|^Wait[ :]|\(wait for completion\)|::Await\b|AwaitReady|TensorHandleResolve"
            r"|^np\.asarray\(jax\.Array\)|^device_get|^jax\.device_get|^Wait for )"
            r"|^\$array\.py:\d+ (?:_value|__array__|__float__|__int__|__bool__|__index__|__complex__|item|tolist"
            r"|_single_device_array_to_np_array_did_copy)$"
            r"|^\$(?:threading|queue|connection|selectors)\.py:\d+ (?:wait|join|acquire|get|poll|recv|select)$"
            r"|^\$<unknown> (?:acquire|block_until_ready)$"
        ),
    ),
    (
        HostClass.LAUNCH,
        re.compile(
            r"^(?:PjitFunction|TFE_|EagerExecute|EagerKernelExecute|EagerCopyToDevice|FunctionRun|SessionRun|ParseArguments"
            r"|DevicePut|ExecuteHelper|convert_to_tensor|tf\.constant|\w*PjRt\w*::Execute|\w*PjRt\w*Executable::"
            r"|TfrtCpuExecutable::|PjRtCpuExecutable::|\w*Executable::Execute|ExecuteSharded|TpuExecute|ThunkExecutor::"
            r"|cu(?:da)?(?:Launch|Graph(?:Launch|Instantiate)|Memcpy|Memset|Module)"
            r"|hip(?:Launch|ModuleLaunch|ExtLaunch|ExtModuleLaunch|Graph|Memcpy|Memset)|Memcpy[HDP]|Memset|BufferFromHost|CopyToDevice|TransferTo|Enqueue|RunExecutable)"
        ),
    ),
)

_FRAME = re.compile(r"^\$(?:(?P<file>[^:]*?\.py):(?P<line>\d+)|(?P<module>\S+)) (?P<function>.+)$")
_LOADING = re.compile(
    r"(?:^|_)(?:load|fetch|read|next|get|make|prepare|sample|collate|augment|preprocess|decode|tokenize|tokenise|shuffle|stack|pad)"
    r"_(?:next_|train_|training_|host_|input_)?(?:batch|batches|data|examples?|samples?|images?|records?|inputs?|tokens?|files?)"
    r"(?:_np|_numpy|_async)?$"
    r"|^(?:data_?loader|data_?iter(?:ator)?|batch_?(?:loader|iter|iterator|generator)|input_fn|input_pipeline|collate(?:_fn)?"
    r"|augment|tokenize|preprocess|dataloading|data_loading|load_data|data loading|fetch data|next batch|load batch|input)$",
    re.IGNORECASE,
)
_JAX_OP_FRAME = re.compile(
    r"^\$(?:array\.py:\d+ __\w+__$"
    r"|(?:array_methods|indexing|lax_numpy|ufuncs|reductions|slicing|array_creation|pjit|pxla)\.py:\d+ )"
)
"""JAX's own Python on the way from one un-jitted array operation to its dispatch."""
_LOADER_FILE = re.compile(
    r"(?:^|_)(?:data_?(?:load\w*|set\w*|iter\w*|source\w*|pipe\w*|adapter\w*)|loader|input_pipeline|iterator_ops)(?:_|\.py$)"
)


def host_class(name: str) -> HostClass:
    """The class of one host event's name."""
    if name.startswith("$"):
        return _frame_class(name)
    if _GET_NEXT.match(name):
        return HostClass.GET_NEXT
    for candidate, pattern in _HOST_PATTERNS:
        if pattern.search(name):
            return candidate
    op = op_type(name)
    if op is not None:
        return HostClass.CONTROL_OP if op in _CONTROL_OP_TYPES or _FUNCTION_TYPE.match(op) else HostClass.OP
    return HostClass.INPUT if _LOADING.search(name) else HostClass.OTHER


def host_classes(names: Sequence[str]) -> npt.NDArray[np.int8]:
    """The class of every name."""
    return np.fromiter((host_class(name) for name in names), dtype=np.int8, count=len(names))


def op_type(name: str) -> str | None:
    """`dense/MatMul:MatMul` -> `MatMul`; None for a name that is no TensorFlow op."""
    match = _OP.match(name)
    return match.group(1) if match else None


def frame_place(name: str) -> tuple[str, int, str] | None:
    """`$train.py:42 step` -> ("train.py", 42, "step"); None for names that are no Python frame with a file."""
    match = _FRAME.match(name)
    if match is None or match.group("file") is None:
        return None
    return match.group("file"), int(match.group("line")), match.group("function")


def _frame_class(name: str) -> HostClass:
    for candidate, pattern in _HOST_PATTERNS:
        if candidate in (HostClass.PROFILER, HostClass.COMPILE, HostClass.WAIT) and pattern.search(name):
            return candidate
    match = _FRAME.match(name)
    if match is None:
        return HostClass.FRAME
    function, file = match.group("function"), match.group("file") or ""
    if _JAX_OP_FRAME.match(name):
        return HostClass.LAUNCH
    if _LOADING.search(function) or (
        function in ("__next__", "__iter__", "__getitem__", "next") and _LOADER_FILE.search(file)
    ):
        return HostClass.INPUT
    return HostClass.FRAME


_COLLECTIVE_KERNEL = re.compile(r"nccl|rccl|msccl|oneccl|AllReduce|all_reduce_kernel|RingAllGather", re.IGNORECASE)
_COLLECTIVE_HLO = re.compile(
    r"^%?(?:ragged-)?(?:all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|collective-broadcast|send|recv"
    r"|psum|ppermute|pmean|allgather|reduce_scatter|all_gather|all_reduce|all_to_all)"
    r"(?:-start|-done|-scatter)?(?:[.\d_]*)?(?: = .*)?$"
)
_COPY_KERNELS = (
    (DeviceClass.H2D, re.compile(r"^(?:Memcpy|MEMCPY)_?(?:H2D|HtoD|HToD|HTOD)")),
    (DeviceClass.D2H, re.compile(r"^(?:Memcpy|MEMCPY)_?(?:D2H|DtoH|DToH|DTOH)")),
    (DeviceClass.D2D, re.compile(r"^(?:Memcpy|MEMCPY)_?(?:D2D|DtoD|DToD|DTOD)")),
    (DeviceClass.P2P, re.compile(r"^(?:Memcpy|MEMCPY)_?(?:P2P|PtoP|PToP|PTOP)")),
    (DeviceClass.OTHER_COPY, re.compile(r"^(?:Memcpy|MEMCPY)|__amd_rocclr_copyBuffer|^copyBuffer")),
    (DeviceClass.MEMSET, re.compile(r"^(?:Memset|MEMSET)|__amd_rocclr_fillBuffer")),
)


def device_class(name: str) -> DeviceClass:
    """The class of one kernel or copy on a GPU stream, by its name alone."""
    for candidate, pattern in _COPY_KERNELS:
        if pattern.search(name):
            return candidate
    return DeviceClass.COLLECTIVE if _COLLECTIVE_KERNEL.search(name) else DeviceClass.COMPUTE


def hlo_class(name: str) -> DeviceClass:
    """The class of one XLA op by its HLO name: `%all-reduce.7 = …` and `psum.7` are collectives, `copy-start` a copy."""
    if _COLLECTIVE_HLO.match(name):
        return DeviceClass.COLLECTIVE
    if re.match(r"^%?(?:copy-start|copy-done|infeed|outfeed)", name):
        return DeviceClass.OTHER_COPY
    return DeviceClass.COMPUTE


def is_control_flow(hlo_name: str) -> bool:
    """Whether an XLA op's name is that of a loop, a branch or a call, whose event covers its children's."""
    return re.match(r"^%?(?:while|conditional|call)(?:[.\d]*)?(?: = .*)?$", hlo_name) is not None
