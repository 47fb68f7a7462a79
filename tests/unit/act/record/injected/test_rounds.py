"""Which functions of libraries go round, and which are called again and again."""

from __future__ import annotations

from itertools import accumulate
from types import CodeType

import pytest

from tfadvisor.act.record.injected.tfadvisor_hook.rounds import (
    RoundCounter,
    _is_called_again,
    _known_by,
    _loops,
)

WRAPPER = """
def wrapper(*args):
    try:
        return work(*args)
    finally:
        done()
"""
"""Its body has the lines 3, 4 and 6."""
INSTALLED = "/venv/lib/python3.12/site-packages/jax/_src/profiler.py"


@pytest.mark.parametrize(
    ("file", "first", "called_again"),
    [(INSTALLED, 2, True), (INSTALLED, 1, False), ("/home/me/train.py", 30, False)],
    ids=["a wrapper", "a loop that began meanwhile", "the program's own"],
)
def test_a_library_function_whose_first_line_comes_again_is_called_anew(
    file: str, first: int, called_again: bool
) -> None:
    """Line 3 came so often, lines 4 and 6 thirty times, as of what is written for each
    of many in one expression."""
    module = compile(WRAPPER, file, "exec")
    (code,) = [one for one in module.co_consts if hasattr(one, "co_lines")]
    lines = {3: [0.1] * first, 4: [0.1] * 30, 6: [0.1] * 30}

    assert _is_called_again(code, lines) is called_again


def test_loops_in_loops_differ_in_how_often_their_lines_come() -> None:
    """Four epochs of 120 ms, in each 20 batches that take 5 ms each (lines 11 and 12,
    of which 13 comes for each second one), and 20 ms of something else.
    """
    epochs = [0.12 * number for number in range(4)]
    batches = [at + 0.005 * batch for at in epochs for batch in range(20)]
    again = {10: epochs, 11: batches, 12: batches, 13: batches[::2], 15: epochs}

    outer, inner = _loops(again)

    assert (outer["lines"], outer["rounds"]) == ([10, 15], 4)
    assert outer["median_ms"] == pytest.approx(120.0)
    assert (inner["lines"], inner["rounds"]) == ([11, 13], 80)
    assert inner["median_ms"] == pytest.approx(5.0)
    assert (outer["each"], inner["each"]) == ([10, 15], [11, 12])


class Asked:
    """Stands for `sys.monitoring`, which Python before 3.12 does not have."""

    def __init__(self) -> None:
        self.quiet: list[str] = []

    def set_local_events(self, _tool: int, code: CodeType, events: int) -> None:
        assert events == 0
        self.quiet.append(code.co_name)


def test_a_library_function_that_begins_again_is_asked_no_more() -> None:
    """The wrapper begins at line 3: twice in the text; the program's function of the
    same lines does too, and stays.
    """
    library, own = (
        next(
            part
            for part in compile(WRAPPER, file, "exec").co_consts
            if isinstance(part, CodeType)
        )
        for file in (INSTALLED, "/home/me/train.py")
    )
    counter, monitoring = RoundCounter(), Asked()
    for code in (library, own):
        for line in (3, 4, 6, 3, 4, 6):
            print(code, line, file=counter._text)

    counter._ask_less({_known_by(code): code for code in (library, own)}, monitoring)

    assert monitoring.quiet == ["wrapper"]
    assert counter._read == counter._text.tell()


def test_a_loop_that_evaluates_meanwhile_is_the_one_that_is_counted() -> None:
    """For 600 ms, of which main goes round from 0 to 100 and from 500 on, every 10 ms,
    and evaluate every 10 ms in between. After 400 ms main's lines have come for less
    than half of the time, and may yet come again.
    """
    main, evaluate = (_function(name) for name in ("main", "evaluate"))
    counter = RoundCounter()
    for tick in range(60):
        is_training = tick < 10 or tick >= 50
        code = main if is_training else evaluate
        print(code, code.co_firstlineno + 1, file=counter._text)
        counter._looks.append((tick / 100, counter._text.tell()))
        found = counter._outermost([main, evaluate])
        if tick == 40:
            assert found is not None
            assert (found["function"], counter._is_around) == ("evaluate", True)

    assert found is not None
    assert (found["function"], counter._is_around) == ("main", False)


def _function(name: str) -> CodeType:
    module = compile(f"def {name}():\n    work()\n", "/home/me/train.py", "exec")
    return next(part for part in module.co_consts if isinstance(part, CodeType))


def test_rounds_of_which_few_take_most_tell_no_length() -> None:
    """Nine dispatches of 0.1 ms, then a wait of 60 ms for all of them; and rounds of 6
    ms with one of 20 ms among ten, as what is saved.
    """
    ahead = list(accumulate(([0.0001] * 9 + [0.06]) * 10))
    saves = list(accumulate(([0.006] * 9 + [0.02]) * 10))

    (unknown,), (known,) = _loops({5: ahead}), _loops({5: saves})

    assert unknown["median_ms"] == 0.0
    assert known["median_ms"] == pytest.approx(6.0)
