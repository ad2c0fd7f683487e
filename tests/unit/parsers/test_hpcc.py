import pytest

from reframe_checks.parsers import hpl
from reframe_checks.parsers.text import ParseError


def test_two_ranks(recorded):
    assert hpl.hpcc(recorded("hpcc/two_ranks.txt")) == hpl.HpccResult(
        processes=2,
        ptrans_gb_s=7.65521,
        random_access_gup_s=0.0557859,
        fft_gflop_s=2.28994,
        star_stream_triad_gb_s=75.7157,
        ring_latency_us=0.0887619,
        ring_bandwidth_gb_s=14.0722,
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\nPTRANS_GBs=7.65521\n", "\n", "PTRANS_GBs in the summary"),
        ("\nPTRANS_GBs=7.65521\n", "\nPTRANS_GBs=-1\n", "PTRANS_GBs as"),
        ("\nMPIFFT_Gflops=2.28994\n", "\nMPIFFT_Gflops=0\n", "MPIFFT_Gflops above 0"),
        ("\nSuccess=1\n", "\nSuccess=0\n", "Success as 1"),
        ("\nEnd of Summary section.\n", "\n", "End of Summary section."),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("hpcc/two_ranks.txt")
    assert old in text
    with pytest.raises(ParseError, match=message):
        hpl.hpcc(text.replace(old, new))


def test_several_runs_in_one_file(recorded):
    text = recorded("hpcc/two_ranks.txt")
    with pytest.raises(ParseError, match="once only"):
        hpl.hpcc(text + text)
