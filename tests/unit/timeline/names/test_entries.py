"""Which call runs the steps, by names that TensorFlow, Keras and JAX write."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.entries import entry_point, without_prediction


@pytest.mark.parametrize(
    ("names", "entry"),
    [
        (["EagerLocalExecute: __inference_one_step_on_data_310"], "train_on_batch"),
        (["EagerLocalExecute: __inference_one_step_on_iterator_310"], "fit"),
        (["EagerLocalExecute: __inference_multi_step_on_iterator_9"], "fit"),
        (["EagerLocalExecute: __inference_train_function_8000"], "keras"),
        (["EagerLocalExecute: __inference_train_step_8"], "tf.function"),
        (["$distribute_lib.py:1673 run"], "strategy.run"),
        (["PjitFunction(train_step)"], "jit"),
        (["MatMul"], ""),
    ],
)
def test_by_what_is_called(names: list[str], entry: str) -> None:
    assert entry_point(tuple(names)) == entry


def test_a_frame_of_keras_says_more_than_the_function_that_it_calls() -> None:
    """Keras 2 calls train_function from both; fit evaluates, and evaluation is not it."""
    function = "EagerLocalExecute: __inference_train_function_8000"

    assert entry_point((function, "$training.py:2500 train_on_batch")) == (
        "train_on_batch"
    )
    assert entry_point((function, "$trainer.py:9 evaluate", "$trainer.py:2 fit")) == (
        "fit"
    )


@pytest.mark.parametrize(
    ("functions", "kept"),
    [
        (["multi_step_on_iterator", "one_step_on_data_distributed"], [0]),
        (["__inference_train_function", "__inference_predict_function"], [0]),
        (["one_step_on_data", "one_step_on_data_distributed"], [0]),
        (["one_step_on_data_distributed"], [0]),
        (["step", "one_step_on_data_distributed"], [0, 1]),
    ],
    ids=["Keras 3", "Keras 2", "train_on_batch", "inference", "another loop"],
)
def test_prediction_is_no_step_beside_keras_own_training(
    functions: list[str], kept: list[int]
) -> None:
    assert without_prediction(functions) == kept
