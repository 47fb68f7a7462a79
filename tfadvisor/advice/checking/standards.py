"""What a rule must be beyond being readable: few fixes, each for a cause that is shown,
and only recordings behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfadvisor.advice.judging.conditions import names_in
from tfadvisor.advice.loading.rule import FixRule, Rule

MOST_FIXES = 4
"""More of them are several causes, and each is a rule of its own."""
LINES = range(2, 7)
"""So many has a program before a fix, and so many behind it."""
_CHANGES = {
    "compiles": r"jit_compile|auto_jit|@tf\.function|jax\.jit\b|torch_xla\.compile",
    "changes precision": r"float16|bf16|tensorfloat32|floatx|enable_x64|\.float\(\)",
    "changes the batch size": r"\bbatch_size = |larger batch|batch twice",
    "changes steps per execution": r"steps_per_execution|steps per call",
    "changes an input pipeline": r"\.(?:map|prefetch|cache|interleave)\(|Loader\(",
    "changes how often something happens": r"% \d+ ==|% \{\w+\} ==|once in|every_k",
}
_CHANGES_RE = {what: re.compile(pattern) for what, pattern in _CHANGES.items()}
"""What harms where its cause is another, by the words and code of a fix."""
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
    for number, fix in enumerate(rule.fixes, start=1):
        for what in _of_fix(fix):
            yield f"fix {number} {what}"
    for recording in rule.confirmed:
        if not _RECORDED.fullmatch(recording):
            yield (
                f"confirmed: {recording!r} names no recording; known are "
                "fixtures/NAME, public trace NAME, public program NAME, first sight, "
                "batch N: NAME"
            )


def _of_fix(fix: FixRule) -> Iterator[str]:
    if not fix.cures.strip():
        yield "names no cause: `cures` says in a few words what it ends"
    for field, code in (("before", fix.before), ("snippet", fix.snippet)):
        lines = len(code.strip().splitlines())
        if lines not in LINES:
            yield (
                f"has {lines} lines of `{field}`: the program before and after it has "
                f"{LINES.start} to {LINES.stop - 1}"
            )
    changes = _change(fix)
    if changes and not _preconditions(fix):
        yield (
            f"{changes}, and says nowhere when: `needs` or `never` names what must, "
            "or must not, be shown beside the framework"
        )


def _change(fix: FixRule) -> str:
    """What it changes that harms elsewhere, "" for nothing."""
    text = f"{fix.do}\n{fix.snippet}"
    found = (what for what, known in _CHANGES_RE.items() if known.search(text))
    return next(found, "")


def _preconditions(fix: FixRule) -> set[str]:
    given = (fix.needs, fix.never)
    named = {name for part in given if part is not None for name in names_in(part)}
    return named - {"framework", "framework_version"}
