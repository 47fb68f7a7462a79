"""What a callback takes of the steps, of which the training loop takes nothing back."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.watched_steps import ARRAY, watched_steps

from tfadvisor.metrics import Metrics

PROGRAM = """\
import jax
import numpy as np
step = jax.jit(lambda state, batch: state)
class Recorder:
    def after_step(self, number, state):
        print(np.histogram(state))
def main(state, x, hooks):
    for i in range(9):
        state = step(state, x)
        for hook in hooks:
            hook.after_step(i, state)
        print(float(state))
"""
MAIN = "train.py:<module>:14 train.py:main"


def measured(folder: Path, program: str = PROGRAM) -> Metrics:
    """In 3 of 10 samples the thread is in the hook, in 6 it waits for a value; the
    device works for 5 of 10 ms.
    """
    turn = [
        (f"{MAIN}:11 train.py:after_step:6", 3),
        (f"{MAIN}:9", 1),
        (f"{MAIN}:12 {ARRAY}:_value:637", 6),
    ]
    return watched_steps(folder, program, turn, 5_000)


def test_the_hook_its_share_and_its_edit(tmp_path: Path) -> None:
    """The steps are known from the first wait on, behind 4 of the 400 samples: 117 of
    396 are in the hook, and half of each step is Python.
    """
    found = measured(tmp_path)

    assert found.value("hook_fraction") == pytest.approx(117 / 396)
    assert found.value("hook_python_share") == pytest.approx(117 / 396 / 0.5)
    assert found.fact("hook") == "Recorder.after_step (train.py:5)"
    assert found.fact("unneeded") == (
        "Recorder.after_step (train.py:5) makes histograms (train.py:6, 30% of step "
        "time). The loop at train.py:8 takes nothing back of it, and by the source it "
        "changes nothing that a step reads: do it for each 100th batch, which leaves a "
        "hundredth of its time."
    )
    assert (found.fact("unneeded_after") or "").splitlines() == [
        "def after_step(self, number, state):",
        "    if number % 100 == 0:",
        "        print(np.histogram(state))",
    ]


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("print(np.histogram(state))", "state[0] = np.histogram(state)"),
        ("hook.after_step(i, state)", "state = hook.after_step(i, state)"),
    ],
)
def test_a_hook_from_which_something_comes_back_is_none(
    written: str, instead: str, tmp_path: Path
) -> None:
    found = measured(tmp_path, PROGRAM.replace(written, instead))

    assert found.value("hook_fraction") is None


KERAS = "/venv/lib/python3.11/site-packages/keras/src"
FIT = f"train.py:<module>:5 {KERAS}/backend/tensorflow/trainer.py:fit"
GALLERY = """\
import keras
class Gallery(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        keras.utils.save_img("a.png", self.model.picture)
model.fit(x, callbacks=[Gallery()])
"""


def test_time_in_a_library_that_may_use_devices_counts_too(tmp_path: Path) -> None:
    """Half of the samples are in the hook's call of Keras, and half of each step is
    Python.
    """
    turn = [
        (
            f"{FIT}:371 train.py:on_train_batch_end:4 "
            f"{KERAS}/utils/image_utils.py:save_img:10",
            5,
        ),
        (f"{FIT}:380", 5),
    ]
    found = watched_steps(tmp_path, GALLERY, turn, 5_000)

    assert found.value("hook_python_share") == pytest.approx(1, abs=0.05)
    assert "draws or encodes pictures" in (found.fact("unneeded") or "")
