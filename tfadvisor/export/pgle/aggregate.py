"""One profile out of several: of each instruction's costs the one at a percentile.

Source: `AggregateProfiledInstructionsProto` in openxla/xla, xla/python/aggregate_profile.cc.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.export.pgle.costs import Cost, Costs


def aggregate(profiles: Sequence[Costs], percentile: int) -> Costs:
    """The cost at percentile/100 of the way through those that there are, rounded down; never a mean of two.

    percentile: 0 to 100. An instruction that some profiles lack is taken from the others.
    """
    found: dict[str, list[Cost]] = {}
    for profile in profiles:
        for name, cost in profile.items():
            found.setdefault(name, []).append(cost)
    return {
        name: Cost(
            sorted(one.us for one in costs)[int(percentile / 100 * (len(costs) - 1))],
            sum(one.executions for one in costs),
        )
        for name, costs in sorted(found.items())
    }
