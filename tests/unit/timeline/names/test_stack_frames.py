"""What is done while a function of a stack is open."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.stack_frames import (
    Work,
    is_recorded,
    may_use_devices,
    runs_op,
    work_of,
)

LIBRARIES = "/venv/lib/python3.11/site-packages/"
TENSORFLOW = f"{LIBRARIES}tensorflow/python/"


@pytest.mark.parametrize(
    ("file", "function", "recorded"),
    [
        (f"{LIBRARIES}jax/_src/array.py", "_value", True),
        (f"{LIBRARIES}jax/_src/array.py", "__init__", False),
        (f"{TENSORFLOW}eager/execute.py", "quick_execute", True),
        (f"{TENSORFLOW}ops/gen_array_ops.py", "reshape", True),
        (f"{TENSORFLOW}ops/array_ops.py", "reshape", False),
        ("/home/me/array.py", "_value", False),
    ],
)
def test_of_a_call_that_runs_or_waits_traces_have_an_event(
    file: str, function: str, recorded: bool
) -> None:
    assert is_recorded(file, function) is recorded


@pytest.mark.parametrize(
    ("file", "function", "may"),
    [
        (f"{LIBRARIES}jax/_src/numpy/lax_numpy.py", "roll", True),
        (f"{LIBRARIES}keras/src/trainers/trainer.py", "fit", True),
        (f"{LIBRARIES}numpy/_core/numeric.py", "roll", False),
        ("/usr/lib/python3.11/queue.py", "get", True),
        ("/usr/lib/python3.11/json/decoder.py", "decode", False),
        ("/home/me/jax/train.py", "augment", False),
    ],
)
def test_frameworks_and_waits_may_use_devices(
    file: str, function: str, may: bool
) -> None:
    assert may_use_devices(file, function) is may


@pytest.mark.parametrize(
    ("file", "function", "runs"),
    [
        (f"{LIBRARIES}jax/_src/numpy/lax_numpy.py", "roll", True),
        (f"{LIBRARIES}jax/_src/numpy/lax_numpy.py", "asarray", False),
        (f"{LIBRARIES}jax/_src/numpy/array_constructors.py", "array", False),
        (f"{LIBRARIES}jax/_src/lax/lax.py", "_convert_element_type", False),
        (f"{LIBRARIES}jax/_src/lax/lax.py", "_stage_impl", False),
        (f"{LIBRARIES}jax/_src/lax/lax.py", "concatenate", True),
    ],
)
def test_an_array_that_is_copied_to_the_device_is_no_op(
    file: str, function: str, runs: bool
) -> None:
    """`jnp.array(x)` passes through all of them but for the first and last."""
    assert runs_op(file, function) is runs


@pytest.mark.parametrize(
    ("file", "runs"),
    [
        ("ops/tensor_getitem_override.py", True),
        ("framework/override_binary_operator.py", True),
        ("ops/tensor_math_operator_overrides.py", True),
        ("framework/tensor_conversion_registry.py", False),
        ("framework/constant_op.py", False),
    ],
)
def test_an_index_or_a_product_of_tensors_is_an_op(file: str, runs: bool) -> None:
    """Most of their time is passed above the op itself."""
    assert runs_op(f"{LIBRARIES}tensorflow/python/{file}", "_helper") is runs


@pytest.mark.parametrize(
    ("file", "function", "work"),
    [
        (f"{LIBRARIES}numpy/lib/_npyio_impl.py", "__getitem__", Work.LOADING),
        (f"{LIBRARIES}numpy/lib/_npyio_impl.py", "savez", Work.SAVING),
        ("/usr/lib/python3.12/zipfile/__init__.py", "_read1", Work.LOADING),
        (f"{LIBRARIES}h5py/_hl/dataset.py", "__getitem__", Work.LOADING),
        (f"{LIBRARIES}PIL/Image.py", "open", Work.LOADING),
        (f"{LIBRARIES}PIL/Image.py", "save", Work.PICTURES),
        (f"{LIBRARIES}PIL/ImageFile.py", "_encode_tile", Work.PICTURES),
        (f"{LIBRARIES}PIL/Image.py", "resize", None),
        (f"{LIBRARIES}matplotlib/figure.py", "savefig", Work.PICTURES),
        (f"{LIBRARIES}torch/utils/tensorboard/summary.py", "make_image", Work.PICTURES),
        (f"{LIBRARIES}torch/utils/tensorboard/summary.py", "scalar", Work.LOGGING),
        ("/home/me/zipfile.py", "read", None),
    ],
)
def test_files_that_are_read_and_pictures_are_told_by_the_library(
    file: str, function: str, work: Work | None
) -> None:
    assert work_of(file, function) is work


@pytest.mark.parametrize(
    "file",
    [
        "keras/src/callbacks/callback_list.py",
        "keras/src/callbacks.py",
        "tf_keras/src/callbacks.py",
        "keras/callbacks.py",
    ],
)
def test_callbacks_at_the_end_of_an_epoch_are_those_of_every_keras(file: str) -> None:
    """Of Keras 3, of 2.13 to 2.15, of Keras 2 beside Keras 3, and of those before."""
    assert work_of(f"{LIBRARIES}{file}", "CallbackList.on_epoch_end") is Work.EPOCH
    assert work_of(f"{LIBRARIES}{file}", "CallbackList.on_train_batch_end") is None
