"""The two ways to compile with measured costs: this profile, or JAX measuring by itself."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec

from tfadvisor.flags.advice import variables
from tfadvisor.flags.catalogue import accepts
from tfadvisor.flags.recorded import is_newer

_SCHEDULER = "--xla_gpu_enable_latency_hiding_scheduler=true"
_FILE = "--xla_gpu_pgle_profile_file_or_directory_path"
_AUTOMATIC, _RUNS = "JAX_ENABLE_PGLE", "JAX_PGLE_PROFILING_RUNS"


class LaunchLines(msgspec.Struct, frozen=True):
    """profile, automatic: what to put before a command; "" where the version knows no such thing. notes: why, and by what."""

    profile: str
    automatic: str
    notes: tuple[str, ...]


def launch_lines(file: Path, framework: str, version: str | None) -> LaunchLines:
    """framework: as reports name it; of TensorFlow the flags are those of its own XLA. version: None for the newest known."""
    library = "tensorflow" if framework == "tensorflow" else "jaxlib"
    flag = f"{_FILE}={file.absolute()}"
    answers = [accepts(one, version, library) for one in (_SCHEDULER, flag)]
    refused = [one for one in answers if one.accepted is False]
    notes = (
        [f"the profile cannot be used: {refused[0].note}"] if refused else [one.note for one in answers[1:] if one.note]
    )
    known = [f"--{one.name}={one.value}" for one in answers if not one.is_default]
    profile = "" if refused else f"XLA_FLAGS={shlex.quote(' '.join(known))}"
    automatic = ""
    if framework in ("jax", "unknown"):
        since = variables()[_AUTOMATIC].since
        if version is not None and since and is_newer(since, version):
            notes.append(f"{_AUTOMATIC} is known from JAX {since} on")
        else:
            automatic = f"{_AUTOMATIC}=true {_RUNS}={variables()[_RUNS].default}"
    return LaunchLines(profile, automatic, tuple(notes))
