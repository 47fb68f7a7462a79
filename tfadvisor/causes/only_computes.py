"""Whether a function of the program computes its result alone, of what stays as it is:
by its source, with the program's functions that it calls. Unknown is no.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tfadvisor.causes.called import (
    CHANGING,
    COMPUTING,
    TRACED_METHODS,
    Called,
    FileNames,
    Function,
    arguments_in,
    dotted,
    functions_in,
    stored_in,
)
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.whole_program import WholeProgram
from tfadvisor.causes.witness import COMPREHENSIONS

_DEEPEST = 4
"""Calls of the program's functions, one inside of another."""
_PACKAGES = (
    "numpy.",
    "math.",
    "operator.",
    "itertools.",
    "functools.reduce",
    "collections.Counter",
    "collections.OrderedDict",
    "collections.defaultdict",
    "jax.numpy.",
    "jax.nn.",
    "scipy.fft.",
    "scipy.linalg.",
    "scipy.signal.",
    "scipy.sparse.",
    "scipy.spatial.",
    "scipy.special.",
    *(
        f"tensorflow.{name}"
        for name in "math. linalg. signal. cast concat constant convert_to_tensor cos "
        "exp eye gather linspace meshgrid ones one_hot pow range reduce_ reshape shape "
        "sin sqrt stack tile transpose where zeros".split()
    ),
)
"""What computes of what it is given, and nothing else."""
_MORE_THAN_COMPUTES = (
    "numpy.random",
    "numpy.load",
    "numpy.save",
    "numpy.fromfile",
    "numpy.fromregex",
    "numpy.genfromtxt",
    "numpy.memmap",
    "numpy.lib",
    "numpy.ctypeslib",
    "numpy.set_",
    "numpy.setbufsize",
    "numpy.seterr",
    "numpy.nditer",
    "numpy.vectorize",
    "numpy.frompyfunc",
    "numpy.testing",
    "numpy.ndarray",
    "itertools.cycle",
    "itertools.count",
    "itertools.tee",
    "scipy.sparse.save",
    "scipy.sparse.load",
    "scipy.sparse.random",
    "tensorflow.math.accumulate",
)
"""Of these, what reads, writes, draws, or keeps a state."""
_IN_PLACE = frozenset(
    "at copyto fill_diagonal place put put_along_axis putmask shuffle".split()
)
"""Of NumPy, what changes its first argument."""
_VIEWS = frozenset(
    "asanyarray asarray atleast_1d atleast_2d atleast_3d ascontiguousarray "
    "broadcast_to diagonal expand_dims moveaxis ravel real imag reshape rollaxis split "
    "squeeze swapaxes transpose nan_to_num hsplit vsplit array_split".split()
)
"""Of NumPy, what may give a part of what it is given."""
_BUILTINS = (COMPUTING - {"callable", "getattr", "hasattr", "super", "type"}) | {
    *"bool bytes chr complex float format frozenset int isinstance ord str".split(),
    *"ValueError TypeError KeyError IndexError RuntimeError AssertionError".split(),
    *"Exception NotImplementedError True False None object".split(),
}
_READING_METHODS = (
    TRACED_METHODS
    - CHANGING
    - {"apply", "apply_gradients", "batch_jacobian"}
    - {"gradient", "jacobian", "watch"}
) | frozenset(
    "copy count decode difference encode endswith find format index intersection "
    "isdigit item join lower nonzero repeat rsplit rstrip split startswith strip "
    "lstrip title tolist trace union upper conj argsort cumprod".split()
)
"""Methods that leave what they belong to as it is."""
_NUMBERS = frozenset("bool float int len round str".split())
_OF_ARRAYS = frozenset("T dtype imag ndim real shape size".split())
_WRITING_METHODS = frozenset("dump dumps save savetxt send tofile write".split())
_ITEMS = frozenset(
    "__getitem__ __iter__ __next__ __call__ __getattr__ __getattribute__ __array__ "
    "__len__".split()
)
"""By which an object of the program gives what nobody sees."""
_STATEFUL = frozenset(
    "DataLoader Dataset Embedding Param RandomState Variable add_weight default_rng "
    "from_generator from_tensor_slices from_tensors iter load_dataset memmap open "
    "range_dataset".split()
)
"""What makes objects that one name stands for while what they hold, or give next,
changes.
"""
_TRAINED = frozenset("keras nnx sonnet tf_keras torch".split())
"""Libraries whose models change while they are trained."""
_REFUSED = (
    ast.AsyncFor,
    ast.AsyncWith,
    ast.Await,
    ast.ClassDef,
    ast.Delete,
    ast.Global,
    ast.Match,
    ast.Nonlocal,
    ast.With,
    ast.Yield,
    ast.YieldFrom,
)


def is_plain(value: ast.expr, names: FileNames) -> bool:
    """Whether an expression makes a value that holds what it holds: a number, an
    array, a list, no variable of a framework, nothing that gives its elements once.
    """
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return all(is_plain(part, names) for part in value.elts)
    if isinstance(value, ast.Dict):
        return all(is_plain(part, names) for part in value.values)
    if isinstance(value, ast.Call):
        return _is_plain_call(value, names)
    makes = ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.JoinedStr
    return isinstance(value, makes | ast.ListComp | ast.SetComp | ast.DictComp)


def _is_plain_call(call: ast.Call, names: FileNames) -> bool:
    called = names.called(call)
    if called.path:
        name = called.names[-1]
        is_object = name in _STATEFUL or name in ("Generator", "nditer")
        return not is_object and called.package in ("numpy", "math", "scipy")
    if isinstance(call.func, ast.Attribute):
        is_reading = call.func.attr in _READING_METHODS
        return is_reading and is_plain(call.func.value, names)
    made = _BUILTINS - {"enumerate", "filter", "map", "reversed", "zip", "object"}
    return called.names[0] in made


class OnlyComputes:
    """Asks it of functions; each is read once."""

    def __init__(self, program: WholeProgram) -> None:
        """program: in which their names are looked up."""
        self._program = program
        self._known: dict[int, bool] = {}
        self._beside: list[ast.AST] = []

    def asked(self, parsed: ParsedFile, function: Function) -> bool:
        """As does, of a function of which it is asked first: an object of its class
        holds none of its own class.
        """
        self._beside = self._program.class_of(function)
        return self.does(parsed, function)

    def does(self, parsed: ParsedFile, function: Function, depth: int = 0) -> bool:
        """Whether a function of a file gives a result, and does nothing else, of its
        arguments and what stays as it is.
        """
        key = id(function)
        if key not in self._known:
            self._known[key] = True  # where it calls itself
            reader = _Reader(self, self._program, parsed, function, depth)
            self._known[key] = depth < _DEEPEST and reader.only_computes()
        return self._known[key]

    def is_kept(self, attribute: str) -> bool:
        """Whether an attribute is set only where its object is made, and what it stands
        for stays as it is.
        """
        if self._is_set(attribute):
            return False
        bound = self._bound_to(attribute)
        if bound and all(is_plain(value, names) for value, names in bound):
            return True
        return not self.has_state

    def _is_set(self, attribute: str) -> bool:
        """Of an object, or of a module by another one."""
        return bool({attribute, ""} & self._program.written)

    def _bound_to(self, attribute: str) -> list[tuple[ast.expr, FileNames]]:
        return [
            (node.value, parsed.names)
            for parsed in self._program.files
            for node in ast.walk(parsed.tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Attribute) and target.attr == attribute
        ]

    @property
    def has_state(self) -> bool:
        """Whether the program makes objects whose values or elements change behind
        their names.
        """
        makes = bool(_STATEFUL & self._program.called | _TRAINED & self._program.words)
        return makes or any(
            function.name in _ITEMS and function not in self._beside
            for parsed in self._program.files
            for function in functions_in(parsed.tree)
        )

    def is_constant(self, name: str, parsed: ParsedFile, depth: int = 0) -> bool:
        """Whether a name of a file's module stands for the same for good, as it was."""
        if self._is_set(name):
            return False
        path = parsed.names.stands_for(ast.Name(name, ast.Load())).path
        if path:
            module, _, own = path.rpartition(".")
            other = self._program.file(f"{module.rpartition('.')[2]}.py")
            is_known = other is not None and depth < _DEEPEST
            return is_known and self.is_constant(own, other, depth + 1)  # type: ignore[arg-type]
        values = list(_values_of(name, parsed.tree))
        if len(values) == 1 and _is_immutable(values[0]):
            return self._program.is_bound_once(name, parsed)
        if self._program.is_set_by_functions(name):
            return False
        if not values or not self._program.is_global(name, parsed):
            return False
        return all(is_plain(each, parsed.names) for each in values) or not (
            self.has_state
        )

    def of_call(self, parsed: ParsedFile, called: Called, depth: int) -> bool:
        """Whether the program's function that a call names only computes."""
        defined = self._program.definition(called.names[-1])
        home = self._program.home(defined) if defined is not None else None
        if defined is None or home is None:
            return False
        is_own = called.names[0] == "self" and len(called.names) == 2
        if not is_own and not _is_named_by(called, parsed, home):
            return False
        decorators = {*map(ast.unparse, defined.decorator_list)}
        if decorators - (_OF_METHODS if is_own else frozenset()):
            return False
        return self.does(home, defined, depth + 1)


_OF_METHODS = frozenset({"property", "staticmethod"})
"""Decorators that change nothing of what a method computes."""


def _is_named_by(called: Called, parsed: ParsedFile, home: ParsedFile) -> bool:
    """Whether a name in a file stands for what another file, or itself, defines."""
    if not called.path:
        return home is parsed and len(called.names) == 1
    module = called.path.rpartition(".")[0].rpartition(".")[2]
    return f"{module}.py" == home.file


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _values_of(name: str, tree: ast.Module) -> Iterator[ast.expr]:
    """What assignments give a name, of several names at once its own part."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _value_in(name, target, node.value)


def _value_in(name: str, target: ast.expr, value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    if not isinstance(target, ast.Tuple | ast.List):
        return
    parts = [value] * len(target.elts)
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts):
        parts = value.elts
    for own, part in zip(target.elts, parts, strict=True):
        yield from _value_in(name, own, part)


def _is_immutable(value: ast.expr) -> bool:
    """Whether it is a number, a text, or a tuple of these."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_immutable, value.elts))
    if isinstance(value, ast.BinOp):
        return _is_immutable(value.left) and _is_immutable(value.right)
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in _NUMBERS
    return isinstance(value, ast.Constant)


def _stored(nodes: list[ast.AST]) -> list[ast.Name]:
    return [
        node
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


class _Reader:
    """One function."""

    def __init__(
        self,
        whole: OnlyComputes,
        program: WholeProgram,
        parsed: ParsedFile,
        function: Function,
        depth: int,
    ) -> None:
        self._whole = whole
        self._program = program
        self._parsed = parsed
        self._depth = depth
        self._body = function.body
        self._nodes = [node for part in function.body for node in ast.walk(part)]
        self._given = arguments_in(function.args)
        inner = [node for node in self._nodes if isinstance(node, Function)]
        self._functions = {node.name for node in inner}
        bound = {arg for node in self._nodes for arg in arguments_in(node)}
        stored = set[str]().union(*map(stored_in, function.body))
        self._local = self._given | stored | self._functions | bound
        self._fresh = self._made_here(stored - self._given - bound)

    def _made_here(self, names: set[str]) -> set[str]:
        """Names among these that stand for nothing but what the function makes."""
        bound = self._bindings(names)
        fresh = set(names)
        for _ in range(len(names) + 1):
            fresh = {
                name
                for name in fresh
                if all(value and self._is_fresh(value, fresh) for value in bound[name])
            }
        return fresh

    def _bindings(self, names: set[str]) -> dict[str, list[ast.expr | None]]:
        """What gives each name its value; None for what is no plain assignment."""
        bound: dict[str, list[ast.expr | None]] = {name: [] for name in names}
        plain = set[int]()
        for node in self._nodes:
            if isinstance(node, ast.AugAssign):
                plain.add(id(node.target))
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id in names:
                        bound[target.id].append(node.value)
                        plain.add(id(target))
        for node in _stored(self._nodes):
            if id(node) not in plain and node.id in names:
                bound[node.id].append(None)
        return bound

    def _is_fresh(self, value: ast.expr, fresh: set[str]) -> bool:
        if isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Starred):
            return dotted(value)[0] in fresh
        if isinstance(value, ast.Tuple | ast.List):
            return all(self._is_fresh(part, fresh) for part in value.elts)
        if isinstance(value, ast.Dict):
            return all(self._is_fresh(part, fresh) for part in value.values)
        if isinstance(value, ast.Call):
            return self._is_call_fresh(value, fresh)
        makes = ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.JoinedStr
        return isinstance(value, makes | COMPREHENSIONS)

    def _is_call_fresh(self, call: ast.Call, fresh: set[str]) -> bool:
        called = self._parsed.names.called(call)
        if called.path:
            given = (self._is_fresh(value, fresh) for value in call.args)
            return called.names[-1] not in _VIEWS or all(given)
        is_copy = called.names[-1] in ("copy", "astype", "tolist")
        is_builtin = called.words in _BUILTINS - {"max", "min"}
        return is_copy or is_builtin or (called.is_method and called.names[0] in fresh)

    def only_computes(self) -> bool:
        """As of OnlyComputes."""
        gives = any(
            isinstance(node, ast.Return) and node.value is not None
            for node in self._nodes
        )
        whole = [node for node in self._nodes if _is_self(node)]
        parts = [node for node in self._nodes if isinstance(node, ast.Attribute)]
        is_in_parts = len(whole) == sum(_is_self(part.value) for part in parts)
        return gives and is_in_parts and all(map(self._is_allowed, self._nodes))

    def _is_allowed(self, node: ast.AST) -> bool:
        if isinstance(node, _REFUSED):
            return False
        if isinstance(node, ast.Name):
            return self._is_name_allowed(node)
        if isinstance(node, ast.Attribute):
            is_read = isinstance(node.ctx, ast.Load)
            return is_read and self._is_attribute_allowed(node)
        if isinstance(node, ast.Subscript):
            is_read = isinstance(node.ctx, ast.Load)
            return is_read or self._is_made(node.value)
        if isinstance(node, ast.AugAssign):
            return self._is_made(node.target)
        return not isinstance(node, ast.Call) or self._is_call_allowed(node)

    def _is_made(self, node: ast.expr) -> bool:
        return dotted(node)[0] in self._fresh

    def _is_name_allowed(self, node: ast.Name) -> bool:
        name = node.id
        if name in self._local or name in _BUILTINS:
            return True
        names = self._parsed.names
        called = names.stands_for(node)
        is_known = called.package in ("jax", "math", "numpy", "scipy", "tensorflow")
        if is_known or called.package in ("collections", "functools", "itertools"):
            return True  # by what is called of it
        if name in names.defined or self._is_module(called):
            return True  # by what is called of it
        return self._whole.is_constant(name, self._parsed)

    def _is_module(self, called: Called) -> bool:
        if called.package == "operator":
            return True
        if not called.path:
            return False
        last = called.path.rpartition(".")[2]
        is_file = self._program.file(f"{last}.py") is not None
        return is_file or self._program.definition(last) is not None

    def _is_attribute_allowed(self, node: ast.Attribute) -> bool:
        root = dotted(node)[0]
        called = self._parsed.names.stands_for(node)
        if not root or root in self._fresh:
            return self._program.definition(node.attr) is None
        if called.path and not self._is_module_of_program(called):
            return not called.path.startswith("numpy.random")
        if root not in self._local and self._is_module_of_program(called):
            return self._is_of_module_allowed(node.attr, called)
        return self._is_of_value_allowed(node, called)

    def _is_of_module_allowed(self, name: str, called: Called) -> bool:
        """Of a module of the program: a function, by what is called, or a constant."""
        home = self._program.file(f"{called.path.split('.')[-2]}.py")
        is_function = self._program.definition(name) is not None
        is_constant = home is not None and self._whole.is_constant(name, home)
        return is_function or is_constant

    def _is_of_value_allowed(self, node: ast.Attribute, called: Called) -> bool:
        """Of what the function is given, or of its module."""
        defined = self._program.definition(node.attr)
        if node.attr in _READING_METHODS | _OF_ARRAYS:
            return defined is None and node.attr not in self._program.written
        if called.names == ["self", node.attr] and defined is not None:
            return self._whole.of_call(self._parsed, called, self._depth)
        return self._whole.is_kept(node.attr)

    def _is_module_of_program(self, called: Called) -> bool:
        parts = called.path.split(".")
        return len(parts) > 1 and self._program.file(f"{parts[-2]}.py") is not None

    def _is_call_allowed(self, call: ast.Call) -> bool:
        called = self._parsed.names.called(call)
        out = [each.value for each in call.keywords if each.arg == "out"]
        if not all(map(self._is_made, out)):
            return False
        if called.path.startswith(_PACKAGES):
            return self._is_library_allowed(call, called)
        root = called.names[0]
        if called.is_method and root != "self":
            return self._is_method_allowed(called, root)
        if root in self._functions or (root in _BUILTINS and not called.path):
            return len(called.names) == 1
        is_given = root in self._local and root != "self"
        return not is_given and self._whole.of_call(self._parsed, called, self._depth)

    def _is_library_allowed(self, call: ast.Call, called: Called) -> bool:
        if called.names[-1] in _IN_PLACE:
            return bool(call.args) and self._is_made(call.args[0])
        return not called.path.startswith(_MORE_THAN_COMPUTES)

    def _is_method_allowed(self, called: Called, root: str) -> bool:
        method = called.names[-1]
        if self._program.definition(method) is not None:
            return False
        if root in self._fresh:
            return method not in _WRITING_METHODS
        return method in _READING_METHODS
