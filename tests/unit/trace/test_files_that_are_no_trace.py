"""Files in place of traces: each is named for what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfadvisor

POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    f"oid sha256:{'4d7a214614ab2935' * 4}\n"
    "size 12345\n"
)
OF_PYTORCH = """{
  "schemaVersion": 1,
  "deviceProperties": [],
  "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2}]
}"""


@pytest.mark.parametrize(
    ("content", "cause", "remedy"),
    [
        (POINTER, "is a pointer of Git LFS, not the trace itself.", "git lfs pull"),
        (OF_PYTORCH, "is a trace of PyTorch's own profiler (Kineto)", "xplane.pb"),
        ("", "is empty.", "2 GB"),
        ('{"traceEvents": []}', "This is a text file", "xplane.pb"),
    ],
)
def test_a_file_that_is_no_trace_says_what_it_is_and_what_to_do(
    tmp_path: Path, content: str, cause: str, remedy: str
) -> None:
    file = tmp_path / "host.xplane.pb"
    file.write_text(content)

    with pytest.raises(tfadvisor.TraceError) as caught:
        tfadvisor.analyze(file)

    assert cause in caught.value.cause
    assert remedy in str(caught.value)
