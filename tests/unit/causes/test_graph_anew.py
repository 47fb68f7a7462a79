"""Graphs of TensorFlow 1 that a program builds again and again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import CompiledAgain, ProgramSource

STYLES = """\
import tensorflow.compat.v1 as tf


class Styles:
    def __init__(self):
        self.session = None

    def build(self, height):
        {line}
            self.image = tf.placeholder(tf.float32, [1, height, 3])
            self.output = model(self.image)

    def predict(self, image):
        self.build(len(image))
        return self.session.run(self.output, {{self.image: image}})


styles = Styles()
{call}
"""
GRAPH = "with tf.Graph().as_default(), tf.Session() as self.session:"
LOOP = "for image in images: styles.predict(image)"


def anew(
    folder: Path, line: str = GRAPH, call: str = LOOP, at: int = 14
) -> CompiledAgain | None:
    """at: of predict, the line that builds; 11 is of the building itself."""
    (folder / "train.py").write_text(STYLES.format(line=line, call=call))
    return ProgramSource(folder).graph_anew("train.py", [at])


@pytest.mark.parametrize("at", [11, 14])
def test_a_graph_that_a_function_builds_in_each_call_is_built_once(
    tmp_path: Path, at: int
) -> None:
    found = anew(tmp_path, at=at)

    assert found is not None
    assert found.words == (
        "Each call of build (train.py:8), which a loop calls, makes a graph and a "
        "session anew"
    )
    assert found.before == (
        "def build(self, height):\n    tf.Graph()\n    tf.Session()"
    )
    assert "graph = tf.Graph()" in found.once
    assert "session = tf.Session(graph=graph)" in found.once
    assert "restore" not in found.once


def test_a_session_that_restores_reads_its_weights_anew(tmp_path: Path) -> None:
    line = f"tf.train.Saver().restore(self.session, 'm')\n        {GRAPH}"
    found = anew(tmp_path, line, at=15)

    assert found is not None
    assert found.words.endswith("anew, and reads its weights from a file")
    assert "saver.restore(session, checkpoint)" in found.once


@pytest.mark.parametrize(
    ("line", "call", "at"),
    [
        (GRAPH, "styles.predict(images[0])", 14),  # no loop calls it
        (
            "if self.session is None: self.session = tf.Session()\n        if 1:",
            LOOP,
            14,
        ),
        ("if True:", LOOP, 14),
        (GRAPH, LOOP, 15),  # that line only runs it
    ],
)
def test_a_graph_that_is_kept_is_built_once(
    tmp_path: Path, line: str, call: str, at: int
) -> None:
    assert anew(tmp_path, line, call, at) is None


def test_a_loop_may_build_it_in_each_round(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import tensorflow as tf\n"
        "for image in images:\n"
        "    tf.compat.v1.reset_default_graph()\n"
        "    output = model(image)\n"
        "    with tf.compat.v1.Session() as session:\n"
        "        session.run(output)\n"
    )
    found = ProgramSource(tmp_path).graph_anew("train.py", [4])

    assert found is not None
    assert found.words == (
        "Each round of `for image in images` (train.py:2) makes a graph and a session "
        "anew"
    )
    assert "inputs = tf.compat.v1.placeholder(" in found.once
