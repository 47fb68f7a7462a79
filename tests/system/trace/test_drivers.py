"""What is said where fsspec or a driver is missing, and what an address is."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import pytest
from support.places import FIXTURES

import tfadvisor
from tfadvisor.errors import UsageError
from tfadvisor.trace.remote_path import RemotePath, place_of
from tfadvisor.trace.stores import CutOff, NotThere, StoreRefused, translated


def test_without_fsspec_the_extra_is_named(
    say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)

    code, out, err = say("analyze", "s3://bucket/logs")

    assert (code, out) == (2, "")
    assert "pip install 'tfadvisor[remote]'" in err


@pytest.mark.parametrize(
    ("scheme", "package"), [("s3", "s3fs"), ("gs", "gcsfs"), ("hf", "huggingface_hub")]
)
def test_without_a_driver_it_is_named(
    say, monkeypatch: pytest.MonkeyPatch, scheme: str, package: str
) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, scheme, raising=False)  # type: ignore[attr-defined]
    for name in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)

    code, _, err = say("analyze", f"{scheme}://bucket/logs")

    assert code == 2
    assert f"pip install {package}" in err


def test_a_scheme_that_nobody_knows(say) -> None:
    pytest.importorskip("fsspec")

    code, _, err = say("analyze", "nowhere://bucket/logs")

    assert code == 2
    assert "fsspec knows no nowhere:// addresses" in err


def test_an_address_keeps_its_slashes() -> None:
    path = place_of("s3://bucket/logs/train")

    assert (str(path), str(path.parent), str(path / "x"), path.name) == (
        "s3://bucket/logs/train",
        "s3://bucket/logs",
        "s3://bucket/logs/train/x",
        "train",
    )
    assert str(path.relative_to(path.parent)) == "train"
    assert os.fspath(place_of("s3://bucket")) == "s3://bucket"


def test_a_signature_belongs_to_its_object_alone() -> None:
    path = place_of("https://example.org/a/b.xplane.pb?signature=1")
    assert isinstance(path, RemotePath)
    other = path.parent / "c.xplane.pb"

    assert (str(path), path.address) == (
        "https://example.org/a/b.xplane.pb",
        "https://example.org/a/b.xplane.pb?signature=1",
    )
    assert isinstance(other, RemotePath)
    assert other.address == "https://example.org/a/c.xplane.pb"
    assert pickle.loads(pickle.dumps(path)).address == path.address


def test_paths_of_this_machine_stay_such() -> None:
    assert place_of("logs/a:b") == Path("logs/a:b")
    assert place_of("file:///logs") == Path("/logs")
    assert type(place_of("logs")) is type(Path("logs"))


def test_a_name_node_of_the_configuration() -> None:
    assert str(place_of("hdfs:///logs")) == "hdfs://default/logs"
    assert str(place_of("hdfs://me@node:8020/logs")) == "hdfs://me@node:8020/logs"


def test_nothing_is_written_to_an_address() -> None:
    path = place_of("s3://bucket/x")

    for write in (path.mkdir, path.unlink, lambda: path.open("w")):
        with pytest.raises(OSError, match="only reads there"):
            write()


def test_no_output_is_written_to_an_address(say) -> None:
    code, _, err = say(
        "analyze", FIXTURES / "jax-healthy", "-o", "s3://bucket/report.html"
    )

    assert code == 2
    assert "an address is only read from" in err


def test_errors_survive_the_way_back_from_a_process() -> None:
    error = StoreRefused("s3://bucket/x", "no", "ask somebody")

    back = pickle.loads(pickle.dumps(error))

    assert (type(back), str(back), back.exit_code) == (
        StoreRefused,
        "s3://bucket/x: cannot be read: no. ask somebody",
        3,
    )


class Answered(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Answered(403), StoreRefused),
        (Answered(404), NotThere),
        (Answered(500), CutOff),
        (PermissionError(), StoreRefused),
        (FileNotFoundError(), NotThere),
        (TimeoutError(), CutOff),
        (ConnectionResetError(), CutOff),
    ],
)
def test_what_drivers_raise(error: Exception, kind: type) -> None:
    assert type(translated(error, "gs://bucket/x")) is kind


def test_the_cause_of_an_error_is_told() -> None:
    error = FileNotFoundError("x")
    error.__cause__ = Answered(401)

    assert "it answered 401" in str(translated(error, "s3://bucket/x"))


def test_an_unknown_error_keeps_its_words_without_a_signature() -> None:
    told = str(
        translated(RuntimeError("odd https://h/x?signature=1 here"), "s3://bucket/x")
    )

    assert "RuntimeError: odd https://h/x here" in told


def test_python_says_it_as_the_command_does() -> None:
    pytest.importorskip("fsspec")

    with pytest.raises(UsageError, match="knows no"):
        tfadvisor.analyze("nowhere://x")
