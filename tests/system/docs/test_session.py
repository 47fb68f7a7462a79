"""The recorded terminal session: what the README promises was run, in its order, and
proved something.
"""

from __future__ import annotations

import json
import re

from support.places import ROOT

LINES = (
    (ROOT / "docs" / "pictures" / "session.cast")
    .read_text(encoding="utf-8")
    .splitlines()
)
HEAD, EVENTS = json.loads(LINES[0]), [json.loads(line) for line in LINES[1:]]
TEXT = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", "".join(event[2] for event in EVENTS))


def test_it_is_an_asciicast_whose_time_goes_on() -> None:
    times = [event[0] for event in EVENTS]

    assert HEAD["version"] == 2
    assert times == sorted(times)
    assert {event[1] for event in EVENTS} == {"o"}


def test_the_commands_are_those_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    promised = re.findall(r"^tfadvisor (run|fix|try) ", readme, re.MULTILINE)

    assert (
        re.findall(r"^\$ tfadvisor (\w+) ", TEXT, re.MULTILINE)
        == promised
        == ["run", "fix", "try"]
    )


def test_the_last_one_measures_a_gain_and_says_what_was_promised() -> None:
    proof = TEXT[TEXT.index("$ tfadvisor try") :]

    assert re.search(r"better +[\w-]+: \d+% of step time saved \(\d+ to \d+\)", proof)
    assert re.search(r"predicted \d+ to \d+", proof)


def test_no_place_of_the_recording_machine_is_in_it() -> None:
    assert "/tmp/" not in TEXT
    assert "/home/" not in TEXT
