"""`tfadvisor try` as it is installed, on programs whose clock is invented."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.places import ROOT
from support.tried_programs import Place

from tfadvisor.act.trial.one_run import StopRequest
from tfadvisor.act.trial.tried_program import TriedProgram

pytestmark = [pytest.mark.subprocess, pytest.mark.slow]

PYTHON = sys.executable


def outcomes(result: dict) -> dict[str, str]:
    return {arm["name"]: arm["outcome"] for arm in result["arms"]}


def test_a_patch_that_is_better(place: Place) -> None:
    """20 ms a step become 12: 40% are saved. Three rounds are enough, and no file is
    written but the ledger.
    """
    place.patch("fix.diff", "work(12)", "work(4)")
    before = {file.name: file.read_text() for file in place.folder.iterdir()}

    code, out, err = place.run(
        "try", "--patch", "fix.diff", "--", PYTHON, "train.py", 5000
    )

    assert code == 0
    assert out.startswith("fix.diff: 40% of step time saved (39 to 41).\n")
    assert (
        "as it is 20.0 ms a step in 3 runs of 101 steps (train.py:11 in train)" in out
    )
    assert "results same; 3 runs" in out
    assert re.search(  # some 25 steps are set aside, and 101 timed
        r"\ntfadvisor: 1 arm by starts of the program, 2.5\d s each, at least 20 s\n",
        err,
    )
    assert ": 3 rounds of 2 runs about " in err
    assert "TFADVISOR_TRY=1" in err
    assert {
        file.name: file.read_text() for file in place.folder.iterdir() if file.is_file()
    } == before


def test_changes_that_hide_each_other_are_worth_something_together(
    place: Place,
) -> None:
    """A loader and the step go on side by side, each for 20 ms: one that takes 10 gains
    nothing, and both at once half.
    """
    place.write(
        "train.py",
        """
        import sys
        from invented import work

        LOADER = 20

        # what lies between

        STEP = 20


        for number in range(int(sys.argv[1])):
            work(max(LOADER, STEP))
        """,
    )
    place.patch("loader.diff", "LOADER = 20", "LOADER = 10")
    place.patch("step.diff", "STEP = 20", "STEP = 10")

    result = place.tried(
        *("--patch", "loader.diff", "--patch", "step.diff"),
        *("--", PYTHON, "train.py", 5000),
    )

    assert outcomes(result) == {
        "loader.diff": "not better",
        "step.diff": "not better",
        "all together": "better",
    }
    assert result["summary"] == "all together: 50% of step time saved (49 to 51)."
    assert result["outcome"] == "winner"


def test_a_patch_that_does_less_says_what(place: Place) -> None:
    """Each round logs, which takes 8 of 20 ms; with the patch one in four does."""
    place.write("train.py", """
        import sys
        from invented import work

        def log(number):
            work(8)

        for number in range(int(sys.argv[1])):
            work(12)
            log(number)
    """)  # fmt: skip
    place.patch(
        "less.diff", "    log(number)", "    if number % 4 == 0:\n        log(number)"
    )

    _, out, _ = place.run("try", "--patch", "less.diff", "--", PYTHON, "train.py", 5000)

    assert out.startswith("less.diff: 30% of step time saved")
    assert ", and it does less work.\n" in out
    assert "does less: log (train.py): 0.25 times a step instead of 1\n" in out


def test_json_follows_its_schema(place: Place) -> None:
    place.patch("fix.diff", "work(12)", "work(4)")

    result = place.tried(
        "--patch", "fix.diff", "--env", "OTHER=1", "--", PYTHON, "train.py", 5000
    )

    schema = json.loads((ROOT / "schemas" / "trial-1.json").read_text())
    Draft202012Validator(schema).validate(result)
    assert outcomes(result) == {
        "fix.diff": "better",
        "OTHER=1": "not better",
        "all together": "better",
    }
    assert result["outcome"] == "winner"
    assert result["arms"][0]["ratio"]["estimate"] == pytest.approx(0.6)


def test_nothing_is_better(place: Place) -> None:
    place.patch("slower.diff", "work(12)", "work(22)")

    code, out, _ = place.run(
        "try", "--patch", "slower.diff", "--", PYTHON, "train.py", 5000
    )

    assert code == 1
    assert "not better   slower.diff: 50% slower (47 to 53)" in out


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "return number",
            "return missing",
            "it ended with exit code 1: NameError: name 'missing' is not defined",
        ),
        ("1.0 /", "2.0 /", "results differ: loss after step 1"),
        (
            "for number in range(steps):",
            "if number := steps:",
            "the loop whose rounds are the steps is not there any more",
        ),
        (
            "steps):\n    for",
            "steps):\n    steps = 2\n    for",
            "it made 2 steps, and 127 were asked for",
        ),
    ],
)
def test_what_breaks_is_dropped(place: Place, old: str, new: str, why: str) -> None:
    place.patch("broken.diff", old, new)

    result = place.tried("--patch", "broken.diff", "--", PYTHON, "train.py", 5000)

    assert result["outcome"] == "none better"
    assert (result["arms"][0]["outcome"], result["arms"][0]["why"]) == ("broken", why)


def test_what_hangs_is_ended(place: Place) -> None:
    place.patch("hangs.diff", "return number", "import time; time.sleep(1000)")

    result = place.tried(
        "--patch", "hangs.diff", "--budget", "30s", "--", PYTHON, "train.py", 5000
    )

    assert result["outcome"] == "cannot tell"
    assert not result["complete"]


def test_winners_are_told_alone_and_together(place: Place) -> None:
    """20 ms: one patch saves 8 of them, the other 4, both 12."""
    place.patch("load.diff", "work(12)", "work(4)")
    place.patch("step.diff", "work(8)", "work(4)")

    result = place.tried(
        "--patch", "load.diff", "--patch", "step.diff", "--", PYTHON, "train.py", 5000
    )

    assert [arm["ratio"]["estimate"] for arm in result["arms"]] == pytest.approx(
        [0.6, 0.8, 0.4]
    )
    assert result["summary"].startswith("all together: 60% of step time saved")


def test_variables_reach_the_program_and_tell_it_that_it_is_tried(place: Place) -> None:
    place.write("train.py", """
        import os
        from invented import work

        assert os.environ["TFADVISOR_TRY"] == "1"
        for number in range(5000):
            work(5 if os.environ.get("FAST") else 10)
    """)  # fmt: skip

    assert outcomes(place.tried("--env", "FAST=1", "--", PYTHON, "train.py")) == {
        "FAST=1": "better"
    }


def test_a_flag_that_xla_would_refuse_is_not_tried(place: Place) -> None:
    result = place.tried(
        "--env", "XLA_FLAGS=--xla_no_such_flag=1", "--", PYTHON, "train.py", 5000
    )

    assert "its flags would be refused" in result["arms"][0]["why"]
    assert result["arms"][0]["step_ms"] == []


def test_a_short_program_runs_to_its_end(place: Place) -> None:
    """40 steps, of which 39 were seen: 9 are set aside, and the 30 after them are
    timed.
    """
    place.patch("fix.diff", "work(12)", "work(4)")

    result = place.tried("--patch", "fix.diff", "--", PYTHON, "train.py", 40)

    assert result["outcome"] == "winner"
    assert result["steps"] == {
        "told_by": "train.py:11 in train",
        "warm": 9,
        "timed": 30,
        "between": 0.0,
        "in_turns": False,
        "whole_turns": False,
    }


def test_a_helper_of_the_program_that_ends_first_is_not_waited_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program begins its loop later than any further answer is waited for."""
    helper = (
        "import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', ''], "
        "check=True)\ntime.sleep(5)\n"
    )
    place.write("train.py", helper + (place.folder / "train.py").read_text("utf-8"))
    monkeypatch.setenv("PYTHONPATH", place.env["PYTHONPATH"])

    watched = TriedProgram(
        [PYTHON, str(place.folder / "train.py"), "40"], StopRequest()
    ).watch(60, 4)

    assert [len(one.loops) for one in watched.answers if one.loops] == [1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise SystemExit(7)", "ended with exit code 7"),
        ("print('no loop')", "has no steps: no loop of its own files"),
    ],
)
def test_a_program_that_fails_or_has_no_steps(
    place: Place, text: str, said: str
) -> None:
    place.write("train.py", text)

    code, out, err = place.run("try", "--env", "A=1", "--", PYTHON, "train.py")

    assert (code, out) == (3, "")
    assert said in err


def test_a_program_that_needs_longer_than_the_budget(place: Place) -> None:
    place.write("train.py", "import time\ntime.sleep(100)\n")

    code, _, err = place.run(
        "try", "--env", "A=1", "--budget", "1s", "--", PYTHON, "train.py"
    )

    assert code == 3
    assert "came to no steps within 1 s. Give it more time" in err


def test_a_budget_that_could_tell_nothing_ends_at_once(place: Place) -> None:
    """A start takes 5 s: two rounds of two runs take 20, and the watch and the two runs
    before them leave 10 of 25.
    """
    place.write("train.py", """
        import sys, time
        from invented import work

        time.sleep(5)
        for number in range(int(sys.argv[1])):
            work(12)
    """)  # fmt: skip

    code, out, err = place.run(
        "try", "--env", "A=1", "--budget", "25s", "--", PYTHON, "train.py", 5000
    )

    assert (code, out) == (4, "")
    assert "nothing could be told within the budget, and no candidate was run" in err
    assert re.search(r"--budget \dm would do for one candidate\.", err)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to try: give --patch, --env, --from, --ablate or --passes."),
        (
            ["--patch", "none.diff"],
            "--patch none.diff: cannot be read: No such file or directory.",
        ),
        (
            ["--patch", "input-not-prefetchedd"],
            "no file and no rule. Did you mean input-not-prefetched?",
        ),
        (["--patch", "input-not-prefetched"], "a rule's fixes need its finding"),
        (
            ["--env", "nonsense"],
            "--env nonsense: give a variable and its value, as NAME=value.",
        ),
        (
            ["--env", "A=1", "--budget", "soon"],
            "--budget soon: give a time, e.g. 90s, 10m or 1h.",
        ),
        (["--from", "nowhere.json"], "--from nowhere.json: cannot be read"),
    ],
)
def test_wrong_use(place: Place, arguments: list[str], said: str) -> None:
    code, out, err = place.run("try", *arguments, "--", PYTHON, "train.py", 10)

    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "ended early"), (signal.SIGTERM, 143, "")],
)
def test_a_signal_leaves_nothing_running(
    place: Place, number: signal.Signals, code: int, said: str
) -> None:
    """A program on the real clock, so that there is time to interrupt it. What Ctrl-C
    has left measured is printed.
    """
    place.write("train.py", """
        import os, time
        os.system("echo $PPID >> pids")  # by no file of Python's, so that it stays
        for number in range(100000):
            time.sleep(0.01)
    """)  # fmt: skip
    running = place.start("try", "--env", "A=1", "--", PYTHON, "train.py")
    pids = place.folder / "pids"
    until = time.monotonic() + 60
    while (len(pids.read_text().split()) if pids.exists() else 0) < 6:
        assert time.monotonic() < until
        time.sleep(0.05)

    running.send_signal(number)
    out, err = running.communicate(timeout=30)

    assert running.returncode == code
    assert said in out
    assert err.endswith(("tfadvisor: interrupted\n", "tfadvisor: terminated\n"))
    assert not [
        one for one in pids.read_text().split() if Path(f"/proc/{one}/cmdline").exists()
    ]
