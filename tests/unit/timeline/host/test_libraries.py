"""By which names Keras and its PyDataset are known, and by which they are not."""

from __future__ import annotations

import pytest
from support.trace_builder import trace

COMPILED = "EagerLocalExecute: __inference_one_step_on_iterator_310"


@pytest.mark.parametrize(
    "name",
    [
        "EagerLocalExecute: __inference_train_step_7",
        "$trainer.py:20 train_step",
        "$keras_like.py:3 fit",
        "train_function",
        "Profiled batches",
    ],
)
def test_a_users_own_names_do_not_prove_keras(name: str) -> None:
    assert trace().step(0, 100).call(name, 0, 90).measure().fact("keras_sign") is None


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        (COMPILED, COMPILED),
        ("EagerLocalExecute: __inference_train_function_46512",) * 2,
        ("$trainer.py:260 fit", "trainer.py:260 fit"),
        ("Profiled batch", "Profiled batch"),  # the marker of its TensorBoard callback
    ],
)
def test_keras_is_known_by_what_it_compiles_and_by_its_frames(
    name: str, sign: str
) -> None:
    assert trace().step(0, 100).call(name, 0, 90).measure().fact("keras_sign") == sign


def test_keras_runs_op_by_op_where_nothing_that_it_compiled_is_called() -> None:
    eager = trace().step(0, 100).call("$trainer.py:260 fit", 0, 90)

    assert eager.measure().fact("keras_runs") == "op by op"
    assert eager.call(COMPILED, 10, 80).measure().fact("keras_runs") == "compiled"


def test_a_generator_alone_is_no_py_dataset() -> None:
    builder = (
        trace()
        .step(0, 100)
        .call(COMPILED, 0, 90)
        .call("Iterator::Root::Prefetch::Generator", 1, 2)
    )

    assert builder.measure().fact("py_dataset_sign") is None


@pytest.mark.parametrize(
    "name", ["$py_dataset_adapter.py:241 get", "KerasSequenceAdapter"]
)
def test_a_py_dataset_is_known_by_its_adapter(name: str) -> None:
    builder = trace().step(0, 100).call(name, 0, 90)

    assert builder.measure().fact("py_dataset_sign") == name.removeprefix("$")
