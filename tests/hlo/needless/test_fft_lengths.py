"""Lengths of Fourier transforms."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.hlo.format.module import Module
from tfadvisor.hlo.needless.fft_lengths import odd_length


@pytest.mark.parametrize(
    ("length", "odd"),
    [
        (16384, 0),  # 2**14
        (16411, 16411),  # a prime
        (2 * 3 * 5 * 7 * 13, 0),
        (2 * 8209, 16418),  # twice a prime
        (64 * 17, 1088),
        (61, 0),  # a prime, but short
    ],
)
def test_lengths_with_a_large_prime_factor(length: int, odd: int) -> None:
    transform = hlo.op(2, "fft", "c64[4,8]", 1, name="fft", extra=hlo.packed(32, [length]))
    module = Module(hlo.module(hlo.computation(1, hlo.op(1, "parameter", "f32[4,8]"), transform)))
    found = module.instruction("fft")

    assert found is not None
    assert odd_length([found]) == odd
