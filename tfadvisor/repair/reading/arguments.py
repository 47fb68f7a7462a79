"""Arguments of calls: found by name or place, set, taken away."""

from __future__ import annotations

from typing import Any

import libcst as cst

_TIGHT = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def keyword(call: cst.Call, name: str) -> Any:
    """The argument of this name, None without one."""
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def positional(call: cst.Call) -> list[Any]:
    """Arguments without a name and without stars."""
    return [arg for arg in call.args if arg.keyword is None and not arg.star]


def with_keyword(call: cst.Call, name: str, value: str) -> Any:
    """The call with this argument, in the place where it stood or at the end, before `**`."""
    new = cst.parse_expression(value)
    there = keyword(call, name)
    if there is not None:
        return call.with_changes(args=[arg.with_changes(value=new) if arg is there else arg for arg in call.args])
    added = cst.Arg(new, keyword=cst.Name(name), equal=_TIGHT)
    args = list(call.args)
    place = next((number for number, arg in enumerate(args) if arg.star == "**"), len(args))
    return call.with_changes(args=_separated([*args[:place], added, *args[place:]]))


def without_keywords(call: cst.Call, *names: str) -> Any:
    """The call without the arguments of these names."""
    kept = [arg for arg in call.args if arg.keyword is None or arg.keyword.value not in names]
    if kept and len(kept) < len(call.args):
        kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=kept)


def _separated(args: list[Any]) -> list[Any]:
    """A comma behind all but the last; a comma that stands behind the last stays with what follows it."""
    done = []
    for number, arg in enumerate(args):
        last = number == len(args) - 1
        plain = not isinstance(arg.comma, cst.Comma)
        if last:
            done.append(arg)
        elif plain:
            done.append(arg.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))))
        else:
            done.append(arg.with_changes(comma=_spaced(arg.comma)))
    return done


def _spaced(comma: Any) -> Any:
    """A trailing comma before a closing bracket keeps its line break, else gets a blank."""
    after = comma.whitespace_after
    if isinstance(after, cst.SimpleWhitespace) and not after.value:
        return comma.with_changes(whitespace_after=cst.SimpleWhitespace(" "))
    return comma
