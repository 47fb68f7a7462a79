"""Accounts of programs on paper, of which it is known where their time goes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from random import Random

import pytest
from msgspec.structs import replace
from support.stacks import sampled

from tfadvisor.causes import NoAccount, RunAccount, RunPart, account_of
from tfadvisor.causes.account import (
    BUILDING,
    FIRST_BATCH,
    FREEING,
    LONG_PAUSES,
    LONG_STAYS,
    WAITING,
)
from tfadvisor.causes.loop_levels import Pace
from tfadvisor.causes.sampled_stacks import stacks_of
from tfadvisor.timeline.host import BufferFill
from tfadvisor.timeline.names.stack_frames import Work
from tfadvisor.trace.samples import VERSION, Samples
from tfadvisor.units import PS_PER_MS, duration

MAIN = "train.py:<module>:90 train.py:main"
ASKS = "tensorflow/data/ops/iterator_ops.py:__next__:826"
BEGINS = "tensorflow/data/ops/iterator_ops.py:_create_iterator:748"
RUNS = "tensorflow/eager/execute.py:quick_execute:53"
TURN = [(f"{MAIN}:42 {RUNS}", 3), (f"{MAIN}:43", 1), (f"{MAIN}:41 {ASKS}", 1)]
"""Line 42 is the step, 43 reads its loss, 41 asks for the next batch: 50 ms."""
STEP_MS = 50.0
INSTALLED = "/venv/lib/python3.11/site-packages/"
JAX = f"{INSTALLED}jax/_src/pjit.py:cache_miss:340"


def part(account: RunAccount, what: str) -> RunPart:
    return next(part for part in account.parts if part.what == what)


def shares(account: RunAccount) -> dict[str, float]:
    return {
        part.what: pytest.approx(part.fraction, abs=0.005) for part in account.parts
    }


def test_a_loop_alone_is_steps() -> None:
    """40 turns of 5 samples are 2 s, all of it steps."""
    account = account_of(sampled(40 * TURN), STEP_MS)

    assert [(part.what, part.fraction) for part in account.parts] == [("steps", 1.0)]
    assert account.steps == 1.0
    assert account.seconds == pytest.approx(2.0)


def test_what_runs_between_epochs_is_named_by_the_programs_function() -> None:
    """Each of 4 epochs: 20 turns, 100 samples, then 25 in evaluate, called at line 45:
    100 of 500 samples, 4 times 250 ms.
    """
    evaluate = [(f"{MAIN}:45 eval.py:evaluate:{7 + turn % 2}", 1) for turn in range(25)]
    account = account_of(sampled(4 * (20 * TURN + evaluate)), STEP_MS)

    assert shares(account) == {"steps": 0.8, "evaluate": 0.2}
    found = part(account, "evaluate")
    assert (found.kind, found.turns, found.seen) == ("other", 4, 100)
    assert found.seconds == pytest.approx(1.0)
    assert [(place.file, place.line, place.function) for place in found.places] == [
        ("train.py", 45, "main")
    ]


def test_what_runs_inside_of_the_loop_now_and_then_is_told_apart() -> None:
    """Every 10 turns of 5 samples, 25 in line 44, which is in the loop itself."""
    saves = [(f"{MAIN}:44 keep.py:keep:5", 25)]
    account = account_of(sampled(8 * (10 * TURN + saves)), STEP_MS)

    assert shares(account) == {"steps": 2 / 3, "keep": 1 / 3}
    assert part(account, "keep").turns == 8


@pytest.mark.parametrize(
    ("calls", "kind", "inside"),
    [
        ("numpy/lib/_npyio_impl.py:__getitem__:239", "loading", "reading files"),
        ("PIL/Image.py:save:2592", "pictures", "encoding pictures"),
    ],
)
def test_what_the_programs_function_does_by_a_library_is_its_kind(
    calls: str, kind: str, inside: str
) -> None:
    """Every 10 turns of 5 samples, 25 in piece, which line 44 calls: 20 of them in the
    library.
    """
    piece = f"{MAIN}:44 train.py:piece:7"
    mixed = [(f"{piece} {INSTALLED}{calls}", 20), (piece, 5)]
    account = account_of(sampled(8 * (10 * TURN + mixed)), STEP_MS)

    found = part(account, "piece")
    assert (found.kind, found.turns, found.seen) == (kind, 8, 200)
    assert [(inner.what, inner.seen) for inner in found.parts] == [
        (inside, 160),
        ("piece (train.py:7)", 40),
    ]


def test_a_long_read_in_some_of_the_steps_is_named_for_the_function_that_reads() -> (
    None
):
    """Line 41 reads for one sample in each turn of 5, and for 40 after each 40 turns:
    320 of 8 * 244 samples.
    """
    reads = f"{MAIN}:41 data.py:load:7 {INSTALLED}numpy/lib/_npyio_impl.py:load:400"
    step = [(f"{MAIN}:42 {RUNS}", 3), (f"{MAIN}:43", 1)]
    epoch = 40 * [*step, (reads, 1)] + [*step, (reads, 40)]
    account = account_of(sampled(8 * epoch), STEP_MS)

    found = part(account, "load")
    assert (found.kind, found.turns, found.seen) == ("loading", 8, 320)
    assert shares(account) == {"steps": 1632 / 1952, "load": 320 / 1952}


def test_what_each_of_many_fast_steps_does_did_not_come_once() -> None:
    """Each turn of 50 ms saves for 20 ms of them, never 50 ms apart: how often samples
    cannot tell, and a longer run has more of it.
    """
    saves = f"{MAIN}:43 {INSTALLED}numpy/lib/_npyio_impl.py:save:500"
    turns = 40 * [(f"{MAIN}:42 {RUNS}", 3), (saves, 2)]
    turns[-1] = saves.replace(":43", ":42"), 2  # a sample may see the line before
    account = account_of(sampled(turns), STEP_MS)

    assert shares(account) == {"steps": 0.6, "saving": 0.4}
    found = part(account, "saving")
    assert found.turns is None
    assert [place.line for place in found.places] == [43]
    assert account.lasting == account


@pytest.mark.parametrize(
    ("function", "steps"), [("on_epoch_end", 0.5), ("summarize", 1.0)]
)
def test_what_keras_calls_at_each_epochs_end_comes_again(
    function: str, steps: float
) -> None:
    """A file is read once, as long as all steps take: a longer run has more of it only
    where it is read at each epoch's end.
    """
    reads = f"data.py:{function}:9 {INSTALLED}numpy/lib/_npyio_impl.py:load:400"
    turns = 40 * [(f"{MAIN}:42 {RUNS}", 3), (f"{MAIN}:43", 2)]
    account = account_of(sampled([*turns, (f"{MAIN}:44 {reads}", 200)]), STEP_MS)

    assert account.lasting.steps == steps


def test_the_loop_of_a_list_comprehension_is_known_by_its_lines() -> None:
    """Before Python 3.12 it has a frame of its own, as every other of the file: ten
    steps on line 79, then validate on line 80 decodes for three times as long, going
    round on lines 24 and 30.
    """
    module = "train.py:<module>"
    steps = (f"{module}:79 train.py:<listcomp>:79 {RUNS}", 20)
    decode = f"{module}:80 train.py:validate:61 train.py:<listcomp>:61 train.py:decode"
    decodes = 20 * [(f"{decode}:24", 2), (f"{decode}:30", 1)]
    script = 5 * [steps, *decodes]

    account = account_of(
        sampled(script, loop=("/home/me/train.py", "<listcomp>", 78, 80)), STEP_MS
    )

    assert shares(account) == {"steps": 0.25, "validate": 0.75}


def test_files_are_named_for_the_function_that_reads_them() -> None:
    """Every 10 turns, line 44 calls evaluate, which reads by load for 20 samples of 25:
    only load can be called ahead.
    """
    evaluate = f"{MAIN}:44 eval.py:evaluate:7"
    reads = f"{evaluate} data.py:load:3 {INSTALLED}numpy/lib/_npyio_impl.py:load:400"
    account = account_of(
        sampled(8 * (10 * TURN + [(reads, 20), (evaluate, 5)])), STEP_MS
    )

    found = part(account, "load")
    assert found.kind == "loading"
    assert [place.words for place in found.places] == ["load (data.py:3)"]


def test_what_compiles_is_named_by_the_line_that_calls_it() -> None:
    """Every 10 turns of 5 samples, 25 in line 7 of score, which line 44 calls: nine of
    them trace line 3 of the program's own net, and so do two at line 8.
    """
    score = f"{MAIN}:44 eval.py:score:7 {INSTALLED}{COMPILES}"
    traces = f"{score} eval.py:net:3"
    compiles = [(score, 14), (traces, 9), (traces.replace(":7", ":8"), 2)]
    account = account_of(sampled(8 * (10 * TURN + compiles)), STEP_MS)

    found = part(account, "compiling")
    assert [place.words for place in found.places] == ["score (eval.py:7)"]


def met(under_way: Callable[[float], str], seed: int) -> Samples:
    """A program for 15 s, by what it is in at each ms: the time between two samples is
    drawn, 10 ms on average, as py-spy does.
    """
    chance = Random(seed)
    at_ms = list(accumulate(chance.expovariate(1 / 10) for _ in range(1500)))
    samples = sampled([(under_way(one), 1) for one in at_ms])
    rows = [
        (int(1000 * one), *row[1:])
        for one, row in zip(at_ms, samples.samples, strict=True)
    ]
    ended_ns = samples.began_ns + int(1e6 * at_ms[-1])
    return replace(samples, samples=tuple(rows), ended_ns=ended_ns)


@pytest.mark.parametrize("seed", range(5))
def test_a_short_pause_after_each_hundred_short_steps_is_no_step(seed: int) -> None:
    """A round of 46 ms: 100 steps of 0.3 ms, 0.2 of them in line 42 and 0.1 in 43, and
    16 ms in evaluate, which is met once or twice in a row, as a part of each step might
    be, but not again within 30 ms: 16 of 46.
    """

    def under_way(at_ms: float) -> str:
        in_round = at_ms % 46
        if in_round >= 30:
            return f"{MAIN}:44 eval.py:evaluate:7"
        return f"{MAIN}:{42 if in_round % 0.3 < 0.2 else 43}"

    account = account_of(met(under_way, seed), 0.3)

    evaluate = part(account, "evaluate").fraction
    assert evaluate == pytest.approx(16 / 46, abs=0.04)
    assert account.steps == pytest.approx(1 - evaluate)


def test_a_wait_of_fifty_steps_in_the_step_itself_is_no_step() -> None:
    """A step, then 6 epochs, each with one that waits for 2.5 s, where they take 50 ms, and 39 that
    do not; nothing shows what it waits for. One of 1 s is a slow step.
    """
    fills = [(f"{MAIN}:42 {RUNS}", 250), *TURN[1:]]
    slow = [(f"{MAIN}:42 {RUNS}", 100), *TURN[1:]]
    account = account_of(sampled(TURN + 6 * (fills + 38 * TURN + slow)), STEP_MS)

    filling = 6 * 250 / (5 + 6 * (252 + 38 * 5 + 102))
    assert shares(account) == {
        "long pauses in the step": filling,
        "steps": 1 - filling,
    }
    assert part(account, "long pauses in the step").turns == 6


@pytest.mark.parametrize("step_ms", [0.3, 1.0, 4.0, 9.0])
def test_a_part_of_each_short_step_is_a_step(step_ms: float) -> None:
    """A third of each is in evaluate."""

    def under_way(at_ms: float) -> str:
        in_evaluate = at_ms % step_ms >= step_ms * 2 / 3
        return f"{MAIN}:44 eval.py:evaluate:7" if in_evaluate else f"{MAIN}:42"

    assert account_of(met(under_way, 7), step_ms).steps == 1.0


@pytest.mark.parametrize(
    ("calls", "what", "kind"),
    [
        ("tensorflow/checkpoint/checkpoint_management.py:save:9", "saving", "saving"),
        ("keras/trainers/trainer.py:evaluate:9", "evaluation", "evaluation"),
        ("keras/callbacks/tensorboard.py:on_epoch_end:9", "logging", "logging"),
    ],
)
def test_a_part_is_named_by_what_a_library_does_inside(
    calls: str, what: str, kind: str
) -> None:
    """The program calls it `step`, which says nothing. 25 of 125 samples."""
    script = 4 * (20 * TURN + [(f"{MAIN}:45 train.py:step:5 {calls}", 25)])
    account = account_of(sampled(script), STEP_MS)

    assert shares(account) == {"steps": 0.8, what: 0.2}
    assert part(account, what).kind == kind


def test_a_users_name_is_no_evidence() -> None:
    """A function called save_checkpoint in which no library saves."""
    script = 4 * (20 * TURN + [(f"{MAIN}:45 train.py:save_checkpoint:5", 25)])
    account = account_of(sampled(script), STEP_MS)

    assert part(account, "save_checkpoint").kind == "other"


def test_the_first_batch_of_each_epoch_is_no_step() -> None:
    """The iterator is made anew, then its first batch takes 100 samples, as long as 20
    turns; these ask for theirs within 10 ms, the last right before it: 101 of 200.
    """
    refill = [(f"{MAIN}:41 {BEGINS}", 1), (f"{MAIN}:41 {ASKS}", 99)]
    account = account_of(sampled(4 * (20 * TURN + refill)), STEP_MS)

    assert shares(account) == {"steps": 0.495, FIRST_BATCH: 0.505}
    found = part(account, FIRST_BATCH)
    assert (found.kind, found.turns) == ("input", 4)
    assert found.places[0].line == 41


@pytest.mark.parametrize(
    ("fill_ms", "is_named"), [(302, False), (303, True), (1_515, True), (1_516, False)]
)
def test_a_buffer_that_fills_for_much_of_the_first_batch_is_named(
    fill_ms: int, is_named: bool
) -> None:
    """It takes 1.01 s in each of four epochs, as above: 0.3 of it to 1.5 times."""
    refill = [(f"{MAIN}:41 {BEGINS}", 1), (f"{MAIN}:41 {ASKS}", 99)]
    fill = BufferFill(2_500, "Map", fill_ms * PS_PER_MS)
    account = account_of(sampled(4 * (20 * TURN + refill)), STEP_MS, fill=fill)

    took = duration(fill_ms)
    words = f"a shuffle buffer of 2,500 elements, for which Map takes {took}"
    assert part(account, FIRST_BATCH).fills == (words if is_named else "")
    assert account.parts[0].fills == ""


def test_a_first_batch_that_waits_in_the_step_itself_is_told_apart() -> None:
    """Keras asks for batches inside of its compiled function. Turns of 5 samples are in
    it for 4, then in a callback for 1; of each epoch 160 samples are one call. The
    first epoch's come before the first step: 5 × 160 of 96 + 5 × 257.
    """
    fit = "train.py:<module>:46 keras/backend/trainer.py:fit"
    begins = (f"{fit}:397 keras/trainers/epoch_iterator.py:__iter__:111 {BEGINS}", 1)
    turn = [
        (f"{fit}:399 {RUNS}", 4),
        (f"{fit}:400 keras/callbacks/callback.py:on:1", 1),
    ]
    epoch = [begins, (f"{fit}:399 {RUNS}", 160), *turn[1:], *19 * turn]
    account = account_of(sampled(6 * epoch), STEP_MS)

    assert account.steps == pytest.approx(581 / 1381, abs=0.002)
    found = part(account, "first step of each epoch")
    assert found.fraction == pytest.approx(800 / 1381, abs=0.002)
    assert found.places[0].line == 46


FIT = "train.py:<module>:46 keras/backend/trainer.py:fit"
AT_ITS_END = f"{FIT}:438 keras/callbacks/callback_list.py:on_epoch_end:171"
KERAS_TURN = [
    (f"{FIT}:399 {RUNS}", 4),
    (f"{FIT}:400 keras/callbacks/callback_list.py:on_train_batch_end:198", 1),
]


def test_the_end_of_an_epoch_is_no_step_though_it_takes_more_than_the_steps() -> None:
    """An epoch: 10 turns of 5 samples, then 120 in a callback of the program: 480 of
    680, named by its function and line.
    """
    callback = (f"{AT_ITS_END} train.py:on_epoch_end:40", 120)
    account = account_of(sampled(4 * [*10 * KERAS_TURN, callback]), STEP_MS)

    assert shares(account) == {"steps": 200 / 680, "on_epoch_end": 480 / 680}
    found = part(account, "on_epoch_end")
    assert (found.kind, found.turns) == ("epoch", 4)
    assert [(place.file, place.line) for place in found.places] == [("train.py", 40)]


def test_predict_at_the_end_of_an_epoch_says_what_builds_its_pipelines() -> None:
    """60 of the callback's 120 samples begin a pipeline, 20 run the model."""
    predict = f"{AT_ITS_END} train.py:on_epoch_end:40 keras/backend/trainer.py:predict"
    turns = 20 * [
        (f"{predict}:560 {BEGINS}", 3),
        (f"{predict}:570 {RUNS}", 1),
        (f"{AT_ITS_END} train.py:on_epoch_end:41", 2),
    ]
    account = account_of(sampled(4 * [*10 * KERAS_TURN, *turns]), STEP_MS)

    found = part(account, "predict")
    assert (found.kind, found.seen, found.places[0].line) == ("prediction", 480, 40)
    assert [(share.kind, share.seen) for share in found.parts] == [
        ("building", 240),
        ("other", 160),
        ("other", 80),
    ]


def test_what_keras_saves_at_the_end_of_an_epoch_is_saving() -> None:
    saves = f"{AT_ITS_END} keras/callbacks/model_checkpoint.py:_save_model:9"
    account = account_of(sampled(4 * [*10 * KERAS_TURN, (saves, 120)]), STEP_MS)

    assert part(account, "saving").fraction == pytest.approx(480 / 680, abs=0.005)


TENSORFLOWS = ("keras/backend/trainer.py", "keras/backend/tensorflow/trainer.py")


def on_tensorflow(script: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return [(calls.replace(*TENSORFLOWS), count) for calls, count in script]


def test_an_iterator_that_keras_frees_before_each_epoch_is_named() -> None:
    """60 samples in fit itself, in no call, before each of 6 epochs of 100; the first
    60 come before the steps. Of a trainer that is not TensorFlow's nothing is known.
    """
    script = 6 * [(f"{FIT}:397", 60), *20 * KERAS_TURN]

    found = part(account_of(sampled(on_tensorflow(script)), STEP_MS), FREEING)
    assert (found.kind, found.seen, found.places[0].line) == ("input", 300, 46)
    (other,) = account_of(sampled(script), STEP_MS).outside
    assert (other.what, other.seen) == ("train.py:46", 300)


@pytest.mark.parametrize(
    ("recorded", "seen"),
    [([], 300), ([(70, 90)], 240), ([(70, 90), (110, 150)], 240), ([(230, 240)], 240)],
)
def test_the_first_slow_freeing_behind_a_profilers_window_is_the_profilers(
    recorded: list[tuple[int, int]], seen: int
) -> None:
    """As above: of 5 such stretches of 60 samples the one behind a window is left out,
    whose thread of tf.data may sleep because it was recorded.
    """
    script = on_tensorflow(6 * [(f"{FIT}:397", 60), *20 * KERAS_TURN])

    account = account_of(sampled(script, recorded=recorded), STEP_MS)

    assert part(account, FREEING).seen == seen
    assert account.left_out >= (300 - seen) / 100


def test_where_each_slow_freeing_is_behind_a_window_none_is_told() -> None:
    """Two epochs, a window in the first."""
    script = on_tensorflow([*40 * KERAS_TURN, (f"{FIT}:397", 60), *40 * KERAS_TURN])
    windows = [(100, 120)]

    assert FREEING in shares(account_of(sampled(script), STEP_MS))
    told = account_of(sampled(script, recorded=windows), STEP_MS)
    assert shares(told) == {"steps": 1.0}


def test_a_line_and_its_comprehension_are_one_statement() -> None:
    """Before Python 3.12 a comprehension is a function of its own: 6 samples of a turn
    of 10 are on line 61, 2 in its call and 4 in that.
    """
    runs, (ends, _) = KERAS_TURN
    calls = f"{ends} train.py:on_train_batch_end:61"
    inside = f"{calls} train.py:<listcomp>:61"
    account = account_of(sampled(60 * [runs, (calls, 2), (inside, 4)]), 100.0)

    (steps,) = account.parts
    (line,) = (each for each in steps.statements if each.places[0].line == 61)
    assert line.fraction == pytest.approx(0.6, abs=0.005)
    assert line.places[0].function == "on_train_batch_end"
    (share,) = (each for each in steps.parts if each.places[0].line == 61)
    assert share.fraction == pytest.approx(0.6, abs=0.005)


def test_short_steps_between_long_predictions_and_freed_iterators_are_steps() -> None:
    """An epoch: 10 turns of 5 samples, predict for 500, and 60 in which fit frees its
    iterator.
    """
    predicts = f"{AT_ITS_END} train.py:on_epoch_end:40 keras/backend/trainer.py:predict"
    epoch = [*10 * KERAS_TURN, (f"{predicts}:570 {RUNS}", 500), (f"{FIT}:397", 60)]
    account = account_of(sampled(on_tensorflow(6 * epoch)), STEP_MS)

    epochs = part(account, "predict").seen / 500
    assert part(account, FREEING).seen == 60 * epochs
    assert part(account, "steps").seen == pytest.approx(50 * epochs, abs=15)


def test_an_iterator_that_is_freed_once_fit_has_returned_is_named() -> None:
    """The program calls fit for each of 6 epochs of 50 samples; what wraps it is in no
    call for 60 more. 5 samples there are the wrapper's own.
    """
    wrapper = "keras/utils/traceback_utils.py:error_handler"
    turns = [
        (calls.replace(" keras/backend", f" {wrapper}:117 keras/backend"), count)
        for calls, count in 10 * KERAS_TURN
    ]
    returns = f"train.py:<module>:46 {wrapper}:117"

    freed = account_of(sampled(on_tensorflow(6 * [*turns, (returns, 60)])), STEP_MS)
    assert part(freed, FREEING).seen == 360
    short = account_of(sampled(on_tensorflow(6 * [*turns, (returns, 5)])), STEP_MS)
    assert FREEING not in shares(short)


def test_a_thread_that_sleeps_all_the_time_waits_once() -> None:
    """Of 60 samples in one stack 20 are a wait, the others turns that pass there: 3
    times 200 ms of 1.6 s. Where no epoch begins it is a slow step.
    """
    fit = "train.py:<module>:46 keras/backend/trainer.py:fit"
    calls = f"{fit}:400 keras/callbacks/callback.py:on:1"
    turn = [(f"{fit}:399 {RUNS}", 9), (calls, 1)]
    epoch = [*10 * turn, (f"{fit}:399 {RUNS}", 60)]
    begins = f"{fit}:397 keras/trainers/epoch_iterator.py:__iter__:111 {BEGINS}"
    anew = [*10 * turn, (begins, 1), (f"{fit}:399 {RUNS}", 59)]
    asleep = [(1_600_000 * n + 1_010_000, 1_600_000 * n + 1_210_000) for n in range(3)]
    account = account_of(sampled(3 * anew, asleep=asleep), 10.0)
    unknown = account_of(sampled(3 * anew), 10.0)
    slow = account_of(sampled(3 * epoch, asleep=asleep), 10.0)

    assert part(account, "first step of each epoch").turns == 3
    assert part(account, "first step of each epoch").fraction == pytest.approx(1 / 8)
    assert unknown.steps == 1.0
    assert slow.steps == 1.0


def test_waits_that_follow_a_request_for_a_batch_now_and_then_begin_epochs() -> None:
    """8 epochs of 1.6 s, each with a wait of 200 ms in the step. Of these 3 come right
    after a sample in which the loop asks for a batch, which it is met in at no other
    time. Where it is met so often that it comes before each step, they are slow steps.
    """
    fit = "train.py:<module>:46 keras/backend/trainer.py:fit"
    step, calls = f"{fit}:399 {RUNS}", f"{fit}:400 keras/callbacks/callback.py:on:1"
    asks = f"{fit}:397 keras/trainers/epoch_iterator.py:_enumerate:111 {ASKS}"
    turn = [(step, 9), (calls, 1)]
    asked = [*10 * turn, (asks, 1), (step, 59)]
    missed = [*10 * turn, (step, 60)]
    asking = [(asks, 1), (step, 8), (calls, 1)]
    often = [*10 * asking, (asks, 1), (step, 59)]
    asleep = [(1_600_000 * n + 1_010_000, 1_600_000 * n + 1_210_000) for n in range(8)]

    epochs = account_of(sampled(3 * asked + 5 * missed, asleep=asleep), 10.0)
    slow = account_of(sampled(8 * often, asleep=asleep), 10.0)

    found = part(epochs, "first step of each epoch")
    assert (found.kind, found.turns) == ("input", 8)
    assert found.fraction == pytest.approx(1 / 8)
    assert slow.steps == 1.0


def test_a_wait_behind_a_printed_line_begins_no_epoch() -> None:
    """Every 10 turns a value is printed; the next call of the step then waits for 400
    ms. Nothing asks for batches, so that it is a slow step.
    """
    turn = [(f"{MAIN}:42 {JAX}", 3), (f"{MAIN}:43", 2)]
    shown = [(f"{MAIN}:44 {INSTALLED}jax/_src/array.py:_value:637", 20)]
    script = [*10 * turn, *shown, (f"{MAIN}:42 {JAX}", 40)]
    asleep = [(1_100_000 * n + 710_000, 1_100_000 * n + 1_090_000) for n in range(8)]
    account = account_of(sampled(8 * script, asleep=asleep), 50.0)

    assert list(shares(account)) == ["steps", WAITING]


def test_compiling_inside_of_the_steps_line_is_no_step() -> None:
    """50 samples of 250 trace the function that line 42 calls anew."""
    compiles = "tensorflow/framework/func_graph.py:func_graph_from_py_func:9"
    script = [*20 * TURN, (f"{MAIN}:42 {compiles}", 50), *20 * TURN]
    account = account_of(sampled(script), STEP_MS)

    assert shares(account) == {"steps": 0.8, "compiling": 0.2}
    assert part(account, "compiling").turns == 1


EVERY = f"{MAIN}:42 {INSTALLED}jax/_src/compiler.py:backend_compile_and_load:395"
"""The step's line, while it compiles."""


def without_pipeline(turns: int) -> list[tuple[str, int]]:
    return turns * [(f"{MAIN}:42 {RUNS}", 3), (f"{MAIN}:43", 2)]


@pytest.mark.parametrize(
    ("has_pipeline", "what"), [(False, LONG_STAYS), (True, LONG_PAUSES)]
)
def test_a_pause_is_of_a_pipeline_only_where_one_is_seen(
    has_pipeline: bool, what: str
) -> None:
    """6 times one call of line 42 takes 2.5 s, behind 39 turns of 50 ms: 1500 samples
    of 1500 + 7 * 195.
    """
    waits = [(f"{MAIN}:42 {RUNS}", 250), (f"{MAIN}:43", 2)]
    turns = without_pipeline(39)
    script = [*6 * [*turns, *waits], *turns]
    account = account_of(sampled(script), STEP_MS, has_pipeline=has_pipeline)

    assert part(account, what).seen == pytest.approx(1500, abs=5)
    assert part(account, what).turns == 6


@pytest.mark.parametrize("sleeping", [range(8), range(3, 4)])
def test_a_loop_that_sleeps_in_each_of_its_calls_makes_no_pauses(
    sleeping: range,
) -> None:
    """Each of 8 calls of line 62 takes 3.3 s, in which the devices go through 140 of
    what the trace takes for steps; the thread sleeps in all of them, or in one alone,
    where that is a pause.
    """
    script = 8 * [(f"{MAIN}:62 {RUNS}", 330), (f"{MAIN}:63", 1)]
    every = 3_310_000
    asleep = [(turn * every, turn * every + 3_290_000) for turn in sleeping]
    account = account_of(sampled(script, asleep=asleep), 23.6)

    assert (account.steps == 1.0) is (len(sleeping) == 8)
    assert {one.what for one in account.outside} <= {LONG_STAYS}


def test_a_step_that_compiles_is_a_step() -> None:
    """Each of 30 turns compiles for 58 of 60 samples, from the first one on: the trace
    shows it in each recorded step.
    """
    before = [("train.py:<module>:80", 50)]
    script = [*before, *30 * [(EVERY, 58), (f"{MAIN}:43", 2)]]
    account = account_of(sampled(script), 600.0, compiling=1.0)

    assert shares(account) == {"steps": 1.0}
    assert account.seconds == pytest.approx(18.0, abs=0.1)
    (compiles, _) = part(account, "steps").statements
    assert (compiles.kind, compiles.seen) == ("compile", 30 * 58)


def test_an_evaluation_is_no_step_where_steps_compile() -> None:
    """Behind each of 4 times 5 turns it compiles for 60 samples at line 45."""
    evaluates = EVERY.replace("train.py:main:42", "train.py:main:45 eval.py:evaluate:6")
    script = 4 * [*5 * [(EVERY, 18), (f"{MAIN}:43", 2)], (evaluates, 60)]
    account = account_of(sampled(script), 200.0, compiling=1.0)

    assert shares(account) == {"steps": 400 / 640, "compiling": 240 / 640}
    assert part(account, "compiling").turns == 4


@pytest.mark.parametrize(("compiling", "turns"), [(0.0, 1), (0.33, None)])
def test_what_some_recorded_steps_compile_did_not_come_once(
    compiling: float, turns: int | None
) -> None:
    """Of three turns one compiles for 30 samples, all three are of 1 sample: nowhere is
    the program elsewhere for longer than 30 ms.
    """
    turn = [(f"{MAIN}:42 {RUNS}", 2), (f"{MAIN}:43", 1)]
    script = 40 * [*turn, (EVERY, 30)]
    account = account_of(sampled(script), 10.0, compiling=compiling)

    assert part(account, "compiling").turns == turns


def test_what_is_seen_once_is_not_dropped() -> None:
    """One sample of 201 is in the save: 0.5%."""
    saves = (f"{MAIN}:45 tensorflow/checkpoint/checkpoint_management.py:save:9", 1)
    account = account_of(sampled([*20 * TURN, saves, *20 * TURN]), STEP_MS)

    found = part(account, "saving")
    assert (found.seen, found.turns) == (1, 1)
    assert found.fraction == pytest.approx(1 / 201)


def test_imports_and_compiling_before_the_first_step_have_a_line_of_their_own() -> None:
    """300 samples before the first step: 200 import, 70 trace, 30 do something else."""
    imports = ("train.py:<module>:1 tensorflow/__init__.py:<module>:9", 200)
    traces = (f"{MAIN}:42 tensorflow/framework/func_graph.py:from_func_graph:9", 70)
    builds = ("train.py:<module>:12", 30)
    account = account_of(
        sampled([imports, builds, traces, *40 * TURN], first_step=300), STEP_MS
    )

    assert shares(account) == {"steps": 1.0}
    assert account.before.seconds == pytest.approx(3.0)
    assert [(part.what, round(part.seconds, 1)) for part in account.before.parts] == [
        ("imports", 2.0),
        ("compiling", 0.7),
        ("other", 0.3),
    ]


def test_what_passes_while_a_profiler_works_is_left_out() -> None:
    """Of 400 samples 100 lie in the window, and 10 before and behind it, in which it is
    prepared and written: 280 or so are left.
    """
    account = account_of(sampled(80 * TURN, recorded=[(100, 200)]), STEP_MS)

    assert account.seconds == pytest.approx(2.8, abs=0.05)
    assert account.left_out == pytest.approx(1.2, abs=0.05)


def test_a_named_loop_is_believed_where_evaluation_takes_more_than_the_steps() -> None:
    """Both go round; the recorder counted rounds in main."""
    loop = "train.py:<module>:90 eval.py:evaluate"
    evaluate = 40 * [(f"{loop}:7 {RUNS}", 1), (f"{loop}:8", 1)]
    script = 3 * (10 * TURN + evaluate)

    account = account_of(
        sampled(script, loop=("/home/me/train.py", "main", 40, 43)), STEP_MS
    )

    assert shares(account) == {"steps": 50 / 130, "evaluate": 80 / 130}


WAITS = "/venv/lib/python3.11/site-packages/jax/_src/array.py:_value:696"


def test_a_line_that_waits_for_the_devices_is_named_by_that() -> None:
    """100 samples of short turns, then 60 in which a line of the loop waits: for steps
    that the host is ahead of, or for what that line computes.
    """
    ahead = [(f"{MAIN}:42 {RUNS}", 100), (f"{MAIN}:43 {WAITS}", 60)]
    account = account_of(sampled(6 * ahead), STEP_MS)

    assert shares(account) == {"steps": 600 / 960, WAITING: 360 / 960}
    assert part(account, WAITING).kind == "other"


def test_what_waits_in_a_function_of_the_program_has_its_name() -> None:
    checks = [(f"{MAIN}:45 eval.py:evaluate:7 {WAITS}", 25)]
    account = account_of(sampled(4 * (20 * TURN + checks)), STEP_MS)

    assert shares(account) == {"steps": 0.8, "evaluate": 0.2}
    assert part(account, "evaluate").places[0].line == 45


def test_between_the_lines_of_the_counted_loop_are_the_steps() -> None:
    """Lines 41 to 43 of main; that what follows each epoch takes more does not make it
    the step: 600 samples of 1,600, since the first of what takes most.
    """
    ends = [(f"{MAIN}:45 {RUNS}", 12), (f"{MAIN}:46 {RUNS}", 8)] * 10
    script = [*6 * [*ends, *20 * TURN], *ends[:10]]
    lines = ("/home/me/train.py", "main", 41, 43)

    account = account_of(sampled(script, loop=lines), STEP_MS)

    assert account.steps == pytest.approx(600 / 1900, abs=0.005)


OTHER_TURN = [
    (f"{MAIN}:52 train.py:check:9 keras/layers/layer.py:__call__:975", 2),
    (f"{MAIN}:51 {ASKS}", 1),
    (f"{MAIN}:52 train.py:check:10", 1),
]
"""Line 51 asks for a batch of another data set, 52 calls the program's own check."""


IN_C = f"{MAIN}:42"
"""A call of C, as of a compiled function of JAX."""
IN_PYTHON = f"{MAIN}:42 keep.py:keep:5"


@pytest.mark.parametrize(
    ("calls", "each", "steps"),
    [
        (IN_C, [41, 42, 43], 1.0),
        (IN_C, [41, 43], 0.5),
        (IN_PYTHON, [41, 42, 43], 0.5),
    ],
    ids=["in each round", "not counted", "a function of the program"],
)
def test_a_call_of_each_round_is_the_step_though_it_waits_now_and_then(
    calls: str, each: list[int], steps: float
) -> None:
    """Twenty times, five rounds of 50 ms in lines 41 and 43, then 250 ms in 42."""
    turn = [(f"{MAIN}:43", 3), (f"{MAIN}:41 {ASKS}", 2)]
    samples = sampled(
        20 * (5 * turn + [(calls, 25)]),
        loop=("/home/me/train.py", "main", 41, 43),
        each_round=each,
    )

    assert account_of(samples, STEP_MS).steps == pytest.approx(steps, abs=0.01)


@pytest.mark.parametrize(
    ("each", "steps"), [([41, 42, 43], 1.0), ([41, 43], 24 / 34)], ids=["each", "some"]
)
def test_a_short_call_of_each_round_is_the_step_though_few_samples_meet_it(
    each: list[int], steps: float
) -> None:
    """Rounds are much shorter than the time between samples: of 34 of these ten meet
    line 42, in which a function of the program runs the step, 40 or 200 ms apart.
    """
    turn = [(f"{MAIN}:43", 1), (f"{MAIN}:41", 1)]
    met = [*2 * turn, (IN_PYTHON, 5), *10 * turn, (IN_PYTHON, 5)]
    samples = sampled(
        40 * met, loop=("/home/me/train.py", "main", 41, 43), each_round=each
    )

    assert account_of(samples, 1.0).steps == pytest.approx(steps, abs=0.01)


@pytest.mark.parametrize(
    ("each", "steps"),
    [([41, 43], 10 / 80), ([41, 42, 43], 1.0)],
    ids=["some rounds", "each round"],
)
def test_what_takes_nearly_all_is_no_step_if_it_comes_in_some_rounds(
    each: list[int], steps: float
) -> None:
    """Twenty times, 70 samples in a function after 10 in rounds of two lines, of which
    one holds a call that is long at times.
    """
    turn = [*4 * [(f"{MAIN}:41", 1), (f"{MAIN}:43", 1)], (f"{MAIN}:43", 2)]
    samples = sampled(
        20 * [*turn, (IN_PYTHON, 70)],
        loop=("/home/me/train.py", "main", 41, 43),
        each_round=each,
    )

    assert account_of(samples, 1.0).steps == pytest.approx(steps, abs=0.01)


def test_a_loop_over_another_data_set_is_no_step() -> None:
    """An epoch: 20 turns of 5 samples are steps, then 15 turns of 4 over other
    batches, which ask as often: 60 of 160, half of which run a layer.
    """
    account = account_of(sampled(6 * [*20 * TURN, *15 * OTHER_TURN]), STEP_MS)

    assert shares(account) == {"steps": 100 / 160, "check": 60 / 160}
    found = part(account, "check")
    assert (found.turns, found.places[0].line) == (6, 52)
    assert found.op_by_op == pytest.approx(30 / 160, abs=0.005)


def test_two_statements_of_each_turn_are_one_loop() -> None:
    """Both come in every turn, 15 times in a row an epoch and without a pause."""
    account = account_of(sampled(6 * 20 * [*TURN, *OTHER_TURN]), STEP_MS)

    assert shares(account) == {"steps": 1.0}


def test_too_few_samples_say_nothing() -> None:
    with pytest.raises(NoAccount, match="only 50 samples"):
        account_of(sampled(10 * TURN), STEP_MS)


def test_samples_that_are_missing_say_why() -> None:
    with pytest.raises(NoAccount, match="ptrace is not allowed"):
        account_of(sampled([], why="ptrace is not allowed"), STEP_MS)


def test_time_of_stacks_that_were_read_while_they_changed_is_of_those_around() -> None:
    """Each of 4 epochs: 20 turns of 5 samples, then 25 samples in evaluate, of which
    the middle five begin elsewhere, each with another function: 100 of 500.
    """
    torn = [(f"tensorflow/framework/ops.py:device{turn}:3", 1) for turn in range(5)]
    evaluate = [(f"{MAIN}:45 eval.py:evaluate:{turn}", 1) for turn in range(10)]
    account = account_of(sampled(4 * (20 * TURN + evaluate + torn + evaluate)), STEP_MS)

    assert shares(account) == {"steps": 0.8, "evaluate": 0.2}
    assert part(account, "evaluate").turns == 4


@pytest.mark.parametrize("seed", range(3))
def test_statements_that_failed_samples_miss_for_a_while_are_steps(seed: int) -> None:
    """Rounds of 80 ms: 30 in line 42, 20 in 43, 10 each in 44, 45 and 46. Three of four
    samples fail: what is met is taken to last until the next one.
    """
    turns = 400 * [42, 42, 42, 43, 43, 44, 45, 46]
    chance = Random(seed)
    met = [tick for tick in range(len(turns)) if chance.random() < 0.25]
    script = [
        (f"{MAIN}:{turns[tick]} {RUNS}", until - tick)
        for tick, until in pairwise([*met, len(turns)])
    ]
    samples = sampled(script, errors=len(turns) - len(met))

    assert shares(account_of(samples, 80.0)) == {"steps": 1.0}


@pytest.mark.parametrize(("processes", "every_us"), [(1, 20_000), (2, 13_333)])
def test_failed_samples_are_those_of_all_processes(
    processes: int, every_us: int
) -> None:
    """100 samples of each process in a second, 50 of which failed: of two processes
    three of four were read.
    """
    names = [("MainThread", True, f"{number} python") for number in range(processes)]
    samples = Samples(VERSION, 10_000_000, ended_ns=10**9, threads=names, errors=50)

    assert Pace.of(samples, 10.0).every_us == every_us


def test_the_statements_of_the_loop_are_named_with_the_steps() -> None:
    """Of 5 samples a turn 3 in line 42, 1 in 43 and 1 in 41."""
    (steps,) = account_of(sampled(40 * TURN), STEP_MS).parts

    assert [
        (statement.places[0].line, statement.fraction) for statement in steps.statements
    ] == [(42, pytest.approx(0.6)), (43, pytest.approx(0.2)), (41, pytest.approx(0.2))]


def test_what_a_statement_does_in_python_is_told_apart_from_what_may_wait() -> None:
    """Line 44 makes a batch in 4 of 10 samples: 2 in NumPy, 1 on a line of augment that
    calls the host alone, 1 on one of which that is not known. Line 42 is in the step's
    call, which has no frame below it.
    """
    turn = [
        (f"{MAIN}:44 train.py:augment:7 {INSTALLED}numpy/lib.py:roll:3", 2),
        (f"{MAIN}:44 train.py:augment:8", 1),
        (f"{MAIN}:44 train.py:augment:9", 1),
        (f"{MAIN}:42", 3),
        (f"{MAIN}:43 {INSTALLED}jax/_src/array.py:_value:637", 3),
    ]
    account = account_of(
        sampled(40 * turn),
        2 * STEP_MS,
        on_host=lambda file, line: (file, line) == ("train.py", 8),
    )

    assert {
        statement.places[0].line: statement.in_python
        for statement in account.parts[0].statements
    } == {44: pytest.approx(0.3), 42: 0.0, 43: 0.0}


def test_a_function_that_takes_the_whole_step_shows_its_own_statements() -> None:
    """Line 42 takes 19 of 20 samples, 12 of them in line 7 of learn and 7 in line 8."""
    turn = [
        (f"{MAIN}:42 agent.py:learn:7 {RUNS}", 12),
        (f"{MAIN}:42 agent.py:learn:8", 7),
        (f"{MAIN}:41 {ASKS}", 1),
    ]
    (steps,) = account_of(sampled(20 * turn), 4 * STEP_MS).parts

    assert [
        (place.file, place.line, statement.fraction)
        for statement in steps.statements
        for place in statement.places
    ] == [
        ("agent.py", 7, pytest.approx(0.6)),
        ("agent.py", 8, pytest.approx(0.35)),
    ]


def test_a_librarys_loop_has_no_statements_of_the_program() -> None:
    calls = "train.py:<module>:90 keras/backend/tensorflow/trainer.py:fit"
    turn = [(f"{calls}:399 {RUNS}", 4), (f"{calls}:397 {ASKS}", 1)]
    (steps,) = account_of(sampled(40 * turn), STEP_MS).parts

    assert steps.statements == ()


def test_a_line_that_calls_the_step_is_the_step_though_it_waits_now_and_then() -> None:
    """As above, where nobody counted rounds and the source tells which line it is."""
    turn = [(f"{MAIN}:43", 3), (f"{MAIN}:41 {ASKS}", 2)]
    samples = sampled(20 * (5 * turn + [(IN_C, 25)]))

    assert account_of(samples, STEP_MS).steps == pytest.approx(0.5, abs=0.01)
    stepping = frozenset({("train.py", 42)})
    assert account_of(samples, STEP_MS, stepping).steps == pytest.approx(1.0, abs=0.01)


COMPILES = "jax/_src/compiler.py:backend_compile_and_load:395"


@pytest.mark.parametrize(
    ("compiling", "seconds"),
    [
        ([True, False, False, False], {"compiling": 0.4, "evaluate": 1.0}),
        ([True, False, True, False], {"evaluate": 1.8}),
    ],
    ids=["the first alone", "a later one too"],
)
def test_what_compiles_in_its_first_turn_alone_is_no_part_that_compiles(
    compiling: list[bool], seconds: dict[str, float]
) -> None:
    """Evaluations of 25 samples behind each of 4 epochs, of which 40 more compile."""
    called = f"{MAIN}:45 eval.py:evaluate"
    script = []
    for compiles in compiling:
        script += 20 * TURN
        if compiles:
            script.append((f"{called}:6 {INSTALLED}{COMPILES}", 40))
        script += [(f"{called}:{7 + turn % 2}", 1) for turn in range(25)]
    account = account_of(sampled(script), STEP_MS)

    found = {part.what: part.seconds for part in account.outside}
    assert found == pytest.approx(seconds, abs=0.01)


def test_a_librarys_loop_names_the_lines_that_it_calls_back() -> None:
    """Of 10 samples a turn 3 in line 70 of a callback, 1 in line 55."""
    calls = "train.py:<module>:90 keras/backend/tensorflow/trainer.py:fit"
    back = f"{calls}:401 keras/callbacks/callback_list.py:on_train_batch_end:98"
    turn = [
        (f"{calls}:399 {RUNS}", 5),
        (f"{back} train.py:on_train_batch_end:70 {RUNS}", 3),
        (f"{back} train.py:on_train_batch_end:55", 1),
        (f"{calls}:397 {ASKS}", 1),
    ]
    steps = account_of(sampled(40 * turn), 2 * STEP_MS).parts[0]

    assert [
        (share.places[0].line, pytest.approx(share.fraction))
        for share in steps.statements
    ] == [(70, 0.3), (55, 0.1)]


def test_lines_that_run_ops_one_by_one_are_of_the_steps_alone() -> None:
    """Of a turn of 5 samples 2 run ops in act, on two lines, and 1 on the loop's own;
    an evaluation after each 20 turns does too, and is no step.
    """
    op = "/venv/lib/python3.11/site-packages/jax/_src/numpy/ufuncs.py:add:9"
    turn = [
        (f"{MAIN}:42 agent.py:act:7 {op}", 1),
        (f"{MAIN}:42 agent.py:act:8 {op}", 1),
        (f"{MAIN}:43 {op}", 1),
        (f"{MAIN}:44", 2),
    ]
    evaluate = [(f"{MAIN}:45 eval.py:evaluate:7 {op}", 30)]

    account = account_of(sampled(4 * (20 * turn + evaluate)), STEP_MS)

    assert {
        share.what: pytest.approx(share.fraction, abs=0.01) for share in account.ops_at
    } == {"agent.py:7": 0.2, "agent.py:8": 0.2, "train.py:43": 0.2}
    assert account.ops_in is None


def test_nearly_all_ops_in_one_function_of_the_program_are_in_it() -> None:
    """18 of 19 samples of ops lie in act, 12 of them on its line 7."""
    op = "/venv/lib/python3.11/site-packages/jax/_src/numpy/ufuncs.py:add:9"
    turn = [
        (f"{MAIN}:42 agent.py:act:7 {op}", 12),
        (f"{MAIN}:42 agent.py:act:8 {op}", 6),
        (f"{MAIN}:43 {op}", 1),
    ]

    account = account_of(sampled(20 * turn), 190.0)

    assert account.ops_in is not None
    place = account.ops_in
    assert (place.file, place.line, place.function) == ("agent.py", 7, "act")


def test_functions_that_hold_nearly_all_ops_are_told_from_outer_to_inner() -> None:
    """All lie in act, 19 of 20 in net that it calls, 10 of 20 in what net calls."""
    op = "/venv/lib/python3.11/site-packages/jax/_src/numpy/ufuncs.py:add:9"
    act = f"{MAIN}:42 agent.py:act:7"
    turn = [
        (f"{act} net.py:net:3 net.py:layer:9 {op}", 10),
        (f"{act} net.py:net:4 {op}", 9),
        (f"{act} {op}", 1),
        (f"{MAIN}:43", 5),
    ]

    account = account_of(sampled(20 * turn), 250.0)

    assert [place.words for place in account.ops_within] == [
        "act (agent.py:7)",
        "net (net.py:3)",
    ]


def test_a_line_that_a_librarys_loop_calls_back_carries_what_is_inside_of_it() -> None:
    """Of 10 samples a turn 3 build a pipeline for predict on line 70, of them 2 its
    datasets; 1 runs it.
    """
    calls = "train.py:<module>:90 keras/backend/tensorflow/trainer.py:fit"
    back = f"{calls}:401 keras/callbacks/callback_list.py:on_train_batch_end:98"
    predict = "train.py:on_train_batch_end:70 keras/backend/trainer.py:predict"
    turn = [
        (f"{calls}:399 {RUNS}", 5),
        (f"{back} {predict}:510 tensorflow/data/ops/map_op.py:_map_v2:57", 2),
        (f"{back} {predict}:510 {BEGINS}", 1),
        (f"{back} {predict}:530 {RUNS}", 1),
        (f"{calls}:397 {ASKS}", 1),
    ]
    (found,) = account_of(sampled(40 * turn), 2 * STEP_MS).parts[0].statements

    assert (found.kind, found.turns) == ("prediction", None)
    assert [(inner.what, pytest.approx(inner.fraction)) for inner in found.parts] == [
        (BUILDING, 0.3),
        ("on_train_batch_end (train.py:70)", 0.1),
    ]


def test_what_stacks_do_is_worked_out_once() -> None:
    stacks = stacks_of(sampled([(f"{MAIN}:42 {RUNS}", 1), (f"{MAIN}:41 {ASKS}", 1)]))

    assert stacks.does(Work.INPUT).tolist() == [False, True]
    assert stacks.does(Work.INPUT).base is stacks.does(Work.SAVING).base
    assert stacks.op_by_op is stacks.op_by_op


def test_of_two_calls_in_one_function_each_compiles_once_or_again() -> None:
    """Of one_step, which the loop calls, line 5 is met first after ten turns and
    compiles for 1 s, line 7 for 0.2 s behind each of 6 times 20 turns of 5 samples.
    """
    calls, asks = f"{MAIN}:42 train.py:one_step", (f"{MAIN}:41 {ASKS}", 1)
    turn = [(f"{calls}:4 {RUNS}", 3), (f"{calls}:5 {RUNS}", 1), asks]
    first = (f"{calls}:5 {INSTALLED}{COMPILES}", 100)
    again = (f"{calls}:7 {INSTALLED}{COMPILES}", 20)
    script = [*10 * [turn[0], asks], first, *6 * [*20 * turn, again]]

    account = account_of(sampled(script), STEP_MS)

    found = {part.turns: part.seconds for part in account.outside}
    assert found == pytest.approx({1: 1.0, 6: 1.2}, abs=0.01)


def test_what_compiles_in_its_first_turns_alone_comes_once() -> None:
    """Line 43 is met first after ten turns, and compiles for a second, twice; then
    never in 60 turns of 5 samples. A longer run has no more of it.
    """
    others = [(f"{MAIN}:42 {RUNS}", 3), (f"{MAIN}:41 {ASKS}", 2)]
    compiling = (f"{MAIN}:43 {INSTALLED}{COMPILES}", 100)
    script = [*10 * others, compiling, *4 * others, compiling, *60 * TURN]

    account = account_of(sampled(script), STEP_MS)

    found = part(account, "compiling")
    assert (found.kind, found.turns) == ("compile", 1)
    assert found.seconds == pytest.approx(2.0)


def test_an_op_that_waits_for_a_value_is_no_op_one_by_one() -> None:
    """`draw.item()` lies in a method of arrays that also runs ops."""
    methods = f"{INSTALLED}jax/_src/numpy/array_methods.py"
    ops = f"{MAIN}:42 {methods}:_operator_add:782"
    reads = f"{MAIN}:42 {methods}:_item:275 {INSTALLED}jax/_src/array.py:_value:637"
    stacks = stacks_of(sampled([(ops, 1), (reads, 1)]))

    assert stacks.op_by_op.tolist() == [True, False]


def test_what_adds_an_op_to_a_graph_runs_none() -> None:
    ops = f"{INSTALLED}tensorflow/python/ops/gen_math_ops.py:mul:42"
    graph = f"{INSTALLED}tensorflow/python/framework/op_def_library.py"
    builds = f"{MAIN}:42 {ops} {graph}:_apply_op_helper:796"
    stacks = stacks_of(sampled([(f"{MAIN}:42 {ops}", 1), (builds, 1)]))

    assert stacks.op_by_op.tolist() == [True, False]
