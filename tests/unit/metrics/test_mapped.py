"""The map and the generator of the program's files that a pipeline runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace_builder import trace

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Metrics, Settings

PIPELINE = """\
import tensorflow as tf
def scale(x):
    return FUNCTION
data = tf.data.Dataset.from_tensor_slices(x).map(scale).batch(8)
model.fit(data, epochs=EPOCHS)
"""
ROOT = "Iterator::Root::Prefetch"


def of(
    folder: Path, function: str = "x / 2.0", epochs: int = 3, op: str = "Mul"
) -> Metrics:
    """Four steps; in each a map that is fused with its batch takes 800 us for 4
    elements, 200 us each.
    """
    text = PIPELINE.replace("FUNCTION", function).replace("EPOCHS", str(epochs))
    (folder / "train.py").write_text(text)
    builder = trace().steps(4, period=1000).busy("GPU:0", (0, 10))
    for at in range(0, 4000, 1000):
        builder.thread("tf_data_iterator_resource/1")
        builder.call(f"{ROOT}::MapAndBatch", at, at + 2)
        for element in range(4):
            start = at + 3 + element
            builder.call(f"{ROOT}::MapAndBatch::TensorSlice", start, start + 0.5)
        builder.call("MapAndBatchProduce", at + 20, at + 900)
        for element in range(4):
            number, start = at + element + 1, at + 21 + element * 215
            builder.thread("tf_data_iterator_resource/1")
            builder.call(
                "InstantiatedCapturedFunction::RunAsync", start, start + 1, id=number
            )
            builder.thread("tf_data_private_threadpool/2")
            builder.call("ExecutorState::Process", start + 1, start + 201, id=number)
            builder.call(f"op:{op}", start + 2, start + 200)
    return builder.measure(Settings(source=ProgramSource(folder)))


def test_a_map_of_the_source(tmp_path: Path) -> None:
    found = of(tmp_path, "tf.signal.rfft(x)")

    assert found.fact("input_map_place") == "scale (train.py:4)"
    assert found.fact("input_map_function") == "scale"
    assert found.fact("input_map_again") == "yes"


@pytest.mark.parametrize(
    ("function", "epochs"), [("tf.image.random_hue(x, 0.1)", 3), ("x / 2.0", 1)]
)
def test_a_map_that_is_not_to_be_cached(
    tmp_path: Path, function: str, epochs: int
) -> None:
    assert of(tmp_path, function, epochs).fact("input_map_again") == "no"


@pytest.mark.parametrize(
    ("function", "fault"),
    [("x / 2.0", "per-element-map"), ("tf.signal.rfft(x)", "parallel-map")],
)
def test_200_us_an_element(tmp_path: Path, function: str, fault: str) -> None:
    """More than calling takes, but for arithmetic on numbers, where cores are busy."""
    assert of(tmp_path, function).fact("input_stage_fault") == fault


def test_a_filter_is_no_map(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PIPELINE)
    builder = trace().steps(4, period=1000).busy("GPU:0", (0, 10))
    builder.thread("tf_data_iterator_resource/1")
    for at in range(0, 4000, 1000):
        builder.call(f"{ROOT}::Filter", at, at + 800)

    found = builder.measure(Settings(source=ProgramSource(tmp_path)))

    assert found.fact("input_stage") == "Filter"
    assert found.fact("input_map_place") is None


def test_without_source() -> None:
    found = trace().steps(2, period=1000).measure()

    assert found.fact("input_map_again") is None
    assert found.fact("input_map_place") is None


@pytest.mark.parametrize(
    ("op", "code"),
    [
        ("DecodeJpeg", "picture = tf.io.decode_jpeg(data, channels=3, ratio=4)"),
        ("ResizeBilinear", "# store pictures once"),
        ("ParseSingleExample", "tf.io.parse_example(x, s)"),
        ("RegexReplace", "# whole batches, text"),
        ("RFFT", "# whole batches, where each op takes it"),
    ],
)
def test_code_that_fits_the_ops(tmp_path: Path, op: str, code: str) -> None:
    said = of(tmp_path, op=op).fact("input_cheaper_code")

    assert said is not None
    assert code in said


GENERATOR = """\
import numpy as np
import tensorflow as tf
def samples():
    for row in range(9): yield VALUE
data = tf.data.Dataset.from_generator(samples, output_signature=spec)
model.fit(data.batch(8), epochs=EPOCHS)
"""


@pytest.mark.parametrize(
    ("value", "epochs", "cure", "code"),
    [
        ("np.sqrt(row), row", 3, "once into arrays", "zip(*samples())"),
        ("np.load(f'{row}.npy')", 1, "only file names", "(paths).map(load, "),
    ],
)
def test_what_a_generator_could_do_instead(
    tmp_path: Path, value: str, epochs: int, cure: str, code: str
) -> None:
    found = of_generator(tmp_path, value, epochs)

    assert cure in (found.fact("input_generator_cure") or "")
    assert code in (found.fact("input_generator_code") or "")


@pytest.mark.parametrize(("value", "epochs"), [("np.random.rand()", 3), ("row", 1)])
def test_a_generator_of_which_the_source_does_not_tell(
    tmp_path: Path, value: str, epochs: int
) -> None:
    found = of_generator(tmp_path, value, epochs)

    assert "yield whole batches, or compute" in (
        found.fact("input_generator_cure") or ""
    )
    assert "((x, y))" in (found.fact("input_generator_code") or "")


def of_generator(folder: Path, value: str, epochs: int) -> Metrics:
    text = GENERATOR.replace("VALUE", value).replace("EPOCHS", str(epochs))
    (folder / "train.py").write_text(text)
    settings = Settings(source=ProgramSource(folder))
    return trace().steps(2, period=1000).measure(settings)


@pytest.mark.parametrize(
    ("op", "words", "code"),
    [
        ("DecodeJpeg", "Decode that part alone", "decode_and_crop_jpeg(x, [top, left"),
        ("Mul", "Make the map's function cheaper", "dataset.filter(wanted)"),
    ],
)
def test_a_part_of_a_whole_picture(
    tmp_path: Path, op: str, words: str, code: str
) -> None:
    """Where decoding takes less than half of the time, the order matters less."""
    function = "tf.image.random_crop(tf.io.decode_jpeg(x), (8, 9, 3))"
    found = of(tmp_path, function, op=op)

    assert words in (found.fact("input_map_cure") or "")
    assert code in (found.fact("input_map_code") or "")
