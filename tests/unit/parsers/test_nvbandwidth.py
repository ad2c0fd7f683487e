import pytest

from reframe_checks.parsers import gpu
from reframe_checks.parsers.text import ParseError

HOST_TO_DEVICE, PEER_READ = "host_to_device_memcpy_ce", "device_to_device_memcpy_read_ce"
TESTS = [HOST_TO_DEVICE, "device_to_host_memcpy_ce", PEER_READ, "device_to_device_memcpy_write_ce"]


def seven_gpus(text):
    return gpu.nvbandwidth(text, expect=TESTS, expect_gpus=7)


def test_seven_gpus(recorded):
    result = seven_gpus(recorded("nvbandwidth/seven_gpus.txt"))
    assert result[HOST_TO_DEVICE].gb_s == ((55.59, 55.60, 55.60, 55.59, 55.58, 55.60, 55.58),)
    assert result[HOST_TO_DEVICE].sum_gb_s == 389.15
    pairs = result[PEER_READ].values()
    assert len(pairs) == 42
    assert (pairs[0, 1], pairs[6, 5]) == (764.71, 766.21)


def test_one_gpu(recorded):
    result = gpu.nvbandwidth(recorded("nvbandwidth/one_gpu.txt"), expect=[HOST_TO_DEVICE], expect_gpus=1)
    assert result[HOST_TO_DEVICE].values() == {(0, 0): 25.17}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("55.59     55.60     55.60", "55.59     45.60     55.60", "the sum of the matrix, 379"),
        ("SUM host_to_device_memcpy_ce 389.15", "Waived: ", "SUM host_to_device_memcpy_ce"),
        ("Running device_to_host_memcpy_ce.", "", "once each, found"),
        (" 1    765.86       N/A", " 1       N/A    765.86", "N/A only from a GPU to itself"),
        (" 3    774.36", " 4    774.36", "row 3 of the matrix"),
        ("memcpy CE CPU(row) <- GPU", "latency CPU(row) <- GPU", "the title of the matrix"),
        ("nvbandwidth Version: v0.10.0", "nvbandwidth", "Version"),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("nvbandwidth/seven_gpus.txt")
    assert text.count(old) == 1
    with pytest.raises(ParseError, match=message):
        seven_gpus(text.replace(old, new))


def test_fewer_gpus_than_promised(recorded):
    with pytest.raises(ParseError, match="columns for GPUs 0 to 7"):
        gpu.nvbandwidth(recorded("nvbandwidth/seven_gpus.txt"), expect=TESTS, expect_gpus=8)
