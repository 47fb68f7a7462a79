"""Files that Git LFS left in place of traces."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfadvisor

POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    f"oid sha256:{'4d7a214614ab2935' * 4}\n"
    "size 12345\n"
)


def test_a_pointer_of_git_lfs_says_how_to_fetch_the_trace(tmp_path: Path) -> None:
    file = tmp_path / "host.xplane.pb"
    file.write_text(POINTER)

    with pytest.raises(tfadvisor.TraceError) as caught:
        tfadvisor.analyze(file)

    assert caught.value.cause == "is a pointer of Git LFS, not the trace itself."
    assert "git lfs pull" in str(caught.value)
