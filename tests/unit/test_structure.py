"""How the package is laid out: telling names, imports that run one way, public names
that are explained.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from support.places import ROOT, tree_of

import tfadvisor

PACKAGE = ROOT / "tfadvisor"
MODULES = sorted(PACKAGE.rglob("*.py"))
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}
PUBLIC = ("analysis", "comparing", "trace.trace", "report.model")
NAMED_UNITS = re.compile(r"_(ms|ns|ps|us|bytes|gb_s)$")


def name_of(path: Path) -> str:
    """The module's name as imports write it."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    )


NAMES = frozenset(map(name_of, [*MODULES, *PACKAGE.rglob("*.pyx")]))


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name for name in NAMES if SAYS_NOTHING & set(name.split("."))] == []


def run_when_imported(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that importing a module executes: neither bodies of functions nor what
    only type checkers read.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from run_when_imported(child)


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """The package's modules that these nodes import."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= whole & NAMES or {node.module}
    return found & NAMES


@cache
def import_graph(
    nodes_of: Callable[[ast.AST], Iterable[ast.AST]],
) -> dict[str, set[str]]:
    """Each module with those that it imports; nobody changes it. nodes_of: which nodes
    of a module's tree count.
    """
    trees = {name_of(path): tree_of(path) for path in MODULES}
    return {name: imported(nodes_of(tree)) - {name} for name, tree in trees.items()}


def circle_in(graph: Mapping[str, Set[str]]) -> str:
    """One circle in words, "" where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " imports ".join(reversed(error.args[1]))
    return ""


def test_no_modules_import_each_other() -> None:
    graph = import_graph(run_when_imported)

    assert sum(map(len, graph.values())) > len(graph)
    assert circle_in(graph) == ""


def test_no_modules_need_each_other_even_late_or_for_types() -> None:
    """Imports inside functions and under TYPE_CHECKING count as well."""
    assert circle_in(import_graph(ast.walk)) == ""


def test_no_folders_of_the_timeline_need_each_other() -> None:
    """A module that lies beside the folders counts as a folder of its own."""
    home, graph = "tfadvisor.timeline.", import_graph(ast.walk)
    part = {
        name: name.removeprefix(home).split(".")[0]
        for name in graph
        if name.startswith(home)
    }

    folders: dict[str, set[str]] = {one: set() for one in part.values()}
    for name, one in part.items():
        folders[one] |= {part[other] for other in graph[name] & part.keys()} - {one}

    assert circle_in(folders) == ""


LADDER = (
    "trace", "program", "timeline", "causes", "metrics", "advice", "report", "comparison", "analysis", "comparing", "act", "fleet", "serve",
    "cli",
)  # fmt: skip
"""What may be imported, lowest first: twelve packages, the chain and the comparison of
two.
"""

SHORT = {"tfadvisor.__main__", "tfadvisor.version"}
"""Modules that start the command or are one number."""


def rung(name: str) -> int:
    """How high a module of the package stands; -1 for those that lie beside the
    packages and serve them all.
    """
    part = name.split(".")[1]
    return LADDER.index(part) if part in LADDER else -1


def test_the_house_has_twelve_packages() -> None:
    packages = {name.split(".")[1] for name in NAMES if name.count(".") > 1}

    assert packages == set(LADDER) - {"analysis", "comparing"}
    assert len(packages) == 12


def test_imports_lead_down_the_ladder() -> None:
    """From a command to bytes; late imports and those for types count as well. Reading
    so never imports what acts.

    `files` opens what a remote path has copied here.
    """
    graph = import_graph(ast.walk)
    asked = {
        f"{name} imports {other}"
        for name, others in graph.items()
        if name not in ("tfadvisor", "tfadvisor.__main__")
        for other in others - {"tfadvisor"}
        if rung(other) > rung(name)
    }

    assert asked == {"tfadvisor.files imports tfadvisor.trace.remote_path"}


FACES = (
    "report",
    "report.forms",
    "comparison",
    "comparison.statistics",
    "fleet",
    "serve",
    "trace",
    "program",
    "timeline",
    "timeline.run",
    "timeline.devices",
    "timeline.host",
    "timeline.attribution",
    "timeline.summary",
    "timeline.picture",
    "metrics",
)
"""Packages that other packages import from by their `__init__` alone."""
DOORS = (
    "report.assembly",  # the chain of `analysis`
    "report.watched",  # what is said without a trace
    "comparison.baseline",
    "comparison.gate",
    "comparison.ledger",
    # files beside a trace, and what a trace is made of
    "trace._wire",
    "trace.bounds",
    "trace.columns",
    "trace.counters",
    "trace.local_copies",
    "trace.messages",
    "trace.noted_ops",
    "trace.noted_sources",
    "trace.remote_path",
    "trace.samples",
    "trace.stores",
    # one question about a compiled program each
    "program.arguments_differ",
    "program.attributes",
    "program.convolutions",
    "program.exchanges",
    "program.flow",
    "program.hlo_text",
    "program.in_words",
    "program.inverses",
    "program.looked_up",
    "program.loops_around",
    "program.differentiated",
    "program.mapped_loops",
    "program.matrix_products",
    "program.only_for_numbers",
    "program.parameters",
    "program.patterns",
    "program.products_of_run",
    "program.promoted",
    "program.recompiled",
    "program.rounds",
    "program.jacobians",
    "program.loops_in_call",
    "program.selected",
    # sets of instants, and what runtimes call things
    "timeline.intervals",
    "timeline.names",
    # metrics that share what they compute with the report
    "metrics.copies",
    "metrics.layers",
    "metrics.limits",
    "metrics.one_by_one",
    "metrics.precision",
)
"""Parts of them that are doors of their own."""
MOST_NAMES = 15


@pytest.mark.parametrize("package", FACES)
def test_a_face_has_few_names_and_each_from_where_it_is(package: str) -> None:
    name = f"tfadvisor.{package}"
    tree = tree_of(PACKAGE / package.replace(".", "/") / "__init__.py")
    imports = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.ImportFrom) and (one.module or "").startswith(f"{name}.")
    ]
    for_types = {alias.name: one.module for one in imports for alias in one.names}

    module = import_module(name)

    assert set(module.__all__) == set(for_types)
    assert len(for_types) <= MOST_NAMES
    for one, home in for_types.items():
        assert getattr(module, one) is getattr(import_module(home), one)


def test_other_packages_see_faces_alone() -> None:
    faces = {f"tfadvisor.{one}" for one in FACES}
    doors = tuple(f"tfadvisor.{one}" for one in DOORS)
    packages = {one.split(".")[0] for one in FACES}

    past = {
        f"{name} imports {other}"
        for name, others in import_graph(ast.walk).items()
        if name != "tfadvisor"
        for other in others - faces - {"tfadvisor"}
        if other.split(".")[1] in packages
        and other.split(".")[1] != name.split(".")[1]
        and not other.startswith(doors)
    }

    assert past == set()


ABOUT_NO_PACKAGE = {"docs", "differential", "robustness"}
"""Tests of the pages' tools, against other profilers, and of what may go wrong
anywhere.
"""


def test_tests_lie_where_what_they_test_lies() -> None:
    """A folder with tests has the name of a folder of the package, so whoever changes
    one finds the other.
    """
    folders = {
        file.parent.relative_to(ROOT / "tests" / kind)
        for kind in ("unit", "system")
        for file in (ROOT / "tests" / kind).rglob("test_*.py")
    }

    lost = {str(one) for one in folders if not (PACKAGE / one).is_dir()}
    assert lost == ABOUT_NO_PACKAGE


def test_a_module_is_worth_a_file() -> None:
    lines = {
        name_of(path): len(path.read_text("utf-8").splitlines())
        for path in MODULES
        if path.stem != "__init__"
    }

    assert {name for name, count in lines.items() if count < 20} == SHORT


def test_a_cycle_of_imports_is_seen() -> None:
    one = ast.parse(
        "from tfadvisor.report import model\nif TYPE_CHECKING:\n    import "
        "tfadvisor.analysis\n"
    )
    other = ast.parse("def late():\n    import tfadvisor.analysis\n")

    assert imported(run_when_imported(one)) == {"tfadvisor.report.model"}
    assert imported(run_when_imported(other)) == set()
    assert imported(ast.walk(one)) == {"tfadvisor.report.model", "tfadvisor.analysis"}
    assert imported(ast.walk(other)) == {"tfadvisor.analysis"}
    assert circle_in({"a": {"b"}, "b": {"a"}}) in (
        "a imports b imports a",
        "b imports a imports b",
    )


@pytest.mark.parametrize("name", tfadvisor.__all__)
def test_what_the_package_exports_is_explained(name: str) -> None:
    assert (getattr(tfadvisor, name).__doc__ or "").strip()


def public_definitions(
    module: str,
) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Public functions, classes and methods of a module, with their names."""
    for node in tree_of(PACKAGE / f"{module.replace('.', '/')}.py").body:
        if isinstance(
            node, ast.FunctionDef | ast.ClassDef
        ) and not node.name.startswith("_"):
            yield node.name, node
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith(
                    "_"
                ):
                    yield f"{node.name}.{inner.name}", inner


DEFINITIONS = {
    f"{module}.{name}": node
    for module in PUBLIC
    for name, node in public_definitions(module)
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_public_definition_is_explained(name: str) -> None:
    assert ast.get_docstring(DEFINITIONS[name])


def raises(
    node: ast.AST,
    functions: dict[str, ast.FunctionDef],
    seen: frozenset[str] = frozenset(),
) -> bool:
    """Whether a function raises, itself or in one of its module that it calls
    by name.
    """
    called = {
        one.func.id
        for one in ast.walk(node)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }
    return any(isinstance(one, ast.Raise) for one in ast.walk(node)) or any(
        raises(functions[name], functions, seen | {name})
        for name in called & functions.keys() - seen
    )


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_function_that_raises_says_what(module: str) -> None:
    tree = tree_of(PACKAGE / f"{module.replace('.', '/')}.py")
    functions = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)
    }

    silent = [
        name
        for name, node in public_definitions(module)
        if isinstance(node, ast.FunctionDef)
        and raises(node, functions)
        and not re.search(r"\b[Rr]aises\b", ast.get_docstring(node) or "")
    ]

    assert silent == []


def unexplained_numbers(record: ast.ClassDef) -> Iterator[str]:
    """Fields that hold a number whose unit neither their name, their docstring nor the
    record's tells.
    """
    about = ast.get_docstring(record) or ""
    for field, following in zip(record.body, [*record.body[1:], None], strict=True):
        if not isinstance(field, ast.AnnAssign) or not re.search(
            r"\b(int|float)\b", ast.unparse(field.annotation)
        ):
            continue
        name = ast.unparse(field.target)
        own = isinstance(following, ast.Expr) and isinstance(
            following.value, ast.Constant
        )
        if not (own or NAMED_UNITS.search(name) or re.search(rf"\b{name}\b", about)):
            yield f"{record.name}.{name}"


@pytest.mark.parametrize("module", PUBLIC)
def test_every_number_of_a_public_record_has_a_unit(module: str) -> None:
    records = [
        node for _, node in public_definitions(module) if isinstance(node, ast.ClassDef)
    ]

    assert [name for record in records for name in unexplained_numbers(record)] == []


def test_public_records_are_documented_where_they_live() -> None:
    assert import_module("tfadvisor.report.model").Report is tfadvisor.Report
