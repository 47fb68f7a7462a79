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
    kept = args[:place]
    if kept:
        last = kept[-1]
        kept[-1] = last.with_changes(comma=cst.Comma(whitespace_after=_between(call)))
        added = added.with_changes(comma=last.comma)
    return call.with_changes(args=[*kept, added, *args[place:]])


def without_keywords(call: cst.Call, *names: str) -> Any:
    """The call without the arguments of these names."""
    kept = [arg for arg in call.args if arg.keyword is None or arg.keyword.value not in names]
    if kept and len(kept) < len(call.args):
        kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=kept)


def _between(call: cst.Call) -> Any:
    """What stands between arguments: a line each where the last one ends with a comma on its line, else a blank."""
    own_lines = isinstance(call.args[-1].comma, cst.Comma) and isinstance(
        call.whitespace_before_args, cst.ParenthesizedWhitespace
    )
    return call.whitespace_before_args if own_lines else cst.SimpleWhitespace(" ")
