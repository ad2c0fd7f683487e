"""A check's stated limits of time and written bytes, by its sizes."""

import pytest

from reframe_checks.compute.hpl import SolvesOne
from reframe_checks.storage.fio import FioPhases
from reframe_checks.storage.io500 import Io500Check
from reframe_checks.storage.ior import HARD_TRANSFER_BYTES, IorCheck
from reframe_checks.storage.iozone import Iozone
from reframe_checks.storage.mdtest import Mdtest
from tests.stand_in import StandIn

MIB = 2**20


def ior(nodes, ranks, pattern="shared_file", **sizes):
    given = {"block_mib": 0, "transfer_mib": 4, "segments": 0, **sizes}
    check = StandIn(
        IorCheck, pattern=pattern, num_tasks=ranks, num_nodes_used=nodes, repetitions=3, stonewall_s=10, node_mib=1024,
        least_mib=4096, options=lambda *_: [], **given,
    )  # fmt: skip
    check.command_line()
    return check


@pytest.mark.parametrize(
    ("nodes", "ranks", "file_mib"), [(1, 1, 4096), (2, 96, 4096), (32, 1536, 32 * 1024), (4000, 4000 * 48, 4000 * 1024)]
)
def test_an_ior_file_is_a_gibibyte_of_each_node(nodes, ranks, file_mib):
    for pattern in ("shared_file", "hard"):
        check = ior(nodes, ranks, pattern)
        transfer, block, segments = check.sizes
        of_file = ranks * block * segments
        assert of_file <= file_mib * MIB
        # Whole transfers of each rank.
        assert of_file > file_mib * MIB - ranks * transfer
        assert check.most_bytes() == 3 * of_file + 4 * ranks * transfer
        assert check.expected_s() == 15 + 3 * 2 * 10


def test_what_a_site_gives_to_a_rank_counts():
    assert ior(2, 4, block_mib=32).sizes == (4 * MIB, 32 * MIB, 1)
    assert ior(2, 4, "hard", segments=200).sizes == (HARD_TRANSFER_BYTES, HARD_TRANSFER_BYTES, 200)
    assert ior(2, 4, transfer_mib=8192).sizes == (8192 * MIB, 8192 * MIB, 1)


@pytest.mark.parametrize(("ranks", "items"), [(2, 2000), (64, 256), (1536, 10), (10**6, 1)])
def test_mdtest_makes_so_many_files_in_all(ranks, items):
    check = StandIn(Mdtest, items=2000, most_items=16384, num_tasks=ranks, iterations=3, pattern="shared")
    check.files_made = ranks  # a stonewall came after the first of each
    assert check.items_of_a_rank() == items
    assert check.most_bytes() == 3 * ranks * items * 3901
    assert check.wrote_bytes() == ranks * 3901
    check.pattern = "unique"
    assert check.most_bytes() == check.wrote_bytes() == 0


def test_iozone_tries_small_requests_on_small_files():
    check = StandIn(
        Iozone, file_sizes_mib=[64, 256, 1024], request_sizes_kib=[4, 64, 1024, 16384], most_requests=16384
    )
    assert check.maps() == [((64,), [4]), ((64, 256, 1024), [64, 1024, 16384])]
    assert check.most_bytes() == 2 * (64 + 3 * (64 + 256 + 1024)) * MIB
    assert max(size / request for size, request in check.cells()) == 16384


def test_fio_writes_in_the_phases_that_write():
    phases = {"sequential_write": ("write", "1M"), "read": ("read", "1M"), "random_write": ("randwrite", "4k")}
    check = StandIn(FioPhases, PHASES=phases, phase_mib=256, file_size_mib=16, num_nodes_used=4, runtime_s=10)
    assert check.most_bytes() == 4 * 2 * 256 * MIB
    check.file_size_mib = 1024
    assert check.most_bytes() == 4 * 2 * 1024 * MIB
    assert check.expected_s() == 4 + 3 * 10


@pytest.mark.parametrize(
    ("changes", "order"),
    [
        ({}, 65146),  # 120 s at 60 % of 40 x 64 Gflop/s
        ({"solve_s": 0}, 143582),
        ({"order": 1500}, 1500),
        ({"memory_fraction": 0.01}, 16053),
    ],
)
def test_hpl_solves_for_two_minutes_what_fits_into_the_memory(changes, order):
    given = {"order": 0, "solve_s": 120, "memory_fraction": 0.8, **changes}
    check = StandIn(
        SolvesOne, block=192, num_nodes_used=1, node_memory_bytes=192 * 2**30, assumed_flops=0.6 * 40 * 64e9,
        besides_s=30, **given,
    )  # fmt: skip
    assert abs(check.chosen_order() - order) <= 192
    expected_s = check.expected_s()
    assert 30 < expected_s <= 150 or not check.solve_s


# Less the part that is no whole transfer of a rank.
@pytest.mark.parametrize(("nodes", "gib"), [(2, 1.25), (32, 10)])
def test_a_short_io500_writes_its_files_at_most(nodes, gib):
    check = StandIn(
        Io500Check, num_nodes_used=nodes, num_tasks=nodes * 48, node_mib=256, least_mib=1024, node_items=2000,
        most_items=16384,
    )  # fmt: skip
    assert 0.7 * gib < check.most_bytes() / 2**30 < gib + 0.1
