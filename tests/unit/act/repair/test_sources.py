"""Which files of a program are read, how, and why others are left alone with
one line.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from tfadvisor.act.repair.sources import read_sources
from tfadvisor.act.repair.unified_diff import unified
from tfadvisor.errors import UsageError

PROGRAM = "import jax\nx = 1\n"


def names(place: Path) -> list[str]:
    return [one.name for one in read_sources(place).files]


def test_a_folder_gives_its_programs_and_nothing_installed_hidden_or_tested(
    tmp_path: Path,
) -> None:
    for name in (
        "train.py",
        "model/net.py",
        "site-packages/jax/a.py",
        ".git/b.py",
        "env/lib/c.py",
        "tests/d.py",
        "test_e.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PROGRAM)
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "plain.py").write_text("x = 1\n")

    assert names(tmp_path) == ["train.py", "model/net.py"]


def test_a_script_brings_what_it_imports_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import jax\nfrom model.net import Net\nimport loader\n"
    )
    (tmp_path / "loader.py").write_text(PROGRAM)
    (tmp_path / "other.py").write_text(PROGRAM)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "net.py").write_text(PROGRAM)

    assert sorted(names(tmp_path / "train.py")) == [
        "loader.py",
        "model/net.py",
        "train.py",
    ]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"import jax\nx = (\n", "cannot be parsed in line 2"),
        (b"import jax\n\xff\xfe\n", "encoding"),
        (b"# coding: nonsense\nimport jax\n", "encoding"),
        (b"import jax\n\x00\n", "cannot be parsed"),
        (b"import jax\n" + b"#" * 1_000_001, "too large"),
    ],
)
def test_a_file_that_cannot_be_read_has_one_line(
    tmp_path: Path, raw: bytes, why: str
) -> None:
    (tmp_path / "train.py").write_bytes(raw)

    sources = read_sources(tmp_path)

    assert sources.files == ()
    assert why in sources.left_alone[0].why
    assert "\n" not in sources.left_alone[0].why


def test_a_link_out_of_the_folder_is_left_alone_and_one_inside_it_is_read(
    tmp_path: Path,
) -> None:
    outside, inside = tmp_path / "secret.py", tmp_path / "project"
    inside.mkdir()
    outside.write_text(PROGRAM)
    (inside / "real.py").write_text(PROGRAM)
    (inside / "out.py").symlink_to(outside)
    (inside / "same.py").symlink_to(inside / "real.py")
    (inside / "circle.py").symlink_to(inside / "circle.py")

    sources = read_sources(inside)

    assert [one.name for one in sources.files] == ["real.py", "same.py"]
    assert {one.name: "leads out" in one.why for one in sources.left_alone} == {
        "out.py": True,
        "circle.py": False,
    }


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbfimport jax\r\nx = 1\r\n",
        "# coding: latin-1\nimport jax\nx = 'ä'".encode("latin-1"),
    ],
)
def test_bytes_come_back_as_they_were(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "train.py").write_bytes(raw)

    (one,) = read_sources(tmp_path).files

    assert one.encoded(one.text) == raw


def test_a_name_that_a_patch_cannot_hold_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a\nb.py").write_text(PROGRAM)

    assert "characters" in read_sources(tmp_path).left_alone[0].why


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        read_sources(tmp_path / "missing")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "train.py")

    assert read_sources(tmp_path).files == ()


def test_a_diff_keeps_line_ends_and_tells_of_a_missing_one() -> None:
    assert unified("a.py", "x = 1\r\ny = 2", "x = 1\r\ny = 3") == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\r\n-y = 2\n\\ No newline at "
        "end of file\n+y = 3\n"
        "\\ No newline at end of file\n"
    )


ODD = {
    "1,500 times elif": b"import jax\nif a == 0:\n    f()\n"
    + b"".join(b"elif a == %d:\n    f()\n" % one for one in range(1500)),
    "calls in one another": b"import jax\nx = " + b"f(" * 80 + b")" * 80 + b"\n",
    "a long sum": b"import jax\nx = " + b"+".join([b"a"] * 400) + b"\n",
    "an encoding that always fails": b"# -*- coding: undefined -*-\nimport jax\n",
    "an encoding of bytes": b"# coding: hex\nimport jax\n",
    "a megabyte": b"import jax\n" + b"f(x)\n" * 200_000,
    "an encoding that does not give its bytes back": b"# coding: utf-7\nimport jax\nx = '+AGE-'\n",
}


@pytest.mark.parametrize("raw", ODD.values(), ids=ODD)
def test_an_odd_file_costs_one_line_and_the_others_are_read(
    tmp_path: Path, raw: bytes
) -> None:
    (tmp_path / "odd.py").write_bytes(raw)
    (tmp_path / "train.py").write_text(PROGRAM)

    sources = read_sources(tmp_path)

    assert [one.name for one in sources.files] == ["train.py"]
    (left,) = sources.left_alone
    assert left.name == "odd.py"
    assert "\n" not in left.why


def test_what_is_nested_as_programs_are_is_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import jax\nx = " + "f(" * 40 + ")" * 40 + "\n")

    assert names(tmp_path) == ["train.py"]


def ran(folder: Path, *noted: tuple[str, str]) -> list[str]:
    """Names of those of two files that ran. noted: paths and contents."""
    for name in ("train.py", "old/train.py", "other.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"{PROGRAM}# {name}\n")
    notes = [(path, sha256(text.encode()).hexdigest()) for path, text in noted]
    return [file.name for file in read_sources(folder).that_ran(notes).files]


def test_a_file_ran_that_lies_where_one_did_though_it_has_changed(
    tmp_path: Path,
) -> None:
    assert ran(tmp_path, (f"{tmp_path}/train.py", "")) == ["train.py"]


def test_a_file_ran_that_holds_what_ran_wherever_it_lies(tmp_path: Path) -> None:
    text = f"{PROGRAM}# old/train.py\n"

    assert ran(tmp_path, ("/gone/main.py", text)) == ["old/train.py"]


def test_a_program_that_moved_and_changed_is_known_by_its_names(
    tmp_path: Path,
) -> None:
    assert ran(tmp_path, ("/gone/train.py", "")) == ["train.py", "old/train.py"]


def test_a_file_that_was_edited_since_ran_beside_one_that_was_not(
    tmp_path: Path,
) -> None:
    same = "/gone/other.py", f"{PROGRAM}# other.py\n"

    assert ran(tmp_path, same, ("/gone/train.py", "")) == [
        "other.py",
        "train.py",
        "old/train.py",
    ]


def test_a_folder_of_another_program_has_nothing_that_ran(tmp_path: Path) -> None:
    assert ran(tmp_path, ("/gone/main.py", "")) == []


def test_without_notes_any_file_may_have_run(tmp_path: Path) -> None:
    assert len(ran(tmp_path)) == 3
