"""What the recording says that the gate's numbers were not chosen on: false alarms,
sensitivity, counts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from types import SimpleNamespace

from msgspec.structs import replace
from pairs import STEP, Pair, Run, judged, middle, outcome, programs, slower, unchanged

from tfadvisor.advice.findings import Evidence, Finding, Saving
from tfadvisor.comparison.baseline.snapshot import Baseline, Snapshot, choose
from tfadvisor.comparison.gate.config import DEFAULT_KEEP, Config
from tfadvisor.comparison.gate.equal_speed import Speed, outside_ms
from tfadvisor.comparison.gate.gated_metric import ask
from tfadvisor.comparison.gate.judge import check_rules
from tfadvisor.comparison.gate.result import Check, Outcome
from tfadvisor.comparison.gate.surprise import FORETOLD, Sample, Surprise
from tfadvisor.comparison.statistics.distributions import normal_quantile, t_quantile
from tfadvisor.comparison.statistics.spread import Nature
from tfadvisor.vocabulary import Severity

STATING = 20
"""Runs of each program that state what will be seen; the later ones judge it."""
MOST = 40
"""Unchanged runs from which on a program judges more than its counts."""
ASKED = ((0.20, 12), (0.10, 30))
"""Changes, and within how many runs each is to be seen in 90% of trials."""
TRIALS = 100
LEVEL = 0.009 / 2
"""What the step time is judged at, once for each of its two tests."""
Verdict = Callable[[Sequence[Run], Run], bool]


def alarms(runs: Sequence[Run], settings: Config) -> str:
    """Every unchanged run against the store so far; what fails is not added."""
    ours = [
        program for program in programs(runs) if len(unchanged(runs, program)) >= MOST
    ]
    ways: dict[str, Verdict] = {
        "the gate": lambda base, new: gate_fails(base, new, settings),
        "Student's test, not blended": student_fails,
        "more than 5% over the middle run": lambda base, new: over(base, new, 0.05),
        "more than 10% over the middle run": lambda base, new: over(base, new, 0.10),
    }
    rows = [
        f"| judged by | {' | '.join(ours)} | all builds | share |",
        "|---|" + "---:|" * (len(ours) + 2),
    ]
    for name, fails in ways.items():
        found = [stream(unchanged(runs, program), fails) for program in ours]
        builds = sum(len(unchanged(runs, program)) for program in ours)
        cells = " | ".join(str(one) for one in found)
        rows.append(
            f"| {name} | {cells} | {sum(found)} of {builds} | "
            f"{sum(found) / builds:.1%} |"
        )
    return "\n".join(rows)


def earlier(recordings: Sequence[Sequence[Run]], settings: Config) -> str:
    """How many builds of earlier recordings were red: in each, and with what is asked
    of a run now.
    """
    whole = replace(settings, false_alarm_rate=settings.false_alarm_rate / FORETOLD)
    rows = [
        "| recording | builds | red at the whole rate | red now |",
        "|---:|---:|---:|---:|",
    ]
    for number, runs in enumerate(recordings, 1):
        streams = [unchanged(runs, program) for program in programs(runs)]
        streams = [one for one in streams if len(one) >= MOST]
        red = [
            sum(
                stream(one, lambda base, new, how=how: gate_fails(base, new, how))
                for one in streams
            )
            for how in (whole, settings)
        ]
        rows.append(f"| {number} | {sum(map(len, streams))} | {red[0]} | {red[1]} |")
    return "\n".join(rows)


def stream(runs: Sequence[Run], fails: Verdict) -> int:
    """How many of a program's builds are red, with `--add`."""
    store: list[Run] = []
    red = 0
    for run in runs:
        if store and fails(store[-DEFAULT_KEEP:], run):
            red += 1
        else:
            store.append(run)
    return red


def gate_fails(base: Sequence[Run], new: Run, settings: Config) -> bool:
    """Step time, counts and findings, as `tfadvisor gate` judges them."""
    return Outcome.FAIL in {check.outcome for check in checks(base, new, settings)}


def checks(base: Sequence[Run], new: Run, settings: Config) -> list[Check]:
    """All checks of a run against a store."""
    pair = Pair((new.snapshot,), tuple(run.snapshot for run in base))
    baseline = (
        choose(pair.base, pair.new, DEFAULT_KEEP) if base else Baseline((), (), (), ())
    )
    report = SimpleNamespace(findings=[_finding(*one) for one in new.findings])
    return [*judged(pair, settings), *check_rules(settings, report, pair.new, baseline)]  # type: ignore[arg-type]


def _finding(rule_id: str, severity: str, metrics: Sequence[str]) -> Finding:
    evidence = tuple(Evidence(metric, "", None, "") for metric in metrics)
    nothing = Saving(0.0, 0.0, "")
    return Finding(
        rule_id, "", Severity(severity), rule_id, "", evidence, nothing, (), (), (), ""
    )


def student_fails(base: Sequence[Run], new: Run) -> bool:
    """Over 5%, and beyond what Student's t says of the runs' own standard deviation, at
    the same rate of false alarms.
    """
    times = [log(run.snapshot.side.median_ms) for run in base]
    if len(times) < 3:
        return False
    centre = sum(times) / len(times)
    spread = sqrt(sum((one - centre) ** 2 for one in times) / (len(times) - 1))
    away = log(new.snapshot.side.median_ms) - centre
    reach = t_quantile(0.009, len(times) - 1) * spread * sqrt(1 + 1 / len(times))
    return away > max(log(1.05), reach)


def over(base: Sequence[Run], new: Run, limit: float) -> bool:
    """A plain limit."""
    return new.snapshot.side.median_ms > (1 + limit) * middle(
        [run.snapshot.side.median_ms for run in base]
    )


def first_days(runs: Sequence[Run], settings: Config) -> str:
    """The smallest change that the gate states after so many runs, in the middle of all
    places to begin.
    """
    numbers = (2, 3, 4, 5, 10, 20, 30)
    rows = [
        f"| program | {' | '.join(f'{one} runs' for one in numbers)} |",
        "|---|" + "---:|" * len(numbers),
    ]
    for program in programs(runs):
        ours = unchanged(runs, program)
        if len(ours) < MOST:
            continue
        found = [
            middle(
                [
                    _stated(ours[at : at + one], settings)
                    for at in range(len(ours) - one + 1)
                ]
            )
            for one in numbers
        ]
        rows.append(f"| {program} | {' | '.join(_share(one) for one in found)} |")
    return "\n".join(rows)


def _stated(base: Sequence[Run], settings: Config) -> float:
    """As a share, outside of the unchanged ops where that is told apart."""
    pair = Pair((base[-1].snapshot,), tuple(run.snapshot for run in base[:-1]))
    check = next(one for one in judged(pair, settings) if one.name == STEP)
    known = [
        one for one in (check.detectable, check.detectable_outside) if one is not None
    ]
    return min(known) / check.base if known and check.base else inf


def _share(value: float) -> str:
    return f"+{value:.0%}" if value < 10 else "any"


@dataclass(frozen=True)
class Stated:
    """A program's spread, as its first runs show it, and which of the asked changes it
    lets the gate see.
    """

    program: str
    sigma: float
    most: float
    """Which it stays below in nine of ten cases, as far as these runs know."""
    seen: tuple[bool, ...]


def sensitivity(runs: Sequence[Run], settings: Config) -> str:
    """What is stated by the first runs of each program, and what the later ones
    show.
    """
    head = " | ".join(
        f"+{change:.0%} within {number}: stated | seen | Student | plain 5%"
        for change, number in ASKED
    )
    rows = [
        f"| program | spread | at most | {head} |",
        "|---|---:|---:|" + "---|---:|---:|---:|" * len(ASKED),
    ]
    for program in programs(runs):
        ours = unchanged(runs, program)
        if len(ours) < MOST:
            continue
        stated = state(program, [run.snapshot for run in ours[:STATING]], settings)
        cells = []
        for (change, number), seen in zip(ASKED, stated.seen, strict=True):
            shares = [
                trial_share(ours[STATING:], change, number, fails)
                for fails in (
                    lambda base, new: (
                        outcome(judged(_pair(base, new), settings)) is Outcome.FAIL
                    ),
                    student_fails,
                    lambda base, new: over(base, new, 0.05),
                )
            ]
            cells.append(
                f"{'in 90%' if seen else 'no'} | "
                f"{' | '.join(f'{one:.0%}' for one in shares)}"
            )
        rows.append(
            f"| {program} | {stated.sigma:.1%} | {stated.most:.1%} | "
            f"{' | '.join(cells)} |"
        )
    return "\n".join(rows)


def _spread(test: Surprise) -> float:
    """Between runs, on the scale on which the gate judges."""
    return test._prediction.known.sigma


def state(program: str, base: Sequence[Snapshot], settings: Config) -> Stated:
    """Which changes nine of ten runs will show, if the runs to come scatter
    like these.
    """
    asked = next(one for one in settings.relative if one.metric == STEP)
    metric = ask(
        asked, [base[-1]], choose(base[:-1], [base[-1]], DEFAULT_KEEP), 2 * LEVEL
    )
    finer = min(metric.tests, key=_spread)
    if finer is metric.tests[0]:
        errors = [run.errors[STEP] / run.side.metrics[STEP] for run in base]
    else:
        errors = [outside_ms(run, Speed(0.0, 0.0))[1] for run in base]
    sigma, error = at_most(_spread(finer), len(base) - 1), middle(errors)
    seen = tuple(
        expected_reach(sigma, error, number - 1) + nine_of_ten(sigma, number - 1)
        <= log(1 + change)
        for change, number in ASKED
    )
    return Stated(program, _spread(finer), sigma, seen)


def at_most(sigma: float, runs: int) -> float:
    """What a spread that so many runs show stays below in nine of ten cases (by Wilson
    and Hilferty's chi-squared).
    """
    freedom = 0.25 + 0.5 * (runs - 1)
    tenth = (
        1 - 2 / (9 * freedom) - normal_quantile(0.1) * sqrt(2 / (9 * freedom))
    ) ** 3
    return sigma / sqrt(tenth)


def expected_reach(sigma: float, error: float, runs: int) -> float:
    """What a baseline of so many runs with this spread lets the gate see: the prior's
    10%, worth a quarter, and the rest.
    """
    further = runs - 1
    blended = (0.25 * 0.1**2 + further * sigma**2) / (0.25 + further)
    width = sqrt(blended * (1 + 1 / runs) + (2 * error) ** 2)
    return t_quantile(LEVEL * FORETOLD, 0.25 + 0.5 * further) * width


def nine_of_ten(sigma: float, runs: int) -> float:
    """By how much nine of ten runs stay above their own level, less what the centre is
    off.
    """
    return normal_quantile(0.1) * sigma * sqrt(1 + 1 / runs)


def trial_share(
    runs: Sequence[Run], change: float, number: int, fails: Verdict, seed: int = 1
) -> float:
    """Of so many runs drawn at random, in their order, the last is slowed as if Python
    worked longer in every step.
    """
    generator = random.Random(seed)
    hits = 0
    for _ in range(TRIALS):
        *base, new = (
            runs[at] for at in sorted(generator.sample(range(len(runs)), number))
        )
        hits += fails(
            base, Run(**{**vars(new), "snapshot": slower(new.snapshot, change)})
        )
    return hits / TRIALS


def _pair(base: Sequence[Run], new: Run) -> Pair:
    return Pair((new.snapshot,), tuple(run.snapshot for run in base))


def counts(runs: Sequence[Run], settings: Config) -> str:
    """One more of something in every step, at the second run: each against each of the
    ten unchanged runs before it, alone.
    """
    kinds = {
        "copy": "copy",
        "dispatch": "dispatch",
        "recompile": "compilation",
        "collective": "collective",
    }
    rows = [
        "| one more in every step | runs | seen at the second run | plain 5% | plain "
        "10% |",
        "|---|---:|---:|---:|---:|",
    ]
    for kind, words in kinds.items():
        planted = [run for run in runs if run.kind == kind]
        pairs = [(one, run) for run in planted for one in _before(runs, run)]
        seen = sum(
            _by_counts(judged(_pair([one], run), settings)) for one, run in pairs
        )
        plain = [
            sum(over([one], run, limit) for one, run in pairs) for limit in (0.05, 0.10)
        ]
        shares = " | ".join(f"{number / len(pairs):.0%}" for number in plain)
        rows.append(
            f"| {words} | {len(planted)} | {seen} of {len(pairs)} "
            f"({seen / len(pairs):.0%}) | {shares} |"
        )
    return "\n".join(rows)


def _before(runs: Sequence[Run], run: Run) -> list[Run]:
    """Up to ten unchanged runs of the program before one, else after it."""
    ours = unchanged(runs, run.program)
    return ([one for one in ours if one.at <= run.at] or ours)[-10:]


def _by_counts(found: Iterable[Check]) -> bool:
    return any(check.outcome is Outcome.FAIL for check in found if check.name != STEP)


def made(spreads: Sequence[float]) -> str:
    """The same of programs whose runs scatter normally by so much: what the statistics
    do without this machine.
    """
    rows = [
        "| spread | "
        + " | ".join(f"+{c:.0%} within {n} runs" for c, n in ASKED)
        + " | false alarms, 30 builds each |"
    ]
    rows.append("|---:|" + "---:|" * (len(ASKED) + 1))
    nature = Nature(
        worse="up",
        exact=False,
        by_factor=True,
        floor=0.01,
        absolute_floor=0.0,
        assumed=0.10,
    )
    for sigma in spreads:
        generator = random.Random(round(sigma * 1e6))
        shares = [
            sum(
                _red(
                    _drawn(generator, sigma, number - 1),
                    generator.gauss(log(1 + change), sigma),
                    nature,
                )
                for _ in range(400)
            )
            / 400
            for change, number in ASKED
        ]
        red = sum(
            _red(_drawn(generator, sigma, n), generator.gauss(0, sigma), nature)
            for _ in range(100)
            for n in range(1, 31)
        )
        rows.append(
            f"| {sigma:.1%} | {' | '.join(f'{one:.0%}' for one in shares)} | "
            f"{red / 3000:.2%} |"
        )
    return "\n".join(rows)


def _drawn(generator: random.Random, sigma: float, number: int) -> list[float]:
    return [generator.gauss(0, sigma) for _ in range(number)]


def _red(base: Sequence[float], new: float, nature: Nature) -> bool:
    one = Surprise(Sample((tuple(base),), (new,), 0.0, False), nature, 2 * LEVEL)
    return one.distance > log(1.05) and one.p() <= 2 * LEVEL
