"""Names that a runtime chose stand in timeline/names: no other module of the timeline
compares anything with a text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tfadvisor.timeline

TIMELINE = Path(tfadvisor.timeline.__file__).parent
ASKS_A_TEXT = frozenset(
    """
    startswith endswith removeprefix removesuffix partition rpartition split rsplit find rfind index count replace strip
    compile match search fullmatch sub stat get NameFilter
    """.split()
)
"""Calls whose text arguments say what to look for in a name, and which stat of an event
to read.
"""

OURS = {
    ".gz": "a file's suffix",
    "/": "what separates the parts of a path",
    "names": "a field of DeviceOps",
    "program_ids": "a field of DeviceOps",
    ":": "what separates file and line of --step",
    "tfadvisor.": "this package, whose records are packed",
    **dict.fromkeys(
        (
            "host to device",
            "device to host",
            "within the device",
            "between devices",
            "memset",
            "copy",
            "not recorded",
            "Python that the compiled step calls",
            "work was queued and did not run",
            "exchange",
            "kernels wait for their own copies (DMA)",
            "a program's run, between its ops",
            "does nothing in this step",
        ),
        "what a report calls an activity",
    ),
}
"""text -> what it is, of those that no runtime chose."""


def texts_looked_for(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, text) of what a module compares with, looks for in a text, or keeps in a
    constant for that.
    """
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        if isinstance(node, ast.Call):
            asked = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            found = node.args if asked in ASKS_A_TEXT else []
        elif isinstance(node, ast.Compare):
            found = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript):
            found = [node.slice]
        elif isinstance(node, ast.Module):
            found = [one.value for one in node.body if isinstance(one, ast.Assign)]
        for part in found:
            yield from _texts(part, inside_calls=isinstance(node, ast.Module))


def _texts(part: ast.AST, inside_calls: bool) -> Iterator[tuple[int, str]]:
    """The texts of an expression; those that a call is given are looked at when the
    walk comes to the call.
    """
    if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value:
        yield part.lineno, part.value
    if not isinstance(part, ast.Call) or inside_calls:
        for child in ast.iter_child_nodes(part):
            yield from _texts(child, inside_calls)


@pytest.mark.parametrize(
    "module",
    sorted(
        str(path.relative_to(TIMELINE))
        for path in TIMELINE.rglob("*.py")
        if path.parent.name != "names" and path.stem != "__init__"
    ),
)
def test_a_module_outside_names_looks_for_no_name(module: str) -> None:
    """A text that it does look for belongs in timeline/names, behind a function or a
    constant that says what it is.
    """
    tree = ast.parse((TIMELINE / module).read_text(encoding="utf-8"))

    strange = {
        (line, text) for line, text in texts_looked_for(tree) if text not in OURS
    }

    assert not strange


@pytest.mark.parametrize(
    "code",
    [
        'name.startswith("cuLaunch")',
        'name == "MemoryAllocation"',
        'name in ("Steps", "XLA Ops")',
        'trace.stat("hlo_op")',
        'plane.stats["jax_version"]',
        'PATTERN = re.compile(r"^PjitFunction")',
        'WORDS = {"all-reduce": 1}',
        'names = [one for one in names if "Async" in one]',
    ],
)
def test_the_search_sees(code: str) -> None:
    assert list(texts_looked_for(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        '"""What a module is."""',
        'np.argsort(times, kind="stable")',
        'raise ValueError("no steps")',
        "is_launch(name)",
    ],
)
def test_the_search_passes_over(code: str) -> None:
    assert not list(texts_looked_for(ast.parse(code)))
