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

[[override]]
models = ["a"]
[override.relative]
step_time_ms = 1

[[override]]
[override.relative]
step_time_ms = 2
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
        (("override", 0), 16),
        (("override", 0, "models"), 17),
        (("override", 0, "relative", "step_time_ms"), 19),
        (("override", 1), 21),
        (("override", 1, "relative", "step_time_ms"), 23),
        (("override", 1, "relative", "x.y"), 24),
        (("override", 1, "relative", "nothing"), 22),
        (("nothing",), 1),
    ],
)
def test_a_key_is_on_its_line(path: Path, line: int) -> None:
    assert line_of(TEXT, path) == line


def test_an_empty_text_has_one_line() -> None:
    assert line_of("", ("a",)) == 1
