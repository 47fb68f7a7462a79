"""Which calls of the loop take the host's time, and whether they save checkpoints."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace


def beside_the_step(*calls: tuple[str, float, float]) -> TraceBuilder:
    """Four steps of 1,000 µs, each with a dispatch and device work from 0 to 100, and
    these calls (name, from, to).
    """
    builder = trace().call("$train.py:60 main", 0, 4000)
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000).busy("GPU:0", (at, at + 100)).call(
            "PjitFunction(step)", at, at + 90
        )
        for name, start, end in calls:
            builder.call(name, at + start, at + end)
    return builder


def test_a_checkpoint_manager_saves() -> None:
    metrics = beside_the_step(
        ("$checkpoint_manager.py:1334 save", 200, 600), ("$train.py:30 log", 600, 700)
    ).measure()

    assert metrics.fact("longest_host_calls") == (
        "Longest calls: save (checkpoint_manager.py:1334) 40%, log (train.py:30) 10%"
    )


@pytest.mark.parametrize(
    ("inner", "runs", "walks"),
    [
        ("compilation.py:1019 __call__", "yes", "yes"),
        ("extract.py:338 to_tree", "yes", "yes"),
        ("extract.py:12 features", "no", "no"),
    ],
)
def test_a_step_that_takes_flax_modules_apart(
    inner: str, runs: str, walks: str
) -> None:
    """The step's call lasts 500 µs, 400 of them in the function below; its dispatch
    lies behind.
    """
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000).call(
            "$train.py:9 train_step", at + 200, at + 700
        ).call(f"${inner}", at + 210, at + 610)
        builder.call("PjitFunction(step)", at + 650, at + 660)
        builder.kernel(
            "GPU:0",
            "f",
            at + 660,
            at + 760,
            launched=(at + 655, at + 656),
            hlo_module="jit_step",
        )
    builder.call("$train.py:1 main", 0, 4000)
    metrics = builder.measure()

    assert metrics.fact("host_frame_runs_step") == runs


def test_of_a_function_that_holds_the_whole_step_the_calls_inside_it_are_named() -> (
    None
):
    """`advance` lasts 900 µs, 600 of them in describe; below a half, the function
    itself is named.
    """
    for described, named in (
        (600, "describe (train.py:48)"),
        (300, "advance (train.py:9)"),
    ):
        builder = trace()
        for at in range(0, 4000, 1000):
            builder.step(at, at + 1000).call("$train.py:9 advance", at + 50, at + 950)
            builder.call("PjitFunction(step)", at + 60, at + 70)
            builder.kernel(
                "GPU:0",
                "f",
                at + 75,
                at + 125,
                launched=(at + 61, at + 62),
                hlo_module="jit_step",
            )
            builder.call("$train.py:48 describe", at + 200, at + 200 + described)
        builder.call("$train.py:1 main", 0, 4000)

        assert builder.measure().fact("host_frame") == named


def test_without_frames() -> None:
    metrics = trace().steps(4, period=1000).busy("GPU:0", (0, 100)).measure()

    assert metrics.fact("longest_host_calls") == "The trace does not name its calls"
