"""Hooks of TensorFlow and Keras, on stand-ins for their modules."""

from __future__ import annotations

import inspect
import linecache
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from tfadvisor.act.trial.injected.tfadvisor_trial_hook import program_parts as hooks
from tfadvisor.act.trial.injected.tfadvisor_trial_hook.framework_hooks import (
    after_import,
)
from tfadvisor.act.trial.injected.tfadvisor_trial_hook.program_parts import Parts


def hooked(
    name: str, module: Any, *parts: str, acting: bool = True, own: bool = True
) -> Parts:
    """The module after its import."""
    made = Parts({"parts": parts, "acting": acting})
    for of, do in after_import(made, lambda file: own and file == __file__):
        if of == name:
            do(module)
    return made


class Data:
    """A data set that writes down what is made of it."""

    def __init__(self, said: str = "data") -> None:
        self.said = said

    def __iter__(self) -> Any:
        return iter([self.said])

    def cardinality(self) -> int:
        return 7

    def take(self, count: int) -> Data:
        return type(self)(f"{self.said}.take({count})")

    def cache(self) -> Data:
        return type(self)(f"{self.said}.cache")

    def repeat(self, count: int) -> Data:
        return type(self)(f"{self.said}.repeat({count})")

    def prefetch(self, count: int) -> Data:
        return type(self)(f"{self.said}.prefetch({count})")

    def map(self, map_func: Any, num_parallel_calls: Any = None) -> Data:
        return type(self)(f"{self.said}.map({num_parallel_calls})")


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> type[Data]:
    monkeypatch.setitem(
        sys.modules, "tensorflow", SimpleNamespace(executing_eagerly=lambda: True)
    )  # type: ignore[arg-type]
    return type("Data", (Data,), {})


def test_the_first_batch_comes_again_as_often_as_there_are_batches(
    data: type[Data],
) -> None:
    made = hooked(
        "tensorflow.python.data.ops.dataset_ops",
        SimpleNamespace(DatasetV2=data),
        hooks.INPUT,
    )

    assert list(data()) == ["data.take(1).cache.repeat(7)"]
    assert made.took == {hooks.INPUT: 1}


def test_hooks_that_only_count_change_nothing(data: type[Data]) -> None:
    module = SimpleNamespace(DatasetV2=data)
    made = hooked(
        "tensorflow.python.data.ops.dataset_ops",
        module,
        hooks.INPUT,
        hooks.PREFETCH,
        acting=False,
    )

    assert list(data().map(len)) == ["data.map(None)"]
    assert made.took == {hooks.INPUT: 1, hooks.PREFETCH: 2}  # the map and the end


def test_a_data_set_is_prepared_ahead(data: type[Data]) -> None:
    hooked(
        "tensorflow.python.data.ops.dataset_ops",
        SimpleNamespace(DatasetV2=data),
        hooks.PREFETCH,
    )

    assert list(data()) == ["data.prefetch(-1)"]
    assert data().map(len).said == "data.map(-1)"
    assert data().map(map_func=len).said == "data.map(-1)"


class Model:
    """As Keras' Trainer compiles: eager models have no jit."""

    def compile(
        self,
        run_eagerly: bool = False,
        jit_compile: bool = False,
        steps_per_execution: int = 1,
    ) -> None:
        self.run_eagerly, self.steps_per_execution = run_eagerly, steps_per_execution
        self.jit_compile = jit_compile and not run_eagerly


@pytest.mark.parametrize(
    ("part", "given", "wanted", "took"),
    [
        (hooks.EAGER_OFF, {"run_eagerly": True}, (False, False, 1), 1),
        (hooks.EAGER_OFF, {}, (False, False, 1), 0),
        (hooks.JIT_ON, {}, (False, True, 1), 1),
        (hooks.JIT_ON, {"run_eagerly": True}, (True, False, 1), 0),
        (hooks.JIT_OFF, {"jit_compile": True}, (False, False, 1), 1),
        (hooks.EIGHT_STEPS, {"jit_compile": True}, (False, True, 8), 1),
    ],
)
def test_a_model_is_compiled_with_what_is_set(
    part: str, given: dict[str, bool], wanted: tuple[Any, ...], took: int
) -> None:
    trainer = type("Model", (Model,), {})
    made = hooked("keras.src.trainers.trainer", SimpleNamespace(Trainer=trainer), part)

    model = trainer()
    model.compile(**given)

    assert (model.run_eagerly, model.jit_compile, model.steps_per_execution) == wanted
    assert made.took.get(part, 0) == took


@pytest.mark.parametrize(("part", "jit", "own", "wanted"), [
    (hooks.JIT_ON, None, True, True), (hooks.JIT_ON, None, False, None), (hooks.JIT_OFF, True, True, None),
    (hooks.JIT_OFF, True, False, True),
])  # fmt: skip
def test_only_the_programs_own_functions_are_compiled_otherwise(
    part: str, jit: bool | None, own: bool, wanted: Any
) -> None:
    class Function:
        def __init__(
            self, python_function: Any, name: str, jit_compile: bool | None = None
        ) -> None:
            self.jit_compile = jit_compile

    name = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
    hooked(name, SimpleNamespace(Function=Function), part, own=own)

    assert Function(lambda: None, "step", jit_compile=jit).jit_compile is wanted
    assert (
        Function(python_function=lambda: None, name="step", jit_compile=jit).jit_compile
        is wanted
    )


def test_values_that_keras_reads_stay_those_of_the_first_batch() -> None:
    module = SimpleNamespace(
        pythonify_logs=lambda logs: {
            name: float(value) for name, value in (logs or {}).items()
        }
    )
    made = hooked("keras.src.utils.python_utils", module, hooks.READS)
    made.inside = True

    assert module.pythonify_logs({"loss": 2}) == {"loss": 2.0}
    assert module.pythonify_logs({"loss": 1}) == {"loss": 2.0}
    assert module.pythonify_logs(None) == {}


@pytest.mark.parametrize(
    ("x", "more", "direct"),
    [
        (np.zeros((1, 4)), {}, True),
        (np.zeros((32, 4)), {"verbose": 0}, True),
        ([np.zeros((2, 4)), np.zeros((2, 3))], {}, True),
        (np.zeros((512, 4)), {"batch_size": 64}, True),
        (np.zeros((513, 4)), {}, False),
        (np.zeros((0, 4)), {}, False),
        ([np.zeros((2, 4)), np.zeros((3, 4))], {}, False),
        (np.zeros((1, 4)), {"steps": 1}, False),
        (np.zeros((1, 4)), {"callbacks": []}, False),
        (object(), {}, False),
    ],
)
def test_predict_of_a_few_rows_takes_them_as_one_batch(
    monkeypatch: pytest.MonkeyPatch, x: Any, more: dict[str, Any], direct: bool
) -> None:
    class TensorFlowTrainer:
        def predict(
            self,
            x: Any,
            batch_size: Any = None,
            verbose: Any = "auto",
            steps: Any = None,
            callbacks: Any = None,
        ) -> str:
            return f"predicted {batch_size} {verbose} {steps} {callbacks}"

        def predict_on_batch(self, rows: Any) -> str:
            assert rows is x
            return "one batch"

    module = SimpleNamespace(TensorFlowTrainer=TensorFlowTrainer)
    made = hooked("keras.src.backend.tensorflow.trainer", module, hooks.ONE_BATCH)
    before = TensorFlowTrainer().predict(x, **more)
    made.inside = True

    after = TensorFlowTrainer().predict(x, **more)

    wanted = (
        f"predicted {more.get('batch_size')} {more.get('verbose', 'auto')} "
        f"{more.get('steps')} {more.get('callbacks')}"
    )
    assert (before, after) == (wanted, "one batch" if direct else wanted)
    places = [
        linecache.getline(file, line).strip()
        for file, line in made.places.get(hooks.ONE_BATCH, ())
    ]
    assert places == ["after = TensorFlowTrainer().predict(x, **more)"] * direct


class Transformed(NamedTuple):
    init: Any
    apply: Any


@pytest.mark.parametrize("library", ["flax.linen.module", "haiku._src.transform"])
def test_a_network_that_is_applied_outside_of_compiled_functions_is_compiled_once_for_its_settings(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    """Arrays are handed on at each call; a flag and a list of names belong to what is
    compiled. Inside of jit nothing changes.
    """
    compiled: list[dict[str, Any]] = []

    def jit(do: Any) -> Any:
        compiled.append(do.keywords)
        return lambda *given, **named: ("jitted", do(*given, **named))

    core = SimpleNamespace(trace_state_clean=lambda: not tracing)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(jit=jit))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "jax._src.core", core)  # type: ignore[arg-type]
    tracing = False

    class Module:
        def apply(
            self, variables: Any, x: Any, train: bool = True, mutable: Any = False
        ) -> tuple[Any, ...]:
            return variables, x, train, mutable

    def transform(function: Any) -> Transformed:
        return Transformed(
            None, lambda variables, x, **named: Module().apply(variables, x, **named)
        )

    module = (
        SimpleNamespace(transform=transform)
        if library == "haiku._src.transform"
        else SimpleNamespace(Module=Module)
    )
    made = hooked(library, module, hooks.APPLIED)
    made.inside = True
    network = Module() if library != "haiku._src.transform" else module.transform(None)

    found = [
        network.apply(1, 2, train=False),
        network.apply(3, 4, train=False),
        network.apply(5, 6, mutable=["stats"]),
    ]
    tracing = True
    inside = network.apply(7, 8)

    assert found == [
        ("jitted", (1, 2, False, False)),
        ("jitted", (3, 4, False, False)),
        ("jitted", (5, 6, True, ["stats"])),
    ]
    assert inside == (7, 8, True, False)
    assert compiled == [{"train": False}, {"mutable": ["stats"]}]
    assert made.took == {hooks.APPLIED: 3}
    assert {
        linecache.getline(*place).strip()[:14] for place in made.places[hooks.APPLIED]
    } == {"network.apply("}


def test_running_eagerly_by_a_setting_is_refused() -> None:
    said: list[bool] = []
    module = SimpleNamespace(run_functions_eagerly=said.append)
    hooked(
        "tensorflow.python.eager.polymorphic_function.eager_function_run",
        module,
        hooks.EAGER_OFF,
    )

    module.run_functions_eagerly(True)

    assert said == [False]


def test_what_is_hooked_takes_the_arguments_that_it_took() -> None:
    """Keras makes configurations of layers by `inspect.getfullargspec`, which does not
    look behind a wrapper.
    """

    class Layer:
        def __init__(self, units: int, name: str = "") -> None:
            self.units = units

    hooked(
        "keras.src.layers.layer",
        SimpleNamespace(Layer=Layer),
        hooks.PRECISION,
        acting=False,
    )

    assert inspect.getfullargspec(Layer.__init__).args == ["self", "units", "name"]
    assert Layer(3).units == 3
