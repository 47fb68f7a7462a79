"""What the input pipeline consists of, which part of it holds the step up, and what its
functions and loaders do.
"""

from __future__ import annotations

from tfadvisor.metrics.mapped import works_on_numbers
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import a_device, periods_ms, share
from tfadvisor.timeline.host import FrameShare, InputPipeline, InputStage
from tfadvisor.timeline.names.tf_data import asking_stage, stage_kind
from tfadvisor.units import PS_PER_MS, PS_PER_US, Unit, duration
from tfadvisor.vocabulary import Better, TimeClass

_SOURCES = (
    "TFRecord",
    "TextLine",
    "FixedLengthRecord",
    "Interleave",
    "ParallelInterleave",
    "SSTable",
    "ArrayRecord",
    "Parquet",
)
_TEXT = ("CSV", "Sql", "SQL")
_FILES = ("TFRecord", "TextLine", "FixedLengthRecord", "SSTable")
_BATCHES = ("Batch", "MapAndBatch", "ParallelBatch", "PaddedBatch")
_OVER_WINDOWS = ("FlatMap", "Zip")
"""What asks for the rows of a window."""
_ONE_BY_ONE = ("FlatMap", "Window", "Filter")
_MANY_FILES = 4
_SHORT_CALL_PS = 100 * PS_PER_US
"""A user function that takes no longer is mostly the cost of calling it."""
_SIMPLE_CALL_PS = 300 * PS_PER_US
"""So is one that by its source works on numbers alone, where cores are busy."""
_LONG_CALL_PS = 2_000 * PS_PER_US
"""From there on a call is work, whatever is called: calling takes some hundredth of
it.
"""
_ROWS = (
    "Batch",
    "Shuffle",
    "Unbatch",
    "TensorSlice",
    "ForeverRepeat",
    "FiniteRepeat",
    "Zip",
    "FlatMap",
)
"""Stages that compute nothing: what they take is the handling of single elements."""
_MANY_ROWS = 128
"""Elements a step from which this handling costs more than a step can hide."""
_SHORT_ROW_PS = 20 * PS_PER_US
"""What handling one element takes at most; above it, its bytes are what takes time."""
_BURSTS = 0.1


def _pipeline(question: Question) -> InputPipeline:
    found = [
        host.evidence.pipeline
        for host in question.run.hosts
        if host.evidence.pipeline is not None
    ]
    if not found:
        raise MetricAbsent("the trace shows no tf.data pipeline")
    return max(found, key=lambda pipeline: pipeline.slowest().wall_ps)


def _slowest(question: Question) -> tuple[InputPipeline, InputStage]:
    pipeline = _pipeline(question)
    return pipeline, pipeline.slowest()


@metric(unit=Unit.MS)
def input_stage_ms_per_step(question: Question) -> float:
    """Work of the slowest tf.data stage per step, divided by the number of calls that
    it runs in parallel. The pipeline cannot deliver a batch faster than this.
    """
    pipeline, stage = _slowest(question)
    if not pipeline.steps:
        raise MetricAbsent("the trace holds no counted step")
    return stage.wall_ps / pipeline.steps / PS_PER_MS


@metric(unit=Unit.COUNT)
def input_stage_calls_per_step(question: Question) -> float:
    """Number of calls of the slowest tf.data stage per step; for a map fused with its
    batch, the number of elements that it works on.
    """
    pipeline, stage = _slowest(question)
    if not pipeline.steps:
        raise MetricAbsent("the trace holds no counted step")
    return _elements(pipeline, stage) / pipeline.steps


@metric(unit=Unit.COUNT, better=Better.MORE)
def input_stage_parallelism(question: Question) -> float:
    """Number of calls that the slowest tf.data stage runs in parallel: 1 for a
    sequential stage.
    """
    return float(max(_slowest(question)[1].parallelism, 1))


@metric(unit=Unit.MS)
def input_wait_ms_per_step(question: Question) -> float:
    """input_bound_fraction in milliseconds per step. Passing a batch to the step alone
    takes a few tenths of a millisecond.
    """
    return share(question, TimeClass.INPUT) * float(periods_ms(question.run).mean())


@metric(needs=(a_device,), better=Better.MORE)
def input_overlap_fraction(question: Question) -> float:
    """Share of step time that preparing the next batch during the step could hide: the
    smaller of the input's share and the rest of the step. The larger it is, the more
    prefetching gains.
    """
    waiting = share(question, TimeClass.INPUT)
    return min(waiting, 1 - waiting)


@metric(needs=(a_device,), better=Better.MORE)
def input_hideable_fraction(question: Question) -> float:
    """Share of the time spent waiting for input that preparing the next batch during
    the step could hide: input_overlap_fraction over input_bound_fraction.
    """
    waiting = share(question, TimeClass.INPUT)
    if waiting <= 0:
        raise MetricAbsent("no step waits for input")
    return min(waiting, 1 - waiting) / waiting


@fact
def input_stage(question: Question) -> str:
    """The slowest tf.data stage, as the trace names it: `Map (MapDataset:1)`."""
    _, stage = _slowest(question)
    return f"{stage.kind} ({stage.name})" if stage.name else stage.kind


@fact
def input_stage_fault(question: Question) -> str:
    """The fault of the slowest tf.data stage, which decides the edit: python-function,
    sequential-map, per-element-map, parallel-map, generator, source, small-files,
    parsed-text, shuffle-refill, windows (sliding windows made one by one), rows
    (thousands of small elements handled one by one), batch or other.
    """
    pipeline, stage = _slowest(question)
    kind = stage.kind
    many_files = _files(pipeline) >= _MANY_FILES * max(pipeline.steps, 1)
    causes = (
        ("shuffle-refill", _comes_in_bursts(question, pipeline, stage)),
        (
            "generator",
            kind.startswith(("Generator", "FlatMap"))
            and any(inner.python for inner in pipeline.stages),
        ),
        ("python-function", stage.python),
        (
            "windows",
            any(stage.kind.startswith("Window") for stage in pipeline.stages)
            and _cuts_windows(stage),
        ),
        ("per-element-map", _works_on_elements(question, pipeline, stage)),
        ("sequential-map", kind == "Map"),
        ("parallel-map", kind.startswith(("ParallelMap", "MapAndBatch"))),
        ("small-files", many_files and kind.startswith((*_SOURCES, "FlatMap"))),
        ("source", kind.startswith(_SOURCES)),
        ("parsed-text", kind.startswith(_TEXT)),
        (
            "per-element-map",
            kind.startswith(_ONE_BY_ONE) and _feeds_a_batch(pipeline, stage),
        ),
        ("rows", _handles_rows(pipeline, stage)),
        ("batch", "Batch" in kind),
    )
    return next((cause for cause, holds in causes if holds), "other")


def _works_on_elements(
    question: Question, pipeline: InputPipeline, stage: InputStage
) -> bool:
    """Whether a map before the batch would do better on whole batches: sequential, but
    for one that by its source does more than work on numbers, or of calls that are
    mostly calling.
    """
    is_simple = works_on_numbers(question)
    short = _SIMPLE_CALL_PS if is_simple else _SHORT_CALL_PS
    is_short = stage.busy_ps < short * _elements(pipeline, stage)
    if stage.kind == "Map":
        is_long = stage.busy_ps >= _LONG_CALL_PS * _elements(pipeline, stage)
        is_work = is_long or (is_simple is False and not is_short)
        return _feeds_a_batch(pipeline, stage) and not is_work
    if stage.kind.startswith("MapAndBatch"):
        return is_short
    return (
        stage.kind.startswith("ParallelMap")
        and is_short
        and _feeds_a_batch(pipeline, stage)
    )


def _cuts_windows(stage: InputStage) -> bool:
    """Whether a stage makes windows, or batches the rows of one inside the flat_map
    over them.
    """
    return stage.kind.startswith(("FlatMap", "Window")) or stage_kind(
        asking_stage(stage.path)
    ).startswith(_OVER_WINDOWS)


def _handles_rows(pipeline: InputPipeline, stage: InputStage) -> bool:
    """Whether a stage that computes nothing is slow because of how many small elements
    go through it or come to it.
    """
    rows = max(
        inner.calls for inner in pipeline.stages if inner.path.startswith(stage.path)
    )
    enough = rows >= _MANY_ROWS * max(pipeline.steps, 1)
    return (
        stage.kind.startswith(_ROWS) and enough and stage.busy_ps < _SHORT_ROW_PS * rows
    )


def _comes_in_bursts(
    question: Question,
    pipeline: InputPipeline,
    slowest: InputStage,
) -> bool:
    """Whether the pipeline would be fast enough, did a shuffle not make batches wait
    until its buffer is full again.
    """
    filled = max(
        (stage.filling_ps for stage in pipeline.stages if stage.fills > 1),
        default=0,
    )
    if filled < _BURSTS * pipeline.window_ps:
        return False
    return slowest.wall_ps < (1 - share(question, TimeClass.INPUT)) * pipeline.window_ps


def _files(pipeline: InputPipeline) -> int:
    """How many files the sources come to the end of: each is asked once more than it
    has elements to give.
    """
    calls = {stage.path: stage.calls for stage in pipeline.stages}
    return sum(
        max(stage.calls - calls.get(stage.path.rpartition("::")[0], stage.calls), 0)
        for stage in pipeline.stages
        if stage.kind.startswith(_FILES)
    )


def _elements(pipeline: InputPipeline, stage: InputStage) -> int:
    """How many elements a stage works on. tf.data makes one stage of a map and the
    batch behind it.
    """
    if not stage.kind.startswith("MapAndBatch"):
        return stage.calls
    before = [
        source.calls
        for source in pipeline.stages
        if source.path.rpartition("::")[0] == stage.path
    ]
    return max(before, default=stage.calls)


def _feeds_a_batch(pipeline: InputPipeline, stage: InputStage) -> bool:
    """Whether a stage nearer to the consumer batches what this one makes, element by
    element.
    """
    above = stage.path.split("::")[:-1]
    batches = [
        batch
        for batch in pipeline.stages
        if batch.kind.startswith(_BATCHES) and batch.path.split("::")[-1] in above
    ]
    return any(stage.calls > 2 * max(batch.calls, 1) for batch in batches)


@fact
def input_map_in_source(question: Question) -> str:
    """Whether the program's files call `map` on anything: yes or no. Without such a
    call a pipeline's map is a library's, as that in which Keras' predict picks rows.
    """
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    return "yes" if source.calls_method("map") else "no"


@fact
def input_root(question: Question) -> str:
    """The stage at the root of the tf.data pipeline: prefetch, injected-prefetch (put
    there by tf.data), background (a parallel map, which buffers too) or none.
    """
    pipeline = _pipeline(question)
    root = pipeline.stages[0]
    if not root.kind.startswith("Prefetch"):
        return "background" if pipeline.root_works_ahead else "none"
    return "injected-prefetch" if root.name.startswith("inject/") else "prefetch"


@fact
def input_autotune(question: Question) -> str:
    """Whether tf.data tunes the pipeline's parallelism and buffers itself: on, off or
    unknown.
    """
    tuned = [
        stage.settings["autotune"]
        for stage in _pipeline(question).stages
        if "autotune" in stage.settings
    ]
    if not tuned:
        return "unknown"
    return "on" if any(str(setting).lower() == "true" for setting in tuned) else "off"


@fact
def input_stages(question: Question) -> str:
    """The stages of the tf.data pipeline with their work per step, the costliest first:
    `Map 4.2 ms, Batch 0.3 ms`.
    """
    pipeline = _pipeline(question)
    costly = sorted(pipeline.stages, key=lambda stage: -stage.wall_ps)[:4]
    return ", ".join(
        f"{stage.kind} {duration(stage.wall_ps / max(pipeline.steps, 1) / PS_PER_MS)}"
        for stage in costly
        if stage.wall_ps
    )


# The training loop's calls that load data, where the trace holds Python frames.

_MOST_LOADER = 0.5


def _frames(question: Question) -> list[FrameShare]:
    """Calls of the training loop that load data, the costliest first; none that mostly
    waits for a tf.data pipeline. Raises MetricAbsent without any."""
    frames = [
        frame
        for host in question.run.hosts
        for frame in host.evidence.frames
        if frame.input_ps > frame.host_ps
    ]
    own = [
        frame for frame in frames if frame.pipeline_ps <= _MOST_LOADER * frame.input_ps
    ]
    if not own:
        raise MetricAbsent("the trace holds no Python frames of a loader")
    return sorted(own, key=lambda frame: -frame.input_ps)


@fact
def input_frame(question: Question) -> str:
    """The call of the training loop that spends most time loading data, with its place:
    `load_batch (train.py:42)`. For a call of a library it is the user's own function
    below it, else the one that makes the call.
    """
    return _frames(question)[0].place()


@metric
def loader_wait_share(question: Question) -> float:
    """Share of the time in the training loop's loading calls in which they wait for
    another thread or process to make the batch. It is near 1 where a background loader
    is slower than the steps. Needs Python frames.
    """
    frames = _frames(question)
    return sum(frame.others_ps for frame in frames) / max(
        sum(frame.input_ps for frame in frames),
        1,
    )
