"""Of which arguments a line is made whose derivative an op computes."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.differentiated import made_with_its_line
from tfadvisor.program.module import Module
from tfadvisor.program.operations import location_of

FORWARD = "jit(step)/vmap(jvp(jvp()))/dot_general"
GRADIENT = "jit(step)/jvp()/"
BACKWARD = "jit(step)/transpose(jvp())/dot_general"


def at(path: str, line: int = 24) -> bytes:
    return hlo.metadata(path, "train.py", line)


def made(*ops: bytes) -> dict[str, set[str] | None]:
    """By name, of a program of `w` (1), `x` (2) and a constant (3)."""
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[8]", number=0, metadata=hlo.metadata("w")),
        hlo.op(2, "parameter", "f32[8]", number=1, metadata=hlo.metadata("x")),
        hlo.op(3, "constant", "f32[8]"),
        *ops,
    )
    module = Module(hlo.module(body))
    found = {}
    for op in module.entry.instructions:
        of = made_with_its_line(module, op, location_of(op))
        found[op.name] = None if of is None else set(of)
    return found


def test_a_product_with_the_basis_is_made_of_what_its_line_is() -> None:
    """`x_data @ w` in a Hessian: x_data is a constant, and so is its product with the
    identity, but not the line's own.
    """
    found = made(
        hlo.op(4, "dot", "f32[8]", 3, 1, name="own", metadata=at(FORWARD)),
        hlo.op(5, "dot", "f32[8]", 3, 3, name="basis", metadata=at(FORWARD)),
    )

    assert found["basis"] == found["own"] == {"w"}


def test_a_constant_op_of_a_function_that_is_differentiated_stays_one() -> None:
    """`solve(fixed, fixed) + w` in a loss: the factor is the line's own."""
    found = made(
        hlo.op(4, "dot", "f32[8]", 3, 3, name="f", metadata=at(GRADIENT + "cholesky")),
        hlo.op(5, "add", "f32[8]", 4, 1, name="sum", metadata=at(GRADIENT + "add")),
    )

    assert found["f"] == set()
    assert found["sum"] == {"w"}


def test_without_a_derivative_the_line_does_not_matter() -> None:
    path = "jit(step)/dot_general"
    found = made(
        hlo.op(4, "dot", "f32[8]", 3, 3, name="fixed", metadata=at(path)),
        hlo.op(5, "dot", "f32[8]", 3, 1, name="own", metadata=at(path)),
    )

    assert found["fixed"] == set()


def test_what_goes_backward_is_made_of_what_its_line_is() -> None:
    """The gradient of `(x_data @ w).sum()` is a sum of x_data, whatever `w` is."""
    found = made(
        hlo.op(4, "dot", "f32[8]", 3, 3, name="back", metadata=at(BACKWARD)),
        hlo.op(5, "dot", "f32[8]", 3, 1, name="o", metadata=at(GRADIENT + "mul")),
    )

    assert found["back"] == {"w"}


def test_where_the_lines_own_ops_are_not_in_the_program_nothing_is_known() -> None:
    """Nobody needs the value where the derivative alone is asked for."""
    for path in (FORWARD, BACKWARD):
        found = made(hlo.op(4, "dot", "f32[8]", 3, 3, name="one", metadata=at(path)))

        assert found["one"] is None


def test_an_op_that_lost_its_path_is_judged_by_its_line() -> None:
    found = made(
        hlo.op(4, "dot", "f32[8]", 3, 1, name="own", metadata=at(GRADIENT + "mul")),
        hlo.op(5, "dot", "f32[8]", 3, 3, name="lost", metadata=at("")),
        hlo.op(6, "dot", "f32[8]", 3, 3, name="other", metadata=at("", 30)),
    )

    assert found["lost"] == {"w"}
    assert found["other"] == set()


def test_the_parts_of_a_fusion_are_made_of_what_they_are_given() -> None:
    """`w` is squared with line 24, in one fusion with what `x` is multiplied with."""
    body = hlo.computation(
        2,
        hlo.op(21, "parameter", "f32[8]", number=0),
        hlo.op(22, "parameter", "f32[8]", number=1),
        hlo.op(23, "multiply", "f32[8]", 21, 21, metadata=at(GRADIENT + "mul")),
        hlo.op(24, "multiply", "f32[8]", 23, 22, metadata=at("jit(step)/mul", 34)),
    )
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[8]", number=0, metadata=hlo.metadata("w")),
        hlo.op(2, "parameter", "f32[8]", number=1, metadata=hlo.metadata("x")),
        hlo.op(3, "constant", "f32[8]"),
        hlo.op(4, "fusion", "f32[8]", 1, 2, calls=[2]),
        hlo.op(5, "dot", "f32[8]", 3, 3, name="basis", metadata=at(FORWARD)),
    )
    module = Module(hlo.module(body, entry))
    basis = module.instruction("basis")
    assert basis is not None

    assert made_with_its_line(module, basis, location_of(basis)) == {"w"}
