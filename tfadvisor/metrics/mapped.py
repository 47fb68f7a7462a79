"""What the functions of the input pipeline compute, by the ops of the trace, and which
map or generator of the program's files they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, once
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.tallies import added_up
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.units import percent

if TYPE_CHECKING:
    from tfadvisor.causes import PictureOrder, PipelineMap

_MOST = 3
_WORTH_NAMING = 0.03
_MAPS = ("Map", "ParallelMap")
_LONGEST = 40
"""Characters of a function that is written within the call of map."""
_TEXT = ("String", "Regex", "Unicode", "StaticRegex", "Lookup", "Ragged", "DecodeCSV")
_PICTURES = ("Resize", "ScaleAndTranslate", "CropAndResize", "Adjust", "DecodeP")


@fact
def input_ops(question: Question) -> str:
    """The op types that take most of the time of the pipeline's functions, with their
    shares of it: `DecodeJpeg 62%, ResizeBilinear 31%`.
    """
    found = _by_type(question)
    total = sum(time for _, time in found)
    return ", ".join(
        f"{kind} {percent(time / total)}"
        for kind, time in found[:_MOST]
        if time / total >= _WORTH_NAMING
    )


def _by_type(question: Question) -> list[tuple[str, int]]:
    """(op type, ps) of all hosts, the longest first. Raises MetricAbsent where the
    trace names none.
    """
    time = added_up(
        pair
        for host in counted_hosts(question.run)
        for pair in host.evidence.pipeline_ops.by_type
    )
    if not any(time.values()):
        raise MetricAbsent("the trace names no op of the input pipeline's functions")
    return sorted(time.items(), key=lambda pair: -pair[1])


@fact
def input_cheaper_code(question: Question) -> str:
    """A line of code that makes the costliest op of the pipeline's functions cheaper:
    for JPEGs `picture = tf.io.decode_jpeg(data, channels=3, ratio=4)`.
    """
    kind = _by_type(question)[0][0]
    ordered = _ordered_kind(question)
    if ordered:
        return _BEHIND_ORDER[ordered]
    if kind in ("DecodeJpeg", "DecodeAndCropJpeg", "DecodeImage"):
        return (
            "picture = tf.io.decode_jpeg(data, channels=3, ratio=4)"
            "      # at 1/2, 1/4 or 1/8 of each side, or only a crop"
        )
    if kind.startswith(_PICTURES):
        return "# store pictures once at the size that the model takes"
    if kind.startswith("ParseS"):
        return "dataset = dataset.batch(256).map(lambda x: tf.io.parse_example(x, s))"
    what = "text" if kind.startswith(_TEXT) else "where each op takes it"
    return f"dataset = dataset.batch(256).map(vectorize)      # whole batches, {what}"


# The order of what is done to pictures.

_BEHIND_ORDER = {
    "cuts": "# no pixel outside of the window is decoded",
    "colours": "# each on the pixels that are left",
}
_DECODING = ("DecodeJpeg", "DecodeImage")
_MOSTLY, _NEARLY_ALL = 0.5, 0.7
"""Of the time of the pipeline's functions: from there on decoding is worth a change,
and from there on nothing else is.
"""


@once
def _picture_order(question: Question) -> PictureOrder:
    """The first by which less of the pictures would be computed, where the ops that
    this is about take the time. Raises MetricAbsent.
    """
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    found = _by_type(question)
    decoding = sum(ps for kind, ps in found if kind in _DECODING)
    share = decoding / sum(ps for _, ps in found)
    for order in source.pipeline_pictures:
        is_of_a_part = order.kind == "cuts"
        if share >= _MOSTLY if is_of_a_part else share < _NEARLY_ALL:
            return order
    raise MetricAbsent("the source shows no order in which pictures would cost less")


def _ordered_kind(question: Question) -> str:
    """Of the order of pictures; "" where none is known."""
    try:
        return _picture_order(question).kind
    except MetricAbsent:
        return ""


@fact
def input_picture_cure(question: Question) -> str:
    """What to do with pictures of which the pipeline, by the source, decodes the whole
    and takes a part, or changes all colours before it makes them smaller.
    """
    return _picture_order(question).do


@fact
def input_picture_code(question: Question) -> str:
    """The same as code, in the program's own names."""
    return _picture_order(question).code


@fact
def input_map_cure(question: Question) -> str:
    """What to do with a map that has all cores: input_picture_cure, where that is
    known.
    """
    try:
        return _picture_order(question).do
    except MetricAbsent:
        return (
            "Make the map's function cheaper, or run it for fewer elements. Its ops "
            f"are {input_ops(question)}."
        )


@fact
def input_map_code(question: Question) -> str:
    """A line that does so, or input_picture_code."""
    try:
        return _picture_order(question).code
    except MetricAbsent:
        mapped = _function_or(question, "prepare")
        return (
            f"dataset = dataset.filter(wanted).map({mapped}, "
            "num_parallel_calls=tf.data.AUTOTUNE)      "
            "# what drops elements goes before the map"
        )


def _function_or(question: Question, example: str) -> str:
    try:
        return input_map_function(question)
    except MetricAbsent:
        return example


# The map in the program's files.


def _slowest_kind(question: Question) -> str:
    """Of the stage with most work; "" without a pipeline."""
    found = [host.evidence.pipeline for host in question.run.hosts]
    slowest = [pipeline.slowest() for pipeline in found if pipeline is not None]
    return max(slowest, key=lambda stage: stage.wall_ps).kind if slowest else ""


@once
def _map(question: Question) -> PipelineMap:
    """The only one, else the only one whose function makes the costliest op of the
    pipeline's functions. Raises MetricAbsent, also where another stage than a map is
    the slowest.
    """
    source = question.settings.source
    if not _slowest_kind(question).startswith(_MAPS):
        raise MetricAbsent("the slowest stage is no map")
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    maps = source.pipeline_maps
    if len(maps) > 1:
        costliest = _by_type(question)[0][0]
        makers = {
            op.at.function
            for op in question.run.op_lines.ops
            if op.type == costliest and op.at.function
        }
        maps = tuple(found for found in maps if makers & found.reaches)
    if len(maps) != 1:
        raise MetricAbsent("the program's files have no such map, or several")
    return maps[0]


@fact
def input_map_place(question: Question) -> str:
    """Where the program calls the map that the pipeline's ops are of: `parse
    (data.py:31)`.
    """
    found = _map(question)
    return place_in_words(found.file, found.line, found.function)


@fact
def input_map_function(question: Question) -> str:
    """What that map calls for each element, as the program writes it: `parse`."""
    code = _map(question).code
    if len(code) > _LONGEST:
        raise MetricAbsent("the map's function is written out within its call")
    return code


@fact
def input_map_again(question: Question) -> str:
    """Whether that map gives the same in each of several epochs: yes or no, by the
    source. It draws no random numbers and reads nothing that changes, nor does what
    stands before it; the program runs several epochs, or repeats the dataset.
    """
    found = _map(question)
    return "yes" if found.is_same and found.comes_again else "no"


def works_on_numbers(question: Question) -> bool | None:
    """Whether that map works on numbers one by one, before the batch; None where it is
    not known.
    """
    try:
        found = _map(question)
    except MetricAbsent:
        return None
    return found.is_cheap and found.feeds_batch


# The generator in the program's files.


@fact
def input_generator_cure(question: Question) -> str:
    """What to do about a pipeline's generator, the end of a sentence; by the source,
    where that tells that it gives the same elements in each of several epochs, or reads
    files.
    """
    is_same, reads, _ = _of_generator(question)
    if is_same:
        return (
            "By the source the generator gives the same elements in each epoch. "
            "Compute them once into arrays, before training; or put cache() behind "
            "from_generator, cache(filename) where they do not fit into memory, and "
            "shuffle() behind that"
        )
    if reads:
        return (
            "Let the generator yield whole batches, or only file names and indexes, "
            "and load in TensorFlow ops"
        )
    return (
        "Let the generator yield whole batches, or compute in TensorFlow ops; arrays "
        "that fit into memory are passed directly"
    )


@fact
def input_generator_code(question: Question) -> str:
    """A line that does so: `dataset =
    tf.data.Dataset.from_tensor_slices(tuple(map(np.stack, zip(*samples()))))`.
    """
    is_same, reads, code = _of_generator(question)
    data = "dataset = tf.data.Dataset.from_tensor_slices"
    if is_same:
        return f"{data}(tuple(map(np.stack, zip(*{code}()))))"
    if reads:
        return f"{data}(paths).map(load, num_parallel_calls=tf.data.AUTOTUNE)"
    return f"{data}((x, y))      # arrays"


def _of_generator(question: Question) -> tuple[bool, bool, str]:
    """Whether it gives the same in each epoch, whether it reads files, its name; of one
    that is not known neither.
    """
    source = question.settings.source
    found = () if source is None else source.pipeline_generators
    if len(found) != 1:
        return False, False, ""
    known = found[0]
    return known.is_same and known.comes_again, known.reads_files, known.code
