"""Damaged output gives an error, or figures that the output really holds.

Exactly: of everything in a result read from damaged text, each value is the one read from the whole text, or it
stands on a line that the damage has changed; and as many values are there as before. So a figure is never made
from pieces of two lines, taken from the wrong line, or left out. Undetectable, and so not claimed: a digit that
becomes another digit, where no second figure depends on it; what a program prints or not (``may_vanish``); and two
whole lines of equal key exchanged (``exchangeable``: tables of one message size behind one another). In fio's JSON of
several jobs that would be so, too (one job is used here).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reframe_checks.parsers import (
    babelstream,
    btio,
    emt,
    fio,
    gpu,
    hpl,
    ior,
    iozone,
    likwid,
    lustre,
    mdtest,
    nccl_tests,
    node_links,
    node_probe,
    node_sweep,
    nvbandwidth,
    osu,
    pair_sweep,
    placement,
    sinfo,
    stream,
    topology,
)
from reframe_checks.parsers.errors import ParseError
from reframe_checks.parsers.text import MAX_LINE_CHARS
from tests.unit.parsers.damage import damaged, is_written, leaves


@dataclass(frozen=True)
class Case:
    file: str
    parse: Callable[[str], object]
    #: Factors from the units printed to those of the result.
    scales: Sequence[float] = (1,)
    #: What the program prints or not, so that nobody can tell whether it was lost.
    may_vanish: Sequence[str] = ()
    #: Lines with the same key stand for different things, told apart by their order only.
    exchangeable: bool = False


def osu_case(name: str, smallest: int, largest: int) -> Case:
    sizes = [1 << exponent for exponent in range(30) if smallest <= 1 << exponent <= largest]
    return Case(f"osu/{name}.txt", partial(osu.parse, expect_sizes=sizes, expect_tables=1), may_vanish=["[0].datatype"])


IOZONE_CELLS = {(size << 10, request) for size in (4, 8, 16) for request in (64, 256, 1024)}

ALL_REDUCE = partial(nccl_tests.parse, expect_sizes=[1 << power for power in range(29, 34)], expect_ranks=16)

COPIES = [
    "host_to_device_memcpy_ce", "device_to_host_memcpy_ce",
    "device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce",
]  # fmt: skip
SEVEN_GPUS = partial(nvbandwidth.parse, expect=COPIES, expect_gpus=7)


def states(text: str) -> dict[str, sinfo.NodeState]:
    """By name, of as many nodes as the site says there are: ``PartitionState`` asks for them all."""
    nodes = sinfo.parse(text)
    if len(nodes) != 4:
        raise ParseError("sinfo", "4 nodes", text=text)
    return {node.name: node for node in nodes}


EIGHT_NODES = [f"node{number}" for number in range(1, 9)]

RING = partial(node_links.parse, message_bytes=1 << 20, expect_nodes=4, expect_repeats=2)

CASES = {
    "osu latency": osu_case("osu_latency", 1, 1 << 22),
    "osu full": osu_case("osu_allreduce_full_validated", 4, 4096),
    "osu message rate": osu_case("osu_mbw_mr", 1, 1 << 22),
    "osu barrier": Case("osu/osu_barrier.txt", partial(osu.parse, expect_sizes=[0], expect_tables=1)),
    "osu neighbourhood": osu_case("osu_neighbor_allgather", 1, 64),
    "osu non-blocking": osu_case("osu_ineighbor_alltoallw", 1, 16),
    "osu multi-pair latency": osu_case("osu_multi_lat", 1, 64),
    "osu init": Case("osu/osu_init.txt", partial(osu.parse, expect_sizes=[0], expect_tables=1)),
    "mpi4py bandwidth": osu_case("mpi4py_bw", 1, 1 << 22),
    "hpl": Case("hpl/xhpl.txt", hpl.parse),
    "hpl on gpus": Case("hpl/nvidia_eight_gpus.txt", hpl.parse),
    "hpl in hpcc": Case("hpcc/two_ranks.txt", hpl.parse),
    "stream": Case("stream/two_threads.txt", stream.parse, may_vanish=[".threads"]),
    "likwid": Case("likwid/stream.txt", likwid.parse),
    "fio": Case("fio/write.json", fio.parse, (1, 1e-3, 1e-6, 1 << 10, 1 << 20)),
    "ior": Case("ior/posix_file_per_process.json", ior.parse, (1, 1.048576)),
    "ior checked": Case("ior/mpiio_collective_checked.json", ior.parse, (1, 1.048576)),
    "mdtest": Case("mdtest/unique_folders.txt", mdtest.parse),
    "mdtest files": Case("mdtest/files_only.txt", mdtest.parse),
    "bt-io": Case("btio/full_four_ranks.txt", btio.parse),
    "bt-io 3.4.3": Case("btio/full_of_3_4_3_four_ranks.txt", btio.parse),
    "bt-io simple": Case("btio/simple_four_ranks.txt", btio.parse),
    "iozone": Case("iozone/direct.txt", partial(iozone.parse, expect_cells=IOZONE_CELLS), (1, 1.024e-3)),
    "lustre": Case("lustre/composed_folder.txt", lustre.parse),
    "emt": Case("emt/two_ranks.json", emt.parse),
    "node_links": Case("node_links/four_nodes.txt", RING, exchangeable=True),
    "pair_sweep": Case("pair_sweep/eight_nodes_limited.json", pair_sweep.parse),
    "node_sweep": Case("node_sweep/four_nodes.json", node_sweep.parse),
    "node_probe": Case("node_probe/four_nodes.jsonl", partial(node_probe.parse, expect_nodes=4)),
    "sinfo": Case("sinfo/composed_four_nodes.txt", states),
    "placement": Case("placement/composed_two_nodes.txt", partial(placement.parse, expect_ranks=2)),
    "topology": Case("topology/scontrol_three_leaves.txt", partial(topology.leaves_of, nodes=EIGHT_NODES)),
    "topology of blocks": Case("topology/composed_blocks.txt", partial(topology.leaves_of, nodes=EIGHT_NODES)),
    "babelstream": Case("babelstream/cuda_a100.txt", babelstream.parse),
    "nccl-tests": Case("nccl/all_reduce_sixteen_gpus.txt", ALL_REDUCE),
    "nvbandwidth": Case("nvbandwidth/seven_gpus.txt", SEVEN_GPUS),
    "gpu": Case("gpu/composed_two_nodes.csv", partial(gpu.parse, expect_nodes=2, expect_per_node=2)),
}


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@settings(
    max_examples=250, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
def test_damaged_output(recorded, name, data):
    case = CASES[name]
    whole = recorded(case.file)
    expected = dict(leaves(case.parse(whole)))
    text = data.draw(damaged(whole))
    try:
        found = dict(leaves(case.parse(text)))
    except ParseError as err:
        assert "expected" in str(err)
        return
    lines = set(text.splitlines())
    changed = sorted(lines if case.exchangeable else lines - set(whole.splitlines()))
    assert len(found) == len(expected)
    for path, value in found.items():
        vanished = value is None and path in case.may_vanish
        if path not in expected or (value != expected[path] and not vanished):
            assert is_written(value, changed, case.scales), f"{path} = {value} stands on no changed line: {changed}"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\x7fELF\x02\x01\x01\x00\xff" * 20,
        "{}\n",
        "0" * 20_000_000,
        (("# OSU " + "a " * MAX_LINE_CHARS)[: MAX_LINE_CHARS - 1] + "\n") * 3,
        (" " * MAX_LINE_CHARS + "\n") * 3 + "x\n",
        ("fio: " + "err" * (MAX_LINE_CHARS // 4) + "\n") * 3,
        ("W" + "R1" * (MAX_LINE_CHARS // 4) + " " * (MAX_LINE_CHARS // 4) + "\n") * 3,
        ("[" * MAX_LINE_CHARS + "\n") * 3,
    ],
    ids=["empty", "blank", "binary", "other JSON", "one long line", "title", "spaces", "fio", "row", "brackets"],
)
def test_anything_else_is_an_error(name, text):
    with pytest.raises(ParseError):
        CASES[name].parse(text)
