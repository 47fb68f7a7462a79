"""Pages that only the site has: one for each rule, and the coverage of the documents
that rules are made from.

They are made when the site is built (docs/site_pages.py) and not kept in git.
`tfadvisor rules docs` writes pages of rules too.
"""

from __future__ import annotations

from tips import Covered, covered

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.checking.rule_page import rule_page
from tfadvisor.advice.loading.catalogue import load_catalogue


def rule_pages() -> dict[str, str]:
    """Place on the site -> Markdown."""
    pages = {
        f"reference/rules/{rule.id}.md": rule_page(rule, "#")
        for rule in load_catalogue(preview=True).rules
    }
    return {**pages, "coverage.md": coverage()}


def coverage() -> str:
    """Every tip of the source documents: the rules that look for it, or why
    none does.
    """
    found = covered(load_catalogue(preview=True).rules)
    rows = [
        f"| {one.tip} | {one.about} | {rules_of(one)} | {one.reason} |" for one in found
    ]
    cited = sum(bool(one.cited_by) for one in found)
    return (
        f"# Coverage\n\nThe documents that the rules are made from hold {len(found)} "
        f"tips. {cited} of them are looked for "
        f"by rules of their own; for the other {len(found) - cited} it says here "
        "where their advice is given, and why.\n\n"
        "- TFG: [Optimize TensorFlow GPU performance with the TensorFlow Profiler]"
        "(https://www.tensorflow.org/guide/gpu_performance_analysis)\n"
        "- JXG: [JAX: GPU performance "
        "tips](https://docs.jax.dev/en/latest/gpu_performance_tips.html)\n"
        "- JTB: [NVIDIA JAX-Toolbox: tips for high-performance LLMs]"
        "(https://github.com/NVIDIA/JAX-Toolbox/blob/main/rosetta/docs/GPU_performance.md)\n"
        "- XPS: a study of XLA's passes on ResNet-50 and a Laplace model\n"
        "- PTT: tips for training with PyTorch and Megatron\n\n"
        "| tip | what to look for | rules | what a trace does not tell |\n"
        "|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def rules_of(one: Covered) -> str:
    """Links to the pages of the rules."""
    links = [f"[{rule}](reference/rules/{rule}.md)" for rule in one.cited_by]
    given = [f"[{rule}](reference/rules/{rule}.md)" for rule in one.given_in]
    return ", ".join(links + [f"given in {link}" for link in given])
