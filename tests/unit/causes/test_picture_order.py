"""In which order the maps of a pipeline decode, cut and change pictures."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes.pipeline_maps import pipeline_pictures
from tfadvisor.causes.source_files import UNKNOWN, ParsedFile

HEAD = "import tensorflow as tf\n"


def orders(code: str) -> list[tuple[str, str, str]]:
    """(kind, what to do, code) of a program."""
    text = HEAD + textwrap.dedent(code)
    parsed = ParsedFile(ast.parse(text), tuple(text.split("\n")), UNKNOWN, "train.py")
    return [tuple(order) for order in pipeline_pictures([parsed])]  # type: ignore[misc]


def of_map(*lines: str) -> list[tuple[str, str, str]]:
    body = "\n".join(f"    {line}" for line in lines)
    made = "data = tf.data.Dataset.from_tensor_slices(names).map(load).batch(8)"
    return orders(f"def load(data):\n{body}\n{made}\n")


def test_a_part_is_cut_out_of_the_whole_picture() -> None:
    ((kind, do, code),) = of_map(
        "photo = tf.io.decode_jpeg(data, channels=3)",
        "part = tf.image.random_crop(photo, (SIZE, 96, 3))",
        "return tf.image.random_flip_left_right(part)",
    )

    assert kind == "cuts"
    assert "load (train.py:3) decodes the whole picture, of which line 4" in do
    assert "shape[0] - SIZE + 1" in code
    assert "tf.io.decode_and_crop_jpeg(data, [top, left, SIZE, 96], channels=3)" in code


def test_a_box_that_is_known() -> None:
    ((_, _, code),) = of_map(
        "return tf.image.crop_to_bounding_box(tf.image.decode_jpeg(data), y, x, 8, 9)"
    )

    assert code == (
        "picture = tf.io.decode_and_crop_jpeg(data, [y, x, 8, 9], channels=3)"
    )


def test_colours_of_all_pixels_in_maps_before_the_resize() -> None:
    ((kind, do, code),) = orders(
        """
        class Loader:
            def parse(self, data): return tf.image.decode_jpeg(data)
            def lighter(self, x): return tf.image.random_brightness(x, 0.1)
            def smaller(self, x): return tf.image.resize(x, self.size)
            def batches(self):
                data = tf.data.Dataset.from_tensor_slices(self.files).map(self.parse)
                data = data.map(self.lighter).map(self.smaller)
                return data.batch(8)
        """
    )

    assert kind == "colours"
    assert "lighter (train.py:5) come before smaller (train.py:6)" in do
    assert code == "# first smaller (train.py:6)\n# then lighter (train.py:5)"


@pytest.mark.parametrize(
    "lines",
    [
        ("return tf.image.resize(tf.io.decode_jpeg(data), (96, 96))",),
        (
            "x = tf.image.resize(tf.io.decode_jpeg(data), (96, 96))",
            "return tf.image.random_crop(x, (64, 64, 3))",
        ),
        (
            "x = tf.image.resize(tf.io.decode_jpeg(data), (96, 96))",
            "return tf.image.random_contrast(x, 0.5, 2)",
        ),
        ("return tf.image.random_crop(tf.io.decode_png(data), (64, 64, 3))",),
        ("return tf.image.random_contrast(data, 0.5, 2)",),
        (
            "x = tf.image.random_contrast(data, 0.5, 2)",  # of arrays, not of files
            "return tf.image.resize(x, (96, 96))",
        ),
    ],
)
def test_orders_in_which_nothing_is_lost(lines: tuple[str, ...]) -> None:
    assert of_map(*lines) == []
