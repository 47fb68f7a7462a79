"""Parts of a program that its frameworks do: what is put in place of their functions,
once the modules that have these are imported.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .program_parts import (
    APPLIED,
    CALLBACKS,
    CHECKPOINTS,
    EAGER_OFF,
    EIGHT_STEPS,
    HALF,
    INPUT,
    JIT_OFF,
    JIT_ON,
    ONE_BATCH,
    PRECISION,
    PREFETCH,
    READS,
    Parts,
    around,
    is_tracing,
)

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
_EAGER = "tensorflow.python.eager.polymorphic_function"
_IsOwn = Callable[[str], bool]


def after_import(
    parts: Parts, is_own: _IsOwn
) -> list[tuple[str, Callable[[Any], None]]]:
    """By module, what is done once it is imported. is_own: whether a file is the
    program's.
    """
    return [
        (name, functools.partial(do, parts=parts, is_own=is_own))
        for name, (of, do) in _HOOKS.items()
        if of & parts.hooked
    ]


# Data sets of TensorFlow.


def _data_sets(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
    """Iterators of tf.data: the first batch again and again; half of each; one that is
    prepared ahead.
    """

    def batches(iterate: Any, data: Any) -> Any:
        if not sys.modules["tensorflow"].executing_eagerly():
            return iterate(data)
        # A loop of the program can take the last batch again at any time.
        hidden = not is_own(sys._getframe(2).f_code.co_filename)
        if parts.settle(INPUT, for_good=hidden):
            data = _first_again(iterate, data)
        if parts.settle(HALF, for_good=hidden):
            data = data.map(_half_of_element)
        is_ahead = "Prefetch" in type(data).__name__
        if not is_ahead and parts.settle(PREFETCH):
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
        caller = sys._getframe(2).f_code.co_filename
        is_fixed = num_parallel_calls != _AUTOTUNE and is_own(caller)
        if is_fixed and parts.settle(PREFETCH):
            num_parallel_calls = _AUTOTUNE
        return over(
            data,
            map_func,
            num_parallel_calls,
            *given,
            **named,
        )

    around(module.DatasetV2, "__iter__", batches)
    around(module.DatasetV2, "map", map)


def _first_again(iterate: Any, data: Any) -> Any:
    """The first batch, as often as there are batches. iterate: TensorFlow's own way
    through a data set.
    """
    known = int(data.cardinality())
    first = data.take(1).cache()
    for _ in iterate(first):
        # To its end: else what stands behind goes on filling its buffers.
        continue
    return first.repeat(known if known >= 0 else -1)


def _half_of_element(*element: Any) -> Any:
    tensorflow: Any = sys.modules["tensorflow"]

    def half(value: Any) -> Any:
        if not tensorflow.is_tensor(value) or value.shape.rank in (None, 0):
            return value
        length = value.shape[0]
        if length == 1:
            return value
        if length is None:
            length = tensorflow.shape(value)[0]
        return value[: length // 2]

    whole = element if len(element) > 1 else element[0]
    return tensorflow.nest.map_structure(half, whole)


# Functions, models and layers.


def _functions(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
    """jit_compile of the program's own tf.functions."""

    def begin(
        original: Any,
        made: Any,
        python_function: Any,
        *given: Any,
        **named: Any,
    ) -> None:
        jit = named.get("jit_compile")
        file = getattr(
            getattr(python_function, "__code__", None),
            "co_filename",
            "",
        )
        part = JIT_OFF if jit else JIT_ON
        if file and is_own(file) and parts.settle(part):
            named["jit_compile"] = None if jit else True
        original(
            made,
            python_function,
            *given,
            **named,
        )

    around(module.Function, "__init__", begin)


def _eager(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
    """tf.config.run_functions_eagerly(True) does nothing."""

    def run(original: Any, run_eagerly: Any) -> None:
        original(bool(run_eagerly) and not parts.settle(EAGER_OFF))

    around(module, "run_functions_eagerly", run)


def _models(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
    """Keras' `compile`, once more with what is to be set."""

    def compile(
        original: Any,
        model: Any,
        *given: Any,
        **named: Any,
    ) -> None:
        original(model, *given, **named)
        for part, (name, wanted) in _COMPILE.items():
            if part not in parts.hooked or _setting(model, name) == wanted:
                continue
            if parts.acting:
                original(
                    model,
                    *given,
                    **{**named, name: wanted},
                )
            if not parts.acting or _setting(model, name) == wanted:
                parts.settle(part)

    around(
        getattr(module, "Trainer", None) or module.Model,
        "compile",
        compile,
    )


def _setting(model: Any, name: str) -> Any:
    found: Any = getattr(
        model,
        name,
        getattr(model, f"_{name}", None),
    )
    return int(found) if name == "steps_per_execution" else bool(found)


def _layers(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
    """Layers are made under Keras' mixed precision."""

    def begin(
        original: Any,
        *given: Any,
        **named: Any,
    ) -> None:
        if parts.settle(PRECISION) and parts.took[PRECISION] == 1:
            sys.modules["keras"].config.set_dtype_policy("mixed_bfloat16")
        original(*given, **named)

    around(module.Layer, "__init__", begin)


def _predictions(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
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
        plain = not given and not named.keys() - {"verbose"}
        few = plain and _has_few_rows(x)
        if few and parts.takes(ONE_BATCH, at=sys._getframe(2)):
            return model.predict_on_batch(x)
        return original(
            model,
            x,
            batch_size,
            *given,
            **named,
        )

    around(module.TensorFlowTrainer, "predict", predict)


def _has_few_rows(x: Any) -> bool:
    arrays = x if type(x) in (list, tuple) else [x]
    shapes = [getattr(array, "shape", None) for array in arrays]
    lengths = {shape[0] if shape else 0 for shape in shapes}
    return len(lengths) == 1 and 0 < max(lengths) <= _FEW_ROWS


def _networks(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
    """Networks of Flax and Haiku, applied outside of compiled functions: by jax.jit,
    what is no array being fixed in it.
    """
    applying = _Applying(parts, is_own)

    def apply(
        original: Any,
        *given: Any,
        **named: Any,
    ) -> Any:
        return applying.apply(
            original,
            sys._getframe(1),
            given,
            named,
        )

    def transform(
        original: Any,
        *given: Any,
        **named: Any,
    ) -> Any:
        made = original(*given, **named)
        applied = functools.partial(apply, made.apply)
        functools.update_wrapper(applied, made.apply)
        return made._replace(apply=applied)

    if hasattr(module, "Module"):
        around(module.Module, "apply", apply)
    else:
        around(module, "transform", transform)


class _Applying:
    """Compiled applies of networks, one for each network and its settings."""

    def __init__(
        self,
        parts: Parts,
        is_own: _IsOwn,
    ) -> None:
        self.parts, self.is_own = parts, is_own
        self.compiled: dict[Any, Any] = {}

    def apply(
        self,
        original: Any,
        at: Any,
        given: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Any:
        """at: the frame that calls it."""
        while at is not None and not self.is_own(at.f_code.co_filename):
            at = at.f_back
        if at is None or is_tracing() or not self.parts.takes(APPLIED, at=at):
            return original(*given, **named)

        settings: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        for name, value in named.items():
            kind = settings if _is_setting(value) else arrays
            kind[name] = value

        is_method = bool(given) and hasattr(given[0], "apply")
        network = given[:1] if is_method else ()
        compiled = self.compiled_once(original, network, settings)
        return compiled(
            *given[len(network) :],
            **arrays,
        )

    def compiled_once(
        self,
        original: Any,
        network: tuple[Any, ...],
        settings: dict[str, Any],
    ) -> Any:
        """network: the object of which apply is a method, if it is one."""
        key = (original, *map(id, network), repr(settings))
        if key not in self.compiled:
            plain = functools.partial(
                original,
                *network,
                **settings,
            )
            # The network is kept, so that no other has its id.
            self.compiled[key] = network, sys.modules["jax"].jit(plain)
        return self.compiled[key][1]


def _is_setting(value: Any) -> bool:
    return isinstance(value, (bool, str, list)) or callable(value)


# What is written and kept.


def _summaries(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
    """tf.summary writes nothing, and jax.debug's print and callback do nothing,
    compiled functions included.
    """

    def call(
        original: Any,
        *given: Any,
        **named: Any,
    ) -> Any:
        if is_tracing():
            is_out = parts.settle(CALLBACKS)
        else:
            is_out = parts.takes(CALLBACKS, always=True)
        if not is_out:
            return original(*given, **named)
        if module.__name__.startswith("jax"):
            return None
        return sys.modules["tensorflow"].constant(False)

    for name in ("write", "flush", "debug_callback", "debug_print"):
        if hasattr(module, name):
            around(module, name, call)


def _logs(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
    """What Keras makes Python numbers of after each batch: those of the first one."""
    kept: dict[Any, Any] = {}

    def make(original: Any, logs: Any) -> Any:
        names = tuple(logs or ())
        if not names or not parts.takes(READS) or names not in kept:
            kept[names] = original(logs)
        return dict(kept[names] or {})

    around(module, "pythonify_logs", make)


def _callbacks(
    module: Any,
    parts: Parts,
    is_own: _IsOwn,
) -> None:
    """Keras' callbacks: those that keep weights, or all others but the history."""
    lists = getattr(module, "CallbackList", None)
    if lists is None or lists.__module__ != module.__name__:
        return
    some = _SomeCallbacks(parts)
    around(lists, "__init__", some.begin)
    for name in ("on_train_batch_begin", "on_train_batch_end"):
        if hasattr(lists, name):
            around(lists, name, some.batch)


class _SomeCallbacks:
    """Without those that are taken out: for the whole run, or where arms take turns for
    a batch.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def begin(
        self,
        original: Any,
        made: Any,
        callbacks: Any = None,
        add_history: bool = False,
        add_progbar: bool = False,
        *given: Any,
        **named: Any,
    ) -> None:
        left = _listed(callbacks)
        if not self.parts.alternate:
            left, add_progbar = self.left(left, add_progbar)
        original(
            made,
            left,
            add_history,
            add_progbar,
            *given,
            **named,
        )

    def batch(
        self,
        original: Any,
        made: Any,
        *given: Any,
        **named: Any,
    ) -> Any:
        every = made.callbacks
        if self.parts.alternate:
            made.callbacks, _ = self.left(every, False)
        try:
            return original(made, *given, **named)
        finally:
            made.callbacks = every

    def left(
        self,
        callbacks: list[Any],
        shows: bool,
    ) -> tuple[list[Any], bool]:
        """(those that are not taken out, whether the progress bar shows)."""
        if any(map(_keeps, callbacks)) and self.parts.takes(CHECKPOINTS, always=True):
            callbacks = [callback for callback in callbacks if not _keeps(callback)]
        does_more = shows or any(map(_does_more, callbacks))
        if does_more and self.parts.takes(CALLBACKS, always=True):
            callbacks = [callback for callback in callbacks if not _does_more(callback)]
            shows = False
        return callbacks, shows


def _listed(callbacks: Any) -> list[Any]:
    if isinstance(callbacks, (list, tuple)):
        return list(callbacks)
    return [callbacks] if callbacks else []


def _keeps(callback: Any) -> bool:
    """Whether it keeps weights."""
    return type(callback).__name__ in _KEEPING


def _does_more(callback: Any) -> bool:
    """Than to keep weights, or the history."""
    return not _keeps(callback) and type(callback).__name__ != "History"


_LISTS = {CALLBACKS, CHECKPOINTS}
_HOOKS: Mapping[str, tuple[set[str], Callable[..., None]]] = {
    "tensorflow.python.data.ops.dataset_ops": ({INPUT, HALF, PREFETCH}, _data_sets),
    f"{_EAGER}.polymorphic_function": ({JIT_ON, JIT_OFF, EAGER_OFF}, _functions),
    f"{_EAGER}.eager_function_run": ({EAGER_OFF}, _eager),
    "tensorflow.python.ops.summary_ops_v2": ({CALLBACKS}, _summaries),
    "jax._src.debugging": ({CALLBACKS}, _summaries),
    "flax.linen.module": ({APPLIED}, _networks),
    "haiku._src.transform": ({APPLIED}, _networks),
    "keras.src.layers.layer": ({PRECISION}, _layers),
    "keras.src.utils.python_utils": ({READS}, _logs),
    "keras.src.backend.tensorflow.trainer": ({ONE_BATCH}, _predictions),
    "keras.src.callbacks.callback_list": (_LISTS, _callbacks),
    "keras.src.callbacks": (_LISTS, _callbacks),
    "tf_keras.src.callbacks": (_LISTS, _callbacks),
    "keras.src.trainers.trainer": (set(_COMPILE), _models),
    "keras.src.engine.training": (set(_COMPILE), _models),
    "tf_keras.src.engine.training": (set(_COMPILE), _models),
}
"""By module: the parts that it does, and what is done once it is imported."""
