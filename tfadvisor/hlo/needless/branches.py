"""Work for both branches of a condition of which each example takes one.

Under `jax.vmap`, `lax.cond` and `lax.switch` become a select: every branch runs for every example, and the index of the branch
picks one result. In the HLO that is a `select_n` whose predicate is a comparison of the index that bears the same name; a
`jnp.where` has a predicate of its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from tfadvisor.hlo.format.module import Computation, Instruction, Module
from tfadvisor.hlo.questions.executions import called_before
from tfadvisor.hlo.questions.flow import Users, kernel_computations, way_back

_CHOICE = "select_n"
_BATCHED = "vmap("

Side = tuple[bytes, int]
"""Which condition (its metadata), and which of its two operands."""
Fusions = dict[tuple[int, int], Mapping[int, Side]]
"""By computation and id of a fusion the places of its operands that one side alone uses."""


def both_branches(module: Module) -> frozenset[str]:
    """Names of the instructions whose results only one side of such a condition uses. Raises TraceError."""
    found: set[str] = set()
    inner: Fusions = {}
    for computation in kernel_computations(module):
        if any(_BATCHED in one.op_name for one in computation.instructions):
            sides = _sides(computation, inner)
            found.update(one.name for one in computation.instructions if one.id in sides)
    return frozenset(found)


def _sides(computation: Computation, inner: Fusions, around: Instruction | None = None) -> Mapping[int, Side]:
    """By id the instructions that one side alone uses. inner: of fusions seen before. around: the fusion that holds the
    computation."""
    users, known = Users(computation), dict[int, Side]()
    for one in reversed(computation.instructions):  # users stand behind what they use
        found = {_side(user, one, known, inner, around) for user in users.of(one)}
        side = found.pop() if len(found) == 1 else None
        if side is not None:
            known[one.id] = side
    return known


def _side(
    user: Instruction,
    one: Instruction,
    known: Mapping[int, Side],
    inner: Fusions,
    around: Instruction | None,
) -> Side | None:
    """The side for which a user takes a result; None where it is for more than one, or for none."""
    places = [place for place, operand in enumerate(user.operand_ids) if operand == one.id]
    found: set[Side | None] = set()
    if user.opcode == "select" and _chooses(user, around):
        found = {(user.written_metadata, place) if place else None for place in places}
    elif user.opcode == "fusion":
        key = user.computation.id, user.id
        if key not in inner:
            inner[key] = _inner_sides(user, inner)
        found = {inner[key].get(place) for place in places}
    side = found.pop() if len(found) == 1 else None
    return side or known.get(user.id)


def _inner_sides(fusion: Instruction, inner: Fusions) -> Mapping[int, Side]:
    """By the place of a fusion's operand the side that alone uses it."""
    called = called_before(fusion.computation, fusion)
    if not called or not any(one.opcode == "select" for one in called[0].instructions):
        return {}
    sides = _sides(called[0], inner, fusion)
    return {one.parameter_number: sides[one.id] for one in called[0].parameters() if one.id in sides}


def _chooses(select: Instruction, around: Instruction | None) -> bool:
    """Whether a select picks a branch of a condition for each example."""
    if not select.op_name.endswith(_CHOICE) or _BATCHED not in select.op_name:
        return False
    comparisons = (one for one, _ in way_back(select.operands[0], around) if one.opcode == "compare")
    return any(one.op_name.endswith(_CHOICE) for one in islice(comparisons, 1))
