"""Layers of Keras that a program freezes, where each epoch may give them the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tfadvisor.causes.called import last_name
from tfadvisor.causes.epochs import runs_epochs
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.unchanged import Program
from tfadvisor.causes.walked import calls_in, nodes_in
from tfadvisor.causes.witness import function_around

_TRAINABLE = "trainable"
_AUGMENTS = re.compile(
    r"\ARandom(?:Bright|Channel|Color|Contrast|Crop|Cutout|Erasing|Flip|Gaussian|Gray|"
    r"Height|Hue|Invert|Persp|Poster|Rotation|Saturation|Shar|Shear|Transl|Width|Zoom)"
    r"|\A(?:stateless_)?random_(?:bright|contrast|crop|flip|hue|jpeg|rotat|saturation"
    r"|shear|shift|zoom)|\A(?:AugMix|CutMix|MixUp|RandAugment|ImageDataGenerator)\Z"
    r"|augment|distort|jitter",
)
"""Calls that change examples at random."""
_CHANGES = frozenset({"assign", "assign_add", "assign_sub", "set_weights"})
"""Calls that may change weights without a gradient, as of a target network."""


class Frozen(NamedTuple):
    """What a program freezes."""

    name: str
    """As it writes it: `backbone`."""
    file: str
    line: int
    function: str
    """Around it; "" outside of all."""
    runs_epochs: bool
    """Whether the source shows that it goes over its data several times."""


def frozen_layers(files: Sequence[ParsedFile]) -> Frozen | None:
    """The first that the files freeze; None for none, and where they change examples at
    random, or weights by themselves.
    """
    names = {last_name(call) for parsed in files for call in calls_in(parsed.tree)}
    if names & _CHANGES or any(map(_AUGMENTS.search, names)):
        return None
    for parsed in files:
        for name, line in _frozen_in(parsed.tree):
            around = function_around(parsed.tree, line)
            function = "" if around is None else around.name
            again = runs_epochs(Program(files))
            return Frozen(name, parsed.file, line, function, again)
    return None


def _frozen_in(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(what is frozen, the line) of `backbone.trainable = False`; of a loop over its
    layers that does it, what has these.
    """
    loops = [node for node in nodes_in(tree) if isinstance(node, ast.For)]
    for node in nodes_in(tree):
        target = _frozen_by(node)
        if target is None:
            continue
        name = ast.unparse(target)
        for loop in loops:
            if ast.unparse(loop.target) == name and node in loop.body:
                name = ast.unparse(loop.iter).partition(".layers")[0]
        yield name, getattr(node, "lineno", 0)


def _frozen_by(node: ast.AST) -> ast.expr | None:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    target, value = node.targets[0], node.value
    is_off = isinstance(value, ast.Constant) and value.value is False
    is_it = isinstance(target, ast.Attribute) and target.attr == _TRAINABLE
    return (
        target.value if is_off and is_it and isinstance(target, ast.Attribute) else None
    )
