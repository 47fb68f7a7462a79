"""Modules of the program, and its script, compiled with ticks and from patched text;
and what is done after certain imports.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from typing import Any

from .own_calls import with_parts
from .ticks import as_script, with_ticks

_FOREIGN = ("site-packages", "dist-packages")


class Importing:
    """Asks the finders that were there before, and looks at what they find."""

    def __init__(
        self,
        order: dict[str, Any],
        clock: Any,
    ) -> None:
        """Of an order."""
        self.roots = tuple(os.path.join(root, "") for root in order["roots"])
        self.patched: dict[str, str] = order["patched"]
        self.only: list[list[Any]] | None = order["loops"]
        self.counting = bool(order.get("counting"))
        self.clock = clock
        self.after: dict[str, list[Callable[[Any], None]]] = {}

    def start(self, after: Iterable[tuple[str, Callable[[Any], None]]]) -> None:
        """From now on. after: by module, what is done once it is imported; several
        things of one module in turn.
        """
        for name, do in after:
            self.after.setdefault(name, []).append(do)
        finders: list[Any] = sys.meta_path
        finders.insert(0, self)
        sys.path_hooks.insert(0, self.script)

    def find_spec(
        self,
        name: str,
        path: Any = None,
        target: Any = None,
    ) -> ModuleSpec | None:
        """As the next finder, with our loader for the program's own files."""
        if name == "__main__":
            return None
        for finder in [other for other in sys.meta_path if other is not self]:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find else None
            if spec is not None:
                return self.looked_at(name, spec)
        return None

    def looked_at(
        self,
        name: str,
        spec: ModuleSpec,
    ) -> ModuleSpec:
        """The same spec."""
        is_source = type(spec.loader) is SourceFileLoader
        if is_source and spec.origin and self.is_own(spec.origin):
            spec.loader = Loader(name, spec.origin, self)
            spec.cached = None
        if name in self.after and spec.loader is not None:
            for do in self.after.pop(name):
                _do_after(spec.loader, do)
        return spec

    def is_own(self, file: str) -> bool:
        """Whether a file is the program's."""
        real = os.path.realpath(file)
        if real in self.patched:
            return True
        if not real.startswith(self.roots):
            return False
        return not any(os.sep + folder + os.sep in real for folder in _FOREIGN)

    def script(self, path: str) -> Script:
        """A path hook: `python train.py` asks whether its file can be imported from.
        Raises ImportError for all else.
        """
        is_file = path.endswith(".py") and os.path.isfile(path)
        if not is_file or not self.is_own(path):
            raise ImportError(path)
        return Script(path, self)

    def lines(self, real: str) -> set[int] | None:
        """Of a file's loops that are timed, None where all are watched."""
        if self.only is None:
            return None
        return {line for file, line in self.only if file == real}

    def code(
        self,
        file: str,
        *,
        script: bool,
    ) -> Any:
        """Compiled for the file's own name. Raises SyntaxError as the program would."""
        real = os.path.realpath(file)
        raw = _bytes(self.patched.get(real, real))
        if real in self.patched:
            # What reads functions' source, as AutoGraph does, sees it too.
            lines = raw.decode("utf-8", "replace").splitlines(keepends=True)
            linecache.cache[file] = (len(raw), None, lines, file)
        tree = ast.parse(raw, file)
        try:
            tree = self.ticking(tree, real)
            if script:
                tree = as_script(tree)
            return compile(
                tree,
                file,
                "exec",
                dont_inherit=True,
            )
        except RecursionError:
            # Nested too deeply for what walks through trees, not for Python itself.
            return compile(
                raw,
                file,
                "exec",
                dont_inherit=True,
            )

    def ticking(
        self,
        tree: ast.Module,
        real: str,
    ) -> ast.Module:
        """A file's tree with calls of the clock and of parts."""

        def number(loop: Any, *about: Any) -> Any:
            if not self.clock.wants(real, loop.lineno):
                return None
            return self.clock.loop(
                real,
                loop.lineno,
                *about,
            )

        if self.clock.parts.hooked:
            tree = with_parts(
                tree,
                self.clock.parts,
                self.lines(real),
            )
        return with_ticks(tree, number, self.counter_in(os.path.basename(real)))

    def counter_in(self, name: str) -> Callable[[str], int] | None:
        """Of what a file does, where that is counted. name: of the file."""
        if not self.counting:
            return None
        return lambda what: int(self.clock.counter(f"{what} ({name})"))


class Loader(SourceFileLoader):
    """Of one module."""

    def __init__(
        self,
        name: str,
        file: str,
        importing: Importing,
    ) -> None:
        """file: as the program knows it."""
        super().__init__(name, file)
        self.importing = importing

    def get_code(self, fullname: str) -> Any:
        """Never from a cache, and never into one."""
        return self.importing.code(self.path, script=False)

    def get_source(self, fullname: str) -> str:
        """With the patch."""
        real = os.path.realpath(self.path)
        raw = _bytes(self.importing.patched.get(real, real))
        return raw.decode("utf-8", "replace")


class Script(Loader):
    """Of the file that `python train.py` names, which Python takes for a place to
    import `__main__` from.
    """

    def __init__(
        self,
        path: str,
        importing: Importing,
    ) -> None:
        """path: as it was given."""
        super().__init__(
            "__main__",
            os.path.abspath(path),
            importing,
        )
        self.given = path

    def find_spec(
        self,
        name: str,
        target: Any = None,
    ) -> ModuleSpec | None:
        """Of `__main__` alone."""
        return (
            spec_from_file_location(name, self.path, loader=self)
            if name == "__main__"
            else None
        )

    def get_code(self, fullname: str) -> Any:
        """And its folder is where it imports from, as always."""
        if sys.path and sys.path[0] == self.given:
            sys.path[0] = os.path.dirname(os.path.realpath(self.path))
        return self.importing.code(self.path, script=True)


def _do_after(
    loader: Any,
    what: Callable[[Any], None],
) -> None:
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        try:
            what(module)
        except Exception as error:
            sys.stderr.write(
                f"tfadvisor: {module.__name__} is left as it is: "
                f"{type(error).__name__}: {error}\n"
            )

    loader.exec_module = exec_module


def _bytes(file: str) -> bytes:
    with open(file, "rb") as raw:
        return raw.read()
