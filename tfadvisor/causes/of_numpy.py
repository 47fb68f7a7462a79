"""Whether a value of the program is an array of NumPy, by the lines before it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tfadvisor.causes.loop_data import bindings_in
from tfadvisor.causes.witness import scope_around

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile


def is_of_numpy(parsed: ParsedFile, value: ast.expr) -> bool:
    """Whether a call of NumPy gives it, or gave it last before its line."""
    if isinstance(value, ast.Call):
        return parsed.names.called(value).package == "numpy"
    if not isinstance(value, ast.Name):
        return False
    made = [
        binding.value
        for binding in bindings_in(scope_around(parsed.tree, value.lineno))
        if value.id in binding.written
    ]
    before = [each for each in made if getattr(each, "lineno", 0) < value.lineno]
    last = max(before, key=lambda each: getattr(each, "lineno", 0), default=None)
    return isinstance(last, ast.Call) and is_of_numpy(parsed, last)
