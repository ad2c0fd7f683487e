import pytest

from reframe_checks.parsers import hpl
from reframe_checks.parsers.text import ParseError

ROW = "WR11C2R4        1000    64     1     2               0.02             3.0197e+01\n"
RESIDUAL = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   4.79465903e-03 ...... PASSED\n"


def test_plain_hpl(recorded):
    assert hpl.parse(recorded("hpl/xhpl.txt")) == (
        hpl.HplResult(n=1000, nb=64, p=1, q=2, gflops=30.197, residual=4.79465903e-03, passed=True),
    )


def test_a_time_too_short_for_two_decimals(recorded):
    text = recorded("hpl/xhpl.txt").replace("          0.02  ", "          0.00  ").replace("3.0197e+01", "3.0197e+02")
    assert hpl.parse(text)[0].time_s == pytest.approx(0.002213, rel=1e-3)


def test_several_orders_and_blocks(recorded):
    results = hpl.parse(recorded("hpcc/several_runs.txt"))
    assert [(result.n, result.nb) for result in results] == [(1500, 64), (1500, 128), (2000, 64), (2000, 128)]


def test_a_failed_residual_is_a_result(recorded):
    (result,) = hpl.parse(recorded("hpcc/failed_residual.txt"))
    assert not result.passed


def test_figures_per_gpu(recorded):
    """NVIDIA's HPL adds a figure per GPU to heading and row."""
    text = recorded("hpl/xhpl.txt")
    text = text.replace("Gflops\n-", "Gflops (   per GPU)\n-").replace(ROW, ROW[:-1] + " ( 1.510e+01)\n")
    assert hpl.parse(text)[0].gflops == 30.197


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3.0197e+01", "3.0197e+02", "Gflop/s that agrees with N=1000 in 0.02 s, found 301.97"),
        ("3.0197e+01", "nan", "the heading .* then one line with these figures"),
        ("3.0197e+01", "3.0197e+999", "Gflop/s above 0 and at most 200000000000 Gflop/s"),
        ("1000    64     1", "1000    64    -1", "one line with these figures"),
        ("1000    64     1", "1000    64     0", "P above 0"),
        ("          0.02  ", "          0.00  ", r"Gflop/s that agrees with N=1000 in 0.00 s, found 30.197"),
        ("4.79465903e-03", "nan", "one residual behind each result"),
        (" PASSED", " PAS", "one residual behind each result"),
        (RESIDUAL, "", "a result line `W…` followed by its residual"),
        (ROW, "", "one residual behind each result"),
        (ROW, ROW + ROW, "the heading"),
        (ROW + "HPL_", RESIDUAL + ROW + "HPL_", "one residual behind each result"),
        ("T/V                N", "V/T                N", "the heading `T/V N NB P Q Time Gflops`"),
        ("      1 tests completed and passed", "      0 tests completed and passed", "1 tests passed"),
        ("      0 tests skipped", "      1 tests skipped", "0 tests skipped"),
        ("Finished      1 tests", "Finished      2 tests", "1 tests finished"),
        ("End of Tests.", "", "`End of Tests.`"),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("hpl/xhpl.txt")
    assert text.count(old) == 1
    with pytest.raises(ParseError, match=message):
        hpl.parse(text.replace(old, new))


def test_output_of_two_runs(recorded):
    for name in ("hpl/xhpl.txt", "hpcc/two_ranks.txt"):
        with pytest.raises(ParseError, match="once"):
            hpl.parse(2 * recorded(name))


def test_an_hpc_challenge_run_that_died_before_hpl(recorded):
    text = recorded("hpcc/two_ranks.txt")
    with pytest.raises(ParseError, match="the beginning of the HPL section"):
        hpl.parse(text[: text.index("Begin of HPL section")])


@pytest.mark.parametrize("name", ["hpl/xhpl.txt", "hpcc/two_ranks.txt"])
def test_output_cut_off_between_lines(recorded, name):
    lines = recorded(name).splitlines(keepends=True)
    whole = hpl.parse("".join(lines))
    end = lines.index("End of HPL section.\n" if "hpcc" in name else "End of Tests.\n")
    for count in range(end + 1):
        with pytest.raises(ParseError):
            hpl.parse("".join(lines[:count]))
    assert hpl.parse("".join(lines[: end + 1])) == whole
