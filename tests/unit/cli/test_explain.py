"""`tfadvisor explain`."""

from __future__ import annotations

import pytest

from tfadvisor.cli.main import guarded_main


def said(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, list[str]]:
    code = guarded_main(["explain", *arguments])
    out, err = capsys.readouterr()
    return code, out, err.splitlines()


def test_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "kernel_launch_gap_fraction")

    assert (code, err) == (0, [])
    assert out.startswith("kernel_launch_gap_fraction  metric\nShare of step time")
    assert "Unit: fraction; better: less; between runs: share.\n" in out
    assert "  short-steps compares it: at least 15%\n" in out


def test_a_rule_with_its_fix(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, "input-not-prefetched")

    assert "Fix (code): End the pipeline with a prefetch.\n" in out
    assert "       dataset = dataset.prefetch(tf.data.AUTOTUNE)" in out


def test_what_a_report_fills_in_is_named_and_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = said(capsys, "eager-execution")

    assert "A report fills in:\n" in out
    assert "  <eager_whole_once>  The same, compiled once\n" in out
    assert "{" not in out


def test_a_flag_with_the_versions_that_read_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = said(capsys, "--xla_dump_to")

    assert out.startswith("--xla_dump_to  flag\n")
    assert "Read from XLA_FLAGS by jaxlib 0.4.30 to " in out


def test_several_names_of_which_one_is_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = said(capsys, "mfu", "stragler")

    assert code == 2
    assert out.startswith("mfu  metric\n")
    assert err[0].startswith(
        "tfadvisor: nothing is called stragler. Did you mean Straggler?"
    )
    assert len(err) == 1
