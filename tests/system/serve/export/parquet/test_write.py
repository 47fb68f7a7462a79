"""`tfadvisor export --to parquet`, through the installed command, read back by pyarrow
and pandas.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.places import FIXTURES
from support.trace_builder import TraceBuilder, trace

from tfadvisor.serve.export.parquet import TABLES
from tfadvisor.serve.export.parquet_write import schema_of
from tfadvisor.trace.columns import Kind, Selection
from tfadvisor.trace.decode import decode_file

COMMAND = Path(sys.executable).parent / "tfadvisor"


def exported(path: Path, target: Path, *more: str) -> dict[str, pa.Table]:
    done = subprocess.run(
        [COMMAND, "export", path, "--to", "parquet", "-o", target, *more],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "",
        f"tfadvisor: wrote {target}.\n",
    )
    assert sorted(file.name for file in target.iterdir()) == sorted(
        f"{table.name}.parquet" for table in TABLES
    )
    return {
        table.name: pq.read_table(target / f"{table.name}.parquet") for table in TABLES
    }


def built(builder: TraceBuilder, folder: Path) -> dict[str, pa.Table]:
    return exported(builder.write(folder / "run"), folder / "tables")


def rows(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table.column(name).to_pylist() for name in columns), strict=True))


@pytest.fixture(scope="module")
def loader(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    return exported(
        FIXTURES / "jax-loader", tmp_path_factory.mktemp("loader") / "tables"
    )


@pytest.mark.parametrize(
    "folder", ["jax-loader", "tf-python-map", "jax-hosts-late", "tf-workers-late"]
)
def test_files_have_the_documented_schema(tmp_path: Path, folder: str) -> None:
    found = exported(FIXTURES / folder, tmp_path / "tables")

    for table in TABLES:
        assert found[table.name].schema.equals(schema_of(table), check_metadata=True), (
            table.name
        )
    assert found["hosts"].num_rows == len(
        list((FIXTURES / folder).glob("*.xplane.pb*"))
    )


def test_every_event_and_every_stat_is_there(loader: dict[str, pa.Table]) -> None:
    host = decode_file(
        next((FIXTURES / "jax-loader").glob("*.xplane.pb*")), Selection(None)
    )
    events, stats = loader["events"], loader["event_stats"]

    assert events["name"].to_pylist() == [
        host.names.name[row] for row in host.events.row.tolist()
    ]
    assert np.array_equal(events["start_ps"].to_numpy(), host.events.start_ps)
    assert np.array_equal(events["duration_ps"].to_numpy(), host.events.duration_ps)
    assert np.array_equal(events["line"].to_numpy(), host.line_of_event())
    assert stats.num_rows == sum(len(column) for column in host.stats.values())
    for name, column in host.stats.items():
        mine = stats.filter(pa.compute.equal(stats["stat"], name))
        assert np.array_equal(mine["event"].to_numpy(), column.event)
        expected = [
            column.texts[value] if kind in (Kind.TEXT, Kind.BYTES) else None
            for kind, value in zip(
                column.kind.tolist(), column.value.tolist(), strict=True
            )
        ]
        assert mine["text"].to_pylist() == expected
        whole = [
            None if text is not None or kind == Kind.DOUBLE else value
            for text, kind, value in zip(
                expected, column.kind.tolist(), column.value.tolist(), strict=True
            )
        ]
        assert mine["integer"].to_pylist() == whole


def test_classes_of_a_step_add_up_to_its_length(loader: dict[str, pa.Table]) -> None:
    steps, classes = loader["steps"].to_pandas(), loader["step_classes"].to_pandas()

    spent = classes.groupby(["host", "device", "step"]).time_ps.sum().reset_index()
    together = spent.merge(steps, on=["host", "step"])

    assert len(together) == len(steps)
    assert (together.time_ps == together.end_ps - together.start_ps).all()


def test_kernels_have_their_op_and_how_they_were_launched(tmp_path: Path) -> None:
    """256 threads in 8 warps; with 128 registers a thread 65,536 / (128 · 256) = 2
    blocks, 16 of an A100's 64 warps.
    """
    builder = (
        trace()
        .steps(1, period=100)
        .plane_stat("/device:GPU:0", compute_cap_major=8, compute_cap_minor=0)
    )
    details = "regs:128 static_shared:512 dynamic_shared:0 grid:8,2,1 block:256,1,1"
    builder.kernel(
        "GPU:0",
        "volta_scudnn_128x64",
        10,
        30,
        (5, 6),
        tf_op="model/conv1/Conv2D:Conv2D",
        kernel_details=details,
    )

    columns = (
        "op",
        "kernel",
        "kind",
        "grid",
        "block",
        "registers",
        "shared_bytes",
        "occupancy",
        "tensor_cores",
        "ms_per_step",
    )

    assert rows(built(builder, tmp_path)["ops"], *columns) == [
        (
            "model/conv1/Conv2D",
            "volta_scudnn_128x64",
            "compute",
            "8,2,1",
            "256,1,1",
            128,
            512,
            0.25,
            False,
            0.02,
        )
    ]


def test_events_know_their_step(tmp_path: Path) -> None:
    builder = (
        trace()
        .steps(3, period=100, span=80)
        .call("inside", 110, 120)
        .call("before", -10, -5)
    )
    found = built(builder.call("after", 900, 910), tmp_path)

    step = dict(rows(found["events"], "name", "step"))
    assert (step["inside"], step["before"], step["after"]) == (1, None, None)
    assert rows(found["steps"], "step", "start_ps") == [
        (0, 0),
        (1, 100_000_000),
        (2, 200_000_000),
    ]


def test_stats_of_every_kind(tmp_path: Path) -> None:
    found = built(
        trace().step(0, 100).call("call", 0, 10, size=-7, rate=0.5, word="text"),
        tmp_path,
    )

    stats = {
        name: rest
        for name, *rest in rows(
            found["event_stats"], "stat", "integer", "number", "text"
        )
    }
    assert stats["size"] == [-7, -7.0, None]
    assert stats["rate"] == [None, 0.5, None]
    assert stats["word"] == [None, None, "text"]


def test_hostile_names_stay_what_they_are(tmp_path: Path) -> None:
    name = '</script>\x1b[31m\0"; DROP TABLE \u202e日本'
    found = built(trace().step(0, 100, name="train").call(name, 0, 10), tmp_path)

    assert name in found["events"]["name"].to_pylist()
    assert name in found["names"]["name"].to_pylist()


def test_a_file_whose_name_is_no_utf_8(tmp_path: Path) -> None:
    """Its host is named after it."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / os.fsdecode(b"h\xff.xplane.pb")).write_bytes(
        trace().steps(3, period=100).bytes()
    )

    found = exported(tmp_path / "run", tmp_path / "tables")

    assert found["hosts"]["file"].to_pylist() == [
        "h\N{REPLACEMENT CHARACTER}.xplane.pb"
    ]


def test_a_trace_without_steps_has_all_tables(tmp_path: Path) -> None:
    found = built(trace().call("only", 5, 5), tmp_path)

    assert found["events"].num_rows == 1
    assert found["event_stats"].num_rows == 0


def test_pandas_reads_it_as_the_guide_says(
    tmp_path: Path, loader: dict[str, pa.Table]
) -> None:
    events, steps = loader["events"].to_pandas(), loader["steps"].to_pandas()
    counted = steps[steps.kind == "steady"].step

    longest = (
        events[events.step.isin(counted)]
        .groupby("name", observed=True)
        .duration_ps.sum()
        .nlargest(10)
    )

    assert len(longest) == 10


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "mine.txt").write_text("mine")

    done = subprocess.run(
        [
            COMMAND,
            "export",
            FIXTURES / "jax-loader",
            "--to",
            "parquet",
            "-o",
            tmp_path / "tables",
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "not an empty folder" in done.stderr
    assert [file.name for file in tmp_path.rglob("*")] == ["tables", "mine.txt"]


def test_a_damaged_trace_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(trace().steps(3, period=100).bytes()[:-5])

    done = subprocess.run(
        [
            COMMAND,
            "export",
            tmp_path / "h.xplane.pb",
            "--to",
            "parquet",
            "-o",
            tmp_path / "tables",
        ],
        capture_output=True,
        check=False,
    )

    assert done.returncode == 3
    assert [file.name for file in tmp_path.iterdir()] == ["h.xplane.pb"]


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None; from tfadvisor.cli.main import "
        "guarded_main; "
        f"sys.exit(guarded_main(['export', {str(FIXTURES / 'jax-loader')!r}, '--to', "
        "'parquet', '-o', 'tables']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'tfadvisor[parquet]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_whose_name_is_no_utf8_is_a_host_like_others(tmp_path: Path) -> None:
    file = tmp_path / "caf\udce9.xplane.pb"
    file.write_bytes(trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes())

    found = exported(file, tmp_path / "tables")

    assert found["hosts"]["file"].to_pylist() == ["caf\ufffd.xplane.pb"]
