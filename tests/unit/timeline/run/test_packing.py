"""Summaries as bytes: the same again, in a version, and nothing that runs."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from support.places import FIXTURES

import tfadvisor.metrics  # noqa: F401  (registers every metric)
from tfadvisor.metrics.registry import measure
from tfadvisor.timeline.picture.step_picture import Drawing
from tfadvisor.timeline.run import one_host as packing
from tfadvisor.timeline.run.one_host import WrongVersion, pack, read_host, unpack
from tfadvisor.timeline.run.run_summary import merge
from tfadvisor.vocabulary import DeviceKind, TimeClass

TRACES = sorted(FIXTURES.glob("*/*.xplane.pb.gz"))


@pytest.mark.parametrize("trace", TRACES, ids=lambda file: f"{file.parent.name}-{file.name.partition('.')[0]}")
def test_a_summary_comes_back_number_for_number(trace) -> None:
    summary = read_host(trace, None, None, Drawing(2_000))

    back = unpack(pack(summary))

    assert pack(back) == pack(summary)
    before, after = (measure(merge("run", "run", [one])) for one in (summary, back))
    assert {name: one.value for name, one in before.items()} == {name: one.value for name, one in after.items()}


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -1,
        1 << 62,
        0.1,
        "ö",
        b"\xff",
        (),
        (1, (2, "x"), [3]),
        frozenset({1, 2}),
        {TimeClass.INPUT: (1,), "x": None},
        DeviceKind.GPU,
        np.float64(0.5),
    ],
)
def test_plain_data(value: object) -> None:
    back = unpack(pack(value))

    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("dtype", ["<i8", "<i4", "|b1", "|i1", "<f8", "<U3"])
def test_arrays(dtype: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)

    back = unpack(pack(array))

    assert back.dtype == array.dtype
    assert back.shape == (2, 3)
    assert (back == array).all()
    back[0, 0] = back[0, 1]  # it may be written


def test_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot be packed"):
        pack(object())
    with pytest.raises(TypeError, match="cannot be packed"):
        pack(np.array([object()]))


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack((1, 2))
    monkeypatch.setattr(packing, "VERSION", "9.9.9")

    with pytest.raises(WrongVersion, match=r"this is 9\.9\.9"):
        unpack(packed)


def test_other_fields_of_a_record_are_refused() -> None:
    kind, version, _, body = msgspec.msgpack.decode(pack(DeviceKind.GPU))
    table = [["tfadvisor.report.model", "Tool", "name", "other"]]

    with pytest.raises(WrongVersion, match="Tool has other fields"):
        unpack(msgspec.msgpack.encode([kind, version, table, body]))


@pytest.mark.parametrize(
    "entry", [["os", "system"], ["tfadvisor.timeline.run.one_host", "pack"], ["tfadvisor.report.model", "nothing"]]
)
def test_nothing_but_records_of_ours_is_made(entry: list[str]) -> None:
    kind, version, _, _ = msgspec.msgpack.decode(pack(1))

    with pytest.raises(ValueError, match=r"is not of tfadvisor|has no record"):
        unpack(msgspec.msgpack.encode([kind, version, [entry], [1, 0, "true"]]))


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x93\x01", b"\x80\x04\x95pickle", b"\xc1"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="these bytes are no records"):
        unpack(data)
