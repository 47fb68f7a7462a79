"""What rules come to: findings with their evidence, savings, fixes and places; the
verdict; what could not be judged.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tfadvisor.vocabulary import Severity

OUTSIDE = "outside-the-steps"
"""The id of findings about what is no step of the run; what they take is of the run."""


class Verdict(msgspec.Struct, frozen=True):
    """What the run is bound by."""

    bottleneck: str
    """What costs most: input, host, launch, compile, transfer, collective, imbalance,
    memory, compute, none or unknown. What is no step of the run is the host's.
    """
    fraction: float
    """Its share of step time; of the run where the report's account names it first,
    0..1.
    """
    healthy: bool
    """Whether nothing costs enough to act on."""
    summary: str
    """The same in a sentence."""


class Evidence(msgspec.Struct, frozen=True):
    """What a finding rests on: a metric, or words."""

    metric: str | None
    """Its name among `metrics`, None for words."""
    text: str
    """What it is, in words."""
    value: float | str | None
    """In `unit`."""
    unit: str
    """Of `value`; text for words."""


class Saving(msgspec.Struct, frozen=True):
    """What a fix could save: a range of shares of step time, and what the range rests
    on.
    """

    low: float
    """Share of step time, 0..1."""
    high: float
    """Share of step time, 0..1."""
    basis: str
    """What the range rests on, in words."""

    @property
    def middle(self) -> float:
        """What is expected."""
        return (self.low + self.high) / 2


class Patch(msgspec.Struct, frozen=True):
    """The edit of one file of the user's program. Made by `tfadvisor fix`, which is
    given the program.
    """

    file: str
    """Below the source folder; "" for lines of the script that launches the program."""
    diff: str
    """Unified; of the launch script the lines themselves."""
    sure: str
    """mechanical: derived from the source alone, results stay; guess: to be tried or
    confirmed.
    """
    check: str
    """What must stay the same to trust it: batches, values or none."""


class Fix(msgspec.Struct, frozen=True, omit_defaults=True):
    """One way to change it."""

    kind: str
    """code, env, flag, config or command."""
    do: str
    """The edit in words."""
    snippet: str
    """The edit itself, "" where words say it all."""
    env: Mapping[str, str]
    """Variables to set, with their values."""
    valid_for: str
    """Frameworks and versions that it is for."""
    side_effect: str
    """What it changes or costs besides, "" for nothing."""
    cures: str | msgspec.UnsetType = msgspec.UNSET
    """The cause that it ends, in a few words."""
    before: str | msgspec.UnsetType = msgspec.UNSET
    """Lines of a program with this cause, which `snippet` has after the edit."""
    patch: Patch | None = None
    """Absent unless `tfadvisor fix` made one."""


class Location(msgspec.Struct, frozen=True):
    """A place in the user's program."""

    file: str
    """As the trace names it, without its folder."""
    line: int | None
    """From 1; None where the trace does not tell."""
    op: str
    """The function or op there, "" where the trace does not tell."""
    text: str | msgspec.UnsetType = msgspec.UNSET
    """The line itself; absent where the program's source is not known."""


class SourceRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a rule's knowledge comes from."""

    doc: str
    """The document."""
    section: str
    """Its part."""
    url: str
    """Where it lies."""


class Tried(msgspec.Struct, frozen=True):
    """What came of a fix of this finding when it was tried on this program, as shares
    of step time.
    """

    measured: float
    """The saving; below 0 it is slower."""
    low: float
    """From here."""
    high: float
    """To here, with 95% confidence."""
    predicted_low: float
    """What the finding promised then, from here."""
    predicted_high: float
    """To here."""
    outcome: str
    """better, not better or cannot tell."""
    change: str
    """The codemod, or env."""
    at: str
    """When, ISO time in UTC."""
    device: str
    """The kind of device that it was tried on."""


SURE, UNSURE = "sure", "unsure"


class Finding(msgspec.Struct, frozen=True):
    """One thing to change."""

    rule_id: str
    """The rule that found it: `tfadvisor explain ID`."""
    category: str
    """A bottleneck's name, or precision, placement, kernel, capture or flags."""
    severity: Severity
    """critical, high, medium, low or info."""
    title: str
    """What is wrong."""
    summary: str
    """What was seen in this run, in words."""
    evidence: tuple[Evidence, ...]
    """What it rests on."""
    saving: Saving | None
    """What mending it could save; None where nothing bears a saving out."""
    fixes: tuple[Fix, ...]
    """Ways to mend it, the best first."""
    locations: tuple[Location, ...]
    """Where in the program, the likeliest first."""
    source: tuple[SourceRef, ...]
    """Where the rule's knowledge comes from."""
    caveat: str
    """Why to trust it less, "" when nothing speaks against it."""
    claims: tuple[str, ...] = ()
    """The classes of step time that its saving comes out of, in the order in which it
    draws on them; where it saves nothing by itself, those that it is about. Outputs
    mark it in this time."""
    proof: str = "shown"
    """shown: the trace entails it; measured: an experiment on this program bears it
    out; documented: a vendor's guide describes it, and no recording has confirmed the
    rule yet; likely: a question to the user.
    """
    takes: float | None = None
    """The share of step time that it is about, 0..1; None where the trace does not give
    one.
    """
    certainty: str = SURE
    """sure, or unsure where the steps are few or inferred, or work was not recorded:
    what it takes may then be another share. `caveat` says why.
    """
    few_steps: str | msgspec.UnsetType = msgspec.UNSET
    """Where its time lies in few of the steps: `1 of 19 steps (3.36 s)`. It has no
    saving then, which would be one of each step; absent for any other.
    """
    ask: str | msgspec.UnsetType = msgspec.UNSET
    """What the user can answer in one look; absent unless `proof` is likely."""
    tier: str | msgspec.UnsetType = msgspec.UNSET
    """preview: its rule is not proven yet, and the verdict does not rest on it; absent
    for any other.
    """
    tried: Tried | msgspec.UnsetType = msgspec.UNSET
    """Absent unless `tfadvisor try` has measured a fix of it."""

    @property
    def is_question(self) -> bool:
        """Whether only the user can tell if it holds."""
        return self.proof == "likely"

    @property
    def is_outside(self) -> bool:
        """Whether it is about what is no step of the run."""
        return self.rule_id == OUTSIDE

    @property
    def is_documented(self) -> bool:
        """Whether a guide alone stands behind it."""
        return self.proof == "documented"

    @property
    def bears_verdict(self) -> bool:
        """Whether the verdict may rest on it: on no question, and on no rule that is
        not proven yet.
        """
        return not self.is_question and self.tier is msgspec.UNSET

    @property
    def saves(self) -> float:
        """Share of step time that it saves at most, 0 where it saves nothing by
        itself.
        """
        return self.saving.high if self.saving is not None else 0.0

    @property
    def size(self) -> float:
        """Share of step time that it saves at most, or takes where nothing bears a
        saving out; 0 where neither is known.
        """
        return self.saves or self.takes or 0.0


class PlanStep(msgspec.Struct, frozen=True):
    """One change of a plan, made after those before it. Shares are of the step as it
    was recorded.
    """

    rule_id: str
    """The finding's."""
    low: float
    """What it saves on top of those before it: at least this share, 0..1."""
    high: float
    """At most this share, 0..1."""
    remains_low: float
    """What remains of the step then: at least this share, 0..1."""
    remains_high: float
    """At most this share, 0..1."""
    worth: bool
    """Whether to make it: it and one behind it save enough to notice."""


class Plan(msgspec.Struct, frozen=True):
    """The findings replayed together, in the order in which to mend them."""

    changes: tuple[PlanStep, ...]
    """All that save anything, those that are not worth it last."""
    low: float
    """What the changes worth making save together: at least this share of the step,
    0..1.
    """
    high: float
    """At most this share, 0..1."""


class NotApplicable(msgspec.Struct, frozen=True):
    """A rule that the trace cannot decide."""

    rule_id: str
    """The rule."""
    reason: str
    """What the trace lacks."""


class Passed(msgspec.Struct, frozen=True):
    """A rule that looked, and found that this run is fine."""

    rule_id: str
    """`tfadvisor explain` explains it."""
    category: str
    """What a finding of it would be about."""
    title: str
    """The fault that is not there."""


class CaptureNote(msgspec.Struct, frozen=True):
    """What is wrong with the trace itself and what to do at the next capture."""

    rule_id: str
    """The rule that saw it; `recorded` for what tfadvisor recorded itself."""
    note: str
    """What is wrong."""
    do: str
    """What to do at the next capture."""
    snippet: str
    """The edit itself, "" where words say it all."""


class Broken(msgspec.Struct, frozen=True):
    """A rule or metric that failed; the rest of the report stands."""

    name: str
    """Of the rule or metric."""
    error: str
    """What went wrong with it."""
