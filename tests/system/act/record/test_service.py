"""`tfadvisor run --attach`: messages of the profiler service, addresses, and what is asked
of whom.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.places import FIXTURES

from tfadvisor.act.record.choosing import RecordRequest
from tfadvisor.act.record.service import address_of, attached, request_of, trace_in
from tfadvisor.analysis import Options
from tfadvisor.cli.main import guarded_main
from tfadvisor.errors import TraceError, UsageError


def test_a_request_is_what_protobuf_would_write() -> None:
    assert request_of(0.3, True, "s", "h_1").hex(" ") == (
        "08 ac 02 "  # 1: duration_ms 300
        # 4: opts, levels 2 1 1, version 1, HLO, 300 ms
        "22 0d 10 02 18 01 20 01 28 01 38 01 48 ac 02 "
        "32 01 73 "  # 6: session_id
        "3a 03 68 5f 31 "  # 7: host_name
        "48 01"  # 9: emit_xspace
    )


def test_an_answer_with_its_trace() -> None:
    message = bytes.fromhex(
        "32 02 0a 00 38 00 42 03 61 62 63"
    )  # tool_data, empty_trace 0, xspace "abc"

    assert trace_in(message) == b"abc"


def test_an_answer_without() -> None:
    assert trace_in(b"") is None
    assert trace_in(bytes.fromhex("38 01")) is None


@pytest.mark.parametrize("message", ["42 05 61", "42", "38 80", "07 00"])
def test_what_is_no_answer_is_told(message: str) -> None:
    with pytest.raises(ValueError, match=r"ProfileResponse|parsing"):
        trace_in(bytes.fromhex(message))


def test_addresses() -> None:
    assert address_of("localhost:9999") == "localhost:9999"
    assert address_of("grpc://10.0.0.2:8466") == "10.0.0.2:8466"
    assert address_of("[::1]:80") == "[::1]:80"
    for wrong in ("localhost", "localhost:", "a:99999", "a b:1", "a:0", "http://a:1"):
        with pytest.raises(UsageError, match="is no address"):
            address_of(wrong)


class Jobs:
    """Answers as jobs at addresses would."""

    def __init__(self, **silent: str) -> None:
        self.silent = silent
        self.asked: list[tuple[tuple[str, ...], bool]] = []
        self.trace = gzip.decompress(
            (FIXTURES / "jax-loader" / "trace.xplane.pb.gz").read_bytes()
        )

    def __call__(
        self,
        addresses: Sequence[str],
        folder: Path,
        seconds: float,
        python_tracer: bool,
    ) -> dict[str, str]:
        self.asked.append((tuple(addresses), python_tracer))
        for number, address in enumerate(
            one for one in addresses if one not in self.silent
        ):
            padding = bytes(
                [0x32, number, *bytes(number)]
            )  # a field of host names, so that no two files are alike
            (folder / f"{address}.xplane.pb").write_bytes(self.trace + padding)
        return {
            address: self.silent[address]
            for address in addresses
            if address in self.silent
        }


def test_all_jobs_are_looked_at_and_then_recorded_with_python() -> None:
    jobs = Jobs()

    with attached(
        ["a", "b"], RecordRequest(None, 20), Options(), jobs, pytest.fail
    ) as recorded:
        assert sorted(one.name for one in recorded.chosen.folder.iterdir()) == [
            "a.xplane.pb",
            "b.xplane.pb",
        ]

    assert jobs.asked == [(("a", "b"), False), (("a", "b"), True)]


def test_a_job_that_is_silent_is_told_once_and_left_out() -> None:
    jobs, told = Jobs(b="nothing answers there"), []

    with attached(
        ["a", "b"], RecordRequest(None, 20), Options(), jobs, told.append
    ) as recorded:
        assert recorded.chosen.report.verdict.bottleneck == "input"

    assert told == ["b is left out: nothing answers there."]
    assert jobs.asked == [(("a", "b"), False), (("a",), True)]


def test_without_any_job_it_says_why() -> None:
    jobs = Jobs(a="nothing answers there")

    with (
        pytest.raises(TraceError, match="a: no trace came: a: nothing answers there"),
        attached(["a"], RecordRequest(None, 20), Options(), jobs, pytest.fail),
    ):
        pass


def test_a_port_that_refuses_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("grpc")

    code = guarded_main(["run", "--attach", "localhost:1"])

    out, err = capsys.readouterr()
    assert (code, out) == (3, "")
    assert err.startswith(
        "tfadvisor: localhost:1: no trace came: localhost:1: nothing answers there ("
    )
    assert err.count("\n") == 1
