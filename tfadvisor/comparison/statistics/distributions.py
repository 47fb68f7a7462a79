"""Student's t and the normal distribution, without SciPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import erfc, exp, inf, lgamma, log, log1p, sqrt

_SMALL = 1e-300
_ENOUGH = 1e-15
_ROUNDS = 500


def normal_tail(z: float) -> float:
    """Probability that a standard normal value exceeds z."""
    return erfc(z / sqrt(2)) / 2


def t_tail(t: float, freedom: float) -> float:
    """Probability that a value of Student's t with `freedom` degrees of freedom (need
    not be whole) exceeds t.
    """
    if freedom == inf:
        return normal_tail(t)
    inside = freedom / (freedom + t * t)
    upper = incomplete_beta(freedom / 2, 0.5, inside) / 2
    return upper if t >= 0 else 1 - upper


@lru_cache(maxsize=1024)
def normal_quantile(tail: float) -> float:
    """The z that a standard normal value exceeds with this probability."""
    return _exceeded_with(tail, normal_tail)


@lru_cache(maxsize=1024)
def t_quantile(tail: float, freedom: float) -> float:
    """The t that Student's t exceeds with this probability."""
    return _exceeded_with(tail, lambda t: t_tail(t, freedom))


def incomplete_beta(
    a: float,
    b: float,
    x: float,
) -> float:
    """The regularized incomplete beta function I_x(a, b), by its continued fraction
    (modified Lentz's method).
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)

    scale = lgamma(a + b) - lgamma(a) - lgamma(b)
    front = exp(scale + a * log(x) + b * log1p(-x)) / a
    return front * _continued_fraction(a, b, x)


def _continued_fraction(
    a: float,
    b: float,
    x: float,
) -> float:
    c = 1.0
    d = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _ROUNDS):
        at = a + 2 * m
        even = m * (b - m) * x
        even /= (at - 1) * at
        odd = -(a + m) * (a + b + m) * x
        odd /= at * (at + 1)

        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            fraction *= c * d
        if abs(c * d - 1) < _ENOUGH:
            break
    return fraction


def _not_zero(value: float) -> float:
    return value if abs(value) > _SMALL else _SMALL


def _exceeded_with(
    tail: float,
    exceeds: Callable[[float], float],
) -> float:
    if not 0 < tail < 1:
        return -inf if tail >= 1 else inf

    low = -1.0
    high = 1.0
    while exceeds(low) < tail:
        low *= 2
    while exceeds(high) > tail:
        high *= 2
    while high - low > 1e-12 * max(1.0, abs(high)):
        middle = (low + high) / 2
        if exceeds(middle) > tail:
            low = middle
        else:
            high = middle
    return (low + high) / 2
