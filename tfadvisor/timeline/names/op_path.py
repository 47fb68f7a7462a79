"""The framework's path of an op, `gradient_tape/model/dense/MatMul/MatMul_1:MatMul`:
its layer and its type.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tfadvisor.patterns import pattern

_TRANSFORMED = pattern(
    r"^(?:transpose|jvp|vmap|pmap|remat|checkpoint|linearize|custom_jvp|custom_vjp)\((.*)\)$"
)
_FUNCTION = pattern(r"^(?:jit|pjit|xla_call|shard_map)\(.*\)$")
_REPLICA = pattern(r"^replica_\d+$")
_REPLICAS = pattern(r"(?:^|(?<=/))replica_\d+/")
_ANOTHER_REPLICA = pattern(r"(?:^|/)replica_[1-9]\d*/")
"""The first replica's ops have no such scope."""
_CUDNN_RECURRENCE = pattern(
    r"CudnnRNN|RNN_blockPersist|elemWiseRNNcell|LSTM_elementWise|GRU_elementWise"
    r"|(?<![a-z])cudnn_?(?:lstm|gru|rnn)",
    re.IGNORECASE,
)
"""TensorFlow's op, `sequential/lstm/CudnnRNNV3:CudnnRNNV3`, and cuDNN's kernels."""
_NUMBERED = pattern(r"^_\d+$")
_EINSUM = "->"
"""In JAX's name of an einsum, `bsd,de->bse`."""
_TRAILING_NUMBERS = pattern(r"^(?:\d+_)+")
"""Read backwards: from the front, each underscore of a name would be tried as the first
of them.
"""
_SURROUNDINGS = frozenset(
    """
        StatefulPartitionedCall PartitionedCall gradient_tape gradients while body cond
        closed_call checkpoint rematted_computation XlaModule shard_map
    """.split()
)
"""Parts that tell how an op is reached, and not in which layer it is."""
_TAPE = "gradient_tape"
_CALLS = frozenset(("StatefulPartitionedCall", "PartitionedCall", _TAPE))
"""What may stand before the name of a loop."""
_BODY = pattern(r"/(?:body|cond|then|else)/_\d+/")
"""Where TensorFlow's loops and branches hold the ops of a function."""
_OF_OP = pattern(r"/gradients/([^:]+)_grad/[^/:]+\Z")
_LOOP_BODY = pattern(r"/body/_\d+/")
_OF_LOOP = "/gradients/"
"""Between the name of a loop and those of the ops in it whose gradients its own loop
computes.
"""
_OPTIMIZERS = frozenset(
    "adam adamw adamax nadam sgd rmsprop adagrad adadelta ftrl lion lamb adafactor "
    "muon gradientdescent momentum".split()
)


_RECURRENT_CELL = pattern(r"(?:^|/)(?:\w+_)?(?:gru|lstm|rnn)_cell(?:_\d+)?(?:/|$)")
"""A scope that Keras gives each time step of a recurrent layer: `gru_cell_1`,
`simple_rnn_cell`.
"""


_RECURRENT_LOOP = pattern(
    r"(?:^|/)(?:lstm|gru|simple_rnn)(?:_\d+)?/(?:(?:Stateful)?PartitionedCall/)?while/"
)
"""The loop of a layer that Keras names for its recurrence; the older form has no scope
for the cell: `sequential/lstm/PartitionedCall/while/body/_1/while/MatMul`.
"""
_LOOP = "while"
_RECURRENT_LAYER = pattern(rf"(?:^|/)(?:lstm|gru|simple_rnn)(?:_\d+)?/{_LOOP}$")
_OF_CUDNN = pattern(
    r"(?:^|/)(?:(?:lstm|gru)_cell(?:_\d+)?(?:/|$)|(?:lstm|gru)(?:_\d+)?/while$)"
)
"""Layers whose recurrence cuDNN has; a `conv_lstm_cell` it has not."""


class OpPath(NamedTuple):
    """What an op's path tells."""

    layer: str
    """`model/dense`, or the optimizer's name; "" outside of any scope."""
    name: str
    """The op's own, its path's last part."""
    op_type: str
    """`MatMul` of TensorFlow's ops, `dot_general` of JAX's."""
    is_gradient: bool
    """Whether a gradient tape made it."""


@lru_cache(maxsize=1 << 16)  # several questions are asked of each path
def op_path(path: str) -> OpPath | None:
    """None for what names no op."""
    if "::" in path:  # a C++ name
        return None
    name, colon, kind = path.rpartition(":")
    if not colon:
        name = path
        kind = ""
    parts = _inside_loops(name).split("/")
    last = _plain(parts[-1]) or ""
    if not kind and (last in _SURROUNDINGS or not last):
        return None
    scopes = _layer_scopes(name, _scopes(parts[:-1]))
    return OpPath("/".join(scopes), last, kind or last, _TAPE in parts)


def _layer_scopes(name: str, scopes: list[str]) -> list[str]:
    """Without ops and what is inside of an optimizer; with the loop of a recurrence."""
    if "(" not in name:  # JAX's scopes may begin with capitals, TensorFlow's ops do
        scopes = _without_ops(scopes)
    if scopes and is_optimizer(scopes[0]):
        scopes = scopes[:1]
    if _RECURRENT_LOOP.search(name) and not recurrent_cell("/".join(scopes)):
        scopes = [*scopes, _LOOP]
    return scopes


def _without_ops(scopes: list[str]) -> list[str]:
    """Without the ops of TensorFlow's that a path may end in."""
    count = len(scopes)
    while count > 1 and scopes[count - 1][:1].isupper():
        count -= 1
    return scopes[:count]


def loop_bodies(path: str) -> tuple[str, ...]:
    """The bodies of TensorFlow's while loops around an op, the outermost first, each by
    the part of the path that ends in it: `while/body/_42/`.
    """
    return tuple(path[: found.end()] for found in _LOOP_BODY.finditer(path))


def loop_of_body(body: str) -> str:
    """The path of the loop that has a body: `while` of `while/body/_42/`."""
    return _LOOP_BODY.sub("", body)


def forward_loop(loop: str) -> str:
    """The loop that one of gradients goes back through: `gru/while` of
    `gradient_tape/gru/while/gru/while_grad`; any other loop itself.
    """
    scope, is_of_gradients, name = loop.rpartition("gradient_tape/")
    if not is_of_gradients or not name.endswith("_grad"):
        return loop
    parts = name.removesuffix("_grad").split("/")
    half = len(parts) // 2
    named = parts[half:] if parts[:half] == parts[half:] else parts
    return scope + "/".join(named)


def forward_op(path: str) -> str:
    """The op in a loop that an op of its gradients is of, `while/dense/MatMul` of
    `.../gradients/while/dense/MatMul_grad/MatMul_1`; "" for any other.
    """
    found = _OF_OP.search(path)
    return found[1] if found else ""


def op_name(path: str) -> str:
    """The op that a path names, `model/dense/MatMul`, the same in every replica; "" for
    what names no op.
    """
    if op_path(path) is None:
        return ""
    name = path.rpartition(":")[0] or path
    return _REPLICAS.sub("", name)


def _inside_loops(name: str) -> str:
    """The path without what only leads into the bodies of loops and branches that name
    their ops in full once more: `gru/while/body/_1/gru/while/cell/MatMul` ->
    `gru/while/cell/MatMul`; of gradients, from the op that they are of:
    `gradient_tape/gru/while/gru/while_grad/body/_9/gradient_tape/gru/while/gradients/gru/while/cell/MatMul_grad/MatMul`
    -> `gradient_tape/gru/while/cell/MatMul`.
    """
    found = _BODY.search(name)
    while found:
        outer = name[: found.start()].split("/")
        inner = name[found.end() :]
        first = next((part for part in outer if part not in _CALLS), "")
        if not inner.removeprefix(f"{_TAPE}/").startswith(f"{first}/"):
            return name
        name = inner
        found = _BODY.search(inner)
        if name.startswith(_TAPE) and _OF_LOOP in name:
            name = _differentiated(name.partition(_OF_LOOP)[2])
    # A loop that was lowered: `gradient_tape/LOOP/gradient_tape/LOOP/gradients/…`.
    before, _, own = name.rpartition(f"/{_TAPE}/")
    loop, inside, of = own.partition(_OF_LOOP)
    if inside and before.startswith(_TAPE) and before.endswith(f"/{loop}"):
        return _differentiated(of)
    return name


def _differentiated(of: str) -> str:
    """The path of a gradient of an op inside a loop, from what stands behind the loop's
    `gradients`.
    """
    own = [part for part in of.split("/") if not part.endswith("_grad")]
    return "/".join((_TAPE, *own))


def is_optimizer(layer: str) -> bool:
    """Whether a layer's name is an optimizer's: `Adam`, `sgd_1`."""
    return without_numbers(layer).lower() in _OPTIMIZERS


def without_numbers(name: str) -> str:
    """`dense_1_2` -> `dense`."""
    found = _TRAILING_NUMBERS.match(name[::-1])
    return name[: -found.end()] if found else name


def recurrent_cell(layer: str) -> str:
    """The scope of the recurrent layer's cell that a layer is or lies in,
    `gru_1/gru_cell_1`; "" without one.
    """
    found = _RECURRENT_CELL.search(layer)
    return layer[: found.end()].rstrip("/") if found else ""


def recurrent_layer(layer: str) -> bool:
    """Whether a layer is the loop of a recurrent one, or its cell, by its name."""
    return bool(recurrent_cell(layer) or _RECURRENT_LAYER.search(layer))


def cudnn_has_kernel(layer: str) -> bool:
    """Whether a layer is an LSTM or GRU, by its name."""
    return _OF_CUDNN.search(layer) is not None


def is_of_another_replica(path: str) -> bool:
    """Whether an op is of a second replica of the step, under one of TensorFlow's
    strategies: `replica_1/sequential/dense/MatMul:MatMul`.
    """
    return _ANOTHER_REPLICA.search(path) is not None


_CELLS = ("lstm", "gru")


def loops_over_cell(name: str) -> bool:
    """Whether an op is of the loop of an LSTM or GRU that Keras built without a kernel
    of cuDNN in mind: `sequential/lstm/while/body/_1/…`. Where cuDNN could run the
    layer, its loop is in a function, as `lstm/PartitionedCall/while/body`.
    """
    around = name.split("/while/body/")[:-1]
    layers = [path.rpartition("/")[2] for path in around]
    return any(cell in layer for layer in layers for cell in _CELLS)


def is_cudnn_recurrence(name: str) -> bool:
    """Whether an op or kernel is cuDNN's of a whole recurrent layer."""
    return _CUDNN_RECURRENCE.search(name) is not None


def _scopes(parts: list[str]) -> list[str]:
    """What is a layer's."""
    kept = []
    for part in parts:
        plain = None if _REPLICA.match(part) else _plain(part)
        if plain is not None and _is_scope(plain):
            kept.append(plain)
    return kept


def _is_scope(part: str) -> bool:
    if not part or part in _SURROUNDINGS or _EINSUM in part:
        return False
    return _NUMBERED.match(part) is None


def _plain(part: str) -> str | None:
    """`transpose(jvp(Dense_0))` -> `Dense_0`; None for a function's name."""
    found = _TRANSFORMED.match(part)
    while found:
        part = found.group(1)
        found = _TRANSFORMED.match(part)
    return None if _FUNCTION.match(part) else part
