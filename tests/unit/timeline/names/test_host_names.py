"""Every name and part of a name that decides the class of a host event, in an event
that a runtime writes.
"""

from __future__ import annotations

import pytest
from support.trace_builder import trace

from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.host_events import (
    called_function,
    calls_function,
    function_name,
    host_class,
    is_accelerator_thread,
    is_eager_function,
    is_end_mark,
    is_kernel_launch,
    is_kernel_of_one_op,
    is_python_op,
    is_single_op,
    keeps_state,
    makes_dataset,
    makes_iterator,
    op_type,
    runs_python,
    scales_loss,
)
from tfadvisor.timeline.names.program_calls import is_jitted
from tfadvisor.timeline.names.tf_data import builds_pipeline

COMPILES = """
    tf.function-graph_building
    XlaCompilationCache::Compile
    CompileGraph
    BuildExecutable
    CompilePtxOrGetCachedResult
    CompileModuleToLlvmIr
    CompileToTargetBinary
    MetaOptimizer::Optimize
    GraphOptimizationPass
    GrapplerItem
    OptimizeGraph
    RemoteCall: Instantiate
    InstantiateFunction
    backend_compile
    compile_or_get_cached
    lower_sharding_computation
    lower_jaxpr_to_module
    trace_to_jaxpr_dynamic
    HLO passes before layout assignment
    JitCompiler::Create
    TaskDispatcher::dispatch
    ThunkEmitter::EmitHloComputation
    MlirToHlo
    Autotuning fusion.3
    XlaComputationFromGraph
    DeserializeExecutable
    LoadSerialized
    CpuCompiler::RunHloPasses
    PjRtCpuClient::CompileAndLoad
    GemmAlgorithmPicker
    Codegen
""".strip().splitlines()
WAITS = """
    RendezvousKey arrived
    Wait:pending_threads=1/8
    Wait for rendezvous callback
    np.asarray(jax.Array)
    device_get
    jax.device_get
    BlockUntilReady
    pjit block_until_ready
    Stream::BlockHostUntilDone
    cuStreamSynchronize
    cuEventSynchronize
    cuCtxSynchronize
    cudaDeviceSynchronize
    ThunkExecutor::Execute (wait for completion)
    CommonPjRtBuffer::Await
    PjRtBuffer AwaitReady
    TensorHandleResolve
""".strip().splitlines()
LAUNCHES = """
    PjitFunction(step)
    TFE_Py_Execute
    EagerExecute: MatMul
    EagerKernelExecute
    EagerCopyToDevice
    FunctionRun
    SessionRun
    ParseArguments
    DevicePut
    ExecuteHelper
    ExecuteShardedOnLocalDevices
    convert_to_tensor
    tf.constant
    TpuExecute
    ThunkExecutor::Execute
    RunExecutable
    BufferFromHostBuffer
    CopyToDevice
    TransferToServer
    EnqueueExecution
    cuLaunchKernel
    cudaLaunchKernel
    cuGraphLaunch
    cudaGraphLaunch
    cuGraphInstantiateWithFlags
    cudaGraphInstantiate
    cuMemcpyHtoDAsync_v2
    cudaMemcpyAsync
    cuMemsetD32Async
    cudaMemsetAsync
    cuModuleLoadData
    hipLaunchKernel
    hipModuleLaunchKernel
    hipExtLaunchKernel
    hipExtModuleLaunchKernel
    hipGraphLaunch
    hipMemcpyAsync
    hipMemsetD32Async
    MemcpyHtoD
    MemcpyDtoH
    MemcpyPtoP
    MemsetD8
    GpuExecutable::ExecuteAsyncOnStream
    PjRtStreamExecutorLoadedExecutable Client::Execute of PjRt
""".strip().splitlines()
OTHERS = {
    "IteratorGetNextSync:IteratorGetNextSync": HostClass.GET_NEXT,
    "MultiDeviceIteratorGetNextFromShard": HostClass.GET_NEXT,
    "EagerLocalExecute: MultiDeviceIteratorGetNextFromShard": HostClass.GET_NEXT,
    "map/get:IteratorGetNext": HostClass.GET_NEXT,
    "Iterator::Root": HostClass.DATASET,
    "MakeIterator::Root": HostClass.DATASET,
    "PrefetchProduce": HostClass.DATASET,
    "PrefetchConsume": HostClass.DATASET,
    "we Consume": HostClass.OTHER,
    "Producer": HostClass.OTHER,
    "InstantiatedCapturedFunction::Run": HostClass.CAPTURED,
    "ExecutorState::Process": HostClass.PROCESS,
    "ExecutorDoneCallback": HostClass.PROCESS,
    "RemoteCallOp": HostClass.PROCESS,
    "EagerLocalExecute: MatMul": HostClass.EAGER_OP,
    "ProfilerSession::Create": HostClass.PROFILER,
    "CollectData": HostClass.PROFILER,
    "ProfilerStart": HostClass.PROFILER,
    "ProfilerStop": HostClass.PROFILER,
    "KernelAndDeviceOp::Run": HostClass.RUN_EAGER,
    "KernelAndDeviceOp::Create": HostClass.OTHER,
    "Worker::Run": HostClass.OTHER,
    "PjRtCpu::Execute": HostClass.LAUNCH,
    "TfrtCpu::Execute": HostClass.OTHER,
    "PjRtCpu::Release": HostClass.OTHER,
    "Codegen of my model": HostClass.OTHER,
    # Marks of the executor and of allocators look like ops where they name one, and are
    # none.
    "ThreadpoolListener::Record:Region": HostClass.OTHER,
    "MemoryAllocation of dense:MatMul": HostClass.OTHER,
    "MemoryDeallocation of dense:MatMul": HostClass.OTHER,
    "ExecutorPropagateOutputs of dense:MatMul": HostClass.OTHER,
    "end: dense:MatMul": HostClass.OTHER,
    "dense:MatMul": HostClass.OP,
    "load_batch": HostClass.INPUT,
    "f:__wrapped": HostClass.CONTROL_OP,
    "f:_inference_step_1": HostClass.CONTROL_OP,
    "f:__inference_step_1": HostClass.CONTROL_OP,
    "f:_forward_step_1": HostClass.CONTROL_OP,
    "f:_backward_step_1": HostClass.CONTROL_OP,
    "f:_MklConv": HostClass.OP,
    # JAX 0.11 on a GPU: the class that compiles hands arrays over too, and a colon
    # makes no op.
    "PjRtCApiCompiler::BufferFromHostBuffer(f32[])": HostClass.LAUNCH,
    "PjRtCApiCompiler::CompileAndLoad(jit_step)": HostClass.COMPILE,
    "Compiling IR:LLVMDialectModule": HostClass.COMPILE,
    "ThenExecuteCallback:GetEventForComputeStreamSyncPoint": HostClass.OTHER,
    "Wait for donation holds": HostClass.OTHER,
    "Wait for usage holds": HostClass.OTHER,
    "Wait: 3": HostClass.WAIT,
    "H2D Dispatch": HostClass.COPY,
    "Transpose::Execute": HostClass.COPY,
    "CommonPjRtClient::LinearizeIntoImpl": HostClass.COPY,
    "D2H Copy From Staging Buffer": HostClass.COPY,
}
RUN_OTHER_OPS = """
    PartitionedCall StatefulPartitionedCall TPUPartitionedCall While StatelessWhile If StatelessIf Case StatelessCase For
    RemoteCall SymbolicGradient _Send _Recv _HostSend _HostRecv Send Recv NoOp _Arg _Retval _DeviceArg _DeviceRetval
    Switch Merge Enter Exit NextIteration LoopCond ControlTrigger XlaLaunch XlaLaunchV2 _XlaRun XlaRun XlaCompileOnDemand
""".split()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name.strip(), HostClass.COMPILE) for name in COMPILES),
        *((name.strip(), HostClass.WAIT) for name in WAITS),
        *((name.strip(), HostClass.LAUNCH) for name in LAUNCHES),
        *((f"node/{op}:{op}", HostClass.CONTROL_OP) for op in RUN_OTHER_OPS),
        *OTHERS.items(),
    ],
)
def test_what_the_runtimes_write(name: str, expected: HostClass) -> None:
    assert host_class(name) is expected


@pytest.mark.parametrize("op", ["PyFunc", "PyFuncStateless", "EagerPyFunc"])
def test_ops_that_hold_pythons_lock(op: str) -> None:
    assert runs_python(f"map/{op}:{op}")
    assert not runs_python(op)


@pytest.mark.parametrize(
    "name",
    """
    pure_callback io_callback.3 debug_callback debug_print_2 python_callback.1.2 xla_python_cpu_callback
    xla_ffi_python_gpu_callback xla_ffi_partitioned_python_cpu_callback
    """.split(),
)
def test_callbacks_of_a_compiled_program_hold_it_too(name: str) -> None:
    assert runs_python(name)
    assert not runs_python(f"{name}_fusion")


@pytest.mark.parametrize(
    ("name", "dataset", "iterator"),
    [
        ("EagerLocalExecute: TensorSliceDataset", True, False),
        ("EagerLocalExecute: ParallelMapDatasetV2", True, False),
        ("EagerLocalExecute: AnonymousIteratorV3", False, True),
        ("EagerLocalExecute: AnonymousIterator", False, True),
        ("EagerLocalExecute: DatasetCardinality", False, False),
        ("EagerLocalExecute: DatasetV", True, False),
        ("TensorSliceDataset", False, False),
        ("AnonymousIterator", False, False),
    ],
)
def test_ops_that_build_a_pipeline(name: str, dataset: bool, iterator: bool) -> None:
    """`V` and the number of an op's version are no part of its name."""
    assert makes_dataset(name) is dataset
    assert builds_pipeline(name) is (dataset or iterator)


@pytest.mark.parametrize(
    ("name", "single"),
    [
        ("EagerLocalExecute: MatMul", True),
        ("EagerLocalExecute: __inference_step_9", False),
        ("EagerLocalExecute: StatefulPartitionedCall", False),
        ("MatMul", False),
        ("dense:MatMul", False),
    ],
)
def test_single_ops(name: str, single: bool) -> None:
    assert is_single_op(name) is single


def test_the_type_of_an_op_follows_the_last_colon() -> None:
    assert op_type("while/body/_1/while/Add:AddV2") == "AddV2"
    assert op_type("dense:") is None
    assert op_type(":MatMul") is None
    assert op_type("dense:matmul") is None


@pytest.mark.parametrize(
    ("name", "scales"),
    [
        ("LossScaleOptimizer/lossScale:ReadVariableOp", True),
        ("current_loss_scale/Read:ReadVariableOp", True),
        ("AutoCastVariable/lossscale:AssignVariableOp", True),
        ("loss:Mul", False),
        ("scale:Mul", False),
        ("LOSSSCALE:Mul", False),  # no runtime writes it so
    ],
)
def test_names_of_a_dynamic_loss_scale(name: str, scales: bool) -> None:
    assert scales_loss(name) is scales


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("ThreadpoolListener::Record", 0),
        ("ExecutorState::Process", 0),
        ("ExecutorDoneCallback", 0),
        ("FunctionRun", 0),
        ("CommonPjRtBuffer::Await", 1),
    ],
)
def test_what_the_executor_schedules_says_nothing_of_use_about_who_waits(
    name: str, kept: int
) -> None:
    """Its many producers and consumers are not read."""
    columns = trace().call(name, 0, 1, _p=5, _c=6).decode()

    assert (
        len(columns.stat(stats.PRODUCER_ID).event)
        == len(columns.stat(stats.CONSUMER_ID).event)
        == kept
    )


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("ExecutorState::Process", 1),
        ("InstantiatedCapturedFunction::RunAsync", 1),
        ("CommonPjRtBuffer::Await", 0),
    ],
)
def test_runs_of_functions_bear_their_id(name: str, kept: int) -> None:
    assert (
        len(trace().call(name, 0, 1, id=9).decode().stat(stats.EXECUTOR_STEP).event)
        == kept
    )


@pytest.mark.parametrize("op", ["PyFunc", "PyFuncStateless", "EagerPyFunc"])
def test_ops_that_call_python(op: str) -> None:
    assert is_python_op(f"map:{op}")
    assert not is_python_op("pure_callback.1")


def test_functions_that_the_eager_runtime_runs() -> None:
    for kind in ("inference", "forward"):
        name = f"EagerLocalExecute: __{kind}_train_step_1332"
        assert calls_function(name)
        assert called_function(name) == "train_step"
    assert not calls_function("EagerLocalExecute: MatMul")
    assert called_function("EagerLocalExecute: MatMul") == "EagerLocalExecute: MatMul"
    assert is_jitted("PjitFunction(step)")
    assert is_accelerator_thread("tf_GPU_Event_Manager/3")
    assert not is_accelerator_thread("tf_Compute/3")


@pytest.mark.parametrize(
    "name",
    """
    cuLaunchKernel cudaLaunchKernel_v7000 hipLaunchKernel hipModuleLaunchKernel hipExtModuleLaunchKernel
    zeCommandListAppendLaunchKernel
    """.split(),
)
def test_calls_that_launch_one_kernel(name: str) -> None:
    assert is_kernel_launch(name)
    assert not is_kernel_launch(f"before {name}")
    assert not is_kernel_launch("cuGraphLaunch")


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("EagerLocalExecute: MatMul", True),
        ("EagerLocalExecute: __inference_f_1", False),
        ("EagerLocalExecute: StatefulPartitionedCall", False),
        ("EagerLocalExecute: matmul", False),
    ],
)
def test_kernels_of_one_op(name: str, kernel: bool) -> None:
    assert is_kernel_of_one_op(name) is kernel


def test_functions_by_name() -> None:
    assert is_eager_function("EagerLocalExecute: __inference_f_1")
    assert not is_eager_function("EagerLocalExecute: MatMul")
    assert not is_eager_function("__inference_f_1")
    assert function_name("EagerLocalExecute: __inference_f_12") == "__inference_f"
    assert makes_iterator("EagerLocalExecute: AnonymousIteratorV2")
    assert not makes_iterator("AnonymousIteratorV2")
    assert is_end_mark("end: all-reduce.1")
    assert not is_end_mark("the end: all-reduce.1")


@pytest.mark.parametrize(
    ("op", "keeps"),
    [
        *(
            (op, True)
            for op in (
                "ReadVariableOp",
                "AssignVariableOp",
                "VarHandleOp",
                "VarIsInitializedOp",
                "SaveV2",
            )
        ),
        *(
            (op, True)
            for op in (
                "RestoreV2",
                "Restore",
                "ShardedFilename",
                "StringJoin",
                "Identity",
            )
        ),
        ("MatMul", False),
    ],
)
def test_ops_that_checkpoints_are_made_of(op: str, keeps: bool) -> None:
    assert keeps_state(f"EagerLocalExecute: {op}") is keeps
    assert keeps_state(op) is False
