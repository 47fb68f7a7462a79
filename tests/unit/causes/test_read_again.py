"""Files of a program that its lines read whole again in each call."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tfadvisor.causes.costly_calls import CallsOfFile, MadeCall
from tfadvisor.causes.source_files import ParsedFile

HEAD = """
import json, os, pickle
import h5py
import numpy as np
import pandas as pd
"""
ARCHIVE = """
class Batches:
    def __init__(self, path):
        self.archive = np.load(path)
    def next(self, rows):
        return self.archive["x"][rows], self.archive["y"][rows]  # here
def write(path):
    np.savez(path, x=x, y=y)
"""


def made(code: str) -> MadeCall | None:
    """On the line that ends with `# here`."""
    text = HEAD + dedent(code)
    lines = tuple(text.splitlines())
    line = next(n for n, held in enumerate(lines, 1) if held.endswith("# here"))
    parsed = ParsedFile(ast.parse(text), lines, "same", "train.py")
    return CallsOfFile(parsed).made_on(line, "host")


def name_of(code: str) -> str:
    found = made(code)
    return "" if found is None else found.known.calls[0]


def test_members_of_an_archive_are_read_once_where_it_is_opened() -> None:
    found = made(ARCHIVE)

    assert found is not None
    assert found.known.calls == ("npz member",)
    assert found.words == "self.archive['x']"
    assert found.own.splitlines() == [
        "# once, in __init__",
        "self.x = self.archive['x']",
        "self.y = self.archive['y']",
        "# in next",
        "return (self.x[rows], self.y[rows])",
    ]


@pytest.mark.parametrize(
    "code",
    [
        "class D:\n  def __getitem__(self, i):\n"
        "    with open(self.path, 'rb') as file:\n"
        "      rows = pickle.load(file)  # here\n"
        "    return rows[i]",
        "def batch(rows):\n  return pd.read_csv(PATH).iloc[rows]  # here",
        "def batch(path, rows):\n  return np.load(path)[rows]  # here\n"
        "def main():\n  path = os.path.join('data', 'x.npy')\n"
        "  for rows in orders:\n    step(batch(path, rows))",
        "file = h5py.File('a.h5')\nfor rows in orders:\n"
        "  x = file['x'][:][rows]  # here",
        "for i in range(9):\n  boxes = json.load(open('boxes.json'))[i]  # here",
    ],
    ids=["pickle", "pandas", "a path that is given", "h5py", "in the loop"],
)
def test_forms_of_it(code: str) -> None:
    assert name_of(code) == "read again"


@pytest.mark.parametrize(
    "code",
    [
        "class D:\n  def __getitem__(self, i):\n"
        "    return np.load(self.paths[i])  # here",
        "def load(path):\n  return np.load(path)  # here\n"
        "for path in paths: step(load(path))",
        "def load(path):\n  return np.load(path)  # here",
        "def batch(rows):\n  return np.load('x.npy', mmap_mode='r')[rows]  # here",
        "table = np.load('x.npy')\nfor i in order: x = table['x'][i]  # here",
        "while True:\n  x = pickle.load(next(files))  # here",
        "class R:\n  def open(self, path): self.path = path\n"
        "  def read(self): return np.load(self.path)  # here",
        "file = h5py.File('a.h5')\nfor rows in orders:\n  x = file['x'][rows]  # here",
    ],
    ids=[
        "another file each",
        "of a loop",
        "nobody gives it",
        "mapped",
        "a field of an array",
        "the next file",
        "an attribute that changes",
        "rows alone",
    ],
)
def test_other_reads_are_none(code: str) -> None:
    assert name_of(code) not in ("read again", "npz member")
