"""The knee of known curves: a floor in the cache, a slope, and a plateau in memory."""

import pytest

from reframe_checks.application.emt_caches import knee_bytes

MIB = 1 << 20


def curve(cache_mib, *, slowdown=3.0, sizes=tuple(2**k for k in range(-1, 8)), noise=()):
    """Time of a task that takes ``slowdown`` times as long for what the cache of this size does not hold."""
    times = {}
    for number, mib in enumerate(sizes):
        outside = max(0.0, 1 - cache_mib / mib)
        times[int(mib * MIB)] = 0.05 * (1 + (slowdown - 1) * outside) * (1 + (noise[number] if noise else 0))
    return times


@pytest.mark.parametrize("cache_mib", [4, 16, 32])
def test_a_knee_is_where_the_cache_ends(cache_mib):
    assert cache_mib * MIB < knee_bytes(curve(cache_mib)) < 2.5 * cache_mib * MIB


def test_half_of_the_cache_has_half_of_the_knee():
    assert knee_bytes(curve(32)) / knee_bytes(curve(16)) == pytest.approx(2, rel=0.15)


def test_noise_moves_it_little():
    disturbed = curve(16, noise=(0.05, -0.02, 0.04, 0, -0.03, 0.02, -0.04, 0.03, 0.01))
    assert knee_bytes(disturbed) == pytest.approx(knee_bytes(curve(16)), rel=0.2)


def test_memory_as_fast_as_the_cache_has_none():
    assert knee_bytes(curve(16, slowdown=1.1)) is None
    assert knee_bytes({1 << 20: 0.05}) is None
    # Slow only where it is small, as a core that was still waking up.
    assert knee_bytes({1 << 20: 0.09, 1 << 21: 0.05, 1 << 22: 0.05}) is None
