"""What is said of a program in which no steps were found."""

from __future__ import annotations

from pathlib import Path

from support.stacks import sampled

from tfadvisor.report.watched import watched_words

INSTALLED = "/venv/lib/python3.11/site-packages/"
JITTED = f"train.py:<module>:57 {INSTALLED}jax/_src/pjit.py:cache_miss:270"
TRACES = f"{JITTED} {INSTALLED}jax/_src/pjit.py:_trace_for_jit:556 train.py:train:46"
COMPILES = f"{JITTED} {INSTALLED}jax/_src/compiler.py:backend_compile_and_load:402"
LOADS = "train.py:<module>:4 train.py:make_data:9"


def test_the_headline_is_the_call_that_compiles_for_long() -> None:
    """Of 40 s, 12 s compile: more than 10 s, though make_data takes more."""
    words = watched_words(sampled([(LOADS, 2_800), (TRACES, 200), (COMPILES, 1_000)]))

    assert words.compiles
    assert words.most == "12 of 40 s: tracing and compiling train (train.py:57)"
    assert words.lines[0].startswith("Where 40 s went")
    assert [line.split() for line in words.lines[1:3]] == [
        "28 s make_data (train.py:9)".split(),
        "12 s tracing and compiling train (train.py:57)".split(),
    ]


def test_a_short_compilation_is_no_headline() -> None:
    """4 of 40 s: the other 36 s are."""
    words = watched_words(sampled([(LOADS, 3_600), (COMPILES, 400)]))

    assert not words.compiles
    assert words.most == "36 of 40 s: make_data (train.py:9)"


def test_of_what_is_spread_over_many_lines_nothing_takes_most() -> None:
    """Four functions share 8 s."""
    script = [(f"train.py:<module>:{n} train.py:f{n}:9", 200) for n in range(4)]

    assert watched_words(sampled(script)).most == ""


def test_too_few_samples_say_nothing() -> None:
    assert watched_words(sampled([(LOADS, 50)])).lines == ()


LOOPS = """\
import jax


def train(w, x):
    for t in range(100):
        x = x @ w
    return x


jitted = jax.jit(train)
out = jitted(w, x)
"""


def said_of(folder: Path, program: str) -> str:
    """12 s compile the call on line 11, which traces `train` on line 6."""
    file = folder / "train.py"
    file.write_text(program)
    call = f"{file}:<module>:11 {INSTALLED}jax/_src/pjit.py:cache_miss:270"
    traces = f"{call} {INSTALLED}jax/_src/pjit.py:_trace_for_jit:556 {file}:train:6"
    compiles = f"{call} {INSTALLED}jax/_src/compiler.py:backend_compile_and_load:402"
    return "\n".join(watched_words(sampled([(traces, 200), (compiles, 1_000)])).lines)


def test_a_loop_that_a_long_compilation_unrolls_is_shown_as_a_scan(
    tmp_path: Path,
) -> None:
    words = said_of(tmp_path, LOOPS)

    assert "`for t in range(100)` in train (train.py:5)" in words
    assert "carry, values = jax.lax.scan(turn, first, jnp.arange(100))" in words


def test_why_anything_else_compiles_for_long_is_asked(tmp_path: Path) -> None:
    words = said_of(tmp_path, LOOPS.replace("range(100)", "range(n)"))

    assert "Why does it compile for so long?" in words
    assert "def turn" not in words
