"""https:// against a server of this process: whole files, ranges, folders of links, and
everything that goes wrong.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from support.web_server import Objects

import tfadvisor
from tfadvisor.trace import local_copies as transfer
from tfadvisor.trace import stores

pytest.importorskip("aiohttp", reason="https:// needs aiohttp")
TRACE = "/log/plugins/profile/2026_01_02_03_04_05/host.xplane.pb"


def gets(web: Objects) -> list[tuple[str, str | None]]:
    return [(path, piece) for method, path, piece in web.asked if method == "GET"]


def test_a_file(web: Objects, good: bytes) -> None:
    web.content[TRACE] = good

    report = tfadvisor.analyze(web.address + TRACE).report

    assert report.run.path == web.address + TRACE
    assert report.run.hosts == ("host",)
    assert report.steps.count == 3


def test_a_file_streams_once(web: Objects, good: bytes) -> None:
    web.content[TRACE] = good

    tfadvisor.analyze(web.address + TRACE)

    assert gets(web) == [(TRACE, None)]


def test_a_folder_of_links(web: Objects, good: bytes) -> None:
    web.content[TRACE] = good
    web.content[TRACE.replace("2026_01", "2025_01")] = b"older"

    assert (
        tfadvisor.analyze(web.address + "/log/").report.run.name
        == "2026_01_02_03_04_05"
    )


def test_a_signature_is_sent_and_never_shown(web: Objects, good: bytes, say) -> None:
    web.content[TRACE] = good

    code, out, err = say(
        "analyze", f"{web.address}{TRACE}?signature=abc", "--format", "json"
    )

    assert code == 0
    assert "abc" not in out + err


def test_a_server_that_does_not_say_how_long_a_file_is(
    web: Objects, good: bytes
) -> None:
    web.content[TRACE] = good
    web.length = False

    assert tfadvisor.analyze(web.address + TRACE).report.steps.count == 3


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch, good: bytes) -> int:
    """A piece is a fifth of the trace."""
    piece = -(-len(good) // 5)
    monkeypatch.setattr(transfer, "_PIECE", piece)
    return piece


def test_a_large_file_comes_in_ranges(
    web: Objects, good: bytes, small_pieces: int
) -> None:
    web.content[TRACE] = good

    assert tfadvisor.analyze(web.address + TRACE).report.steps.count == 3

    wanted = [
        (lo, min(lo + small_pieces, len(good)) - 1)
        for lo in range(0, len(good), small_pieces)
    ]
    assert sorted(gets(web)) == sorted((TRACE, f"bytes={lo}-{hi}") for lo, hi in wanted)


def test_a_large_file_of_a_server_without_ranges(
    web: Objects, good: bytes, small_pieces: int
) -> None:
    web.content[TRACE] = good
    web.ranges = False

    assert tfadvisor.analyze(web.address + TRACE).report.steps.count == 3
    assert gets(web) == [(TRACE, None)]


def test_a_range_that_is_cut_is_asked_for_again(
    web: Objects, good: bytes, small_pieces: int
) -> None:
    web.content[TRACE] = good
    web.cuts[TRACE] = 1

    assert tfadvisor.analyze(web.address + TRACE).report.steps.count == 3


def test_a_connection_that_is_always_cut(web: Objects, good: bytes, say) -> None:
    web.content[TRACE] = good
    web.cuts[TRACE] = 100

    code, out, err = say("analyze", web.address + TRACE)

    assert (code, out) == (3, "")
    assert f"{web.address}{TRACE}: cannot be read: the connection failed" in err
    assert "try again" in err
    assert len(gets(web)) == 3


def test_a_cut_download_leaves_nothing_behind(
    web: Objects, good: bytes, say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    web.content[TRACE] = good
    web.cuts[TRACE] = 100

    say("analyze", web.address + TRACE)

    assert list(tmp_path.iterdir()) == []


def test_a_server_that_falls_silent(
    web: Objects, good: bytes, say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "SILENCE_S", 0.2)
    web.content[TRACE] = good
    web.silent.add(TRACE)

    code, _, err = say("analyze", web.address + TRACE)

    assert code == 3
    assert "the server fell silent" in err


def test_a_file_that_changes_while_it_is_read(
    web: Objects, good: bytes, say, small_pieces: int
) -> None:
    web.content[TRACE] = good
    web.changes[TRACE] = good[:-1] + b"\0"

    code, _, err = say("analyze", web.address + TRACE)

    assert code == 3
    assert "changed while it was read" in err


def test_a_changed_file_is_fetched_anew(web: Objects, good: bytes, say) -> None:
    web.content[TRACE] = b"no trace"
    assert say("analyze", web.address + TRACE)[0] == 3
    web.content[TRACE] = good

    assert say("analyze", web.address + TRACE)[0] == 0


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (403, "the store refuses to show it (it answered 403)"),
        (401, "the store refuses to show it (it answered 401)"),
        (404, "there is no such object"),
        (503, "the server answered 503"),
    ],
)
def test_what_a_server_answers_instead(
    web: Objects, say, status: int, words: str
) -> None:
    web.status[TRACE] = status

    code, out, err = say("analyze", web.address + TRACE)

    assert (code, out) == (3, "")
    assert words in err
    assert err.count("\n") == 1


def test_what_is_neither_a_trace_nor_a_folder(web: Objects, say) -> None:
    web.content["/log/notes.txt"] = b"text"

    code, _, err = say("analyze", f"{web.address}/log/notes.txt")

    assert code == 3
    assert (
        "the server shows no folder there. Give the address of a file that ends in "
        "`.xplane.pb`" in err
    )


def test_nobody_listens(say) -> None:
    code, _, err = say("analyze", "http://127.0.0.1:9/host.xplane.pb")

    assert code == 3
    assert "the connection failed" in err


def test_a_password_in_an_address_is_not_taken(say) -> None:
    code, _, err = say("analyze", "https://me:secret@example.org/host.xplane.pb")

    assert code == 2
    assert "secret" not in err
