"""Installs a wheel of tfadvisor beside TensorFlow and JAX, each release in a fresh
environment, and prints what came of it.

    python benchmarks/beside_frameworks.py [--environments DIR] [--made] [--wheels DIR]
    [--only RELEASE …]

Releases are those of `fixtures/versions/environments.yaml`. For each: what pip moved of
what was there (must be nothing), whether the framework still computes, whether
`tfadvisor analyze` writes of four fixtures what it writes with the Python that runs
this (which has tfadvisor), and the tab in TensorBoard. Exit code 1 when any of it is
not as it must be. Needs PyYAML, the Pythons named there, and 2 GB of disk at a time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "fixtures"))
from environments import install, installed_in, make  # noqa: E402

RELEASES = (
    "tensorflow-2.12",
    "tensorflow-2.13",
    "tensorflow-2.15",
    "tensorflow-2.17",
    "tensorflow-2.21",
    "jax-0.4.30",
    "jax-0.6.2",
    "jax-0.10.2",
)
COMPUTE = {
    "tensorflow": "import tensorflow as tf; print(float(tf.reduce_sum(tf.ones([2, 2]))))",
    "jax": "import jax.numpy as jnp; print(float(jnp.ones((2, 2)).sum()))",
}
TRACES = ("jax-logging", "tf-eager", "tf-heavy-map", "jax-4dev-imbalance")
TOLD = ("numpy", "protobuf", "typing-extensions")
PATIENCE_S = 120


@dataclass(frozen=True)
class Outcome:
    """One row of the table. moved: package -> versions before and after.
    own_tensorboard: it came with the framework.
    """

    release: str
    python: str
    found: dict[str, str]
    moved: dict[str, str]
    added: list[str]
    computes: bool
    analyzes: bool
    own_tensorboard: bool
    tab: bool

    @property
    def good(self) -> bool:
        """All as it must be."""
        return not self.moved and self.computes and self.analyzes and self.tab


def main() -> int:
    """Tries every release and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--environments",
        type=Path,
        default=Path(".venv-beside"),
        help="default: %(default)s",
    )
    parser.add_argument(
        "--made",
        action="store_true",
        help="they are there; tfadvisor is installed into them and stays",
    )
    parser.add_argument(
        "--wheels",
        type=Path,
        help="where wheels are built, or were; default: a temporary folder",
    )
    parser.add_argument(
        "--only", nargs="+", choices=RELEASES, default=RELEASES, metavar="RELEASE"
    )
    options = parser.parse_args()
    releases = yaml.safe_load(
        (ROOT / "fixtures" / "versions" / "environments.yaml").read_text()
    )
    outcomes = []
    with tempfile.TemporaryDirectory() as place:
        for name in options.only:
            folder, version = (
                options.environments.absolute() / name,
                releases[name]["python"],
            )
            python = (
                folder / "bin" / "python"
                if options.made
                else make(folder, version, releases[name]["install"])
            )
            outcomes.append(
                tried(
                    name,
                    version,
                    python,
                    wheel_for(python, version, options.wheels or Path(place)),
                )
            )
            print(outcomes[-1], file=sys.stderr, flush=True)
            if not options.made:
                shutil.rmtree(folder)
    print(table(outcomes))
    return 0 if all(one.good for one in outcomes) else 1


def tried(release: str, version: str, python: Path, wheel: Path) -> Outcome:
    """Installs tfadvisor's wheel into a release's environment and looks at it."""
    before = installed_in(python)
    install(python, str(wheel))
    after = installed_in(python)
    return Outcome(
        release,
        version,
        {name: before[name] for name in TOLD if name in before},
        {
            name: f"{was} → {after.get(name, 'gone')}"
            for name, was in before.items()
            if after.get(name) != was
        },
        sorted(set(after) - set(before) - {"tfadvisor"}),
        said(python, "-c", COMPUTE[release.partition("-")[0]]).split()[-1:] == ["4.0"],
        all(
            report_of(python, trace) == report_of(Path(sys.executable), trace) != ""
            for trace in TRACES
        ),
        "tensorboard" in before,
        tab_appears(python),
    )


def report_of(python: Path, trace: str) -> str:
    """What `analyze` writes about a fixture: the same bytes with every release of
    NumPy.
    """
    return said(
        python,
        "-m",
        "tfadvisor",
        "analyze",
        str(ROOT / "fixtures" / trace),
        "--format",
        "json",
    )


def wheel_for(python: Path, version: str, place: Path) -> Path:
    """The wheel for this version of Python in `place`; built from a copy of the tree
    where it is not there.
    """
    pattern = f"tfadvisor-*cp{version.replace('.', '')}-cp*.whl"
    if not list(place.glob(pattern)):
        with tempfile.TemporaryDirectory() as sources:
            copy_sources(Path(sources))
            command = [
                python,
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--no-deps",
                "--no-cache-dir",
                "-w",
                place,
                sources,
            ]
            subprocess.run(command, check=True, capture_output=True)
    (wheel,) = place.glob(pattern)
    return wheel


def copy_sources(target: Path) -> None:
    """What a wheel is built from, so that nothing is left in the tree."""
    tree = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    for name in tree:
        if name.startswith(
            (
                "tfadvisor/",
                "rules/",
                "pyproject.toml",
                "setup.py",
                "README.md",
                "LICENSE",
            )
        ):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def said(python: Path, *arguments: str) -> str:
    """What a run of the interpreter prints; its errors are part of this program's."""
    return subprocess.run(
        [python, *arguments], stdout=subprocess.PIPE, text=True, check=False
    ).stdout


def tab_appears(python: Path) -> bool:
    """Starts TensorBoard on a logdir with one run: it lists the tab as active, and the
    tab lists the run.

    Where there is no TensorBoard, the newest is installed first.
    """
    if "tensorboard" not in installed_in(python):
        install(python, "tensorboard")
    with (
        tempfile.TemporaryDirectory() as logdir,
        socket.create_server(("127.0.0.1", 0)) as free,
    ):
        port = free.getsockname()[1]
        free.close()
        run = Path(logdir) / "plugins" / "profile" / "run1"
        run.mkdir(parents=True)
        trace = gzip.decompress(
            (ROOT / "fixtures" / "jax-logging" / "trace.xplane.pb.gz").read_bytes()
        )
        (run / "vm.xplane.pb").write_bytes(trace)
        command = [
            python,
            "-m",
            "tensorboard.main",
            "--logdir",
            logdir,
            "--port",
            str(port),
        ]
        server = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            plugins = answer(f"http://127.0.0.1:{port}/data/plugins_listing")
            runs = answer(f"http://127.0.0.1:{port}/data/plugin/tfadvisor/runs")
        finally:
            server.kill()
            server.wait()
    return (
        bool(plugins)
        and plugins.get("tfadvisor", {}).get("enabled") is True
        and "run1" in json.dumps(runs)
    )


def answer(url: str) -> dict[str, dict[str, object]]:
    """The JSON at a server that may still be starting; empty when it never comes."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=10) as reply:
                return json.load(reply)
        except OSError:
            time.sleep(1)
    return {}


def table(outcomes: list[Outcome]) -> str:
    """Markdown, a row a release."""
    heads = (
        "beside",
        "Python",
        *TOLD,
        "moved",
        "added",
        "framework computes",
        "`analyze`",
        "tab",
    )
    rows = [
        (
            one.release.replace("-", " "),
            one.python,
            *(one.found.get(name, "–") for name in TOLD),
            ", ".join(f"{name} {change}" for name, change in one.moved.items())
            or "nothing",
            ", ".join(one.added) or "nothing",
            *("yes" if good else "**no**" for good in (one.computes, one.analyzes)),
            ("yes" if one.own_tensorboard else "yes, in a TensorBoard added after")
            if one.tab
            else "**no**",
        )
        for one in outcomes
    ]
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
