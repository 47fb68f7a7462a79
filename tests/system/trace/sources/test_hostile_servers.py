"""A web server that sends more than it was asked for, links without end, or sends elsewhere."""

from __future__ import annotations

import gzip

import pytest
from support.web_server import Objects

from tfadvisor.trace import stores
from tfadvisor.trace.remote_path import place_of
from tfadvisor.trace.stores import Unreachable, objects_below


def test_an_answer_that_unpacks_to_more_than_was_asked_for_is_given_up(web: Objects) -> None:
    """Of 1,000 bytes, by what it said before."""
    web.content["/h.xplane.pb"] = bytes(1000)
    web.packed["/h.xplane.pb"] = gzip.compress(bytes(200 << 20))

    with pytest.raises(Unreachable, match="sends more than 8,388,608 bytes at once"):
        place_of(f"{web.address}/h.xplane.pb").open("rb")


def test_a_page_of_links_has_a_bound(web: Objects) -> None:
    web.packed["/runs/"] = gzip.compress(b"<a href=x>x</a>" * (1 << 20))

    with pytest.raises(Unreachable, match="sends more than"):
        list(objects_below(f"{web.address}/runs"))


def test_links_without_end_are_given_up(web: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_MOST_FOLDERS", 20)
    for one in range(30):
        web.content[f"/runs/{one}/h.xplane.pb"] = b""

    with pytest.raises(Unreachable, match="links lead to more than 20 folders"):
        list(objects_below(f"{web.address}/runs"))
    assert len(web.asked) < 40


@pytest.mark.parametrize(
    "aim", ["localhost", "127.0.0.2", "0.0.0.0", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "127.1"]
)
def test_another_name_of_this_machine_is_not_followed_to(web: Objects, aim: str) -> None:
    web.redirects["/h.xplane.pb"] = web.address.replace("127.0.0.1", aim) + "/other.xplane.pb"
    web.content["/other.xplane.pb"] = b"secret"

    with pytest.raises(OSError):
        place_of(f"{web.address}/h.xplane.pb").open("rb")
    assert "/other.xplane.pb" not in {path for _, path, _ in web.asked}


@pytest.mark.parametrize(
    "aim", ["http://169.254.169.254/latest/", "//169.254.169.254/latest", "http://[fe80::1]/", "file:///etc/passwd"]
)
def test_an_address_of_the_machines_own_link_is_not_followed_to(web: Objects, aim: str) -> None:
    """Where clouds hand out credentials."""
    web.redirects["/h.xplane.pb"] = aim

    with pytest.raises(Unreachable):
        place_of(f"{web.address}/h.xplane.pb").open("rb")


def test_links_to_other_hosts_are_not_listed(web: Objects) -> None:
    web.content["/runs/"] = b"".join(
        b'<a href="%s">x</a>' % aim
        for aim in (b"http://169.254.169.254/h.xplane.pb", b"//localhost/h.xplane.pb", b"file:///etc/h.xplane.pb")
    )

    found = [address for address, _ in objects_below(f"{web.address}/runs")]

    assert [one for one in found if not one.startswith(f"{web.address}/")] == []
