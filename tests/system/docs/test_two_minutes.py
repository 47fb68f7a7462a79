"""The hand-written pages: short enough, and found from the tasks by the words of a
newcomer's question.
"""

from __future__ import annotations

import re

import pytest
from support.places import ROOT

DOCS = ROOT / "docs"
MOST_WORDS = 600
"""Two minutes at a pace of 300 words a minute, code and tables left out."""
MANY_TABLES = {"how-good.md", "real-traces.md"}
"""Pages of measured numbers."""
PAGES = {
    page.name: page.read_text(encoding="utf-8")
    for page in DOCS.glob("*.md")
    if not page.read_text(encoding="utf-8").startswith("<!-- written by")
}


def prose(page: str) -> str:
    """What is left of a page without code and tables."""
    without_code = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    return re.sub(r"^\|.*$", "", without_code, flags=re.MULTILINE)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_takes_two_minutes(name: str) -> None:
    assert len(prose(PAGES[name]).split()) <= MOST_WORDS


@pytest.mark.parametrize("name", sorted({*PAGES} - MANY_TABLES))
def test_a_page_has_one_table_at_most(name: str) -> None:
    rules = re.findall(r"^\|(?:\s*:?-+:?\s*\|)+$", PAGES[name], re.MULTILINE)

    assert len(rules) <= 1


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("without a change", "recording-by-run.md"),
        ("report", "reading-a-report.md"),
        ("patch", "fix.md"),
        ("what each part costs", "ablate.md"),
        ("prove", "try.md"),
        ("gate", "gate.md"),
        ("CI", "gate-in-ci.md"),
        ("another commit", "gate-against.md"),
        ("multi-host", "several-hosts.md"),
        ("SLURM", "several-hosts.md"),
        ("Kubernetes", "kubernetes.md"),
        ("GKE", "kubernetes.md"),
        ("notebook", "notebooks.md"),
        ("Windows", "windows-and-laptops.md"),
        ("laptops", "windows-and-laptops.md"),
        ("my GPU shows nothing", "my-gpu-shows-nothing.md"),
        ("stopping the profiler", "slow-stop-trace.md"),
    ],
)
def test_a_question_has_a_page_that_the_tasks_lead_to(words: str, page: str) -> None:
    title = PAGES[page].partition("\n")[0]

    assert words.lower() in title.lower()
    assert f"]({page})" in PAGES["tasks.md"]
