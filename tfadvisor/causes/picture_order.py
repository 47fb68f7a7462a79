"""In which order the functions of a pipeline decode, change and cut pictures."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tfadvisor.causes.called import last_name
from tfadvisor.timeline.names.frames import place_in_words

DECODES, CUTS, RESIZES, COLOURS = "decodes", "cuts", "resizes", "colours"
_KINDS = (
    (re.compile(r"\Adecode_(?:jpeg|image)\Z"), DECODES),
    (re.compile(r"\A(?:stateless_)?random_crop\Z|\Acrop_to_bounding_box\Z"), CUTS),
    (re.compile(r"\Acentral_crop\Z"), CUTS),
    (re.compile(r"\Aresize"), RESIZES),
    (
        re.compile(
            r"\A(?:stateless_)?(?:random|adjust)_(?:brightness|contrast|gamma|hue|"
            r"jpeg_quality|saturation)\Z|\A(?:rgb|hsv|yuv|yiq)_to_\w+\Z"
        ),
        COLOURS,
    ),
)
_BOX = 4
"""Arguments of crop_to_bounding_box behind the picture."""
_MOST_NAMED = 3


class PictureCall(NamedTuple):
    """A call of TensorFlow on a picture."""

    kind: str
    call: ast.Call
    file: str
    function: str
    """Of the program, around it: `_corrupt_contrast`."""

    @property
    def place(self) -> str:
        """`load (train.py:25)`."""
        return place_in_words(self.file, self.call.lineno, self.function)


class PictureOrder(NamedTuple):
    """An order in which less is computed."""

    kind: str
    """CUTS where a part of a picture is decoded, COLOURS where these come last."""
    do: str
    code: str


def kind_of(path: str) -> str:
    """Of a function of TensorFlow or Keras; "" for others."""
    package, _, name = path.partition(".")
    if package not in ("tensorflow", "keras"):
        return ""
    last = name.rpartition(".")[2]
    return next((kind for known, kind in _KINDS if known.search(last)), "")


def picture_orders(calls: Sequence[PictureCall]) -> list[PictureOrder]:
    """Of the calls of a pipeline's maps in their order."""
    found = [_decoded_whole(calls), _coloured_whole(calls)]
    return [order for order in found if order is not None]


def _decoded_whole(calls: Sequence[PictureCall]) -> PictureOrder | None:
    """A function that decodes a picture and cuts a part out of it."""
    for decoding, cutting in pairwise(calls):
        is_both = (decoding.kind, cutting.kind) == (DECODES, CUTS)
        if is_both and decoding.function == cutting.function and decoding.call.args:
            return PictureOrder(
                CUTS,
                f"By the source {decoding.place} decodes the whole picture, of which "
                f"line {cutting.call.lineno} takes a part. Decode that part alone: "
                "choose the window first, by the size that the file's head tells.",
                _part_decoded(decoding.call, cutting.call),
            )
    return None


def _part_decoded(decoding: ast.Call, cutting: ast.Call) -> str:
    data, decode = ast.unparse(decoding.args[0]), "tf.io.decode_and_crop_jpeg"
    if last_name(cutting) == "crop_to_bounding_box" and len(cutting.args) > _BOX:
        box = ", ".join(ast.unparse(each) for each in cutting.args[1 : _BOX + 1])
        return f"picture = {decode}({data}, [{box}], channels=3)"
    height, width = _size_of(cutting)
    shape = f"shape = tf.io.extract_jpeg_shape({data})"
    if last_name(cutting) == "central_crop":
        return (
            f"{shape}                # top, left, height, width: of its middle\n"
            f"picture = {decode}({data}, [top, left, height, width], channels=3)"
        )
    return (
        f"{shape}\n"
        f"top = tf.random.uniform([], 0, shape[0] - {height} + 1, tf.int32)\n"
        f"left = tf.random.uniform([], 0, shape[1] - {width} + 1, tf.int32)\n"
        f"picture = {decode}({data}, [top, left, {height}, {width}], channels=3)"
    )


def _size_of(cutting: ast.Call) -> tuple[str, str]:
    """Of random_crop, as it is written."""
    named = {each.arg: each.value for each in cutting.keywords}
    size = cutting.args[1] if cutting.args[1:] else named.get("size")
    if isinstance(size, ast.Tuple | ast.List) and size.elts[1:]:
        return ast.unparse(size.elts[0]), ast.unparse(size.elts[1])
    return "height", "width"


def _coloured_whole(calls: Sequence[PictureCall]) -> PictureOrder | None:
    """Changes of colours between the decoding and the last change of the size."""
    kinds = [each.kind for each in calls]
    sizes = [at for at, kind in enumerate(kinds) if kind in (CUTS, RESIZES)]
    if DECODES not in kinds or not sizes:
        return None
    between = calls[kinds.index(DECODES) : sizes[-1]]
    colours = [each for each in between if each.kind == COLOURS]
    smaller = [each for each in calls if each.kind in (CUTS, RESIZES)]
    if not colours:
        return None
    named, later = _names(colours), _names(smaller)
    return PictureOrder(
        COLOURS,
        f"By the source {named} come before {later}, so on all pixels of the decoded "
        "picture. Are the pictures larger than what the model takes? Then crop and "
        "resize first, and change the colours of what is left.",
        f"# first {later}\n# then {named}",
    )


def _names(calls: Sequence[PictureCall]) -> str:
    """`load (train.py:33), augment (train.py:36)`; of functions or calls."""
    places = list(dict.fromkeys(each.place for each in calls))[:_MOST_NAMED]
    *first, last = places
    return f"{', '.join(first)} and {last}" if first else last
