import pytest

from reframe_checks.parsers import hpl
from reframe_checks.parsers.text import ParseError


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\nPTRANS_GBs=7.65521\n", "\n", "PTRANS_GBs in the summary"),
        ("\nPTRANS_GBs=7.65521\n", "\nPTRANS_GBs=-1\n", "PTRANS_GBs as"),
        ("\nMPIFFT_Gflops=2.28994\n", "\nMPIFFT_Gflops=0\n", "MPIFFT_Gflops above 0"),
        ("\nSuccess=1\n", "\nSuccess=0\n", "Success as 1"),
        ("\nEnd of Summary section.\n", "\n", "End of Summary section."),
        ("\nAverage Triad GB/s ", "\nAverage Triad MB/s ", "StarSTREAM_Triad as `Average Triad GB/s"),
        (" Billion(10^9) Updates ", " Million(10^6) Updates ", "MPIRandomAccess_GUPs as"),
        ("Randomly  Ordered Ring Bandwidth:  14", "Randomly  Ordered Ring Bandwidth:  15", "Ring.* of 14.0722, as in"),
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
