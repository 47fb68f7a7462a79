"""The parts of a host's timeline: steps, devices and their ops, and what the host does
at each instant.

Times are int64 picoseconds since the host's profiler session began.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, IntEnum
from functools import cached_property
from typing import ClassVar, TypeAlias

import msgspec
import numpy as np

from tfadvisor.arrays import (
    NO_VALUES,
    AnyArray,
    BoolArray,
    Int8Array,
    Int32Array,
    Int64Array,
    blocks,
    constant,
    distinct,
    is_in,
    true_at,
)
from tfadvisor.timeline.intervals import EMPTY, Intervals, union, union_where
from tfadvisor.vocabulary import WHERE_THE_DEVICE_RAN, DeviceKind


class StepSource(Enum):
    """How the steps were found."""

    MARKER = "marker"
    MODULE = "module"
    LAUNCH_PATTERN = "launch-pattern"
    HOST_LOOP = "host-loop"
    WHOLE_TRACE = "whole-trace"


class StepKind(Enum):
    """Why a step counts or does not."""

    STEADY = "steady"
    COMPILING = "compiling"
    WARM_UP = "warm-up"
    CUT_OFF = "cut-off"
    NOT_CHOSEN = "not chosen"


class Steps(msgspec.Struct, frozen=True, dict=True):
    """Steps of one host, by ascending start: period i is starts[i] .. ends[i].

    span_ends: where the step's own marker or execution ends, before the gap to the
    next. thread: index of the host thread that drives them, -1 when unknown.
    confidence: 0..1.
    """

    starts: Int64Array
    ends: Int64Array
    span_ends: Int64Array
    names: tuple[str, ...]
    kinds: tuple[StepKind, ...]
    source: StepSource
    confidence: float
    thread: int
    about: str
    round_ms: float = 0.0
    """Of the program's loop while nothing was recorded, where the steps were inferred;
    0 for unknown.
    """

    WHERE_THE_DEVICE_RAN: ClassVar[str] = WHERE_THE_DEVICE_RAN
    """Suffix of `about` for steps that were shifted to the time the device ran them."""

    def __len__(self) -> int:
        """Number of steps, those that do not count included."""
        return len(self.starts)

    def steady(self) -> BoolArray:
        """Which steps count; not to be written to."""
        return self._counted

    def counts(self, step: Int64Array) -> BoolArray:
        """Which of these numbers of steps, -1 for none, are of steps that count."""
        return np.asarray((step >= 0) & self._counted[np.maximum(step, 0)], np.bool_)

    @cached_property
    def steady_count(self) -> int:
        """How many steps count."""
        return int(self._counted.sum())

    @cached_property
    def steady_time(self) -> Intervals:
        """When the steps that count run."""
        return union(self.starts[self._counted], self.ends[self._counted])

    @cached_property
    def steady_ps(self) -> int:
        """Summed length of the steps that count, ps."""
        return int((self.ends - self.starts)[self._counted].sum())

    def spent_on(self, instants: Intervals) -> int:
        """How much of the steps that count these instants take, ps."""
        lo, hi = self.starts[self._counted], self.ends[self._counted]
        return int(instants.within(lo, hi).sum())

    @cached_property
    def _counted(self) -> BoolArray:
        """Asked for dozens of times."""
        counted = np.array([kind is StepKind.STEADY for kind in self.kinds], np.bool_)
        counted.flags.writeable = False
        return counted


class HostMemory(IntEnum):
    """The kind of host memory that a copy reads or writes."""

    UNKNOWN = 0
    PAGEABLE = 1
    PINNED = 2
    NONE = 3
    """Both ends are on devices."""


class Callers(msgspec.Struct, frozen=True):
    """The events of the host's threads, among which are the calls that launch work:
    columns of `Threads`.
    """

    start: Int64Array
    end: Int64Array
    row: Int32Array

    def of(
        self,
        launch: Int32Array,
        column: AnyArray,
    ) -> AnyArray:
        """A column's values at these indexes, -1 where an index is -1."""
        if not len(column) or launch.strides == (0,):  # a constant: no event is linked
            return constant(-1, len(launch), column.dtype)
        found = np.empty(len(launch), column.dtype)
        for part in blocks(
            len(launch)
        ):  # NumPy would make eight bytes of each index first
            index = launch[part]
            column.take(index, out=found[part], mode="wrap")
            found[part][index < 0] = -1
        return found


class DeviceOps(msgspec.Struct, frozen=True):
    """What ran on one device, one row an event in order of start. kind: a DeviceClass.
    stream: the line's id.

    name: index into names. op: of the HLO op it belongs to, -1 without one. module: of
    the XLA module, -1 without one. program: index into program_ids of that module's
    program, -1 without one. bytes: of a copy, -1 where the trace does not say. path:
    index into names of the framework's path of its op, -1 where no event tells.
    meeting: what all devices' events of one collective share (XLA's run_id,
    TensorFlow's instance_key), -1 without one. memory: of a copy, the host memory it
    touches. launch: index into callers of the host call that launched it, -1 when none
    is linked. details: index into names of how a GPU's kernel was launched, -1 where
    the trace does not say. aligned: names from here on are ops that no event bears, but
    the place of its kernel among a program's launches tells.
    """

    start: Int64Array
    end: Int64Array
    kind: Int8Array
    stream: Int64Array | Int32Array
    name: Int32Array
    op: Int32Array
    module: Int32Array
    program: Int32Array
    path: Int32Array
    bytes: Int64Array
    meeting: Int64Array
    memory: Int8Array
    launch: Int32Array
    details: Int32Array
    callers: Callers
    names: tuple[str, ...]
    program_ids: tuple[int, ...]
    aligned: int = (1 << 31) - 1

    def __len__(self) -> int:
        """Number of events."""
        return len(self.start)

    @property
    def launch_start(self) -> Int64Array:
        """When the host call that launched each event began, -1 when none is linked.
        Looked up anew each time.
        """
        return self.callers.of(self.launch, self.callers.start)

    @property
    def launch_end(self) -> Int64Array:
        """When that call was over, -1 when none is linked."""
        return self.callers.of(self.launch, self.callers.end)

    @property
    def launch_name(self) -> Int32Array:
        """Index of that call's name, -1 when none is linked."""
        return self.callers.of(self.launch, self.callers.row)

    def covered(self, *kinds: int) -> Intervals:
        """The instants at which an event of one of the classes runs."""
        return union_where(self.start, self.end, is_in(self.kind, kinds))


def texts_of_rows(names: tuple[str, ...], rows: Int32Array) -> list[str]:
    """The name of each row of a column, "" of -1."""
    return [names[row] if row >= 0 else "" for row in rows.tolist()]


def module_names(
    module: Int32Array,
    program: Int32Array,
    names: tuple[str, ...],
    ids: tuple[int, ...],
) -> Callable[[int], str]:
    """What the program of each row is called, "" without one; with its id where several
    have one name: `jit_f(7)`. For columns as DeviceOps has them."""
    several: set[int] = set()
    if len(ids) > 1:
        of_program = np.full(len(ids), -1, np.int32)
        of_program[program[program >= 0]] = module[program >= 0]
        count = np.bincount(of_program[of_program >= 0])
        several.update(true_at(count > 1).tolist())

    def name(row: int) -> str:
        own = names[module[row]] if module[row] >= 0 else ""
        numbered = module[row] in several and program[row] >= 0
        return f"{own}({ids[program[row]] % (1 << 64)})" if numbered else own

    return name


FEW_OPS = 2
"""As many ops as one operation on arrays becomes: `mean` is a sum and a product."""


def modules_of_few_ops(
    name: Int32Array,
    module: Int32Array,
    program: Int32Array,
) -> Int64Array:
    """The modules of which no program runs more than FEW_OPS different ops. For columns
    as DeviceOps has them; a program that stands for its ops tells nothing of them.
    """
    named = (module >= 0) & (module != name)
    if not named.any():
        return NO_VALUES
    names, programs = int(name.max()) + 1, int(program.max()) + 2
    owner = module[named].astype(np.int64) * programs + program[named] + 1
    owner = distinct(owner * names + name[named]) // names
    of_many = owner[FEW_OPS:][owner[FEW_OPS:] == owner[:-FEW_OPS]]
    found = distinct(owner // programs)
    return found[~is_in(found, distinct(of_many // programs))]


COLUMNS = DeviceOps.__struct_fields__[:-4]
"""Those with a row an event; the last four are shared by all."""


Stated: TypeAlias = Mapping[tuple[str, int | None], tuple[str, int, int]]
"""What the profiler says of ops: (category, operations, bytes) of one execution, by
(whole instruction, id of its program or None where the op states none): two programs
have ops of the same words and other contents."""


class Device(msgspec.Struct, frozen=True):
    """One accelerator, or the worker threads of a CPU run that act as one.

    model: what the trace calls it, "" when it does not. properties: the plane's stats.
    """

    name: str
    kind: DeviceKind
    model: str
    host: str
    properties: Mapping[str, float | int | str]
    ops: DeviceOps
    compute: Intervals
    collective: Intervals
    transfer: Intervals
    infeed: Intervals
    stated: Stated = {}
    awaits: Intervals = EMPTY
    """Where its kernels wait for their own copies between device memory and the core,
    by regions inside of them.
    """
    programs: Intervals = EMPTY
    """When its programs run, by a line of whole programs: what is idle in them waits
    for no host.
    """
    sparse: Intervals = EMPTY
    """Where its sparse cores run ops, beside its own."""
    held: Intervals = EMPTY
    """Where it does nothing although work has been launched for it long before."""
    python: Intervals = EMPTY
    """Where a program that it runs calls Python: what follows that has begun, and waits
    for no launch.
    """

    @property
    def is_active(self) -> bool:
        """Whether anything computes or communicates on it in this trace."""
        return bool(len(self.compute) or len(self.collective))


class Pending(msgspec.Struct, frozen=True):
    """What threads other than the driving one do, and it may be waiting for.

    compile, input and launch do not overlap, and leave the input pipeline's own work
    out.
    """

    compile: Intervals = EMPTY
    """Tracing and compiling."""
    input: Intervals = EMPTY
    """Taking the next batch from an iterator."""
    launch: Intervals = EMPTY
    """Dispatching ops or programs."""
    copy: Intervals = EMPTY
    """Copying into or out of the memory that a device copies from or to."""
    pipeline_python: Intervals = EMPTY
    """Where the input pipeline runs Python, and so may hold Python's lock."""


class HostActivity(msgspec.Struct, frozen=True):
    """What the thread that drives the steps does at each instant, and what it may be
    waiting for elsewhere.

    compile, input, launch and wait do not overlap each other. Everything is empty where
    no thread is known to drive.
    """

    compile: Intervals = EMPTY
    """Tracing and compiling."""
    input: Intervals = EMPTY
    """Waiting for the next batch, or making it."""
    launch: Intervals = EMPTY
    """Dispatching ops or programs, with the short pauses between the ops of an eagerly
    run step.
    """
    wait: Intervals = EMPTY
    """Blocking: what it waits for owns this time."""
    wait_for_threads: Intervals = EMPTY
    """The part of wait in which it waits for other threads or processes of the program,
    and for no device.
    """
    copy: Intervals = EMPTY
    """The part of launch in which it or, for long, another thread copies for a device,
    and of wait in which it reads much.
    """
    present: Intervals = EMPTY
    """Where the thread is known to run at all: from its first event to its last."""
    pending: Pending = Pending()
    """What other threads do meanwhile."""
    step_python: Intervals = EMPTY
    """Where the step's compiled program calls Python, on whatever thread."""
    writing: Intervals = EMPTY
    """Where an op writes a file: a checkpoint, a summary. On whatever thread."""
    behind_loader: Intervals = EMPTY
    """Where it is in no event while threads that make its batches run Python."""
    batch_python: Intervals = EMPTY
    """The part of input in which the loop's own Python makes the next batch, known by
    what follows it.
    """
    eager: Intervals = EMPTY
    """The driving thread's TensorFlow ops that it dispatches one by one, with the short
    pauses between them.
    """
    eager_elsewhere: Intervals = EMPTY
    """Events of other threads, which run the replicas of a step."""
