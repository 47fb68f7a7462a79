"""Whose file a frame is of, by the file's name alone."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.frames import is_users_frame


@pytest.mark.parametrize(
    "name",
    [
        "$train_step.py:4 step",
        "$image_data_loader.py:1 load",
        "$my_utils.py:1 f",
        "$jax_linen_cells.py:9 f",
        "$train.py:42 step",
        "$data.py:7 load",
        "$utils.py:1 log",
        "$main.py:1 <module>",
        "$src/model.py:3 loss",
    ],
)
def test_files_that_programs_have_are_the_users(name: str) -> None:
    assert is_users_frame(name)


@pytest.mark.parametrize(
    "name",
    [
        "$builtins next",
        "$api.py:3165 try_to_block",
        "$checkpoint_manager.py:1200 wait_until_finished",
        "$threading.py:288 wait",
        "$async_io_engine.py:147 logging_serialize",
        "$base_pytree_checkpoint_handler.py:770 save",
        "$modeling_bert.py:400 forward",
        "$train.py:42 <listcomp>",
        "$/usr/lib/python3.11/site-packages/grain/loader.py:9 get",
        "PjitFunction(step)",
    ],
)
def test_builtins_libraries_comprehensions_and_other_events_are_not(name: str) -> None:
    assert not is_users_frame(name)
