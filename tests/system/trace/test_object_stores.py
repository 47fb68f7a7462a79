"""s3:// and gs:// against servers that the test starts, memory:// without one: the same
commands, the same report.
"""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import FIXTURES

import tfadvisor

fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
HOSTS = FIXTURES / "jax-hosts-late"
RUN = "log/train/plugins/profile/2026_01_02_03_04_05"


def put(root: str, **settings: object) -> None:
    """The hosts of a run, and a file that is none of its."""
    filesystem, folder = fsspec.core.url_to_fs(root, **settings)
    for file in HOSTS.glob("*.xplane.pb.gz"):
        filesystem.pipe_file(
            f"{folder}/{RUN}/{file.name.removesuffix('.gz')}",
            gzip.decompress(file.read_bytes()),
        )
    filesystem.pipe_file(f"{folder}/log/checkpoint.index", b"x")


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """A bucket of moto's server."""
    pytest.importorskip("s3fs", reason="s3:// needs s3fs")
    server_module = pytest.importorskip("moto.server", reason="the S3 server is moto's")
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        fsspec.filesystem("s3").mkdir("traces")
        put("s3://traces")
        yield "s3://traces"
    fsspec.filesystem("s3").clear_instance_cache()
    server.stop()


@pytest.fixture(scope="module")
def gs() -> Iterator[str]:
    """A bucket of an emulator of Google Cloud Storage."""
    pytest.importorskip("gcsfs", reason="gs:// needs gcsfs")
    emulator = pytest.importorskip(
        "gcp_storage_emulator.server", reason="no emulator of GCS is installed"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = emulator.create_server(
        "127.0.0.1", port, in_memory=True, default_bucket="traces"
    )
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        put("gs://traces")
        yield "gs://traces"
    fsspec.filesystem("gs").clear_instance_cache()
    server.stop()


@pytest.fixture(scope="module")
def memory() -> Iterator[str]:
    """A folder in this process's memory."""
    put("memory://traces")
    yield "memory://traces"
    fsspec.filesystem("memory").rm("/traces", recursive=True)


@pytest.fixture(params=["s3", "gs", "memory"])
def bucket(request: pytest.FixtureRequest) -> str:
    """Each of them."""
    return str(request.getfixturevalue(request.param))


def test_a_logdir_reads_as_on_a_disk(bucket: str) -> None:
    remote = tfadvisor.analyze(f"{bucket}/log").to_dict()
    local = tfadvisor.analyze(HOSTS).to_dict()

    assert remote["run"]["path"] == f"{bucket}/{RUN}"
    assert remote["run"]["name"] == "train/2026_01_02_03_04_05"
    for one in (remote, local):
        del one["run"]["path"], one["run"]["name"]
    assert remote == local


def test_one_host_by_its_address(bucket: str) -> None:
    assert tfadvisor.analyze(f"{bucket}/{RUN}/beta.xplane.pb").report.run.hosts == (
        "beta",
    )


def test_every_command_takes_it(bucket: str, say, tmp_path: Path) -> None:
    for arguments in (
        ("analyze", f"{bucket}/log", "--host", "beta"),
        ("compare", f"{bucket}/log", HOSTS),
        ("export", f"{bucket}/log", "--to", "perfetto", "-o", tmp_path / "run.pftrace"),
        ("gate", f"{bucket}/log", "--preset", "none"),
        ("baseline", "add", f"{bucket}/log", "--store", tmp_path / "store"),
    ):
        code, _, err = say(*arguments)
        assert (arguments[0], code) == (arguments[0], 0), err


def test_baselines_there_are_read(bucket: str, say, tmp_path: Path) -> None:
    assert say("baseline", "add", HOSTS, "--store", tmp_path / "store")[0] == 0
    (snapshot,) = (tmp_path / "store").glob("default/*.json")
    filesystem, folder = fsspec.core.url_to_fs(bucket)
    filesystem.pipe_file(
        f"{folder}/store/default/{snapshot.name}", snapshot.read_bytes()
    )

    code, out, err = say(
        "baseline", "list", "--store", f"{bucket}/store", "--format", "json"
    )
    assert code == 0, err
    assert [one["file"] for one in json.loads(out)] == [
        f"{bucket}/store/default/{snapshot.name}"
    ]
    assert (
        say("gate", HOSTS, "--baseline", f"{bucket}/store", "--preset", "none")[0] == 0
    )


def test_a_logdir_there_serves_as_baseline(bucket: str, say) -> None:
    assert say("gate", HOSTS, "--baseline", f"{bucket}/log", "--preset", "none")[0] == 0


def test_nothing_is_written_there(bucket: str, say) -> None:
    filesystem, folder = fsspec.core.url_to_fs(bucket)
    before = filesystem.find(folder)

    code, _, err = say("baseline", "add", HOSTS, "--store", f"{bucket}/new")

    assert code == 2
    assert "only reads there" in err
    filesystem.invalidate_cache()
    assert filesystem.find(folder) == before


def test_what_is_not_there(bucket: str, say) -> None:
    for path in (f"{bucket}/nowhere", f"{bucket}/nowhere/host.xplane.pb"):
        code, out, err = say("analyze", path)
        assert (code, out) == (3, "")
        assert path in err
        assert "there is no such object" in err


def test_a_folder_without_a_trace(bucket: str, say) -> None:
    filesystem, folder = fsspec.core.url_to_fs(bucket)
    filesystem.pipe_file(f"{folder}/other/checkpoint.index", b"x")

    code, _, err = say("analyze", f"{bucket}/other")

    assert code == 3
    assert "holds 1 file but no `*.xplane.pb`" in err


def test_a_host_that_is_cut_short_is_named(memory: str) -> None:
    filesystem = fsspec.filesystem("memory")
    for file in HOSTS.glob("*.gz"):
        whole = gzip.decompress(file.read_bytes())
        name = file.name.removesuffix(".gz")
        filesystem.pipe_file(
            f"/cut/{name}",
            whole[: len(whole) // 2] if name.startswith("gamma") else whole,
        )

    report = tfadvisor.analyze("memory://cut").report

    assert report.run.hosts == ("alpha", "beta")
    assert any("gamma" in one.note for one in report.capture)


def test_credentials_that_are_missing(
    s3: str, say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fsspec.filesystem("s3").clear_instance_cache()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))

    code, _, err = say("analyze", f"{s3}/log")
    fsspec.filesystem("s3").clear_instance_cache()

    assert code == 3
    assert "credentials" in err
    assert "AWS_PROFILE" in err


def test_a_bucket_that_is_not_there(s3: str, say) -> None:
    code, _, err = say("analyze", "s3://nobodys-bucket/log")

    assert code == 3
    assert "there is no such object" in err


def test_the_tab_analyses_what_lies_there(s3: str, tmp_path: Path) -> None:
    """In a process of its own, with the driver's environment."""
    from tfadvisor.serve.tensorboard.analyses import Analyses, PendingAnalysis
    from tfadvisor.serve.tensorboard.cache import Cache
    from tfadvisor.serve.tensorboard.listing import Listing, roots_of

    (listed,) = Listing(roots_of(f"{s3}/log", None)).current().values()
    analyses = Analyses(Cache(tmp_path / "tab"))
    asked = analyses.report(listed)
    assert isinstance(asked, PendingAnalysis)
    assert asked.ended.wait(60)

    assert asked.error is None
    found = analyses.report(listed)
    assert isinstance(found, bytes)
    assert json.loads(found)["run"]["path"] == f"{s3}/{RUN}"


def test_a_copied_hosts_file_is_no_second_host(memory: str) -> None:
    """`other` has as many bytes as `alpha`, and other ones."""
    filesystem = fsspec.filesystem("memory")
    for name in ("alpha", "beta", "copy"):
        source = HOSTS / f"{name.replace('copy', 'beta')}.xplane.pb.gz"
        filesystem.pipe_file(
            f"/copied/{name}.xplane.pb", gzip.decompress(source.read_bytes())
        )
    alpha = gzip.decompress((HOSTS / "alpha.xplane.pb.gz").read_bytes())
    filesystem.pipe_file(
        "/copied/other.xplane.pb", alpha.replace(b"python", b"PYTHON", 1)
    )

    report = tfadvisor.analyze("memory://copied").report

    assert report.run.hosts == (
        "alpha",
        "beta",
        "alpha",
    )  # by the name that is in the trace
