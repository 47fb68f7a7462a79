"""Which functions of libraries go round, and which are called again and again."""

from __future__ import annotations

import pytest

from tfadvisor.act.record.injected.tfadvisor_hook.rounds import _is_called_again

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
    [(INSTALLED, 30, True), (INSTALLED, 14, False), ("/home/me/train.py", 30, False)],
    ids=["a wrapper", "a loop that begins now and then", "the program's own"],
)
def test_a_library_function_whose_first_line_comes_as_often_is_called_anew(
    file: str, first: int, called_again: bool
) -> None:
    """Line 3 came so often, lines 4 and 6 thirty times."""
    module = compile(WRAPPER, file, "exec")
    (code,) = [one for one in module.co_consts if hasattr(one, "co_lines")]
    lines = {3: [0.1] * first, 4: [0.1] * 30, 6: [0.1] * 30}

    assert _is_called_again(code, lines) is called_again
