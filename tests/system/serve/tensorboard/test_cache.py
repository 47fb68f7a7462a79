"""Finished analyses are whole or not there, bounded, outside the logdir, and nobody
else's.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.logdirs import add_run

from tfadvisor.serve.tensorboard.cache import REPORT, Cache, key_of, open_cache
from tfadvisor.serve.tensorboard.listing import Listing

KEY, OTHER, NEXT = "a" * 64, "b" * 64, "c" * 64


def put(cache: Cache, key: str, content: bytes = b"[]") -> None:
    with cache.making(key) as folder:
        (folder / REPORT).write_bytes(content)


def kept(cache: Cache) -> list[str]:
    return sorted(
        one.name for one in cache.folder.iterdir() if one.name != ".tfadvisor-cache"
    )


def test_what_was_put_is_read(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")

    put(cache, KEY, b"[1]")

    assert cache.read(KEY, REPORT) == b"[1]"
    assert cache.read("other", REPORT) is None
    assert kept(cache) == [KEY]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")

    with pytest.raises(ZeroDivisionError), cache.making(KEY) as folder:
        (folder / REPORT).write_bytes(b"[")
        raise ZeroDivisionError

    assert kept(cache) == []


def test_of_several_writers_the_first_wins(tmp_path: Path) -> None:
    one, other = Cache(tmp_path / "cache"), Cache(tmp_path / "cache")

    with one.making(KEY) as folder:
        (folder / REPORT).write_bytes(b"[2]")
        put(other, KEY, b"[1]")

    assert one.read(KEY, REPORT) == b"[1]"
    assert kept(one) == [KEY]


def test_the_one_used_longest_ago_is_thrown_away_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", most_bytes=25)
    for age, key in enumerate([KEY, OTHER]):
        put(cache, key, b"[        ]")
        os.utime(cache.folder / key, (age, age))
    cache.read(KEY, REPORT)

    put(cache, NEXT, b"[        ]")

    assert kept(cache) == [KEY, NEXT]


def test_what_was_just_made_stays_however_large(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", most_bytes=5)

    put(cache, KEY, b"[        ]")

    assert cache.read(KEY, REPORT) is not None


def test_only_its_owner_may_look(tmp_path: Path) -> None:
    assert Cache(tmp_path / "cache").folder.stat().st_mode & 0o077 == 0


def test_the_key_changes_with_the_files(tmp_path: Path) -> None:
    (file,) = add_run(tmp_path, "run").iterdir()
    listing = Listing([("", tmp_path)])
    before = key_of(listing.current()["run"], "")
    os.utime(file, ns=(0, 1))

    after = key_of(listing.current()["run"], "")

    assert before != after
    assert key_of(listing.current()["run"], "other rules") != after


def test_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TFADVISOR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert open_cache([]).folder == tmp_path / "xdg" / "tfadvisor" / "tensorboard"

    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path / "chosen"))
    assert open_cache([]).folder == tmp_path / "chosen" / "tensorboard"


def test_nothing_is_written_into_a_logdir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with `tensorboard --logdir ~`."""
    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path / "cache"))

    cache = open_cache([tmp_path.resolve()])

    assert tmp_path not in cache.folder.parents
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_a_temporary_folder_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TFADVISOR_CACHE", str(tmp_path / "file"))

    cache = open_cache([])

    put(cache, KEY)
    assert cache.read(KEY, REPORT) == b"[]"
