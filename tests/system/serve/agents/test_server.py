"""`tfadvisor mcp`, driven as an agent drives it: by the SDK's own client, over standard
input and output.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT
from support.trace_builder import trace

pytest.importorskip("mcp.server.mcpserver", reason="needs the MCP SDK 2")

from mcp import Client, StdioServerParameters

from tfadvisor.cli.commands.mcp import mcp
from tfadvisor.errors import TraceError
from tfadvisor.memory_limits import Limits
from tfadvisor.serve.agents import reports
from tfadvisor.serve.agents.tools import _INSTRUCTIONS, Tools

pytestmark = pytest.mark.slow

FIXTURES = ROOT / "fixtures"
Call = tuple[str, dict[str, Any]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a program, two logdirs of it, and links that lead out."""
    below = tmp_path / "project"
    shutil.copytree(
        FIXTURES / "tf-no-prefetch",
        below / "slow",
        ignore=shutil.ignore_patterns("*.py"),
    )
    shutil.copytree(
        FIXTURES / "tf-healthy-loop",
        below / "fast",
        ignore=shutil.ignore_patterns("*.py"),
    )
    shutil.copy(FIXTURES / "tf-no-prefetch" / "program.py", below / "train.py")
    outside = tmp_path / "outside"
    shutil.copytree(FIXTURES / "jax-logging", outside)
    (below / "link").symlink_to(outside)
    (below / "files").mkdir()
    for file in outside.rglob("*.xplane.pb*"):
        (below / "files" / file.name).symlink_to(file)
    return below


def answers(root: Path, *calls: Call) -> list[tuple[bool, str]]:
    """(whether it is an error, the text) of each call of one session with `tfadvisor
    mcp`.

    The handshake that agents use waits for the server. The newer one asks first and
    gives up after 10 s, in which a busy machine may not have started it.
    """

    async def talk() -> list[tuple[bool, str]]:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "tfadvisor", "mcp", "--root", str(root)]
        )
        async with Client(server, mode="legacy") as client:
            results = [
                await client.call_tool(name, arguments) for name, arguments in calls
            ]
        return [
            (bool(one.is_error), "".join(part.text for part in one.content))
            for one in results
        ]

    return asyncio.run(talk())


def test_instructions_and_page_name_the_tools_that_there_are(tmp_path: Path) -> None:
    tools = {tool.__name__ for tool in Tools(reports.Root(tmp_path)).all()}
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")

    assert set(re.findall(r"[a-z]+_[a-z]+", _INSTRUCTIONS)) <= tools
    assert set(re.findall(r"(?m)^\| `(\w+)` \|", page)) == tools


def test_an_agent_finds_the_run_its_cause_and_the_patch(project: Path) -> None:
    listed, brief, rule, patch, compared = answers(
        project,
        ("list_runs", {}),
        ("analyze", {"path": "slow"}),
        ("explain", {"name": "input-not-prefetched"}),
        ("fix", {"path": "slow", "source": "train.py", "rule": "input-not-prefetched"}),
        ("compare", {"base": "slow", "new": "fast"}),
    )

    assert not any(error for error, _ in (listed, brief, rule, patch, compared))
    assert {run["path"].split("/")[0] for run in json.loads(listed[1])["runs"]} == {
        "slow",
        "fast",
    }
    assert brief[1].startswith("INPUT-BOUND")
    assert "dataset.prefetch(tf.data.AUTOTUNE)" in rule[1]
    assert "--- a/train.py" in patch[1]
    assert ".prefetch(" in patch[1]
    assert "input" in compared[1]
    assert ".prefetch(" not in (project / "train.py").read_text("utf-8")


@pytest.mark.parametrize(
    ("fixture", "edited"),
    [
        ("tf-no-prefetch", ".prefetch("),
        ("jax-loader", "            loss.block_until_ready()\n"),
    ],
)
def test_an_agent_mends_a_program_by_what_the_tools_say_alone(
    tmp_path: Path, fixture: str, edited: str
) -> None:
    """It takes the first finding's rule from the brief, asks for its patch, and applies
    it as it is.
    """
    shutil.copytree(
        FIXTURES / fixture,
        tmp_path / "runs" / "slow",
        ignore=shutil.ignore_patterns("*.py"),
    )
    shutil.copy(FIXTURES / fixture / "program.py", tmp_path / "program.py")
    before = (tmp_path / "program.py").read_text("utf-8")

    ((_, listed),) = answers(tmp_path, ("list_runs", {}))
    path = json.loads(listed)["runs"][0]["path"]
    ((_, brief),) = answers(tmp_path, ("analyze", {"path": path}))
    (rule,) = re.findall(r"^1\. .*\(([a-z0-9-]+)\)$", brief, re.M)
    ((error, answer),) = answers(
        tmp_path, ("fix", {"path": path, "source": "program.py", "rule": rule})
    )
    assert not error
    diff, _, told = answer.partition(f"\n\n{rule}: ")
    subprocess.run(
        ["patch", "-p1"],
        cwd=tmp_path,
        input=diff + "\n",
        text=True,
        check=True,
        capture_output=True,
    )

    after = (tmp_path / "program.py").read_text("utf-8")
    compile(after, "program.py", "exec")
    assert (edited in before) is not (edited in after)
    assert told.startswith("program.py:")
    assert len(brief.encode()) <= 2048 + 100


@pytest.mark.parametrize(
    ("fixture", "program", "costs"),
    [
        ("jax-loader", "program.py", r" 27   41%  input .*rows = \[random\.random\("),
        ("jax-logging", "program.py", r" 30   88%  host .*enumerate\(history\)"),
        ("gpu-runs/own-cifar", "main.py", r" 66 .*%  compute .*apply_gradients"),
    ],
)
def test_an_agent_reads_the_line_of_the_brief_among_its_neighbours_with_their_costs(
    tmp_path: Path, fixture: str, program: str, costs: str
) -> None:
    """The trace holds no source; the program lies elsewhere below the root."""
    ignored = shutil.ignore_patterns("*.py", "*.json", "variants")
    shutil.copytree(FIXTURES / fixture, tmp_path / "runs", ignore=ignored)
    (tmp_path / "code").mkdir()
    source = shutil.copy(FIXTURES / fixture / program, tmp_path / "code")

    ((_, listed),) = answers(tmp_path, ("list_runs", {}))
    path = json.loads(listed)["runs"][0]["path"]
    ((_, brief),) = answers(tmp_path, ("analyze", {"path": path}))
    (place,) = re.findall(rf"^   where: ({re.escape(program)}:\d+)", brief, re.M)[:1]
    ((error, shown),) = answers(
        tmp_path, ("explain", {"name": place, "path": path, "source": "code"})
    )

    assert not error
    number = int(place.rpartition(":")[2])
    line = Path(source).read_text("utf-8").splitlines()[number - 1].strip()
    assert re.search(rf"^> +{number} .*{re.escape(line)}$", shown, re.M)
    assert re.search(costs, shown)


def test_the_whole_report_and_parts_of_it(project: Path) -> None:
    parts, unknown, flags = answers(
        project,
        (
            "analyze",
            {
                "path": "slow",
                "detail": "full",
                "sections": ["schema_version", "verdict"],
            },
        ),
        ("analyze", {"path": "slow", "detail": "full", "sections": ["metric"]}),
        (
            "check_flags",
            {
                "flags": "--xla_gpu_enable_latency_hiding_schedular=true",
                "jaxlib": "0.6.2",
            },
        ),
    )

    assert json.loads(parts[1])["verdict"]["bottleneck"] == "input"
    assert list(json.loads(parts[1])) == ["schema_version", "verdict"]
    assert unknown[0]
    assert "no field metric. Did you mean metrics?" in unknown[1]
    assert json.loads(flags[1])["settings"][0]["level"] == "error"


@pytest.mark.parametrize(
    "path", ["..", "../outside", "link", "/", "files", "slow/../../outside"]
)
def test_what_lies_outside_the_root_is_refused(project: Path, path: str) -> None:
    (error, text), (listing_error, listing) = answers(
        project, ("analyze", {"path": path}), ("list_runs", {"path": path})
    )

    assert error
    assert re.search("leads? out of", text)
    assert listing_error or json.loads(listing)["runs"] == []


def test_files_that_are_read_with_a_trace_are_refused_where_they_lead_out(
    project: Path, tmp_path: Path
) -> None:
    """Samples of the program and counters of the machine, found beside the trace."""
    outside = next((tmp_path / "outside").rglob("*.xplane.pb*"))
    trace = next((project / "slow").rglob("*.xplane.pb*"))
    host = trace.name.partition(".xplane")[0]
    for name in (
        f"{host}.samples.json",
        f"{host}.machine.json",
    ):
        link = trace.with_name(name)
        link.unlink(missing_ok=True)
        link.symlink_to(outside)

        (error, text), (_, listing) = answers(
            project, ("analyze", {"path": "slow"}), ("list_runs", {"path": "slow"})
        )

        assert error
        assert "leads out of" in text
        assert json.loads(listing)["runs"] == []
        link.unlink()


def test_a_folder_that_is_called_as_a_snapshot_is_no_way_out(
    project: Path, tmp_path: Path
) -> None:
    folder = project / "evil.json"
    folder.mkdir()
    (folder / "h.xplane.pb").symlink_to(
        next((tmp_path / "outside").rglob("*.xplane.pb*"))
    )

    ((error, text),) = answers(
        project, ("compare", {"base": "evil.json", "new": "slow"})
    )

    assert error
    assert "lead out of" in text


def test_no_message_names_what_lies_outside(project: Path, tmp_path: Path) -> None:
    """Runs, hosts and files behind links, in lists of what there is and in guesses of
    what was meant.
    """
    secret = tmp_path / "outside" / "secret-run"
    shutil.copytree(FIXTURES / "jax-healthy", secret)
    (tmp_path / "outside" / "secret.overview_page.json").write_text("")
    (project / "empty").mkdir()
    (project / "empty" / "link").symlink_to(tmp_path / "outside")
    (project / "empty" / "secret.trace.json").symlink_to(
        tmp_path / "outside" / "secret.overview_page.json"
    )

    told = answers(
        project,
        ("analyze", {"path": ".", "run": "secret"}),
        ("analyze", {"path": "files", "host": "nope"}),
        ("analyze", {"path": "empty"}),
        ("list_runs", {"path": "."}),
    )

    assert [
        text
        for _, text in told
        if "secret-run" in text or "overview" in text or "secret.trace" in text
    ] == []
    assert [error for error, _ in told] == [True, True, True, False]


def test_faults_are_errors_of_the_tool_in_the_words_of_the_command(
    project: Path,
) -> None:
    (project / "empty.xplane.pb").write_bytes(b"")
    cases: Sequence[tuple[Call, str]] = (
        (("analyze", {"path": "nowhere"}), "nowhere: does not exist."),
        (("analyze", {"path": "empty.xplane.pb"}), "is empty."),
        (("analyze", {"path": "slow", "run": "yesterday"}), "is not there"),
        (
            ("explain", {"name": "imput-not-prefetched"}),
            "Did you mean input-not-prefetched?",
        ),
        (("fix", {"path": "slow", "source": ".."}), "leads out of"),
        (
            ("explain", {"name": "train.py:1", "path": "slow", "source": ".."}),
            "leads out of",
        ),
        (("compare", {"base": "slow", "new": "../outside"}), "leads out of"),
        (("check_flags", {"flags": "", "jaxlib": "new"}), "is no version"),
        (("analyze", {"path": "slow", "detail": "all"}), "brief"),
        (
            ("explain", {"rule": "input-not-prefetched"}),
            "explain: name: Field required",
        ),
        (("ops", {"path": "slow", "kind": "copy-ish"}), "no op is of kind copy-ish."),
    )

    told = answers(project, *(call for call, _ in cases))

    assert [error for error, _ in told] == [True] * len(cases)
    assert [
        text
        for (_, text), (_, words) in zip(told, cases, strict=True)
        if words not in text
    ] == []
    assert [text for _, text in told if "\n" in text.strip()] == []


def test_ops_are_filtered_and_limited(project: Path) -> None:
    ((_, text),) = answers(project, ("ops", {"path": "slow", "most": 200}))
    whole = json.loads(text)["ops"]
    name = whole[-1]["kernel"]
    ((_, text), (_, one)) = answers(
        project,
        ("ops", {"path": "slow", "like": name}),
        ("ops", {"path": "slow", "most": 1}),
    )

    assert {op["kernel"] for op in json.loads(text)["ops"]} == {
        op["kernel"] for op in whole if name in op["kernel"]
    }
    assert (json.loads(one)["ops"], json.loads(one)["left_out"]) == (
        whole[:1],
        len(whole) - 1,
    )
    assert all(value is not None for op in whole for value in op.values())


def test_nothing_but_the_protocol_is_on_standard_output(project: Path) -> None:
    """Each line is a message, and when the client closes the server ends by itself with
    0.

    It is not closed before it has answered: what it has not begun to answer by then is
    for nobody.
    """
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    pipes = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "tfadvisor", "mcp"], cwd=project, text=True, **pipes
    )
    assert server.stdin is not None and server.stdout is not None
    lines = []
    for sent in ((hello,), (ready, call)):
        server.stdin.write("".join(json.dumps(one) + "\n" for one in sent))
        server.stdin.flush()
        lines.append(server.stdout.readline())
    rest, said = server.communicate()

    messages = [json.loads(line) for line in [*lines, *rest.splitlines()]]
    tools = messages[1]["result"]["tools"]
    assert (server.returncode, said, len(messages)) == (0, "", 2)
    assert messages[0]["result"]["serverInfo"]["name"] == "tfadvisor"
    assert f"Tools: {', '.join(one['name'] for one in tools)}." in str(
        mcp.__doc__
    )  # what --help says
    assert all(
        one["annotations"]["readOnlyHint"] and one["description"] for one in tools
    )


def test_a_root_that_is_none_is_said_before_anything_is_spoken() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tfadvisor", "mcp", "--root", "/nowhere/at/all"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tfadvisor: --root /nowhere/at/all: no such folder.\n"


def test_an_answer_about_ops_is_no_longer_than_others(project: Path) -> None:
    """Half a megabyte of names."""
    builder = trace().steps(3, period=1000)
    for one in range(120):
        builder.busy(
            "GPU:0",
            *((at + one, at + one + 1.0) for at in (0, 1000, 2000)),
            name=f"{one}{'k' * 4000}",
        )
    (project / "long.xplane.pb").write_bytes(builder.bytes())

    ((error, text),) = answers(
        project, ("ops", {"path": "long.xplane.pb", "most": 200})
    )

    assert not error
    assert len(text) < 110_000
    assert json.loads(text)["ops"] != []
    assert json.loads(text)["left_out"] > 0


@pytest.mark.parametrize(
    "path",
    ["a\0b", "n" * 5000, "x/" * 3000, "file:///etc", "http://127.0.0.1/x", "~root"],
)
def test_a_path_that_no_person_would_ask_for_is_one_line(
    project: Path, path: str
) -> None:
    calls: list[Call] = [
        ("list_runs", {"path": path}),
        ("analyze", {"path": path}),
        ("ops", {"path": path}),
        ("compare", {"base": path, "new": "slow"}),
        ("fix", {"path": "slow", "source": path}),
        ("analyze", {"path": "slow", "run": path}),
        ("analyze", {"path": "slow", "host": path}),
        ("ops", {"path": "slow", "kind": path, "like": path}),
    ]

    told = answers(project, *calls)

    assert [error for error, _ in told] == [True] * len(calls)
    assert [
        text
        for _, text in told
        if "\n" in text.strip() or "bug in tfadvisor" in text or len(text) > 5000
    ] == []


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (
            Limits(0.05, 1 << 40),
            "took longer than the 0 s that any trace of this size needs.",
        ),
        (
            Limits(60, 1 << 20),
            "needs more than the 0.0 GiB that any trace of this size needs.",
        ),
    ],
)
def test_a_trace_that_would_take_everything_ends_its_own_analysis(
    project: Path, monkeypatch: pytest.MonkeyPatch, allowed: Limits, said: str
) -> None:
    """And the server goes on."""
    kept = reports.Reports(reports.root_of(project))
    with monkeypatch.context() as patch:
        patch.setattr(reports, "limits_of_files", lambda _: allowed)
        with pytest.raises(TraceError) as told:
            kept.report("slow")

    assert said in str(told.value)
    assert kept.report("slow").verdict.bottleneck == "input"
