"""Files that were made to fill the memory of their reader: refused, or read in 200 MB
and twenty times their size.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import hlo_builder as hlo
from support.trace_builder import trace
from support.wire import number, sized

from tfadvisor.printable import one_line
from tfadvisor.trace.columns import text_of

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="measures as Linux does"
)

MEASURED = """
import re, sys
from tfadvisor.cli.main import guarded_main
code = guarded_main(["analyze", sys.argv[1], "-o", sys.argv[2]])
print(code, re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""
"""Of this program alone: what getrusage tells counts the memory of the one that started
it.
"""


def good() -> bytes:
    return trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()


def host(content: bytes) -> bytes:
    return good() + sized(1, sized(2, b"/host:CPU") + content)


def name(id_: int, text: bytes) -> bytes:
    return sized(4, number(1, id_) + sized(2, number(1, id_) + sized(2, text)))


def packed_texts() -> bytes:
    """Each has 2 kB and unpacks to 1 MB."""
    stat = sized(5, number(1, 1) + sized(2, number(1, 1) + sized(2, b"hlo_op")))
    texts = (
        gzip.compress(b"%d" % one + b"a" * 1_000_000, 9, mtime=0) for one in range(200)
    )
    return host(
        stat
        + sized(
            3,
            b"".join(
                sized(4, sized(4, number(1, 1) + sized(8, text))) for text in texts
            ),
        )
    )


def gpu_op(text: str) -> bytes:
    builder = trace().steps(3, period=100)
    return builder.busy("GPU:0", (0, 250), name=text).bytes()


def nested() -> bytes:
    """Each begins after the one around it and ends before it: calls of a library in one
    function of the program.
    """
    builder = (
        trace()
        .steps(3, period=100)
        .busy("GPU:0", (0, 250))
        .call("$train.py:3 train", 0, 300)
    )
    for one in range(1, 100_000):
        builder.call("$api.py:7 call", one / 1_000_000, 300 - one / 1_000_000)
    return builder.bytes()


def chain() -> bytes:
    """HLO in which each instruction takes the one before."""
    instructions = [hlo.op(1, "parameter", "f32[8]")]
    instructions += [
        hlo.op(one, "negate", "f32[8]", one - 1) for one in range(2, 100_000)
    ]
    instructions.append(hlo.op(100_000, "fusion", "f32[8]", 99_999, name="gemm"))
    builder = trace().program("jit_step", hlo.module(hlo.computation(1, *instructions)))
    for step in range(3):
        times = step * 100, step * 100 + 80
        builder.step(step * 100, step * 100 + 90).busy("GPU:0", times, name="gemm")
        builder.on_line(
            "/device:GPU:0",
            "Stream #1(Compute)",
            "gemm",
            *times,
            hlo_module="jit_step",
            hlo_op="gemm",
            program_id=7,
        )
    return builder.bytes()


REFUSED: dict[str, Callable[[], bytes]] = {
    "a million empty planes": lambda: good() + sized(1, b"") * 1_000_000,
    "400,000 planes": lambda: good() + sized(1, sized(2, b"/device:GPU:1")) * 400_000,
    "a million empty lines": lambda: host(sized(3, b"") * 1_000_000),
    "half a million names": lambda: host(
        b"".join(name(one, b"") for one in range(500_000))
    ),
    "values of one name": lambda: host(
        sized(4, number(1, 1) + sized(2, b"") * 500_000)
    ),
    "a million stats of a plane": lambda: host(sized(6, b"") * 1_000_000),
    "five million events": lambda: host(sized(3, sized(4, b"") * 5_000_000)),
    "a million host names": lambda: good() + sized(4, b"a") * 1_000_000,
}
READ: dict[str, Callable[[], bytes]] = {
    "a name of 60 MB": lambda: host(
        name(1, b"a" * 60_000_000) + sized(3, sized(4, number(1, 1) + number(3, 5)))
    ),
    "a host's name of 60 MB": lambda: good() + sized(4, b"a" * 60_000_000),
    "texts that unpack to 200 MB": packed_texts,
    "a name of 120,000 scopes": lambda: gpu_op("a/" * 120_000 + "MatMul:MatMul"),
    "a name that counts up": lambda: gpu_op("_1" * 130_000 + "x"),
    "a warning of a million digits": lambda: good() + sized(3, b"1" * 1_000_000),
    "100,000 calls in one another": nested,
    "a chain of 100,000 instructions": chain,
    "two million stats": lambda: host(sized(3, sized(4, sized(4, b"") * 2_000_000))),
}


def measured(data: bytes, folder: Path) -> tuple[int, int, str]:
    """Exit code, peak memory in MB, and what was said."""
    path = folder / "h.xplane.pb"
    path.write_bytes(data)
    call = [sys.executable, "-c", MEASURED, str(path), str(folder / "report.txt")]
    done = subprocess.run(
        call, cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    code, kilobytes = map(int, done.stdout.split())
    return code, kilobytes // 1000, done.stderr


@pytest.mark.parametrize("what", REFUSED)
def test_more_things_than_a_profiler_writes_are_refused(
    tmp_path: Path, what: str
) -> None:
    data = REFUSED[what]()

    code, megabytes, err = measured(data, tmp_path)

    assert code == 3
    assert "no profiler puts into" in err or "than any profiler writes" in err
    assert megabytes < 200 + 20 * len(data) / 1e6


@pytest.mark.parametrize("what", READ)
def test_long_texts_take_memory_in_proportion(tmp_path: Path, what: str) -> None:
    data = READ[what]()

    code, megabytes, _ = measured(data, tmp_path)

    assert code == 0
    assert megabytes < 200 + 20 * len(data) / 1e6
    assert (tmp_path / "report.txt").stat().st_size < 20_000


def test_a_long_name_is_cut_where_it_is_kept_and_where_it_is_shown() -> None:
    assert len(text_of(b"a" * 60_000_000)) == 4096
    assert len(text_of(b"%fusion = " + b"a" * 60_000_000)) == 32 * 1024
    assert len(one_line("a" * 60_000_000)) == 300


def test_a_packed_file_cannot_grow_to_more_than_a_hundred_times_its_size(
    tmp_path: Path,
) -> None:
    """20 kB of one text again and again."""
    path = tmp_path / "h.xplane.pb.gz"
    path.write_bytes(
        gzip.compress(good() + sized(2, b"warning " * 1000) * 4000, 9, mtime=0)
    )
    began = time.monotonic()

    call = [sys.executable, "-c", MEASURED, str(path), str(tmp_path / "report.txt")]
    done = subprocess.run(
        call, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.startswith("3 ")
    assert "expands to more than 16,777,216 bytes" in done.stderr
    assert int(done.stdout.split()[1]) < 200_000
    assert time.monotonic() - began < 20


READS = {
    "analyze": ["analyze", "PATH"],
    "analyze -o": ["analyze", "PATH", "-o", "x.html"],
    "compare": ["compare", "PATH", "PATH"],
    "compare -o": ["compare", "PATH", "PATH", "-o", "x.html"],
    "gate": ["gate", "PATH", "--baseline", "none"],
    "baseline add": ["baseline", "add", "PATH"],
    "export --to perfetto": ["export", "PATH", "--to", "perfetto"],
    "export --to pgle": ["export", "PATH", "--to", "pgle", "-o", "x.pb"],
    "fix": ["fix", "PATH"],
    "try --from": ["try", "--from", "PATH", "--", "true"],
}


@pytest.mark.parametrize("what", READS)
def test_the_command_has_a_deadline_and_says_so(tmp_path: Path, what: str) -> None:
    """Whatever it does meanwhile; here a pattern that never ends."""
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(good())
    call = [str(path) if one == "PATH" else one for one in READS[what]]
    code = f"""
import re, sys
from tfadvisor import memory_limits as memory, analysis
from tfadvisor.cli import entry
from tfadvisor.serve.export import perfetto, pgle
def slow(*given, **more):
    re.match(r"(a|a)+$", "a" * 40 + "b")
memory._SHORTEST_DEADLINE_S = 0.5
pgle.profile = perfetto.conclude = analysis.conclude = slow
sys.argv[1:] = {call!r}
entry.run()
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 3
    last = done.stderr.splitlines()[-1]
    assert (
        "took longer than the 1 s that any trace of this size needs. If you trust "
        "the trace" in last
    )
    assert "Traceback" not in done.stderr
    assert sorted(
        one.name for one in tmp_path.iterdir() if not one.name.startswith(".")
    ) in (
        ["h.xplane.pb"],
        ["h.xplane.pb", "pages"],
    )


def test_what_a_process_holds_already_does_not_count(tmp_path: Path) -> None:
    code = (
        "from tfadvisor.memory_limits import limited_memory\n"
        "held = bytearray(256 << 20)\n"
        "with limited_memory(128 << 20):\n"
        "    small = bytearray(64 << 20)\n"
        "    try:\n"
        "        bytearray(256 << 20)\n"
        "    except MemoryError:\n"
        "        print('refused')\n"
        "large = bytearray(256 << 20)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n", "")


MAIN = ["/home/me/train.py", "main", 3]
FRAMES = [MAIN, *(["/home/me/net.py", f"f{one}", one] for one in range(255))]
DEEP = [*range(256)]


def one_deep() -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Of 39,990 stacks."""
    stacks = [DEEP, *([0, one % 256] for one in range(39_989))]
    return stacks, [[one * 10_000, 0, one, 1] for one in range(39_990)], []


def many_runs() -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Of ten stacks, in pieces by 50,000 naps."""
    stacks = [DEEP, *([0, one] for one in range(9))]
    naps = [[one * 100_000 + 40, one * 100_000 + 50_000] for one in range(50_000)]
    return stacks, [[one * 1000, 0, one % 10, 1] for one in range(100_000)], naps


@pytest.mark.parametrize("made", [one_deep, many_runs])
def test_samples_take_memory_in_proportion(
    tmp_path: Path,
    made: Callable[[], tuple[list[list[int]], list[list[int]], list[list[int]]]],
) -> None:
    """Beside a trace: a table of all runs as deep as the deepest would not."""
    stacks, entries, asleep = made()
    began = 1_700_000_000_000_000_000
    letter = {
        "version": 2,
        "every_ns": 10_000_000,
        "began_ns": began,
        "ended_ns": began + (entries[-1][0] + 10_000) * 1000,
        "first_step_ns": began,
        "frames": FRAMES,
        "stacks": stacks,
        "threads": [["MainThread", True, "7 python"]],
        "samples": entries,
        "asleep": asleep,
    }
    text = json.dumps(letter, separators=(",", ":"))
    (tmp_path / "h.samples.json").write_text(text, encoding="ascii")
    data = good()

    code, megabytes, _ = measured(data, tmp_path)

    assert code == 0
    assert megabytes < 200 + 20 * (len(text) + len(data)) / 1e6
