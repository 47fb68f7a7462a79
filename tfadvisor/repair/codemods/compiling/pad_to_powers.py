"""Lengths are rounded up to a few sizes, each twice the one before, instead of to every multiple: fewer programs to compile.

https://docs.jax.dev/en/latest/jit-compilation.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.program import Program, instead, text_of

_PRESCRIBED = "def bucket("
"""In the fix of a finding whose programs differ in the shapes of their arguments."""
_CEILINGS = re.compile(r"^(?:int\()?(?:math|np|numpy)\.ceil\((.+) / ([\w.]+)\)\)?$")
_MANY_IN_ALL = re.compile(r"\[|\blen\(\w*(?:data|examples|rows|samples)\w*\)")
"""Sizes that are no length of a batch: those of whole data sets."""


def hits(program: Program, place: Place) -> list[Hit]:
    """One for each length that is rounded up to the next multiple of a number."""
    if (place.snippets and _PRESCRIBED not in place.snippets) or not program.imports("jax"):
        return []
    found = []
    for node in program.all(cst.BinaryOperation):
        parts = _rounded_up(node)
        if parts is None or _MANY_IN_ALL.search(parts[0]):
            continue
        length, multiple = parts
        powers = f"{multiple} * (1 << (int(-(-{length} // {multiple})) - 1).bit_length())"
        function = program.inside(node, cst.FunctionDef)
        names = () if function is None else (str(function.name.value),)
        first, last = program.lines(node)
        changed = program.changed({node: instead(f"({powers})" if node.lpar else powers)})
        found.append(Hit(first, last, f"{multiple} times a power of two", changed, names))
    return found


def _rounded_up(product: Any) -> tuple[str, str] | None:
    """(length, multiple) of `-(-length // multiple) * multiple` and of other ways to write it."""
    if not isinstance(product.operator, cst.Multiply):
        return None
    for quotient, multiple in ((product.left, product.right), (product.right, product.left)):
        for length, divisor in _ceilings(quotient):
            if divisor == text_of(multiple):
                return length, divisor
    return None


def _ceilings(node: Any) -> Iterator[tuple[str, str]]:
    """(dividend, divisor) of a quotient that is rounded up."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = node.expression
        if _divides(inner) and isinstance(inner.left, cst.UnaryOperation):
            yield text_of(inner.left.expression), text_of(inner.right)
    elif _divides(node) and isinstance(node.left, cst.BinaryOperation):
        divisor = text_of(node.right)
        for end in (f" + {divisor} - 1", f" + ({divisor} - 1)"):
            text = _bare(text_of(node.left))
            if text.endswith(end):
                yield text.removesuffix(end), divisor
    elif isinstance(node, cst.Call) and (match := _CEILINGS.match(text_of(node))):
        yield match[1], match[2]


def _divides(node: Any) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.FloorDivide)


def _bare(text: str) -> str:
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text
