"""How much the programs of a device multiplied in the counted steps, whether or not the
trace tells which kernel did it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from tfadvisor.arrays import descending, ranks, true_at
from tfadvisor.errors import TraceError
from tfadvisor.program import Module, Modules
from tfadvisor.program.products_of_run import ProductOfRun, products_of_run
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.kernels import is_attention, kernel_kind
from tfadvisor.timeline.program_ops import find_instruction
from tfadvisor.timeline.summary.device import OpTable
from tfadvisor.timeline.summary.hot_ops import program_of_row

_MOST_PROGRAMS = 16
_LEAST = 0.01
"""Share of the compute time below which a program's products are not counted."""
_MOST_ROWS = 4_000


class Multiplied(msgspec.Struct, frozen=True):
    """One product or convolution of a program, with all its executions in the counted
    steps.
    """

    dtype: str
    """Of what it multiplies, as HLO names it; "" where that is of several types."""
    flops: int
    """Of one execution."""
    bytes: int
    """Read and written by one execution."""
    count: int | None
    """Executions, None where the trace does not tell."""
    is_hidden: bool
    """Whether a library does it whose kernels do not bear its name."""


class ProgramProducts(msgspec.Struct, frozen=True):
    """Those of one program on one device."""

    module: str
    """As the device's table of ops calls it."""
    products: tuple[Multiplied, ...]
    """In the program's order."""
    kernels: tuple[str, ...]
    """Of libraries, of which no instruction is known: they do the hidden products. The
    one that takes most time leads.
    """
    kernels_ps: int
    """What these take in the counted steps, ps."""

    @property
    def hidden(self) -> tuple[Multiplied, ...]:
        """The products that these kernels do."""
        return tuple(product for product in self.products if product.is_hidden)


def program_products(table: OpTable, programs: Modules) -> tuple[ProgramProducts, ...]:
    """Of the programs that take most of one device's time; a damaged one is
    left out.
    """
    return tuple(_of_programs(table, programs))


def _of_programs(table: OpTable, programs: Modules) -> Iterator[ProgramProducts]:
    module_of = table.module_of()
    for rows in _rows_by_program(table):
        try:
            program = program_of_row(table, rows[0], programs)
            if program is not None:
                yield _of_program(table, rows, program, module_of(rows[0]))
        except TraceError:
            continue


def _rows_by_program(table: OpTable) -> Iterator[list[int]]:
    """The compute rows of each program that takes a share of the time, the hottest
    program and row first.
    """
    rows = table.of_class(DeviceClass.COMPUTE)
    rows = rows[descending(table.total_ps[rows])][:_MOST_ROWS]
    owner = table.owner()[rows]
    total = int(table.total_ps[rows].sum())
    rows, owner = rows[owner >= 0], owner[owner >= 0]
    if not len(rows):
        return
    program = ranks(owner)
    time = np.bincount(program, table.total_ps[rows])
    hottest = descending(time)[:_MOST_PROGRAMS]
    for rank in hottest[time[hottest] >= _LEAST * total].tolist():
        yield rows[true_at(program == rank)].tolist()


def _of_program(
    table: OpTable,
    rows: Sequence[int],
    program: Module,
    module: str,
) -> ProgramProducts:
    named: dict[str, int] = {}
    in_entry: list[int] = []
    unknown: list[int] = []
    for row in rows:
        name = table.names[table.op[row] if table.op[row] >= 0 else table.name[row]]
        instruction = find_instruction(program, name)
        if instruction is None:
            unknown.append(row)
            continue
        count = int(table.count[row])
        named[instruction.name] = max(named.get(instruction.name, 0), count)
        if instruction.computation.id == program.entry.id:
            in_entry.append(count)

    kernels = [row for row in unknown if _multiplies(table.names[table.name[row]])]
    products = products_of_run(program)
    runs = min(in_entry, default=None)
    if runs is None:
        runs = _runs_by_kernels(table, kernels, products, named)
    return ProgramProducts(
        module=module,
        products=tuple(
            _multiplied(product, named.get(product.name), runs) for product in products
        ),
        kernels=tuple(table.names[table.name[row]] for row in kernels),
        kernels_ps=sum(int(table.total_ps[row]) for row in kernels),
    )


def _runs_by_kernels(
    table: OpTable,
    kernels: Sequence[int],
    products: Sequence[ProductOfRun],
    named: Mapping[str, int],
) -> int | None:
    """How often the program ran, by the kernels of libraries that bear no op's name."""
    hidden = [
        product
        for product in products
        if product.is_library and product.name not in named
    ]
    launches = sum(int(table.count[row]) for row in kernels)
    return _runs(launches, hidden)


def _multiplies(kernel: str) -> bool:
    return kernel_kind(kernel).is_matrix and not is_attention(kernel)


def _multiplied(
    product: ProductOfRun,
    seen: int | None,
    runs: int | None,
) -> Multiplied:
    """seen: how often events bear its name, None for one that none bears. A kernel may
    serve several instructions that are alike, and bears the name of one.
    """
    count = seen
    if runs is not None and product.times is not None:
        count = runs * product.times
    is_hidden = product.is_library and seen is None
    return Multiplied(product.dtype, product.flops, product.bytes, count, is_hidden)


def _runs(launches: int, hidden: Sequence[ProductOfRun]) -> int | None:
    """Runs of a program of which no event bears an instruction's name: its kernels do
    the hidden products one by one, as long as the numbers fit.
    """
    times = [product.times for product in hidden]
    known = [time for time in times if time is not None]
    a_run = sum(known)
    if not a_run or len(known) < len(times) or launches % a_run:
        return None
    return launches // a_run
