"""A recorded output of every parser, and what may be read from it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any

from reframe_checks.parsers import (
    affinity,
    babelstream,
    bit_sweep,
    btio,
    congestion,
    emt,
    emt_caches,
    emt_io,
    emt_pace,
    fio,
    gpu,
    gpu_topology,
    hang,
    hpcc,
    hpcg,
    hpl,
    io500,
    ior,
    iozone,
    lammps,
    likwid,
    link_use,
    load_watch,
    lustre,
    lustre_targets,
    mdtest,
    mpi_behaviour,
    mpi_report,
    nccl_tests,
    node_fills,
    node_links,
    node_numa,
    node_probe,
    node_sweep,
    nvbandwidth,
    openfoam,
    ost_rounds,
    osu,
    pair_samples,
    pair_sweep,
    patterns,
    placement,
    ring_traffic,
    sinfo,
    slurm_nodes,
    sparse_direct,
    stream,
    stress_ng,
    topology,
)
from reframe_checks.parsers.errors import ParseError
from tests.unit.conftest import DATA


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
    #: What no second figure confirms, as paths without indices: texts, and figures that can become other ones.
    alone: Sequence[str] = ()
    #: Of these, figures without a ceiling that a damaged one would pass.
    boundless: Sequence[str] = ()


def osu_case(name: str, smallest: int, largest: int, alone: Sequence[str] = ("[].title",)) -> Case:
    sizes = [1 << exponent for exponent in range(30) if smallest <= 1 << exponent <= largest]
    parse = partial(osu.parse, expect_sizes=sizes, expect_tables=1)
    return Case(f"osu/{name}.txt", parse, may_vanish=["[0].datatype"], alone=alone)


ANY_SOURCE = ("expected_named_us", "expected_any_us", "unexpected_named_us", "unexpected_any_us")

DEPTHS = (0, 1, 4, 16, 64, 256, 1024)

IOZONE_CELLS = {(size << 10, request) for size in (4, 8, 16) for request in (64, 256, 1024)}

ALL_REDUCE = partial(nccl_tests.parse, expect_sizes=[1 << power for power in range(29, 34)], expect_ranks=16)

COPIES = [
    "host_to_device_memcpy_ce", "device_to_host_memcpy_ce",
    "device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce",
]  # fmt: skip
FOUR_TOGETHER = partial(
    nvbandwidth.parse, expect=[*COPIES[:2], "host_to_all_memcpy_ce", "all_to_host_memcpy_ce"], expect_gpus=4
)

SEVEN_GPUS = partial(nvbandwidth.parse, expect=COPIES, expect_gpus=7)


@wraps(pair_samples.parse)
def sampled(text: str) -> pair_samples.PairSamples:
    """All but the figures of the file beside it, of which every byte counts in the checksum."""
    figures = (DATA / "pair_samples/four_nodes_limited.bin").read_bytes()
    nothing: Any = None
    return replace(pair_samples.parse(text, figures), pairs=nothing, round_of=nothing)


@wraps(sinfo.parse)
def states(text: str) -> dict[str, sinfo.NodeState]:
    """By name, of as many nodes as the site says there are: ``PartitionState`` asks for them all."""
    nodes = sinfo.parse(text)
    if len(nodes) != 4:
        raise ParseError("sinfo", "4 nodes", text=text)
    _marked(text, nodes)
    return {node.name: node for node in nodes}


def _marked(text: str, nodes: Iterable[sinfo.NodeState]) -> None:
    """A node in an unknown state is marked, which is as good as a refusal of its line."""
    for node in nodes:
        if node.condition.unknown and not node.usable:
            raise ParseError("sinfo", "known states", text=text, line=1)


@wraps(sinfo.parse_all)
def all_states(text: str) -> dict[str, dict[str, sinfo.NodeState]]:
    """Of the partitions and nodes that were recorded: Slurm says nowhere which lines there are."""
    partitions = sinfo.parse_all(text)
    nodes = [f"node{number}" for number in range(1, 5)]
    if {name: sorted(of) for name, of in partitions.items()} != {"cpu": nodes[:2], "gpu": nodes[2:], "scratch": nodes}:
        raise ParseError("sinfo", "node1 to node4 in three partitions", text=text)
    _marked(text, [node for of in partitions.values() for node in of.values()])
    return partitions


@wraps(lustre_targets.targets)
def targets(text: str) -> tuple[lustre_targets.Target, ...]:
    """As many as the site states, in order: a file system says nowhere how many it should have."""
    found = lustre_targets.targets(text)
    if [target.index for target in found] != list(range(12)):
        raise ParseError("lfs osts", "12 targets", text=text)
    return found


@wraps(lustre_targets.servers)
def servers(text: str) -> dict[str, str]:
    """Of the targets that there are."""
    found = lustre_targets.servers(text)
    if sorted(found) != sorted(["home-OST0000", *(f"scratch-OST{number:04x}" for number in range(12))]):
        raise ParseError("lctl get_param", "the servers of 13 targets", text=text)
    return found


@wraps(ost_rounds.parse)
def turns(text: str) -> tuple[ost_rounds.Turn, ...]:
    """Each of 12 targets twice, as ``OstSweep`` asks for them."""
    found = ost_rounds.parse(text)
    if sorted(turn.index for turn in found) != sorted([*range(12)] * 2):
        raise ParseError("rounds.txt", "12 targets twice", text=text)
    return found


@wraps(mdtest.parse)
def stonewalled(text: str) -> mdtest.MdtestResult:
    """A stonewall ended both iterations, of which nothing else in the output tells."""
    found = mdtest.parse(text)
    if len(found.reached) != 2:
        raise ParseError("mdtest output", "two stonewalls", text=text)
    return found


@wraps(load_watch.parse)
def looks(text: str) -> tuple[load_watch.Snapshot, ...]:
    """Before and after two steps: what was lost at the end of a file, nothing in it tells."""
    found = load_watch.parse(text)
    if len(found) != 4:
        raise ParseError("load watch", "4 looks", text=text)
    return found


@wraps(mpi_report.parse)
def rails(text: str) -> dict[str, list[str]]:
    """Of four nodes, each with two rails: a report is only what it says, which the check compares with the site."""
    found = {
        host: sorted(f"{lane.protocol}/{lane.adapter}" for lane in lanes)  # as UCX writes it
        for host, lanes in mpi_report.parse(text).items()
    }
    if sorted(found) != [f"r39c2t5n{number}" for number in range(1, 5)] or {len(of) for of in found.values()} != {2}:
        raise ParseError("MPI's report", "two rails of each of 4 nodes", text=text)
    return found


EIGHT_NODES = [f"node{number}" for number in range(1, 9)]

RING = partial(node_links.parse, message_bytes=1 << 20, expect_nodes=4, expect_repeats=2)

IOR_ALONE = [".version", ".options", ".write_mb_s[]"]
MDTEST_ALONE = [".version", ".options", ".nodes", ".iterations", ".items"]
EMT_ALONE = [
    ".case_hash", ".checksum", ".steps", ".step_p50_us", ".step_p99_us", ".imbalance_us", ".karp_flatt",
]  # fmt: skip
# Names of a program, of what it ran on and its options are texts of which no second copy is in the output.
CASES = {
    "osu latency": osu_case("osu_latency", 1, 1 << 22),
    "osu full": osu_case("osu_allreduce_full_validated", 4, 4096, alone=["[].title", "[].rows[][]"]),
    "osu message rate": osu_case("osu_mbw_mr", 1, 1 << 22),
    "osu barrier": Case(
        "osu/osu_barrier.txt", partial(osu.parse, expect_sizes=[0], expect_tables=1), alone=["[].title"]
    ),
    "osu neighbourhood": osu_case("osu_neighbor_allgather", 1, 64),
    "osu non-blocking": osu_case("osu_ineighbor_alltoallw", 1, 16),
    "osu multi-pair latency": osu_case("osu_multi_lat", 1, 64),
    "osu init": Case(
        "osu/osu_init.txt",
        partial(osu.parse, expect_sizes=[0], expect_tables=1),
        alone=["[].title", "[].rows[][]"],
    ),
    "mpi4py bandwidth": osu_case("mpi4py_bw", 1, 1 << 22, alone=[]),
    "hpl": Case("hpl/xhpl.txt", hpl.parse),
    "hpl on gpus": Case("hpl/nvidia_eight_gpus.txt", hpl.parse, alone=["[].nb", "[].p", "[].q", "[].residual"]),
    "hpl in hpcc": Case("hpcc/two_ranks.txt", hpl.parse, alone=["[].residual"]),
    "hpcc": Case(
        "hpcc/two_ranks.txt",
        hpcc.parse,
        alone=[
            ".processes", ".ptrans_gb_s", ".random_access_gup_s", ".fft_gflop_s", ".star_stream_triad_gb_s",
            ".ring_latency_us", ".ring_bandwidth_gb_s",
        ],
    ),
    "hpcg": Case("hpcg/two_ranks_short.txt", hpcg.parse, alone=[".threads", ".setup_s", ".raw_gb_s"]),
    "hpcg 3.0": Case("hpcg/published_3_0.yaml", hpcg.parse, alone=[".threads", ".setup_s"]),
    "hang": Case("hang/stopped_rank.json", hang.parse),
    "hang without mpi": Case("hang/no_mpi.json", hang.parse),
    "crash": Case("hang/crashed.json", hang.parse),
    "load watch": Case("load_watch/two_steps.txt", looks),
    "stream": Case("stream/two_threads.txt", stream.parse, may_vanish=[".threads"]),
    "likwid": Case("likwid/stream.txt", likwid.parse, alone=[".hwthreads[]"]),
    "fio": Case(
        "fio/write.json",
        fio.parse,
        (1, 1e-3, 1e-6, 1 << 10, 1 << 20),
        alone=[".version", ".jobs[].block_size_bytes"],
    ),
    "ior": Case("ior/posix_file_per_process.json", ior.parse, (1, 1.048576), alone=IOR_ALONE),
    "ior checked": Case("ior/mpiio_collective_checked.json", ior.parse, (1, 1.048576), alone=IOR_ALONE),
    "ior stonewall": Case(
        "ior/posix_stonewall.json", ior.parse, (1, 1.048576), alone=[".version", ".options", ".read_mb_s[]"]
    ),
    "ior write only": Case(
        "ior/mpiio_write_only.json",
        ior.parse,
        (1, 1.048576),
        alone=[name for name in IOR_ALONE if name != ".write_mb_s[]"],
    ),
    "mdtest": Case("mdtest/unique_folders.txt", mdtest.parse, alone=MDTEST_ALONE),
    "mdtest stonewall": Case("mdtest/files_stonewall.txt", stonewalled, alone=MDTEST_ALONE),
    "mdtest folders": Case("mdtest/folders_only.txt", mdtest.parse, alone=MDTEST_ALONE),
    "mdtest files": Case("mdtest/files_only.txt", mdtest.parse, alone=MDTEST_ALONE),
    "bt-io": Case("btio/full_four_ranks.txt", btio.parse),
    "bt-io 3.4.3": Case("btio/full_of_3_4_3_four_ranks.txt", btio.parse),
    "bt-io simple": Case("btio/simple_four_ranks.txt", btio.parse),
    "iozone": Case(
        "iozone/direct.txt",
        partial(iozone.parse, expect_cells=IOZONE_CELLS),
        (1, 1.024e-3),
        alone=[".options", ".rates[][]"],
    ),
    "io500": Case("io500/short.txt", io500.parse, alone=[".procs"]),
    "io500 summary": Case("io500/published_valid.txt", io500.parse_summary),
    "lustre": Case("lustre/composed_folder.txt", lustre.parse, alone=[".stripe_count", ".stripe_size_bytes"]),
    "lustre targets": Case("lustre/composed_osts.txt", targets),
    "lustre servers": Case("lustre/composed_connections.txt", servers, alone=["[]"]),
    "lustre rounds": Case("lustre/rounds.txt", turns, alone=["[].node"]),
    "emt": Case("emt/two_ranks.json", emt.parse, alone=EMT_ALONE),
    "emt simulated": Case(
        "emt/simulated.json", emt.parse, alone=[*EMT_ALONE, ".kappa_block_p50_us", ".heaviest_task_us"]
    ),
    "node_links": Case("node_links/four_nodes.txt", RING, exchangeable=True),
    "link_use": Case(
        "link_use/random_ring.json",
        link_use.parse,
        alone=[".links_used", ".busiest[].link", ".busiest[].messages"],
    ),
    "pair_samples": Case(
        "pair_samples/four_nodes_limited.json",
        sampled,
        alone=[
            ".mpi", ".ranks_per_node", ".latency_bytes", ".bandwidth_bytes", ".rounds_within_leaves",
            ".round_seconds[]", ".alone[].latency_us", ".alone[].bandwidths_mbps[]", ".payloads_alone[].messages",
        ],
    ),
    "pair_sweep": Case(
        "pair_sweep/eight_nodes_limited.json",
        pair_sweep.parse,
        alone=[
            ".mpi", ".ranks_per_node", ".latency_bytes", ".bandwidth_bytes", ".bandwidth_mbps[][]", ".round_seconds[]",
            ".packets[].sent", ".packets[].lost", ".payloads[].messages",
            ".alone[].latency_us", ".alone[].bandwidths_mbps[]",
        ],
    ),
    **{
        f"pattern {name}": Case(
            f"patterns/{name}.json", partial(parse, expect_ranks=4), alone=[".mpi", ".times_us[]", *alone]
        )
        for name, parse, alone in (
            ("random_ring", patterns.random_ring, [".message_bytes"]),
            ("put_barrier", patterns.put_barrier, []),
            ("particles", patterns.particle_exchange, [".puts", ".packed_bytes", ".pack_us[]", ".put_us[]"]),
            ("neighbour", patterns.neighbour_exchange, [".message_bytes"]),
            ("allreduce", patterns.allreduce, [".sizes[][]", ".cpu_us[]"]),
            ("simulated_allreduce", patterns.allreduce, [".aggregators", ".sizes[][]"]),
        )
    },
    "pattern congestion": Case(
        "patterns/congestion.json",
        partial(congestion.parse, expect_ranks=4),
        alone=[
            ".mpi", ".aggressor_bytes", ".loads[].operations[]",
            ".loads[].samples[].alone_us[][]", ".loads[].samples[].beside_us[][]",
        ],
    ),
    "mpi_behaviour any-source": Case(
        "mpi_behaviour/any_source.json", partial(mpi_behaviour.any_source, expect_ranks=4),
        alone=[".mpi", ".message_bytes", *(f".series[].{key}[]" for key in ANY_SOURCE)],
    ),
    **{
        f"mpi_behaviour {name}": Case(f"mpi_behaviour/{name}.json", parse, alone=[".mpi", *alone], boundless=boundless)
        for name, parse, alone, boundless in (
            (
                "threads", partial(mpi_behaviour.threads, expect_ranks=2, expect_threads=[1, 2, 4]),
                [".message_bytes", ".series[].latency_us[]", ".series[].messages_per_s[]"], [],
            ),
            (
                "memory", partial(mpi_behaviour.memory, expect_ranks=4),
                [".repeats", ".series[].largest_kib"],
                [".series[].largest_kib"],
            ),
            (
                "shared_window",
                partial(
                    mpi_behaviour.shared_window, expect_ranks=2, expect_sizes=[8, 1 << 10, 1 << 16, 1 << 20],
                    expect_table_mib=64,
                ),
                [
                    ".series[].mpi_us[]", ".series[].shared_us[]", ".shared.mib", ".shared.pass_us[]",
                    ".copies.mib",
                ], [],
            ),
            (
                "persistent", partial(mpi_behaviour.persistent, expect_ranks=2, expect_sizes=[8, 65536]),
                [".messages", ".series[].nonblocking_us[]", ".series[].persistent_us[]"], [],
            ),
            (
                "overlap",
                partial(
                    mpi_behaviour.overlap, expect_ranks=2, expect_operation="isend", expect_sizes=[8192, 1 << 20]
                ),
                [f".series[].{key}_us[]" for key in ("communication", "computation", "both")],
                [],
            ),
            (
                "matching", partial(mpi_behaviour.matching, expect_ranks=2, expect_depths=DEPTHS),
                [".message_bytes", ".series[].unexpected_us[]", ".series[].posted_us[]"], [],
            ),
        )
    },
    "node_sweep": Case(
        "node_sweep/four_nodes.json",
        node_sweep.parse,
        alone=[
            ".mpi", ".mib_per_core", ".nodes[].node", ".nodes[].cores[]",
            ".nodes[].alone.gflops[]", ".nodes[].together.gflops[]", ".nodes[].together.triad_mbps[]",
        ],
    ),
    "node_fills": Case(
        "node_fills/two_nodes.json",
        node_fills.parse,
        alone=[
            "[].node", "[].available_mib", "[].spread[].triad_mbps[]",
            "[].spread[].gflops[]", "[].packed[].gflops[]",
        ],
    ),
    "node_numa": Case(
        "node_numa/two_nodes_of_two_domains.json",
        node_numa.parse,
        alone=["[][].distance", "[][].latency_ns"],
    ),
    "emt_caches": Case(
        "emt_caches/two_nodes.json",
        partial(emt_caches.parse, expect_sizes=3),
        alone=[
            "[].node", "[].caches[]", "[].sizes[].checksum", "[].sizes[].step_us", "[].sizes[].sigma_us",
            "[].sizes[].phi_us", "[].sizes[].phi_cached_us",
        ],
        exchangeable=True,
    ),
    **{
        f"emt_io {files}": Case(
            f"emt_io/two_nodes_{files}.json", emt_io.parse, (1, 1.048576),
            alone=[".checksum", ".step_us", ".io", ".ranks[].node"],
        )
        for files in ("shared", "rank")
    },
    "emt_pace": Case(
        "emt_pace/two_ranks.json",
        emt_pace.parse,
        alone=[".checksum", ".ranks[].episodes", ".ranks[].late_p999_us", ".ranks[].late_worst_us"],
    ),
    "affinity": Case(
        "affinity/four_nodes.json",
        partial(affinity.parse, expect_ranks=4),
        alone=["[].node", "[].cpus[]", "[].threads[].cpus[]", "[].threads[].ran_on[]", "[].threads[].triad_mbps"],
    ),
    "bit_sweep": Case(
        "bit_sweep/four_nodes.json",
        bit_sweep.parse,
        alone=[".variant", *(f".nodes[][].{part}" for part in ("node", "core", "basis", "rounds[][]"))],
    ),
    "node_probe": Case("node_probe/four_nodes.jsonl", partial(node_probe.parse, expect_nodes=4)),
    "ring traffic": Case(
        "ring_traffic/four_nodes.json",
        partial(ring_traffic.parse, expect_nodes=4),
        alone=[".nodes[][].name", ".nodes[][].sent_bytes", ".nodes[][].received_bytes"],
    ),
    "ring traffic of GPUs": Case(
        "ring_traffic/four_nodes_of_gpus.json",
        partial(ring_traffic.parse, expect_nodes=4, expect_gpus=(0, 1)),
        alone=[".nodes[][].name", ".gpus[].pci"],
    ),
    "mpi report": Case("mpi_report/ucx_two_rails.txt", rails),
    "gpu topology": Case("gpu_topology/composed_two_switches.txt", partial(gpu_topology.parse, expect_gpus=4)),
    "nvbandwidth of all": Case("nvbandwidth/composed_four_gpus_together.txt", FOUR_TOGETHER),
    "nodes of Slurm": Case(
        "survey/embedded-node.txt",
        partial(slurm_nodes.parse, expect_nodes=["node1", "node2", "node3", "node4"]),
        alone=["[][]"],
    ),
    "sinfo": Case("sinfo/composed_four_nodes.txt", states, alone=["[].name", "[].reason"]),
    "sinfo of all": Case("sinfo/four_nodes_of_three_partitions.txt", all_states),
    "openfoam": Case(
        "openfoam/two_ranks.log",
        openfoam.parse,
        alone=[".ranks", ".steps[].courant", ".steps[].pressure_iterations[]"],
    ),
    "openfoam profiling": Case("openfoam/two_ranks.profiling", openfoam.parse_profiling, alone=[".steps", ".run_s"]),
    "sparse_direct": Case(
        "sparse_direct/two_ranks.json",
        sparse_direct.parse,
        alone=[".mpi", ".solver", ".ranks", ".backward_error", ".error"],
        boundless=[".backward_error", ".error"],
    ),
    "lammps": Case("lammps/two_ranks.log", lammps.parse),
    "stress-ng": Case(
        "stress_ng/four_nodes.txt",
        partial(stress_ng.parse, expect_nodes=4),
        alone=["[].node", "[].stressors[]"],
    ),
    "placement": Case(
        "placement/composed_two_nodes.txt", partial(placement.parse, expect_ranks=2), alone=["[].node", "[].cpus"]
    ),
    "topology": Case("topology/scontrol_three_leaves.txt", partial(topology.leaves_of, nodes=EIGHT_NODES)),
    "topology of blocks": Case("topology/composed_blocks.txt", partial(topology.leaves_of, nodes=EIGHT_NODES)),
    "babelstream": Case("babelstream/cuda_a100.txt", babelstream.parse, alone=["[].device"]),
    "nccl-tests": Case("nccl/all_reduce_sixteen_gpus.txt", ALL_REDUCE, alone=[".hosts[]", ".mean_bus_gb_s"]),
    "nvbandwidth": Case("nvbandwidth/seven_gpus.txt", SEVEN_GPUS),
    "gpu": Case(
        "gpu/composed_two_nodes.csv",
        partial(gpu.parse, expect_nodes=2, expect_per_node=2),
        alone=["[].name", "[].driver_version", "[].memory_mib", "[].pcie_width"],
    ),
}  # fmt: skip

#: Where nothing at all is an answer, too: Slurm without a topology.
MAY_BE_EMPTY = {
    "topology of any nodes": Case("topology/scontrol_three_leaves.txt", topology.leaf_switches),
    "blocks of any nodes": Case("topology/composed_blocks.txt", topology.leaf_switches),
}
