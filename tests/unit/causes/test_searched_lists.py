"""Lists that lines of a program search."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tfadvisor.causes.costly_calls import CallsOfFile, MadeCall
from tfadvisor.causes.source_files import ParsedFile


def made(code: str) -> MadeCall | None:
    """On the line that ends with `# here`."""
    text = dedent(code)
    lines = tuple(text.splitlines())
    line = next(n for n, held in enumerate(lines, 1) if held.endswith("# here"))
    parsed = ParsedFile(ast.parse(text), lines, "same", "train.py")
    return CallsOfFile(parsed).made_on(line, "host")


def test_a_list_of_an_object_that_is_searched() -> None:
    found = made(
        """
        class Words:
            def __init__(self, texts):
                self.all = ["<pad>"] + sorted(set(texts))
            def encode(self, text):
                for at, word in enumerate(text.split()):
                    row[at] = self.all.index(word)  # here
        """
    )

    assert found is not None
    assert found.known.calls == ("list.index()",)
    assert found.own.splitlines() == [
        "# once, behind line 4",
        "self.places_in_all = {word: i for i, word in enumerate(self.all)}",
        "# in encode",
        "row[at] = self.places_in_all[word]",
    ]


@pytest.mark.parametrize(
    "code",
    [
        "known = list(words)\nfor w in text: keep = w in known  # here",
        "known = []\nfor w in words: known.append(w)\n"
        "def encode(text):\n  return [w in known for w in text]  # here",
    ],
)
def test_what_is_asked_for_an_element(code: str) -> None:
    found = made(code)

    assert found is not None
    assert found.known.calls == ("x in list",)
    assert "in places_in_known" in found.own


@pytest.mark.parametrize(
    "code",
    [
        "known = set(words)\nfor w in text: keep = w in known  # here",
        "known = ['a', 'b']\nfor w in text: keep = w in known  # here",
        "seen = []\nfor w in text:\n  new = w in seen  # here\n  seen.append(w)",
        "def f(text):\n  keep = 'a' in text  # here",
        "import numpy as np\nknown = list(w)\nx = np.sort(x) if w in known else x  # here",
    ],
    ids=["a set", "a short list", "it grows", "a text", "beside a library's call"],
)
def test_other_lines_search_no_list(code: str) -> None:
    found = made(code)

    assert found is None or found.known.calls[0] not in ("x in list", "list.index()")
