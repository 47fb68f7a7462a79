"""How often `tfadvisor gate --against` is wrong: trials of a program against itself,
and against one that is slower.

python benchmarks/against_trials.py --python PYTHON --budget 10m --same 200 --slower 50
-o trials.jsonl

PYTHON has JAX. A trial is one call of the command in a repository that is made for it:
two commits whose step is as long (`--same`), or where the second takes `--percent`
longer (`--slower`). One line of JSON is written after each; lines that are there
already count, so that an interrupted study goes on. At the end it says which share of
the calls was red.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

COMMAND = Path(sys.executable).parent / "tfadvisor"
_ROWS = 400
KINDS = ("same", "slower")
PROGRAM = """
    import time

    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(x, w):
        for _ in range({products}):
            x = jnp.tanh(x @ w)
        return x


    x, w = jnp.ones(({rows}, 512)) / 512, jnp.ones((512, 512)) / 512
    while True:
        x = step(x, w)
        x.block_until_ready()
        time.sleep({sleep})
"""
"""Half of the step computes and half of it waits between the steps; `slower` makes both
longer alike, by no op more.
"""


def main() -> int:
    arguments = _arguments()
    done = _done(arguments.output)
    with tempfile.TemporaryDirectory(prefix="against-trials-") as folder:
        repositories = {
            kind: _repository(Path(folder) / kind, kind, arguments) for kind in KINDS
        }
        for number in range(max(arguments.same, arguments.slower)):
            for kind in KINDS:
                wanted = number < getattr(arguments, kind)
                if wanted and sum(one["kind"] == kind for one in done) <= number:
                    done.append(_trial(repositories[kind], kind, arguments))
                    with arguments.output.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(done[-1]) + "\n")
    for kind in KINDS:
        print(_summary(kind, [one for one in done if one["kind"] == kind]))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--same", type=int, default=200, metavar="N")
    parser.add_argument("--slower", type=int, default=50, metavar="N")
    parser.add_argument("--percent", type=float, default=10.0)
    parser.add_argument(
        "--step-ms", type=float, default=20.0, help="about how long a step takes"
    )
    parser.add_argument(
        "--products",
        type=int,
        default=8,
        help="matrix products a step: half of it, by trial",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("trials.jsonl"))
    return parser.parse_args()


def _done(file: Path) -> list[dict[str, object]]:
    return (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if file.exists()
        else []
    )


def _repository(folder: Path, kind: str, arguments: argparse.Namespace) -> Path:
    """Two commits of the program."""
    folder.mkdir()
    _git(folder, "init", "--quiet", "--initial-branch=main")
    longer = 1 + arguments.percent / 100 if kind == "slower" else 1.0
    for factor in (1.0, longer):
        rows, sleep = round(_ROWS * factor), arguments.step_ms / 2000 * factor
        text = PROGRAM.format(products=arguments.products, rows=rows, sleep=sleep)
        (folder / "train.py").write_text(dedent(text), encoding="utf-8")
        _git(folder, "add", "train.py")
        _git(folder, "commit", "--quiet", "--allow-empty", "--message", f"{factor:g}")
    return folder


def _git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=trials", "-c", "user.email=trials@localhost"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True)


def _trial(
    repository: Path, kind: str, arguments: argparse.Namespace
) -> dict[str, object]:
    call = [
        COMMAND,
        "gate",
        "--against",
        "HEAD~1",
        "--budget",
        arguments.budget,
        "-f",
        "json",
    ]
    began = time.monotonic()
    ended = subprocess.run(
        [*map(str, call), "--", arguments.python, "train.py"],
        cwd=repository,
        stdout=subprocess.PIPE,
        check=False,
    )
    seconds = time.monotonic() - began
    if not ended.stdout:
        return {"kind": kind, "code": ended.returncode, "seconds": round(seconds, 1)}
    verdict = json.loads(ended.stdout)
    (step,) = (check for check in verdict["checks"] if check["name"] == "step_time_ms")
    return {
        "kind": kind,
        "code": ended.returncode,
        "seconds": round(seconds, 1),
        "turns": verdict["runs"],
        "failed": [
            check["name"] for check in verdict["checks"] if check["outcome"] == "fail"
        ],
        "step": step["outcome"],
        "base_ms": step["base"],
        "head_ms": step["value"],
        "detectable_ms": step["detectable"],
    }


def _summary(kind: str, trials: Sequence[dict[str, object]]) -> str:
    """How many were red, by whatever check, and what was said of the step time."""
    number = len(trials)
    if not number:
        return f"{kind}: no trial"
    red = sum(one.get("code") == 1 for one in trials)
    by_step = sum(one.get("step") == "fail" for one in trials)
    untold = sum(one.get("step") == "cannot tell" for one in trials)
    turns = sorted(int(str(one.get("turns", 0))) for one in trials)[number // 2]
    return (
        f"{kind}: {number} trials, {red} red ({red / number:.1%}), step time red in "
        f"{by_step} and not told in {untold}, "
        f"{turns} turns in the middle"
    )


if __name__ == "__main__":
    sys.exit(main())
