"""Runs a program of the user with and without changes, and says what each is worth."""

from __future__ import annotations

from tfadvisor.act.trial.ablation import measured_in
from tfadvisor.act.trial.arms import Tell
from tfadvisor.act.trial.finding_fixes import settings_of
from tfadvisor.act.trial.first_step import first_broken
from tfadvisor.act.trial.ledger_entries import entries_of
from tfadvisor.act.trial.named_candidates import AskedFor, asked_for
from tfadvisor.act.trial.one_run import StopRequest
from tfadvisor.act.trial.one_trial import TrialRequest, try_out
from tfadvisor.act.trial.passes import pass_candidates
from tfadvisor.act.trial.trial_page import as_text
from tfadvisor.act.trial.trial_result import TrialResult

__all__ = [
    "AskedFor",
    "StopRequest",
    "Tell",
    "TrialRequest",
    "TrialResult",
    "as_text",
    "asked_for",
    "entries_of",
    "first_broken",
    "measured_in",
    "pass_candidates",
    "settings_of",
    "try_out",
]
