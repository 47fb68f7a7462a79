"""Runs as many jobs would have left them below one folder."""

from __future__ import annotations

from pathlib import Path

from support.trace_builder import trace


def add(
    logs: Path, name: str, *, period: int = 100, busy: int = 90, hosts: int = 1
) -> Path:
    """Ten steps of `period` µs, in each of which each host's one device computes for
    `busy`. name: `team/model/job/RUN`.
    """
    job, _, session = name.rpartition("/")
    folder = logs / job / "plugins" / "profile" / session
    builder = trace()
    for number in range(hosts):
        builder.host(f"host-{number}").steps(10, period=period)
        for at in range(0, 10 * period, period):
            builder.kernel(
                "GPU:0", "gemm", at + 2, at + 2 + busy, launched=(at, at + 1)
            )
    folder.parent.mkdir(parents=True, exist_ok=True)
    builder.write(folder)
    return folder
