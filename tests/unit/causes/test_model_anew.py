"""Models of Keras that a program makes anew for each prediction."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import CompiledAgain, ProgramSource

LOADS = """\
import keras

CACHE = {{}}


def make(path):
    model = keras.models.load_model(path)
    model.trainable = False
    return model


def kept(path):
    if path not in CACHE:
        CACHE[path] = keras.models.load_model(path)
    return CACHE[path]


def score(rows, path):
    {line}
    return model.predict(rows)


for page in pages:
    {call}
"""


def anew(
    folder: Path, line: str, call: str = "score(page, 'm.keras')", maker: str = ""
) -> CompiledAgain | None:
    """Of the line that predicts."""
    program = LOADS.format(line=line, call=call)
    (folder / "train.py").write_text(program)
    lines = program.splitlines()
    (number,) = [at for at, text in enumerate(lines, 1) if "return model.p" in text]
    return ProgramSource(folder).model_anew("train.py", {number}, maker)


def test_a_model_that_a_function_loads_in_each_call_is_loaded_once(
    tmp_path: Path,
) -> None:
    found = anew(tmp_path, "model = keras.models.load_model('m.keras')")

    assert found is not None
    assert found.words == (
        "model, a model whose predict (train.py:20) is traced for each new one, is "
        "loaded anew (keras.models.load_model) in each call of score (train.py:18), "
        "which a loop calls"
    )
    assert found.once == (
        "# once, outside of score\nmodel = keras.models.load_model('m.keras')"
    )


def test_a_model_of_what_changes_is_kept_for_each_of_that(tmp_path: Path) -> None:
    found = anew(tmp_path, "model = make(path)")

    assert found is not None
    assert found.once == (
        "models = {}          # once; one for each path\n"
        "if path not in models:\n"
        "    models[path] = keras.models.load_model(path)\n"
        "model = models[path]   # and model.set_weights(...) where these differ"
    )


def test_what_changes_in_two_places_makes_one_key(tmp_path: Path) -> None:
    line = "model = keras.models.load_model(path, compile=rows)"
    found = anew(tmp_path, line)

    assert found is not None
    assert "if (path, rows) not in models:\n    models[path, rows] = " in found.once
    compile(found.once, "once.py", "exec")


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("model = kept(path)", "score(page, 'm.keras')"),
        ("model = kept(path) or make(path)", "score(page, 'm.keras')"),
        ("if path: model = make(path)", "score(page, 'm.keras')"),
        # each fold of a validation trains a model of its own
        ("model = make(path); model.fit(rows)", "score(page, 'm.keras')"),
        ("model = make(path)", "pass"),
        ("model = build(path)", "score(page, 'm.keras')"),
    ],
)
def test_a_model_that_is_kept_trained_or_made_once_is_none(
    tmp_path: Path, line: str, call: str
) -> None:
    assert anew(tmp_path, line, call) is None


def test_a_part_of_the_run_that_another_function_takes_is_not_the_making(
    tmp_path: Path,
) -> None:
    assert anew(tmp_path, "model = make(path)", maker="make") is not None
    assert anew(tmp_path, "model = make(path)", maker="encode") is None


def test_a_method_may_give_the_model(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import keras\n"
        "class Member:\n"
        "    def network(self):\n"
        "        network = keras.models.model_from_json(self.text)\n"
        "        network.set_weights(self.weights)\n"
        "        return network\n"
        "    def predict(self, rows):\n"
        "        return self.network().predict(rows)\n"
        "scores = [member.predict(rows) for member in members]\n"
    )
    found = ProgramSource(tmp_path).model_anew("train.py", {8})

    assert found is not None
    assert found.words == (
        "what self.network gives, a model whose predict (train.py:8) is traced for "
        "each new one, is made anew (keras.models.model_from_json) in each call of "
        "predict (train.py:7), which a loop calls"
    )
    assert "one for each self.text" in found.once


def test_a_loop_may_make_it_in_each_round(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import tensorflow as tf\n"
        "for rows in pages:\n"
        "    model = tf.keras.models.clone_model(first)\n"
        "    scores = model.predict(rows)\n"
    )
    found = ProgramSource(tmp_path).model_anew("train.py", {3})

    assert found is not None
    assert "in each round of `for rows in pages` (train.py:2)" in found.words
    assert found.once == (
        "# once, outside of the loop\nmodel = tf.keras.models.clone_model(first)"
    )
