"""Steps without markers: found where there is a rhythm, refused where there is none."""

from __future__ import annotations

import gzip
from types import SimpleNamespace

import numpy as np
import pytest
from support.places import FIXTURES
from support.trace_builder import trace

from tfadvisor.timeline.host_build import SELECTION, build_host
from tfadvisor.timeline.steps.periodicity import find_period
from tfadvisor.timeline.timeline_parts import Steps, StepSource
from tfadvisor.trace import compiled_decoder, messages
from tfadvisor.trace.source import Source, open_source

PS = 1_000_000


def periods(steps: Steps) -> list[float]:
    return ((steps.ends - steps.starts) / PS).tolist()


def test_calls_of_the_jitted_function_that_fills_the_device() -> None:
    builder = trace()
    for index in range(5):
        at = index * 100
        builder.call("PjitFunction(log)", at, at + 2).call(
            "PjitFunction(train_step)", at + 10, at + 20
        )
        builder.kernel(
            "GPU:0",
            "fusion",
            at + 30,
            at + 90,
            launched=(at + 12, at + 14),
            hlo_module="jit_train_step",
        )

    steps = builder.timeline().steps

    assert steps.source is StepSource.MODULE
    assert "train_step" in steps.about
    assert periods(steps)[:4] == [100] * 4


@pytest.mark.parametrize(
    ("round_ms", "period"), [(0.0, 10), (0.1, 100), (0.06, 100), (0.01, 10), (7.0, 10)]
)
def test_a_round_of_the_loop_tells_a_step_from_its_parts(
    monkeypatch: pytest.MonkeyPatch, round_ms: float, period: int
) -> None:
    """Eight gradients are clipped one by one in each step of 100 us, which is most of
    the device's work; then comes the update. A round was counted while nothing was
    recorded; one of 7 ms holds many steps, and none of them is as long.
    """
    built = trace()
    for index in range(6):
        for part in range(8):
            at = index * 100 + part * 10
            built.call("PjitFunction(clip)", at, at + 4)
            built.kernel(
                "GPU:0",
                "clip",
                at + 4,
                at + 9,
                launched=(at + 1, at + 2),
                hlo_module="jit_clip",
            )
        at = index * 100 + 85
        built.call("PjitFunction(update)", at, at + 4)
        built.kernel(
            "GPU:0",
            "update",
            at + 4,
            at + 9,
            launched=(at + 1, at + 2),
            hlo_module="jit_update",
        )
    monkeypatch.setattr(
        "tfadvisor.timeline.steps.find.read_samples",
        lambda *_: SimpleNamespace(step="", round_ms=round_ms, loop=None),
    )

    steps = built.timeline().steps

    assert float(np.median(periods(steps))) == period


_KERAS = "/venv/lib/python3.11/site-packages/keras/src/backend/tensorflow/trainer.py"


@pytest.mark.parametrize(
    ("loop", "batches", "is_step"),
    [
        (_KERAS, 0, False),
        (_KERAS, 1, False),
        (_KERAS, 2, True),
        ("/home/me/train.py", 0, True),
    ],
)
def test_the_turns_of_a_layer_are_no_steps_of_a_loop_that_takes_batches(
    monkeypatch: pytest.MonkeyPatch, loop: str, batches: int, is_step: bool
) -> None:
    """A recurrent layer runs four ops for each of five times, one by one, within one
    batch of Keras' fit; with two batches in them the five may be batches.
    """
    built = trace().busy("GPU:0", (0, 1000))
    for index in range(5):
        for position, name in enumerate("abcd"):
            at = index * 100 + position * 10
            built.call(f"PjitFunction({name})", at, at + 5)
        if index < batches:
            built.call("IteratorGetNext", index * 100 + 50, index * 100 + 60)
    monkeypatch.setattr(
        "tfadvisor.timeline.steps.find.read_samples",
        lambda *_: SimpleNamespace(step="", round_ms=0.0, loop=(loop, "fit", 397, 402)),
    )

    steps = built.timeline().steps

    assert (steps.source is StepSource.LAUNCH_PATTERN) is is_step


def test_xprofs_vector_without_markers_has_eight_periods() -> None:
    """XProf finds no step at all here and calls the device 100% idle."""
    builder = trace()
    for index in range(8):
        at = index * 1000
        builder.call("PjitFunction(step)", at + 450, at + 478)
        for number, start in enumerate((480, 580, 680)):
            launch = (at + 451 + number, at + 452 + number)
            builder.kernel(
                "GPU:0",
                f"k{number}",
                at + start,
                at + start + 80,
                launched=launch,
                hlo_module="jit_step",
            )

    steps = builder.timeline().steps

    assert periods(steps)[:7] == [1000] * 7


def test_executions_on_a_tpus_module_line() -> None:
    builder = trace()
    for index in range(4):
        at = index * 50
        builder.on_line("/device:TPU:0", "XLA Modules", f"jit_f({index})", at, at + 45)
        builder.on_line("/device:TPU:0", "XLA Ops", "%fusion.1 = f32[8]", at, at + 45)

    steps = builder.timeline().steps

    assert steps.source is StepSource.MODULE
    assert periods(steps) == [50, 50, 50, 45]


def test_calls_of_a_tf_function() -> None:
    builder = trace().busy("GPU:0", (0, 500))
    for index in range(5):
        builder.call(
            "train_step",
            index * 100 + 10,
            index * 100 + 90,
            tf_function_call="notTraced-nonXla",
        )

    steps = builder.timeline().steps

    assert steps.source is StepSource.MODULE
    assert periods(steps)[:4] == [100] * 4


def test_iterations_of_a_training_loop_inside_one_call() -> None:
    builder = (
        trace()
        .call("train", 0, 400, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    for index in range(4):
        at = index * 100
        builder.call("ExecutorState::Process", at, at + 90, id=5, iter_num=index + 1)
        builder.call("IteratorGetNextOp::DoCompute", at + 1, at + 5).call(
            "dense:MatMul", at + 10, at + 80
        )

    steps = builder.timeline().steps

    assert steps.source is StepSource.HOST_LOOP
    assert periods(steps)[:3] == [100] * 3


def test_a_loop_over_time_steps_of_one_batch_is_no_training_loop() -> None:
    """An RNN iterates 40 times inside one call and takes no batch meanwhile: the call
    is the step.
    """
    builder = (
        trace()
        .call("train", 0, 400, tf_function_call="notTraced-nonXla")
        .thread("tf_Compute/1")
    )
    for index in range(40):
        at = index * 10
        builder.call(
            "ExecutorState::Process", at, at + 9, id=5, iter_num=index + 1
        ).call("cell:MatMul", at + 1, at + 8)

    steps = builder.timeline().steps

    assert steps.source is StepSource.MODULE
    assert periods(steps) == [400]


def test_a_repeated_sequence_of_dispatches() -> None:
    builder = trace().busy("GPU:0", (0, 900))
    for index in range(6):
        for position, name in enumerate(("add", "mul", "add", "dot", "sub")):
            at = index * 150 + position * 10
            builder.call(f"PjitFunction({name})", at, at + 5)

    steps = builder.timeline().steps

    assert steps.source is StepSource.LAUNCH_PATTERN
    assert periods(steps)[:5] == [150] * 5
    assert steps.confidence < 1


def test_a_repeated_sequence_of_kernels_without_any_host() -> None:
    builder = trace()
    for index in range(6):
        for position, name in enumerate(("a", "b", "c", "b")):
            at = index * 200 + position * 20
            builder.busy("GPU:0", (at, at + 15), name=name)

    steps = builder.timeline().steps

    assert steps.source is StepSource.LAUNCH_PATTERN
    assert periods(steps)[:5] == [200] * 5


def test_calls_without_rhythm_are_no_steps() -> None:
    """Unrelated calls of one helper: periods of 5, 400, 30 µs are no training loop."""
    builder = trace().busy("GPU:0", (0, 2000), name="fusion")
    for at in (0, 5, 405, 435, 1900):
        builder.call("PjitFunction(matmul)", at, at + 2)

    steps = builder.timeline().steps

    assert steps.source is StepSource.WHOLE_TRACE
    assert steps.confidence == 0.2


def test_find_period_takes_the_shortest_cycle_that_explains_all() -> None:
    codes = np.array([1, 2, 1, 3] * 8)
    starts = np.arange(len(codes)) * 10
    starts = starts + np.arange(len(codes)) // 4 * 100

    period = find_period(codes, starts, starts + 5)

    assert period is not None
    assert (period.length, period.match) == (4, 1.0)
    assert period.firsts.tolist() == list(range(0, 32, 4))


def test_find_period_refuses_noise() -> None:
    codes = np.random.default_rng(0).integers(0, 50, 400)
    starts = np.arange(400) * 10

    assert find_period(codes, starts, starts + 5) is None


UNMARKED = [
    "tf-healthy-loop",
    "tf-sequential-map",
    "tf-python-map",
    "tf-eager",
    "tf-tiny-ops",
    "tf-retrace",
    "jax-healthy",
    "jax-loader",
    "jax-logging",
    "jax-op-by-op",
]


@pytest.mark.parametrize("name", UNMARKED)
def test_stripping_the_markers_leaves_the_step_time(name: str) -> None:
    """Recorded loops whose markers are renamed away: the inferred median period is
    within 5% of the marked one.
    """
    path = FIXTURES / name / "trace.xplane.pb.gz"
    marked = build_host(compiled_decoder.decode(open_source(path), SELECTION)).steps
    space = messages.XSpace.FromString(gzip.decompress(path.read_bytes()))
    for plane in space.planes:
        for stat in plane.stat_metadata.values():
            if stat.name == b"step_num":
                stat.name = b"not_a_step"
    data = space.SerializeToString()

    inferred = build_host(
        compiled_decoder.decode(
            Source("stripped", memoryview(data), len(data)), SELECTION
        )
    ).steps

    assert inferred.source is not StepSource.WHOLE_TRACE
    assert inferred.source is not StepSource.MARKER
    expected, found = (
        np.median(np.array(periods(steps))[steps.steady()])
        for steps in (marked, inferred)
    )
    assert found == pytest.approx(expected, rel=0.05)


def test_steps_that_slowly_grow_have_a_rhythm() -> None:
    """Periods of 40, 60, 80 … µs: a file that is written anew with one row more each
    time.
    """
    builder, at = trace(), 0.0
    for index in range(12):
        builder.call("PjitFunction(step)", at, at + 5)
        builder.kernel(
            "GPU:0",
            "fusion",
            at + 6,
            at + 30,
            launched=(at + 1, at + 2),
            hlo_module="jit_step",
        )
        at += 40 + 20 * index

    assert periods(builder.timeline().steps)[:3] == [40, 60, 80]


def test_a_host_that_dispatches_in_bursts_leaves_the_rhythm_to_the_device() -> None:
    """Calls come in pairs as the queue has room; the device works through them 50 µs
    each, further and further behind.
    """
    builder = trace()
    for index in range(12):
        at = (index // 2) * 40 + (index % 2) * 2
        builder.call("PjitFunction(step)", at, at + 1)
        began = 100 + index * 50
        builder.kernel(
            "GPU:0",
            "fusion",
            began,
            began + 45,
            launched=(at, at + 1),
            hlo_module="jit_step",
        )

    steps = builder.timeline().steps

    assert steps.source is StepSource.MODULE
    assert periods(steps)[:11] == [50] * 11
