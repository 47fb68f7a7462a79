"""Starts the installed jaxlib and TensorFlow with every flag and variable that a rule
can print, and asks what each changes.

    python benchmarks/check_flags.py [PYTHON…]      exit 1 when one is refused, changes nothing, or is recorded otherwise

PYTHON: interpreters that have jax, tensorflow or both; without any, the one that runs
this. Settings are taken from the fixes of all rules, each for the framework that its
fix is for. All are given to one process; where that ends, those that end it are found
by halves. A library for the CPU reads flags of GPUs too, so without an accelerator this
shows that it starts with them, and by its recorded defaults that they set something
else. libtpu compiles for TPUs that are not there, so what its flags change in two
programs is seen; that takes a minute a fix. What any of them gains, this does not show.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.flags.acceptance import table_of
from tfadvisor.advice.flags.advice import variables
from tfadvisor.advice.flags.check import jaxlib_of
from tfadvisor.advice.flags.prescribe import fitted
from tfadvisor.advice.flags.recorded import is_newer
from tfadvisor.advice.flags.setting_values import is_default_of_variable
from tfadvisor.advice.judging.conditions import Condition, FactIs, Joined
from tfadvisor.advice.loading.catalogue import load_catalogue

FLAG = re.compile(r"--(?:tf_)?xla_\w+(?:=[^\s\"'`;)]*)?")
VARIABLE = re.compile(r"\b((?:XLA|JAX|TF|NCCL|CUDA|LIBTPU)_[A-Z0-9_]+)=([^\s\"'`;)]+)")
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
BYTES, NUMBER = "33554432", "4"
"""In place of what a rule fills in: a number of bytes, or of cores, threads and steps.
"""
HOLDERS = ("XLA_FLAGS", "TF_XLA_FLAGS", "LIBTPU_INIT_ARGS")
START = {
    "jax": "import jax; print(jax.jit(lambda x: x + 1)(1.0))",
    "tensorflow": "import tensorflow as tf; print(tf.function(lambda x: x + 1, "
    "jit_compile=True)(tf.constant(1.0)))",
}
TPUS = ("v6e:2x2x1", "tpu7x:2x2x1")
"""Generations whose sparse cores can run collectives, and four chips of each."""
TRAINING = """
import hashlib, re, sys
import jax, jax.numpy as jnp, numpy as np
from jax.experimental.topologies import get_topology_desc
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(np.array(get_topology_desc(platform="tpu", topology_name=sys.argv[1]).devices), ("data",))

def loss(weights, x):
    for one in weights:
        x = jnp.tanh(x @ one)
    return (x.astype(jnp.float32) ** 2).mean()

def step(weights, x):
    return jax.tree.map(lambda old, slope: old - slope * 1e-3, weights, jax.grad(loss)(weights, x))

def given(rows, *split):
    return jax.ShapeDtypeStruct((rows, 2048), jnp.bfloat16, sharding=NamedSharding(mesh, PartitionSpec(*split)))

for split in ((), ("data",)):
    text = jax.jit(step, donate_argnums=0).lower((given(2048, *split),) * 2, given(8192, "data")).compile().as_text()
    print(hashlib.sha256(re.sub(r"metadata=[{][^}]*[}]", "", text.partition("ENTRY")[2]).encode()).hexdigest())
"""
"""Compiles a step of data-parallel and one of fully sharded training; prints a hash of
each compiled program.
"""
VERSION = {
    "jax": "from jaxlib import __version__",
    "tensorflow": "from tensorflow import __version__",
    "libtpu": "import importlib.metadata; __version__ = importlib.metadata.version('libtpu')",
}
OF_BOTH = ("NCCL", "CUDA")


class Printed(NamedTuple):
    """One flag (`--name=value`) or variable (`NAME=value`), and the rule that prints it
    for these frameworks.

    beside: all that the fix prints. It is left out of a report where none of its flags
    changes anything, and another fix does.
    """

    text: str
    rule: str
    frameworks: frozenset[str]
    beside: str


def printed() -> Iterator[Printed]:
    """Every setting of every fix, but for bare names of flags that need a value:
    mentions.
    """
    for rule in load_catalogue(preview=True).rules:
        for fix in rule.fixes:
            of = frameworks_of(fix.needs) & frameworks_of(rule.when)
            texts = (
                fix.snippet,
                *(f"{name}={value}" for name, value in fix.env.items()),
            )
            for text in (
                PLACEHOLDER.sub(
                    lambda name: BYTES if "bytes" in name[1] else NUMBER, one
                )
                for one in texts
            ):
                if "LIBTPU_INIT_ARGS" in text:
                    continue
                for flag in FLAG.findall(text):
                    if "=" in flag or is_bool(flag.lstrip("-")):
                        yield Printed(flag, rule.id, of, text)
                for name, value in VARIABLE.findall(text):
                    if name not in HOLDERS:
                        yield Printed(
                            f"{name}={value}", rule.id, of & owners(name), text
                        )


def frameworks_of(condition: Condition | None) -> frozenset[str]:
    """For which of the frameworks a condition can hold."""
    if isinstance(condition, FactIs) and condition.fact == "framework":
        return frozenset(START) & frozenset(condition.words)
    if isinstance(condition, Joined) and condition.how != "not":
        parts = [frameworks_of(one) for one in condition.parts]
        return (
            frozenset.intersection(*parts)
            if condition.how == "all"
            else frozenset.union(*parts)
        )
    return frozenset(START)


def owners(name: str) -> frozenset[str]:
    """Which libraries read a variable."""
    if name.startswith("TF_"):
        return frozenset({"tensorflow"})
    return frozenset(START) if name.startswith(OF_BOTH) else frozenset({"jax"})


def is_bool(name: str) -> bool:
    """Whether a flag means something without a value."""
    table = table_of(name, "jaxlib")
    flag = table.flag(name, table.versions[-1])
    return flag is None or flag.kind == "bool"


def installed(framework: str, python: str) -> str | None:
    """The version, None when the interpreter has none."""
    asked = subprocess.run(
        [python, "-c", f"{VERSION[framework]}; print(__version__)"],
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or None


def starts(framework: str, python: str, settings: Sequence[str]) -> bool:
    """Whether a process lives with these settings."""
    given = {
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
    }
    for one in settings:
        name, _, value = one.partition("=")
        if one.startswith("--"):
            holder = "TF_XLA_FLAGS" if one.startswith("--tf_") else "XLA_FLAGS"
            given[holder] = f"{given.get(holder, '')} {one}".strip()
        else:
            given[name] = value
    started = subprocess.run(
        [python, "-c", START[framework]],
        env={**os.environ, **given},
        capture_output=True,
        check=False,
    )
    return not started.returncode


def refused(framework: str, python: str, settings: Sequence[str]) -> list[str]:
    """Those with which no process lives, found by halves."""
    if starts(framework, python, settings):
        return []
    if len(settings) == 1:
        return list(settings)
    middle = len(settings) // 2
    return refused(framework, python, settings[:middle]) + refused(
        framework, python, settings[middle:]
    )


def fault_of(setting: str, framework: str, version: str) -> tuple[str, str]:
    """(what the version calls it, why it should not be printed for it; "" where it
    should).
    """
    if setting.startswith("--"):
        given = fitted(setting, framework, version)
        return given.text, given.refused or (
            "changes nothing: it is the default" if given.changes_nothing else ""
        )
    name, _, value = setting.partition("=")
    known = variables().get(name)
    if known is None:
        return setting, "not a variable that is known"
    if known.gone:
        return setting, known.gone
    if framework == "jax" and known.since and is_newer(known.since, jaxlib_of(version)):
        return setting, f"jaxlib reads it from {known.since} on"
    return setting, "changes nothing: it is the default" if is_default_of_variable(
        known, value
    ) else ""


def compare(
    framework: str, version: str, python: str, settings: Sequence[Printed]
) -> int:
    """Prints a line for each setting; how many are refused, change nothing, or are
    recorded otherwise.
    """
    library = "jaxlib" if framework == "jax" else framework
    rules: dict[str, list[str]] = {}
    beside = {one.text: one.beside for one in settings}
    for one in settings:
        if framework in one.frameworks and not (
            framework == "jax" and one.text.startswith("--tf_")
        ):
            rules.setdefault(one.text, []).append(one.rule)
    found = {text: fault_of(text, framework, version) for text in sorted(rules)}
    dead, wrong = (
        refused(
            framework, python, list(dict.fromkeys(text for text, _ in found.values()))
        ),
        0,
    )
    for setting, (text, fault) in found.items():
        lives = text not in dead
        fix = fitted(beside[setting], framework, version)
        left_out = (
            fault and setting.startswith("--") and (fix.refused or fix.changes_nothing)
        )
        wrong += not lives if not fault else not left_out
        verdict = "starts" if lives else "REFUSED"
        told = (
            f"; {fault}, so no report for it prints this"
            if left_out
            else f"; WRONG: {fault}"
            if fault
            else ""
        )
        print(
            f"{library} {version}: {verdict}{told}: {text} "
            f"({', '.join(dict.fromkeys(rules[setting]))})",
            flush=True,
        )
    return wrong


def of_libtpu() -> dict[str, str]:
    """Values of `LIBTPU_INIT_ARGS` that fixes print, each with the rules that
    print it.
    """
    found: dict[str, list[str]] = {}
    for rule in load_catalogue(preview=True).rules:
        for fix in rule.fixes:
            for value in re.findall(r'LIBTPU_INIT_ARGS="(--[^"]*)"', fix.snippet):
                found.setdefault(value, []).append(rule.id)
    return {value: ", ".join(rules) for value, rules in found.items()}


def compiled(python: str, topology: str, flags: str) -> tuple[str, ...]:
    """What TRAINING prints with these flags, nothing where libtpu refuses one."""
    given = {
        "JAX_PLATFORMS": "cpu",
        "TPU_SKIP_MDS_QUERY": "1",
        "LIBTPU_INIT_ARGS": flags,
    }
    asked = subprocess.run(
        [python, "-c", TRAINING, topology],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=False,
    )
    return () if asked.returncode else tuple(asked.stdout.split()[-2:])


def compare_libtpu(version: str, python: str) -> int:
    """Prints a line for each value; how many are refused, or change no program for any
    TPU.
    """
    wrong = 0
    plain = {topology: compiled(python, topology, "") for topology in TPUS}
    for value, rules in of_libtpu().items():
        with_it = {topology: compiled(python, topology, value) for topology in TPUS}
        changed = [
            topology for topology in TPUS if with_it[topology] != plain[topology]
        ]
        starts_it = all(plain.values()) and all(with_it.values())
        verdict = (
            f"changes programs for {', '.join(changed)}"
            if changed
            else "WRONG: changes nothing"
        )
        print(
            f"libtpu {version}: {verdict if starts_it else 'REFUSED'}: {value} "
            f"({rules})",
            flush=True,
        )
        wrong += not starts_it or not changed
    return wrong


def main(pythons: list[str]) -> int:
    settings = list(printed())
    print(
        "Without an accelerator: what starts, and what is no default. What it gains "
        "is not measured."
    )
    wrong = found = 0
    for python in pythons:
        for framework in START:
            if version := installed(framework, python):
                found += 1
                wrong += compare(framework, version, python, settings)
        if installed("jax", python) and (version := installed("libtpu", python)):
            wrong += compare_libtpu(version, python)
        else:
            print(f"not checked, no libtpu there: {', '.join(of_libtpu().values())}")
    if not found:
        print("neither jax nor tensorflow is installed there", file=sys.stderr)
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [sys.executable]))
