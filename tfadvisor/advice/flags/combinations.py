"""Settings that are right one by one and wrong together. Each function looks at one combination."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from tfadvisor.advice.flags.advice import ERROR, NOTE, WARNING, Remark
from tfadvisor.advice.flags.catalogue import is_true
from tfadvisor.advice.flags.recorded import order
from tfadvisor.advice.flags.settings import Setting

_JAX = "https://docs.jax.dev/en/latest/gpu_performance_tips.html"
_JAX_MEMORY = "https://docs.jax.dev/en/latest/gpu_memory_allocation.html"
_TOOLBOX = "https://github.com/NVIDIA/JAX-Toolbox/blob/main/docs/GPU_performance.md"
_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_DETERMINISM = "https://openxla.org/xla/determinism"
_TF_GPU = "https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/common_runtime/gpu/gpu_device.cc"

_LAST_PGLE_WITHOUT_SCHEDULER = "0.5.0"
"""Up to this JAX the latency-hiding scheduler has to be turned on beside PGLE, as JAX's page says."""


class Together:
    """The last value of each flag and variable, which is the one that counts."""

    def __init__(self, settings: Iterable[Setting], version: str) -> None:
        """version: of jaxlib."""
        self._values: Mapping[str, str | None] = {one.name: one.value for one in settings}
        self.version = version

    def has(self, name: str) -> bool:
        """Whether it is given at all."""
        return name in self._values

    def value(self, name: str) -> str:
        """As given, "" when it is not or has none."""
        return self._values.get(name) or ""

    def on(self, name: str) -> bool:
        """Given, and true."""
        return name in self._values and is_true(self._values[name])

    def off(self, name: str) -> bool:
        """Given, and not true."""
        return name in self._values and not is_true(self._values[name])

    def number(self, name: str) -> float:
        """0 when it is not a number or not given."""
        try:
            return float(self.value(name))
        except ValueError:
            return 0.0


def combined(settings: Iterable[Setting], version: str) -> tuple[Remark, ...]:
    """What is wrong with settings together; version: of jaxlib."""
    given = Together(settings, version)
    return tuple(remark for look in _LOOKS for remark in look(given))


def _pgle_without_scheduler(given: Together) -> Iterator[Remark]:
    profile = given.value("xla_gpu_pgle_profile_file_or_directory_path")
    scheduler = "xla_gpu_enable_latency_hiding_scheduler"
    raised = given.value("JAX_OPTIMIZATION_LEVEL") in ("O1", "O2", "O3")
    if not (profile or given.on("JAX_ENABLE_PGLE")) or given.on(scheduler) or (raised and not given.off(scheduler)):
        return
    old = (order(given.version) or ()) <= (order(_LAST_PGLE_WITHOUT_SCHEDULER) or ())
    if profile or given.off(scheduler) or old:
        text = "PGLE passes its measurements to the latency-hiding scheduler, which is off"
        yield Remark("conflict", WARNING, text, f"--{scheduler}=true", _JAX)


def _pgle_and_command_buffers(given: Together) -> Iterator[Remark]:
    if not given.on("JAX_ENABLE_PGLE"):
        return
    if given.on("xla_enable_command_buffers_during_profiling"):
        text = (
            "PGLE cannot measure inside CUDA graphs, and --xla_enable_command_buffers_during_profiling leaves them on"
        )
        yield Remark("conflict", WARNING, text, "", _JAX)
    if given.has("xla_gpu_enable_command_buffer") and not given.value("xla_gpu_enable_command_buffer"):
        text = "PGLE turns CUDA graphs off while it measures; --xla_gpu_enable_command_buffer= leaves them off"
        yield Remark("conflict", NOTE, f"{text} afterwards too", "", _JAX)


def _pgle_that_does_nothing(given: Together) -> Iterator[Remark]:
    details = [name for name in ("JAX_PGLE_PROFILING_RUNS", "JAX_PGLE_AGGREGATION_PERCENTILE") if given.has(name)]
    if details and not given.on("JAX_ENABLE_PGLE"):
        yield Remark("conflict", NOTE, f"{details[0]} has no effect without JAX_ENABLE_PGLE=true", "", _JAX)
    if given.on("JAX_ENABLE_PGLE") and given.value("JAX_PGLE_PROFILING_RUNS") == "0":
        yield Remark("conflict", WARNING, "with JAX_PGLE_PROFILING_RUNS=0 PGLE never compiles again", "", _JAX)


def _pgle_and_cache(given: Together) -> Iterator[Remark]:
    if not given.on("JAX_COMPILATION_CACHE_EXPECT_PGLE"):
        return
    if given.on("JAX_ENABLE_PGLE"):
        text = "JAX_ENABLE_PGLE is for the run that fills the cache, JAX_COMPILATION_CACHE_EXPECT_PGLE for the one after it"
        yield Remark("conflict", WARNING, text, "", _JAX)
    elif not given.has("JAX_COMPILATION_CACHE_DIR"):
        text = "JAX_COMPILATION_CACHE_EXPECT_PGLE needs the cache of the run before, in JAX_COMPILATION_CACHE_DIR"
        yield Remark("conflict", NOTE, text, "", _JAX)


def _scheduler_without_async(given: Together) -> Iterator[Remark]:
    if given.on("xla_gpu_enable_latency_hiding_scheduler") and given.value("xla_gpu_disable_async_collectives"):
        text = "the latency-hiding scheduler hides asynchronous collectives only, and some are turned synchronous"
        yield Remark("conflict", WARNING, text, "", _TOOLBOX)


def _two_fractions(given: Together) -> Iterator[Remark]:
    if given.value("XLA_CLIENT_MEM_FRACTION") and given.value("XLA_PYTHON_CLIENT_MEM_FRACTION"):
        text = (
            "JAX ends with a ValueError when XLA_PYTHON_CLIENT_MEM_FRACTION, the old name, is given beside the new one"
        )
        yield Remark("conflict", ERROR, text, "", _JAX_MEMORY)


def _fraction_of_platform(given: Together) -> Iterator[Remark]:
    fractions = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE")
    without = [name for name in fractions if given.has(name)]
    if without and given.value("XLA_PYTHON_CLIENT_ALLOCATOR").lower() == "platform":
        text = f"{without[0]} has no effect: the platform allocator takes nothing in advance"
        yield Remark("conflict", NOTE, text, "", _JAX_MEMORY)


def _nvls_without_room(given: Together) -> Iterator[Remark]:
    share = max(given.number("XLA_CLIENT_MEM_FRACTION"), given.number("XLA_PYTHON_CLIENT_MEM_FRACTION"))
    if given.value("NCCL_NVLS_ENABLE") == "1" and share > 0.9:
        text = f"NVLink SHARP takes GPU memory beside JAX's share, and {share:g} leaves little; 0.8 to 0.9 is usual"
        yield Remark("conflict", WARNING, text, "", _TOOLBOX)


def _user_buffers(given: Together) -> Iterator[Remark]:
    if not given.on("xla_gpu_enable_nccl_user_buffers"):
        return
    if given.value("NCCL_NVLS_ENABLE") == "0":
        text = (
            "all-gather, all-reduce and reduce-scatter use user buffers with NVLink SHARP only, and NCCL_NVLS_ENABLE=0"
        )
        yield Remark("conflict", WARNING, f"{text} turns that off", "NCCL_NVLS_ENABLE=1", _TOOLBOX)
    if not given.number("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"):
        text = "without XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB the pool of user buffers grows in pieces and fragments"
        yield Remark("conflict", NOTE, text, "", _TOOLBOX)


def _threads_without_mode(given: Together) -> Iterator[Remark]:
    if given.has("TF_GPU_THREAD_COUNT") and given.value("TF_GPU_THREAD_MODE").lower() not in (
        "gpu_private",
        "gpu_shared",
    ):
        text = "TF_GPU_THREAD_COUNT has no effect without TF_GPU_THREAD_MODE=gpu_private or gpu_shared"
        yield Remark("conflict", WARNING, text, "TF_GPU_THREAD_MODE=gpu_private", _TF_GPU)


def _unsure_protocol(given: Together) -> Iterator[Remark]:
    protocols = given.value("NCCL_PROTO").lower()
    if "ll128" in protocols and "^" not in protocols:
        text = "NCCL already chooses LL128 where it is safe; on other platforms it can corrupt data"
        yield Remark(
            "dangerous", WARNING, f"NCCL_PROTO: {text}. JAX's page recommends it for a single host only", "", _NCCL
        )


def _too_many_sockets(given: Together) -> Iterator[Remark]:
    if given.number("NCCL_SOCKET_NTHREADS") * given.number("NCCL_NSOCKS_PERTHREAD") > 64:
        text = "NCCL_SOCKET_NTHREADS times NCCL_NSOCKS_PERTHREAD must not exceed 64"
        yield Remark("conflict", WARNING, text, "", _NCCL)


def _determinism_of_compilation(given: Together) -> Iterator[Remark]:
    wanted = given.on("xla_gpu_deterministic_ops") or given.on("xla_gpu_exclude_nondeterministic_ops")
    repeated = given.value("xla_gpu_load_autotune_results_from") or given.value("xla_gpu_autotune_level") == "0"
    if wanted and not repeated:
        text = "autotuning may choose other kernels at the next compilation"
        yield Remark("conflict", NOTE, f"{text}; --xla_gpu_load_autotune_results_from repeats it", "", _DETERMINISM)


_LOOKS: tuple[Callable[[Together], Iterator[Remark]], ...] = (
    _pgle_without_scheduler,
    _pgle_and_command_buffers,
    _pgle_that_does_nothing,
    _pgle_and_cache,
    _scheduler_without_async,
    _two_fractions,
    _fraction_of_platform,
    _nvls_without_room,
    _user_buffers,
    _threads_without_mode,
    _unsure_protocol,
    _too_many_sockets,
    _determinism_of_compilation,
)
