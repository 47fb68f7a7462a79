"""Starts the installed jaxlib and TensorFlow with every flag that a rule can print, and compares with the recording.

    python benchmarks/check_flags.py [PYTHON…]      exit 1 when one is refused, or the recording says otherwise

PYTHON: interpreters that have jax, tensorflow or both; without any, the one that runs this. An accelerator is not
needed, since a library for the CPU reads GPU flags too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping

import tfadvisor.metrics  # noqa: F401  (rules name metrics)
from tfadvisor.advice.flags.catalogue import table_of
from tfadvisor.advice.flags.prescribe import fitted
from tfadvisor.advice.loading.catalogue import built_in_rules

FLAG = re.compile(r"--(?:tf_)?xla_\w+(?:=[^\s\"'`;)]*)?")
PLACEHOLDER = re.compile(r"\{[a-z][a-z0-9_]*\}")
NUMBER = "33554432"
"""In place of what a rule fills in, which is a number of bytes."""
START = {
    "jax": "import jax; print(jax.jit(lambda x: x + 1)(1.0))",
    "tensorflow": "import tensorflow as tf; print(tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1.0)))",
}
VERSION = {"jax": "import jaxlib as it", "tensorflow": "import tensorflow as it"}


def printed() -> Iterator[tuple[str, str]]:
    """Every flag of every fix with the rule that prints it, but for bare names of flags that need a value: mentions."""
    for rule in built_in_rules():
        for fix in rule.fixes:
            for text in (fix.snippet, *fix.env.values()):
                if "LIBTPU_INIT_ARGS" not in text:
                    for flag in FLAG.findall(PLACEHOLDER.sub(NUMBER, text)):
                        if "=" in flag or is_bool(flag.lstrip("-")):
                            yield rule.id, flag


def is_bool(name: str) -> bool:
    """Whether a flag means something without a value."""
    table = table_of(name, "jaxlib")
    flag = table.flag(name, table.versions[-1])
    return flag is None or flag.kind == "bool"


def installed(framework: str, python: str) -> str | None:
    """The version, None when the interpreter has none."""
    asked = subprocess.run(
        [python, "-c", f"{VERSION[framework]}; print(it.__version__)"], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or None


def starts(framework: str, python: str, flag: str) -> bool:
    """Whether a process lives with the flag."""
    variable = "TF_XLA_FLAGS" if flag.startswith("--tf_") else "XLA_FLAGS"
    quiet = {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment = {**os.environ, **quiet, variable: flag}
    started = subprocess.run([python, "-c", START[framework]], env=environment, capture_output=True, check=False)
    return not started.returncode


def compare(framework: str, version: str, python: str, flags: Mapping[str, list[str]]) -> int:
    """Prints a line for each flag; how many are refused, or recorded otherwise."""
    library, wrong = "jaxlib" if framework == "jax" else framework, 0
    for flag, rules in sorted(flags.items()):
        if flag.startswith("--tf_") and framework == "jax":
            continue
        given = fitted(flag, framework, version)
        recorded, real = not given.refused, starts(framework, python, given.text)
        wrong += not (recorded and real)
        told = "" if recorded == real else f", recorded as {'accepted' if recorded else 'refused'}"
        verdict = "accepted" if real else "REFUSED"
        print(f"{library} {version}: {verdict}{told}: {given.text} ({', '.join(dict.fromkeys(rules))})", flush=True)
        if given.note or given.refused:
            print(f"    {given.refused or given.note}")
    return wrong


def main(pythons: list[str]) -> int:
    flags: dict[str, list[str]] = {}
    for rule, flag in printed():
        flags.setdefault(flag, []).append(rule)
    wrong = found = 0
    for python in pythons:
        for framework in START:
            if version := installed(framework, python):
                found += 1
                wrong += compare(framework, version, python, flags)
    if not found:
        print("neither jax nor tensorflow is installed there", file=sys.stderr)
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [sys.executable]))
