"""Which steps of a run are drawn, by what it is read for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.timeline.run.read_hosts import Detail, run_hosts

FIXTURE = Path(__file__).parents[4] / "fixtures" / "tf-python-map"


@pytest.mark.parametrize(
    ("detail", "first", "others"),
    [
        (Detail.REPORT, [], False),
        (Detail.TWO_STEPS, ["median", "worst"], False),
        (Detail.EVERY_STEP, ["median", "worst"], True),
    ],
)
def test_a_server_draws_two_steps_at_once_and_a_page_by_itself_every_step(
    detail: Detail, first: list[str], others: bool
) -> None:
    """The recording holds more than two counted steps."""
    (host,) = run_hosts(
        sorted(FIXTURE.rglob("*.xplane.pb*")), None, 1, None, detail=detail
    )

    which = [picture.which for picture in host.evidence.pictures]
    assert which[: len(first)] == first
    assert ("other" in which) is others
