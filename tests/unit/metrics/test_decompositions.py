"""What the decompositions of a step are for."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

from tfadvisor.metrics import Metrics


def measured(path: str, following: str = "negate") -> Metrics:
    """Of a call on line 22 that takes 40 of 100 µs. following: what uses its result."""
    matrix = "f32[32,32]"
    where = hlo.metadata(path, "als.py", 22)
    call = hlo.op(
        2, "custom-call", matrix, 1, name="op", target="solver_ffi", metadata=where
    )
    numbers = hlo.dot_numbers([1], [0])
    use = hlo.op(
        3, following, matrix, *[2, 1][: 1 + (following == "dot")], extra=numbers
    )
    body = hlo.computation(1, hlo.op(1, "parameter", matrix), call, use)
    return gpu_steps(("k", 40.0, "op"), program=hlo.module(body)).measure()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("jit(f)/jit(_pinv)/jit(svd)/svd", "pseudo-inverse"),
        ("jit(f)/jit(inv)/jit(solve)/vmap()/lu", "inverse"),
        ("jit(f)/vmap(jit(inv))/jit(solve)/lu", "inverse"),
        ("jit(f)/jit(inv)/jit(solve)/jit(_lu_solve)/triangular_solve", "inverse"),
        ("jit(f)/jit(_lstsq)/jit(svd)/svd", "least squares"),
        ("jit(f)/jit(norm)/jit(svd)/svd", "norm"),
        ("jit(f)/jit(svd)/svd", "singular values"),
        ("jit(f)/jit(eigh)/eigh", "eigenvalues"),
        ("jit(f)/jit(eigvals)/eig", "eigenvalues"),
        ("jit(f)/jit(slogdet)/lu", "LU factors"),
        ("jit(f)/jit(qr)/householder_product", "QR factors"),
    ],
)
def test_what_it_is_for_by_its_path(path: str, kind: str) -> None:
    found = measured(path)

    assert found.value("decomposition_fraction") == pytest.approx(0.4)
    assert found.fact("decomposition_op") == "op (als.py:22)"
    assert found.fact("decomposition_kind") == kind
    assert found.fact("decomposition_does") == "solver_ffi of f32[32,32]"


@pytest.mark.parametrize(
    "path",
    [
        "jit(f)/jit(_cho_solve)/triangular_solve",
        "jit(f)/jit(_cholesky)/cholesky",
        "jit(f)/jit(svd_loss)/mul",
        "jit(f)/jit(inv)/dot_general",  # a flow's
    ],
)
def test_what_is_the_cheaper_form_counts_as_none(path: str) -> None:
    found = measured(path)

    assert found.value("decomposition_fraction") == 0
    assert found.fact("decomposition_kind") is None


def test_beside_other_decompositions_no_sentence_is_about_inverses() -> None:
    """An inverse that is multiplied takes 25 of 100 µs, singular values 15."""
    matrix = "f32[32,32]"
    numbers = hlo.dot_numbers([1], [0])
    inverts = hlo.metadata("jit(f)/jit(inv)/jit(solve)/lu", "als.py", 22)
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", matrix),
        hlo.op(2, "custom-call", matrix, 1, name="lu", target="lu", metadata=inverts),
        hlo.op(3, "dot", matrix, 2, 1, extra=numbers),
        hlo.op(
            *(4, "custom-call", matrix, 3),
            name="svd",
            target="svd",
            metadata=hlo.metadata("jit(f)/jit(svd)/svd", "als.py", 30),
        ),
    )
    steps = gpu_steps(("k", 25.0, "lu"), ("l", 15.0, "svd"), program=hlo.module(body))

    found = steps.measure()

    assert found.value("decomposition_fraction") == pytest.approx(0.4)
    assert found.fact("inverse_use") == "unknown"


@pytest.mark.parametrize(
    ("path", "following", "use"),
    [
        ("jit(f)/jit(inv)/jit(solve)/lu", "dot", "products"),
        ("jit(f)/jit(inv)/jit(solve)/lu", "negate", "unknown"),
        ("jit(f)/jit(svd)/svd", "dot", "unknown"),
    ],
)
def test_what_uses_an_inverse(path: str, following: str, use: str) -> None:
    assert measured(path, following).fact("inverse_use") == use
