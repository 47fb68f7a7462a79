"""Python frames as tracers write them (`$train.py:42 load_batch`), and whose file each
is: the user's or a library's.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

from tfadvisor.patterns import pattern
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.units import number_of

_FRAME = "$"
_NEXT = "$builtins next"
_SLEEP = "$time sleep"
_ANNOTATING = ("$profiler.py", "$profiler_v2.py")
_LOADING = pattern(
    r"(?:^|_)(?:load|fetch|read|next|get|make|prepare|sample|collate|augment|preprocess|decode|tokeni[sz]e|shuffle|stack|pad)"
    r"_(?:next_|train_|training_|host_|input_)?(?:batch|batches|data|examples?|samples?|images?|records?|inputs?|tokens?|files?)"
    r"(?:_np|_numpy|_async)?$"
    r"|^(?:data_?loader|data_?iter(?:ator)?|batch_?(?:loader|iter|iterator|generator)|input_fn|input_pipeline|collate(?:_fn)?"
    r"|augment|tokenize|preprocess|dataloading|data_loading|load_data|data "
    r"loading|fetch data|next batch|load batch|input)$",
    re.IGNORECASE,
)
_LOADER_FILE_PARTS = (
    "dataload",
    "data_load",
    "dataset",
    "data_set",
    "dataiter",
    "data_iter",
    "data_source",
    "data_pipe",
    "data_adapter",
)
_TF_DATA_FILE = "iterator_ops.py"
_LOADER_FILES = frozenset({"loader.py", "input_pipeline.py", _TF_DATA_FILE})
_ITERATION = frozenset({"__next__", "__iter__", "__getitem__", "next"})

_JAX_COMPILER_FILES = frozenset(
    "pjit.py partial_eval.py compiler.py pxla.py mlir.py compilation_cache.py "
    "stages.py xla_bridge.py".split()
)
_JAX_COMPILING = frozenset(
    "_trace_for_jit _create_pjit_jaxpr compile_or_get_cached "
    "lower_sharding_computation _cached_lowering_to_hlo _resolve_and_lower "
    "_pjit_lower _cached_compilation compile lower trace from_hlo".split()
)
_JAX_TRACING = "trace_to_jaxpr"
_JAX_COMPILING_STARTS = (_JAX_TRACING, "backend_compile", "lower_jaxpr_to_")
_TF_TRACING_FILES = frozenset(
    "func_graph.py polymorphic_function.py tracing_compilation.py autograph.py "
    "concrete_function.py atomic_function.py".split()
)
_TF_TRACING = frozenset(
    "func_graph_from_py_func trace_function _maybe_define_function "
    "_create_concrete_function from_func_graph".split()
)
_ARRAY_READS = frozenset(
    "_value __array__ __float__ __int__ __bool__ __index__ __complex__ item tolist"
    " _single_device_array_to_np_array_did_copy".split()
)
_ARRAY_PRINTS = frozenset({"__repr__", "__str__", "__format__"})
"""Of an array: Python that writes its values as text."""
_WAITING_FILES = frozenset(
    {"threading.py", "queue.py", "connection.py", "selectors.py"}
)
_WAITING = frozenset({"wait", "join", "acquire", "get", "poll", "recv", "select"})
_HANDING_OVER = frozenset({("_base.py", "result"), ("queue.py", "get")})
"""Of futures and queues."""
# JAX's own Python on the way from one un-jitted array operation to its dispatch.
_JAX_OP_FILES = frozenset(
    "array_methods.py indexing.py lax_numpy.py ufuncs.py reductions.py slicing.py "
    "array_creation.py pjit.py pxla.py".split()
)


def is_frame(name: str) -> bool:
    """Whether an event is a frame of Python's."""
    return name.startswith(_FRAME)


def bare_frame(name: str) -> str:
    """`$train.py:42 step` -> `train.py:42 step`."""
    return name.removeprefix(_FRAME)


def takes_sample(name: str) -> bool:
    """Whether a frame is that of the sampler of `tfadvisor run`, which a signal calls
    wherever the program is.
    """
    return name.startswith("$sampling.py:") and name.endswith(" tfadvisor_tick")


def asks_iterator(name: str) -> bool:
    """Whether a frame is Python's own `next()`."""
    return name == _NEXT


def asks_tf_data(name: str) -> bool:
    """Whether a frame is tf.data's own iterator being asked for a batch."""
    place = frame_place(name)
    return place is not None and place[0] == _TF_DATA_FILE and place[2] in _ITERATION


def traces_jax(name: str) -> bool:
    """Whether JAX traces a function here, by its own event or by its Python frame."""
    place = frame_place(name)
    function = name if place is None else place[2]
    return function.startswith(_JAX_TRACING)


def makes_jitted(name: str) -> bool:
    """Whether JAX makes a jitted function here: a new one, which knows no program."""
    place = frame_place(name)
    return place is not None and (place[0], place[2]) in (
        ("api.py", "jit"),
        ("pjit.py", "make_jit"),
    )


def clears_caches(name: str) -> bool:
    """Whether JAX forgets all compiled programs here."""
    place = frame_place(name)
    return place is not None and (place[0], place[2]) == ("api.py", "clear_caches")


def annotates(name: str) -> bool:
    """Whether a frame is the profiler's own, around what the program wants to see in
    the trace.
    """
    return name.startswith(_ANNOTATING)


@lru_cache(maxsize=1 << 14)  # several questions of each name, and of each host
def frame_place(name: str) -> tuple[str, int, str] | None:
    """`$train.py:42 step` -> ("train.py", 42, "step"); None for names that are no
    Python frame with a file.
    """
    if not name.startswith(_FRAME):
        return None
    head, _, function = name.removeprefix(_FRAME).partition(" ")
    file, _, line = head.rpartition(":")
    if not file.endswith(".py") or not function:
        return None
    number = number_of(line)
    return None if number is None else (file, number, function)


def place_in_words(
    file: str,
    line: int,
    function: str,
) -> str:
    """`load_batch (train.py:42)`; of a line outside of all functions, which has "" for
    one, `train.py:42`.
    """
    return f"{function} ({file}:{line})" if function else f"{file}:{line}"


def named_function(function: str) -> str:
    """As it is; "" for what Python calls code outside of all functions."""
    return "" if function == "<module>" else function


def frame_class(name: str) -> HostClass:
    """The class of a frame: known by the file and function of a framework, or as an
    iterator of a data loader's.
    """
    place = frame_place(name)
    if place is None:
        function = name.rpartition(" ")[2]
        if function in ("acquire", "block_until_ready"):
            return HostClass.WAIT
        return HostClass.FRAME
    file, _, function = place
    return _framework_class(file, function) or _users_class(file, function)


@lru_cache(maxsize=1 << 14)
def waits_for_others(name: str) -> bool:
    """Whether a frame waits for another thread or process of the program, and not for a
    device.
    """
    place = frame_place(name)
    if place is None:
        return name.startswith("$") and name.rpartition(" ")[2] == "acquire"
    return place[0] in _WAITING_FILES and place[2] in _WAITING


def calls_no_python(name: str) -> bool:
    """Whether a frame is of a function that is written in another language."""
    head = name.partition(" ")[0]
    return name.startswith(_FRAME) and ":" not in head


def waits_or_sleeps(name: str) -> bool:
    """Whether Python lets other threads run while a frame lasts."""
    return waits_for_others(name) or name == _SLEEP


@lru_cache(maxsize=1 << 14)
def takes_result(name: str) -> bool:
    """Whether a frame takes what another thread or process has made."""
    place = frame_place(name)
    return place is not None and (place[0], place[2]) in _HANDING_OVER


def marks_loading(name: str) -> bool:
    """Whether an annotation of the program's says that it loads or prepares data."""
    return _LOADING.search(name) is not None


def _framework_class(file: str, function: str) -> HostClass | None:
    """Frames of JAX, TensorFlow and the standard library whose meaning is known."""
    for kind, holds in _FRAMEWORKS:
        if holds(file, function):
            return kind
    return None


def _is_profilers(file: str, function: str) -> bool:
    starts_or_stops = function.startswith(("start", "stop"))
    return starts_or_stops and file in ("profiler.py", "profiler_v2.py")


def _compiles(file: str, function: str) -> bool:
    if file in _TF_TRACING_FILES and function in _TF_TRACING:
        return True
    if file not in _JAX_COMPILER_FILES:
        return False
    return function in _JAX_COMPILING or function.startswith(_JAX_COMPILING_STARTS)


def _waits(file: str, function: str) -> bool:
    if file == "array.py" and function in _ARRAY_READS:
        return True
    if file in _WAITING_FILES and function in _WAITING:
        return True
    return function == "block_until_ready"


def _dispatches(file: str, function: str) -> bool:
    if file == "array.py":
        return function.startswith("__") and function not in _ARRAY_PRINTS
    return file in _JAX_OP_FILES


_FRAMEWORKS = (
    (HostClass.PROFILER, _is_profilers),
    (HostClass.COMPILE, _compiles),
    (HostClass.WAIT, _waits),
    (HostClass.LAUNCH, _dispatches),
)
"""The first that holds of a frame's file and function is its class."""


def _users_class(file: str, function: str) -> HostClass:
    """A frame of the program itself says nothing, but for a data loader's iterator."""
    if function in _ITERATION and _is_loaders(file):
        return HostClass.INPUT
    return HostClass.FRAME


def _is_loaders(file: str) -> bool:
    if file in _LOADER_FILES:
        return True
    return any(part in file for part in _LOADER_FILE_PARTS)


# Whose file a Python frame is of: the user's program, or Python and the libraries that
# it calls.

_INSTALLED = ("site-packages/", "dist-packages/", "lib/python3.")
_NNX_WALKS = {
    "extract.py": frozenset(
        "to_tree to_tree2 from_tree from_tree2 broadcast_prefix "
        "check_consistent_aliasing".split()
    ),
    "compilation.py": frozenset(("__call__", "jit_wrapper")),
    **dict.fromkeys(
        ("graph.py", "graphlib.py"),
        frozenset(
            "flatten unflatten split merge update_context split_context "
            "merge_context _graph_flatten _graph_unflatten".split()
        ),
    ),
}
"""Functions of Flax NNX, in files whose names programs have too."""


def is_users_frame(name: str) -> bool:
    """Whether an event is a named function of the user's own program: Python with a
    file that no known library has.

    A comprehension or a lambda is part of the function around it.
    """
    place = frame_place(name)
    if place is None:
        return False
    file, _, function = place
    if is_package_file(file) or walks_modules(file, function):
        return False
    return not function.startswith("<") or function == "<module>"


def walks_modules(file: str, function: str) -> bool:
    """Whether a function of Flax NNX takes modules and optimizers apart into arrays, or
    puts them together again, in Python.
    """
    return function in _NNX_WALKS.get(file.rpartition("/")[2], ())


def is_package_file(file: str) -> bool:
    """Whether a file of Python is Python's own or an installed package's."""
    if any(folder in file for folder in _INSTALLED):
        return True
    name = file.rpartition("/")[2]
    if name in _names_of("library_files.txt"):
        return True
    return name in _names_of("installed_files.txt")


@cache
def _names_of(file: str) -> frozenset[str]:
    """`library_files.txt`: of files that traces showed to be Python's and the
    frameworks'. `installed_files.txt`: that installed packages give their files, and
    programs hardly do.
    """
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
