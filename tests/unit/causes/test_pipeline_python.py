"""What the threads of an input pipeline do in Python, by samples of them."""

from __future__ import annotations

import pytest
from support.stacks import sampled

from tfadvisor.causes import PipelinePython, account_of

MAIN = "train.py:<module>:90 train.py:main"
ASKS = "tensorflow/data/ops/iterator_ops.py:__next__:826"
TURN = [(f"{MAIN}:42", 3), (f"{MAIN}:41 {ASKS}", 2)]
SCRIPT = "tensorflow/ops/script_ops.py:__call__:269"
KERAS = "keras/trainers/data_adapters/py_dataset_adapter.py:_finite_generator:264"
LOAD = "data.py:load:25"
H5PY = "/venv/lib/python3.11/site-packages/h5py/_hl/dataset.py:__getitem__:820"
NEST = "tensorflow/data/util/nest.py:flatten:237"
WAITS = "/usr/lib/python3.11/threading.py:wait:331"


def pipeline(*beside: tuple[str, int]) -> PipelinePython | None:
    return account_of(sampled(40 * TURN, beside=beside), 50.0).pipeline


def test_a_line_of_the_program_and_the_package_that_it_calls() -> None:
    """Of 100 samples 80 lie in load, 60 of these in h5py, and 20 in TensorFlow."""
    found = pipeline(
        (f"{SCRIPT} {LOAD} {H5PY}", 60),
        (f"{SCRIPT} {LOAD}", 20),
        (f"{SCRIPT} {NEST}", 20),
    )

    assert found is not None
    assert found.seconds == pytest.approx(1.0)
    assert (found.own, found.around) == (pytest.approx(0.8), pytest.approx(0.2))
    assert [(line.what, line.fraction) for line in found.lines] == [
        ("data.py:25", pytest.approx(0.8))
    ]
    assert (found.library, found.adapter) == ("h5py", "")


def test_a_package_that_takes_less_than_half_of_the_line_is_not_named() -> None:
    found = pipeline((f"{SCRIPT} {LOAD} {H5PY}", 40), (f"{SCRIPT} {LOAD}", 60))

    assert found is not None
    assert found.library == ""


def test_keras_asks_a_dataset_of_the_programs() -> None:
    found = pipeline((f"{SCRIPT} {KERAS} {LOAD}", 50))

    assert found is not None
    assert found.adapter == "py_dataset_adapter.py _finite_generator"


def test_keras_asks_a_generator_of_the_programs() -> None:
    adapter = "keras/trainers/data_adapters/generator_data_adapter.py"
    found = pipeline((f"{SCRIPT} {adapter}:get_tf_iterator:60 {LOAD}", 50))

    assert found is not None
    assert found.generator == "generator_data_adapter.py get_tf_iterator"
    assert found.adapter == ""


@pytest.mark.parametrize(
    "calls",
    [f"{SCRIPT} {LOAD} {WAITS}", f"saver.py:save:9 {H5PY}"],
    ids=["a thread that waits", "a thread of another purpose"],
)
def test_what_no_pipeline_runs_is_none_of_it(calls: str) -> None:
    assert pipeline((calls, 100)) is None


def test_a_few_samples_say_nothing() -> None:
    assert pipeline((f"{SCRIPT} {LOAD}", 19)) is None
    assert pipeline((f"{SCRIPT} {LOAD}", 20)) is not None
