"""The picture of the packages: read from the imports, one row above what is
imported.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest


def test_imports_are_read_at_the_head_and_inside_functions(
    packages: ModuleType, tmp_path: Path
) -> None:
    tree = tmp_path / "tfadvisor"
    for name in ("top", "middle", "ground"):
        (tree / name).mkdir(parents=True)
        (tree / name / "__init__.py").touch()
    (tree / "top" / "one.py").write_text(
        "import numpy\nfrom tfadvisor.middle import a\nfrom tfadvisor import errors\n"
    )
    (tree / "middle" / "two.py").write_text("def f():\n    import tfadvisor.ground.b\n")
    (tree / "analysis.py").write_text("from tfadvisor import top\n")

    found = packages.imports_of(tree)

    assert found == {
        "analysis": {"top"},
        "top": {"middle"},
        "middle": {"ground"},
        "ground": frozenset(),
    }


def test_a_package_stands_above_the_highest_that_it_imports(
    packages: ModuleType,
) -> None:
    imports = {"a": frozenset({"b", "c"}), "b": frozenset({"c"}), "c": frozenset()}

    assert packages.levels(imports) == {"a": 2, "b": 1, "c": 0}
    assert packages.reduced(imports) == {"a": ["b"], "b": ["c"], "c": []}


def test_a_circle_is_named(packages: ModuleType) -> None:
    with pytest.raises(ValueError, match="a -> b -> a"):
        packages.levels({"a": frozenset({"b"}), "b": frozenset({"a"})})


def test_an_arrow_passes_beside_the_boxes_between(packages: ModuleType) -> None:
    """Three in a column: the way from the first to the third leaves the middle of the
    column.
    """
    straight = ((440, 44), (440, 88), (440, 132), (440, 158))
    bent = ((440, 44), (700, 88), (700, 132), (440, 158))

    assert packages._touches(straight, (374, 84))
    assert not packages._touches(bent, (374, 84))


def test_the_picture_is_xml_that_names_every_package(packages: ModuleType) -> None:
    picture = ElementTree.fromstring(packages.picture())

    texts = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {
        "trace",
        "timeline",
        "metrics",
        "advice",
        "report",
        "cli",
        "analysis",
    } <= texts
