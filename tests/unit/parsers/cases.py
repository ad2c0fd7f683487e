"""A recorded output of every parser, and the values that may be read from it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import TypeVar

from kappa.core.ground.errors import InputError
from kappa.core.vocabulary.node_states import NodeLine, nodes_of_partitions
from reframe_checks.network import congestion
from reframe_checks.parsers import (
    applications,
    core_programs,
    emt,
    exchange,
    file_benchmarks,
    gpu,
    gromacs,
    hpcg,
    hpl,
    io500,
    ior,
    job_scripts,
    lustre,
    mdtest,
    memory_bandwidth,
    mpi_behaviour,
    node_times,
    osu,
    pair_sweep,
    patterns,
    slurm,
    transport,
)
from reframe_checks.parsers.text import ParseError
from reframe_checks.storage import shared_semantics
from tests.unit.conftest import DATA

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    file: str
    parse: Callable[[str], object]
    #: Factors from the units printed to those of the result.
    scales: Sequence[float] = (1,)
    #: Optional output of the program, whose loss cannot be detected: None then, or another value.
    may_vanish: Sequence[str] = ()
    #: Lines with the same key, told apart by their order only: unconfirmed values, as paths without indices.
    exchangeable: Sequence[str] = ()
    #: Values that no second figure confirms, as paths without indices: texts, and figures that can become other ones.
    alone: Sequence[str] = ()
    #: Those figures among them without a ceiling that a damaged figure would exceed.
    boundless: Sequence[str] = ()


def osu_case(name: str, smallest: int, largest: int, alone: Sequence[str] = ("[].title",)) -> Case:
    sizes = [1 << exponent for exponent in range(30) if smallest <= 1 << exponent <= largest]
    parse = partial(osu.parse, expect_sizes=sizes, expect_tables=1)
    return Case(f"osu/{name}.txt", parse, may_vanish=["[0].datatype"], alone=alone)


def as_asked(parse: Callable[[str], T], what: str, holds: Callable[[T], bool]) -> Callable[[str], T]:
    """``parse``, and the comparison of its check with what was asked for: no line tells that others were lost."""

    @wraps(parse)
    def parsed(text: str) -> T:
        found = parse(text)
        if not holds(found):
            raise ParseError("the output", what, text=text)
        return found

    return parsed


def adapters(parse: Callable[[str], transport.RingTrafficResult], number: int) -> Callable[[str], object]:
    """So many of each node: without one that carried the messages, the check misses their bytes."""
    return as_asked(parse, f"{number} adapters", lambda ring: all(len(one.adapters) == number for one in ring.nodes))


ANY_SOURCE = ("expected_named_us", "expected_any_us", "unexpected_named_us", "unexpected_any_us")

DEPTHS = (0, 1, 4, 16, 64, 256, 1024)

IOZONE_CELLS = {(size << 10, request) for size in (4, 8, 16) for request in (64, 256, 1024)}

ALL_REDUCE = partial(gpu.nccl_tests, expect_sizes=[1 << power for power in range(29, 34)], expect_ranks=16)

COPIES = [
    "host_to_device_memcpy_ce", "device_to_host_memcpy_ce",
    "device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce",
]  # fmt: skip
FOUR_TOGETHER = partial(
    gpu.nvbandwidth, expect=[*COPIES[:2], "host_to_all_memcpy_ce", "all_to_host_memcpy_ce"], expect_gpus=4
)

SEVEN_GPUS = partial(gpu.nvbandwidth, expect=COPIES, expect_gpus=7)


@wraps(pair_sweep.read_samples)
def sampled(text: str) -> pair_sweep.SamplesDocument:
    """All figures except those of the file beside it; every byte of that file counts in the checksum."""
    figures = (DATA / "pair_samples/four_nodes_limited.bin").read_bytes()
    return pair_sweep.read_samples(text, figures).document


@wraps(slurm.node_states)
def states(text: str) -> dict[str, NodeLine]:
    """By name, of as many nodes as the site says there are: ``PartitionState`` asks for them all."""
    nodes = slurm.node_states(text)
    if len(nodes) != 4:
        raise ParseError("sinfo", "4 nodes", text=text)
    _marked(text, nodes)
    return {node.name: node for node in nodes}


def _marked(text: str, nodes: Iterable[NodeLine]) -> None:
    """A node in an unknown state is marked, which is as good as a refusal of its line."""
    for node in nodes:
        if node.condition.unknown and not node.usable:
            raise ParseError("sinfo", "known states", text=text, line=1)


@wraps(nodes_of_partitions)
def all_states(text: str) -> dict[str, dict[str, NodeLine]]:
    """Names of recorded partitions and nodes: Slurm states nowhere which lines there are."""
    try:
        lines = nodes_of_partitions(text)
    except InputError as err:
        raise ParseError("sinfo", str(err), text=text) from err
    partitions: dict[str, dict[str, NodeLine]] = {}
    for partition, node in lines:
        partitions.setdefault(partition, {})[node.name] = node
    nodes = [f"node{number}" for number in range(1, 5)]
    if {name: sorted(of) for name, of in partitions.items()} != {"cpu": nodes[:2], "gpu": nodes[2:], "scratch": nodes}:
        raise ParseError("sinfo", "node1 to node4 in three partitions", text=text)
    _marked(text, [node for of in partitions.values() for node in of.values()])
    return partitions


@wraps(lustre.targets)
def targets(text: str) -> tuple[lustre.OstTarget, ...]:
    """As many as the site states, in order: a file system says nowhere how many it should have."""
    found = lustre.targets(text)
    if [target.index for target in found] != list(range(12)):
        raise ParseError("lfs osts", "12 targets", text=text)
    return found


@wraps(lustre.servers)
def servers(text: str) -> dict[str, str]:
    """Names of the present targets."""
    found = lustre.servers(text)
    if sorted(found) != sorted(["home-OST0000", *(f"scratch-OST{number:04x}" for number in range(12))]):
        raise ParseError("lctl get_param", "the servers of 13 targets", text=text)
    return found


@wraps(job_scripts.ost_turns)
def turns(text: str) -> tuple[job_scripts.OstTurn, ...]:
    """Each of 12 targets twice, as ``OstSweep`` asks for them."""
    found = job_scripts.ost_turns(text)
    if sorted(turn.index for turn in found) != sorted([*range(12)] * 2):
        raise ParseError("rounds.txt", "12 targets twice", text=text)
    return found


@wraps(io500.parse)
def as_summed_up(text: str) -> io500.Io500Result:
    """The checksum is not of times: those are in the summary, too, with which the check compares them."""
    found = io500.parse(text)
    summary = io500.parse_summary((DATA / "io500/short_summary.txt").read_text(encoding="utf-8"))
    if not io500.same_run(found, summary):
        raise ParseError("IO500's result.txt", "the times of its summary", text=text)
    return found


def stonewalled(text: str, times: int) -> mdtest.MdtestResult:
    """The number of iterations until a stonewall, which occurs once in the output."""
    found = mdtest.parse(text)
    if len(found.reached) != times:
        raise ParseError("mdtest output", f"{times} stonewalls", text=text)
    return found


@wraps(mdtest.parse)
def stonewalled_once(text: str) -> mdtest.MdtestResult:
    return stonewalled(text, 1)


@wraps(mdtest.parse)
def stonewalled_twice(text: str) -> mdtest.MdtestResult:
    return stonewalled(text, 2)


@wraps(job_scripts.snapshots)
def looks(text: str) -> tuple[job_scripts.Snapshot, ...]:
    """Before and after two steps: what was lost at the end of a file, nothing in it tells."""
    found = job_scripts.snapshots(text)
    if len(found) != 4:
        raise ParseError("load watch", "4 looks", text=text)
    return found


@wraps(transport.lanes)
def rails(text: str) -> dict[str, list[str]]:
    """Four nodes with two rails each: the report stands alone, and the check compares it with the site."""
    found = {
        host: sorted("/".join(filter(None, lane)) for lane in lanes)  # as UCX writes it
        for host, lanes in transport.lanes(text).items()
    }
    if sorted(found) != [f"r39c2t5n{number}" for number in range(1, 5)] or {len(of) for of in found.values()} != {2}:
        raise ParseError("MPI's report", "two rails of each of 4 nodes", text=text)
    return found


EIGHT_NODES = [f"node{number}" for number in range(1, 9)]

RING = partial(osu.links, message_bytes=1 << 20, expect_nodes=4, expect_repeats=2)

RING_ALONE = [".run.mpi", ".nodes[].node", ".nodes[].adapters[].name"]
FOUR_NODES = [f"node{number}" for number in range(1, 5)]
SPEEDS = ("triad_mbps", "gflops", "steady")
PAIRS_ALONE = [
    ".run.mpi", ".latency_bytes", ".bandwidth_bytes", ".window", ".rounds[].seconds",
    *(f".alone[].{key}" for key in ("latency_us", "to_second_mbps", "to_first_mbps")),
]  # fmt: skip
HPCG_ALONE = [".threads", ".memory_gb", ".total_s", ".raw_gb_s", ".raw_gflops"]
MDTEST_ALONE = [".version", ".options", ".nodes", ".iterations", ".items"]
EMT_ALONE = [
    ".case_hash", ".checksum", ".steps", ".step_us.p50", ".step_us.p99", ".imbalance_us", ".karp_flatt",
]  # fmt: skip
# Names of a program, of its machine and its options are texts without a second copy in the output.
CASES = {
    "osu latency": osu_case("osu_latency", 1, 1 << 22),
    "osu persistent latency": osu_case("osu_latency_persistent", 1, 1 << 20),
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
        hpl.hpcc,
        alone=[
            ".processes", ".ptrans_gb_s", ".random_access_gup_s", ".fft_gflop_s", ".star_stream_triad_gb_s",
            ".ring_latency_us", ".ring_bandwidth_gb_s",
        ],
    ),
    "hpcg": Case("hpcg/two_ranks_short.txt", hpcg.parse, alone=HPCG_ALONE),
    "hpcg 3.0": Case("hpcg/published_3_0.yaml", hpcg.parse, alone=HPCG_ALONE),
    "hang": Case("hang/stopped_rank.json", job_scripts.hang),
    "hang without mpi": Case("hang/no_mpi.json", job_scripts.hang),
    "crash": Case("hang/crashed.json", job_scripts.hang),
    "load watch": Case("load_watch/two_steps.txt", looks),
    "stream": Case("stream/two_threads.txt", memory_bandwidth.stream, may_vanish=[".threads"]),
    "likwid": Case("likwid/stream.txt", memory_bandwidth.likwid, alone=[".hwthreads[]"]),
    "fio": Case(
        "fio/write.json",
        file_benchmarks.fio,
        (1, 1e-3, 1e-6, 1 << 10, 1 << 20),
        alone=["[].block_size_bytes"],
    ),
    # A mean confirms each rate but, of several, its last digit.
    "ior": Case("ior/posix_file_per_process.json", ior.parse, (1, 1.048576), alone=[".options", ".write_mb_s[]"]),
    "ior checked": Case("ior/mpiio_collective_checked.json", ior.parse, (1, 1.048576), alone=[".options"]),
    "ior stonewall": Case("ior/posix_stonewall.json", ior.parse, (1, 1.048576), alone=[".options", ".read_mb_s[]"]),
    "ior write only": Case("ior/mpiio_write_only.json", ior.parse, (1, 1.048576), alone=[".options"]),
    **{
        f"ior {name}": Case(
            f"ior/{name}.txt", ior.parse, (1, 1.048576), alone=[".options"],
            # -e, -W and -R stand on the command line only.
            may_vanish=[".fsync", ".check_write", ".check_read"],
        )
        for name in ("posix_text", "mpiio_text_checked", "posix_text_stonewall")
    },
    "osu of 5.7": Case(
        "field_cases/03-osu-5.7.1-ibarrier.txt",
        partial(osu.parse, expect_sizes=[0], expect_tables=1),
        alone=["[].title"],
    ),
    "hpcg of intel": Case("field_cases/09-hpcg-V3.1-intel-oneapi-2023.txt", hpcg.parse, alone=HPCG_ALONE),
    "mdtest 4.1": Case(
        "field_cases/10-mdtest-4.1.0+dev.txt", stonewalled_once, alone=MDTEST_ALONE,
        # A row of the rates and one of the times, whose product is the same whichever of them is which.
        exchangeable=[f".rates[].{of}" for of in ("maximum", "minimum", "mean")],
    ),
    "mdtest created only": Case("mdtest/created_only.txt", mdtest.parse, alone=MDTEST_ALONE),
    "mdtest": Case("mdtest/unique_folders.txt", mdtest.parse, alone=MDTEST_ALONE),
    "mdtest stonewall": Case(
        # Nothing else in the output tells which iteration a stonewall ended where.
        "mdtest/files_stonewall.txt", stonewalled_twice, alone=MDTEST_ALONE, exchangeable=[".reached[]"],
    ),
    "mdtest folders": Case("mdtest/folders_only.txt", mdtest.parse, alone=MDTEST_ALONE),
    "mdtest files": Case("mdtest/files_only.txt", mdtest.parse, alone=MDTEST_ALONE),
    "bt-io": Case("btio/full_four_ranks.txt", file_benchmarks.btio),
    "bt-io 3.4.3": Case("btio/full_of_3_4_3_four_ranks.txt", file_benchmarks.btio),
    "bt-io simple": Case("btio/simple_four_ranks.txt", file_benchmarks.btio),
    "iozone": Case(
        "iozone/direct.txt",
        partial(file_benchmarks.iozone, expect_cells=IOZONE_CELLS),
        (1, 1.024e-3),
        alone=[".options", ".rates[][]"],
    ),
    "io500": Case("io500/short.txt", as_summed_up, alone=[".procs"]),
    "io500 summary": Case("io500/published_valid.txt", io500.parse_summary),
    "lustre": Case("lustre/composed_folder.txt", lustre.layout, alone=[".stripe_count", ".stripe_size_bytes"]),
    "lustre targets": Case("lustre/composed_osts.txt", targets),
    "lustre servers": Case("lustre/composed_connections.txt", servers, alone=["[]"]),
    # A turn in another round has another place in their order, and so have some of the others.
    "lustre rounds": Case("lustre/rounds.txt", turns, alone=["[].node"], exchangeable=["[].node", "[].index"]),
    "emt": Case("emt/two_ranks.json", emt.EmtResult.read, alone=[*EMT_ALONE, ".step_us.max"]),
    "emt simulated": Case(
        "emt/simulated.json", emt.EmtResult.read, alone=[*EMT_ALONE, ".kappa_block_p50_us", ".heaviest_task_us"]
    ),
    # The figure of one link in the table of another.
    "node_links": Case("node_links/four_nodes.txt", RING, exchangeable=["[]"]),
    "link_use": Case(
        "link_use/random_ring.json",
        transport.LinkUseResult.read,
        alone=[".links_used", ".busiest[].link", ".busiest[].messages"],
        # A link's use follows from its bytes, and nothing from its name and messages.
        exchangeable=[".busiest[].link", ".busiest[].messages"],
    ),
    "pair_samples": Case(
        "pair_samples/four_nodes_limited.json",
        sampled,
        alone=[
            *PAIRS_ALONE, ".rounds_within_leaves", ".seed", ".alone[].messages",
        ],
    ),
    "pair_sweep": Case(
        "pair_sweep/eight_nodes_limited.json",
        pair_sweep.PairSweepResult.read,
        alone=[
            *PAIRS_ALONE, ".bandwidth_mbps[][]",
            *(f".rounds[].{key}[]" for key in ("packets_sent", "packets_lost", "messages")),
        ],
    ),
    **{
        f"pattern {name}": Case(
            f"patterns/{name}.json", partial(parse, ranks=4), alone=[".run.mpi", *alone],
            boundless=[path for path in alone if path in (".drift", ".level_latency_us")],
        )
        for name, parse, alone in (
            ("random_ring", patterns.RandomRingResult.read, [".times_us[]", ".message_bytes", ".seed"]),
            ("put_barrier", patterns.PutBarrierResult.read, [".times_us[]"]),
            (
                "particles", patterns.ParticleExchangeResult.read,
                [".times_us[]", ".pack_us[]", ".put_us[]",
                 *(f".{key}" for key in ("puts", "packed_bytes", "seed", "drawn", "drift", "record_bytes"))],
            ),
            ("neighbour", patterns.NeighbourExchangeResult.read, [".times_us[]", ".message_bytes"]),
            ("allreduce", patterns.AllreduceResult.read, [".series[].times_us[]", ".series[].cpu_us"]),
            (
                "simulated_allreduce", patterns.AllreduceResult.read,
                [".aggregators", ".series[].times_us[]", ".level_latency_us", ".segment_bytes"],
            ),
        )
    },
    "semantics": Case("semantics/four_nodes.txt", shared_semantics.parse),
    "gpcnet": Case("gpcnet/ten_nodes.txt", partial(congestion.parse, ranks=10, nodes=10)),
    "mpi_behaviour any-source": Case(
        "mpi_behaviour/any_source.json", partial(mpi_behaviour.AnySourceResult.read, ranks=4),
        alone=[".run.mpi", ".message_bytes", *(f".series[].{key}[]" for key in ANY_SOURCE)],
    ),
    **{
        f"mpi_behaviour {name}": Case(
            f"mpi_behaviour/{name}.json", parse, alone=[".run.mpi", *alone], boundless=boundless
        )
        for name, parse, alone, boundless in (
            (
                "threads", partial(mpi_behaviour.threads, ranks=2, expect_threads=[1, 2, 4]),
                [".message_bytes", ".series[].latency_us[]", ".series[].messages_per_s[]"], [],
            ),
            (
                "memory", partial(mpi_behaviour.MemoryResult.read, ranks=4),
                [".repeats", ".series[].largest_kib", ".before_init.largest_kib"],
                [".series[].largest_kib", ".before_init.largest_kib"],
            ),
            (
                "shared_window",
                partial(
                    mpi_behaviour.SharedWindowResult.read, ranks=2, sizes=[8, 1 << 10, 1 << 16, 1 << 20], table_mib=64,
                ),
                [
                    ".series[].mpi_us[]", ".series[].shared_us[]", ".splines.shared.mib", ".splines.shared.pass_us[]",
                    ".splines.copies.mib",
                ], [],
            ),
            (
                "matching", partial(mpi_behaviour.MatchingResult.read, ranks=2, depths=DEPTHS),
                [".message_bytes", ".series[].unexpected_us[]", ".series[].posted_us[]"], [],
            ),
        )
    },
    "node_sweep": Case(
        "node_sweep/four_nodes.json",
        core_programs.node_sweep,
        alone=[
            "[].node", "[].cores[]", "[].alone.gflops[]", "[].alone.steady[]",
            *(f"[].together.{key}[]" for key in SPEEDS),
        ],
    ),
    "node_fills": Case(
        "node_fills/two_nodes.json",
        core_programs.node_fills,
        alone=[
            "[].node", "[].available_mib", *(f"[].fills[].{key}[]" for key in SPEEDS),
        ],
    ),
    "node_numa": Case(
        "node_numa/two_nodes_of_two_domains.json",
        core_programs.node_numa,
        alone=["[][].latency_ns"],
    ),
    "emt_caches": Case(
        "emt_caches/two_nodes.json",
        # How many caches a node has, nothing else tells.
        as_asked(
            partial(emt.read_caches, networks=3), "3 caches of each node",
            lambda nodes: all(len(one.cache_list) == 3 for one in nodes.values()),
        ),
        alone=[
            "[].node", "[].cache_list[].bytes",
            *(f"[].sizes[].{key}" for key in ("steps", "checksum", "step_us", "sigma_us", "phi_us", "phi_cached_us")),
        ],
        # The figures of one node, or of one network, in the place of another's.
        exchangeable=[
            "[].sizes[].checksum",
            *(f"[].sizes[].{key}" for key in ("steps", "step_us", "sigma_us", "phi_us", "phi_cached_us")),
        ],
    ),
    **{
        f"emt_io {files}": Case(
            f"emt_io/two_nodes_{files}.json", emt.EmtIoResult.read,
            alone=[".checksum", ".step_us.mean", ".waveforms.io", ".waveforms.by_rank[].node"],
        )
        for files in ("shared", "rank")
    },
    "emt_pace": Case(
        "emt_pace/two_ranks.json",
        emt.EmtPace.read,
        alone=[".checksum", *(f".pace.per_rank[].{key}" for key in ("episodes", "late_p999_us", "late_worst_us"))],
    ),
    "affinity": Case(
        "affinity/four_nodes.json",
        as_asked(
            partial(core_programs.affinity, expect_ranks=4), "two threads of each rank",
            lambda ranks: all(len(rank.threads) == 2 for rank in ranks),
        ),
        alone=["[].node", "[].cpus[]", "[].threads[].cpus[]", "[].threads[].ran_on[]", "[].threads[].triad_mbps"],
    ),
    "bit_sweep": Case(
        "bit_sweep/four_nodes.json",
        core_programs.BitSweepResult.read,
        alone=[
            ".run.mpi", ".variant", ".nodes[].node", ".nodes[].cores[]",
            *(f".nodes[].works[].cores[][].{part}" for part in ("digest", "rounds")),
        ],
    ),
    "exchange": Case("exchange/duplicates.jsonl", partial(exchange.exchanged, expect_nodes=4)),
    "node_probe": Case("node_probe/four_nodes.jsonl", partial(job_scripts.node_facts, expect_nodes=4)),
    "file calls": Case(
        "node_times/file_calls.txt", partial(node_times.file_calls, expect_nodes=FOUR_NODES)
    ),
    "starts of tasks": Case(
        "node_times/task_starts.txt", partial(node_times.task_starts, expect_nodes=FOUR_NODES)
    ),
    "start of a job": Case("node_times/start_of_job.txt", node_times.job_start),
    "ring traffic": Case(
        "ring_traffic/four_nodes.json",
        adapters(partial(transport.ring_traffic, expect_nodes=4), 2),
        alone=[*RING_ALONE, *(f".nodes[].adapters[].{way}_bytes" for way in ("sent", "received"))],
    ),
    "ring traffic of GPUs": Case(
        "ring_traffic/four_nodes_of_gpus.json",
        adapters(partial(transport.ring_traffic, expect_nodes=4, expect_gpus=(0, 1)), 3),
        alone=[*RING_ALONE, ".nodes[].gpu.pci"],
    ),
    "mpi report": Case("mpi_report/ucx_two_rails.txt", rails),
    "gpu topology": Case("gpu_topology/composed_two_switches.txt", partial(gpu.topology, expect_gpus=4)),
    "nvbandwidth of all": Case("nvbandwidth/composed_four_gpus_together.txt", FOUR_TOGETHER),
    "nodes of Slurm": Case(
        "survey/embedded-node.txt",
        partial(slurm.node_facts, expect_nodes=["node1", "node2", "node3", "node4"]),
        alone=["[][]"],
    ),
    "sinfo": Case("sinfo/composed_four_nodes.txt", states, alone=["[].name", "[].reason"]),
    "sinfo of all": Case("sinfo/four_nodes_of_three_partitions.txt", all_states),
    "openfoam": Case(
        "openfoam/two_ranks.log",
        as_asked(applications.openfoam, "4 steps", lambda log: len(log.steps) == 4),
        alone=[".ranks", ".steps[].courant", ".steps[].pressure_iterations[]"],
        # The line of one step, or solution, in the place of another's: only continuity errors add up over the steps.
        exchangeable=[f".steps[].{key}" for key in ("courant", "residuals[]", "pressure_iterations[]")],
    ),
    "openfoam profiling": Case(
        "openfoam/two_ranks.profiling",
        as_asked(applications.openfoam_profiling, "4 steps", lambda profile: profile.steps == 4),
        alone=[".run_s"],
    ),
    "sparse_direct": Case(
        "sparse_direct/two_ranks.json",
        applications.SparseDirectResult.read,
        alone=[".run.mpi", ".solver", ".run.ranks", ".backward_error", ".error"],
        boundless=[".backward_error", ".error"],
    ),
    "gromacs": Case("gromacs/two_ranks.log", gromacs.parse, alone=[".atoms", ".drift_kj_mol_ps"]),
    "lammps": Case(
        "lammps/two_ranks.log",
        as_asked(applications.lammps, "two runs", lambda runs: len(runs) == 2),
        alone=["[].loop_s", "[].rows[].temperature_lj"],
    ),
    "stress-ng": Case(
        "stress_ng/four_nodes.txt",
        partial(job_scripts.stressed, expect_nodes=4),
        alone=["[].node", "[].stressors[]"],
    ),
    "placement": Case(
        "placement/composed_two_nodes.txt", partial(job_scripts.placement, expect_ranks=2), alone=["[].node", "[].cpus"]
    ),
    "topology": Case("topology/scontrol_three_leaves.txt", partial(slurm.leaves_of, nodes=EIGHT_NODES)),
    "topology of blocks": Case("topology/composed_blocks.txt", partial(slurm.leaves_of, nodes=EIGHT_NODES)),
    "babelstream": Case("babelstream/cuda_a100.txt", memory_bandwidth.babelstream, alone=["[].device"]),
    "nccl-tests": Case("nccl/all_reduce_sixteen_gpus.txt", ALL_REDUCE, alone=[".hosts[]", ".mean_bus_gb_s"]),
    "nvbandwidth": Case("nvbandwidth/seven_gpus.txt", SEVEN_GPUS),
}  # fmt: skip

#: Where nothing at all is an answer, too: Slurm without a topology.
MAY_BE_EMPTY = {
    "topology of any nodes": Case("topology/scontrol_three_leaves.txt", slurm.leaf_switches),
    "blocks of any nodes": Case("topology/composed_blocks.txt", slurm.leaf_switches),
}
