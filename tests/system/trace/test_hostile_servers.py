"""A web server that sends more than it was asked for, links without end, or sends
elsewhere.
"""

from __future__ import annotations

import gzip
import socket
from itertools import product

import pytest
from support.web_server import Objects

from tfadvisor.trace import stores
from tfadvisor.trace.remote_path import place_of
from tfadvisor.trace.stores import Unreachable, objects_below


def test_an_answer_that_unpacks_to_more_than_was_asked_for_is_given_up(
    web: Objects,
) -> None:
    """Of 1,000 bytes, by what it said before."""
    web.content["/h.xplane.pb"] = bytes(1000)
    web.packed["/h.xplane.pb"] = gzip.compress(bytes(200 << 20))

    with pytest.raises(Unreachable, match="sends more than 8,388,608 bytes at once"):
        place_of(f"{web.address}/h.xplane.pb").open("rb")


def test_a_page_of_links_has_a_bound(web: Objects) -> None:
    web.packed["/runs/"] = gzip.compress(b"<a href=x>x</a>" * (1 << 20))

    with pytest.raises(Unreachable, match="sends more than"):
        list(objects_below(f"{web.address}/runs"))


def test_links_without_end_are_given_up(
    web: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_MOST_FOLDERS", 20)
    for one in range(30):
        web.content[f"/runs/{one}/h.xplane.pb"] = b""

    with pytest.raises(Unreachable, match="links lead to more than 20 folders"):
        list(objects_below(f"{web.address}/runs"))
    assert len(web.asked) < 40


def test_folders_in_folders_without_a_file_are_given_up_early(
    web: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that shows three folders in each folder has 3,279 within the depth that
    is followed; a logdir has a file for every few folders.
    """
    monkeypatch.setattr(stores, "_MOST_WITHOUT_FILE", 20)
    for one in product("abc", repeat=4):
        web.content[f"/runs/{'/'.join(one)}/deeper/and/deeper/still/on/h"] = b""

    with pytest.raises(Unreachable, match="links lead to more than 21 folders"):
        list(objects_below(f"{web.address}/runs"))
    assert len(web.asked) < 40


def test_a_server_that_says_what_it_has_byte_by_byte_is_given_up(
    web: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some 40 bytes of links; each comes before the server counts as silent."""
    monkeypatch.setattr(stores, "_LONGEST_S", 0.5)
    web.content["/runs/h.xplane.pb"] = b""
    web.slow.add("/runs/")

    with pytest.raises(
        Unreachable, match="the server fell silent, or never comes to an end"
    ):
        list(objects_below(f"{web.address}/runs"))


@pytest.mark.parametrize(
    "aim",
    [
        "localhost",
        "127.0.0.2",
        "0.0.0.0",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "127.1",
    ],
)
def test_another_name_of_this_machine_is_not_followed_to(
    web: Objects, aim: str
) -> None:
    web.redirects["/h.xplane.pb"] = (
        web.address.replace("127.0.0.1", aim) + "/other.xplane.pb"
    )
    web.content["/other.xplane.pb"] = b"secret"

    with pytest.raises(OSError):
        place_of(f"{web.address}/h.xplane.pb").open("rb")
    assert "/other.xplane.pb" not in {path for _, path, _ in web.asked}


@pytest.mark.parametrize(
    "aim",
    [
        "http://169.254.169.254/latest/",
        "//169.254.169.254/latest",
        "http://[fe80::1]/",
        "file:///etc/passwd",
    ],
)
def test_an_address_of_the_machines_own_link_is_not_followed_to(
    web: Objects, aim: str
) -> None:
    """Where clouds hand out credentials."""
    web.redirects["/h.xplane.pb"] = aim

    with pytest.raises(Unreachable):
        place_of(f"{web.address}/h.xplane.pb").open("rb")


@pytest.mark.parametrize(
    ("url", "aim", "elsewhere"),
    [
        ("http://a.test/x", "https://a.test/x", False),
        ("https://a.test/x", "http://a.test/x", True),
        ("http://a.test:8000/x", "http://a.test:8000/y", False),
        ("http://a.test:8000/x", "http://a.test:8001/x", True),
        ("http://a.test/x", "http://b.test/x", True),
    ],
)
def test_a_redirect_stays_with_its_server_and_encryption(
    url: str, aim: str, elsewhere: bool
) -> None:
    yarl = pytest.importorskip("yarl")

    assert stores._leads_elsewhere(yarl.URL(url), yarl.URL(aim)) == elsewhere


def test_links_to_other_hosts_are_not_listed(web: Objects) -> None:
    web.content["/runs/"] = b"".join(
        b'<a href="%s">x</a>' % aim
        for aim in (
            b"http://169.254.169.254/h.xplane.pb",
            b"//localhost/h.xplane.pb",
            b"file:///etc/h.xplane.pb",
        )
    )

    found = [address for address, _ in objects_below(f"{web.address}/runs")]

    assert [one for one in found if not one.startswith(f"{web.address}/")] == []


OUTSIDE, INSIDE, LINK = "93.184.215.14", "127.0.0.1", "169.254.169.254"


def led_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Every name, from now on."""

    def answers(_: str, port: int, *__: object) -> list[tuple[object, ...]]:
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (one, port, 0, 0))
            if ":" in one
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", answers)


@pytest.mark.parametrize("inside", [INSIDE, "10.1.2.3", "::1", "::ffff:127.0.0.1"])
def test_a_name_that_led_out_of_this_network_never_leads_into_it(
    web: Objects, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    """A server may give its name another address between two questions."""
    monkeypatch.setattr(stores, "_outside", {"rebound.test"})
    led_to(monkeypatch, inside)
    web.content["/h.xplane.pb"] = b"secret"

    with pytest.raises(
        Unreachable, match="this name now leads to this machine's own network"
    ):
        place_of(
            web.address.replace("127.0.0.1", "rebound.test") + "/h.xplane.pb"
        ).open("rb")
    assert web.asked == []


def test_of_several_addresses_those_outside_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One inside would be asked as soon as that outside refuses."""
    monkeypatch.setattr(stores, "_outside", set())
    told = [{"host": one} for one in (INSIDE, OUTSIDE, LINK, "::ffff:10.0.0.1")]

    assert stores._addresses_to_ask("a.test", told) == [{"host": OUTSIDE}]
    assert (
        stores._addresses_to_ask("b.test", told[:1]) == told[:1]
    )  # a server of one's own network
    with pytest.raises(Unreachable, match="now leads"):
        stores._addresses_to_ask("a.test", told[:1])
    for link in (LINK, "fe80::1%eth0", "::ffff:169.254.169.254"):
        with pytest.raises(Unreachable, match="this machine's own link"):
            stores._addresses_to_ask("c.test", [{"host": link}])


def test_a_name_of_ones_own_network_is_asked(
    web: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    led_to(monkeypatch, INSIDE)
    web.content["/h.xplane.pb"] = b"bytes"

    with place_of(web.address.replace("127.0.0.1", "near.test") + "/h.xplane.pb").open(
        "rb"
    ) as file:
        assert file.read() == b"bytes"
