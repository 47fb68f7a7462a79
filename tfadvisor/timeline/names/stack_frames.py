"""Frames of a stack as samplers write them, by file with its folder and by function:
whose they are, and what is done while one is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import lru_cache

from tfadvisor.patterns import pattern
from tfadvisor.timeline.names.classes import HostClass
from tfadvisor.timeline.names.frames import (
    frame_class,
    is_package_file,
    waits_for_others,
)

_INSTALLED = pattern(r"(?:site|dist)-packages/|[Ll]ib(?:64)?/python3|^<|/_?rs_plugins/")
_GENERATED = "__autograph_generated_file"
_OWN = pattern(r"/tfadvisor(?:_\w+)?/|tfadvisor_\w*hook/")


class Work(Enum):
    """What a function of a library does for whoever calls it."""

    PROFILING = "profiling"
    COMPILE = "compile"
    EVALUATION = "evaluation"
    SAVING = "saving"
    LOGGING = "logging"
    INPUT = "input"
    NEW_INPUT = "new input"
    """It begins a pipeline anew, as each epoch does."""
    READING = "reading"
    """It waits for what the devices compute."""
    EPOCH = "epoch"
    """It calls what a program does at the end of an epoch, or before its first."""
    PREDICTION = "prediction"
    """Keras' predict: a pipeline of its own around the call of a model."""
    LOADING = "loading"
    """It reads, unpacks or decodes files."""
    PICTURES = "pictures"
    """It encodes pictures."""
    GRAPH = "graph"
    """It adds to a graph of TensorFlow, which a session runs, or which is traced."""
    BUILDING = "building"
    """It makes a dataset of tf.data, or what of predict makes its pipeline."""


BESIDE_STEPS = frozenset({Work.EVALUATION, Work.SAVING, Work.EPOCH})
"""What no step of training does."""


_WORKS = (
    (
        Work.PROFILING,
        r".*/(?:profiler|profiler_v2)\.py",
        r"start\w*|stop\w*|_?export\w*",
    ),
    (Work.EVALUATION, r"keras/.*/(?:trainer|training\w*)\.py", r"evaluate"),
    (Work.PREDICTION, r"keras/.*/(?:trainer|training\w*)\.py", r"predict"),
    (
        Work.EPOCH,
        r"keras/(?:src/)?callbacks(?:/callback_list)?\.py",
        r"on_(?:epoch|train)_(?:begin|end)",
    ),
    (Work.SAVING, r".*/(?:model_checkpoint|backup_and_restore)\.py", r"_?save\w*"),
    (
        Work.SAVING,
        r".*/(?:\w*checkpoint\w*|_?npyio\w*|_?format_impl|saving_api|saving_lib"
        r"|serialization|save|async_manager|h5_format|legacy_h5_format)\.py",
        r"_?\w*sav\w*|write\w*|to_bytes|msgpack_serialize",
    ),
    (
        Work.PICTURES,
        r".*/PIL/(?:Image|ImageFile|\w+ImagePlugin)\.py|.*/matplotlib/(?:figure|pyplot)\.py"
        r"|.*/matplotlib/backends/\w+\.py|.*/imageio/.*|.*/tensorboard\w*/summary\.py",
        r"_?save\w*|_encode_tile\w*|print_\w+|im(?:write|save)|mimsave|_?make_image",
    ),
    (
        Work.LOADING,
        r".*/(?:_?npyio\w*|_?format_impl|zipfile(?:/__init__)?|gzip|bz2|lzma)\.py"
        r"|.*/(?:PIL/\w+|h5py/_hl/\w+|tensorstore/.*|pandas/io/.*|pyarrow/.*)\.py",
        r"_?load\w*|_?read\w*|__getitem__|_?open|decode|fromfile|genfromtxt",
    ),
    (
        Work.LOGGING,
        r".*/(?:progbar|progbar_logger|summary_ops_v2|csv_logger|summary|io_utils)\.py"
        r"|.*/callbacks/tensorboard\.py|.*/logging/__init__\.py"
        r"|.*/(?:tqdm|wandb|mlflow|tensorboardX|clu|absl/logging)/.*",
        r"\w+",
    ),
    (
        Work.READING,
        r".*/jax/_src/(?:array|api)\.py",
        r"_value|__(?:array|float|int|bool|index)__|item|tolist|block_until_ready",
    ),
    (
        Work.NEW_INPUT,
        r".*/(?:iterator_ops|dataset_ops|epoch_iterator|input_lib)\.py",
        r"__iter__|_create_iterator|_get_iterator|reset",
    ),
    (
        Work.GRAPH,
        r".*/tensorflow/python/framework/(?:op_def_library|ops|importer)\.py",
        r"_apply_op_helper|_?create_op\w*|_create_c_op|_?import_graph_def\w*",
    ),
    (
        Work.BUILDING,
        r".*/data/ops/\w+_op\.py",
        r"\w+",
    ),
    (
        Work.INPUT,
        r".*/(?:iterator_ops|epoch_iterator|input_lib|\w*data_?loader\w*"
        r"|\w*data_adapter\w*|dataset_iterator|dataset_utils)\.py",
        r"__next__|_?next\w*|get_next\w*|_enumerate_iterator|enumerate_epoch",
    ),
)
"""The first that holds of a library's file and function."""
_TABLE = tuple(
    (work, pattern(files), pattern(functions)) for work, files, functions in _WORKS
)
_LOOKS_UP = frozenset({"_maybe_define_function", "trace_function"})
"""Of TensorFlow: they compile where nothing is found, and look first in every call."""
_OPS = pattern(
    r"/tensorflow/python/ops/gen_(?!dataset_|experimental_dataset_|io_|optional_)\w+_ops\.py"
    r"|/keras/(?:src/)?layers/layer\.py"
    r"|/tensorflow/python/(?:ops|framework)/(?:override_binary_operator"
    r"|tensor_getitem_override|tensor_math_operator_overrides)\.py"
)
"""Of TensorFlow and Keras, what Python passes through for each op or layer, also for
`x[i]` and `x * y` of tensors.
"""
_EXECUTES = pattern(
    r"/tensorflow/python/(?:eager/execute|ops/gen_\w+_ops|ops/iterator_ops)\.py"
)
_JAX_OPS = pattern(r"/jax/_src/(?:numpy|lax|nn|scipy)/(?!control_flow/)")
"""In JAX; what is compiled is called without them."""
_JAX_COPIES = pattern(
    r"/array_constructors\.py:\w+|/lax_numpy\.py:(?:as)?array"
    r"|/lax\.py:(?:stage|_stage\w*|_convert_element_type)"
)
"""What jnp.array and jnp.asarray of NumPy's arrays pass through: they only copy to the
device."""
_HOLDS_ITERATORS = pattern(
    r"keras/(?:.*/tensorflow/trainer|.*engine/training\w*)\.py:fit\Z"
)
"""Keras' loop over batches of tf.data."""
_ENDS_CALLS = pattern(r"keras/(?:.*/)?traceback_utils\.py:error_handler\Z")
"""Of Keras, around each call of its models: what that held is freed in it."""
FRAMEWORKS = frozenset(
    "jax jaxlib tensorflow keras tf_keras flax optax equinox haiku torch_xla".split()
)
"""Packages that run what devices do."""
_OF_FRAMEWORKS = pattern(rf"(?:site|dist)-packages/(?:{'|'.join(FRAMEWORKS)})/")
_TRAINING_LOOPS = pattern(r"\A(?:trainer|training\w*)\.py:fit")


def bare(function: str) -> str:
    """`Trainer.fit` -> `fit`; what has no name of its own has "": code outside of all
    functions, comprehensions.
    """
    name = function.rpartition(".")[2]
    return "" if name.startswith("<") else name


@lru_cache(maxsize=1 << 14)
def is_of_program(file: str) -> bool:
    """Whether a file is the program's own, and no library's."""
    path = file.replace("\\", "/")
    if _INSTALLED.search(path) or _GENERATED in path or is_own(path):
        return False
    return "/" in path or not is_package_file(path)


def is_own(file: str) -> bool:
    """Whether a file is what tfadvisor itself runs inside of the program."""
    return _OWN.search(file) is not None and "tfadvisor_" in file


@lru_cache(maxsize=1 << 14)
def work_of(file: str, function: str) -> Work | None:
    """What a library's function does; None for one that no row knows, and for the
    program's own.
    """
    if is_of_program(file):
        return None
    path, name = file.replace("\\", "/"), bare(function)
    for work, files, functions in _TABLE:
        if functions.fullmatch(name) and files.search(path):
            return work
    frame = f"${path.rpartition('/')[2]}:1 {name}"
    if name not in _LOOKS_UP and frame_class(frame) is HostClass.COMPILE:
        return Work.COMPILE
    return None


def runs_op(file: str, function: str) -> bool:
    """Whether a library's function runs one op, or a layer of them, that Python calls;
    or traces it, where a compiler is around it.
    """
    path = file.replace("\\", "/")
    if _OPS.search(path):
        return not path.endswith("layer.py") or bare(function) == "__call__"
    is_copy = _JAX_COPIES.search(f"{path}:{bare(function)}") is not None
    return _JAX_OPS.search(path) is not None and not is_copy


def free_iterators(functions: Iterable[tuple[str, str]]) -> list[bool]:
    """Of the functions that stacks of a program have, by file and name, whether one
    calls only Python and lets go of iterators of tf.data: where it is in no call for
    long, one is freed, which waits for tf.data's own threads.
    """
    names = [
        f"{file.replace(chr(92), '/')}:{bare(function)}" for file, function in functions
    ]
    holds = [_HOLDS_ITERATORS.search(name) is not None for name in names]
    ends = [_ENDS_CALLS.search(name) is not None for name in names]
    if not any(holds):
        return holds
    return [held or ended for held, ended in zip(holds, ends, strict=True)]


def is_recorded(file: str, function: str) -> bool:
    """Whether traces have an event of what runs or waits in a library's function, where
    it is the innermost.
    """
    path = file.replace("\\", "/")
    if _EXECUTES.search(path):
        return True
    return work_of(file, function) is Work.READING


@lru_cache(maxsize=1 << 14)
def may_use_devices(file: str, function: str) -> bool:
    """Whether a function is a framework's, which runs what the devices do or waits for
    it, or waits for another thread.
    """
    path = file.replace("\\", "/")
    if _OF_FRAMEWORKS.search(path):
        return True
    return waits_for_others(f"${path.rpartition('/')[2]}:1 {bare(function)}")


_TRAINER_ON_TENSORFLOW = "keras/src/backend/tensorflow/trainer.py"


def takes_batches(file: str) -> bool:
    """Whether each round of a loop in this file takes a batch from tf.data, as Keras'
    own training loops on TensorFlow do, whatever data they are given.
    """
    return file.replace("\\", "/").endswith(_TRAINER_ON_TENSORFLOW)


def loops_over_steps(file: str, function: str) -> bool:
    """Whether a library's function is a training loop."""
    folder, _, name = file.replace("\\", "/").rpartition("/")
    is_loop = _TRAINING_LOOPS.fullmatch(f"{name}:{bare(function)}") is not None
    return is_loop and "keras/" in folder
