"""Functions of NumPy that a loop calls for one row after another."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tfadvisor.causes.rows_at_once import RowsAtOnce, rows_at_once
from tfadvisor.causes.source_files import ParsedFile

DIST = """
import math
import numpy as np
def dist(a, b):
    x = np.square(np.subtract(a, b))
    return np.sum(x, 0)
"""


def found(code: str, head: str = DIST) -> RowsAtOnce | None:
    """On the line that ends with `# here`."""
    text = head + dedent(code)
    lines = tuple(text.splitlines())
    line = next(n for n, held in enumerate(lines, 1) if held.endswith("# here"))
    return rows_at_once(ParsedFile(ast.parse(text), lines, "same", "train.py"), line)


def test_all_rows_that_an_inner_loop_takes() -> None:
    """Nothing of the loop over p goes into it, so it stands before that."""
    known = found(
        """
        def select(rows, groups):
            width = rows.shape[1]
            for a in groups:
                others = [k for k in range(len(rows)) if k != a]
                for p in range(a):
                    for k in others:
                        near = dist(rows[a], rows[k])  # here
                        best = min(near, best)
        """
    )

    assert known is not None
    assert known.loop == "for k in others"
    assert known.once.splitlines() == [
        "# before line 12; dist then reduces one axis later: axis 1 for 0, -1 for none",
        "of_all = dist(rows[a], np.asarray(rows)[list(others)])",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "return np.linalg.norm(a - b)",
        "return (a * b).sum()",
        "return np.sqrt(((a - b) ** 2).sum(-1))",
        "c = a - b\n    return np.sum(c * c)",
    ],
)
@pytest.mark.parametrize(
    ("loop", "rows"),
    [
        ("[far(q, row) for row in rows]", "np.asarray(rows)"),
        ("[far(q, b=rows[i]) for i in range(9)]", "b=np.asarray(rows)[np.arange(9)]"),
    ],
)
def test_forms_of_such_functions(body: str, loop: str, rows: str) -> None:
    head = f"import math\nimport numpy as np\ndef far(a, b):\n    {body}\n"
    known = found(f"all = {loop}  # here", head)

    assert known is not None
    assert f"far(q, {rows})" in known.once


@pytest.mark.parametrize(
    "code",
    [
        "for k in others:\n  last = dist(last, rows[k])  # here",
        "for k in others:\n  rows[k] = dist(rows[0], rows[k])  # here",
        "for k in others:\n  near = dist(rows[0], rows[k + 1])  # here",
        "near = dist(rows[0], rows[1])  # here",
        "for k in others:\n  near = far(rows[0], rows[k])  # here",
        "while k:\n  k -= 1\n  near = dist(rows[0], rows[k])  # here",
    ],
    ids=[
        "it goes on from round to round",
        "it changes the rows",
        "another index",
        "no loop",
        "a function of another file",
        "a while",
    ],
)
def test_other_calls_are_none(code: str) -> None:
    assert found(code) is None


@pytest.mark.parametrize(
    "body",
    [
        "return np.dot(a, b)",
        "return a if a.sum() > b.sum() else b",
        "return np.sort(a - b)",
        "return np.sum(a - b, keepdims=True)",
        "return math.sqrt(((a - b) ** 2).sum(-1))",
        "return np.sum(a[0] - b)",
    ],
)
def test_other_functions_are_none(body: str) -> None:
    head = f"import math\nimport numpy as np\ndef far(a, b):\n    {body}\n"
    assert found("all = [far(q, row) for row in rows]  # here", head) is None
