"""Whether two runs may be compared: what must be alike, and what may differ but is reported."""

from __future__ import annotations

from tfadvisor.gate.baseline.snapshot import Key, Snapshot

_SOFT_TOLERANCE = 0.02


def must_be_alike(base: Key, new: Key) -> tuple[str, ...]:
    """The differences that forbid a comparison, in words; none when the runs are comparable."""
    found = [
        f"{what}: {one} in the baseline, {other} now"
        for what, one, other in (
            ("model", base.model, new.model),
            ("framework", base.framework, new.framework),
            ("devices", base.devices, new.devices),
            ("hosts", str(base.hosts), str(new.hosts)),
        )
        if one != other
    ]
    for label in sorted({*base.labels, *new.labels}):
        one, other = base.labels.get(label, "not given"), new.labels.get(label, "not given")
        if one != other:
            found.append(f"label {label}: {one} in the baseline, {other} now")
    return tuple(found)


def may_differ(base: Snapshot, new: Snapshot) -> tuple[str, ...]:
    """The differences that are worth telling beside a verdict."""
    return tuple(
        f"{what}: {base.about.get(what, 'unknown')} in the baseline, {new.about.get(what, 'unknown')} now"
        for what in dict.fromkeys([*base.about, *new.about])
        if not _alike(base.about.get(what, ""), new.about.get(what, ""))
    )


def _alike(one: str, other: str) -> bool:
    try:
        first, second = float(one), float(other)
    except ValueError:
        return one == other
    return abs(first - second) <= _SOFT_TOLERANCE * max(abs(first), abs(second))
