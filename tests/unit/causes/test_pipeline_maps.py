"""Maps and generators of tf.data pipelines: whether they give the same in each epoch,
and what stands behind them.
"""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tfadvisor.causes import PipelineGenerator, PipelineMap
from tfadvisor.causes.pipeline_maps import pipeline_generators, pipeline_maps
from tfadvisor.causes.source_files import ParsedFile

PROGRAM = """\
import numpy as np
import tensorflow as tf
EPOCHS = 5
MEL = tf.signal.linear_to_mel_weight_matrix(64, 257)
rng = np.random.default_rng(0)
mix = tf.keras.Sequential([tf.keras.layers.RandomFlip()])
scale = tf.keras.layers.Normalization()
count = 0
def helper(x):
    HELPS
def prepare(x, y):
    BODY
def make(x, y):
    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    STAGES
    return dataset.batch(32).prefetch(2)
model.fit(make(x, y), epochs=EPOCHS)
"""
SAME = "return tf.abs(tf.signal.stft(x, 512, 64)) @ MEL, y"
PLAIN = "dataset = dataset.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)"


def parsed(source: str) -> ParsedFile:
    text = dedent(source)
    lines = tuple(text.splitlines())
    return ParsedFile(ast.parse(text), lines, "same", file="train.py")


def one(
    body: str = SAME,
    stages: str = PLAIN,
    helps: str = "return x",
    program: str = PROGRAM,
) -> PipelineMap:
    lines = {"HELPS": helps, "BODY": body, "STAGES": stages}
    for word, text in lines.items():
        program = program.replace(word, text.replace("\n", "\n    "))
    (found,) = pipeline_maps([parsed(program)])
    return found


def generators(source: str) -> list[PipelineGenerator]:
    return [*pipeline_generators([parsed(source)])]


def test_a_map_that_gives_the_same_in_each_epoch() -> None:
    found = one()

    assert (found.file, found.line, found.function) == ("train.py", 15, "prepare")
    assert found.is_same
    assert found.comes_again
    assert found.feeds_batch
    assert not found.is_cheap


@pytest.mark.parametrize(
    "body",
    [
        "return tf.cast(helper(x), tf.float32) / 255.0, y",
        "return scale(x), y",
        "return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(x)), (64, 64)), y",
        "return tf.numpy_function(helper, [x], tf.float32), y",
        "return tf.strings.lower(x), y",
    ],
)
def test_functions_that_give_the_same(body: str) -> None:
    assert one(body).is_same


@pytest.mark.parametrize(
    "body",
    [
        "return tf.image.random_flip_left_right(x), y",
        "return tf.image.stateless_random_crop(x, (8, 8, 3), (1, 2)), y",
        "return x + tf.random.normal(x.shape), y",
        "return x + rng.normal(size=4), y",
        "return mix(x, training=True), y",
        "return tf.nn.dropout(x, 0.5), y",
        "return model(x), y",
        "return x * weights, y",
        "return unknown(x), y",
        "global count\ncount += 1\nreturn x + count, y",
        "return helper(x), y",
        "return tf.numpy_function(helper, [x], tf.float32), y",
        "def inner(z):\n    return tf.random.uniform(z)\nreturn tf.map_fn(inner, x), y",
    ],
)
def test_functions_that_may_change(body: str) -> None:
    assert not one(body, helps="return x + np.random.rand()").is_same


OBJECTS = """\
import albumentations as A
turn = A.Compose([A.Rotate()])
names = {"a": 1}
class Noise:
    def __init__(self, by, table):
        self.by, self.table = by, table
    def add(self, x):
        return x + np.random.rand()
    def halve(self, x):
        return x / self.by
noise = Noise(2, {})
"""


@pytest.mark.parametrize(
    ("body", "is_same"),
    [
        ("return turn.process(x), y", False),
        ("return noise.add(x), y", False),
        ("return noise.other(x), y", False),
        ("return noise.halve(x), y", True),
        ("return noise.table.apply(x), y", False),
        ("return x.numpy() * names.get(y, 0), y", True),
    ],
)
def test_methods_of_objects_that_the_function_does_not_make(
    body: str, *, is_same: bool
) -> None:
    """An object of another package, or of a class whose method draws, may change."""
    program = PROGRAM.replace("def helper", f"{OBJECTS}def helper")

    assert one(body, program=program).is_same is is_same


@pytest.mark.parametrize(
    "stages",
    [
        f"dataset = dataset.shuffle(9).repeat()\n{PLAIN}",
        f"{PLAIN}.shuffle(9)",
        f"dataset = dataset.map(lambda a, b: (a * 2, b)).prefetch(1)\n{PLAIN}",
    ],
)
def test_what_may_stand_before_it(stages: str) -> None:
    text = PROGRAM.replace("HELPS", "return x").replace("BODY", SAME)
    maps = pipeline_maps(
        [parsed(text.replace("STAGES", stages.replace("\n", "\n    ")))]
    )

    found = maps[-1]
    assert found.function == "prepare"
    assert found.is_same
    assert found.comes_again


@pytest.mark.parametrize(
    "stages",
    [
        f"dataset = dataset.map(lambda a, b: (tf.image.random_hue(a, 1), b))\n{PLAIN}",
        f"dataset = dataset.shuffle(9).take(3)\n{PLAIN}",
        f"dataset = dataset.shuffle(9).batch(3)\n{PLAIN}",
        f"dataset = tf.data.Dataset.sample_from_datasets([a, b])\n{PLAIN}",
    ],
)
def test_what_changes_before_it(stages: str) -> None:
    text = PROGRAM.replace("HELPS", "return x").replace("BODY", SAME)
    maps = pipeline_maps(
        [parsed(text.replace("STAGES", stages.replace("\n", "\n    ")))]
    )

    assert not maps[-1].is_same


@pytest.mark.parametrize(
    "stages",
    [
        f"{PLAIN}.cache()",
        f"dataset = dataset.cache()\n{PLAIN}",
        f"for shard in shards:\n    {PLAIN}",
    ],
)
def test_what_is_cached_already_or_made_anew(stages: str) -> None:
    assert not one(stages=stages).comes_again


@pytest.mark.parametrize(
    ("fit", "again"),
    [
        ("model.fit(make(x, y), epochs=1)", False),
        ("model.fit(make(x, y))", False),
        ("model.fit(make(x, y), epochs=unknown)", False),
        ("model.fit(make(x, y).repeat(), steps_per_epoch=9)", True),
        ("for epoch in range(3):\n    for b in data: step(b)\ndata = make(x, y)", True),
        ("for epoch in range(3):\n    for b in make(x, y): step(b)", False),
        ("def main(n):\n    model.fit(make(x, y), epochs=n)\nmain(n=4)", True),
        (
            "p.add_argument('--epochs', default=8)\na = p.parse_args()\n"
            "model.fit(make(x, y), epochs=a.epochs)",
            True,
        ),
        ("model.fit(make(x, y), epochs=int(os.environ.get('EPOCHS', '9')))", True),
        ("model.fit(make(x, y), epochs=int(os.environ.get('EPOCHS', '²')))", False),
        (f"model.fit(make(x, y), epochs=int('{'9' * 5000}'))", False),
        ("EPOCHS = EPOCHS\nmodel.fit(make(x, y), epochs=EPOCHS)", False),
    ],
)
def test_how_often_the_source_shows_that_it_runs(fit: str, *, again: bool) -> None:
    program = PROGRAM.replace("model.fit(make(x, y), epochs=EPOCHS)", fit)

    assert one(program=program).comes_again is again


@pytest.mark.parametrize(
    ("body", "is_cheap"),
    [
        ("return tf.clip_by_value((tf.math.log1p(x) - 1) / 2, -4.0, 4.0), y", True),
        ("x = tf.square(x)\nreturn tf.concat([x, x], axis=0), y", True),
        ("return x / 255.0, y", True),
        ("return tf.reduce_mean(x), y", False),
        ("return tf.image.resize(x, (8, 8)), y", False),
        ("return helper(x), y", False),
        (SAME, False),
    ],
)
def test_functions_that_work_on_numbers_alone(body: str, *, is_cheap: bool) -> None:
    assert one(body).is_cheap is is_cheap


def test_a_map_behind_the_batch() -> None:
    assert not one(stages=f"dataset = dataset.batch(8)\n{PLAIN}").feeds_batch


def test_maps_of_other_things() -> None:
    source = """
        import jax
        frame["x"] = frame["x"].map(scale)
        with Pool() as pool: rows = pool.map(load, paths)
        grads = jax.tree.map(lambda g: g.mean(0), grads)
    """
    assert pipeline_maps([parsed(source)]) == ()


GENERATOR = """\
import numpy as np
import tensorflow as tf
def features(doc):
    return np.array([ord(c) for c in doc])
def samples():
    BODY
data = tf.data.Dataset.from_generator(samples, output_signature=spec).batch(8)
model.fit(data, epochs=EPOCHS)
"""


@pytest.mark.parametrize(
    ("body", "is_same"),
    [
        ("for doc in DOCS: yield features(doc)", True),
        (
            "for i in np.random.default_rng(1).permutation(9): yield features(DOCS[i])",
            True,
        ),
        ("for i in np.random.permutation(9): yield features(DOCS[i])", True),
        ("for doc in DOCS: yield features(doc) + np.random.rand()", False),
        ("for doc in DOCS: yield features(env.step(doc))", False),
        ("for i in np.random.randint(0, 9, 9): yield features(DOCS[i])", False),
    ],
)
def test_generators_that_give_the_same(body: str, *, is_same: bool) -> None:
    head = "EPOCHS, DOCS = 4, ['a', 'b']\nenv = gym.make('a')\n"
    (found,) = generators(head + GENERATOR.replace("BODY", body))

    assert found.is_same is is_same
    assert found.comes_again
    assert not found.reads_files


def test_a_generator_that_reads_files() -> None:
    body = "for path in PATHS: yield np.load(path)"
    (found,) = generators(
        "EPOCHS, PATHS = 4, ['a']\n" + GENERATOR.replace("BODY", body)
    )

    assert found.reads_files
    assert found.is_same


def test_numbers_of_many_names_are_told_soon() -> None:
    """Each name is a sum of the next ones: 30 ** 10 ways, were each asked again."""
    sums = "\n".join(
        f"a{n} = {' + '.join(f'a{n + k}' for k in range(1, 31))}" for n in range(60)
    )
    fit = f"{sums}\nmodel.fit(make(x, y), epochs=a0)"

    program = PROGRAM.replace("model.fit(make(x, y), epochs=EPOCHS)", fit)

    assert not one(program=program).comes_again
