"""What `tfadvisor run` says after a recording."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tfadvisor.act.record.keeping import Earlier
from tfadvisor.cli.recording import note_kept


@pytest.mark.parametrize(
    ("now_ms", "words"), [(20.0, "50% less now"), (60.0, "50% more now")]
)
def test_it_says_how_the_step_changed_since_the_same_command_ran_last(
    now_ms: float, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = Earlier("2026_01_02", step_ms=40.0, now_ms=now_ms)
    kept = SimpleNamespace(
        folder="logdir/x", earlier=earlier, report=SimpleNamespace(broken=())
    )

    note_kept(kept)

    said = " ".join(capsys.readouterr().err.split())
    assert f"took 40 ms a step in 2026_01_02: {words}" in said
