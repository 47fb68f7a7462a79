"""Fixes name only flags that the run's version accepts."""

from __future__ import annotations

import re
import sys

import pytest
from support.outcome import outcome_of
from support.places import FIXTURES

import tfadvisor
import tfadvisor.metrics  # registers every metric
from tfadvisor.advice.findings import Finding, Fix
from tfadvisor.advice.flags.prescribe import fit_flags, fitted
from tfadvisor.advice.loading.catalogue import built_in_rules, checked
from tfadvisor.advice.loading.yaml_marks import load
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)

PLACEHOLDER = re.compile(r"\{[a-z][a-z0-9_]*\}")


def fix(snippet: str, env: dict[str, str] | None = None) -> Fix:
    return Fix("flag", "Do it.", snippet, env or {}, "jaxlib", "")


def test_a_text_without_flags_stays_and_reads_nothing() -> None:
    from tfadvisor.advice.flags.recorded import recording

    recording.cache_clear()

    assert (
        fitted("pip install --upgrade jax", "jax", "0.6.2").text
        == "pip install --upgrade jax"
    )
    assert recording.cache_info().misses == 0


def test_accepted_flags_stay_as_they_are() -> None:
    text = (
        'os.environ["XLA_FLAGS"] = "--xla_gpu_enable_latency_hiding_scheduler=true '
        '--xla_gpu_enable_command_buffer="'
    )

    assert fitted(text, "jax", "0.6.2") == fitted(text, None, None)


def test_flags_get_the_name_that_the_version_has() -> None:
    text = "XLA_FLAGS='--xla_gpu_enable_pipelined_all_gather=true' python train.py"

    assert fitted(text, "jax", "0.10.2").text == text
    assert (
        fitted(text, "jax", "0.12.0").text
        == "XLA_FLAGS='--xla_gpu_pipeline_all_gather=on' python train.py"
    )


def test_flags_for_the_tpu_compiler_are_left_alone() -> None:
    text = (
        'LIBTPU_INIT_ARGS="--xla_tpu_enable_async_collective_fusion=true '
        '--xla_enable_async_all_gather=true"'
    )

    assert fitted(text, "jax", "0.10.2").refused == ""


def test_a_fix_with_a_refused_flag_is_left_out() -> None:
    good, bad = fix("--xla_gpu_autotune_level=3"), fix("--xla_gpu_detect_nan=none")

    found = fit_flags([good, bad], "jax", "0.6.2")

    assert found.fixes == (good,)
    assert found.left_out == ""


def test_when_no_fix_is_left_the_version_is_named() -> None:
    bad = fix("", {"XLA_FLAGS": "--xla_gpu_detect_nan=none"})

    found = fit_flags([bad], "jax", "0.6.2")

    assert found.fixes == ()
    assert found.left_out == (
        "The fix needs another version: --xla_gpu_detect_nan (jaxlib accepts it from "
        "0.8.1 on)."
    )


def test_the_names_change_in_the_variables_too() -> None:
    one = fix(
        "XLA_FLAGS=--xla_gpu_enable_dynamic_slice_fusion=true",
        {"XLA_FLAGS": "--xla_gpu_enable_dynamic_slice_fusion"},
    )

    (fitted_fix,) = fit_flags([one], "jax", "0.4.31").fixes

    assert (
        fitted_fix.snippet
        == "XLA_FLAGS=--xla_gpu_enable_address_computation_fusion=true"
    )
    assert fitted_fix.env == {
        "XLA_FLAGS": "--xla_gpu_enable_address_computation_fusion"
    }
    assert (
        fitted_fix.valid_for
        == "jaxlib; --xla_gpu_enable_dynamic_slice_fusion is set so by default in that "
        "version"
    )


def test_a_version_that_is_not_known_is_said_so() -> None:
    (fitted_fix,) = fit_flags(
        [fix("--xla_gpu_autotune_level=3")], "tensorflow", None
    ).fixes

    assert fitted_fix.valid_for.startswith("jaxlib; flags judged by TensorFlow 2.")
    assert fitted_fix.valid_for.endswith("as no version is known")


def test_a_flag_that_changes_nothing_is_said_so() -> None:
    """It may still be right: the user may have turned it off."""
    found = fitted("XLA_FLAGS=--xla_gpu_triton_gemm_any=true", "jax", "0.10.2")

    assert found.text == "XLA_FLAGS=--xla_gpu_triton_gemm_any=true"
    assert (
        found.note == "--xla_gpu_triton_gemm_any is set so by default in that version"
    )
    assert fitted("XLA_FLAGS=--xla_gpu_triton_gemm_any=true", "jax", "0.5.0").note == ""


def test_a_fix_that_changes_nothing_is_left_out_where_another_helps() -> None:
    on_anyway, other = (
        fix("XLA_FLAGS=--xla_gpu_triton_gemm_any=true"),
        fix("XLA_FLAGS=--xla_gpu_autotune_level=3"),
    )

    newer = fit_flags([on_anyway, other], "jax", "0.10.2").fixes
    older = fit_flags([on_anyway, other], "jax", "0.5.0").fixes

    assert [one.snippet for one in newer] == [other.snippet]
    assert len(fit_flags([on_anyway], "jax", "0.10.2").fixes) == 1
    assert [one.snippet for one in older] == [on_anyway.snippet, other.snippet]


def test_reports_without_flags_do_not_read_the_recording() -> None:
    """It is 200 kB; the command starts in a tenth of a second."""
    import subprocess

    code = (
        "import tfadvisor.advice.judging.judge_rules, sys; "
        "sys.exit(any(one in sys.modules for one in "
        "('tfadvisor.advice.flags.recorded', 'tfadvisor.advice.flags.acceptance')))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


RULE = """
id: made-up
category: kernel
title: Made up
why: For this test.
when: {metric: device_busy_fraction, at_least: 0.5}
severity: low
summary: The devices are busy.
evidence: []
fixes:
  - {kind: flag, do: Look for NaN., snippet: XLA_FLAGS=--xla_gpu_detect_nan=fail python train.py, valid_for: any}
source:
  - {doc: JXG, section: made-up, url: https://docs.jax.dev}
"""


@pytest.mark.parametrize(("version", "fixes"), [("0.6.2", 0), ("0.8.1", 1)])
def test_a_finding_without_a_fix_says_what_version_has_one(
    version: str, fixes: int
) -> None:
    values = {
        name: Measured(
            0.9 if name == "device_busy_fraction" else None,
            one.unit,
            "absent",
            one.about,
        )
        for name, one in registered_metrics().items()
    }
    known = {"framework": "jax", "framework_version": version}
    measured = Metrics(
        values, {name: (known.get(name), "absent") for name in registered_facts()}
    )

    finding = outcome_of(checked(load(RULE, "made-up.yaml")), measured)

    assert isinstance(finding, Finding)
    assert len(finding.fixes) == fixes
    assert (
        "needs another version: --xla_gpu_detect_nan (jaxlib accepts it from 0.8.1 on)"
        in finding.summary
    ) is (fixes == 0)
    assert finding.summary.startswith("The devices are busy.")


def test_jax_writes_its_version_into_a_trace() -> None:
    fixture = FIXTURES / "jax-loader"

    assert tfadvisor.analyze(fixture).report.run.framework_version == "0.10.2"


@pytest.mark.parametrize(
    ("version", "later"),
    [("0.10.2", {"--xla_gpu_command_buffer_update_mode"}), ("0.12.0.1", set())],
)
def test_every_flag_that_a_rule_prints_is_accepted(
    version: str, later: set[str]
) -> None:
    """With a number where the rule fills one in. benchmarks/check_flags.py starts a
    real jaxlib with each. later: of which the value is one of a newer version.
    """
    texts = [
        PLACEHOLDER.sub("1024", text)
        for rule in built_in_rules()
        for fix in rule.fixes
        for text in (fix.snippet, *fix.env.values())
    ]
    refused = {fitted(text, "jax", version).refused for text in texts} - {""}

    assert {text.partition(" ")[0] for text in refused} == later


def test_a_value_that_only_a_newer_version_reads_is_refused() -> None:
    flag = "--xla_gpu_command_buffer_update_mode=SKIP_TEMP"

    assert "'SKIP_TEMP' is not accepted" in fitted(flag, "jax", "0.10.2").refused
    assert fitted(flag, "jax", "0.11.2").refused == ""
