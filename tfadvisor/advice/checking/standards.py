"""What a rule must be beyond being readable: few fixes, and only recordings behind
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfadvisor.advice.loading.rule import Rule

MOST_FIXES = 5
"""More of them are several causes, and each is a rule of its own."""
_RECORDED = re.compile(
    r"""
    fixtures/\S+
    | public\ trace\ \S+
    | public\ program\ \w+
    | first\ sight,\ batch\ \d+:\ \w+
    """,
    re.VERBOSE,
)


def shortcomings(rule: Rule) -> Iterator[str]:
    """What is wrong with a rule that can be read, a sentence each."""
    if len(rule.fixes) > MOST_FIXES:
        yield (
            f"has {len(rule.fixes)} fixes: a rule has at most {MOST_FIXES}, and each "
            "cause is a rule of its own"
        )
    for one in rule.confirmed:
        if not _RECORDED.fullmatch(one):
            yield (
                f"confirmed: {one!r} names no recording; known are fixtures/NAME, "
                "public trace NAME, public program NAME, first sight, batch N: NAME"
            )
