"""Calls that compute places along an axis, frames of a signal or places of a
convolution, of which the function takes every k-th alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tfadvisor.causes.called import FileNames, last_name
from tfadvisor.causes.definitions import reads_of
from tfadvisor.causes.walked import nodes_in

_STFT, _CONV, _FFT = "stft()[::k]", "conv()[::k]", "fft()[::k]"
_KINDS = {
    "stft": _STFT,
    "rfft": _FFT,
    "fft": _FFT,
    "conv": _CONV,
    "conv1d": _CONV,
    "conv2d": _CONV,
    "conv3d": _CONV,
    "conv_general_dilated": _CONV,
    "conv_with_general_padding": _CONV,
    "convolve": _CONV,
    "depthwise_conv2d": _CONV,
    "depthwise_conv": _CONV,
    "separable_conv2d": _CONV,
}
"""Functions of frameworks, by their last names."""
_LAYERS = frozenset(
    "Conv Conv1D Conv1d Conv2D Conv2d Conv3D Conv3d DepthwiseConv1D DepthwiseConv2D "
    "SeparableConv1D SeparableConv2D Convolution1D Convolution2D".split()
)
_OF_EACH = frozenset(
    "abs absolute angle astype cast elu exp gelu imag leaky_relu log log10 log1p "
    "maximum minimum multiply real relu rsqrt sigmoid silu sqrt square swish tanh "
    "float32".split()
)
"""Functions and methods that work on each element alone."""
_PARTS = ("real", "imag")
_STEP = 2
"""Place of the hop among the arguments of tf.signal.stft."""


class EveryKth(NamedTuple):
    """Of a call's result."""

    name: str
    """In the terms of the table: `stft()[::k]`."""
    node: ast.Subscript
    """What takes every k-th."""
    own: str
    """What computes these alone, in the program's own names; "" for unknown."""
    lines: tuple[int, ...]
    """All lines between."""


def every_kth(
    call: ast.Call,
    function: ast.AST,
    names: FileNames,
    made_by: Callable[[ast.expr], ast.Call | None],
) -> EveryKth | None:
    """What a function takes of a call's result, and nothing else. made_by: the call
    that made what a name stands for. None for other calls.
    """
    kind = _kind(call, names, made_by)
    slices = _slices(call, function) if kind else []
    steps = {_steps(node) for node in slices}
    if len(steps) != 1 or (kind == _FFT and _is_along_last(slices[0])):
        return None
    lines = sorted({call.lineno, *(node.lineno for node in slices)})
    return EveryKth(kind, slices[0], _own(call, kind, steps.pop()), tuple(lines))


def _slices(call: ast.Call, function: ast.AST) -> list[ast.Subscript]:
    """All that reads a result, where each takes every k-th; else nothing."""
    taken = list(_taken(call, function, _parents(function)))
    slices = [node for node in taken if node is not None]
    return slices if len(slices) == len(taken) else []


def _kind(
    call: ast.Call, names: FileNames, made_by: Callable[[ast.expr], ast.Call | None]
) -> str:
    called = names.called(call)
    if called.path:
        return _KINDS.get(called.names[-1], "")
    maker = call.func if isinstance(call.func, ast.Call) else made_by(call.func)
    if maker is None or not names.called(maker).path:
        return ""
    return _CONV if last_name(maker) in _LAYERS else ""


def _parents(function: ast.AST) -> dict[int, ast.AST]:
    return {
        id(child): node
        for node in nodes_in(function)
        for child in ast.iter_child_nodes(node)
    }


def _taken(
    node: ast.expr, function: ast.AST, parents: dict[int, ast.AST], depth: int = 0
) -> Iterator[ast.Subscript | None]:
    """Each place that reads a result: a slice with a step, None for any other."""
    parent = parents.get(id(node))
    if isinstance(parent, ast.Subscript) and parent.value is node:
        yield parent if _steps(parent) else None
    elif isinstance(parent, ast.expr) and _is_of_each(parent, node):
        inner = _with_its_call(parent, parents)
        yield from _taken(inner, function, parents, depth)
    elif isinstance(parent, ast.Assign) and depth < len(_KINDS):
        read = reads_of(_name_given(parent), function)
        for each in read:
            yield from _taken(each, function, parents, depth + 1)
        yield from () if read else (None,)
    else:
        yield None


def _with_its_call(node: ast.expr, parents: dict[int, ast.AST]) -> ast.expr:
    """A method with its call."""
    call = parents.get(id(node))
    is_method = isinstance(node, ast.Attribute) and isinstance(call, ast.Call)
    return call if is_method and isinstance(call, ast.Call) else node


def _name_given(node: ast.Assign) -> str:
    """The only name, or of `frequencies, times, spectrum` the last."""
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[-1]
    return target.id if isinstance(target, ast.Name) and not node.targets[1:] else ""


def _is_of_each(parent: ast.expr, node: ast.expr) -> bool:
    if isinstance(parent, ast.Call):
        return last_name(parent) in _OF_EACH and parent.args[:1] == [node]
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OF_EACH or parent.attr in _PARTS
    if isinstance(parent, ast.BinOp):
        other = parent.right if parent.left is node else parent.left
        return isinstance(other, ast.Constant) or _is_same_text(other, node)
    return isinstance(parent, ast.UnaryOp)


def _is_same_text(other: ast.expr, node: ast.expr) -> bool:
    return ast.unparse(other) == ast.unparse(node)


def _steps(node: ast.Subscript) -> tuple[str, ...]:
    """Of slices that begin at the first place and go to the last, those above one."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    slices = [part for part in parts if isinstance(part, ast.Slice)]
    known = [_step_of(part) for part in slices if part.step is not None]
    is_whole = all(part.lower is None and part.upper is None for part in slices)
    return tuple(known) if is_whole and known and all(known) else ()


def _step_of(part: ast.Slice) -> str:
    step = part.step
    if isinstance(step, ast.Constant):
        is_more = type(step.value) is int and step.value > 1
        return ast.unparse(step) if is_more else ""
    is_name = isinstance(step, ast.Name | ast.Attribute)
    return ast.unparse(step) if is_name and step is not None else ""


def _is_along_last(node: ast.Subscript) -> bool:
    """Whether the last axis may be the one: a transform needs all of it."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    last = parts[-1]
    is_open = not isinstance(node.slice, ast.Tuple)
    return is_open or (isinstance(last, ast.Slice) and last.step is not None)


def _own(call: ast.Call, kind: str, steps: tuple[str, ...]) -> str:
    """The hop times the step, where the call names its hop."""
    if kind != _STFT or len(steps) != 1:
        return ""
    named = {each.arg: each for each in call.keywords}
    args, keywords = [*call.args], [*call.keywords]
    if "frame_step" in named:
        at = keywords.index(named["frame_step"])
        longer = _times(named["frame_step"].value, steps[0])
        keywords[at] = ast.keyword("frame_step", longer)
    elif len(args) > _STEP and ast.unparse(call.func).startswith("tf."):
        args[_STEP] = _times(args[_STEP], steps[0])
    else:
        return ""
    return f"{ast.unparse(ast.Call(call.func, args, keywords))}      # and no [::k]"


def _times(hop: ast.expr, step: str) -> ast.expr:
    return ast.BinOp(hop, ast.Mult(), ast.parse(step, mode="eval").body)
