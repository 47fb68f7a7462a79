"""Parts of a program that are taken out of its run: where its frameworks do them.

Each hook counts how often it took effect; a part whose hook never did is not in this
program.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

INPUT, HALF, CALLBACKS, CHECKPOINTS = (
    "input",
    "half the batch",
    "callbacks",
    "checkpoints",
)
EVALUATION, READS, BEHIND = "evaluation", "values read back", "work behind the step"
JIT_ON, JIT_OFF, EAGER_OFF = "jit on", "jit off", "eager off"
EIGHT_STEPS, PRECISION, PREFETCH, COMPILED = (
    "eight steps a call",
    "mixed precision",
    "prefetch",
    "step compiled",
)
ONE_BATCH, APPLIED = "predict on one batch", "apply compiled"
_COMPILE = {
    JIT_ON: ("jit_compile", True),
    JIT_OFF: ("jit_compile", False),
    EAGER_OFF: ("run_eagerly", False),
    EIGHT_STEPS: ("steps_per_execution", 8),
}
"""What is given to Keras' `compile`."""
_KEEPING = ("ModelCheckpoint", "BackupAndRestore")
_AUTOTUNE = -1
_FEW_ROWS = 512
"""That are given to predict: the model itself takes so many at once."""


class Parts:
    """Those that are hooked in this run, and how often each took effect."""

    def __init__(self, order: dict[str, Any]) -> None:
        """Of an order: `parts`, and whether they are taken out (`acting`) or only
        counted.
        """
        self.hooked = frozenset(order.get("parts", ()))
        self.acting = bool(order.get("acting"))
        self.took: dict[str, int] = {}
        self.places: dict[str, set[tuple[str, int]]] = {}
        """Files and lines of the program where it did."""
        self.inside = False
        """Whether the loop goes round."""

    def takes(self, part: str, *, always: bool = False, at: Any = None) -> bool:
        """Counts, where the part is hooked and the loop goes round, or always. Returns
        whether to take it out now. at: the program's frame."""
        if part not in self.hooked or not (always or self.inside):
            return False
        self.took[part] = self.took.get(part, 0) + 1
        if at is not None:
            self.places.setdefault(part, set()).add(
                (at.f_code.co_filename, at.f_lineno)
            )
        return self.acting

    def after_import(
        self, is_own: Callable[[str], bool]
    ) -> list[tuple[str, Callable[[Any], None]]]:
        """By module, what is done once it is imported. is_own: whether a file is the
        program's.
        """
        data, settings = {INPUT, HALF, PREFETCH}, {JIT_ON, JIT_OFF, EAGER_OFF}
        lists, models, eager = (
            ("keras.src.callbacks.callback_list", "keras.src.callbacks"),
            _MODELS,
            _EAGER,
        )
        hooks: list[tuple[str, set[str], Callable[..., None]]] = [
            (
                "tensorflow.python.data.ops.dataset_ops",
                data,
                functools.partial(_data_sets, is_own=is_own),
            ),
            (
                f"{eager}.polymorphic_function",
                settings,
                functools.partial(_functions, is_own=is_own),
            ),
            (f"{eager}.eager_function_run", {EAGER_OFF}, _eager),
            ("tensorflow.python.ops.summary_ops_v2", {CALLBACKS}, _summaries),
            ("jax._src.debugging", {CALLBACKS}, _summaries),
            ("keras.src.layers.layer", {PRECISION}, _layers),
            *(
                (one, {APPLIED}, functools.partial(_networks, is_own=is_own))
                for one in _NETWORKS
            ),
            ("keras.src.utils.python_utils", {READS}, _logs),
            ("keras.src.backend.tensorflow.trainer", {ONE_BATCH}, _predictions),
            *((one, {CALLBACKS, CHECKPOINTS}, _callbacks) for one in lists),
            *((one, set(_COMPILE), _models) for one in models),
        ]
        return [
            (name, functools.partial(do, parts=self))
            for name, of, do in hooks
            if of & self.hooked
        ]


_EAGER = "tensorflow.python.eager.polymorphic_function"
_NETWORKS = ("flax.linen.module", "haiku._src.transform")
_MODELS = (
    "keras.src.trainers.trainer",
    "keras.src.engine.training",
    "tf_keras.src.engine.training",
)


def around(owner: Any, name: str, do: Callable[..., Any]) -> None:
    """Puts `do` in place of a function; it is given that function first."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def called(*given: Any, **named: Any) -> Any:
        return do(original, *given, **named)

    with contextlib.suppress(ValueError, TypeError):
        # Keras asks how its layers are made, without regard to what is wrapped
        vars(called)["__signature__"] = inspect.signature(original)
    setattr(owner, name, called)


def _data_sets(module: Any, parts: Parts, is_own: Callable[[str], bool]) -> None:
    """Iterators of tf.data: the first batch again and again; half of each; one that is
    prepared ahead.
    """

    def batches(iterate: Any, data: Any) -> Any:
        if not sys.modules["tensorflow"].executing_eagerly():
            return iterate(data)
        if parts.takes(INPUT, always=True):
            known = int(data.cardinality())
            data = data.take(1).cache()
            for _ in iterate(
                data
            ):  # to its end: else what stands behind goes on filling its buffers
                continue
            data = data.repeat(known if known >= 0 else -1)
        if parts.takes(HALF, always=True):
            data = data.map(_half_of_element)
        if "Prefetch" not in type(data).__name__ and parts.takes(PREFETCH, always=True):
            data = data.prefetch(_AUTOTUNE)
        return iterate(data)

    def map(
        over: Any,
        data: Any,
        map_func: Any,
        num_parallel_calls: Any = None,
        *given: Any,
        **named: Any,
    ) -> Any:
        fixed = num_parallel_calls != _AUTOTUNE and is_own(
            sys._getframe(2).f_code.co_filename
        )
        takes = fixed and parts.takes(PREFETCH, always=True)
        return over(
            data, map_func, _AUTOTUNE if takes else num_parallel_calls, *given, **named
        )

    around(module.DatasetV2, "__iter__", batches)
    around(module.DatasetV2, "map", map)


def _half_of_element(*element: Any) -> Any:
    tensorflow: Any = sys.modules["tensorflow"]

    def half(one: Any) -> Any:
        if (
            not tensorflow.is_tensor(one)
            or one.shape.rank in (None, 0)
            or one.shape[0] == 1
        ):
            return one
        return one[
            : (tensorflow.shape(one)[0] if one.shape[0] is None else one.shape[0]) // 2
        ]

    return tensorflow.nest.map_structure(
        half, element if len(element) > 1 else element[0]
    )


def _functions(module: Any, parts: Parts, is_own: Callable[[str], bool]) -> None:
    """jit_compile of the program's own tf.functions."""

    def begin(
        original: Any, made: Any, python_function: Any, *given: Any, **named: Any
    ) -> None:
        jit = named.get("jit_compile")
        file = getattr(getattr(python_function, "__code__", None), "co_filename", "")
        if (
            file
            and is_own(file)
            and parts.takes(JIT_OFF if jit else JIT_ON, always=True)
        ):
            named["jit_compile"] = None if jit else True
        original(made, python_function, *given, **named)

    around(module.Function, "__init__", begin)


def _eager(module: Any, parts: Parts) -> None:
    """tf.config.run_functions_eagerly(True) does nothing."""

    def run(original: Any, run_eagerly: Any) -> None:
        original(bool(run_eagerly) and not parts.takes(EAGER_OFF, always=True))

    around(module, "run_functions_eagerly", run)


def _models(module: Any, parts: Parts) -> None:
    """Keras' `compile`, once more with what is to be set."""

    def compile(original: Any, model: Any, *given: Any, **named: Any) -> None:
        original(model, *given, **named)
        for part, (name, wanted) in _COMPILE.items():
            if part in parts.hooked and _setting(model, name) != wanted:
                if parts.acting:
                    original(model, *given, **{**named, name: wanted})
                if not parts.acting or _setting(model, name) == wanted:
                    parts.takes(part, always=True)

    around(getattr(module, "Trainer", None) or module.Model, "compile", compile)


def _setting(model: Any, name: str) -> Any:
    found: Any = getattr(model, name, getattr(model, f"_{name}", None))
    return int(found) if name == "steps_per_execution" else bool(found)


def _summaries(module: Any, parts: Parts) -> None:
    """tf.summary writes nothing, and jax.debug's print and callback do nothing,
    compiled functions included.
    """

    def call(original: Any, *given: Any, **named: Any) -> Any:
        if not parts.takes(CALLBACKS, always=True):
            return original(*given, **named)
        return (
            None
            if module.__name__.startswith("jax")
            else sys.modules["tensorflow"].constant(False)
        )

    for name in ("write", "flush", "debug_callback", "debug_print"):
        if hasattr(module, name):
            around(module, name, call)


def _layers(module: Any, parts: Parts) -> None:
    """Layers are made under Keras' mixed precision."""

    def begin(original: Any, *given: Any, **named: Any) -> None:
        if parts.takes(PRECISION, always=True) and parts.took[PRECISION] == 1:
            sys.modules["keras"].config.set_dtype_policy("mixed_bfloat16")
        original(*given, **named)

    around(module.Layer, "__init__", begin)


def _predictions(module: Any, parts: Parts) -> None:
    """Keras' `predict` of a few rows takes them as one batch, without a data set,
    callbacks and a loop for it.
    """

    def predict(
        original: Any,
        model: Any,
        x: Any,
        batch_size: Any = None,
        *given: Any,
        **named: Any,
    ) -> Any:
        lengths = {
            one.shape[0] if getattr(one, "shape", None) else 0
            for one in (x if type(x) in (list, tuple) else [x])
        }
        is_small = len(lengths) == 1 and 0 < max(lengths) <= _FEW_ROWS
        plain = not given and not named.keys() - {"verbose"}
        if is_small and plain and parts.takes(ONE_BATCH, at=sys._getframe(2)):
            return model.predict_on_batch(x)
        return original(model, x, batch_size, *given, **named)

    around(module.TensorFlowTrainer, "predict", predict)


def _networks(module: Any, parts: Parts, is_own: Callable[[str], bool]) -> None:
    """Networks of Flax and Haiku, applied outside of compiled functions: by jax.jit,
    what is no array being fixed in it.
    """
    compiled: dict[Any, Any] = {}

    def apply(original: Any, *given: Any, **named: Any) -> Any:
        at: Any = sys._getframe(1)
        while at is not None and not is_own(at.f_code.co_filename):
            at = at.f_back
        if at is None or is_tracing() or not parts.takes(APPLIED, at=at):
            return original(*given, **named)
        network = given[: hasattr(given[:1] and given[0], "apply")]
        settings = {
            name: value
            for name, value in named.items()
            if isinstance(value, (bool, str, list)) or callable(value)
        }
        key = (original, *map(id, network), repr(settings))
        if key not in compiled:  # the network is kept, so that no other has its id
            compiled[key] = (
                network,
                sys.modules["jax"].jit(
                    functools.partial(original, *network, **settings)
                ),
            )
        arrays = {name: value for name, value in named.items() if name not in settings}
        return compiled[key][1](*given[len(network) :], **arrays)

    def transform(original: Any, *given: Any, **named: Any) -> Any:
        made = original(*given, **named)
        return made._replace(
            apply=functools.wraps(made.apply)(functools.partial(apply, made.apply))
        )

    if hasattr(module, "Module"):
        around(module.Module, "apply", apply)
    else:
        around(module, "transform", transform)


def _logs(module: Any, parts: Parts) -> None:
    """What Keras makes Python numbers of after each batch: those of the first one."""
    kept: dict[Any, Any] = {}

    def make(original: Any, logs: Any) -> Any:
        names = tuple(logs or ())
        if not names or not parts.takes(READS) or names not in kept:
            kept[names] = original(logs)
        return dict(kept[names] or {})

    around(module, "pythonify_logs", make)


def _callbacks(module: Any, parts: Parts) -> None:
    """Keras' callbacks: those that keep weights, or all others but the history."""
    told = getattr(module, "CallbackList", None)

    def begin(original: Any, made: Any, callbacks: Any = None, add_history: bool = False, add_progbar: bool = False,
              *given: Any, **named: Any) -> None:  # fmt: skip
        left = (
            list(callbacks)
            if isinstance(callbacks, (list, tuple))
            else [callbacks]
            if callbacks
            else []
        )
        for part, keeping in ((CHECKPOINTS, True), (CALLBACKS, False)):
            kinds = [(one, type(one).__name__) for one in left]
            rest = [
                one
                for one, kind in kinds
                if kind == "History" or (kind in _KEEPING) != keeping
            ]
            shows = add_progbar and not keeping
            if (shows or len(rest) < len(left)) and parts.takes(part, always=True):
                left, add_progbar = rest, add_progbar and not shows
        original(made, left, add_history, add_progbar, *given, **named)

    if told is not None and told.__module__ == module.__name__:
        around(told, "__init__", begin)


# What calls in the program's own files ask.


def is_array(value: Any) -> bool:
    """Whether it is an array of JAX or a tensor of TensorFlow that holds values."""
    return type(value).__name__ in ("ArrayImpl", "EagerTensor", "ResourceVariable")


def is_tracing() -> bool:
    """Whether JAX or TensorFlow compiles what runs now."""
    with contextlib.suppress(Exception):
        core = sys.modules.get("jax._src.core")
        if core is not None and not core.trace_state_clean():
            return True
        tensorflow = sys.modules.get("tensorflow")
        return tensorflow is not None and not tensorflow.executing_eagerly()
    return False
