"""Names of ops without what compilers and frameworks count up: `fusion.12` and `fusion.7` have the same stem."""

from __future__ import annotations

import re

_COUNTED = re.compile(r"(?:[._]\d+|\.(?:remat|clone|cloned|sunk)\d*)+$")
_PROGRAM = re.compile(r"\(\d+\)$")
_NUMBER = re.compile(r"\d+")


def stem(name: str) -> str:
    """`wrapped_add.2.remat` -> `wrapped_add`, `model_1/dense_2/MatMul:MatMul` -> `model/dense/MatMul:MatMul`."""
    path, colon, kind = name.partition(":")
    return "/".join(_COUNTED.sub("", part) or part for part in path.split("/")) + colon + kind


def numbers(name: str) -> tuple[int, ...]:
    """The numbers in a name, in order: compilers and frameworks count up in the order of the program."""
    return tuple(int(number[:18]) for number in _NUMBER.findall(name))


def without_program_number(module: str) -> str:
    """`jit_train_step(1234)` -> `jit_train_step`."""
    return _PROGRAM.sub("", module)
