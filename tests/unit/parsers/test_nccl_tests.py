import pytest

from reframe_checks.parsers import gpu
from reframe_checks.parsers.text import ParseError

SIZES = [1 << power for power in range(29, 34)]
FIRST = "   536870912     134217728     float"


def test_sixteen_gpus_on_two_nodes(recorded):
    result = gpu.nccl_tests(recorded("nccl/all_reduce_sixteen_gpus.txt"), expect_sizes=SIZES, expect_ranks=16)
    assert result.hosts == ("node0",) * 8 + ("node1",) * 8
    assert [row.size_bytes for row in result.rows] == SIZES
    assert result.rows[0].out_of_place == gpu.NcclTransfer(5202.3, 103.20, 193.50)
    assert result.rows[-1].in_place == gpu.NcclTransfer(81960, 104.81, 196.51)
    assert result.mean_bus_gb_s == 194.675


def test_output_of_a_later_version(recorded):
    sizes = [1 << power for power in range(20, 28)]
    result = gpu.nccl_tests(recorded("nccl/all_reduce_version_2_18.txt"), expect_sizes=sizes, expect_ranks=2)
    assert result.rows[-1].in_place.bus_gb_s == 2.31


def test_an_operation_that_is_not_checked_in_place(recorded):
    text = recorded("nccl/all_reduce_sixteen_gpus.txt").replace("      0\n", "    N/A\n")
    assert gpu.nccl_tests(text, expect_sizes=SIZES, expect_ranks=16).mean_bus_gb_s == 194.675


def test_sizes_that_the_program_rounds_down_to_a_multiple_of_the_ranks(recorded):
    text = recorded("nccl/all_reduce_sixteen_gpus.txt").replace("536870912     134217728", "536870400     134217600")
    assert gpu.nccl_tests(text, expect_sizes=SIZES, expect_ranks=16).rows[0].size_bytes == 536870400


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("193.50      0", "193.50      3", "no wrong elements"),
        ("values : 0 OK", "values : 2 FAILED", "no wrong values"),
        (FIRST, "", "rows of"),
        ("103.20", "203.20", "an algorithm bandwidth of 536870912 bytes"),
        ("193.50", "103.50", "the mean of the rows"),
        ("194.675", "184.675", "the mean of the rows"),
        ("#  Rank  9 ", "#  Rank  8 ", "a line for each of 16 ranks"),
        ("# Avg bus bandwidth", "# bandwidth", "Avg bus bandwidth"),
        ("   5202.3", "      0.0", "above 0"),
        ("(elements)", "(element)", "the units"),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("nccl/all_reduce_sixteen_gpus.txt")
    assert text.count(old) == 1
    with pytest.raises(ParseError, match=message):
        gpu.nccl_tests(text.replace(old, new), expect_sizes=SIZES, expect_ranks=16)
