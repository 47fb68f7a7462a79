"""XLA's passes as candidates: each that changes the program's large modules, switched
off alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tfadvisor.act.trial.candidates import Candidate, environment_of, refused
from tfadvisor.act.trial.one_run import StopRequest, last_line
from tfadvisor.act.trial.tried_program import TriedProgram
from tfadvisor.errors import TraceError
from tfadvisor.files import temporary_folder

_DUMPED = re.compile(
    r"^(?P<module>module_\d+\.[^/]*?)\.\d{4}\.(?P<pipeline>[^.]+)"
    r"\.after_(?P<name>[^.]+)\.before_[^.]+\.txt$"
)
"""What XLA calls the state of a module after a pass that has changed it."""
_NEEDED = ("pipeline-start", "copy-insertion", "layout-assignment")
"""No pass, or one without which the rest computes something else."""
_LARGE = 0.2
"""Modules are looked at that are so large beside the largest."""
FLAG = "--xla_disable_hlo_passes="


def pass_candidates(
    command: Sequence[str],
    seconds: float,
    stop: StopRequest,
    tell: Callable[[str], None],
) -> tuple[Candidate, ...]:
    """From one run that writes what its passes do. Raises TraceError where XLA compiles
    nothing, Interrupted.
    """
    tell("looks which passes change the program")
    with temporary_folder("tfadvisor-passes-") as folder:
        flags = f"--xla_dump_to={folder} --xla_dump_hlo_pass_re=.*"
        dumping = environment_of(Candidate(name="", env={"XLA_FLAGS": flags}))
        run = TriedProgram(command, stop).watch(
            seconds,
            1.0,
            dumping,
        )
        sizes = {}
        for file in Path(folder).iterdir():
            sizes[file.name] = file.stat().st_size

    names = passes_in(sizes)
    if not names:
        why = "XLA compiled no program of it"
        if run.code:
            why = f"ended with exit code {run.code}{last_line(run.tail)}"
        raise TraceError(
            " ".join(command),
            f"{why}.",
            "--passes is for programs that XLA compiles: JAX, or jit_compile.",
        )
    versions = run.answers[0].versions if run.answers else {}
    without = map(_without, names)
    return tuple(candidate for candidate in without if not refused(candidate, versions))


def passes_in(sizes: Mapping[str, int]) -> list[str]:
    """Passes that changed a large module, by name. sizes: of the files that XLA wrote,
    by their names.
    """
    found = []
    for name, size in sizes.items():
        dumped = _DUMPED.match(name)
        if dumped is not None:
            found.append((dumped, size))

    largest = max(
        (size for _, size in found),
        default=0,
    )
    large = {dumped["module"] for dumped, size in found if size >= _LARGE * largest}
    names = {dumped["name"] for dumped, _ in found if dumped["module"] in large}
    pipelines = {dumped["pipeline"] for dumped, _ in found}
    return sorted(names - pipelines - set(_NEEDED))


def _without(name: str) -> Candidate:
    return Candidate(
        name=f"without {name}",
        env={"XLA_FLAGS": f"{FLAG}{name}"},
        change=f"pass {name}",
    )
