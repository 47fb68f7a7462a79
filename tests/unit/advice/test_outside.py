"""Runs of which it is known how much is no step."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tfadvisor.advice.evidence import Evidence
from tfadvisor.advice.findings import Verdict
from tfadvisor.advice.outside import Outside, covers_all_of, of_the_run, outside_of
from tfadvisor.causes import ProgramSource
from tfadvisor.causes.account import (
    BUILDING,
    FIRST_BATCH,
    FREEING,
    LONG_PAUSES,
    LONG_STAYS,
    WAITING,
    BeforeSteps,
    RunAccount,
    RunPart,
    RunPlace,
    RunShare,
)
from tfadvisor.vocabulary import Severity

HEALTHY = Verdict("compute", 0.95, True, "The devices compute for 95%.")
INPUT = Verdict("input", 0.6, False, "60% of step time is input.")


def account(*others: RunPart) -> RunAccount:
    """100 s of which all but these parts are steps."""
    steps = 1 - sum(part.fraction for part in others)
    of_steps = RunPart("steps", "steps", steps, 100 * steps, 500)
    return RunAccount(
        100.0, "first step", steps, (of_steps, *others), 600, 0.0, BeforeSteps(0.0, ())
    )


def part(kind: str, fraction: float, what: str = "") -> RunPart:
    place = RunPlace("train.py", 46, "main")
    return RunPart(what or kind, kind, fraction, 100 * fraction, 50, (place,), 4)


def judged(verdict: Verdict, run: RunAccount) -> Verdict:
    return of_the_run(verdict, run, outside_of(run, None))


def test_no_run_is_healthy_of_which_a_tenth_is_no_step() -> None:
    """Steps that compute for 95% take 76% of the run, more than the 20%."""
    found = judged(HEALTHY, account(part("evaluation", 0.2)))

    assert (found.bottleneck, found.fraction, found.healthy) == ("compute", 0.95, False)
    assert found.summary == (
        "The steps are 80% of the run; 20% is evaluation (train.py:46). The devices "
        "compute for 95%."
    )
    assert judged(HEALTHY, account(part("evaluation", 0.09))) == HEALTHY


@pytest.mark.parametrize(
    ("kind", "bottleneck"),
    [("input", "input"), ("compile", "compile"), ("evaluation", "host")],
)
def test_what_takes_more_than_the_limit_of_the_steps_names_the_run(
    kind: str, bottleneck: str
) -> None:
    """60% of the steps, which are half of the run, are less than the other half."""
    found = judged(INPUT, account(part(kind, 0.5)))

    assert (found.bottleneck, found.fraction) == (bottleneck, 0.5)
    assert found.summary.startswith("The steps are 50% of the run; 50% is")
    assert found.summary.endswith("In the steps: 60% of step time is input.")


def test_many_small_parts_leave_no_run_healthy() -> None:
    """Six of 2% each, of which none is a finding."""
    found = judged(HEALTHY, account(*[part("other", 0.02, f"f{n}") for n in range(6)]))

    assert not found.healthy
    assert found.summary.startswith("The steps are 88% of the run. The devices")


def test_an_unknown_function_is_asked_about() -> None:
    (found,) = outside_of(account(part("other", 0.3, "draw")), None)

    assert found.fix is not None
    assert found.fix.do.startswith("Is it needed so often?")
    assert found.title == "30% of the run is draw (train.py:46)"


PLAYS = """\
import jax, numpy as np
act = jax.jit(lambda params, obs: obs)
def evaluate(params, env):
    for _ in range(20):
        obs, over = env.reset(), False
        while not over:
            obs, over = env.step(np.asarray(act(params, obs)))
"""


def _fix_of_evaluate(folder: Path, program: str) -> str:
    (folder / "train.py").write_text(program)
    one = account(part("other", 0.8, "evaluate"))
    (found,) = outside_of(one, None, "jax", ProgramSource(folder))
    return "" if found.fix is None else found.fix.do


def test_episodes_that_are_played_one_after_another(tmp_path: Path) -> None:
    fix = _fix_of_evaluate(tmp_path, PLAYS)

    assert fix.startswith(
        "evaluate goes through `for _ in range(20)` one after another, and calls act "
        "in each round of `while not over`."
    )


def test_an_episode_of_its_own_function(tmp_path: Path) -> None:
    program = PLAYS.replace("def evaluate", "def play").replace("    for _", "    if _")
    program = program.replace("if _ in range(20)", "if True")
    program += (
        "def evaluate(params, env):\n    for seed in (1, 2):\n        play(env)\n"
    )

    assert "`for seed in (1, 2)`" in _fix_of_evaluate(tmp_path, program)


@pytest.mark.parametrize(
    "rounds",
    [
        "for x in batches:\n            found = act(params, x)",
        "while over:\n            pass",
    ],
    ids=["each of another batch", "nothing compiled"],
)
def test_rounds_that_need_none_before_are_asked_about(
    rounds: str, tmp_path: Path
) -> None:
    program = PLAYS.partition("while not")[0] + rounds

    assert _fix_of_evaluate(tmp_path, program).startswith("Is it needed so often?")


def test_rows_that_are_computed_one_by_one_may_be_one_call(tmp_path: Path) -> None:
    program = (
        PLAYS.partition("while not")[0] + "for x in xs:\n            act(params, x)"
    )

    assert "calls act in each round of `for x in xs`" in _fix_of_evaluate(
        tmp_path, program
    )


@pytest.mark.parametrize("what", ["validate", "main"])
def test_a_call_beside_the_function_that_takes_the_time_is_no_cause(
    what: str, tmp_path: Path
) -> None:
    """The call of NumPy is cheap where validate, on the same line, is what is met."""
    program = "import numpy as np\n" + 44 * "\n" + "print(np.unique(all), validate())\n"
    (tmp_path / "train.py").write_text(program + "def validate():\n    pass\n")
    one = account(part("other", 0.8, what))

    (found,) = outside_of(one, None, "jax", ProgramSource(tmp_path))

    assert found.fix is not None
    assert ("np.unique" in found.fix.do) == (what == "main")


def test_a_time_of_each_epoch_has_its_article() -> None:
    (found,) = outside_of(account(part("other", 0.3, "end of each epoch")), None)

    assert found.title == "30% of the run is the end of each epoch (train.py:46)"
    assert found.fix is None


def test_waiting_for_the_devices_is_no_finding() -> None:
    """It may be for the steps, and "in no ordinary step" would be false."""
    run = account(part("other", 0.5, WAITING))

    assert outside_of(run, None) == ()
    assert not judged(HEALTHY, run).healthy
    assert judged(HEALTHY, run).summary.startswith(
        "The steps are 50% of the run; 50% is waiting for the devices (train.py:46), "
        "perhaps for them. "
    )


def test_findings_of_a_step_are_as_large_as_the_steps_with_what_waits_for_them() -> (
    None
):
    """30% of steps, 50% that waits, 20% of evaluation."""
    run = account(part("other", 0.5, WAITING), part("evaluation", 0.2))

    assert Evidence(account=run).steps_of_run == pytest.approx(0.8)


def test_a_line_of_the_loop_of_which_nothing_is_known_is_no_finding() -> None:
    """The thread may wait there for the devices: it is named, and limits nothing."""
    run = account(part("other", 0.5, "train.py:46"))

    assert outside_of(run, None) == ()
    found = judged(INPUT, run)
    assert (found.bottleneck, found.fraction) == ("input", 0.6)
    assert found.summary == (
        "The steps are 50% of the run; 50% is train.py:46. 60% of step time is input."
    )


def test_what_compiles_in_each_of_its_turns_is_to_compile_once() -> None:
    """From four turns on it is asked what differs from one to the next."""
    compiles = RunShare("compiling", "compile", 0.2, 20.0, 30)
    place = RunPlace("train.py", 84, "main")
    parts = (compiles,)
    often = RunPart("evaluate", "other", 0.3, 30.0, 50, (place,), 4, parts)
    again = RunPart("evaluate", "other", 0.3, 30.0, 50, (place,), 3, parts)

    (found,) = outside_of(account(again), None)
    (fourth,) = outside_of(account(often), None)

    assert found.fix is not None
    assert found.fix.do.startswith("Make the compiled function once")
    assert fourth.fix is not None
    assert fourth.fix.do.startswith("It compiles again and again")


def test_files_that_are_read_between_steps_are_read_ahead() -> None:
    place = RunPlace("train.py", 44, "main")
    loads = RunPart("load_chunk", "loading", 0.2, 20.0, 30, (place,), 9)

    (found,) = outside_of(account(loads), None)

    assert found.title == (
        "20% of the run is load_chunk (train.py:44), mostly reading files"
    )
    assert found.category == "input"
    assert found.fix is not None
    assert "executor.submit(load_chunk, following)" in found.fix.snippet


@pytest.mark.parametrize(("turns", "is_apart"), [(9, True), (None, False)])
def test_what_each_fast_step_does_is_in_steps(
    turns: int | None, is_apart: bool
) -> None:
    place = RunPlace("train.py", 44, "main")
    saves = RunPart("saving", "saving", 0.2, 20.0, 30, (place,), turns)

    (found,) = outside_of(account(saves), None)

    summary = found.finding(Severity.HIGH).summary
    assert ("It is in no ordinary step" in summary) is is_apart


@pytest.mark.parametrize("what", ["reading files", "__getitem__"])
def test_what_no_program_calls_by_its_name_is_no_code(what: str) -> None:
    place = RunPlace("train.py", 44, "main")

    (found,) = outside_of(
        account(RunPart(what, "loading", 0.2, 20.0, 30, (place,), 9)), None
    )

    assert found.fix is not None
    assert "executor.submit(load, following)" in found.fix.snippet


def test_pictures_between_steps_come_from_a_process_or_less_often() -> None:
    place = RunPlace("train.py", 44, "main")
    draws = RunPart("save_grid", "pictures", 0.2, 20.0, 30, (place,), 9)

    (found,) = outside_of(account(draws), None)

    assert found.title == (
        "20% of the run is save_grid (train.py:44), mostly drawing or encoding pictures"
    )
    assert found.fix is not None
    assert found.fix.do.startswith("Hand the array to another process")
    assert found.fix.side_effect


EVALUATES = """\
import jax
def evaluate(params, rows):
    score = jax.jit(lambda p, x: model(p, x))
    return [score(params, row) for row in rows]
for step in range(9):
    evaluate(params, rows)
"""


@pytest.mark.parametrize("framework", ["jax", "tensorflow"])
def test_a_cure_for_what_compiles_is_code_of_the_framework(framework: str) -> None:
    place = RunPlace("train.py", 4, "evaluate")
    compiles = RunPart("compiling", "compile", 0.2, 20.0, 30, (place,), 9)

    (found,) = outside_of(account(compiles), None, framework)

    assert found.fix is not None
    assert ("tf.function" in found.fix.snippet) is (framework == "tensorflow")


def test_what_the_source_shows_to_be_made_anew_is_made_once(tmp_path: Path) -> None:
    """Line 4 calls it, in what the loop calls in each turn."""
    (tmp_path / "train.py").write_text(EVALUATES)
    place = RunPlace("train.py", 4, "evaluate")
    compiles = RunPart("compiling", "compile", 0.2, 20.0, 30, (place,), 9)
    source = ProgramSource(tmp_path)

    (found,) = outside_of(account(compiles), None, "jax", source)

    assert found.fix is not None
    assert found.fix.do.startswith(
        "jax.jit of a lambda is made anew in each call of evaluate (train.py:2)"
    )
    assert found.fix.snippet == (
        "# once, outside of evaluate\nscore = jax.jit(lambda p, x: model(p, x))"
    )


GROWS = """\
import jax.numpy as jnp
for step in range(9):
    row = step_of(rows)
    rows = jnp.concatenate([rows, row[None]])
"""


@pytest.mark.parametrize("turns", [3, 9])
def test_an_array_that_grows_gets_its_full_length_once(
    tmp_path: Path, turns: int
) -> None:
    """Whether or not it compiles often enough to be asked for sizes."""
    (tmp_path / "train.py").write_text(GROWS)
    place = RunPlace("train.py", 3, "")
    compiles = RunPart("compiling", "compile", 0.2, 20.0, 30, (place,), turns)

    (found,) = outside_of(account(compiles), None, "jax", ProgramSource(tmp_path))

    assert found.fix is not None
    assert found.fix.do.startswith(
        "rows has another length in each round of `for step in range(9)` (train.py:4)"
    )
    assert "dynamic_update_slice_in_dim(rows, row[None], at, 0)" in found.fix.snippet
    assert "same shapes" not in found.fix.do


@pytest.mark.parametrize(("builds", "is_cured"), [(0.3, True), (0.29, False)])
def test_predict_that_mostly_builds_pipelines_is_to_be_called_once(
    builds: float, is_cured: bool
) -> None:
    building = RunShare(BUILDING, "building", builds * 0.5, 50.0 * builds, 30)
    place = RunPlace("train.py", 40, "on_epoch_end")
    part = RunPart("predict", "prediction", 0.5, 50.0, 90, (place,), 9, (building,))

    (found,) = outside_of(account(part), None)

    assert found.title == "50% of the run is predict (train.py:40)"
    if is_cured:
        assert found.fix is not None
        assert found.fix.do.startswith("Predict on all rows in one call")
    else:
        assert found.fix is None


@pytest.mark.parametrize(("ops", "is_cured"), [(0.15, True), (0.14, False)])
def test_predict_that_runs_op_by_op_is_no_function_to_compile(
    ops: float, is_cured: bool
) -> None:
    """Keras compiles it, unless it is asked not to: a tf.function around it fails."""
    place = RunPlace("train.py", 40, "on_epoch_end")
    part = RunPart("predict", "prediction", 0.5, 50.0, 90, (place,), 9, (), ops)

    (found,) = outside_of(account(part), None)

    assert (found.fix is not None) is is_cured
    if found.fix is not None:
        assert "run_eagerly=False" in found.fix.snippet
        assert "tf.function" not in found.fix.do + found.fix.snippet


@pytest.mark.parametrize(
    ("text", "code"),
    [("model.predict(rows)", "predict_on_batch"), ("model.fit(rows)", "repeat")],
)
def test_an_iterator_that_predict_frees_is_predicts(text: str, code: str) -> None:
    place = RunPlace("train.py", 40, "on_epoch_end", text)

    (found,) = outside_of(
        account(RunPart(FREEING, "input", 0.5, 50.0, 90, (place,), 9)), None
    )

    assert found.fix is not None
    assert code in found.fix.snippet


@pytest.mark.parametrize(("line", "is_anew"), [(5, True), (6, False)])
def test_predict_of_a_model_that_is_loaded_for_each_call_is_not_the_fault(
    tmp_path: Path, line: int, is_anew: bool
) -> None:
    """By the line below predict that takes a tenth of it."""
    (tmp_path / "train.py").write_text(
        "import keras\n\ndef score(rows):\n"
        "    model = keras.models.load_model('m.keras')\n"
        "    scores = model.predict(rows)\n"
        "    return scores\n\nfor rows in pages:\n    score(rows)\n"
    )
    inside = (
        RunShare(BUILDING, "building", 0.4, 40.0, 72, (RunPlace("train.py", 9, ""),)),
        RunShare(
            "score", "other", 0.05, 5.0, 9, (RunPlace("train.py", line, "score"),)
        ),
    )
    place = RunPlace("train.py", 9, "")
    part = RunPart("predict", "prediction", 0.5, 50.0, 90, (place,), 9, inside)

    (found,) = outside_of(account(part), None, source=ProgramSource(tmp_path))

    assert found.fix is not None
    assert ("of a model that is made anew" in found.title) is is_anew
    assert ("load_model" in found.fix.snippet) is is_anew
    assert found.fix.do.startswith("Predict on all rows") is not is_anew


@pytest.mark.parametrize(("fraction", "is_large"), [(0.1, True), (0.09, False)])
def test_a_line_of_the_loop_that_builds_a_graph_does_so_in_each_round(
    tmp_path: Path, fraction: float, is_large: bool
) -> None:
    (tmp_path / "train.py").write_text(
        "import tensorflow.compat.v1 as tf\n\nfor rows in pages:\n"
        "    with tf.Session(graph=tf.Graph()) as session:\n"
        "        scores = session.run(model(rows))\n"
    )
    place = RunPlace("train.py", 5, "")
    line = RunPart("building a graph", "graph", fraction, 9.0, 90, (place,))
    run = account()
    steps = replace(run.parts[0], statements=(line,))
    whole = replace(run, parts=(steps,))

    found = outside_of(whole, None, "tensorflow", ProgramSource(tmp_path))
    without = outside_of(whole, None, "tensorflow")

    assert bool(found) is is_large
    for one, words in zip(
        (*found, *without), ("Each round of", "Build the graph once"), strict=False
    ):
        assert one.title == "10% of the run is train.py:5, mostly building a graph anew"
        assert one.fix is not None
        assert one.fix.do.startswith(words)


TRACED = """\
import tensorflow as tf
def make(model):
    @tf.function
    def step(x): return model(x)
    return step
for rows in pages:
    step = make(model)
    scores = step(rows)
"""


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (TRACED, "step is made anew in each call of make"),
        (TRACED.replace("    step = make(model)\n", ""), "It compiles again and again"),
    ],
)
def test_a_graph_that_a_tf_function_builds_has_no_session(
    tmp_path: Path, program: str, words: str
) -> None:
    (tmp_path / "train.py").write_text(program)
    place = RunPlace("train.py", program.count("\n"), "")
    line = RunPart("building a graph", "graph", 0.5, 9.0, 90, (place,))
    run = account()
    whole = replace(run, parts=(replace(run.parts[0], statements=(line,)),))

    (found,) = outside_of(whole, None, "tensorflow", ProgramSource(tmp_path))

    assert found.fix is not None
    assert found.fix.do.startswith(words)
    assert "session" not in found.fix.snippet


@pytest.mark.parametrize(("op_by_op", "is_cured"), [(0.15, True), (0.14, False)])
def test_what_python_runs_op_by_op_is_to_be_compiled(
    op_by_op: float, is_cured: bool
) -> None:
    """A third of half of the run, or less."""
    place = RunPlace("train.py", 25, "")
    part = RunPart("check", "other", 0.5, 50.0, 90, (place,), 9, (), op_by_op)

    (found,) = outside_of(account(part), None)

    assert found.fix is not None
    assert found.fix.do.startswith("Python runs it op by op") is is_cured


def test_what_runs_op_by_op_is_named_with_its_head(tmp_path: Path) -> None:
    """By the source: the statement calls `check`, which calls `net`."""
    (tmp_path / "train.py").write_text(
        "import tensorflow as tf\n"
        "def net(x):\n    return tf.tanh(x)\n"
        "def check(x):\n    print(float(net(x)))\n"
    )
    line = RunPlace("train.py", 3, "net")
    calls = (RunPlace("train.py", 5, "check"), line)
    part = RunPart(
        "check",
        "other",
        0.5,
        50.0,
        90,
        (RunPlace("train.py", 25, ""),),
        9,
        (),
        0.4,
        ops_at=(RunShare("train.py:3", "other", 1.0, 40.0, 80, (line,)),),
        ops_within=calls,
    )

    (found,) = outside_of(account(part), None, "tensorflow", ProgramSource(tmp_path))

    assert found.fix is not None
    assert "in net (train.py:3)" in found.fix.do
    assert found.fix.snippet.startswith("@tf.function\ndef net(x):")


def test_lines_of_one_loop_that_run_op_by_op_are_one_part(tmp_path: Path) -> None:
    """0.5 and 0.2 of the run, with the cure of the larger."""
    (tmp_path / "train.py").write_text(
        "import jax\nimport jax.numpy as jnp\n"
        "def returns(rewards, values):\n"
        "    last = jnp.zeros(3)\n"
        "    for t in range(9):\n"
        "        gain = last + rewards[t]\n"
        "        last = gain - values[t]\n"
        "    return last\n"
    )
    lines = [
        RunPart(
            "returns",
            "other",
            share,
            100 * share,
            90,
            (place := RunPlace("train.py", line, "returns"),),
            op_by_op=share,
            ops_at=(RunShare("returns", "other", 1.0, 40.0, 80, (place,)),),
        )
        for line, share in ((6, 0.5), (7, 0.2))
    ]
    whole = account()
    steps = replace(whole.parts[0], statements=tuple(lines))
    run = replace(whole, parts=(steps,))

    (found,) = outside_of(run, None, "jax", ProgramSource(tmp_path))

    assert found.title == "70% of the run is ops one by one (train.py:6)"
    assert [place.line for place in found.places] == [6, 7]
    assert found.fix is not None
    assert "Python takes rewards apart" in found.fix.do


def test_of_a_long_stay_in_one_call_nothing_is_asked() -> None:
    (found,) = outside_of(account(part("other", 0.3, LONG_STAYS)), None)

    assert found.title == "30% of the run is long stays in one call (train.py:46)"
    assert found.fix is None


def test_freeing_iterators_is_asked_about() -> None:
    place = RunPlace("train.py", 52, "")
    frees = RunPart(FREEING, "input", 0.2, 20.0, 90, (place,), 9)

    (found,) = outside_of(account(frees), None)

    assert (
        found.title == "20% of the run is freeing an iterator of tf.data (train.py:52)"
    )
    assert found.category == "input"
    assert found.fix is not None
    assert "Does each epoch make one" in found.fix.do
    assert "steps_per_epoch" in found.fix.snippet


@pytest.mark.parametrize(
    ("what", "cure"),
    [
        (FIRST_BATCH, "Shuffle where elements are small"),
        (LONG_PAUSES, "The samples do"),
    ],
)
def test_a_buffer_that_fills_is_named_with_its_cure(what: str, cure: str) -> None:
    """What is known to begin an epoch is cured; where pauses come nobody knows."""
    begins = replace(part("input", 0.5, what), fills="a shuffle buffer of 9 elements")

    (found,) = outside_of(account(begins), None)

    assert "Where an iterator begins, it fills a shuffle buffer of 9" in found.how
    assert found.fix is not None
    assert found.fix.do.startswith(cure)


@pytest.mark.parametrize("kind", ["compile", "evaluation", "saving", "other"])
def test_what_came_once_is_no_finding_and_no_headline(kind: str) -> None:
    """Training that goes on for hours has no more of it."""
    run = account(replace(part(kind, 0.6), turns=1))

    assert outside_of(run, None) == ()
    assert judged(HEALTHY, run) == HEALTHY
    assert Evidence(account=run).steps_of_run == pytest.approx(1.0)


def test_shares_of_a_run_are_of_the_time_without_what_came_once() -> None:
    """60 s that came once and 10 s of evaluation leave 30 s of steps: three quarters
    of 40 s.
    """
    run = account(replace(part("compile", 0.6), turns=1), part("evaluation", 0.1))

    (found,) = outside_of(run, None)

    assert found.title == "25% of the run is evaluation (train.py:46)"
    assert found.how.startswith(
        "10 s of the 40 s since the first step, without what came once, 4 times"
    )
    assert judged(HEALTHY, run).summary == (
        "Without what came once, the steps are 75% of the run; 25% is evaluation "
        "(train.py:46). The devices compute for 95%."
    )


def test_a_plain_trace_keeps_its_verdict() -> None:
    assert of_the_run(HEALTHY, None, ()) == HEALTHY


@pytest.mark.parametrize(
    ("kinds", "titles"),
    [
        (("other", "prediction"), ["20% of the run is predict (train.py:71)"]),
        (("prediction", "prediction"), []),
    ],
    ids=["beside what trains", "nothing trains"],
)
def test_predict_within_the_training_loop_is_a_finding(
    kinds: tuple[str, str], titles: list[str]
) -> None:
    found = within_steps(*kinds)

    assert [part.title for part in found] == titles
    for part in found:
        assert part.fix is None
        summary = part.finding(Severity.MEDIUM).summary
        assert "20 s of the 100 s since the first step within the training" in summary
        assert "no ordinary step" not in summary


@pytest.mark.parametrize(("others", "is_told"), [(0.03, True), (0.02, False)])
def test_predict_in_a_callback_is_told_beside_what_a_librarys_loop_does(
    others: float, is_told: bool
) -> None:
    """More than a tenth of 0.23 is Keras' own training: 0.2 of 0.22 is nearly all."""
    assert bool(within_steps("prediction", others=others)) is is_told


@pytest.mark.parametrize(("builds", "is_cured"), [(0.06, True), (0.059, False)])
def test_predict_in_each_step_is_cured_where_samples_show_a_pipeline_being_built(
    builds: float, is_cured: bool
) -> None:
    """0.06 is the 30% of its 0.2 that make it the cause."""
    building = RunShare(BUILDING, "building", builds, 100 * builds, 30)
    (found,) = within_steps("other", "prediction", inside=(building,))

    assert (found.fix is not None) is is_cured
    assert found.fix is None or "predict_on_batch" in found.fix.snippet


@pytest.mark.parametrize(("builds", "is_told"), [(0.1, True), (0.099, False)])
def test_a_loop_of_nothing_but_predict_is_a_finding_where_its_calls_build_pipelines(
    builds: float, is_told: bool
) -> None:
    """Half of its 0.2, or less: one call for all rows builds one."""
    building = RunShare(BUILDING, "building", builds, 100 * builds, 30)
    found = within_steps("prediction", inside=(building,))

    assert bool(found) is is_told
    for part in found:
        assert part.title == (
            "20% of the run is predict (train.py:70), mostly building an input "
            "pipeline for each call"
        )
        assert part.fix is not None
        assert "predict_on_batch" in part.fix.snippet
        assert "within the loop" in part.finding(Severity.MEDIUM).summary


@pytest.mark.parametrize(
    ("bottleneck", "share", "found"),
    [("unknown", 0.5, "host"), ("unknown", 0.49, "unknown"), ("input", 0.5, "input")],
)
def test_what_takes_most_of_the_loop_limits_it_where_the_trace_does_not_tell(
    bottleneck: str, share: float, found: str
) -> None:
    building = RunShare(BUILDING, "building", share, 100 * share, 30)
    place = RunPlace("train.py", 23, "classify")
    line = RunPart(
        "predict", "prediction", share, 100 * share, 90, (place,), None, (building,)
    )
    whole = account()
    run = replace(whole, parts=(replace(whole.parts[0], statements=(line,)),))
    verdict = judged(Verdict(bottleneck, 0.9, False, "Too little to tell."), run)

    assert verdict.bottleneck == found
    is_named = verdict.summary.endswith("By the trace: Too little to tell.")
    assert is_named is (found == "host")


def test_ops_one_by_one_limit_no_steps_of_which_the_trace_tells_nothing() -> None:
    """Their calls may wait for devices that were not recorded."""
    whole = account()
    line = replace(part("other", 0.9, "step"), op_by_op=0.9, turns=None)
    run = replace(whole, parts=(replace(whole.parts[0], statements=(line,)),))
    verdict = Verdict("unknown", 1.0, False, "The GPU's work was not recorded.")

    assert outside_of(run, None)
    assert judged(verdict, run) == verdict


@pytest.mark.parametrize(("share", "is_told"), [(0.03, True), (0.029, False)])
def test_what_each_step_compiles_is_a_finding_of_the_run(
    share: float, is_told: bool
) -> None:
    compiles = RunShare("compiling", "compile", share, 100 * share, 30)
    found = within_steps("compile", inside=(compiles,))

    assert bool(found) is is_told
    for part in found:
        assert part.category == "compile"
        assert part.fix is not None
        assert "again and again" in part.fix.do
        summary = part.finding(Severity.MEDIUM).summary
        assert "within the loop" in summary
        assert "no ordinary step" not in summary


def within_steps(
    *kinds: str, inside: tuple[RunShare, ...] = (), others: float = 0.0
) -> tuple[Outside, ...]:
    """Of statements of the steps on lines 70, 71, …, each 0.2 of the run. others: of
    the run, in the steps and at no line of the program.
    """
    statements = tuple(
        RunPart(
            "predict" if kind == "prediction" else "main",
            kind,
            0.2,
            20.0,
            100,
            (RunPlace("train.py", 70 + number, "on_train_batch_end"),),
            parts=inside,
        )
        for number, kind in enumerate(kinds)
    )
    whole = account()
    fraction = 0.2 * len(kinds) + others
    steps = replace(whole.parts[0], fraction=fraction, statements=statements)
    return outside_of(replace(whole, parts=(steps,)), None)


@pytest.mark.parametrize(
    ("fraction", "op_by_op", "is_told"),
    [
        (0.77, 0.5, True),
        (0.77, 0.3, False),
        (0.09, 0.09, False),
    ],
)
def test_a_line_of_the_loop_that_runs_ops_one_by_one_is_told(
    fraction: float, op_by_op: float, is_told: bool
) -> None:
    """At least half of the line's time, and a tenth of the run."""
    run = account()
    line = replace(part("other", fraction, "loss_fn"), op_by_op=op_by_op, turns=None)
    steps = replace(run.parts[0], statements=(line, part("other", 0.2, "step")))

    found = outside_of(replace(run, parts=(steps,)), None)

    if not is_told:
        assert found == ()
        return
    (told,) = found
    assert told.title == "50% of the run is ops one by one (train.py:46)"
    assert told.share == pytest.approx(0.5)
    assert (told.category, told.in_steps) == ("launch", True)
    assert told.fix is not None
    assert told.fix.do.startswith("Python runs it op by op")


UNROLLED = """\
import jax
import jax.numpy as jnp


def forward(w, x):
    for t in range(100):
        x = jnp.tanh(x @ w)
    return x


@jax.jit
def step(w, x):
    return forward(w, x).sum()


w = jnp.ones((8, 8))
loss = step(w, w)
"""


def compiled_once(folder: Path, fraction: float, program: str) -> tuple[Outside, ...]:
    """Line 17 compiles once for this share of 100 s."""
    (folder / "train.py").write_text(program)
    place = RunPlace("train.py", 17, "")
    once = RunPart("compiling", "compile", fraction, 100 * fraction, 50, (place,), 1)
    return outside_of(account(once), None, "jax", ProgramSource(folder))


def test_a_loop_that_is_compiled_round_by_round_is_told_though_it_came_once(
    tmp_path: Path,
) -> None:
    (found,) = compiled_once(tmp_path, 0.34, UNROLLED)

    assert found.title == (
        "34% of the run so far is compiling a Python loop round by round (train.py:6)"
    )
    assert [place.line for place in found.places] == [6, 17]
    assert "It came once" in found.how
    assert found.fix is not None
    assert "jax.lax.scan(turn, first, jnp.arange(100))" in found.fix.snippet
    assert found.finding(Severity.CRITICAL).severity is Severity.MEDIUM
    assert found.finding(Severity.LOW).severity is Severity.LOW


@pytest.mark.parametrize(
    ("fraction", "program"),
    [(0.19, UNROLLED), (0.34, UNROLLED.replace("100", "10"))],
    ids=["a small share", "few rounds"],
)
def test_what_else_compiles_once_is_not_told(
    tmp_path: Path, fraction: float, program: str
) -> None:
    assert compiled_once(tmp_path, fraction, program) == ()


@pytest.mark.parametrize(
    ("few", "line", "share", "is_covered"),
    [
        ("in 3 of 17 steps", 46, 0.16, True),
        ("", 46, 0.16, False),
        ("in 3 of 17 steps", 47, 0.16, False),
        ("in 3 of 17 steps", 46, 0.46, False),
    ],
)
def test_python_in_few_steps_is_covered_once_where_saving_is_known(
    few: str, line: int, share: float, *, is_covered: bool
) -> None:
    """Saving takes 45% of the run on line 46. Python takes 16% of the run there, in
    three steps; in all steps, on another line, or with 46% it is something else.
    """
    (saving,) = outside_of(account(part("saving", 0.45)), None)
    place = replace(saving.places[0], line=line)
    finding = replace(
        saving.finding(Severity.MEDIUM), locations=(place,), few_steps=few
    )

    assert covers_all_of([saving], finding, share) is is_covered


def test_a_window_of_small_parts_of_rounds_does_not_name_the_run() -> None:
    """A round of 1,000 ms of which the trace shows 10: what samples find counts."""
    ops = Outside(
        share=0.8,
        title="80% of the run is ops one by one (train.py:48)",
        how="",
        seen="",
        category="launch",
        places=(),
        proof="shown",
        fix=None,
        in_steps=True,
    )
    steps = account(part("other", 0.01, "main"))
    by_trace = of_the_run(HEALTHY, steps, (ops,))
    of_parts = of_the_run(HEALTHY, steps, (ops,), is_part=True)

    assert by_trace == HEALTHY
    assert (of_parts.bottleneck, of_parts.healthy) == ("launch", False)
    assert of_parts.summary.startswith("80% of the run is ops one by one")
