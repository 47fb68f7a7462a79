"""Settings that are right one by one and wrong together: the conflicts that advice.json lists."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tfadvisor.advice.flags.advice import Remark, advice
from tfadvisor.advice.flags.catalogue import is_true
from tfadvisor.advice.flags.recorded import is_newer
from tfadvisor.advice.flags.settings import Setting


def combined(settings: Iterable[Setting], version: str) -> tuple[Remark, ...]:
    """What is wrong with settings together, of which the last of each name counts. version: of jaxlib."""
    given = {one.name: one.value for one in settings}
    found = [
        one.remark
        for one in advice().conflicts
        if not (one.up_to and is_newer(version, one.up_to))
        and all(_holds(name in given, given.get(name), test) for name, test in one.tests.items())
    ]
    return tuple(dict.fromkeys(found))


def _holds(is_given: bool, value: str | None, test: str) -> bool:
    """test: a word or two, as advice.json explains them. value: None of a flag without one, which is true."""
    how, _, wanted = test.partition(" ")
    text, on = (value or "").lower(), is_given and is_true(value)
    if how in ("=", "!="):
        return (re.fullmatch(wanted, text) is not None) == (how == "=")
    if how == ">":
        try:
            return float(text) > float(wanted)
        except ValueError:
            return False
    return {
        "on": on,
        "not": not on,
        "off": is_given and not on,
        "given": is_given,
        "missing": not text and not on,
        "set": bool(text),
        "empty": is_given and not text,
    }[how]
