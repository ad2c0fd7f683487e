import pytest

from reframe_checks.parsers import memory_bandwidth
from reframe_checks.parsers.text import ParseError


def test_a_kernel_without_arithmetic(recorded):
    result = memory_bandwidth.likwid(recorded("likwid/load.txt"))
    assert result.kernel == "load"


def test_more_threads_than_the_domain_has(recorded):
    result = memory_bandwidth.likwid(recorded("likwid/oversubscribed.txt"))
    assert (len(result.hwthreads), len(set(result.hwthreads))) == (9, 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("67368.10", "6736.81", "MByte/s near 67368.09"),
        ("67368.10", "inf", "`bandwidth_mb_s` and its figure"),
        ("MByte/s:", "GByte/s:", "`bandwidth_mb_s` and its figure"),
        ("3.040007e+00", "3.040007e+01", "MByte/s near"),
        ("3.040007e+00", "-3.040007e+00", "`time_s` and its figure"),
        ("204799475712", "20479947571", "a data volume of working set x iterations"),
        ("Using 2 threads", "Using 3 threads", "a line for each of 3 threads, found threads .0, 1."),
        ("Using 1 work groups", "Using 2 work groups", "Using 1 work groups"),
        ("Test: stream", "Test: ", "`Test: KERNEL`"),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("likwid/stream.txt")
    assert text.count(old) == 1
    with pytest.raises(ParseError, match=message):
        memory_bandwidth.likwid(text.replace(old, new))


def test_output_of_two_runs(recorded):
    with pytest.raises(ParseError, match="`LIKWID MICRO BENCHMARK` once only"):
        memory_bandwidth.likwid(recorded("likwid/stream.txt") + recorded("likwid/load.txt"))


def test_a_kernel_that_likwid_does_not_know():
    with pytest.raises(ParseError, match="`LIKWID MICRO BENCHMARK`"):
        memory_bandwidth.likwid("Error: Unknown test case nonsense\n")
