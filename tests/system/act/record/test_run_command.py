"""`tfadvisor run` on programs whose framework is a fake that hands out a recorded
trace: its steps take 3 ms, the programs' 4.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from support.places import FIXTURES

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).parent / "tfadvisor"
FAKES = Path(__file__).parent / "fake_frameworks"
TRAINS = """
    import sys, time, jax
    step = jax.jit(lambda: time.sleep(0.004))
    for number in range(int(sys.argv[1])):
        step()
    print("trained", number + 1)
"""


class Place:
    """A folder with a program, in which the command runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "windows.log"
        trace = folder / "given.xplane.pb"
        trace.write_bytes(
            gzip.decompress(
                (FIXTURES / "jax-loader" / "trace.xplane.pb.gz").read_bytes()
            )
        )
        self.env = {
            **os.environ,
            "PYTHONPATH": str(FAKES),
            "FAKE_LOG": str(self.log),
            "FAKE_TRACE": str(trace),
        }

    def program(self, text: str, name: str = "train.py") -> Path:
        file = self.folder / name
        file.write_text(dedent(text))
        return file

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        call = [str(COMMAND), "run", "--out", "logdir", *map(str, arguments)]
        pipes = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "stdin": subprocess.DEVNULL,
        }
        return subprocess.Popen(call, cwd=self.folder, env=self.env, text=True, **pipes)

    def run(self, *arguments: object) -> tuple[int, str, str]:
        """(exit code, stdout, stderr) of `tfadvisor run --out logdir …`."""
        running = self.start(*arguments)
        out, err = running.communicate(timeout=60)
        return running.returncode, out, err

    def traces(self) -> list[Path]:
        return sorted((self.folder / "logdir").rglob("*.xplane.pb"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def wait_for(what: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_the_machine_did_lies_beside_the_trace_and_in_the_report(
    place: Place,
) -> None:
    place.env["OMP_NUM_THREADS"] = "3"
    place.env["TF_ACCESS_KEY"] = "s3cret"

    code, out, _ = place.run(
        "--then",
        "stop",
        "--format",
        "json",
        "--",
        sys.executable,
        place.program(TRAINS),
        7500,
    )

    assert code == 0
    (trace,) = place.traces()
    counted = json.loads(
        trace.with_name(trace.name.replace(".xplane.pb", ".machine.json")).read_text()
    )
    report = json.loads(out)
    assert 0.3 < counted["closed"]["time"] - counted["opened"]["time"] < 60
    assert counted["settings"]["variables"]["OMP_NUM_THREADS"] == "3"
    assert report["machines"][0]["variables"]["OMP_NUM_THREADS"] == "3"
    assert "s3cret" not in json.dumps([counted, report])
    if sys.platform == "linux":
        assert report["metrics"]["other_cores"]["value"] is not None


def test_a_program_is_recorded_and_goes_on(place: Place) -> None:
    code, out, err = place.run(
        "--details", "--", sys.executable, place.program(TRAINS), 2000
    )

    assert code == 0
    assert "load_batch" in out
    assert "in 1.0 s, without calls of Python functions" in " ".join(out.split())
    assert "trained 2000" in out
    assert "tfadvisor: the whole run: " in err.splitlines()[1]
    assert "recorded in logdir/plugins/profile/" in err


def test_a_program_whose_stacks_are_seen_is_recorded_in_one_window(
    place: Place,
) -> None:
    """The trace that the fake hands out holds fewer than the usual 20 steps."""
    place.run("--steps", 5, "--", sys.executable, place.program(TRAINS), 1000)

    assert place.log.read_text() == "2 0\n"


def test_a_step_that_is_asked_for_by_name_is_recorded_with_calls(place: Place) -> None:
    """Of Python functions, one of which it may be: in the last window. On a busy machine
    one without calls may hold too few steps, and is tried again.
    """
    program = place.program(TRAINS)

    wanted = "--steps", 5, "--step-is", "no_such_step"
    place.run(*wanted, "--", sys.executable, program, 1000)

    windows = place.log.read_text().splitlines()
    assert set(windows[:-1]) == {"2 0"}
    assert windows[-1] == "2 1"


def test_the_trace_is_kept_with_a_note(place: Place) -> None:
    place.run("--", sys.executable, place.program(TRAINS), 1000)

    (trace,) = place.traces()
    note = json.loads((trace.parent / "recording.json").read_text())
    assert trace.parent.parent == place.folder / "logdir" / "plugins" / "profile"
    assert note["framework"] == "jax"
    assert note["recorded"]["python_tracer"] is False
    assert note["python_tracer_cost"] is None


def test_the_report_goes_where_it_is_asked_to(place: Place) -> None:
    code, out, _ = place.run(
        "-o", "report.json", "--", sys.executable, place.program(TRAINS), 1000
    )

    report = json.loads((place.folder / "report.json").read_text())
    assert (code, out) == (0, "trained 1000\n")
    assert report["capture"][0]["note"].startswith("Recorded by tfadvisor: ")


def test_python_m_and_a_shell_are_programs_too(place: Place) -> None:
    place.program(TRAINS)

    code, out, _ = place.run(
        "--", "sh", "-c", f"{sys.executable} -m train 1000; exit 0"
    )

    assert code == 0
    assert "load_batch" in out


def test_each_process_of_a_launcher_leaves_a_trace_in_one_run(place: Place) -> None:
    worker = place.program(TRAINS, "worker.py")
    launcher = place.program(
        f"""
        import subprocess, sys
        workers = [subprocess.Popen([sys.executable, {str(worker)!r}, "1250"]) for _ in range(2)]
        sys.exit(max(one.wait() for one in workers))
        """
    )

    code, _, _ = place.run("--after", 2, "--", sys.executable, launcher)

    assert code == 0
    assert len(place.traces()) == 2
    assert len({trace.parent for trace in place.traces()}) == 1


def test_an_endless_program_can_be_stopped_through_its_launcher(place: Place) -> None:
    program = place.program(TRAINS.replace("range(int(sys.argv[1]))", "iter(int, 1)"))

    code, out, _ = place.run(
        "--then", "stop", "--", "sh", "-c", f"{sys.executable} {program}; echo over"
    )

    assert code == 0
    assert "over" in out
    assert "trained" not in out


def test_tensorflow_is_recorded_with_its_own_levels(place: Place) -> None:
    """Without a warning, which 2.21 gives for each option; in each window, of which a
    busy machine may need several.
    """
    program = place.program(
        """
        import time, tensorflow as tf
        step = tf.function(lambda: time.sleep(0.004))
        for number in range(1500):
            step()
        """
    )

    code, _, _ = place.run("--steps", 5, "--", sys.executable, program)

    assert code == 0
    assert set(place.log.read_text().splitlines()) == {"{}"}


def test_a_program_that_crashes_ends_with_3_and_one_line(place: Place) -> None:
    program = place.program(
        "import jax\njax.jit(print)\nraise ValueError('wrong shape')"
    )

    code, out, err = place.run("--", sys.executable, program)

    assert (code, out) == (3, "")
    assert "wrong shape" in err
    assert err.splitlines()[-1].startswith(
        f"tfadvisor: {sys.executable} {program}: ended with exit code 1 after "
    )


def test_a_program_that_fails_after_its_report_ends_with_0(place: Place) -> None:
    program = place.program(TRAINS + "\n    sys.exit(7)\n")

    code, out, err = place.run("--", sys.executable, program, 1000)

    assert code == 0
    assert "load_batch" in out
    assert "ended with exit code 7" in err


def test_a_program_without_steps_ends_with_3_and_one_line(place: Place) -> None:
    Path(place.env["FAKE_TRACE"]).write_bytes(b"")
    program = place.program("import time, jax\njax.jit(print)\ntime.sleep(0.5)")

    code, out, err = place.run("--", sys.executable, program)

    assert (code, out) == (3, "")
    assert "never came to steps that repeat (1 compilations)" in err
    assert err.count("\n") == 1


def test_a_program_without_a_framework_ends_with_3_and_one_line(place: Place) -> None:
    code, out, err = place.run("--", sys.executable, "-c", "print(1)")

    assert (code, out) == (3, "1\n")
    assert "no process of it had imported TensorFlow or JAX" in err
    assert err.count("\n") == 1


def test_a_profiler_that_fails_is_told_and_the_program_lives(place: Place) -> None:
    place.env["FAKE_FAILS"] = "1"

    code, out, err = place.run("--", sys.executable, place.program(TRAINS), 600)

    assert (code, out) == (3, "trained 600\n")
    assert "RuntimeError: no counters for you" in err
    assert "could not be recorded: the profiler failed, as it says above" in err
    assert place.log.read_text() == "2 0\n"


def test_the_main_thread_starts_and_stops_the_profiler(place: Place) -> None:
    """So it is in the midst of no launch then."""
    place.env["FAKE_THREADS"] = str(place.folder / "threads")

    place.run("--steps", 5, "--", sys.executable, place.program(TRAINS), 1000)

    assert (place.folder / "threads").read_text() == "main\nmain\n"


def test_a_profiler_of_cuda_that_did_not_start_is_not_started_again(
    place: Place,
) -> None:
    """The fake's trace has no GPU's part; frameworks raise nothing then."""
    place.env["FAKE_BACKEND"] = "cuda"

    code, out, err = place.run("--", sys.executable, place.program(TRAINS), 1000)

    assert (code, out) == (3, "trained 1000\n")
    assert "could not be recorded: recording failed in CUPTI" in err
    assert "The program goes on, and may be harmed" in err
    assert place.log.read_text() == "2 0\n"


def test_a_program_that_records_itself_comes_first(place: Place) -> None:
    """By a name of its own: nothing that `run` could put in the place of a module's
    function would reach it. It starts in the first look.
    """
    program = place.program(
        """
        import time, jax
        from jax.profiler import start_trace, stop_trace
        from jax._src.profiler import _profile_state as state
        step = jax.jit(lambda: time.sleep(0.004))
        mine, lock = 0, state.lock
        for number in range(1000):
            step()
            if state.lock is not lock and not mine:
                mine = number
                start_trace("mine")
            if mine and number == mine + 2:
                stop_trace()
        print("its own is back:", state.lock is lock)
        """
    )

    code, out, _ = place.run("--steps", 5, "--", sys.executable, program)

    assert code == 0
    assert "its own is back: True" in out
    assert "load_batch" in out
    assert place.log.read_text().startswith("2 0\nNone None\n")


def test_a_program_that_forks_goes_on_and_is_recorded_once(place: Place) -> None:
    program = place.program(
        """
        import os, time, jax
        step = jax.jit(lambda: time.sleep(0.004))
        for number in range(1000):
            step()
            if number % 20 == 0:
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)
        """
    )

    code, out, _ = place.run("--", sys.executable, program)

    assert code == 0
    assert "load_batch" in out
    assert len(place.traces()) == 1


def test_a_child_that_forked_after_the_import_and_trains_is_recorded(
    place: Place,
) -> None:
    program = place.program(
        """
        import multiprocessing, time, jax

        def train():
            step = jax.jit(lambda: time.sleep(0.004))
            for _ in range(1000):
                step()

        worker = multiprocessing.get_context("fork").Process(target=train)
        worker.start()
        worker.join()
        """
    )

    code, out, _ = place.run("--", sys.executable, program)

    assert code == 0
    assert "load_batch" in out


def test_what_is_recorded_when_the_program_ends_is_written_first(place: Place) -> None:
    program = place.program(
        """
        import time, jax
        step = jax.jit(lambda: time.sleep(0.004))
        while not jax._src.profiler._active:  # it ends during the first look
            step()
        """
    )
    code, out, _ = place.run("--", sys.executable, program)

    assert code == 0
    assert "load_batch" in out
    assert len(place.traces()) == 1
    # Where no loop was seen yet, as on a busy machine, a very short window came first.
    assert place.log.read_text() in ("2 0\n", "2 0\n" * 2)


def test_the_sitecustomize_of_the_user_runs_too(place: Place) -> None:
    site = place.folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import os\nos.environ['SEEN'] = __file__\n")
    place.env["PYTHONPATH"] = f"{site}{os.pathsep}{FAKES}"
    program = place.program(
        "import os, sys; print(os.environ.get('SEEN'), "
        "sys.modules['sitecustomize'].__file__, 'injected' in str(sys.path))"
    )

    _, out, _ = place.run("--", sys.executable, program)

    assert out.split() == [str(site / "sitecustomize.py")] * 2 + ["False"]


def test_a_report_that_cannot_be_kept_leaves_the_program_alone(place: Place) -> None:
    (place.folder / "logdir").write_text("a file")

    code, out, err = place.run("--", sys.executable, place.program(TRAINS), 300)

    assert (code, out) == (2, "trained 300\n")
    assert "--out logdir: cannot be written" in err


def test_an_interrupt_reaches_the_program(place: Place) -> None:
    program = place.program(
        """
        import time, jax
        jax.jit(print)
        try:
            open("begun", "w").close()
            time.sleep(60)
        except KeyboardInterrupt:
            print("put away")
        """
    )
    running = place.start("--after", 50, "--", sys.executable, program)
    wait_for((place.folder / "begun").exists)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=20)

    assert running.returncode == 130
    assert out == "put away\n"
    assert err == "tfadvisor: interrupted\n"


def test_termination_ends_the_program_too(place: Place) -> None:
    program = place.program(
        "import os, time, jax\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    )
    running = place.start("--", sys.executable, program)
    pid = place.folder / "pid"
    wait_for(lambda: pid.exists() and pid.read_text() != "")
    running.terminate()
    running.communicate(timeout=20)

    assert running.returncode == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--", "no-such-program-here"],
            "no-such-program-here cannot be started: No such file or directory.",
        ),
        (
            ["--after", "soon", "--", "true"],
            "--after soon: give auto, or seconds as 60 or 2.5.",
        ),
        (["--then", "stpo", "--", "true"], "Did you mean stop?"),
        (["--steps", "1", "--", "true"], "--steps"),
        ([], "COMMAND"),
    ],
)
def test_wrong_use_ends_with_2(place: Place, arguments: list[str], said: str) -> None:
    code, out, err = place.run(*arguments)

    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
