"""What was written by hand must agree with what was recorded."""

from __future__ import annotations

from urllib.parse import urlparse

import pytest

from tfadvisor.advice.flags.advice import advice, variables
from tfadvisor.advice.flags.recorded import is_newer, recording

JAXLIB = recording().table("XLA_FLAGS", "jaxlib")
NEWEST = JAXLIB.versions[-1]


@pytest.mark.parametrize("rename", advice().renames, ids=lambda rename: rename.old)
def test_the_newer_name_comes_when_the_older_goes(rename) -> None:
    """Two names that live side by side for long would be two flags; a deprecated one
    names its successor itself.
    """
    new = JAXLIB.first_and_last(rename.new)
    old = JAXLIB.first_and_last(rename.old)

    assert new is not None
    if old is None:
        assert new[0] == JAXLIB.versions[0]
    elif is_newer(new[0], old[1]):
        assert JAXLIB.next_version(old[1]) == new[0]
    else:
        flag = JAXLIB.flag(rename.old, NEWEST)
        assert flag is not None
        assert rename.new in flag.about


@pytest.mark.parametrize(
    "rename",
    [one for one in advice().renames if one.values],
    ids=lambda rename: rename.old,
)
def test_values_of_renamed_flags_are_accepted_by_the_newer_one(rename) -> None:
    from tfadvisor.advice.flags.setting_values import fault_of_flag

    flag = JAXLIB.flag(rename.new, NEWEST)

    assert flag is not None
    assert [fault_of_flag(flag, value) for value in rename.values.values()] == ["", ""]


@pytest.mark.parametrize("name", list(advice().gone))
def test_flags_that_are_gone_are_refused_by_the_newest_version(name: str) -> None:
    assert JAXLIB.flag(name, NEWEST) is None


@pytest.mark.parametrize("name", list(advice().dangers))
def test_dangerous_flags_exist(name: str) -> None:
    assert any(name in table.periods for table in recording().tables)


def test_every_variable_has_a_page_and_values_that_it_takes() -> None:
    from tfadvisor.advice.flags.setting_values import fault_of_variable

    assert list(variables()) == sorted(variables())
    for one in variables().values():
        assert urlparse(one.source).scheme == "https", one.name
        assert one.about.endswith((".", "cpu.")), one.name
        if one.default is not None:
            assert fault_of_variable(one, one.default) == "", one.name
        for danger in one.dangers:
            for value in danger.values or ():
                taken = [
                    fault_of_variable(one, spelled)
                    for spelled in (value, value.upper(), value.title())
                ]
                assert "" in taken, (one.name, value)
        if one.renamed:
            assert one.renamed in variables()
