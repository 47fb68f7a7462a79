"""What a host thread is said to do, by the names of the events around an instant: each
row of the table has a chain of its own here.
"""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.host_activities import (
    ACTIVITIES,
    NamedActivity,
    NamedChain,
    named_activity,
    plain,
    row_for,
)
from tfadvisor.vocabulary import TimeClass

TRAIN = "$train.py:42 fit"
SAVE = "$train.py:50 save"
RUN = "EagerLocalExecute: __inference_train_step_13"
STAGE = "Iterator::Root::Prefetch::ParallelMapV2"
SEND = "IteratorGetNext/_3:_Send"

CHAINS = {
    "a stage of the input pipeline": (
        NamedChain(kind=TimeClass.INPUT, stage=STAGE, telling=STAGE),
        NamedActivity("tf.data ParallelMap", "", "", "Prefetch::ParallelMap"),
    ),
    "the start of a compiled function": (
        NamedChain(
            kind=TimeClass.LAUNCH,
            telling="ParseArguments",
            user=TRAIN,
            dispatched="PjitFunction(step)",
        ),
        NamedActivity("dispatches step", "fit (train.py:42)", "fit", ""),
    ),
    "an op outside of compiled functions": (
        NamedChain(kind=TimeClass.LAUNCH, dispatched="EagerLocalExecute: Mul"),
        NamedActivity("ops dispatched one by one", "Mul", "", ""),
    ),
    "a tensor on its way to the device": (
        NamedChain(kind=TimeClass.LAUNCH, user=TRAIN, dispatched=SEND),
        NamedActivity("hands tensors to the device (_Send)", SEND, "", ""),
    ),
    "an op that TensorFlow's executor dispatches": (
        NamedChain(kind=TimeClass.LAUNCH, user=TRAIN, dispatched="dense/MatMul:MatMul"),
        NamedActivity("TensorFlow's executor", "dense/MatMul:MatMul", "", ""),
    ),
    "an op that is compiled": (
        NamedChain(
            kind=TimeClass.COMPILE,
            telling="Autotuning",
            dispatched="dense/MatMul:MatMul",
        ),
        NamedActivity("compiles op MatMul", "Autotuning", "MatMul", ""),
    ),
    "TensorFlow's executor between ops": (
        NamedChain(kind=TimeClass.LAUNCH, leaf="ExecutorState::Process"),
        NamedActivity("TensorFlow's executor", "ExecutorState::Process", "", ""),
    ),
    "a dispatch while nothing is known to be waited for": (
        NamedChain(kind=TimeClass.IDLE, telling="Wait for it", dispatched=RUN),
        NamedActivity("in the call of train_step", "Wait for it", "", ""),
    ),
    "the runtime copying": (
        NamedChain(kind=TimeClass.TRANSFER, telling="H2D Dispatch"),
        NamedActivity("the host's part of copies", "H2D Dispatch", "", ""),
    ),
    "a runtime that waits": (
        NamedChain(kind=TimeClass.HOST, telling="BlockUntilReady", waits=True),
        NamedActivity("waits in BlockUntilReady", "", "", ""),
    ),
    "a function of the user's that waits": (
        NamedChain(
            kind=TimeClass.HOST, telling="BlockUntilReady", user=TRAIN, waits=True
        ),
        NamedActivity("fit (train.py:42)", "waits in BlockUntilReady", "fit", ""),
    ),
    "a function of the user's by itself": (
        NamedChain(kind=TimeClass.HOST, telling=TRAIN, user=TRAIN, called=TRAIN),
        NamedActivity("fit (train.py:42)", "its own lines", "fit", ""),
    ),
    "a function of the user's in what it calls": (
        NamedChain(
            kind=TimeClass.HOST, telling="$io.py:7 write", user=TRAIN, called=SAVE
        ),
        NamedActivity("fit (train.py:42)", "save (train.py:50)", "fit", ""),
    ),
    "an event of a runtime": (
        NamedChain(kind=TimeClass.HOST, telling="FlushSummary"),
        NamedActivity("FlushSummary", "", "", ""),
    ),
}


def test_each_row_has_its_chain_here() -> None:
    assert [row.about for row in ACTIVITIES] == list(CHAINS)


@pytest.mark.parametrize("about", CHAINS)
def test_what_a_thread_is_said_to_do(about: str) -> None:
    chain, expected = CHAINS[about]

    assert row_for(chain).about == about
    assert named_activity(chain) == expected


def test_a_call_without_an_event_inside_it_is_itself() -> None:
    """Nothing runs inside `PjitFunction(step)`, and no function of the user's is
    known.
    """
    call = "PjitFunction(step)"
    chain = NamedChain(kind=TimeClass.COMPILE, telling=call, dispatched=call)

    said = named_activity(chain)

    assert (said.activity, said.detail) == ("compiles step", "the call itself")


def test_a_thread_of_the_pipeline_without_a_stage_runs_its_only_function() -> None:
    """A thread that feeds the pipeline, in Python, while only one stage runs any."""
    chain = NamedChain(
        kind=TimeClass.INPUT,
        user="$data.py:3 decode",
        feeds=True,
        runs_functions="Prefetch::Map",
    )

    assert named_activity(chain) == NamedActivity(
        "tf.data Map", "decode (data.py:3)", "decode", "Prefetch::Map"
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("$threading.py:288 wait", "wait (threading.py:288)"),
        ("PjitFunction(step)", "the call of step"),
        (RUN, "the call of train_step"),
        ("BlockUntilReady", "BlockUntilReady"),
    ],
)
def test_an_event_in_plain_words(name: str, words: str) -> None:
    assert plain(name) == words
