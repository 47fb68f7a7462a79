"""How large the house is: packages, modules, tokens; rules by tier and proof; bounds
with a reason; metrics and facts.

`make house` prints it, and CI does, so that growth is seen when it happens.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from admission import bounds_of
from density import MOST_BRANCHES, density

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.metrics.registry import registered_facts, registered_metrics

ROOT = Path(__file__).parents[1]


def house(root: Path = ROOT) -> dict[str, float]:
    """Each count by its name, in the order in which they are printed."""
    size = density(root)
    modules = sorted((root / "tfadvisor").rglob("*.py"))
    rules = load_catalogue(preview=True).rules
    kinds = Counter(f"rules, {rule.tier}, {rule.proof}" for rule in rules)
    bounds = [bound for rule in rules for bound in bounds_of(rule)]
    with_reason = sum(bool(one.because) for one in bounds)
    return {
        "packages": sum(
            module.name == "__init__.py" and module.parent.parent == root / "tfadvisor"
            for module in modules
        ),
        "modules": len(modules),
        "tokens": size.tokens,
        "tokens a line": round(size.tokens_a_line, 1),
        f"functions above {MOST_BRANCHES} branches": len(size.complex),
        **dict(sorted(kinds.items(), reverse=True)),
        "bounds with a reason": with_reason,
        "bounds without": len(bounds) - with_reason,
        "metrics": len(registered_metrics()),
        "facts": len(registered_facts()),
    }


if __name__ == "__main__":
    for name, number in house().items():
        print(f"{number:>7,}  {name}")
