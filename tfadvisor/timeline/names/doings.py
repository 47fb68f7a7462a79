"""What a host does while an event lasts, in the words of a performance engineer.

A table: the first row that matches says it. Frames of the user's own program are never
asked, since a name that a user chose is no evidence of what happens there; what lies
inside them is.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache

import msgspec

from tfadvisor.patterns import pattern
from tfadvisor.timeline.names.frames import (
    frame_place,
    is_frame,
    is_users_frame,
    traces_jax,
)
from tfadvisor.timeline.names.host_events import is_single_op


class Doing(IntEnum):
    """What is done; 0 for what no row knows."""

    UNKNOWN = 0
    OPS = 1
    TRACING = 2
    LOWERING = 3
    COMPILING = 4
    LOOKING_UP = 5
    FLATTENING = 6
    CONVERTING = 7
    SHARDING = 8
    HOST_TO_DEVICE = 9
    DEVICE_TO_HOST = 10
    DEVICE_TO_DEVICE = 11
    ALLOCATING = 12
    READING_BACK = 13
    WAITING = 14
    DECODING = 15
    PARSING = 16
    FILES = 17
    SLEEPING = 18
    LOCKS = 19
    COLLECTING = 20
    LOGGING = 21
    SAVING = 22
    EVALUATING = 23
    PUTTING = 24
    GETTING = 25
    CHECKING = 26
    LOADING = 27
    PICTURING = 28
    EXTENDING = 29

    @property
    def words(self) -> str:
        """As a report says it."""
        return _WORDS[self]

    @property
    def slug(self) -> str:
        """As rules have it: `reading-back`."""
        return self.name.lower().replace("_", "-")


_WORDS = {
    Doing.UNKNOWN: "",
    Doing.OPS: "ops one by one",
    Doing.TRACING: "tracing",
    Doing.LOWERING: "lowering",
    Doing.COMPILING: "compiling",
    Doing.LOOKING_UP: "looking up a compiled program",
    Doing.FLATTENING: "flattening a tree of arguments",
    Doing.CONVERTING: "converting Python values one by one",
    Doing.SHARDING: "making shardings",
    Doing.HOST_TO_DEVICE: "copying to the device",
    Doing.DEVICE_TO_HOST: "copying to the host",
    Doing.DEVICE_TO_DEVICE: "copying between devices",
    Doing.ALLOCATING: "memory from the driver",
    Doing.READING_BACK: "reading a value back",
    Doing.WAITING: "waiting",
    Doing.DECODING: "decoding",
    Doing.PARSING: "parsing",
    Doing.FILES: "files",
    Doing.SLEEPING: "sleeping",
    Doing.LOCKS: "locks",
    Doing.COLLECTING: "garbage collection",
    Doing.LOGGING: "logging",
    Doing.SAVING: "saving",
    Doing.EVALUATING: "evaluation",
    Doing.PUTTING: "putting arrays on devices",
    Doing.GETTING: "asking for a batch",
    Doing.CHECKING: "checking results for NaN",
    Doing.LOADING: "reading files",
    Doing.PICTURING: "encoding pictures",
    Doing.EXTENDING: "extending the graph of a session",
}


class _Row(msgspec.Struct, frozen=True):
    """Frames by file and function, other events by name; a pattern that is "" matches
    none of its kind, and a file's "" every file.
    """

    doing: Doing
    file: str = ""
    function: str = ""
    event: str = ""


_TABLE = (
    _Row(
        Doing.CHECKING,
        r"dispatch\.py|api\.py",
        r"_nan_check_posthook|_?check_special(?:_array)?",
    ),
    _Row(Doing.CONVERTING, r"dtypes\.py", r"_dtype_and_weaktype|is_weakly_typed|dtype"),
    _Row(Doing.CONVERTING, r"tensor_conversion\w*\.py|constant_op\.py", r"convert_\w+"),
    _Row(Doing.FLATTENING, r"", r"_?\w*flatten\w*|tree_leaves\w*|tree_structure"),
    # `tree_map` runs the program's own function over the leaves
    _Row(
        Doing.FLATTENING,
        r"tree_util\.py|nest\.py|tree\.py|tree_impl\.py",
        r"(?!\w*map)\w+",
    ),
    _Row(Doing.FLATTENING, event=r"ParseArguments|pytree::\w+"),
    _Row(
        Doing.SHARDING,
        r"named_sharding\.py|sharding\w*\.py|mesh\w*\.py|partition_spec\.py",
        r"\w+",
    ),
    _Row(Doing.LOOKING_UP, r"", r"_cached_compilation|_get_fastpath_data|cache_miss"),
    _Row(Doing.LOOKING_UP, r"compilation_cache\.py", r"\w+"),
    _Row(Doing.COMPILING, r"compiler\.py", r"\w+"),
    _Row(Doing.COMPILING, event=r"backend_compile\w*|\w*Compiler::\w+|XlaCompile\w*"),
    _Row(Doing.EXTENDING, r"session\.py", r"_extend_graph"),
    _Row(Doing.LOWERING, r"mlir\.py|pxla\.py", r"_?\w*lower\w*"),
    _Row(Doing.TRACING, r"partial_eval\.py|linear_util\.py", r"\w+"),
    _Row(Doing.TRACING, r"func_graph\.py|tracing_compilation\.py", r"\w+"),
    _Row(
        Doing.ALLOCATING,
        event=r"(?:cu|hip|cuda)(?:Mem)?(?:Alloc|Free|Malloc)\w*|hip(?:Malloc|Free)\w*",
    ),
    _Row(Doing.HOST_TO_DEVICE, event=r".*(?:BufferFromHost|H2D|HtoD|HToD).*"),
    _Row(Doing.DEVICE_TO_HOST, event=r".*(?:CopyRawToHost|ToLiteral|D2H|DtoH|DToH).*"),
    _Row(
        Doing.DEVICE_TO_DEVICE,
        event=r".*(?:CopyToMemorySpace|CopyToRemoteDevice|D2D|DtoD).*",
    ),
    _Row(Doing.READING_BACK, r"array\.py", r"_value|__array__|__float__|__int__|item"),
    _Row(Doing.PUTTING, r"api\.py", r"device_put\w*"),
    _Row(Doing.PUTTING, event=r"EagerCopyToDevice\w*|DevicePutWithSharding|shard_args"),
    _Row(Doing.SLEEPING, event=r"\$time sleep"),
    _Row(Doing.LOCKS, event=r"\$_thread (?:lock|RLock)?.*|\$<unknown> acquire"),
    _Row(Doing.LOCKS, r"threading\.py", r"acquire|__enter__"),
    _Row(Doing.COLLECTING, event=r"PythonRefManager::CollectGarbage|\$gc collect"),
    _Row(Doing.COLLECTING, r"__init__\.py", r"_xla_gc_callback"),
    _Row(
        Doing.PICTURING,
        event=r"(?:.*:)?Encode(?:Jpeg|Png)\w*|\$cv2 im(?:write|encode)",
    ),
    _Row(Doing.DECODING, event=r"\$cv2 im(?:read|decode)"),
    _Row(Doing.PICTURING, r"Image\.py|\w*ImagePlugin\.py", r"_?save\w*"),
    _Row(Doing.PICTURING, r"ImageFile\.py", r"_?save|_encode_tile\w*"),
    _Row(Doing.PICTURING, r"backend_\w+\.py", r"print_\w+"),
    _Row(Doing.LOADING, r"_?npyio\w*\.py", r"__getitem__|load\w*|genfromtxt|fromfile"),
    _Row(Doing.LOADING, r"_?format_impl\.py", r"_?read_\w+"),
    _Row(Doing.LOADING, r"gzip\.py|bz2\.py|lzma\.py|zipfile\.py", r"_?read\w*|open"),
    _Row(Doing.DECODING, event=r"(?:.*:)?Decode(?:Jpeg|Png|AndCrop|Image|Wav|Raw)\w*"),
    _Row(
        Doing.DECODING,
        r"\w*ImageFile\.py|Image\.py|imageio\w*\.py",
        r"load|open|decode",
    ),
    _Row(Doing.PARSING, event=r"(?:.*:)?(?:ParseExample|ParseSingle|DecodeCSV)\w*"),
    _Row(Doing.PARSING, event=r"\$_json \w+|\$_csv \w+|\$builtins eval"),
    _Row(Doing.LOADING, r"readers\.py", r"\w+"),
    _Row(Doing.PARSING, r"decoder\.py|csv\.py", r"\w+"),
    _Row(
        Doing.SAVING,
        r"\w*checkpoint\w*\.py|_?npyio\w*\.py|_?format_impl\.py",
        r"\w*sav\w*|write\w*",
    ),
    _Row(
        Doing.SAVING,
        event=r"\$_pickle dumps?|(?:.*:)?SaveV2|(?:.*:)?MergeV2Checkpoints",
    ),
    _Row(
        Doing.LOGGING,
        event=r"\$builtins print|(?:.*:)?Write\w*Summary|FlushSummaryWriter",
    ),
    _Row(Doing.LOGGING, r"", r"_?log_(?:metrics|image|scalar)s?|add_scalars?"),
    _Row(
        Doing.FILES,
        event=r"\$(?:builtins|io|_io|posix) (?:open|read|write|readinto|fsync)",
    ),
    _Row(Doing.WAITING, event=r"Wait for .*|.*\bBlockHostUntil\w*|block_until_ready"),
    _Row(
        Doing.WAITING,
        r"threading\.py|queue\.py|selectors\.py",
        r"wait|get|join|select",
    ),
    _Row(Doing.WAITING, r"", r"block_until_ready"),
)


_GETS = pattern(r"\b(?:Optional)?(?:Iterator|Multi\w*)GetNext\w*|\bMakeIterator\b")
"""Ops that ask a tf.data pipeline for a batch."""


_OF_EVENTS = tuple(row for row in _TABLE if row.event)
_ANY_EVENT = "|".join(f"({row.event})" for row in _OF_EVENTS)
_EVENT = pattern(rf"\A(?:{_ANY_EVENT})")
"""A group for each row; the first that matches decides."""
_FRAMES = tuple(
    (row.doing, pattern(row.file or ".*"), pattern(row.function))
    for row in _TABLE
    if row.function
)


def brings_data(name: str) -> bool:
    """Whether data of the host is copied to a device while an event lasts."""
    return doing_of(name) is Doing.HOST_TO_DEVICE


def puts_arrays(name: str) -> bool:
    """Whether an event puts arrays on devices, or copies what they hold."""
    return doing_of(name) in (Doing.PUTTING, Doing.HOST_TO_DEVICE)


def moves_on_devices(name: str) -> bool:
    """Whether a driver gives memory, or arrays go from device to device."""
    return doing_of(name) in (Doing.ALLOCATING, Doing.DEVICE_TO_DEVICE)


def makes_program(name: str) -> bool:
    """Whether an event of JAX's compiling makes a program, and does not only trace a
    function, as where a program asks for shapes alone.
    """
    if is_frame(name):
        return doing_of(name) in (Doing.COMPILING, Doing.LOWERING)
    return not traces_jax(name)


@lru_cache(maxsize=1 << 14)  # several questions of each name, and of each host
def doing_of(name: str) -> Doing:
    """What is done while an event of this name lasts."""
    if is_frame(name) and is_users_frame(name):
        return Doing.UNKNOWN
    if is_single_op(name):
        return Doing.GETTING if _GETS.search(name) else Doing.OPS
    place = frame_place(name)
    if place is not None:
        return doing_of_call(place[0], place[2])
    event = _EVENT.fullmatch(name)
    row = event and event.lastindex
    return _OF_EVENTS[row - 1].doing if row else Doing.UNKNOWN


def doing_of_call(file: str, function: str) -> Doing:
    """What a library's function does. file: without its folder."""
    for doing, files, functions in _FRAMES:
        if functions.fullmatch(function) and files.fullmatch(file):
            return doing
    return Doing.UNKNOWN
