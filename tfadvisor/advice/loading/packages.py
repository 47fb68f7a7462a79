"""Rules in other people's packages: which are installed, and where their rule files and metrics are.

A distribution names a package whose folder holds rules by an entry point of the group `tfadvisor.rules`, and modules that
register metrics by the group `tfadvisor.metrics`. Reading these through importlib.metadata would take longer than a small
trace, so the few files are read here (docs/decisions/0007-rule-packages.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tfadvisor.errors import RuleError

RULES, METRICS = "tfadvisor.rules", "tfadvisor.metrics"
_OURS = "tfadvisor_"
"""Distributions called `tfadvisor-something` are found by themselves, by their names in a folder's listing."""


class RulePackage(msgspec.Struct, frozen=True):
    """name: of the entry point. module: the package whose folder holds rules, "" for none. metrics: modules to import."""

    name: str
    module: str
    metrics: tuple[str, ...]


def installed_packages(places: Sequence[str] | None = None) -> list[RulePackage]:
    """Those of the distributions whose name begins with tfadvisor, by name. places: folders to look in, for tests."""
    found = (one for path in _distributions(places, _OURS) for one in _packages_of(path))
    return sorted(found, key=lambda one: one.name)


def package_named(name: str, places: Sequence[str] | None = None) -> RulePackage | None:
    """The package of an entry point's name, whatever its distribution is called."""
    found = (one for path in _distributions(places, "") for one in _packages_of(path) if one.name == name)
    return next(found, None)


def folder_of(package: RulePackage) -> Path:
    """Where its rules are. Raises RuleError when the package is not there or is a single file."""
    from importlib.util import find_spec  # only where there is a package

    try:
        spec = find_spec(package.module)
    except (ImportError, ValueError) as error:
        raise _broken(package, f"cannot be found: {error}") from error
    if spec is None or not spec.submodule_search_locations:
        raise _broken(package, f"is not a folder: {package.module} must be a package that holds rule files")
    return Path(next(iter(spec.submodule_search_locations)))


def import_metrics(package: RulePackage) -> None:
    """Imports the modules that register its metrics. Raises RuleError when one fails, whatever it raises."""
    from importlib import import_module

    for module in package.metrics:
        try:
            import_module(module)
        except Exception as error:
            raise _broken(package, f"cannot register its metrics: {type(error).__name__}: {error}") from error


def _broken(package: RulePackage, cause: str) -> RuleError:
    return RuleError(f"rule package {package.name}", 1, "", cause)


def _distributions(places: Sequence[str] | None, start: str) -> Iterator[Path]:
    """The `*.dist-info` folders whose name begins so."""
    for place in _site_folders() if places is None else places:
        try:
            with os.scandir(place) as entries:
                names = [one.name for one in entries if one.name.endswith(".dist-info")]
        except OSError:
            continue
        for name in sorted(names):
            if name.lower().replace("-", "_").startswith(start):
                yield Path(place, name)


def _site_folders() -> list[str]:
    """Where distributions are installed: site-packages, and what PYTHONPATH names."""
    named = set(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    return [one for one in dict.fromkeys(sys.path) if one.endswith(("site-packages", "dist-packages")) or one in named]


def _packages_of(distribution: Path) -> Iterator[RulePackage]:
    try:
        text = (distribution / "entry_points.txt").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if RULES not in text and METRICS not in text:
        return
    groups = _groups(text)
    metrics = tuple(module for _, module in groups.get(METRICS, ()))
    rules = groups.get(RULES) or [(name, "") for name, _ in groups.get(METRICS, ())[:1]]
    yield from (RulePackage(name, module, metrics) for name, module in rules)


def _groups(text: str) -> dict[str, list[tuple[str, str]]]:
    """[group] then `name = module` lines, as in https://packaging.python.org/specifications/entry-points."""
    found: dict[str, list[tuple[str, str]]] = {}
    group: list[tuple[str, str]] = []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = found.setdefault(line[1:-1].strip(), [])
        elif "=" in line and not line.startswith(("#", ";")):
            name, _, module = line.partition("=")
            group.append((name.strip(), module.partition(":")[0].strip()))
    return found
