"""`tfadvisor gate --pages DIR`: the verdict, the report and the comparison as pages, and where a reviewer finds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tfadvisor.cli.outputs import write_output
from tfadvisor.errors import UsageError

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.gate.judging.result import GateResult
    from tfadvisor.report.page.model import PageData

VERDICT, REPORT, COMPARISON = "verdict.html", "report.html", "comparison.html"
_WORKFLOW = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")


def link_of(pages: Path | None, environment: Mapping[str, str]) -> str:
    """Where the pages are found: the workflow's run, which keeps them as artifacts, else their folder."""
    if job := environment.get("CI_JOB_URL"):  # GitLab
        return f"{job}/artifacts/browse" if pages is not None else job
    if all(environment.get(name) for name in _WORKFLOW):
        server, repository, run = (environment[name] for name in _WORKFLOW)
        return f"{server}/{repository}/actions/runs/{run}"
    return str(pages) if pages is not None else ""


def drawing_of(paths: Sequence[Path], options: Options) -> Callable[[], PageData]:
    """What draws the run that was judged."""
    from tfadvisor.analysis import draw_run
    from tfadvisor.xplane.runs import choose_run

    return lambda: draw_run(choose_run(paths, options.run, options.host)[0], options)


def write_pages(folder: Path, verdict: GateResult, draw: Sequence[Callable[[], PageData]]) -> None:
    """draw: the judged run, then, where its trace is there, the base. Raises UsageError."""
    from tfadvisor.gate.outputs.html import as_html as verdict_page
    from tfadvisor.report.outputs.html import as_html

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--pages {folder}: cannot be written: {error.strerror or error}.") from error
    drawn = [one() for one in draw]
    beside = [(REPORT, "The report of the run: where its step's time goes, why, and what to change")]
    write_output(folder / REPORT, as_html(drawn[:1]), "--pages")
    if len(drawn) > 1:
        beside.append((COMPARISON, "Both runs side by side, and the causes of the change"))
        write_output(folder / COMPARISON, _side_by_side(drawn), "--pages")
    write_output(folder / VERDICT, verdict_page(replace(verdict, link=""), tuple(beside)), "--pages")


def _side_by_side(drawn: Sequence[PageData]) -> str:
    from tfadvisor.comparing import compare
    from tfadvisor.comparison.outputs.page_data import on_page
    from tfadvisor.report.outputs.html import as_html

    reports = [page.report for page in drawn]
    comparisons = [on_page(compare(reports[base], reports[new]), new, base) for new, base in ((0, 1), (1, 0))]
    return as_html(drawn, comparisons=comparisons)
