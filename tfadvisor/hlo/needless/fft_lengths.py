"""Fourier transforms of lengths that do not split into small factors, for which libraries compute several times as much."""

from __future__ import annotations

from collections.abc import Iterable

from tfadvisor.hlo.format.module import Instruction
from tfadvisor.hlo.format.wire import numbers_of

_LENGTHS = 32
_LARGEST_FACTOR = 13
"""pocketfft and cuFFT have kernels of their own up to 11 or 13."""
_SHORTEST = 64


def odd_length(parts: Iterable[Instruction]) -> int:
    """The transform's length that has a prime factor above 13; 0 where none has. Raises TraceError for damaged bytes."""
    for one in parts:
        if one.opcode == "fft":
            for length in numbers_of(one.proto, one.fields, _LENGTHS):
                if length >= _SHORTEST and _largest_factor(length) > _LARGEST_FACTOR:
                    return length
    return 0


def _largest_factor(number: int) -> int:
    for factor in (2, 3, 5, 7, 11, 13):
        while number % factor == 0:
            number //= factor
    return number
