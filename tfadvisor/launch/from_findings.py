"""Settings that findings ask for: each finding's first fix that is made of flags or variables alone."""

from __future__ import annotations

from collections.abc import Iterator

from tfadvisor.flags.settings import FLAG_VARIABLES, take_apart
from tfadvisor.launch.setting import Suggested
from tfadvisor.report.model import Finding, Fix, Report
from tfadvisor.report.wording import advice, saving_words

_PLACEHOLDER = "/path/to/"
"""What a fix writes for a file that the user has to make first."""


def from_findings(report: Report) -> Iterator[Suggested]:
    """In the order of the findings, the largest saving first; flags are fitted to the run's version already."""
    for finding in advice(report):
        fix = next((one for one in finding.fixes if _is_whole(one)), None)
        if fix is not None:
            yield from _settings(finding, fix)


def _is_whole(fix: Fix) -> bool:
    """Whether it has settings, all with a value that can be given as it is."""
    return bool(fix.env) and not any(_PLACEHOLDER in value or "{" in value for value in fix.env.values())


def _settings(finding: Finding, fix: Fix) -> Iterator[Suggested]:
    for variable, value in fix.env.items():
        flags = [(variable, value)]
        if variable in FLAG_VARIABLES:
            flags = [(one.name, one.value or "") for one in take_apart(value).settings]
        for name, setting in flags:
            yield Suggested(
                variable,
                name,
                setting,
                finding.title,
                finding.rule_id,
                saving_words(finding.saving) if fix is finding.fixes[0] else "",  # else it helps, and the code saves
                fix.side_effect,
            )
