import pytest

from reframe_checks.parsers import likwid
from reframe_checks.parsers.errors import ParseError


def test_stream(recorded):
    result = likwid.parse(recorded("likwid/stream.txt"))
    assert (result.kernel, result.threads, result.hwthreads) == ("stream", 2, (0, 1))
    assert (result.working_set_bytes, result.iterations_per_thread) == (49_999_872, 4096)
    assert (result.data_volume_bytes, result.time_s, result.bandwidth_mb_s) == (204_799_475_712, 3.040007, 67368.10)
    assert (result.flops, result.mflops_s) == (17_066_622_976, 5614.01)


def test_a_kernel_without_arithmetic(recorded):
    result = likwid.parse(recorded("likwid/load.txt"))
    assert (result.kernel, result.flops, result.mflops_s) == ("load", 0, 0)


def test_more_threads_than_the_domain_has(recorded):
    result = likwid.parse(recorded("likwid/oversubscribed.txt"))
    assert (result.threads, len(set(result.hwthreads))) == (9, 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("67368.10", "6736.81", "MByte/s near 67368.09"),
        ("67368.10", "inf", "`MByte/s:` and its figure"),
        ("MByte/s:", "GByte/s:", "`MByte/s:` and its figure"),
        ("3.040007e+00", "3.040007e+01", "MByte/s near"),
        ("3.040007e+00", "-3.040007e+00", "`Time:` and its figure"),
        ("204799475712", "20479947571", "a data volume of working set x iterations"),
        ("Using 2 threads", "Using 3 threads", "a line for each of 3 threads, found threads .0, 1."),
        ("Using 1 work groups", "Using 2 work groups", "one work group"),
        ("Test: stream", "Test: ", "`Test: KERNEL`"),
        ("Cycles:\t\t\t", "Cycles:\t\t\t9", "a time of"),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("likwid/stream.txt")
    assert text.count(old) == 1
    with pytest.raises(ParseError, match=message):
        likwid.parse(text.replace(old, new))


def test_output_of_two_runs(recorded):
    with pytest.raises(ParseError, match="`LIKWID MICRO BENCHMARK` once only"):
        likwid.parse(recorded("likwid/stream.txt") + recorded("likwid/load.txt"))


def test_a_kernel_that_likwid_does_not_know():
    with pytest.raises(ParseError, match="`LIKWID MICRO BENCHMARK`"):
        likwid.parse("Error: Unknown test case nonsense\n")
