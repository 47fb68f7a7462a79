"""The communication that a module does: which collectives, of how many bytes, among how many devices, how often.

Sources: the opcodes in openxla/xla, xla/hlo/ir/hlo_opcode.h; what a ring of n devices sends, in NVIDIA/nccl-tests,
doc/PERFORMANCE.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from tfadvisor.hlo.format.module import Instruction, Module
from tfadvisor.hlo.format.replica_groups import group_size
from tfadvisor.hlo.format.shape import Shape
from tfadvisor.hlo.questions.executions import Executions, called_before, executions

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
    """name: what trace events call it; that of the async-start or fusion around it where there is one.

    operand_bytes, result_bytes: a device's own. done: the instruction that waits for it, "" when it is synchronous.
    dtype: that of most of the bytes. group_size: devices, None when the module does not say. times: runs of it in one run
    of the module; times_exact is False inside loops of unknown length and branches.
    """

    name: str
    kind: str
    dtype: str
    operand_bytes: int
    result_bytes: int
    group_size: int | None
    done: str
    channel_id: int
    times: int
    times_exact: bool
    instruction: Instruction

    @property
    def bytes(self) -> int:
        """Size of the whole buffer: the gathered one of an all-gather, the unscattered one of a reduce-scatter."""
        return max(self.operand_bytes, self.result_bytes)

    @property
    def sent_bytes(self) -> int | None:
        """What each device has to send at least, by the best known ring; None when the group's size is not known."""
        if self.kind in ("collective-permute", "collective-broadcast"):
            return self.bytes
        if self.group_size is None:
            return None
        rounds = 2 if self.kind == "all-reduce" else 1
        return rounds * self.bytes * (self.group_size - 1) // self.group_size


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def collectives(module: Module) -> tuple[CollectiveOp, ...]:
    """Those that the entry reaches, in the file's order. Raises TraceError for damaged bytes."""
    everything = (one for computation in module.computations for one in computation.instructions)
    mine = [one for one in everything if one.opcode in _OPCODES]
    if not mine:
        return ()
    runs, named, done = executions(module), _wrappers(module), _done(module)
    found = []
    for one in mine:
        if one.computation.id in runs:
            outer = named.get(one.computation.id, one)
            found.append(_collective(one, outer, done.get(outer.id, ""), runs[one.computation.id]))
    return tuple(found)


def _collective(one: Instruction, outer: Instruction, done: str, runs: Executions) -> CollectiveOp:
    operands = [leaf for operand in one.operands for leaf in operand.shape.leaves()]
    return CollectiveOp(
        outer.name,
        one.opcode.removesuffix("-start"),
        _dtype(operands),
        sum(leaf.bytes for leaf in operands),
        _result(one).bytes,
        group_size(one),
        done,
        one.channel_id,
        runs.times,
        runs.exact,
        one,
    )


def _result(one: Instruction) -> Shape:
    """A start's shape also repeats its operands, and may hold the backend's own state."""
    if one.opcode in _RESULT_IS_SECOND and len(one.shape.parts) > 1:
        return one.shape.parts[1]
    return one.shape


def _dtype(operands: list[Shape]) -> str:
    sizes: dict[str, int] = {}
    for leaf in operands:
        sizes[leaf.dtype] = sizes.get(leaf.dtype, 0) + leaf.bytes
    return max(sizes, key=lambda dtype: sizes[dtype], default="")


def _wrappers(module: Module) -> Mapping[int, Instruction]:
    """Computation id -> the async-start or fusion that holds it; a trace shows that one's name."""
    return {
        called.id: one
        for computation in module.computations
        for one in computation.instructions
        if one.opcode in ("async-start", "fusion")
        for called in called_before(computation, one)
    }


def _done(module: Module) -> Mapping[int, str]:
    """Id of a start -> name of the done that follows it, perhaps after updates."""
    found: dict[int, str] = {}
    origin: dict[int, int] = {}
    for computation in module.computations:
        for one in computation.instructions:
            if one.opcode.endswith(("-done", "-update")) and one.operand_ids:
                start = one.operand_ids[0]
                start = origin.get(start, start)
                origin[one.id] = start
                if one.opcode.endswith("-done"):
                    found[start] = one.name
    return found
