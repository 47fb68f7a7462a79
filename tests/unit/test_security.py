"""Each promise of SECURITY.md names tests that fail where it is broken; what only the
code can show is asked of the code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import ROOT, tree_of

PACKAGE = ROOT / "tfadvisor"
ROBUST = "system/robustness"
TESTS: dict[str, tuple[str, ...]] = {
    "No network": (
        "unit/test_security.py::test_no_module_speaks_to_a_network",
        "unit/report/forms/test_template.py::test_only_its_own_script_and_styles_may_run",
        "system/serve/tensorboard/test_frontend.py",
    ),
    "Nothing from a trace is executed": (
        "unit/test_security.py::test_no_module_runs_text",
        "unit/program/test_damaged_bytes.py",
    ),
    "Nothing from a rule file is executed": (
        "unit/advice/loading/test_rule_files.py::test_dangerous_and_broken_yaml_is_refused",
        "unit/advice/loading/test_rule_files.py::test_nested_aliases_do_not_explode",
    ),
    "Nothing is written beside a trace": (
        "system/cli/test_command.py::test_nothing_is_written_beside_the_trace",
        f"{ROBUST}/test_tab_limits.py::test_a_cache_around_the_logdir_is_not_used",
    ),
    "Text from a trace stays text": (
        "system/cli/test_bad_input.py::test_hostile_names_are_shown_and_do_no_harm",
        f"{ROBUST}/test_standard_streams.py::test_no_name_is_a_command_to_a_ci_system",
    ),
    "Damaged input ends with a message": (
        "system/cli/test_bad_input.py::test_a_file_cut_at_any_byte",
        "system/cli/test_bad_input.py::test_what_is_no_trace_is_refused_in_one_line",
        f"{ROBUST}/test_memory_in_proportion.py::test_more_things_than_a_profiler_writes_are_refused",
        f"{ROBUST}/test_memory_in_proportion.py::test_the_command_has_a_deadline_and_says_so",
    ),
    "Nothing waits for what is no file": (
        "system/cli/test_bad_input.py::test_what_is_no_trace_is_refused_in_one_line",
        "system/cli/test_bad_input.py::test_a_socket_is_refused",
        f"{ROBUST}/test_what_is_no_file.py::test_a_pipe_beside_a_trace_is_a_host_that_is_left_out",
    ),
    "A server sends no more than was asked for, and sends nowhere else": (
        "system/trace/test_hostile_servers.py::test_an_answer_that_unpacks_to_more_than_was_asked_for_is_given_up",
        "system/trace/test_hostile_servers.py::test_links_without_end_are_given_up",
        "system/trace/test_hostile_servers.py::test_another_name_of_this_machine_is_not_followed_to",
        "system/trace/test_hostile_servers.py::test_an_address_of_the_machines_own_link_is_not_followed_to",
    ),
    "`fix` writes only what git can take back": (
        "system/test_git.py::test_a_name_is_no_pattern",
        "system/test_git.py::test_a_file_whose_changes_git_overlooks_is_refused",
        "system/test_git.py::test_a_file_counts_in_the_repository_that_it_lies_in",
        "unit/act/repair/test_sources.py::test_a_link_out_of_the_folder_is_left_alone_and_one_inside_it_is_read",
    ),
    "Git runs nothing that a repository configures": (
        "system/test_git.py::test_a_filter_of_the_repository_does_not_run",
        "system/test_git.py::test_neither_a_monitor_of_files_nor_a_hook_runs",
        "system/test_git.py::test_variables_that_configure_git_do_not_count",
        "system/test_git.py::test_what_a_hook_inherits_names_no_other_repository",
    ),
    "An agent reads below the root alone": (
        "system/serve/agents/test_server.py::test_what_lies_outside_the_root_is_refused",
        "system/serve/agents/test_server.py::test_files_that_are_read_with_a_trace_are_refused_where_they_lead_out",
        "system/serve/agents/test_server.py::test_no_message_names_what_lies_outside",
    ),
    "Nothing stays": (
        f"{ROBUST}/test_programs_left.py::test_nobody_and_nothing_is_left",
        f"{ROBUST}/test_programs_left.py::test_a_folder_that_its_owner_may_not_write_goes_too",
        f"{ROBUST}/test_nobody_left.py::test_workers_end_with_the_command",
        f"{ROBUST}/test_nobody_left.py::test_a_killed_writer_leaves_no_hidden_file",
    ),
    "What others can write is not trusted": (
        f"{ROBUST}/test_tab_limits.py::test_a_cache_that_others_can_write_is_not_used",
        f"{ROBUST}/test_tab_limits.py::test_a_cache_in_a_folder_where_others_can_rename_it_is_not_used",
        f"{ROBUST}/test_tab_limits.py::test_a_cache_removes_nothing_that_it_did_not_write",
    ),
    "What you install is what is here": (
        "system/test_supply.py::test_every_action_is_named_by_its_commit",
        "system/test_supply.py::test_ci_installs_by_hash_alone",
        "system/test_action.py::test_the_checkout_is_installed_by_default",
    ),
}


def test_every_promise_has_tests() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")

    assert re.findall(r"(?m)^\| \*\*(.+?)\.\*\*", page) == list(TESTS)


@pytest.mark.parametrize(
    "name", sorted({one for several in TESTS.values() for one in several})
)
def test_the_test_is_there(name: str) -> None:
    file, _, function = name.partition("::")

    assert f"def {function or 'test_'}" in (ROOT / "tests" / file).read_text(
        encoding="utf-8"
    )


SYSTEM = ROOT / "tests" / "system"
FAULTS = {SYSTEM / "robustness" / "README.md": 80, SYSTEM / "report" / "README.md": 40}
"""Pages of what once went wrong, and how many tests each names at least."""
NAMED = re.compile(r"`((?:[\w/]+/)?test_\w+\.py)?(?:::(test_\w+))?`")


def named_tests(page: Path) -> Iterator[tuple[Path, str]]:
    """Each test of a page: its file, which stands before the first of its tests alone,
    and its name.
    """
    file = page
    for named, test in NAMED.findall(page.read_text(encoding="utf-8")):
        if named:
            bases = dict.fromkeys((page.parent, SYSTEM, ROOT))
            (file,) = {base / named for base in bases if (base / named).is_file()}
        if test:
            yield file, test


@pytest.mark.parametrize("page", FAULTS, ids=lambda page: page.parent.name)
def test_every_fault_has_the_test_that_the_page_names(page: Path) -> None:
    named = list(named_tests(page))

    assert len(named) >= FAULTS[page]
    assert [
        test
        for file, test in named
        if f"def {test}(" not in file.read_text(encoding="utf-8")
    ] == []


NETWORK = """
    http.client http.server urllib.request urllib3 requests httpx aiohttp fsspec grpc asyncio ftplib smtplib ssl socketserver
""".split()
"""What speaks to others."""
ASKED_FOR = {
    "trace/stores.py": {"aiohttp", "fsspec"},
    "trace/local_copies.py": {"fsspec"},
    "act/record/service.py": {"grpc"},
}
"""Modules that do, to the address that the user names."""
_NOT_SPOKEN = {"gethostname"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), tree_of(path)


def imports(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {
                node.module,
                *(f"{node.module}.{alias.name}" for alias in node.names),
            }
    return found


def test_no_module_speaks_to_a_network() -> None:
    """`socket` only tells this machine's name."""
    speaks = {}
    for name, tree in modules():
        imported = imports(tree)
        used = {
            one
            for one in NETWORK
            if any(f"{other}.".startswith(f"{one}.") for other in imported)
        }
        if used - ASKED_FOR.get(name, set()):
            speaks[name] = used
        calls = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "socket"
        }
        if calls - _NOT_SPOKEN:
            speaks[name] = calls

    assert speaks == {}


RUNS = {
    "act/record/injected/sitecustomize.py": {"__import__"},
    "processes.py": {"loads"},
    "timeline/run/one_host.py": {"loads"},
}
"""The user's own `sitecustomize`, and what a process of ours, or a task of the engine
that we started, answers.
"""
_OF_MODULES = {"pickle", "marshal", "shelve", "dill", "os", "subprocess"}


def test_no_module_runs_text() -> None:
    """Neither as Python nor as a command line; processes are started from lists of
    words.
    """
    found: dict[str, set[str]] = {}
    for name, tree in modules():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Name) and called.id in (
                "eval",
                "exec",
                "__import__",
            ):
                found.setdefault(name, set()).add(called.id)
            elif isinstance(called, ast.Attribute) and isinstance(
                called.value, ast.Name
            ):
                of, what = called.value.id, called.attr
                if of in _OF_MODULES and what in (
                    "load",
                    "loads",
                    "Unpickler",
                    "system",
                    "popen",
                    "getoutput",
                ):
                    found.setdefault(name, set()).add(what)
            if any(
                one.arg == "shell" and isinstance(one.value, ast.Constant)
                for one in node.keywords
            ):
                found.setdefault(name, set()).add("shell")

    assert found == RUNS
