"""Brings the pages that live beside the code into the site, and turns links between
files into links between pages.

MkDocs loads this as a hook (mkdocs.yml). A link keeps working in both places: as a path
in the repository, and on the site. A link to a file that is no page, such as a YAML
file, becomes plain text on the site.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "docs"))

from rule_pages import rule_pages  # noqa: E402

BESIDE_THE_CODE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
    "RELEASING.md": "releasing.md",
    "CHANGELOG.md": "changes.md",
    "rules/README.md": "writing-a-rule.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/diagnosis/README.md": "diagnosis-benchmark.md",
    "benchmarks/diagnosis/results.md": "results/diagnosis.md",
    "benchmarks/diagnosis/first-sight.md": "results/first-sight.md",
    "benchmarks/public-programs/README.md": "results/public-programs.md",
    "benchmarks/public-reports/README.md": "results/public-reports.md",
    "benchmarks/gpu-programs/planted.md": "results/on-a-gpu.md",
    "benchmarks/gpu-programs/README.md": "results/gpu-programs.md",
    "benchmarks/trials.md": "results/trials.md",
    "benchmarks/against.md": "results/against.md",
    "benchmarks/recording-cost.md": "results/recording-cost.md",
    "benchmarks/installs.md": "results/installs.md",
    "benchmarks/savings/results.md": "results/savings.md",
    "benchmarks/gate_study/results.md": "results/gate-study.md",
    "fixtures/versions/results.md": "results/versions.md",
    "fuzz/README.md": "results/fuzzing.md",
    "tests/system/report/forms/questions.md": "results/questions.md",
    "tests/system/robustness/README.md": "results/robustness.md",
    "benchmarks/accelerators/README.md": "results/accelerators.md",
    "tests/golden/README.md": "results/judged-traces.md",
    "benchmarks/real-traces-beside-xprof.md": "results/real-traces-beside-xprof.md",
    "fixtures/README.md": "fixtures.md",
    "web/README.md": "web.md",
}
PLACES = {page: file for file, page in BESIDE_THE_CODE.items()}
LINK = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)]*)?\)"
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages from outside docs/ and those that are made from the rules."""
    for place, page in BESIDE_THE_CODE.items():
        files.append(
            File.generated(config, page, content=(ROOT / place).read_text("utf-8"))
        )
    for page, text in rule_pages().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Rewrites the links of one page."""
    here = page.file.src_uri
    place = PLACES.get(here, f"docs/{here}")

    def link(found: re.Match[str]) -> str:
        mark, words, path, anchor = found.groups()
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
        page_there = page_of(target)
        if page_there is None:
            return words if (ROOT / target).exists() else found.group()
        return f"{mark}[{words}]({posixpath.relpath(page_there, posixpath.dirname(here) or '.')}{anchor or ''})"

    return LINK.sub(link, markdown)


def page_of(target: str) -> str | None:
    """The page or picture of the site that shows a file of the repository; None when
    none does.
    """
    if (ROOT / target / "README.md").exists():
        target = f"{target}/README.md"
    if target in BESIDE_THE_CODE:
        return BESIDE_THE_CODE[target]
    if (
        target.startswith("rules/")
        and target.endswith(".yaml")
        and not target.endswith((".cases.yaml", "coverage.yaml"))
    ):
        return f"reference/rules/{posixpath.basename(target).removesuffix('.yaml')}.md"
    inside = target.removeprefix("docs/")
    return (
        inside
        if inside != target and (ROOT / target).is_file() and not inside.endswith(".py")
        else None
    )
