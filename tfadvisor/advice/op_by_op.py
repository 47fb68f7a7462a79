"""The cures of ops that Python runs one by one in a part of a run, by the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tfadvisor.advice.findings import Finding, Fix

if TYPE_CHECKING:
    from tfadvisor.causes import EagerOps

_ANEW = "It is traced anew for another shape: pad what differs in size."
_ANY = "any TensorFlow 2 or JAX"


def cure_of(ops: EagerOps) -> Fix:
    """Of what the source shows."""
    return _CURES[ops.kind](ops)


def _of_sum(ops: EagerOps) -> Fix:
    return _fix(
        ops,
        f"Python goes through the elements one by one, {ops.where}, an op or several "
        "for each, and adds up. Let one op do it for all at once, on the whole arrays: "
        "a weighted sum (tensordot, einsum) or a sum over the axis.",
        "The sum may differ in its last digits, as the order is another one. A product "
        "as shown needs one number for each element on one of its sides.",
        _SUMS,
    )


def _of_elements(ops: EagerOps) -> Fix:
    return _fix(
        ops,
        f"Python takes {ops.what} apart piece by piece, {ops.where}: an op or several "
        "for each piece. Do these go to the host, as to be kept in lists or read? Then "
        f"copy the whole to NumPy once, {ops.why or 'before the loop'}, and index it "
        "there. Else let one op take or compute all of them, or a compiled loop "
        "(jax.lax.scan, tf.while_loop), where each needs what the last one made.",
        "The pieces are NumPy arrays then, and no gradient goes through them.",
        _PIECES,
    )


def _of_examples(ops: EagerOps) -> Fix:
    return _fix(
        ops,
        f"Python takes the gradient of one example of {ops.what} after the other, "
        f"{ops.where}, and adds them up: a forward and a backward pass for each. Do "
        "one forward pass and one tape.gradient on the whole batch, of the mean of "
        "the losses, in one tf.function.",
        "The gradient of the mean is the mean of the examples' gradients; where they "
        "are added and not divided, multiply it by their number. A BatchNormalization "
        "sees the whole batch then.",
        _EXAMPLES,
    )


def _of_host(ops: EagerOps) -> Fix:
    return _fix(
        ops,
        f"{ops.where} gives arrays of NumPy to {ops.what}, op by op, and makes NumPy "
        "of the result at once. Are they small, as some thousand numbers? Then compute "
        "it in NumPy on the host: that needs no dispatch and waits for no device.",
        "",
        _SMALL,
    )


def _of_each(ops: EagerOps) -> Fix:
    return _fix(
        ops,
        f"{ops.where} gives one array of NumPy after the other to {ops.what}: a "
        "dispatch for each, which compiling leaves. Does it prepare data? Then compute "
        "it in NumPy on the host, for all elements at once, and hand over one array. "
        "Or hand over what it is made of, and compute it inside the compiled step.",
        "NumPy's results may have another dtype.",
        _SMALL,
    )


def _of_function(ops: EagerOps) -> Fix:
    return _fix(
        ops,
        f"Nearly all of it runs op by op in {ops.where}: compile this function, once, "
        "and give it arrays of the same shapes in each call.",
        _ANEW,
        _FUNCTION,
    )


def _of_lines(ops: EagerOps) -> Fix:
    why = f" ({ops.why})" if ops.why else ""
    return _fix(
        ops,
        f"Nearly all of it runs op by op in {ops.where}, which works on the host as "
        f"well{why}. Put what computes on arrays there into a function of its own, as "
        "the model's call with what follows, and compile that once; the loop around it "
        "and what is read stay outside.",
        _ANEW,
        _LINES,
    )


def _fix(ops: EagerOps, do: str, side_effect: str, cures: str) -> Fix:
    before = ops.before if ops.after else ""
    return Fix("code", do, ops.after, {}, _ANY, side_effect, cures=cures, before=before)


EXAMPLES = frozenset(
    {
        "operations on arrays beside the compiled step",
        "ops that Python dispatches one by one",
    }
)
"""What fixes of rules cure by an example, where the source may tell more."""


def with_its_cure(finding: Finding, part: Finding) -> Finding:
    """A rule's finding of ops one by one with what the source shows of a part, in place
    of an example.
    """
    known = tuple(fix for fix in part.fixes if fix.cures in _CURED)
    if not known or not any(fix.cures in EXAMPLES for fix in finding.fixes):
        return finding
    others = tuple(fix for fix in finding.fixes if fix.cures not in EXAMPLES)
    return replace(finding, fixes=(*others, *known))


_SUMS = "elements that Python adds up one by one"
_PIECES = "arrays that Python takes apart piece by piece"
_EXAMPLES = "gradients of one example after the other"
_SMALL = "small arrays of NumPy that go through the device"
_FUNCTION = "a function of the program that runs op by op"
_LINES = "lines of the program that run op by op"
_CURED = frozenset({_SUMS, _EXAMPLES, _PIECES, _SMALL, _FUNCTION, _LINES})
_CURES = {
    "sum": _of_sum,
    "elements": _of_elements,
    "examples": _of_examples,
    "host": _of_host,
    "each": _of_each,
    "function": _of_function,
    "lines": _of_lines,
}
