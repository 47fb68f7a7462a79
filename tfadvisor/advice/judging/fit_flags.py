"""Fixes whose flags the run's version accepts, under the names that it uses."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import Fix
from tfadvisor.advice.flags.prescribe import Fitted, fitted
from tfadvisor.metrics.registry import Metrics


class FittedFixes(msgspec.Struct, frozen=True):
    """left_out: a sentence about the flags for which every fix was left out, "" while one is left."""

    fixes: tuple[Fix, ...]
    left_out: str


def fit_flags(fixes: Sequence[Fix], metrics: Metrics) -> FittedFixes:
    """A flag that the version does not know would end the user's process, so a fix that needs one is left out.

    A fix whose flags are what the version does anyway comes last: it helps only a user who had turned them off.
    """
    kept: list[Fix] = []
    anyway: list[Fix] = []
    refused: list[str] = []
    for fix in fixes:
        one, reasons, changes_nothing = _fit(fix, metrics)
        if reasons:
            refused += reasons
        else:
            (anyway if changes_nothing else kept).append(one)
    kept += anyway
    left_out = f"The fix needs another version: {'; '.join(dict.fromkeys(refused))}."
    return FittedFixes(tuple(kept), "" if kept or not refused else left_out)


def _fit(fix: Fix, metrics: Metrics) -> tuple[Fix, list[str], bool]:
    texts = [fix.do, fix.snippet, *fix.env.values()]
    if not any("--" in text for text in texts):
        return fix, [], False
    framework, version = _known(metrics, "framework"), _known(metrics, "framework_version")
    do, snippet, *env = (fitted(text, framework, version) for text in texts)
    notes = dict.fromkeys(one.note for one in (do, snippet, *env) if one.note)
    changed = replace(
        fix,
        do=do.text,
        snippet=snippet.text,
        env={name: one.text for name, one in zip(fix.env, env, strict=True)},
        valid_for="; ".join([fix.valid_for, *notes]),
    )
    parts = [one for one in (snippet, *env) if "--" in one.text]
    return changed, _refused([snippet, *env]), bool(parts) and all(one.changes_nothing for one in parts)


def _refused(texts: list[Fitted]) -> list[str]:
    return [one.refused for one in texts if one.refused]


def _known(metrics: Metrics, name: str) -> str | None:
    return metrics.fact(name) if metrics.has_fact(name) else None
