"""A file of the program, walked once."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tfadvisor.causes import walked as module
from tfadvisor.causes.walked import (
    calls_in,
    functions_in,
    loops_by_line,
    nodes_in,
    own_nodes,
    walked,
)

PROGRAM = textwrap.dedent(
    """\
    class Trainer:
        @once
        def run(self, rows):
            def inner(row):
                return row.sum()
            for row in rows:
                total = [inner(x)
                         for x in row]
            return total
    trainer.run(rows)
    """
)


def test_a_file_is_walked_once_however_often_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its nodes are counted where they are visited: 1 for each."""
    tree = ast.parse(PROGRAM)
    whole, seen = list(ast.walk(tree)), list[ast.AST]()
    plain = ast.walk

    def counted(node: ast.AST) -> object:
        for inner in plain(node):
            seen.append(inner)
            yield inner

    monkeypatch.setattr(module.ast, "walk", counted)
    for _ in range(3):
        assert [*nodes_in(tree)] == whole
        assert len([*calls_in(tree)]) == 3
        assert [each.name for each in functions_in(tree)] == ["run", "inner"]

    assert len(seen) == len(whole)


def test_what_stands_around_a_line() -> None:
    tree = ast.parse(PROGRAM)
    file = walked(tree)
    run, inner = file.functions

    assert [each.name for each in file.functions_around(5)] == ["run", "inner"]
    assert file.function_around(2) is run  # its decorator
    assert file.function_around(10) is None
    assert file.class_of(run) is file.classes[0]
    assert file.class_of(inner) is None
    assert sorted(loops_by_line(run)) == [7, 8]
    assert inner.body[0] not in [*own_nodes(run)]


def test_calls_by_their_line_and_name() -> None:
    """Line 7 lies in the call of inner alone, line 10 in that of run."""
    file = walked(ast.parse(PROGRAM))

    assert [ast.unparse(call) for call in file.calls_on(7)] == ["inner(x)"]
    assert [call.lineno for call in file.calls_named("run")] == [10]
    assert [*file.calls_named("row")] == []
