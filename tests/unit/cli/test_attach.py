"""`tfadvisor run --attach`: what goes with it, and what does not."""

from __future__ import annotations

import pytest

from tfadvisor.cli.main import guarded_main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "COMMAND is missing: tfadvisor run -- python train.py, or "),
        (["--attach", "here"], "here is no address. Give HOST:PORT, "),
        (["--attach", "a:1", "--ablate"], "--ablate is about a program that is "),
        (["--attach", "a:1", "--step", "f"], "--step-is is about a program that is "),
        (["--attach", "a:1", "--then", "stop"], "--then stop is about a program "),
        (["--attach", "a:1", "b:2", "--", "x"], "COMMAND is about a program that "),
    ],
)
def test_wrong_use_ends_with_2_and_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = guarded_main(["run", *arguments])

    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"tfadvisor: {said}")
