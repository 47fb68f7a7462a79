"""Rows of an array that a loop of Python updates one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource

PROGRAM = """\
import jax.numpy as jnp
def update(bank, idx, z, n):
    for {}:
        {}
    return bank
"""


def made(folder: Path, head: str, body: str) -> tuple[str, str] | None:
    """(words, own) of the known call on the line of the loop's body."""
    (folder / "train.py").write_text(PROGRAM.format(head, body), encoding="utf-8")
    found = ProgramSource(folder).costly_call("train.py", 4, "launch")
    return None if found is None else (found.words, found.own)


@pytest.mark.parametrize(
    ("head", "body", "own"),
    [
        (
            "row, i in enumerate(idx)",
            "bank = bank.at[i].set(0.5 * bank[i] + 0.5 * z[row])",
            "bank = bank.at[idx].set(0.5 * bank[idx] + 0.5 * z[:len(idx)])",
        ),
        (
            "i, v in zip(idx, z)",
            "bank = bank.at[i].add(v)",
            "bank = bank.at[idx].add(z)",
        ),
        (
            "i in range(n)",
            "bank = bank.at[i].set(z[i])",
            "bank = bank.at[:n].set(z[:n])",
        ),
        ("i in range(n)", "bank = bank.at[i].set(i * 2.0)", ""),
    ],
)
def test_all_rows_in_one_call(head: str, body: str, own: str, tmp_path: Path) -> None:
    found = made(tmp_path, head, body)

    assert found is not None
    assert found[0].startswith("bank.at[i].")
    assert found[1] == (own or found[1])
    assert bool(found[1]) is bool(own)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("i in range(1, n)", "bank = bank.at[i].set(z[i])"),
        ("i in range(n)", "bank = bank.at[i].set(bank[i - 1])"),
        ("i in range(n)", "bank = bank.at[i].set(bank.sum())"),
        ("i in range(n)", "other = bank.at[i].set(z[i])"),
        ("i in range(n)", "bank = bank.at[0].set(z[i])"),
    ],
)
def test_rounds_that_need_one_another_are_none(
    head: str, body: str, tmp_path: Path
) -> None:
    assert made(tmp_path, head, body) is None
