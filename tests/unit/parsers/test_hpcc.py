import pytest

from reframe_checks.parsers import hpcc, hpl
from reframe_checks.parsers.errors import ParseError


def test_two_ranks(recorded):
    summary = hpcc.parse(recorded("hpcc/two_ranks.txt"))
    assert summary.success
    assert (summary.processes, summary.hpl_n, summary.hpl_nb, summary.hpl_p, summary.hpl_q) == (2, 1000, 80, 1, 2)
    assert (summary.stream_elements, summary.stream_threads) == (166666, 1)


def test_figures_in_their_units(recorded):
    text = recorded("hpcc/two_ranks.txt")
    values = dict(line.split("=") for line in text.splitlines() if line.count("=") == 1 and " " not in line)
    summary = hpcc.parse(text)
    assert summary.hpl_gflops == pytest.approx(1000 * float(values["HPL_Tflops"]))
    assert summary.hpl_gflops == pytest.approx(hpl.parse(text)[0].gflops, rel=1e-3)
    assert summary.star_stream.triad_gb_s == float(values["StarSTREAM_Triad"])
    assert summary.single_stream.copy_gb_s == float(values["SingleSTREAM_Copy"])
    assert summary.star_dgemm_gflops == float(values["StarDGEMM_Gflops"])
    assert summary.random_ring.latency_us == float(values["RandomlyOrderedRingLatency_usec"])
    assert summary.natural_ring.bandwidth_gb_s == float(values["NaturallyOrderedRingBandwidth_GBytes"])


def test_one_rank_has_no_ring(recorded):
    summary = hpcc.parse(recorded("hpcc/one_rank.txt"))
    assert (summary.natural_ring, summary.random_ring) == (None, None)


def test_success_is_the_programs_own_verdict(recorded):
    assert not hpcc.parse(recorded("hpcc/failed_residual.txt")).success


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\nSuccess=1\n", "\nSuccess=\n", "Success as 0 or 1"),
        ("\nSuccess=1\n", "\n", "Success in the summary"),
        ("\nHPL_N=1000\n", "\nHPL_N=10000\n", "Tflop/s that agree with HPL_N=10000"),
        ("\nHPL_N=1000\n", "\nHPL_N=1000\nHPL_N=1000\n", "key=value, each key once"),
        ("\nSTREAM_VectorSize=166666\n", "\nSTREAM_VectorSize=0\n", "STREAM_VectorSize above 0"),
        ("\nStarSTREAM_Copy=", "\nStarSTREAM_Copy=-", "StarSTREAM_Copy as a number above 0"),
        ("\nStarSTREAM_Copy=", "\nStarSTREAM_Copy=nan", "StarSTREAM_Copy as a number above 0"),
        ("\nStarSTREAM_Copy=", "\nStarSTREAM_Copy ", "key=value"),
        ("\nRandomlyOrderedRingLatency_usec=", "\nRandomlyOrderedRingLatency_usec=-", "as a number above 0"),
        ("\nEnd of Summary section.", "", "`End of Summary section.`"),
        ("\nEnd of HPC Challenge tests.", "", "`End of HPC Challenge tests.`"),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("hpcc/two_ranks.txt")
    assert text.count(old) == 1
    with pytest.raises(ParseError, match=message):
        hpcc.parse(text.replace(old, new))


def test_a_file_of_two_runs(recorded):
    text = recorded("hpcc/two_ranks.txt")
    with pytest.raises(ParseError, match=r"remove hpccoutf\.txt before each run.* once only"):
        hpcc.parse(2 * text)
    died = text[: text.index("Begin of Summary section.")]
    with pytest.raises(ParseError, match="once only"):
        hpcc.parse(died + text)


def test_output_cut_off_between_lines(recorded):
    lines = recorded("hpcc/two_ranks.txt").splitlines(keepends=True)
    end = lines.index("End of HPC Challenge tests.\n")
    for count in range(0, end + 1, 7):
        with pytest.raises(ParseError):
            hpcc.parse("".join(lines[:count]))
