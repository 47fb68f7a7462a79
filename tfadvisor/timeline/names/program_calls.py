"""Calls that start compiled programs and ops, by name: JAX's jitted functions, PjRt,
TensorFlow's eager runtime.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from tfadvisor.patterns import pattern

_JITTED = "PjitFunction"
"""A call of a jitted function, as JAX's C++ dispatch path writes it."""
_JITTED_CALL = pattern(r"^PjitFunction\((.*)\)$")
_EXECUTES = "Executable::Execute"
"""PjRt and its kin, where a compiled program goes to a device."""
_CPU_RUN = "CpuExecutable::ExecuteHelper"
"""PjRt's client of the CPU handing a program to the runtime, or running it then and
there.
"""
_COMPLETION = "ThunkExecutor::Execute (wait for completion)"
"""XLA's CPU runtime at the end of a program's run, once a run."""
_POOL_WORK = ("ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion")
"""A thread of a pool takes up work that another one left to it, and is done with it."""
ANY_PROGRAM = "an XLA program"
"""Stands for a program's name where no call tells it."""
_DISPATCHES = (
    "PjitFunction",
    "EagerLocalExecute: ",
    "Iterator",
    "PjRt",
    "TfrtCpuExecutable",
)
"""Dispatches that say which program or op they start."""
_DEVICE_PUT = "DevicePut"
"""JAX making arrays of a device out of NumPy's."""
_CONVERSIONS = ("tf.constant", "convert_to_tensor")
"""TensorFlow making a tensor out of Python's values or NumPy's."""
_FINGERPRINT = pattern(r"\(\d{1,20}\)$")
"""The number that XLA appends to a program's name on a TPU's line."""
_JITTED_MODULE = pattern(r"^(?:jit|pmap)_(?!_lambda_?$)(\w+)$")
"""An XLA module, named after the function that was compiled."""
_NO_IDENTIFIER = pattern(r"[^A-Za-z0-9_]")


_INFERS = frozenset(
    "decode prefill generate predict infer inference serve serving".split()
)
_TRAINS = frozenset(
    "train training step update grad grads gradient gradients loss backward "
    "optimizer fit epoch".split()
)
_NO_LETTER = pattern(r"[^a-z]+")


def workload_of(functions: Iterable[str]) -> str:
    """What a program does whose host calls these compiled functions: `inference` where
    one is named for it (`decode_step`) and none of the others for training
    (`train_step`, `update`); else `unknown`."""
    words = [set(_NO_LETTER.split(function.lower())) for function in functions]
    infers = [not word.isdisjoint(_INFERS) for word in words]
    trains = any(
        not name_words.isdisjoint(_TRAINS)
        for name_words, other in zip(words, infers, strict=True)
        if not other
    )
    return "inference" if any(infers) and not trains else "unknown"


def serving_phase(program: str) -> str:
    """`jit_prefill_512` -> `prefill`, `jit_generate` -> `decode`, "" for all others."""
    words = set(_NO_LETTER.split(program.lower()))
    if "prefill" in words:
        return "prefill"
    if words & {"decode", "generate"}:
        return "decode"
    return ""


def serves_requests(functions: Collection[str]) -> bool:
    """Whether a program that calls these compiled functions waits for requests where it
    waits: it prefills or decodes and does not train. `predict` may as well run over a
    data set, and then waits for its loader as training does."""
    return workload_of(functions) == "inference" and any(map(serving_phase, functions))


def jitted_function(name: str) -> str | None:
    """`PjitFunction(train_step)` -> `train_step`, None for other names."""
    match = _JITTED_CALL.match(name)
    return match.group(1) if match else None


@lru_cache(maxsize=1 << 14)  # asked of each name for each program, and of each host
def module_of_call(name: str) -> str | None:
    """`PjitFunction(train_step)` -> `jit_train_step`, the module that XLA names after
    it; None for other names.
    """
    function = jitted_function(name)
    return None if function is None else f"jit_{_NO_IDENTIFIER.sub('_', function)}"


def calls_module(name: str, module: str) -> bool:
    """Whether this is the name of a call of the jitted function that XLA compiled to
    this module.

    From 0.7 on JAX writes `jit(__call__)` and drops what remains of the brackets, with
    underscores before them: `jit___call`.
    """
    called = module_of_call(name)
    return called is not None and without_marks(called) == without_marks(module)


def without_marks(module: str) -> str:
    """A module's name without the underscores at its end."""
    return module.rstrip("_")


def program_of_call(name: str) -> str:
    """The program that a call runs, as XLA names it: of a jitted function's call its
    module.
    """
    return module_of_call(name) or ANY_PROGRAM


def program_name(name: str) -> str:
    """A program's execution without its fingerprint: `jit_step(123)` -> `jit_step`."""
    return _FINGERPRINT.sub("", name)


def program_number(name: str) -> int:
    """The fingerprint, as the stat `program_id` of an op states it, in 64 bits with a
    sign; 0 without one.
    """
    found = _FINGERPRINT.search(name)
    return signed(int(found[0][1:-1])) if found else 0


def signed(number: int) -> int:
    """A 64-bit number as int64 has it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def function_of_module(module: str) -> str | None:
    """`jit_train_step(123)` -> `train_step`, None for a lambda and for other
    modules.
    """
    match = _JITTED_MODULE.match(program_name(module))
    return match.group(1) if match else None


def is_jitted(name: str) -> bool:
    """Whether an event is a call of a jitted function."""
    return name.startswith(_JITTED)


def executes(name: str) -> bool:
    """Whether an event hands a compiled program to a device."""
    return _EXECUTES in name


def runs_program(name: str) -> bool:
    """Whether a CPU's client hands a program to the runtime here, or runs it."""
    return name.endswith(_CPU_RUN)


def awaits_program(name: str) -> bool:
    """Whether XLA's CPU runtime waits for the end of a program's run."""
    return name == _COMPLETION


def starts_pool_work(name: str) -> bool:
    """Whether a thread of a pool takes up work."""
    return name == _POOL_WORK[0]


def bounds_pool_work(name: str) -> bool:
    """Whether a thread of a pool takes up work or is done with it."""
    return name in _POOL_WORK


def names_what_it_dispatches(name: str) -> bool:
    """Whether a dispatch says which program or op it starts, so that two of them can be
    distinguished.
    """
    return name.startswith(_DISPATCHES)


def puts_on_device(name: str) -> bool:
    """Whether a call makes arrays of a device out of arrays of the host."""
    return name.startswith(_DEVICE_PUT)


def makes_tensor(name: str) -> bool:
    """Whether TensorFlow makes a tensor out of Python's values or NumPy's here."""
    return name.startswith(_CONVERSIONS)


_CONSTANT = "EagerLocalExecute: _EagerConst"


def takes_over_value(name: str) -> bool:
    """Whether a dispatch of TensorFlow's only puts a value of Python's on a device: it
    depends on no other.
    """
    return name == _CONSTANT


_INSIDE_RUNTIME = pattern(
    r"^(?:\w+::\w*(?:Run|Execute|Enqueue|Launch|Process|Await)\w*$|TFE_|PJRT_|Tfrt|PjRt|ThenExecute|BufferSequencing|MemoryDe|MemoryAl)"
)
"""Events of TensorFlow's and XLA's own that say less than what is around them."""


def inside_runtime(name: str) -> bool:
    """Whether an event is one inside a runtime, which says less than what is
    around it.
    """
    return _INSIDE_RUNTIME.match(name) is not None
