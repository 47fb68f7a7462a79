"""Variables and flags as lines of a shell. Values may come from a trace, so a shell
must never run what they hold.
"""

from __future__ import annotations

import subprocess

import pytest

from tfadvisor.act.repair.launch_lines import launch_lines


def value_in_shell(lines: str, name: str, before: str | None = None) -> str:
    begin = "" if before is None else f"export {name}={before}\n"
    done = subprocess.run(
        ["/bin/sh", "-c", f'{begin}{lines}printf %s "${name}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_flags_are_added_to_those_that_are_set() -> None:
    lines = launch_lines({"XLA_FLAGS": "--xla_b=1 --xla_c="})

    assert (
        value_in_shell(lines, "XLA_FLAGS", "--xla_a=2")
        == "--xla_a=2 --xla_b=1 --xla_c="
    )
    assert value_in_shell(lines, "XLA_FLAGS") == " --xla_b=1 --xla_c="


def test_a_path_goes_before_the_one_that_is_set() -> None:
    lines = launch_lines({"LD_LIBRARY_PATH": "/opt/lib:$LD_LIBRARY_PATH"})

    assert value_in_shell(lines, "LD_LIBRARY_PATH", "/usr/lib") == "/opt/lib:/usr/lib"


@pytest.mark.parametrize(
    "value",
    ["$(echo ran)", "`echo ran`", "a; echo ran", "a'b\"c", "$HOME", "a && b | c > d"],
)
def test_nothing_in_a_value_is_run(value: str) -> None:
    assert value_in_shell(launch_lines({"A": value}), "A") == value
    assert (
        value_in_shell(launch_lines({"XLA_FLAGS": value}), "XLA_FLAGS") == f" {value}"
    )


def test_a_value_stays_on_its_line_and_a_name_that_is_none_is_left_out() -> None:
    assert launch_lines({"A": "x\nrm -rf /", "B;C": "1"}) == "export A='x rm -rf /'\n"
