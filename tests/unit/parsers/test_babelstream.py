import pytest

from reframe_checks.parsers import memory_bandwidth
from reframe_checks.parsers.text import ParseError

FAILED = "babelstream/failed_validation.txt"


def test_several_gpus_one_after_the_other(recorded):
    text = recorded("babelstream/cuda_a100.txt") + recorded("babelstream/cuda_rtx2080.txt")
    results = memory_bandwidth.babelstream(text, expect_runs=2)
    assert [result.triad.rate_mb_s for result in results] == [1724827.354, 556770.252]
    with pytest.raises(ParseError, match="3 outputs that begin with"):
        memory_bandwidth.babelstream(text, expect_runs=3)


def test_wrong_results(recorded):
    text = recorded(FAILED)
    with pytest.raises(ParseError, match="the arrays hold wrong values"):
        memory_bandwidth.babelstream(text)
    assert memory_bandwidth.failed_validation(text) == "Validation failed on sum. Error 3.54711e-06"
    assert memory_bandwidth.failed_validation("srun: something else\n") == ""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1724827.354", "2724827.354", "the rate of 805.2 MB"),
        ("Triad ", "Trias ", "the rows Copy, Mul, Add, Triad, Dot"),
        ("Array size: 268.4", "Array size: 368.4", "a total size of three arrays"),
        ("1586905.948 0.00034     0.00036", "1586905.948 0.00034     0.00033", "minimum <= mean <= maximum"),
        ("1586905.948 0.00034", "1586905.948 0.00000", "above 0"),
        ("Precision: double", "Precision: float", "Precision: double"),
        ("Version: 5.0", "Version: 3.4", "Version"),
        ("Using CUDA device", "Using device", "Using CUDA device"),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("babelstream/cuda_a100.txt")
    assert text.count(old) == 1
    with pytest.raises(ParseError, match=message):
        memory_bandwidth.babelstream(text.replace(old, new))
