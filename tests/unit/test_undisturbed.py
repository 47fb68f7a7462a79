"""What must be done whole is, and a signal that came meanwhile is heeded after it."""

from __future__ import annotations

import signal
import threading

import pytest

from tfadvisor.processes import undisturbed


class Stop(Exception):
    pass


def stop(_number: int, _frame: object) -> None:
    raise Stop


@pytest.fixture(autouse=True)
def handlers():
    before = signal.signal(signal.SIGTERM, stop)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_signal_waits_until_all_is_done() -> None:
    done = []
    with pytest.raises(Stop), undisturbed():
        signal.raise_signal(signal.SIGTERM)
        done.append("after the signal")

    assert done == ["after the signal"]
    assert signal.getsignal(signal.SIGTERM) is stop


def test_without_a_signal_nothing_happens() -> None:
    with undisturbed():
        pass

    assert signal.getsignal(signal.SIGTERM) is stop


def test_another_thread_may_use_it() -> None:
    done = []

    def work() -> None:
        with undisturbed():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert done == [True]
