"""Programs that notice when something else is in their process: under `tfadvisor run`
each finds what it finds alone. The framework is a fake, so that they start at once.

A program runs for four seconds, in which it is looked at and recorded, and prints at
its end what it counted. On a machine too busy for that it runs once more, for longer.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from support.places import FIXTURES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="")]

COMMAND = Path(sys.executable).parent / "tfadvisor"
FAKES = Path(__file__).parent / "fake_frameworks"
BEGINS = """
    import json, time, jax
    until = time.monotonic() + {seconds}
    step = jax.jit(lambda: time.sleep(0.004))
    """
IN_SCOPE = """
    import weakref
    class Large:
        pass
    alive, wrong, wrote, closed = [], 0, 0, 0
    def write(text):
        open("scratch", "w").write(text)
    def use():
        local = Large()
        alive.append(weakref.ref(local))
        step()
    def items():
        global closed
        try:
            yield 1
            yield 2
        finally:
            closed += 1
    def first():
        for item in items():
            return item
    asked = 0
    while time.monotonic() < until:
        write(str(wrote))
        wrong += open("scratch").read() != str(wrote)
        wrote += 1
        use()
        wrong += alive.pop()() is not None
        first()
        asked += 1
        wrong += closed != asked
    print(json.dumps(wrong))
    """
ALARMS = """
    import signal
    raised = caught = 0
    def alarm(*_):
        global raised
        raised += 1
        raise TimeoutError
    signal.signal(signal.SIGALRM, alarm)
    while time.monotonic() < until:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0021)
            for number in range(10 ** 9):
                number * number
        except TimeoutError:
            caught += 1
        step()
    print(json.dumps([raised - caught, raised > 100]))
    """
INTERRUPTED = """
    import ctypes, select, signal
    library, early = ctypes.CDLL(None), 0
    class Poll(ctypes.Structure):
        _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("seen", ctypes.c_short)]
    while time.monotonic() < until:
        early += library.usleep(20_000) != 0
        early += library.poll(ctypes.byref(Poll(-1, 0, 0)), 1, 20) != 0
        step()
    print(json.dumps(early))
    """
ASYNCIO = """
    import asyncio, os, signal
    heard = []
    async def main():
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, lambda: heard.append(1))
        while time.monotonic() < until:
            await asyncio.sleep(0.001)
            time.sleep(0.3)
            step()
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.sleep(0.1)
    asyncio.run(main())
    print(json.dumps(heard))
    """
PROFILED = """
    import cProfile
    def work():
        step()
    def main():
        calls = 0
        while time.monotonic() < until:
            work()
            calls += 1
        return calls
    profile = cProfile.Profile()
    calls = profile.runcall(main)
    counted = [one.callcount for one in profile.getstats() if getattr(one.code, "co_name", "") == "work"]
    print(json.dumps([one - calls for one in counted]))
    """
TRACED = """
    import sys
    lines = 0
    def trace(frame, what, _argument):
        global lines
        if frame.f_code is not work.__code__:
            return None
        lines += what == "line"
        return trace
    def work():
        step()
        return 1
    calls = 0
    sys.settrace(trace)
    while time.monotonic() < until:
        calls += work()
    print(json.dumps([lines - 2 * calls, sys.gettrace() is trace]))
    """
OWN_SIGNAL = """
    import signal
    came = []
    signal.signal(signal.SIGURG, lambda *_: came.append(1))
    while time.monotonic() < until:
        step()
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    print(json.dumps([came, signal.sigtimedwait(signal.valid_signals(), 0.3)]))
    """
JOINS = """
    import threading
    while time.monotonic() < until:
        step()
    count = threading.active_count()
    for one in threading.enumerate():
        if one is not threading.current_thread():
            one.join()
    print(json.dumps(count))
    """
RECURSES = """
    import sys
    def deep(left):
        return 0 if left == 0 else 1 + deep(left - 1)
    def room():
        frame, used = sys._getframe(), 0
        while frame is not None:
            frame, used = frame.f_back, used + 1
        return sys.getrecursionlimit() - used - 1
    failed = 0
    while time.monotonic() < until:
        try:
            deep(room())
        except RecursionError:
            failed += 1
        step()
    print(json.dumps(failed))
    """
MANY_LOOPS = """
    body = "".join(f"    for _ in (): x = {number}\\n" for number in range(4000))
    names = {"time": time, "step": step, "until": until}
    exec("def main():\\n  most = 0\\n  while time.monotonic() < until:\\n    began = time.monotonic()\\n" + body
         + "    step()\\n    most = max(most, time.monotonic() - began)\\n  return most", names)
    print(json.dumps(names["main"]() < 2))
    """
MADE_CODE = """
    import gc, weakref
    made = []
    while time.monotonic() < until:
        names = {"step": step}
        exec(compile(f"def f():\\n  return step(), {len(made)}", f"made-{len(made)}", "exec"), names)
        names["f"]()
        made.append(weakref.ref(names["f"].__code__))
        del names
    gc.collect()
    print(json.dumps([sum(one() is not None for one in made), len(made) > 100]))
    """
WATCHES_FILES = """
    import builtins, os, sys
    opens, patched, original = [], [], builtins.open
    fakes = os.environ["FAKE_LOG"], os.environ["FAKE_TRACE"]
    def mine(*arguments, **named):
        patched.extend(one for one in arguments[:1] if one not in fakes)
        return original(*arguments, **named)
    def audit(event, arguments):
        if event == "open":
            opens.append(1)
    builtins.open = mine
    sys.addaudithook(audit)
    while time.monotonic() < until:
        step()
    print(json.dumps([len(patched), len(opens) < 200]))
    """
PROGRAMS: list[tuple[str, Any]] = [
    (IN_SCOPE, 0),
    (ALARMS, [0, True]),
    (INTERRUPTED, 0),
    (ASYNCIO, [1]),
    (PROFILED, [0]),
    (TRACED, [0, True]),
    (OWN_SIGNAL, [[], None]),
    (JOINS, 1),
    (RECURSES, 0),
    (MANY_LOOPS, True),
    (MADE_CODE, [0, True]),
    (WATCHES_FILES, [0, True]),
]


def ran(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    given = folder / "given.xplane.pb"
    trace = FIXTURES / "jax-loader" / "trace.xplane.pb.gz"
    given.write_bytes(gzip.decompress(trace.read_bytes()))
    environment = {
        **os.environ,
        "PYTHONPATH": str(FAKES),
        "FAKE_LOG": str(folder / "windows.log"),
        "FAKE_TRACE": str(given),
    }
    return subprocess.run(
        list(map(str, (COMMAND, "run", "-o", "report.html", "--", *command))),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )


@pytest.mark.parametrize(
    ("program", "counts"),
    PROGRAMS,
    ids=[
        "what a scope closes",
        "exceptions of alarms",
        "calls of C that signals interrupt",
        "asyncio",
        "its profiler",
        "its tracer",
        "its signals",
        "it joins all threads",
        "deep recursion",
        "4,000 loops",
        "code that it makes",
        "its files",
    ],
)
def test_a_program_finds_what_it_finds_alone(
    tmp_path: Path, program: str, counts: Any
) -> None:
    file = tmp_path / "train.py"

    for seconds in (4, 40):
        begins = dedent(BEGINS).format(seconds=seconds)
        file.write_text(begins + dedent(program))
        done = ran(tmp_path, sys.executable, file)
        if done.returncode == 0:
            break

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == counts
    wrote, recorded, *_ = done.stderr.splitlines()
    assert wrote == "tfadvisor: wrote report.html (html)."
    assert "recorded in tfadvisor-run" in recorded


def test_a_python_2_below_it_hears_nothing(tmp_path: Path) -> None:
    """What it loads before its first line is read by its grammar."""
    hook = Path(__file__).parents[4] / "tfadvisor/act/record/injected/sitecustomize.py"

    text = hook.read_text("utf-8")

    for newer in ("->", "print(", 'f"', "async ", "nonlocal", "*,", ": str"):
        assert newer not in text.replace("# type: () ->", "").replace("]) ->", "")
