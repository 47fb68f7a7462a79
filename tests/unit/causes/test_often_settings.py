"""Settings by which a training loop saves or evaluates often."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource


def source_of(folder: Path, program: str) -> ProgramSource:
    (folder / "train.py").write_text(program, encoding="utf-8")
    return ProgramSource(folder)


def test_a_checkpoint_after_a_few_batches(tmp_path: Path) -> None:
    program = (
        "import tensorflow as tf\nEVERY = 5\n"
        'saver = tf.keras.callbacks.ModelCheckpoint("a.keras", save_freq=EVERY)\n'
        "model.fit(x, callbacks=[saver])\nmodel.save(path)\n"
    )
    source = source_of(tmp_path, program)
    found = source.saved_often("train.py", 4)

    assert found is not None
    assert found.words == (
        "ModelCheckpoint (train.py:3) saves after every 5 batches (`save_freq=EVERY`). "
        "Save less often; weights alone (save_weights_only=True) take less."
    )
    assert found.after.endswith("ModelCheckpoint('a.keras', save_freq='epoch')")
    assert source.saved_often("train.py", 5) is None


@pytest.mark.parametrize(
    "made",
    [
        "ModelCheckpoint('a')",
        "ModelCheckpoint('a', save_freq='epoch')",
        "ModelCheckpoint('a', save_freq=501)",
        "ModelCheckpoint('a', save_freq=n)",
        "ModelCheckpoint('a', save_freq=5), ModelCheckpoint('b')",
    ],
)
def test_what_saves_seldom_or_unknown_is_none(made: str, tmp_path: Path) -> None:
    program = f"from keras.callbacks import ModelCheckpoint\nfit(x, [{made}])\n"

    assert source_of(tmp_path, program).saved_often("train.py", 2) is None


@pytest.mark.parametrize(
    ("data", "fewer"),
    [
        ("(x, y)", "# or on fewer rows: validation_data=(x[:1000], y[:1000])"),
        ("held", "# or on fewer: model.fit(..., validation_steps=20)"),
        ("(load(), y)", "# or on the first 1,000 rows"),
    ],
)
def test_fit_that_evaluates_after_each_epoch(
    data: str, fewer: str, tmp_path: Path
) -> None:
    source = source_of(tmp_path, f"model.fit(a, b,\n    validation_data={data})\n")
    found = source.validated_on("train.py", 2)

    assert found is not None
    assert found.after.splitlines() == [
        f"model.fit(..., validation_data={data}, validation_freq=5)",
        fewer,
    ]


@pytest.mark.parametrize("more", ["validation_freq=2", "validation_steps=9"])
def test_fit_that_says_how_often_already_is_none(more: str, tmp_path: Path) -> None:
    source = source_of(tmp_path, f"model.fit(a, validation_data=b, {more})\n")

    assert source.validated_on("train.py", 1) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("EVERY = STEPS\nSTEPS = 5", "every 5 batches"),
        ("EVERY = EVERY", ""),
        ("EVERY = OTHER\nOTHER = EVERY", ""),
        ("EVERY = 4\nEVERY += 1", ""),
    ],
)
def test_a_number_by_names_of_names(given: str, words: str, tmp_path: Path) -> None:
    program = (
        "from keras.callbacks import ModelCheckpoint\n"
        f"fit(x, [ModelCheckpoint('a', save_freq=EVERY)])\n{given}\n"
    )
    found = source_of(tmp_path, program).saved_often("train.py", 2)

    assert words in (found.words if found is not None else "")
    assert (found is None) == (not words)
