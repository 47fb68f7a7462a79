"""The plugin inside TensorBoard's own application: routes, names, policies; and a
TensorBoard that starts without it.
"""

from __future__ import annotations

import gzip
import json
import logging
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.logdirs import add_broken_run, add_run

pytest.importorskip(
    "tensorboard", reason="TensorBoard is not installed (the extra `tensorboard`)"
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what TensorBoard imports
    from tensorboard.backend import application
    from tensorboard.plugins import base_plugin
    from werkzeug.test import Client

    from tfadvisor.serve.tensorboard.loader import AdvisorLoader

from tfadvisor.report.forms.encode import FORMAT

ROUTES = "/some/where/data/plugin/tfadvisor"


def context(logdir: Path | str, **plugins: Any) -> Any:
    flags = SimpleNamespace(
        logdir=str(logdir), logdir_spec="", path_prefix="/some/where"
    )
    return base_plugin.TBContext(
        logdir=str(logdir), flags=flags, plugin_name_to_instance=plugins
    )


def started(logdir: Path, **plugins: Any) -> Client:
    """TensorBoard in a subfolder with nothing but this plugin."""
    plugin = AdvisorLoader().load(context(logdir, **plugins))
    return Client(application.TensorBoardWSGI([plugin], "/some/where"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    logdir = tmp_path / "logdir"
    add_run(logdir, "train/2026_01_01_00_00_00")
    add_broken_run(logdir, "2025_01_01_00_00_00")
    return logdir


def listing(client: Client) -> dict[str, Any]:
    return dict(client.get("/some/where/data/plugins_listing").json["tfadvisor"])


def test_the_tab_is_called_advisor_and_active_when_there_is_a_run(
    tmp_path: Path, logdir: Path
) -> None:
    found = listing(started(logdir))

    assert (found["tab_name"], found["enabled"]) == ("Advisor", True)
    assert found["loading_mechanism"] == {
        "type": "IFRAME",
        "module_path": f"{ROUTES}/index.js",
    }
    assert not listing(started(tmp_path / "empty"))["enabled"]


def test_runs_are_listed(logdir: Path) -> None:
    runs = started(logdir).get(f"{ROUTES}/runs").json["runs"]

    assert [one["name"] for one in runs] == [
        "train/2026_01_01_00_00_00",
        "2025_01_01_00_00_00",
    ]
    assert {one["trace_viewer"] for one in runs} == {None}


def test_xprof_is_linked_where_it_is_installed(logdir: Path) -> None:
    run = started(logdir, profile=object()).get(f"{ROUTES}/runs").json["runs"][0]

    assert run["trace_viewer"] == (
        "../../../?tool=trace_viewer&run=train%2F2026_01_01_00_00_00&host={host}#profile"
    )


def test_the_report_is_the_json_report(logdir: Path) -> None:
    answer = started(logdir).get(
        f"{ROUTES}/report", query_string={"run": "train/2026_01_01_00_00_00"}
    )

    assert (answer.status_code, answer.mimetype) == (200, "application/json")
    assert answer.json["schema_version"] == "1"
    assert answer.json["verdict"]["bottleneck"] == "host"


def test_without_a_name_it_is_that_of_the_newest_run(logdir: Path) -> None:
    assert (
        started(logdir).get(f"{ROUTES}/report").json["run"]["name"]
        == "train/2026_01_01_00_00_00"
    )


def test_a_folder_whose_name_is_no_text_is_a_run_like_others(tmp_path: Path) -> None:
    add_run(tmp_path / "logdir", "caf\udce9")
    client = started(tmp_path / "logdir", profile=object())

    (run,) = client.get(f"{ROUTES}/runs").json["runs"]
    report = client.get(f"{ROUTES}/report", query_string={"run": run["name"]})

    assert run["name"] == "caf\ufffd"
    assert report.json["verdict"]["bottleneck"] == "host"
    assert (
        client.get(f"{ROUTES}/page", query_string={"run": run["name"]}).json["format"]
        == FORMAT
    )
    assert (
        "lanes"
        in answered(
            client, run=run["name"], host=report.json["run"]["hosts"][0], index="2"
        ).json
    )


def test_a_broken_run_is_an_answer_not_a_crash(logdir: Path) -> None:
    client = started(logdir)

    answer = client.get(f"{ROUTES}/report", query_string={"run": "2025_01_01_00_00_00"})

    assert answer.status_code == 422
    assert set(answer.json["error"]) == {"place", "cause", "remedy"}
    assert (
        client.get(f"{ROUTES}/page", query_string={"run": "2025_01_01_00_00_00"}).json[
            "state"
        ]
        == "failed"
    )


def test_a_page_says_how_far_it_is_until_it_is_there(logdir: Path) -> None:
    client = started(logdir)
    first = client.get(
        f"{ROUTES}/page", query_string={"run": "train/2026_01_01_00_00_00"}
    )
    client.get(f"{ROUTES}/report")

    then = client.get(f"{ROUTES}/page", headers={"Accept-Encoding": "gzip"})

    assert first.json["state"] in ("waiting", "reading")
    assert json.loads(gzip.decompress(then.data))["format"] == FORMAT


def test_the_list_tells_verdict_and_step_of_a_run_once_it_was_read(
    logdir: Path,
) -> None:
    client = started(logdir)
    before = client.get(f"{ROUTES}/runs").json["runs"]
    report = client.get(f"{ROUTES}/report").json

    after = client.get(f"{ROUTES}/runs").json["runs"]

    assert [one["told"] for one in before] == [None, None]
    kind = "jax, 1 cpu, 1, jit_train_step"  # only runs of one kind are drawn as a trend
    assert after[0]["told"] == {
        "verdict": "host",
        "step_ms": report["steps"]["time_ms"]["median"],
        "kind": kind,
    }
    assert after[1]["told"] is None


def answered(client: Client, **asked: str) -> Any:
    """A step, once it is drawn; or why it is not."""
    for _ in range(300):
        answer = client.get(f"{ROUTES}/step", query_string=asked)
        if "lanes" in answer.json or answer.json.get("error"):
            break
        time.sleep(0.1)
    return answer


def test_any_step_of_a_host_is_drawn_when_it_is_asked_for(logdir: Path) -> None:
    client = started(logdir)
    host = client.get(f"{ROUTES}/report").json["run"]["hosts"][0]

    drawn = answered(client, host=host, index="2").json

    assert (drawn["host"], drawn["index"], drawn["which"]) == (host, 2, "other")
    assert {"classes", "driver"} <= {lane["role"] for lane in drawn["lanes"]}


@pytest.mark.parametrize("index", ["", "-1", "x", "9999999999"])
def test_a_step_that_is_no_number_is_not_asked_for(logdir: Path, index: str) -> None:
    assert answered(started(logdir), host="vm", index=index).status_code == 404


def test_a_step_that_the_run_does_not_have_starts_nothing(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = started(logdir)
    host = client.get(f"{ROUTES}/report").json["run"]["hosts"][0]
    monkeypatch.setattr("tfadvisor.serve.tensorboard.analyses.Analyses.step", None)

    assert (
        client.get(
            f"{ROUTES}/step", query_string={"host": host, "index": "5000"}
        ).status_code
        == 404
    )
    assert (
        client.get(
            f"{ROUTES}/step", query_string={"host": "nobody", "index": "1"}
        ).status_code
        == 404
    )


def test_a_page_of_another_origin_starts_nothing(logdir: Path) -> None:
    """Its browser says where the request is from."""
    client = started(logdir)
    for site, code in (
        ("cross-site", 403),
        ("same-site", 403),
        ("same-origin", 200),
        ("none", 200),
    ):
        assert (
            client.get(f"{ROUTES}/page", headers={"Sec-Fetch-Site": site}).status_code
            == code
        )


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("evil.example:6006", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost:6006", 200),
        ("127.0.0.1:6006", 200),
        ("[::1]:6006", 200),
        ("tb.localhost", 200),
        (socket.gethostname(), 200),
    ],
)
def test_a_name_that_was_given_this_machines_address_starts_nothing(
    logdir: Path, host: str, code: int
) -> None:
    """Its browser sends no Sec-Fetch-Site over http; behind a proxy with https it does.
    From elsewhere any name is right.
    """
    client = started(logdir)
    here, there = {"REMOTE_ADDR": "127.0.0.1"}, {"REMOTE_ADDR": "192.0.2.7"}

    assert (
        client.get(
            f"{ROUTES}/page", headers={"Host": host}, environ_overrides=here
        ).status_code
        == code
    )
    assert (
        client.get(
            f"{ROUTES}/page", headers={"Host": host}, environ_overrides=there
        ).status_code
        == 200
    )
    proxied = {"Host": host, "Sec-Fetch-Site": "same-origin"}
    assert (
        client.get(
            f"{ROUTES}/page", headers=proxied, environ_overrides=here
        ).status_code
        == 200
    )


def test_two_runs_are_compared_once_both_are_read(logdir: Path) -> None:
    add_run(logdir, "train/2026_01_02_00_00_00", "jax-healthy")
    client = started(logdir)
    asked = {"base": "train/2026_01_01_00_00_00", "run": "train/2026_01_02_00_00_00"}
    assert (
        client.get(f"{ROUTES}/comparison", query_string=asked).json["state"]
        == "waiting"
    )
    for run in asked.values():
        client.get(f"{ROUTES}/report", query_string={"run": run})

    for _ in range(200):
        found = client.get(f"{ROUTES}/comparison", query_string=asked).json
        if "causes" in found:
            break
        time.sleep(0.05)

    assert sum(one["change_ms"] for one in found["causes"]) == pytest.approx(
        found["change_ms"], rel=0.01
    )
    assert (found["new"], found["base"]) == (0, 1)
    assert (
        client.get(
            f"{ROUTES}/comparison", query_string={**asked, "base": "../x"}
        ).status_code
        == 404
    )


def test_the_run_is_read_while_the_browser_loads_the_page(
    logdir: Path, tmp_path: Path
) -> None:
    started(logdir).get(f"{ROUTES}/tab.html")

    for _ in range(200):
        if list(tmp_path.glob("cache/tensorboard/*/page.json.gz")):
            return
        time.sleep(0.05)
    pytest.fail("nothing was read")


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "train",
        "",
        "train/../2025_01_01_00_00_00",
        "\0",
        "<script>",
    ],
)
@pytest.mark.parametrize("route", ["report", "page"])
def test_a_name_that_is_not_listed_is_never_looked_for_on_disk(
    logdir: Path, name: str, route: str
) -> None:
    answer = started(logdir).get(f"{ROUTES}/{route}", query_string={"run": name})

    assert (answer.status_code, answer.mimetype) == (404, "application/json")
    assert name == "" or name not in answer.text


def test_routes_only_read(logdir: Path) -> None:
    client = started(logdir)

    assert client.post(f"{ROUTES}/report").status_code == 405
    assert client.head(f"{ROUTES}/runs").data == b""


def test_tensorboard_finds_no_fault_with_any_answer(
    logdir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its validator warns of missing types and of policies that it will refuse
    one day.
    """
    client = started(logdir)
    with caplog.at_level(logging.WARNING):
        answers = [
            client.get(f"{ROUTES}/{one}")
            for one in ("index.js", "tab.html", "tab.js", "tab.css", "runs", "report")
        ]

    assert [one.status_code for one in answers] == [200] * 6
    assert {one.headers["X-Content-Type-Options"] for one in answers} == {"nosniff"}
    assert caplog.records == []


def test_what_cannot_be_imported_leaves_tensorboard_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "tfadvisor.serve.tensorboard.plugin", None)

    assert AdvisorLoader().load(context(tmp_path)) is None

    assert "The tab Advisor cannot be shown" in caplog.text


def test_what_tensorboard_imports_when_it_starts_is_light() -> None:
    code = (
        "import warnings; warnings.simplefilter('ignore'); import sys; import "
        "tensorboard.plugins.base_plugin;"
        "before = set(sys.modules); import tfadvisor.serve.tensorboard.loader;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "['tfadvisor']"


def test_tensorboard_knows_the_plugin_by_its_entry_point() -> None:
    from importlib.metadata import entry_points

    (found,) = entry_points(group="tensorboard_plugins", name="tfadvisor")

    assert found.load() is AdvisorLoader
