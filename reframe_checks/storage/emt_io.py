"""An application's MPI-IO: the EMT application writes all its waveforms, into one shared file or one file per rank.

It needs no other program, so it runs wherever the suite runs.

1. Ranks write together into a shared file (collective), or each into its own file. The time includes the fsync.
2. The nodes drop their caches of the files, if the file system follows the advice.
3. Each rank reads data of another rank, half of all ranks away, with MPI-IO. The program ends with an error if the data
   differ, or if a file has a wrong length.

The best round counts. All rounds must give the same solution. The data of a case are ``node_mib`` per node, and at
least ``least_mib``. The network has a copy for each ``RANKS_OF_COPY`` ranks, and the number of steps gives the bytes.
"""

import re

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import OF_ONE_NODE, STORAGE_TARGETS, parallel
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.emt import EmtCheck
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import Scaled
from reframe_checks.localise.finding import ranked, slowest_share, suspects_of_nodes
from reframe_checks.parsers import emt

# Channels of a copy of the reference network; with several copies, each has a few less.
CHANNELS_OF_COPY = 10845
# A copy has about 170 tasks. Each rank reads all copies: 0.2 MB of JSON and 3 MB of memory for each.
RANKS_OF_COPY, MOST_COPIES = 32, 64
# COMTRADE's bytes of a record's stamp and of a value; and the most bytes of the header for each channel.
STAMP_BYTES, VALUE_BYTES, HEAD_BYTES = 8, 4, 160
# Time of start and end of a job and of a round, and a node's rate, only to estimate the time of a case; not targets.
BESIDES_S, ROUND_S, ASSUMED_BYTES_S = 10, 3, 0.2e9
QUANTITIES = ("write", "read")
MOST_DRAWN = 2048
_FAILED = re.compile(r"emt: error: (?:rank \d+: )?on (\S{1,255}): (.+)")


class EmtIoCheck(OnStorage, Scaled, EmtCheck):
    family = "storage/emt-io"
    needs_partition = []
    time_limit = "30m"
    cache_defeat = "fsync is part of the write; nodes drop their cache of a file before they read it"
    hint = "compare files shared and rank, and with IOR and fio on the same target; check striping and servers"

    #: 0: from the number of ranks.
    network_scale = 0
    #: 0: from the bytes.
    steps = 0
    rounds = SiteVariable(2, "whole number", "", "number of rounds; the best counts")
    node_mib = SiteVariable(128, "whole number", "MiB", "data that each node writes in a round")
    least_mib = SiteVariable(512, "whole number", "MiB", "least data that a round writes, on few nodes")
    buffer_mib = SiteVariable(4, "whole number", "MiB", "buffer of each rank, written at once")
    least_slowdown = SiteVariable(2.0, "number", "", "least slow-down, as a factor, at which a node is named")
    #: On shared cores, the scheduler affects shorter times as much as the disk.
    least_s = SiteVariable(0, "number", "s", "least time that counts for a node's writing, and for its reading")
    tunable = {
        "network_scale": Tunable("whole number", "", "copies of the reference network; 0: from the number of ranks"),
        "steps": Tunable("whole number", "", "steps of the simulation, each a record of all channels; 0: from bytes"),
        "most_nodes": Tunable("whole number", "", "most nodes of the scale `whole_partition`; 0: all"),
    }

    @rfmb.run_after("setup")
    def name_results(self):
        self.rounds_at = [f"result-{number + 1}.json" for number in range(self.rounds)]

    def command_lines(self):
        return [self.launched(self.executable, *self.words_of(name)) for name in self.rounds_at]

    def words_of(self, result):
        return [
            "run", "network.json", f"--steps={self.steps_taken}", "--no-replay", "--exchange=slack",
            '--waveforms="$folder/waves.cff"', f"--waveform-files={self.files}", "--waveform-io=collective",
            f"--waveform-buffer={self.buffer_mib * self.num_tasks}", f"--verify-waveforms={self.read_by}",
            f"--result={result}",
        ]  # fmt: skip

    #: The bytes that a rank reads: ``own``, or those of ``other`` ranks.
    read_by = "other"

    @property
    def copies(self):
        return self.network_scale or min(-(-self.num_tasks // RANKS_OF_COPY), MOST_COPIES)

    def networks(self):
        return {"network.json": self.copies}

    @property
    def record_bytes(self):
        stamps = self.num_tasks if self.files == "rank" else 1
        return stamps * STAMP_BYTES + self.copies * CHANNELS_OF_COPY * VALUE_BYTES

    @property
    def steps_taken(self):
        round_mib = max(self.node_mib * self.num_nodes_used, self.least_mib)
        return self.steps or max((round_mib << 20) // self.record_bytes, 1)

    def expected_s(self):
        node_bytes = (self.steps_taken + 1) * self.record_bytes / self.num_nodes_used
        of_round = ROUND_S + 2 * node_bytes / ASSUMED_BYTES_S
        return BESIDES_S + self.rounds * of_round

    def most_bytes(self):
        head = self.copies * CHANNELS_OF_COPY * HEAD_BYTES
        return self.rounds * ((self.steps_taken + 1) * self.record_bytes + head)

    def wrote_bytes(self):
        return sum(result.bytes for result in self.results)

    @rfmb.sanity_function
    def read_results(self):
        self.require_striping()
        self.results = [self.result_of(name) for name in self.rounds_at]
        if len({result.checksum for result in self.results}) != 1:
            raise SanityError("rounds gave different solutions: run EmtCorrectness")
        self.judge_nodes()
        return True

    def result_of(self, name):
        result = self.parsed(emt.EmtIoResult.read, self.output_text(name))
        told = result.waveforms
        found = (len(result.ranks), result.steps, told.files, told.io, told.verified)
        asked = (self.num_tasks, self.steps_taken, self.files, "collective", self.read_by)
        if found != asked:
            raise SanityError(f"emt ran (ranks, steps, files, io, verified) {found}, expected {asked}")
        if not 0.9 * self.copies * CHANNELS_OF_COPY <= result.channels <= self.copies * CHANNELS_OF_COPY:
            raise SanityError(
                f"emt wrote {result.channels} channels for {self.copies} copies of the network, "
                f"expected about {CHANNELS_OF_COPY} per copy"
            )
        return result

    def why_failed(self):
        """Return the program's error message about its files, if any; on a node's own storage, make it a suspect."""
        found = _FAILED.search(self.output_text(str(self.stderr)))
        if not found:
            return super().why_failed()
        if self.on_own_storage and found[1] in self.provenance["nodelist"]:
            self.suspects = [found[1]]
        return f"{found[1]}: {found[2]}"

    @property
    def on_own_storage(self):
        return self.target in OF_ONE_NODE and parallel(self.target) not in self.current_partition.features

    def judge_nodes(self):
        """Record each node's rates, by its slowest rank. Compare nodes if each rank has its own file and none waits."""
        self.rates = {quantity: {} for quantity in QUANTITIES}
        for result in self.results:
            for quantity, rates in rates_of_nodes(result.ranks, self.least_s).items():
                best = self.rates[quantity]
                self.rates[quantity] = {node: max(rate, best.get(node, 0)) for node, rate in rates.items()}
        self.record_ranks()
        if self.files != "rank":
            return
        for quantity, rates in self.rates.items():
            self.record_per_node(quantity, "MB/s", rates)
        self.record_findings(
            ranked(
                [
                    finding
                    for quantity, rates in self.rates.items()
                    for finding in suspects_of_nodes(quantity, rates, least_slowdown=self.least_slowdown)
                ]
            )
        )

    def record_ranks(self):
        """Record the rates of the fastest round, unless there are too many ranks to draw."""
        ranks = self.fastest.ranks
        for quantity, rates in (
            ("write", [rank.write_mb_s for rank in ranks]), ("read", [rank.read_mb_s for rank in ranks]),
        ):  # fmt: skip
            points = {number: rate for number, rate in enumerate(rates) if rate is not None}
            if len(points) <= MOST_DRAWN:
                self.record_curve(f"{quantity}, by rank", ("Rank", ""), (f"Rate of {quantity}", "MB/s"), points, {})

    @property
    def fastest(self):
        return max(self.results, key=lambda result: result.write_mb_s)


class EmtIoTotals(EmtIoCheck):
    """Measure the rate of all ranks together, and of the slowest rank."""

    informational = ["io_share", "slowest_rank_write"]
    failure_means = (
        "Waveforms are written or read more slowly than the bound allows, or were read back wrong. With wrong data, "
        "stop using the target until the cause is found. For slow files, run IorEasy on the same target."
    )

    metrics = {
        "write": ("MB/s", lambda self: self.fastest.write_mb_s),
        "read": ("MB/s", lambda self: max(result.read_mb_s for result in self.results)),
        # For the rank's own bytes.
        "slowest_rank_write": (
            "MB/s", lambda self: min(rank.write_mb_s for rank in self.fastest.ranks if rank.write_mb_s is not None),
        ),
        # Share of the time for steps and output, without reading back.
        "io_share": ("%", lambda self: io_percent(self.fastest)),
    }


@rfm.simple_test
class EmtIoNode(EmtIoTotals):
    descr = "Measures the EMT application's waveform output by MPI-IO from one node; finds slow or wrong file systems"
    estimated_s = 40
    scale = rfmb.parameter(["one_core", "one_node"], loggable=True)
    files = rfmb.parameter(["shared", "rank"], loggable=True)


@rfm.simple_test
class EmtIo(EmtIoTotals):
    descr = (
        "Measures the EMT application's waveform output by MPI-IO from several nodes; finds slow or wrong parallel "
        "file systems"
    )
    measured_s = 5
    scale = rfmb.parameter(["two_nodes", "whole_partition"], loggable=True)
    files = rfmb.parameter(["shared", "rank"], loggable=True)


@rfm.simple_test
class EmtIoStriped(EmtIoTotals):
    descr = (
        "Measures the EMT application's output by MPI-IO to a file on few and on all storage targets; finds striping "
        "without effect"
    )
    estimated_s = 60
    modes = ("acceptance",)
    target = rfmb.parameter([target for target in STORAGE_TARGETS if target.startswith("lustre")], loggable=True)
    scale = rfmb.parameter(["whole_partition"], loggable=True)
    files = rfmb.parameter(["shared"], loggable=True)
    stripes = rfmb.parameter(["1", "4", "all"], loggable=True)
    hint = "more stripes should be faster, up to the limit of the nodes' links; if not, check servers and locks"

    def stated_striping(self, settings):
        return settings and {**settings, "stripe_count": -1 if self.stripes == "all" else int(self.stripes)}


@rfm.simple_test
class EmtIoEachNode(EmtIoCheck):
    """Measure one rank on each node with its own file, on the node's own storage or on shared storage."""

    descr = (
        "Compares the EMT application's waveform output by MPI-IO of all nodes; finds nodes with a slow disk or path"
    )
    family = "storage/emt-io-nodes"
    measured_s = 5
    relative = ["uniformity"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    files = rfmb.parameter(["rank"], loggable=True)
    hint = "check whether the named node's disk is full, degraded (`smartctl -a`) or busy, or its path to servers slow"
    failure_means = (
        "A node writes or reads its own file more slowly than the others do, all nodes are below the bound, or data "
        "was read back wrong. If one node is named, look at its disk or link; otherwise look at the servers."
    )

    @staticmethod
    def target_features(target, scale):
        return [STORAGE_TARGETS[target]]

    @property
    def read_by(self):
        return "own" if self.on_own_storage else "other"

    def judge_nodes(self):
        super().judge_nodes()
        # A rank without a channel writes nothing.
        self.require_all_nodes(self.rates["write"])

    def folder_commands(self, path):
        return [self.folder_by("node_folder.sh", path)] if self.on_own_storage else super().folder_commands(path)

    metrics = {
        "slowest_node_write": ("MB/s", lambda self: min(self.rates["write"].values())),
        "slowest_node_read": ("MB/s", lambda self: min(self.rates["read"].values())),
        # Slowest node divided by the median node, in writing or in reading.
        "uniformity": ("", lambda self: min(map(slowest_share, self.rates.values()))),
    }


def rates_of_nodes(ranks, least_s=0):
    """Return the rate of each node that wrote or read, in MB/s: ``{quantity: {node: rate}}``.

    :param least_s: lower limit of a node's time, which is the time of its slowest rank.
    """
    found = {}
    for quantity, moved in (
        ("write", [(rank.node, rank.bytes, rank.write_s) for rank in ranks]),
        ("read", [(rank.node, rank.read_bytes, rank.read_s) for rank in ranks]),
    ):
        sizes, seconds = {}, {}
        for node, size, took_s in moved:
            if size:
                sizes[node] = sizes.get(node, 0) + size
                seconds[node] = max(seconds.get(node, least_s), took_s)
        found[quantity] = {node: 1e-6 * size / seconds[node] for node, size in sizes.items()}
    return found


def io_percent(result):
    return 100 * result.write_s / (result.write_s + 1e-6 * result.steps * result.step_us.mean)
