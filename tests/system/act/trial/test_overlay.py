"""The program under the clock is the program: what it sees of itself, and what it does
not notice.
"""

from __future__ import annotations

import re
import sys

import pytest
from support.tried_programs import Place

pytestmark = [pytest.mark.subprocess, pytest.mark.slow]

PYTHON = sys.executable
LOOP = "for number in range(5000): work(10 - 5 * faster)\n"


def outcome(place: Place, *command: object) -> str:
    """Of a patch that makes `faster` one."""
    result = place.tried("--patch", "fix.diff", "--", PYTHON, *command)
    assert result["arms"], result
    return str(result["arms"][0]["outcome"]) + str(result["arms"][0]["why"])


def test_a_patched_module_that_is_imported(place: Place) -> None:
    place.write("train.py", "import model\nmodel.train()\n")
    place.write(
        "model.py", f"from invented import work\nfaster = 0\ndef train():\n    {LOOP}"
    )
    place.patch("fix.diff", "faster = 0", "faster = 1", "model.py")

    assert outcome(place, "train.py") == "better"


def test_a_module_that_is_nested_too_deeply_to_be_walked_runs_as_it_is(
    place: Place,
) -> None:
    place.write("deep.py", "if 0: pass\n" + "elif 0: pass\n" * 1500)
    place.write(
        "train.py", f"from invented import work\nimport deep\nfaster = 0\n{LOOP}"
    )
    place.patch("fix.diff", "faster = 0", "faster = 1")

    assert outcome(place, "train.py") == "better"


def test_a_module_that_is_run_by_its_name(place: Place) -> None:
    place.write("package/__init__.py", "")
    place.write("package/train.py", f"from invented import work\nfaster = 0\n{LOOP}")
    place.patch("fix.diff", "faster = 0", "faster = 1", "package/train.py")

    assert outcome(place, "-m", "package.train") == "better"


@pytest.mark.parametrize(
    "claim",
    [
        "__name__ == '__main__' and __spec__ is None and __package__ is None",
        "sys.argv == ['train.py', 'a', '--b']",
        "sys.path[0] == os.path.dirname(os.path.abspath('train.py'))",
        "__file__ == os.path.abspath('train.py')",
        "'faster = 0' in inspect.getsource(seen) or 'faster = 1' in "
        "inspect.getsource(seen)",
        "not os.path.exists('__pycache__') or not os.listdir('__pycache__')",
        "'injected' not in ' '.join(sys.path)",
    ],
)
def test_what_a_script_sees_of_itself(place: Place, claim: str) -> None:
    """The claim holds in both arms, or one of them would break."""
    place.write(
        "train.py",
        '"""Its text."""\nfrom __future__ import annotations\nimport inspect, os, '
        "sys\nfrom invented import work\n"
        f"def seen():\n    faster = 0\n    return faster\nassert {claim}\nfaster = "
        f"seen()\n{LOOP}",
    )
    place.patch("fix.diff", "    faster = 0", "    faster = 1")
    place.env["PYTHONDONTWRITEBYTECODE"] = "1"

    assert outcome(place, "train.py", "a", "--b") == "better"


def test_processes_that_a_program_spawns(place: Place) -> None:
    """They import the script again, and must find it."""
    place.write("train.py", f"""
        import multiprocessing
        from invented import work

        faster = 0

        def double(number):
            return 2 * number

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                assert pool.map(double, [1, 2]) == [2, 4]
            {LOOP}""")  # fmt: skip
    place.patch("fix.diff", "faster = 0", "faster = 1")

    assert outcome(place, "train.py") == "better"


def test_loops_of_many_kinds_are_left_as_they_are(place: Place) -> None:
    """`else`, `break`, `continue`, `return` from inside, generators, `while`: what they
    compute is compared.
    """
    place.write("train.py", f"""
        from invented import work

        faster = 0

        def odd(numbers):
            for one in numbers:
                if one % 2 == 0:
                    continue
                yield one

        def first_above(limit):
            number = 0
            while True:
                number += 1
                if number > limit:
                    return number

        def has(numbers, wanted):
            for one in numbers:
                if one == wanted:
                    break
            else:
                return False
            return True

        assert list(odd(range(6))) == [1, 3, 5]
        assert first_above(4) == 5
        assert has([1, 2], 2) and not has([1, 2], 3)
        {LOOP}""")  # fmt: skip
    place.patch("fix.diff", "faster = 0", "faster = 1")

    assert outcome(place, "train.py") == "better"


def test_time_between_epochs_is_in_no_step(place: Place) -> None:
    """Batches of 10 ms, 50 an epoch, and 5 s after each epoch."""
    place.write("train.py", """
        from invented import work

        for epoch in range(7):
            for batch in range(50):
                work(10)
            work(5000)
    """)  # fmt: skip

    result = place.tried("--env", "A=1", "--", PYTHON, "train.py")

    assert result["steps"]["told_by"] == "train.py:4"
    assert result["base_step_ms"] == pytest.approx([10.0] * len(result["base_step_ms"]))


def test_whole_epochs_count_what_lies_between_them(place: Place) -> None:
    """50 batches of 10 ms and 5 s are 110 ms a batch; with 1 s for the 5 they are 30,
    73% less.
    """
    place.write("train.py", """
        from invented import work

        for epoch in range(7):
            for batch in range(50):
                work(10)
            work(5000)
    """)  # fmt: skip
    place.patch("fix.diff", "work(5000)", "work(1000)")

    result = place.tried("--epochs", "--patch", "fix.diff", "--", PYTHON, "train.py")

    assert result["outcome"] == "winner"
    assert result["base_step_ms"] == pytest.approx([110.0] * 3, rel=0.01)
    assert result["arms"][0]["step_ms"] == pytest.approx([30.0] * 3, rel=0.01)
    assert result["steps"]["timed"] == 50
    assert result["steps"]["whole_turns"] is True
    assert result["steps"]["between"] == 0.0


def test_a_loop_without_a_second_turn_has_no_whole_epoch(place: Place) -> None:
    place.write("train.py", """
        from invented import work

        for batch in range(60):
            work(10)
        work(5000)
    """)  # fmt: skip

    code, _, err = place.run(
        "try", "--epochs", "--env", "A=1", "--", PYTHON, "train.py"
    )

    assert code == 3
    assert "it made 60 steps, and its loop no second turn." in err


def test_a_profiler_that_the_program_starts_stays_off(place: Place) -> None:
    place.write("train.py", f"""
        import sys
        from invented import work
        import jax.profiler

        faster = 0
        jax.profiler.start_trace("logdir")
        {LOOP}""")  # fmt: skip
    place.patch("fix.diff", "faster = 0", "faster = 1")

    assert outcome(place, "train.py") == "better"
    assert not (place.folder / "logdir").exists()


def test_a_generator_of_batches_is_no_training(place: Place) -> None:
    place.write("train.py", """
        from invented import work

        def batches():
            for number in range(5000):
                work(12)
                yield number

        for batch in batches():
            work(8)
    """)  # fmt: skip

    assert (
        place.tried("--env", "A=1", "--", PYTHON, "train.py")["steps"]["told_by"]
        == "train.py:8"
    )


def test_a_loop_that_makes_the_batch_of_a_slow_step_is_no_training(
    place: Place,
) -> None:
    """Rounds of 700 ms: 100 lines of 6 ms, none of which compiles, then the step, which
    compiled in the first round.
    """
    place.write("train.py", """
        from invented import work
        from jax import monitoring

        def load():
            for line in range(100):
                work(6)

        for number in range(60):
            load()
            if number == 0:
                monitoring.compiles()
            work(100)
    """)  # fmt: skip

    result = place.tried("--env", "A=1", "--", PYTHON, "train.py")

    assert result["steps"]["told_by"] == "train.py:8"
    assert result["base_step_ms"] == pytest.approx(
        [700.0] * len(result["base_step_ms"])
    )


def test_a_loop_that_checks_before_training_is_no_training(place: Place) -> None:
    """It compiles too, and lasts 2.5 s; training goes on for a minute."""
    place.write("train.py", """
        from invented import work
        from jax import monitoring

        for number in range(250):
            if number == 0:
                monitoring.compiles()
            work(10)

        for number in range(1200):
            work(50)
    """)  # fmt: skip

    assert (
        place.tried("--env", "A=1", "--", PYTHON, "train.py")["steps"]["told_by"]
        == "train.py:9"
    )


FITS = """
    import keras
    from invented import work

    losses = iter(range(1, 10_000))


    def step(count):
        work(2 + 8 * count)
        return 1.0 / next(losses)


    keras.fit(step, 64, 20, evaluate=lambda: work(5000))
"""


@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_keras_tells_its_own_steps(place: Place, name: str) -> None:
    """Batches of 10 ms; what is evaluated after each epoch of 64 is in no step. In 2 s
    of steps three epochs end, 5 s each.
    """
    place.write("train.py", re.sub(r"\bkeras\b", name, FITS))

    result = place.tried("--env", "A=1", "--", PYTHON, "train.py")

    assert result["steps"]["told_by"] == "Keras' fit"
    assert result["base_step_ms"] == pytest.approx([10.0] * len(result["base_step_ms"]))
    assert result["steps"]["between"] == pytest.approx(15 / 17, abs=0.03)
    assert result["arms"][0]["check"] == "same"


def test_whole_epochs_of_keras_count_their_ends(place: Place) -> None:
    """64 batches of 10 ms and 5 s of evaluation are 88 ms a batch."""
    place.write("train.py", FITS)

    result = place.tried("--epochs", "--env", "A=1", "--", PYTHON, "train.py")

    runs = result["base_step_ms"]
    assert runs == pytest.approx([(64 * 10 + 5000) / 64] * len(runs), rel=0.01)
    assert result["steps"]["timed"] == 64


PREDICTS = """
    import keras
    from invented import work
    from jax import monitoring


    class Scores(keras.Callback):
        def on_epoch_end(self, epoch, logs=None):
            for row in range(100):
                work(150)


    def step(count):
        monitoring.compiles()
        work(10)
        return 0.5


    keras.fit(step, 64, 20, lambda: None, callbacks=[Scores()])
"""


def test_a_loop_in_a_callback_at_the_end_of_an_epoch_is_not_the_step(
    place: Place,
) -> None:
    """It takes 15 s after each 0.64 s of steps."""
    place.write("train.py", PREDICTS)

    result = place.tried("--env", "A=1", "--", PYTHON, "train.py")

    assert result["steps"]["told_by"] == "Keras' fit"
    assert result["base_step_ms"] == pytest.approx([10.0] * len(result["base_step_ms"]))


def test_several_steps_of_keras_a_call_count_each(place: Place) -> None:
    """16 steps in 130 ms are 8.125 ms each; their losses stand at other steps, so they
    cannot be compared.
    """
    place.write("train.py", FITS)
    place.patch("fix.diff", "work(5000))", "work(5000), steps_per_execution=16)")

    (arm,) = place.tried("--patch", "fix.diff", "--", PYTHON, "train.py")["arms"]

    assert arm["step_ms"] == pytest.approx([8.125] * len(arm["step_ms"]))
    assert (arm["outcome"], arm["check"]) == ("better", "not checked")


def test_several_processes_are_timed_by_the_slowest(place: Place) -> None:
    """Two workers of 10 and 14 ms a step; the launcher only waits for them."""
    place.write("worker.py", """
        import sys
        from invented import work

        for number in range(5000):
            work(int(sys.argv[1]))
    """)  # fmt: skip
    place.write("train.py", """
        import subprocess, sys

        workers = [subprocess.Popen([sys.executable, "worker.py", time]) for time in ("10", "14")]
        sys.exit(max(one.wait() for one in workers))
    """)  # fmt: skip

    result = place.tried("--env", "A=1", "--", PYTHON, "train.py")

    assert result["steps"]["told_by"] == "worker.py:4"
    assert result["base_step_ms"] == pytest.approx([14.0] * len(result["base_step_ms"]))
