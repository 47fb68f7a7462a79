"""A mean over devices of the updated state goes: gradients that were averaged have left equal states equal.

Only of parameters and the optimizer's state; running statistics of batches differ from device to device.
https://docs.jax.dev/en/latest/_autosummary/jax.lax.pmean.html
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.repair.codemods.loop.drop_wait import removed
from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.loops import directly_in
from tfadvisor.repair.reading.program import Change, Program, called, names_in, pairs_of, text_of, walk

_MEAN = re.compile(r"\bpmean\(")
_GATHERED = re.compile(r"\ball_gather\(")
_REDUCED = re.compile(r"\b(pmean|psum)\(")
_UPDATES = ("apply_updates", "apply_gradients", "update")
_STATE = {"params", "opt_state"}
_LIBRARIES = {"jax", "jnp", "lax", "optax", "tree", "tree_util"}


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each step that averages its state behind the update."""
    found = []
    for function in program.all(cst.FunctionDef):
        lines = _exchange(program, function)
        if lines:
            changes: dict[cst.CSTNode, Change] = {line: removed(program, line) for line in lines}
            first, last = program.lines(lines[0])[0], program.lines(lines[-1])[1]
            name = str(function.name.value)
            did = f"the state of {name} is not averaged again"
            found.append(Hit(first, last, did, program.changed(changes), (name,)))
    return found


def _exchange(program: Program, function: Any) -> list[Any]:
    """The statements that only average the updated state; [] where they do more or gradients were not averaged before."""
    state: set[str] = set()
    derived: dict[str, Any] = {}
    reduced, result = False, []
    for line in (one for one in directly_in(function) if isinstance(one, cst.SimpleStatementLine)):
        assign = line.body[0]
        if len(line.body) != 1 or not isinstance(assign, cst.Assign):
            continue
        targets = {name for target, _ in pairs_of(assign) for name in names_in(target)}
        if not state:
            reduced = reduced or bool(_REDUCED.search(text_of(line)))
        if isinstance(assign.value, cst.Call) and called(assign.value) in _UPDATES and reduced:
            state |= targets
        elif reduced and state and _only_averages(assign.value, state | set(derived), bool(derived)):
            if targets <= state:
                result.append(line)
                if derived:
                    result = [*derived.values(), *result]
                    derived = {}
                continue
            derived |= dict.fromkeys(targets, line)
        elif derived and targets <= state and _puts_back(assign.value, state, set(derived)):
            result += [*dict.fromkeys(derived.values()), line]
            derived = {}
    result = list(dict.fromkeys(result))
    return (
        []
        if _used_elsewhere(program, function, result, state)
        else sorted(result, key=lambda one: program.lines(one)[0])
    )


def _only_averages(value: Any, state: set[str], gathered: bool) -> bool:
    own = {str(one.name.value) for one in walk(value) if isinstance(one, cst.Param)}
    text = text_of(value)
    if (names_in(value) - own - _LIBRARIES) - state or ".batch_stats" in text:
        return False
    if gathered:
        return bool(re.search(r"\bmean\(", text)) and not _REDUCED.search(text)
    return bool(_MEAN.search(text) or _GATHERED.search(text))


def _puts_back(value: Any, state: set[str], derived: set[str]) -> bool:
    """`state.replace(params=averaged)`."""
    if not isinstance(value, cst.Call) or called(value) != "replace" or not names_in(value.func) <= state:
        return False
    given = {text_of(arg.keyword): names_in(arg.value) for arg in value.args if arg.keyword is not None}
    return bool(given) and set(given) <= _STATE and all(names <= derived for names in given.values())


def _used_elsewhere(program: Program, function: Any, lines: list[Any], state: set[str]) -> bool:
    """Whether a name that these statements make besides the state is read by others."""
    inside = {id(one) for line in lines for one in walk(line)}
    made = {name for line in lines for target, _ in pairs_of(line.body[0]) for name in names_in(target)} - state
    return any(
        isinstance(one, cst.Name) and one.value in made and id(one) not in inside and not _is_another(program, one)
        for one in walk(function.body)
    )


def _is_another(program: Program, name: Any) -> bool:
    """An attribute's or a keyword's name, or a parameter of an inner function."""
    around = next(program.around(name))
    if isinstance(around, cst.Attribute) and around.attr is name:
        return True
    if isinstance(around, cst.Arg) and around.keyword is name:
        return True
    inner = [one for one in program.around(name) if isinstance(one, cst.FunctionDef | cst.Lambda)]
    return any(param.name.value == name.value for one in inner for param in one.params.params)
