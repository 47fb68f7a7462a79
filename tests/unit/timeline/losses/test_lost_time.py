"""What fills lost time, on traces whose answer is worked out on paper."""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace

from tfadvisor.timeline.losses.activities import LostTime
from tfadvisor.vocabulary import TimeClass

MS = 1_000_000_000


def lost(built: TraceBuilder) -> dict[TimeClass, LostTime]:
    (host,) = built.build().hosts
    return {one.kind: one for one in host.evidence.losses}


def steps_of_ten_ms(count: int = 5) -> TraceBuilder:
    """Steps of 10 ms of which a kernel takes the first 4."""
    return trace().steps(count, 10_000).busy("GPU:0", *((10_000 * i, 10_000 * i + 4_000) for i in range(count)))


def test_a_wait_for_the_programs_own_threads_is_host_work_of_the_users_function_around_it() -> None:
    """Of each 10 ms, `train` waits 6 in orbax' checkpointer, called by its own `save`: 5 x 6 ms."""
    built = steps_of_ten_ms().call("$train.py:3 main", 0, 50_000)
    for i in range(5):
        built.call("$train.py:30 save", 10_000 * i + 4_000, 10_000 * i + 10_000)
        built.call("$checkpoint_manager.py:7 wait_until_finished", 10_000 * i + 4_000, 10_000 * i + 10_000)
        built.call("$threading.py:288 wait", 10_000 * i + 4_000, 10_000 * i + 10_000)

    found = lost(built)[TimeClass.HOST]

    assert found.ps == 5 * 6 * MS
    assert found.activity.name == "wait (threading.py:288)"
    assert found.activity.calls == "wait_until_finished (checkpoint_manager.py:7)"
    assert found.activity.place == "save (train.py:30)"
    assert found.activity.thread == "python"
    assert found.activity.ps == 5 * 6 * MS


def test_a_wait_for_a_device_stays_idle_time_of_the_function_around_it() -> None:
    """The kernel ends at 4, the value comes at 10."""
    built = steps_of_ten_ms().call("$train.py:3 main", 0, 50_000)
    for i in range(5):
        built.call("$train.py:30 report", 10_000 * i, 10_000 * i + 10_000)
        built.call("$array.py:288 _value", 10_000 * i, 10_000 * i + 10_000)

    found = lost(built)[TimeClass.IDLE]

    assert (found.ps, found.activity.place) == (5 * 6 * MS, "report (train.py:30)")


def test_of_two_functions_the_one_that_takes_more_is_named_and_comprehensions_belong_to_theirs() -> None:
    built = steps_of_ten_ms().call("$train.py:3 main", 0, 50_000)
    for i in range(5):
        built.call("$train.py:20 log", 10_000 * i + 4_000, 10_000 * i + 6_000)
        built.call("$train.py:40 report", 10_000 * i + 6_000, 10_000 * i + 10_000)
        built.call("$train.py:41 <listcomp>", 10_000 * i + 6_500, 10_000 * i + 10_000)

    activity = lost(built)[TimeClass.HOST].activity

    assert (activity.name, activity.place) == ("<listcomp> (train.py:41)", "report (train.py:40)")
    assert activity.ps == 5 * 3_500 * 1_000_000


def test_without_frames_the_events_around_the_time_are_named() -> None:
    built = steps_of_ten_ms()
    for i in range(5):
        built.call("PjitFunction(train_step)", 10_000 * i, 10_000 * i + 1_000)
        built.call("write_log", 10_000 * i + 3_000, 10_000 * i + 4_000)

    activity = lost(built)[TimeClass.HOST].activity

    assert (activity.name, activity.before, activity.after) == ("", "write_log", "PjitFunction(train_step)")
    assert activity.ps == 5 * 6 * MS  # the last step's marker shows that the thread still runs


def test_the_runtimes_own_events_give_way_to_the_call_around_them() -> None:
    built = steps_of_ten_ms()
    for i in range(5):
        built.call("PjitFunction(add)", 10_000 * i + 4_000, 10_000 * i + 10_000)
        built.call("PjRtStreamExecutorLoadedExecutable::Execute", 10_000 * i + 4_100, 10_000 * i + 9_900)

    assert lost(built)[TimeClass.LAUNCH].activity.name == "PjitFunction(add)"


def test_the_copy_that_fills_transfer_time_is_named_with_its_device() -> None:
    built = steps_of_ten_ms()
    for i in range(5):
        built.copy("GPU:0", "H2D", 10_000 * i + 4_000, 10_000 * i + 7_000)
        built.copy("GPU:0", "D2H", 10_000 * i + 7_000, 10_000 * i + 8_000)

    found = lost(built)[TimeClass.TRANSFER]

    assert found.ps == 5 * 4 * MS
    assert (found.activity.name, found.activity.thread, found.activity.ps) == ("MemcpyH2D", "GPU:0", 5 * 3 * MS)


def test_host_time_is_the_driving_threads_own_whatever_other_threads_do() -> None:
    built = steps_of_ten_ms().thread("writer")
    for i in range(5):
        built.call("write_shard", 10_000 * i + 4_000, 10_000 * i + 10_000)

    found = lost(built)

    assert found.keys() == {TimeClass.HOST}
    assert (found[TimeClass.HOST].activity.name, found[TimeClass.HOST].activity.thread) == ("", "python")


def test_little_lost_time_is_not_looked_at() -> None:
    built = trace().steps(5, 10_000).busy("GPU:0", *((10_000 * i, 10_000 * i + 9_100) for i in range(5)))

    assert lost(built) == {}
