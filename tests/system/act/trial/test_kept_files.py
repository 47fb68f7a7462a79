"""What a trial's runs do to the program's files: those that were there come out byte
for byte as they were, however the program writes them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from support.tried_programs import Place

from tfadvisor import guardian
from tfadvisor.act.trial import injected

pytestmark = pytest.mark.subprocess
OURS = str(Path(injected.__file__).parent)
KEEPS = """
    import os, shutil, sqlite3, sys, tempfile
    sys.path.insert(0, sys.argv[1])
    from tfadvisor_trial_hook.kept_files import KeptFiles
    KeptFiles(sys.argv[2], strict=True).start()
"""
WAYS = {
    "written anew": 'open("old", "wb").write(b"new")',
    "at its end": 'open("old", "ab").write(b"new")',
    "at its end, then anew": 'open("old", "ab").write(b"x"); open("old", "w")',
    "at its end, then inside": 'open("old", "a").write("x"); open("old", "r+").write("y")',
    "in its place": 'file = open("old", "r+b"); file.write(b"new"); file.close()',
    "cut": 'os.truncate("old", 1)',
    "removed": 'os.remove("old")',
    "removed and made": 'os.remove("old"); open("old", "w").write("new")',
    "replaced": 'open("tmp", "w").write("new"); os.replace("tmp", "old")',
    "renamed": 'os.rename("old", "bak"); open("old", "w").write("new")',
    "renamed, then written": 'os.rename("old", "bak"); open("bak", "w").write("new")',
    "two of them": 'os.replace("old", "last"); open("old", "w").write("new")',
    "by a link": 'open("link", "w").write("new")',
    "the link": 'os.remove("link"); open("link", "w").write("new")',
    "a folder away": 'shutil.rmtree("folder")',
    "a folder renamed": 'os.rename("folder", "elsewhere"); os.mkdir("folder")',
    "a folder written over": 'open("folder/in/deep", "w"); os.mkdir("folder/in/more")',
    "an empty folder": 'os.rmdir("empty")',
    "by a descriptor": 'os.close(os.open("old", os.O_WRONLY | os.O_TRUNC))',
    "below a descriptor": 'os.unlink("deep", dir_fd=os.open("folder/in", os.O_RDONLY))',
    "moved": 'shutil.move("old", "empty")',
    "a database": 'sqlite3.connect("base.db").execute("drop table kept")',
    "new things": 'os.makedirs("a/b"); open("a/b/c", "w"); os.symlink("old", "d")',
}


def content(folder: Path) -> dict[str, object]:
    """By path: a link's aim, a file's bytes, time and mode, None for a folder."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            status = path.stat()
            found[name] = path.read_bytes(), status.st_mtime_ns, status.st_mode
        else:
            found[name] = None
    return found


def filled(folder: Path) -> None:
    import sqlite3

    (folder / "folder" / "in").mkdir(parents=True)
    (folder / "empty").mkdir()
    for name in ("old", "last", "folder/in/deep"):
        (folder / name).write_bytes(name.encode() * 1000)
    (folder / "old").chmod(0o640)
    (folder / "link").symlink_to("old")
    with sqlite3.connect(folder / "base.db") as base:
        base.execute("create table kept (x)")
    base.close()


def does(place: Path, run: Path, what: str) -> None:
    """A program that does this, and ends without a word. run: the run's folder."""
    program = dedent(KEEPS) + what + "\nos._exit(0)\n"
    call = [sys.executable, "-c", program, OURS, str(run)]
    subprocess.run(call, cwd=place, check=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    filled(tmp_path / "place")
    return tmp_path / "place"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_what_was_there_is_put_back_and_what_is_new_goes(
    place: Path, run: Path, way: str
) -> None:
    before = content(place)
    does(place, run, way)
    assert content(place) != before

    guardian.put_back(str(run), stays=False)

    assert content(place) == before


def test_new_files_of_the_program_as_it_is_stay(place: Path, run: Path) -> None:
    does(place, run, 'open("old", "w").write("x"); open("new", "w").write("y")')

    guardian.put_back(str(run), stays=True)

    assert (place / "old").read_bytes() == b"old" * 1000
    assert (place / "new").exists()


def test_a_file_that_cannot_be_kept_is_not_written_to(place: Path, run: Path) -> None:
    """There is no room: an arm's program gets the error, and the file is whole."""
    does(
        place,
        run,
        "from tfadvisor_trial_hook import kept_files; kept_files._FREE_BYTES = 1 << 70\n"
        'try:\n    open("old", "r+b")\nexcept OSError as error:\n'
        '    open("said", "w").write(str(error.errno))',
    )

    assert (place / "said").read_text() == "28"  # ENOSPC
    assert (place / "old").read_bytes() == b"old" * 1000


KEEPS_ONE_CHECKPOINT = """
    import os, pickle
    from invented import work
    import jax


    def train_step(state, batch):
        work(8)
        return state + 1, jax.ArrayImpl(4)


    def save(state, file):
        with open(file + ".tmp", "wb") as out:
            out.write(pickle.dumps(state))
            out.flush()
        os.replace(file + ".tmp", file)
        work(4)


    def main():
        state = pickle.load(open("one.ckpt", "rb"))
        for number in range(3000):
            state, loss = train_step(state, number)
            with open("two.ckpt", "wb") as out:
                pickle.dump(state, out)
            save(state, "one.ckpt")
            open(f"w-{state}", "w").write("weights")
            if os.path.exists(f"w-{state - 1}"):
                os.remove(f"w-{state - 1}")


    main()
"""


@pytest.mark.slow
def test_no_arm_loses_the_only_checkpoint(tmp_path: Path) -> None:
    """The ways by which one was lost: what writes is left out, and what opens, renames
    and removes around it still runs.
    """
    import pickle

    place = Place(tmp_path)
    place.write("train.py", KEEPS_ONE_CHECKPOINT)
    for name in ("one.ckpt", "two.ckpt"):
        (tmp_path / name).write_bytes(pickle.dumps(1_000_000))
    (tmp_path / "w-1000000").write_text("weights")
    kept = {
        name: (tmp_path / name).read_bytes()
        for name in ("one.ckpt", "two.ckpt", "w-1000000")
    }

    result = place.tried("--ablate", "--", sys.executable, "train.py")

    arms = {arm["name"]: arm["outcome"] for arm in result["arms"]}
    assert arms["checkpoints"] != "broken"
    assert arms["callbacks"] != "broken"
    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept
    left = [file for file in tmp_path.glob("w-*") if file.stat().st_size != 7]
    assert left == []
