import pytest

from reframe_checks.parsers import memory_bandwidth
from reframe_checks.parsers.text import ParseError


def test_without_openmp(recorded):
    assert memory_bandwidth.stream(recorded("stream/serial.txt")).threads is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Solution Validates", "Solution", "`Solution Validates: …`"),
        ("Solution Validates", "Failed Validation", "the arrays hold wrong values"),
        ("48925.1", "4892.5", "line 30: expected the rate of 480 MB in the minimum time"),
        ("48925.1", "nan", "the rows Copy, Scale, Add, Triad"),
        ("48925.1", "0.0", "rate above 0"),
        ("0.009811", "0.000000", "time above 0"),
        ("0.010647", "0.000647", "minimum <= mean <= maximum time"),
        ("0.010647", "0.0106", "the rows"),
        ("Array size = 20000000", "Array size = 2000000", "Copy|the rate of"),
        ("Best Rate MB/s", "Best Rate GB/s", "the heading"),
        ("Scale:", "Copy: ", "the rows"),
        ("Add: ", "Ada: ", "the rows"),
        ("Threads counted = 2", "Threads counted = 1", "2 threads, as requested"),
        ("Revision: 5.10", "Revision: 6.10", "`STREAM version"),
        ("8 bytes per array element", "0 bytes per array element", "bytes per array element"),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("stream/two_threads.txt")
    assert text.count(old) == 1
    with pytest.raises(ParseError, match=message):
        memory_bandwidth.stream(text.replace(old, new))


def test_output_of_two_runs(recorded):
    with pytest.raises(ParseError, match="once only"):
        memory_bandwidth.stream(2 * recorded("stream/serial.txt"))


def test_output_cut_off_between_lines(recorded):
    lines = recorded("stream/two_threads.txt").splitlines(keepends=True)
    for count in range(len(lines) - 1):
        with pytest.raises(ParseError):
            memory_bandwidth.stream("".join(lines[:count]))
