"""The GPU scenarios: each says what is planted in it, the recorder knows them all and
outlives those that fail.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from support.places import FIXTURES, RULES

from tfadvisor.trace.messages import XSpace

RECORDER = FIXTURES / "record_jax_gpu.py"
SCENARIOS = sorted(
    program.parent for program in (FIXTURES / "gpu").glob("*/program.py")
)
BOTTLENECKS = set(
    "input host launch compile transfer collective imbalance memory compute none "
    "unknown".split()
)
REQUIRED = {"planted", "framework", "bottleneck", "healthy", "first_finding"}
each_scenario = pytest.mark.parametrize(
    "folder", SCENARIOS, ids=lambda folder: folder.name
)

JAX_WITHOUT_GPU = (
    "def devices(): raise RuntimeError('Unable to initialize backend: no GPU')"
)
JAX_WITHOUT_NUMPY = """
from types import SimpleNamespace
def devices(): return [SimpleNamespace(platform="cpu", device_kind="pretended", client=None)]
def device_count(): return 1
"""


def recorder_run(
    *arguments: str | Path, jax: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"PYTHONPATH": str(jax)} if jax else {})}
    command = [sys.executable, str(RECORDER), *map(str, arguments)]
    return subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def pretended_jax(folder: Path, source: str) -> Path:
    (folder / "jax.py").write_text(source)
    return folder


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(RECORDER.parent))
    spec = importlib.util.spec_from_file_location("record_jax_gpu", RECORDER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "record_jax_gpu", module)
    spec.loader.exec_module(module)
    return module


def truth_of(folder: Path) -> dict[str, object]:
    truth = yaml.safe_load((folder / "truth.yaml").read_text())
    assert isinstance(truth, dict)
    return truth


def test_the_list_names_every_scenario() -> None:
    listed = recorder_run("--list").stdout.split()

    assert listed == [folder.name for folder in SCENARIOS]
    assert len(listed) >= 14


@each_scenario
def test_the_truth_is_complete_and_one_that_the_contract_allows(folder: Path) -> None:
    truth = truth_of(folder)

    assert set(truth) >= REQUIRED
    assert set(truth) <= REQUIRED | {"location", "source"}
    assert truth["planted"]
    assert truth["framework"] == "jax"
    assert truth["bottleneck"] in BOTTLENECKS
    if truth["healthy"]:
        assert truth["first_finding"] is None
        assert "source" not in truth
    else:
        assert re.match(r"(?:TFG|JXG|JXP|JTB|XPS|PTT)-[\w.]+$", str(truth["source"]))
    if truth["first_finding"] is not None:
        assert list(RULES.glob(f"*/{truth['first_finding']}.yaml"))


@each_scenario
def test_the_program_marks_its_steps_and_takes_its_sizes_from_their_one_place(
    folder: Path,
) -> None:
    source = (folder / "program.py").read_text()
    tree = ast.parse(source)
    imported = {
        node.module: node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    }
    sizes = {name.name for name in imported["sizes"].names}
    known = ast.parse((folder.parent / "sizes.py").read_text()).body

    assert ('StepTraceAnnotation("train"' in source) == (
        "no markers" not in (ast.get_docstring(tree) or "no markers")
    )
    assert "jax.profiler.trace(sys.argv[1]" in source
    assert sizes <= {
        node.targets[0].id for node in known if isinstance(node, ast.Assign)
    }
    if "location" in truth_of(folder):
        assert f"def {truth_of(folder)['location']}(" in source


@each_scenario
def test_a_recording_is_the_one_described(folder: Path) -> None:
    trace, description = folder / "trace.xplane.pb.gz", folder / "recording.json"

    assert trace.exists() == description.exists()
    if trace.exists():
        assert (
            hashlib.sha256(trace.read_bytes()).hexdigest()
            == json.loads(description.read_text())["sha256"]
        )


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    run = recorder_run(
        "--out", tmp_path / "out", jax=pretended_jax(tmp_path, JAX_WITHOUT_GPU)
    )

    assert run.returncode == 3
    assert (
        "JAX finds no cuda device: RuntimeError: Unable to initialize backend: no GPU"
        in run.stderr
    )
    assert not (tmp_path / "out").exists()


def test_a_scenario_that_fails_costs_only_itself(tmp_path: Path) -> None:
    jax = pretended_jax(tmp_path, JAX_WITHOUT_NUMPY)

    run = recorder_run(
        "--platform",
        "cpu",
        "--out",
        tmp_path / "out",
        "--only",
        "jax-bf16",
        "jax-scan",
        jax=jax,
    )

    assert run.returncode == 1
    assert "jax-bf16: failed: exit status 1\n    Traceback" in run.stderr
    assert "jax-scan: failed: exit status 1\n    Traceback" in run.stderr
    assert "0 of 2 recorded" in run.stderr
    assert not (tmp_path / "out").exists()


def test_what_there_is_no_time_for_is_named(tmp_path: Path) -> None:
    jax = pretended_jax(tmp_path, JAX_WITHOUT_NUMPY)

    run = recorder_run(
        "--platform", "cpu", "--out", tmp_path / "out", "--within", "1", jax=jax
    )

    assert run.returncode == 1
    assert run.stderr.count("  not reached: no time left\n") == len(SCENARIOS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "jax-nothing"), "no such scenario: jax-nothing"),
        (("--platform", "cpu"), "small traces are no"),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[str, ...], message: str) -> None:
    run = recorder_run(*arguments)

    assert run.returncode == 2
    assert message in run.stderr


def test_a_hanging_program_is_stopped(recorder: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import time; print('begun', flush=True); time.sleep(60)")

    with pytest.raises(
        recorder.RecordingError, match=r"took longer than 1 s\n    begun"
    ):
        recorder.run_program(program, dict(os.environ), 1)


def test_an_unsupported_scenario_gives_its_reason(
    recorder: ModuleType, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys; print('no such kernel here'); sys.exit(os.EX_UNAVAILABLE)"
    )

    with pytest.raises(recorder.UnsupportedError, match=r"^no such kernel here$"):
        recorder.run_program(program, dict(os.environ), 30)


def test_the_trace_keeps_neither_its_host_nor_its_folders(recorder: ModuleType) -> None:
    space = XSpace(hostnames=[b"node17"])
    host = space.planes.add(name=b"/host:CPU")
    host.event_metadata[1].name = b"train"
    host.event_metadata[2].name = b"see /home/somebody/project/train.py"
    line = host.lines.add()
    line.events.add(metadata_id=1)
    line.events.add(metadata_id=2)
    space.planes.add(name=b"/device:GPU:0").lines.add().events.add(metadata_id=1)

    trace = recorder.cleaned(space.SerializeToString())
    kept = XSpace.FromString(trace.content)

    assert (trace.steps, trace.device_events) == (1, 1)
    assert list(kept.hostnames) == [b"hhhhhh"]
    assert (
        kept.planes[0].event_metadata[2].name
        == b"see " + b"_" * len("/home/somebody/project/") + b"train.py"
    )
