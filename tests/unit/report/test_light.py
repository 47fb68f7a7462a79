"""How far a step is from its devices' limits, in words."""

from __future__ import annotations

import msgspec
from support.gpu_step import gpu_steps

from tfadvisor.report.forms.brief import as_brief
from tfadvisor.report.forms.markdown import as_markdown
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.light import light_line, light_rows
from tfadvisor.report.model import LimitGap, Place, Report, SpeedOfLight

LINE = Place("energy.py", 172, "", "", "", "", "")
SCATTERS = LimitGap(
    "scatters and gathers", 31.0, 31.1, "memory bandwidth", 0.00012, (LINE,)
)
PRODUCTS = LimitGap("products and convolutions", 6.0, 15.4, "arithmetic", 0.61, ())
LAUNCH = LimitGap("launch", 14.0, 14.0, None, None, ())
SMALL = LimitGap("idle", 0.5, 0.5, None, None, ())
LIGHT = SpeedOfLight(9 / 60.5, 9.0, (SCATTERS, LAUNCH, PRODUCTS, SMALL))
WORDS = (
    "9 ms of 60.5 ms (15%): scatters and gathers at 0.012% of memory bandwidth +31 ms, "
    "launch +14 ms, products and convolutions at 61% of peak +6 ms"
)


def a_report(light: SpeedOfLight | None = LIGHT) -> Report:
    """With this waterfall in place of its own."""
    made = gpu_steps(("other", 24)).report()
    return msgspec.structs.replace(made, speed_of_light=light)


def test_the_line_has_the_largest_gaps_and_no_small_one() -> None:
    assert light_line(a_report()) == WORDS


def utilised(report: Report) -> Report:
    """With a model FLOPs utilisation of 34%."""
    known = msgspec.structs.replace(report.metrics["mfu"], value=0.34)
    metrics = {**report.metrics, "mfu": known}
    return msgspec.structs.replace(report, metrics=metrics)


def test_utilisation_stands_at_its_end_where_it_is_known() -> None:
    words = "model FLOPs utilisation 34%"

    assert light_line(utilised(a_report())) == f"{WORDS}; {words}"
    assert light_line(utilised(a_report(None))) == f"not known; {words}"


def test_the_table_has_every_gap_with_its_place() -> None:
    rows = light_rows(a_report())

    assert [one.above for one in rows] == ["", "+31 ms", "+14 ms", "+6 ms", "+500 µs"]
    assert rows[1].where == "energy.py:172"


def test_every_form_says_it() -> None:
    report = a_report()

    assert "9 ms of 60.5 ms (15%)" in as_text(report)
    assert "speed of light: 9 ms of 60.5 ms" in as_brief(report)
    assert "### Speed of light" in as_markdown(report)
    assert "above the least" in as_text(report, details=True)


def test_where_it_is_not_known_only_the_details_say_why() -> None:
    report = a_report(None)

    assert light_line(report) == ""
    assert "Speed of light" not in as_text(report)
    assert "Speed of light: not known, because" in as_text(report, details=True)
