"""Facts about the threads of an input pipeline."""

from __future__ import annotations

import pytest
from support.stacks import sampled
from support.trace_builder import trace

from tfadvisor.causes import account_of
from tfadvisor.metrics.registry import Metrics, Settings

TURN = [("train.py:<module>:90 train.py:main:42", 3), ("train.py:<module>:91", 2)]
SCRIPT = "tensorflow/ops/script_ops.py:__call__:269"
KERAS = "keras/trainers/data_adapters/py_dataset_adapter.py:_finite_generator:264"
LOAD = "data.py:load:25"
H5PY = "/venv/lib/python3.11/site-packages/h5py/_hl/dataset.py:__getitem__:820"
NEST = "tensorflow/data/util/nest.py:flatten:237"


def measured(*beside: tuple[str, int]) -> Metrics:
    account = account_of(sampled(40 * TURN, beside=beside), 50.0)
    return trace().step(0, 1000).measure(Settings(account=account))


def test_a_line_and_its_package_are_named() -> None:
    metrics = measured(
        (f"{SCRIPT} {KERAS} {LOAD} {H5PY}", 75), (f"{SCRIPT} {NEST}", 25)
    )

    assert metrics.value("pipeline_own_fraction") == pytest.approx(0.75)
    assert metrics.fact("pipeline_place") == "load (data.py:25)"
    assert metrics.fact("pipeline_library") == "h5py"
    assert metrics.fact("pipeline_threads") == (
        ". By samples of its Python, 75% of it is load (data.py:25), most of it h5py."
    )
    assert metrics.fact("py_dataset_sign") == (
        "py_dataset_adapter.py _finite_generator"
    )


def test_a_function_whose_lines_share_its_time_is_named_by_its_costliest() -> None:
    """20 + 15% are one function's, 10% another's."""
    metrics = measured(
        (f"{SCRIPT} {LOAD}", 20),
        (f"{SCRIPT} data.py:load:27", 15),
        (f"{SCRIPT} data.py:label:40", 10),
        (f"{SCRIPT} {NEST}", 55),
    )

    assert metrics.fact("pipeline_place") == "load (data.py:25)"


def test_a_package_is_that_of_the_line_that_is_named() -> None:
    """The first line reads for 22%; another function's two lines take 38%."""
    metrics = measured(
        (f"{SCRIPT} {LOAD} {H5PY}", 22),
        (f"{SCRIPT} data.py:label:40", 20),
        (f"{SCRIPT} data.py:label:41", 18),
        (f"{SCRIPT} {NEST}", 40),
    )

    assert metrics.fact("pipeline_place") == "label (data.py:40)"
    assert metrics.fact("pipeline_library") is None


def test_the_frameworks_work_around_each_element_is_told_apart() -> None:
    """It is done for the program's function, which is named."""
    metrics = measured((f"{SCRIPT} {LOAD}", 20), (f"{SCRIPT} {NEST}", 80))

    assert metrics.value("pipeline_own_fraction") == pytest.approx(0.2)
    assert metrics.fact("pipeline_place") == "load (data.py:25)"
    assert metrics.fact("pipeline_library") is None
    assert metrics.fact("pipeline_threads") == (
        ". By samples of its Python, 80% of it is the framework's own work around each "
        "element."
    )


def test_a_function_of_a_twentieth_is_not_what_the_time_goes_to() -> None:
    metrics = measured((f"{SCRIPT} {LOAD}", 4), (f"{SCRIPT} {NEST}", 96))

    assert metrics.fact("pipeline_place") is None


def test_no_function_among_many_small_ones_is_named() -> None:
    """Five take 20% of the program's own time each."""
    small = [(f"{SCRIPT} data.py:part{number}:{number}", 16) for number in range(5)]

    assert measured(*small, (f"{SCRIPT} {NEST}", 20)).fact("pipeline_place") is None


def test_a_library_that_reads_no_files_is_not_told_to_read_less() -> None:
    pil = "/venv/lib/python3.11/site-packages/PIL/Image.py:resize:820"
    metrics = measured((f"{SCRIPT} {LOAD} {pil}", 80))

    assert metrics.fact("pipeline_place") == "load (data.py:25)"
    assert metrics.fact("pipeline_library") is None


def test_a_librarys_work_is_not_tensorflows() -> None:
    hub = "/venv/lib/python3.11/site-packages/datasets/arrow.py:_getitem:9"
    metrics = measured((f"{SCRIPT} {hub}", 80), (f"{SCRIPT} {LOAD}", 20))

    assert metrics.fact("pipeline_threads") == (
        ". By samples of its Python, 20% of it is load (data.py:25)."
    )


def test_without_samples_nothing_is_added() -> None:
    metrics = trace().step(0, 1000).measure()

    assert metrics.value("pipeline_own_fraction") is None
    assert metrics.fact("pipeline_threads") == "."
    assert metrics.fact("pipeline_place") is None
