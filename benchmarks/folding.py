"""A program of the diagnosis benchmark as its user would have it: in one of its two
forms, without the switch between them.

The switch is an argument or option `faulty` or `fault`. It becomes a constant, and so
do parameters and attributes that get nothing else; branches that then never run are
taken away.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import libcst as cst

SWITCHES = ("faulty", "fault")
_ROUNDS = 3
"""How far a constant is followed: through so many calls."""
_PARTIAL = ("partial", "functools.partial")


def folded(source: str, faulty: bool) -> str:
    """The form with the fault or without it."""
    module = cst.parse_module(source).visit(
        Fold(dict.fromkeys(SWITCHES, faulty), faulty)
    )
    for _ in range(_ROUNDS):
        module = module.visit(_Parameters(module))
        module = module.visit(Fold({}, faulty))
    return _without_unread(source, module).code


def _without_unread(source: str, module: cst.Module) -> cst.Module:
    """Functions of the other form go: those that the program read before it was folded,
    and no longer reads.
    """
    whole = _read(cst.parse_module(source))
    while True:
        now = _read(module)
        body = [
            one
            for one in module.body
            if not isinstance(one, cst.FunctionDef)
            or now[one.name.value] > 1
            or whole[one.name.value] <= 1
        ]
        if len(body) == len(module.body):
            return module
        module = module.with_changes(body=body)


def _read(node: cst.CSTNode) -> Counter[str]:
    return Counter(one.value for one in _walk(node) if isinstance(one, cst.Name))


class Fold(cst.CSTTransformer):
    """Puts constants in place of names, and takes away what then never runs."""

    def __init__(self, names: dict[str, bool], faulty: bool) -> None:
        super().__init__()
        self.names = names
        self.faulty = faulty

    def leave_Name(  # noqa: N802
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.BaseExpression:
        known = self.names.get(original_node.value)
        return updated_node if known is None else cst.Name(str(known))

    def leave_Param(  # noqa: N802
        self, original_node: cst.Param, updated_node: cst.Param
    ) -> cst.Param:
        return updated_node.with_changes(name=original_node.name)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:  # noqa: N802
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Attribute(  # noqa: N802
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        named = (
            isinstance(original_node.value, cst.Name)
            and original_node.attr.value in SWITCHES
        )
        return (
            cst.Name(str(self.faulty))
            if named
            else updated_node.with_changes(attr=original_node.attr)
        )

    def leave_UnaryOperation(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        known = (
            truth(updated_node.expression)
            if isinstance(updated_node.operator, cst.Not)
            else None
        )
        return updated_node if known is None else cst.Name(str(not known))

    def leave_BooleanOperation(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        left = truth(updated_node.left)
        if left is None:
            return updated_node
        decided = left != isinstance(updated_node.operator, cst.And)
        return cst.Name(str(left)) if decided else updated_node.right

    def leave_IfExp(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        known = truth(updated_node.test)
        return (
            updated_node
            if known is None
            else updated_node.body
            if known
            else updated_node.orelse
        )

    def leave_If(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        known = truth(updated_node.test)
        if known is None:
            return updated_node
        if known:
            return cst.FlattenSentinel(updated_node.body.body)
        if isinstance(updated_node.orelse, cst.Else):
            return cst.FlattenSentinel(updated_node.orelse.body.body)
        return (
            updated_node.orelse
            if updated_node.orelse is not None
            else cst.RemoveFromParent()
        )

    def leave_IndentedBlock(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        """What stands behind a return never runs."""
        for number, line in enumerate(updated_node.body):
            if isinstance(line, cst.SimpleStatementLine) and isinstance(
                line.body[-1], cst.Return
            ):
                return updated_node.with_changes(body=updated_node.body[: number + 1])
        return updated_node

    def leave_Assign(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        return (
            cst.RemoveFromParent()
            if truth(updated_node.targets[0].target) is not None
            else updated_node
        )


class _Parameters(cst.CSTTransformer):
    """Puts constants in place of parameters that every call gives the same one, and of
    attributes that are set to one.
    """

    def __init__(self, module: cst.Module) -> None:
        super().__init__()
        nodes = list(_walk(module))
        self.calls = [one for one in nodes if isinstance(one, cst.Call)]
        self.read = [one.value for one in nodes if isinstance(one, cst.Name)]
        self.classes: list[str] = []
        self.constant: dict[str, dict[str, bool]] = {}

    def visit_ClassDef(self, node: cst.ClassDef) -> None:  # noqa: N802
        self.classes.append(node.name.value)

    def leave_ClassDef(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        self.classes.pop()
        given: dict[str, list[bool | None]] = {}
        for one in (
            node for node in _walk(updated_node) if isinstance(node, cst.Assign)
        ):
            target = one.targets[0].target
            if (
                isinstance(target, cst.Attribute)
                and isinstance(target.value, cst.Name)
                and target.value.value == "self"
            ):
                given.setdefault(target.attr.value, []).append(truth(one.value))
        known = {
            name: values[0]
            for name, values in given.items()
            if len(values) == 1 and values[0] is not None
        }
        return updated_node.visit(_Attributes(known)) if known else updated_node

    def leave_FunctionDef(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        name = original_node.name.value
        method = bool(self.classes) and name == "__init__"
        called = self.classes[-1] if method else name
        params = [
            one
            for one in original_node.params.params
            if not (method and one.name.value == "self")
        ]
        known = {
            one.name.value: value
            for number, one in enumerate(params)
            if (value := self._always(called, number, one)) is not None
        }
        return (
            updated_node.with_changes(body=updated_node.body.visit(Fold(known, False)))
            if known
            else updated_node
        )

    def _always(self, function: str, number: int, param: cst.Param) -> bool | None:
        calls = [one for one in self.calls if _function_of(one) == function]
        if not calls or len(calls) + 1 != self.read.count(function):
            return None
        values = {_given(one, number, param) for one in calls}
        return values.pop() if len(values) == 1 else None


class _Attributes(cst.CSTTransformer):
    """Puts constants in place of `self.name`, except where it is set."""

    def __init__(self, names: dict[str, bool]) -> None:
        super().__init__()
        self.names = names

    def leave_AssignTarget(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        return original_node

    def leave_Attribute(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
        own = (
            isinstance(original_node.value, cst.Name)
            and original_node.value.value == "self"
        )
        known = self.names.get(original_node.attr.value) if own else None
        return updated_node if known is None else cst.Name(str(known))


def _function_of(call: cst.Call) -> str:
    inner = call.args[0].value if _is_partial(call) and call.args else call.func
    return inner.value if isinstance(inner, cst.Name) else ""


def _is_partial(call: cst.Call) -> bool:
    return cst.Module([]).code_for_node(call.func) in _PARTIAL


def _given(call: cst.Call, number: int, param: cst.Param) -> bool | None:
    for one in call.args:
        if one.star:
            return None
        if one.keyword is not None and one.keyword.value == param.name.value:
            return truth(one.value)
    placed = [one for one in call.args if one.keyword is None][
        1 if _is_partial(call) else 0 :
    ]
    if number < len(placed):
        return truth(placed[number].value)
    return None if param.default is None else truth(param.default)


def _walk(node: cst.CSTNode) -> Any:
    yield node
    for child in node.children:
        yield from _walk(child)


def truth(node: cst.CSTNode) -> bool | None:
    """Of a constant; None of anything else."""
    return (
        {"True": True, "False": False}.get(node.value)
        if isinstance(node, cst.Name)
        else None
    )
