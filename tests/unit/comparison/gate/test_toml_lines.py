"""Keys are found on their lines."""

from __future__ import annotations

import pytest

from tfadvisor.comparison.gate.config_file import KeyPath as Path
from tfadvisor.comparison.gate.config_file import line_of

TEXT = '''\
# a comment = 1
preset = "strict"
note = """
keep = 99
[relative]
"""
a.b.c = 1

[relative] # limits
"step_time_ms" = { limit = "5%", level = "warn" }
models = [
  "a = 1",
  "b",
]

[[ignore]]
check = "a"
reason = "x"

[[ignore]]
'x.y' = 3
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("preset",), 2),
        (("keep",), 1),
        (("a", "b", "c"), 7),
        (("a", "b"), 7),
        (("relative",), 9),
        (("relative", "step_time_ms"), 10),
        (("relative", "step_time_ms", "level"), 10),
        (("relative", "models"), 11),
        (("ignore", 0), 16),
        (("ignore", 0, "reason"), 18),
        (("ignore", 1), 20),
        (("ignore", 1, "x.y"), 21),
        (("ignore", 1, "nothing"), 20),
        (("nothing",), 1),
    ],
)
def test_a_key_is_on_its_line(path: Path, line: int) -> None:
    assert line_of(TEXT, path) == line


def test_an_empty_text_has_one_line() -> None:
    assert line_of("", ("a",)) == 1
