"""The communication that a module does: which collectives, of how many bytes, among how
many devices, how often.

Sources: the opcodes in openxla/xla, xla/hlo/ir/hlo_opcode.h; what a ring of n devices
sends, in NVIDIA/nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from tfadvisor.program.attributes import group_size
from tfadvisor.program.flow import (
    Users,
    called_before,
    kernel_computations,
    reached,
    way_back,
)
from tfadvisor.program.matrix_products import is_product, next_products
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.shape import Shape
from tfadvisor.tallies import added_up

KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
)
_OPCODES = frozenset(KINDS) | frozenset(f"{kind}-start" for kind in KINDS)
_RESULT_IS_SECOND = frozenset(("all-gather-start", "collective-permute-start"))


class CollectiveOp(msgspec.Struct, frozen=True):
    """name: what trace events call it; that of the async-start or fusion around it
    where there is one.

    bytes: of the whole buffer: the gathered one of an all-gather, the unscattered one
    of a reduce-scatter. dtype: that of most of the bytes. group_size: devices, None
    when the module does not say.
    """

    name: str
    kind: str
    dtype: str
    bytes: int
    group_size: int | None
    instruction: Instruction


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def collectives(module: Module) -> tuple[CollectiveOp, ...]:
    """Those that the entry reaches, in the file's order. Raises TraceError for damaged
    bytes.
    """
    everything = (
        instruction
        for computation in module.computations
        for instruction in computation.instructions
    )
    mine = [instruction for instruction in everything if instruction.opcode in _OPCODES]
    if not mine:
        return ()
    runs = reached(module)
    named = _wrappers(module)
    return tuple(
        _collective(instruction, named.get(instruction.computation.id, instruction))
        for instruction in mine
        if instruction.computation.id in runs
    )


def _collective(instruction: Instruction, outer: Instruction) -> CollectiveOp:
    operands = [
        leaf for operand in instruction.operands for leaf in operand.shape.leaves()
    ]
    return CollectiveOp(
        outer.name,
        instruction.opcode.removesuffix("-start"),
        _dtype(operands),
        max(sum(leaf.bytes for leaf in operands), _result(instruction).bytes),
        group_size(instruction),
        instruction,
    )


def _result(instruction: Instruction) -> Shape:
    """A start's shape also repeats its operands, and may hold the backend's own
    state.
    """
    if instruction.opcode in _RESULT_IS_SECOND and len(instruction.shape.parts) > 1:
        return instruction.shape.parts[1]
    return instruction.shape


def _dtype(operands: list[Shape]) -> str:
    sizes = added_up((leaf.dtype, leaf.bytes) for leaf in operands)
    return max(sizes, key=sizes.__getitem__, default="")


def _wrappers(module: Module) -> Mapping[int, Instruction]:
    """Computation id -> the async-start or fusion that holds it; a trace shows that
    one's name.
    """
    return {
        called.id: instruction
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode in ("async-start", "fusion")
        for called in called_before(computation, instruction)
    }


# What stands before and behind a program's collectives: products, copies.

_BEFORE = 6
_BEHIND = 6
"""How many instructions may lie between a collective and the products around it: a
bias, an activation, a norm.
"""
_DEPTH = 6
"""How far a value is followed back."""
_FLOATS = ("f", "bf")
"""What the names of floating-point types begin with."""
_TAKES_PART = frozenset(("dynamic-slice", "slice", "transpose", "optimization-barrier"))
_WRITTEN = frozenset(
    """
        all_to_all ragged_all_to_all all_gather all_gather_invariant reduce_scatter
        psum_scatter psum psum_invariant pmax pmin ppermute pbroadcast
    """.split()
)
"""JAX's primitives."""
_EXPERTS = ("moe", "expert")


def collectives_between_products(module: Module) -> frozenset[str]:
    """Names of the collectives that wait for a matrix product and that another one
    waits for, as in tensor parallelism.

    A gradient's collective waits for a product too, but no product waits for it. Raises
    TraceError for damaged bytes.
    """
    names: set[str] = set()
    mine = {collective.name for collective in collectives(module)}
    for computation in kernel_computations(module) if mine else ():
        users: Users | None = None
        for instruction in computation.instructions:
            if instruction.name in mine and _product_before(instruction):
                users = users or Users(computation)
                if next_products(instruction, users, _BEHIND):
                    names.add(instruction.name)
    return frozenset(names)


def gathers_of_weights(module: Module) -> frozenset[str]:
    """Names of the all-gathers that put together what the program got as an argument,
    as sharded weights are: an argument of floating-point numbers, or what a loop hands
    on from turn to turn unchanged, a slice of it for each turn.

    Raises TraceError for damaged bytes.
    """
    names = set()
    for collective in collectives(module):
        operands = (
            collective.instruction.operands if collective.kind == "all-gather" else ()
        )
        if operands and all(_is_argument(each, module) for each in operands):
            names.add(collective.name)
    return frozenset(names)


def asked_for(module: Module) -> frozenset[str]:
    """Names of the collectives that the program itself writes, as `jax.lax.all_to_all`,
    by the framework's paths to them. The others the compiler put in, where shardings of
    a value differ. Raises TraceError for damaged bytes.
    """
    found = (
        (
            collective.name,
            collective.instruction.op_name.rpartition("/")[2].partition("[")[0],
        )
        for collective in collectives(module)
    )
    return frozenset(
        name for name, last in found if last.rstrip("0123456789.") in _WRITTEN
    )


def of_experts(module: Module) -> frozenset[str]:
    """Names of the all-to-alls of a mixture of experts, by the framework's paths to
    them. Raises TraceError for damaged bytes.
    """
    mine = (
        collective
        for collective in collectives(module)
        if "all-to-all" in collective.kind
    )
    return frozenset(
        collective.name
        for collective in mine
        if any(word in collective.instruction.op_name.lower() for word in _EXPERTS)
    )


def _is_argument(value: Instruction, module: Module) -> bool:
    """Whether a value, or what it is a slice of, is floating-point and an argument, or
    the same in every turn of a loop.
    """
    if not value.shape.dtype.startswith(_FLOATS):
        return False
    around: Instruction | None = None
    for _ in range(_DEPTH):
        *_, (value, around) = way_back(value, around)
        if value.opcode == "parameter":
            return around is None and value.computation.id == module.entry.id
        if (
            value.opcode == "get-tuple-element"
            and value.operands[0].opcode == "parameter"
        ):
            return around is None and (
                value.computation.id == module.entry.id
                or _stays(value, value.operands[0].computation.root)
            )
        if value.opcode not in _TAKES_PART or not value.operand_ids:
            return False
        value = value.operands[0]
    return False


def _stays(element: Instruction, root: Instruction) -> bool:
    """Whether a loop's turn hands on an element of what it got, unchanged."""
    return root.opcode == "tuple" and any(
        operand.opcode == "get-tuple-element"
        and operand.tuple_index == element.tuple_index
        and place == element.tuple_index
        for place, operand in enumerate(root.operands)
    )


def _product_before(instruction: Instruction) -> bool:
    waiting = [instruction]
    for _ in range(_BEFORE):
        before = [operand for each in waiting for operand in each.operands]
        if any(is_product(operand) for operand in before):
            return True
        waiting = before[:16]
    return False
