"""How large the house is: packages, modules and lines; rules by tier and proof; bounds
with a reason; metrics and facts.

`make house` prints it, and CI does, so that growth is seen when it happens.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.limits import bounds_of
from tfadvisor.metrics.registry import registered_facts, registered_metrics

ROOT = Path(__file__).parents[1]


def house(root: Path = ROOT) -> dict[str, int]:
    """Each count by its name, in the order in which they are printed."""
    modules = sorted((root / "tfadvisor").rglob("*.py"))
    rules = load_catalogue(preview=True).rules
    kinds = Counter(f"rules, {one.tier}, {one.proof}" for one in rules)
    bounds = [bound for one in rules for bound in bounds_of(one)]
    with_reason = sum(bool(one.because) for one in bounds)
    return {
        "packages": sum(
            one.name == "__init__.py" and one.parent.parent == root / "tfadvisor"
            for one in modules
        ),
        "modules": len(modules),
        "lines": sum(
            len(one.read_text(encoding="utf-8").splitlines()) for one in modules
        ),
        **dict(sorted(kinds.items(), reverse=True)),
        "bounds with a reason": with_reason,
        "bounds without": len(bounds) - with_reason,
        "metrics": len(registered_metrics()),
        "facts": len(registered_facts()),
    }


if __name__ == "__main__":
    for name, number in house().items():
        print(f"{number:>7,}  {name}")
