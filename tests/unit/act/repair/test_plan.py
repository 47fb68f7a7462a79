"""Findings and a program become one patch a finding: where the place comes from, and
when the user is asked instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfadvisor.act.repair.hits import FaultPlace
from tfadvisor.act.repair.patch_places import At, hits_of
from tfadvisor.act.repair.plan import PatchPlan, make_plan, plan_words
from tfadvisor.act.repair.unified_diff import unified
from tfadvisor.advice.codemods import CodemodRef
from tfadvisor.advice.findings import Finding, Fix, Location, Saving
from tfadvisor.vocabulary import Severity

PREFETCH = {"slow-input": [CodemodRef("prefetch", "mechanical", "batches")]}
COMPILE = {"busy-loop": [CodemodRef("compile-step", "guess", "values")]}
ONE_PIPELINE = (
    "import tensorflow as tf\nfor x in tf.data.Dataset.range(9).batch(3):\n    "
    "step(x)\n"
)
TWO_STEPS = """\
import jax
def train(p):
    return jax.grad(loss)(p)
def tune(p):
    return jax.grad(other)(p)
for n in range(9):
    p = train(p)
for n in range(9):
    p = tune(p)
"""


def finding(
    rule_id: str, *places: Location, env: Mapping[str, str] | None = None
) -> Finding:
    fix = Fix("code", "Do it.", "do()", env or {}, "any", "costs memory")
    return Finding(
        rule_id,
        "input",
        Severity.HIGH,
        "title",
        "summary",
        (),
        Saving(0.1, 0.2, ""),
        (fix,),
        places,
        (),
        caveat="",
    )


def plan(
    codemods: Mapping[str, list[CodemodRef]],
    texts: Mapping[str, str],
    *found: Finding,
    at: At | None = None,
) -> PatchPlan:
    return make_plan(found, codemods, texts, unified, at)


def test_the_pattern_alone_is_enough_where_it_stands_once() -> None:
    done = plan(PREFETCH, {"train.py": ONE_PIPELINE}, finding("slow-input"))

    (one,) = done.patched
    assert one.patch.diff.splitlines()[:2] == ["--- a/train.py", "+++ b/train.py"]
    assert (
        "+for x in tf.data.Dataset.range(9).batch(3).prefetch(tf.data.AUTOTUNE):"
        in one.patch.diff
    )
    assert (one.line, one.patch.file, one.patch.sure, one.patch.check) == (
        2,
        "train.py",
        "mechanical",
        "batches",
    )
    assert done.texts == {"train.py": one.text}


def test_two_places_are_listed_and_neither_is_taken() -> None:
    done = plan(COMPILE, {"train.py": TWO_STEPS}, finding("busy-loop"))

    assert done.patched == ()
    assert [str(one).split(" ")[0] for one in done.unpatched[0].candidates] == [
        "train.py:2",
        "train.py:4",
    ]
    assert done.texts == {}


def test_places_to_choose_from_are_lines_of_their_own_and_few() -> None:
    """Each line is printed as a message of its own; in one message line ends are shown
    as `\\x0a`.
    """
    two = plan_words(plan(COMPILE, {"train.py": TWO_STEPS}, finding("busy-loop")))
    ten = plan_words(
        plan(
            COMPILE, {f"{name}.py": TWO_STEPS for name in "abcde"}, finding("busy-loop")
        )
    )

    head, first, second = two
    assert head.endswith("choose one with --at FILE:LINE:")
    assert [first.split()[0], second.split()[0]] == ["train.py:2", "train.py:4"]
    *shown, last = ten
    assert len(shown) == 1 + 8
    assert last.split(";")[0].strip() == "and 2 more"


def test_the_user_chooses_one() -> None:
    done = plan(
        COMPILE, {"train.py": TWO_STEPS}, finding("busy-loop"), at=At("train.py", 4)
    )

    assert "+@jax.jit\n def tune(p):" in done.patched[0].patch.diff


def test_the_function_that_the_trace_saw_decides() -> None:
    done = plan(
        COMPILE,
        {"train.py": TWO_STEPS},
        finding("busy-loop", Location("train.py", 400, "tune")),
    )

    assert "+@jax.jit\n def tune(p):" in done.patched[0].patch.diff


def test_a_line_counts_only_while_it_is_in_the_function_that_the_trace_saw() -> None:
    """Line 3 is in `train` now, and the trace saw `old_name` there: the program has
    changed since.
    """
    told = plan(
        COMPILE,
        {"train.py": TWO_STEPS},
        finding("busy-loop", Location("train.py", 3, "train")),
    )
    stale = plan(
        COMPILE,
        {"train.py": TWO_STEPS},
        finding("busy-loop", Location("train.py", 3, "old_name")),
    )

    assert "+@jax.jit\n def train(p):" in told.patched[0].patch.diff
    assert stale.patched == ()


def test_the_same_fault_in_two_files_is_asked_about_and_the_trace_may_name_one() -> (
    None
):
    texts = {"a/train.py": ONE_PIPELINE, "b/other.py": ONE_PIPELINE}

    asked = plan(PREFETCH, texts, finding("slow-input"))
    told = plan(
        PREFETCH, texts, finding("slow-input", Location("../../b/other.py", 2, "step"))
    )

    assert [one.file for one in asked.unpatched[0].candidates] == [
        "a/train.py",
        "b/other.py",
    ]
    assert told.patched[0].patch.file == "b/other.py"


def test_patches_of_several_findings_build_on_each_other() -> None:
    text = ONE_PIPELINE.replace(".batch", ".map(f).batch")
    codemods = PREFETCH | {
        "slow-map": [CodemodRef("parallel-calls", "guess", "batches")]
    }

    done = plan(
        codemods, {"train.py": text}, finding("slow-input"), finding("slow-map")
    )

    assert [one.codemod for one in done.patched] == ["prefetch", "parallel-calls"]
    assert (
        "num_parallel_calls=tf.data.AUTOTUNE).batch(3).prefetch(tf.data.AUTOTUNE)"
        in done.texts["train.py"]
    )
    assert (
        " for x in tf.data.Dataset.range(9).map(f).batch(3).prefetch"
        not in done.patched[1].patch.diff
    )
    assert (
        "-for x in tf.data.Dataset.range(9).map(f).batch(3).prefetch"
        in done.patched[1].patch.diff
    )


def test_what_follows_a_codemod_is_part_of_its_patch() -> None:
    text = ONE_PIPELINE.replace(".batch", ".map(f).batch")
    both = {
        "slow-input": [
            CodemodRef("prefetch", "mechanical", "batches", ("parallel-calls",))
        ]
    }

    (one,) = plan(both, {"train.py": text}, finding("slow-input")).patched

    assert "map(f, num_parallel_calls=tf.data.AUTOTUNE).batch(3).prefetch" in one.text
    assert one.changes == "random ops of a map draw in another order"


def test_variables_become_lines_for_the_launch_script() -> None:
    launch = {"late-kernels": [CodemodRef("launch-line", "guess", "values")]}

    (one,) = plan(launch, {}, finding("late-kernels", env={"A": "1"})).patched

    assert (one.patch.file, one.patch.diff, one.changes) == (
        "",
        "export A=1\n",
        "costs memory",
    )


def test_a_rule_without_codemods_says_so() -> None:
    done = plan({}, {"train.py": ONE_PIPELINE}, finding("slow-input"))

    assert "no change that a tool can derive" in done.unpatched[0].why


def test_a_program_that_shows_the_pattern_without_end_takes_no_endless_memory() -> None:
    """Among 3,000 places nobody would choose; each would be a program of 96 kB."""
    line = "model.compile(run_eagerly=True)\n"

    assert len(hits_of("run-eagerly", line * 100, FaultPlace())) == 100
    assert hits_of("run-eagerly", line * 3_000, FaultPlace()) == ()


def test_names_that_are_made_of_each_other_are_followed_once() -> None:
    """Each of 60 values of `d` is made of `d`: followed one by one, five deep, they
    would be 60^5 questions.
    """
    text = (
        "import tensorflow as tf\n"
        + "d = d.map(f)\n" * 60
        + "for x in d:\n    step(x)\n"
    )

    assert hits_of("prefetch", text, FaultPlace()) == ()
