"""An application's MPI-IO: the EMT application writes all its waveforms, into one file or one of each rank.

It needs no program from elsewhere, so it runs wherever the suite does. Ranks write together into a shared file
(collective), or each into its own; the time in which that is made durable counts. Then the files are read back, by
MPI-IO, too, each rank what another wrote, half of all ranks away; the program ends with an error where that is not what
was written, or where a file is longer or shorter than it should be. What nodes keep of the files is dropped before, as
far as a file system does so on advice. The best of the rounds counts. All rounds must come to the same solution.

A case is bounded by bytes: ``node_mib`` of each node, ``least_mib`` on few. The network has a copy for each
``RANKS_OF_COPY`` ranks, and as many steps as make so many bytes.
"""

import re

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import OF_ONE_NODE, STORAGE_TARGETS, parallel
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.emt import EmtCheck
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.job_files import sourced
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import Scaled
from reframe_checks.localise.finding import ranked, slowest_share, suspects_of_nodes
from reframe_checks.parsers import emt

# Of a copy of the reference network; several have a few less for each.
CHANNELS_OF_COPY = 10845
# A copy has some 170 tasks. Each rank reads all copies, 0.2 MB of JSON and 3 MB of memory for each.
RANKS_OF_COPY, MOST_COPIES = 32, 64
# COMTRADE's of a record, and of a value; and what the head takes for each channel, at most.
STAMP_BYTES, VALUE_BYTES, HEAD_BYTES = 8, 4, 160
# Start and end of a job and of a round, and a node's rate, to say how long a case takes: not what it should be.
BESIDES_S, ROUND_S, ASSUMED_BYTES_S = 10, 3, 0.2e9
QUANTITIES = ("write", "read")
MOST_DRAWN = 2048
_FAILED = re.compile(r"emt: error: (?:rank \d+: )?on (\S{1,255}): (.+)")


class EmtIoCheck(OnStorage, Scaled, EmtCheck):
    family = "storage/emt-io"
    needs_partition = []
    time_limit = "30m"
    cache_defeat = "fsync is part of the write; what nodes keep of a file is dropped before it is read"
    hint = "compare files shared and rank, and with IOR and fio on the same target; look at striping and servers"

    #: 0: by the number of ranks.
    network_scale = 0
    #: 0: by the bytes.
    steps = 0
    rounds = SiteVariable(2, "whole number", "", "number of rounds; the best counts")
    node_mib = SiteVariable(128, "whole number", "MiB", "that each node writes in a round")
    least_mib = SiteVariable(512, "whole number", "MiB", "least data that a round writes, on few nodes")
    buffer_mib = SiteVariable(4, "whole number", "MiB", "buffer of each rank, written at once")
    least_slowdown = SiteVariable(2.0, "number", "", "least slow-down, as a factor, for which a node is named")
    #: Of less the scheduler of shared cores says as much as the disk.
    least_s = SiteVariable(0, "number", "s", "least time that counts for a node's writing, and for its reading")
    tunable = {
        "network_scale": Tunable("whole number", "", "copies of the reference network; 0: by the number of ranks"),
        "steps": Tunable("whole number", "", "steps of the simulation, each a record of all channels; 0: by the bytes"),
        "most_nodes": Tunable("whole number", "", "most nodes that stand for the whole partition; 0: all"),
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

    #: Whose bytes a rank reads.
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
            raise SanityError("rounds gave different solutions: see EmtCorrectness")
        self.judge_nodes()
        return True

    def result_of(self, name):
        try:
            text = self.output_text(name)
        except SanityError as err:
            raise SanityError(self.why_no_result() or str(err)) from None
        result = self.parsed(emt.EmtIoResult.read, text)
        told = result.waveforms
        found = (len(result.ranks), result.steps, told.files, told.io, told.verified)
        asked = (self.num_tasks, self.steps_taken, self.files, "collective", self.read_by)
        if found != asked:
            raise SanityError(f"emt ran (ranks, steps, files, io, verified) {found}, asked for {asked}")
        if not 0.9 * self.copies * CHANNELS_OF_COPY <= result.channels <= self.copies * CHANNELS_OF_COPY:
            raise SanityError(f"{result.channels} channels were written, of {self.copies} copies of the network")
        return result

    def why_no_result(self):
        """Return the program's own words of its files; on a node's own storage name the node."""
        found = _FAILED.search(self.output_text(str(self.stderr)))
        if found and self.on_own_storage and found[1] in self.provenance["nodelist"]:
            self.suspects = [found[1]]
        return found and f"{found[1]}: {found[2]}"

    @property
    def on_own_storage(self):
        return self.target in OF_ONE_NODE and parallel(self.target) not in self.current_partition.features

    def judge_nodes(self):
        """Each node's rates, by its slowest rank; only of ranks with a file of their own none waits for another."""
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
        """Keep the rates of the fastest round, unless there are more ranks than can be drawn."""
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
    """Rates of all ranks together, and of the one that gets least."""

    informational = ["io_share", "slowest_rank_write"]

    metrics = {
        "write": ("MB/s", lambda self: self.fastest.write_mb_s),
        "read": ("MB/s", lambda self: max(result.read_mb_s for result in self.results)),
        # Of its own bytes.
        "slowest_rank_write": (
            "MB/s", lambda self: min(rank.write_mb_s for rank in self.fastest.ranks if rank.write_mb_s is not None),
        ),
        # Of the time of the run's steps and their output, without reading back.
        "io_share": ("%", lambda self: io_percent(self.fastest)),
    }


@rfm.simple_test
class EmtIoNode(EmtIoTotals):
    descr = "EMT application: waveforms through MPI-IO from one node"
    estimated_s = 40
    scale = rfmb.parameter(["one_core", "one_node"], loggable=True)
    files = rfmb.parameter(["shared", "rank"], loggable=True)


@rfm.simple_test
class EmtIo(EmtIoTotals):
    descr = "EMT application: waveforms through MPI-IO from several nodes"
    measured_s = 5
    scale = rfmb.parameter(["two_nodes", "whole_partition"], loggable=True)
    files = rfmb.parameter(["shared", "rank"], loggable=True)


@rfm.simple_test
class EmtIoStriped(EmtIoTotals):
    descr = "EMT application: waveforms through MPI-IO, with a shared file on few and on all storage targets"
    estimated_s = 60
    modes = ("acceptance",)
    target = rfmb.parameter([target for target in STORAGE_TARGETS if target.startswith("lustre")], loggable=True)
    scale = rfmb.parameter(["whole_partition"], loggable=True)
    files = rfmb.parameter(["shared"], loggable=True)
    stripes = rfmb.parameter(["1", "4", "all"], loggable=True)
    hint = "more stripes should be faster up to the nodes' links; where they are not, look at servers and locks"

    def stated_striping(self, settings):
        return settings and {**settings, "stripe_count": -1 if self.stripes == "all" else int(self.stripes)}


@rfm.simple_test
class EmtIoEachNode(EmtIoCheck):
    """A rank on each node with a file of its own, on what the node has to itself or on what all see."""

    descr = "EMT application: waveforms through MPI-IO from every node at once, node against node"
    family = "storage/emt-io-nodes"
    measured_s = 5
    relative = ["uniformity"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    files = rfmb.parameter(["rank"], loggable=True)
    hint = "is the named node's disk full, degraded (`smartctl -a`) or busy, or its way to the servers slow?"

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
        return [sourced(self, "node_folder.sh", path)] if self.on_own_storage else super().folder_commands(path)

    metrics = {
        "slowest_node_write": ("MB/s", lambda self: min(self.rates["write"].values())),
        "slowest_node_read": ("MB/s", lambda self: min(self.rates["read"].values())),
        # The slowest node against the median node, in writing or in reading.
        "uniformity": ("", lambda self: min(map(slowest_share, self.rates.values()))),
    }


def rates_of_nodes(ranks, least_s=0):
    """MB/s of each node that wrote or read, by the time of its slowest rank, at least ``least_s``:
    ``{quantity: {node: rate}}``."""
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
