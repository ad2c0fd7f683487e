"""OSU Micro-Benchmarks on host memory, without collectives: between two ranks, between many, one-sided, start-up.

OSU prints the mean over its iterations. One slow iteration on a busy machine can change it by orders of magnitude. So
every benchmark runs ``repeats`` times in the same job, and the best repeat of each message size counts (the minimum
latency, the maximum bandwidth).
"""

from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Placed, Scaled
from reframe_checks.parsers import osu

MAX_MESSAGE_BYTES = 1 << 20
HEADLINE_BYTES = {8: "8B", 1 << 20: "1MiB"}
# Features of an environment with OSU's own programs in C; `osu` alone may mean another implementation.
C_SUITE = {"osu-suite", "osu-cuda"}


@dataclass(frozen=True)
class OsuQuantity:
    """A measured quantity: its title and unit, the prefix of its metrics, and how to pick the best repeat."""

    title: str
    unit: str
    metric: str
    pick: str


LATENCY = OsuQuantity("Latency", "us", "latency", "min")
BANDWIDTH = OsuQuantity("Bandwidth", "MB/s", "bandwidth", "max")


class OsuCheck(KappaCheck):
    """Run ``<benchmark> -i ITERATIONS -x WARM-UP -m SMALLEST:1048576`` three times."""

    needs_partition = ["network"]
    needs_environ = ["osu"]

    #: Name of the OSU program; a class for several programs has a parameter ``program`` instead.
    benchmark = rfmb.variable(str)
    #: Timed iterations per message size, and untimed ones before them.
    iterations = SiteVariable(200, "whole number", "", "timed iterations of each message size")
    warmup = SiteVariable(20, "whole number", "", "untimed iterations before them")
    repeats = 3
    tunable = {"repeats": Tunable("whole number", "", "runs in the job; the best counts")}

    quantity = LATENCY
    #: True if the program can check its data (``-c``); the suite in C then must do so.
    validates = True

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = self.benchmark
        # Options come first: OSU stops reading them at the first operand, the names of the buffers.
        validation = ["-c"] if self.validation_demanded() else []
        options = ["-i", str(self.iterations), "-x", str(self.warmup), *validation, *self.size_options()]
        self.executable_opts = options

    def validation_demanded(self):
        return self.validates and self.of_c_suite()

    def of_c_suite(self):
        return bool(C_SUITE & set(self.current_environ.features))

    def smallest_message(self):
        """Return the smallest message in bytes. OSU prints two decimals: 1 B on a loaded machine would be 0.00 MB/s."""
        return min(HEADLINE_BYTES) if self.quantity is BANDWIDTH else 1

    def size_options(self):
        return ["-m", f"{self.smallest_message()}:{MAX_MESSAGE_BYTES}"]

    def expected_sizes(self):
        sizes = [1 << exponent for exponent in range(MAX_MESSAGE_BYTES.bit_length())]
        return [size for size in sizes if size >= self.smallest_message()]

    def gated_sizes(self):
        """Return the sizes with a bound: message size in bytes -> suffix of the metric."""
        return HEADLINE_BYTES

    def metric_of(self, size):
        suffix = self.gated_sizes()[size]
        return f"{self.quantity.metric}_{suffix}" if suffix else self.quantity.metric

    @rfmb.run_after("init")
    def choose_program(self):
        self.benchmark = self.program if hasattr(self, "program") else self.benchmark

    @rfmb.run_after("init")
    def declare_metrics(self):
        self.declare({
            self.metric_of(size): (self.quantity.unit, lambda self, size=size: self.measured[size])
            for size in self.gated_sizes()
        })

    @rfmb.sanity_function
    def read_tables(self):
        tables = self.parsed(
            osu.parse, self.output_text(), expect_sizes=self.expected_sizes(), expect_tables=self.repeats
        )
        if self.validation_demanded() and not all(table.validated for table in tables):
            raise SanityError("the output has no column Validation, although OSU was called with -c to check the data")
        self.check_tables(tables)
        self.measured = osu.curve(tables, self.quantity.pick)
        self.record_curve(
            self.quantity.metric,
            ("Message size", "B"),
            (self.quantity.title, self.quantity.unit),
            self.measured,
            gated={size: self.metric_of(size) for size in self.gated_sizes()},
        )
        return True

    def check_tables(self, tables):
        """Check the tables further; for families with more conditions on their output."""


class OsuPointToPoint(ManyNodes, Placed, OsuCheck):
    """OSU point-to-point between two ranks: latency, bandwidth and bidirectional bandwidth, by placement.

    The whole curve over message sizes is recorded; 8 B and 1 MiB have bounds. Latency is half the round-trip time.
    """

    family = "network/osu-pt2pt"

    def check_tables(self, tables):
        self.require_placement()


@rfm.simple_test
class OsuLatency(OsuPointToPoint):
    descr = "Measures the latency between two ranks with OSU; finds slow routes, slow CPUs and wrong transports"
    measured_s = 4
    benchmark = "osu_latency"
    tags = {"smoke"}
    hint = "check the route between the nodes, CPU frequency and binding, and MPI's transport"
    failure_means = (
        "Short messages between two ranks take longer than the bound allows, or data arrived wrong. Only within a "
        "node: look at binding and clock. Only between nodes: look at the route and at TransportUsed."
    )


class OsuStream(OsuPointToPoint):
    """OSU with a window of messages in flight, so few iterations move enough data."""

    quantity = BANDWIDTH
    iterations = 10
    warmup = 2
    window = SiteVariable(64, "whole number", "messages", "messages in flight")
    hint = "compare with the same check on other nodes; check link width and speed, port errors, and the MTU"
    failure_means = (
        "Long messages between two ranks are slower than the bound allows, or data arrived wrong. If only pairs with "
        "one node are slow, look at its link; if all pairs are, look at TransportUsed."
    )

    def size_options(self):
        return [*super().size_options(), "-W", str(self.window)]


@rfm.simple_test
class OsuBandwidth(OsuStream):
    descr = "Measures the bandwidth between two ranks with OSU; finds links with low width or speed, or with errors"
    measured_s = 3
    benchmark = "osu_bw"
    tags = {"smoke"}


@rfm.simple_test
class OsuBidirectionalBandwidth(OsuStream):
    descr = (
        "Measures the bandwidth in both directions between two ranks with OSU; finds links and buses that are not full "
        "duplex"
    )
    measured_s = 3
    benchmark = "osu_bibw"
    # For other placements it follows from the bandwidth in one direction.
    placement = rfmb.parameter(["same_node", "two_nodes"], loggable=True)


@rfm.simple_test
class OsuPersistentLatency(OsuPointToPoint):
    """The same latency with persistent messages (MPI_Start): it shows the MPI library, not the link."""

    descr = "Measures the latency of persistent messages (MPI_Start) with OSU; finds slow persistent operations"
    estimated_s = 20
    needs_environ = ["osu-start"]
    modes = ("acceptance",)
    placement = rfmb.parameter(["same_node", "two_nodes"], loggable=True)
    benchmark = "osu_latency_persistent"
    hint = "compare with OsuLatency on the same nodes: the difference is the MPI library's"
    failure_means = (
        "Persistent messages take longer than the bound allows, or data arrived wrong. If OsuLatency passes on the "
        "same nodes, the link is sound; see what changed in the MPI library since it passed."
    )


class OsuOneSided(ManyNodes, Placed, OsuCheck):
    """OSU one-sided communication between two ranks, by placement, with OSU's default windows and synchronisation.

    These programs cannot check their data (they refuse ``-c``). They run for acceptance only: links change from night
    to night, and the point-to-point checks show that. The placements inside a node are also left to these checks.
    """

    family = "network/osu-onesided"
    needs_environ = ["osu-suite"]
    modes = ("acceptance",)
    placement = rfmb.parameter(["same_node", "two_nodes"], loggable=True)
    validates = False
    hint = "if the point-to-point checks pass on these nodes, check MPI's one-sided component"
    failure_means = (
        "One-sided communication between two ranks is slower than the bound allows. If OsuLatency and OsuBandwidth "
        "pass on the same nodes, the link is sound and MPI's one-sided component is at fault."
    )

    def check_tables(self, tables):
        self.require_placement()


@rfm.simple_test
class OsuOneSidedLatency(OsuOneSided):
    descr = "Measures the latency of one-sided operations with OSU; finds a slow one-sided component of MPI"
    estimated_s = 20
    program = rfmb.parameter(
        ["osu_put_latency", "osu_get_latency", "osu_acc_latency", "osu_get_acc_latency"], loggable=True
    )


@rfm.simple_test
class OsuAtomicLatency(OsuOneSided):
    descr = (
        "Measures the latency of atomic operations on one element with OSU; finds atomics that the adapter does not run"
    )
    estimated_s = 20
    program = rfmb.parameter(["osu_fop_latency", "osu_cas_latency"], loggable=True)

    def size_options(self):
        return []

    def expected_sizes(self):
        return [1]

    def gated_sizes(self):
        return {1: ""}


@rfm.simple_test
class OsuOneSidedBandwidth(OsuOneSided):
    descr = "Measures the bandwidth of one-sided operations with OSU; finds a slow one-sided component of MPI"
    estimated_s = 20
    program = rfmb.parameter(["osu_put_bw", "osu_get_bw", "osu_put_bibw"], loggable=True)
    quantity = BANDWIDTH
    iterations = 10
    warmup = 2


RATE_BYTES = 8


class OsuMultiPair(ManyNodes, Scaled, OsuCheck):
    """OSU between many pairs of ranks at once: latency, bandwidth and message rate of all pairs together."""

    family = "network/osu-multi-pair"
    needs_environ = ["osu-suite"]
    scale = rfmb.parameter(["one_node", "two_nodes"], loggable=True)
    hint = "if a single pair is fast, check the adapter's queues, and whether ranks share cores"


@rfm.simple_test
class OsuMultiLatency(OsuMultiPair):
    descr = (
        "Measures the latency of all pairs of ranks at the same time with OSU; finds adapters that are slow with many "
        "ranks"
    )
    estimated_s = 30
    failure_means = (
        "Short messages take too long when all pairs of ranks talk at once, or data arrived wrong. If OsuLatency "
        "passes on the same nodes, the pairs hinder each other: look at the binding and at the adapter's queues."
    )
    benchmark = "osu_multi_lat"


@rfm.simple_test
class OsuMessageRate(OsuMultiPair):
    descr = (
        "Measures bandwidth and message rate of all pairs together with OSU; finds adapters that are slow with many "
        "ranks"
    )
    estimated_s = 30
    failure_means = (
        "All pairs of ranks together move too few messages or too little data, or data arrived wrong. If OsuBandwidth "
        "passes on the same nodes, the pairs hinder each other: look at the binding and at the adapter's queues."
    )
    benchmark = "osu_mbw_mr"
    quantity = BANDWIDTH
    iterations = 10
    warmup = 2

    def check_tables(self, tables):
        self.rate = osu.curve(tables, "max", column=1)[RATE_BYTES]

    metrics = {"message_rate": ("1/s", lambda self: self.rate)}


PAIRS_SAID = "# [ pairs: "
PAIRS, SIZE = ("Pairs of ranks", ""), ("Message size", "B")


@rfm.simple_test
class OsuNodeFill(Scaled, OsuCheck):
    """Measure bandwidth and message rate of a pair of ranks while other cores of the nodes are idle.

    One job runs a pair for each core of two nodes, a pair for half of the cores, and one pair. The gain is the figure
    of a pair divided by its figure with all cores. The gain is 1 if the core is the limit. With half of the pairs, it
    is 2 if the adapter is the limit.
    """

    descr = (
        "Compares bandwidth and message rate of a pair of ranks on full and half-filled nodes; finds whether core or "
        "adapter is the limit"
    )
    family = "network/osu-node-fill"
    estimated_s = 90
    modes = ("acceptance",)
    needs_environ = ["osu-suite"]
    scale = rfmb.parameter(["two_nodes"], loggable=True)
    benchmark = "osu_mbw_mr"
    quantity = BANDWIDTH
    iterations = 10
    warmup = 2
    informational = ["one_pair_bandwidth"]
    hint = "if a pair gains nothing, its core or PCIe path is the limit; compare with OsuMessageRate"
    failure_means = (
        "A pair of ranks gains too little when half of its nodes' cores rest, or pairs are slower than the bound "
        "allows, or data arrived wrong. If OsuMessageRate fails on the same nodes too, look there first."
    )

    @property
    def fewer(self):
        """The numbers of pairs that are measured besides one pair for each core."""
        return sorted({1, max(self.num_tasks_per_node // 2, 1)} - {self.num_tasks_per_node})

    def outputs_of(self, pairs):
        return [f"pairs-{pairs}-{number + 1}.txt" for number in range(self.repeats)]

    def command_lines(self):
        fewer = [
            " ".join([self.launch_on(2 * pairs, pairs), self.executable, *self.executable_opts, ">", output])
            for pairs in self.fewer
            for output in self.outputs_of(pairs)
        ]
        return [*fewer, *super().command_lines()]

    def check_tables(self, tables):
        found = {pairs: self.tables_of(pairs) for pairs in self.fewer}
        found[self.num_tasks_per_node] = tables
        self.require_pairs(self.num_tasks_per_node, self.output_text())
        #: Pairs -> message size -> MB/s, and messages per second, of one pair.
        self.bandwidths, self.rates = (
            {pairs: per_pair(osu.curve(of_pairs, "max", column=column), pairs) for pairs, of_pairs in found.items()}
            for column in (0, 1)
        )
        for pairs, bandwidths in self.bandwidths.items():
            self.record_curve(f"bandwidth of a pair, {pairs} at once", SIZE, ("Bandwidth", "MB/s"), bandwidths, {})
        largest = {pairs: bandwidths[MAX_MESSAGE_BYTES] for pairs, bandwidths in self.bandwidths.items()}
        rates = {pairs: of_pair[RATE_BYTES] for pairs, of_pair in self.rates.items()}
        self.record_curve("bandwidth of a pair over pairs", PAIRS, ("Bandwidth", "MB/s"), largest, {})
        self.record_curve("message rate of a pair over pairs", PAIRS, ("Message rate", "1/s"), rates, {})

    def tables_of(self, pairs):
        text = "".join(map(self.output_text, self.outputs_of(pairs)))
        tables = self.parsed(osu.parse, text, expect_sizes=self.expected_sizes(), expect_tables=self.repeats)
        if self.validation_demanded() and not all(table.validated for table in tables):
            raise SanityError(f"{pairs} pairs: the output has no column Validation, although OSU was called with -c")
        self.require_pairs(pairs, text)
        return tables

    def require_pairs(self, pairs, text):
        said = [line for line in text.splitlines() if line.startswith(PAIRS_SAID)]
        if len(said) != self.repeats or not all(line.startswith(f"{PAIRS_SAID}{pairs} ]") for line in said):
            raise SanityError(f"expected {self.repeats} runs of {pairs} pairs, found {said}")

    def gain(self, figures, size):
        every = self.num_tasks_per_node
        return figures[max(every // 2, 1)][size] / figures[every][size]

    metrics = {
        # Bandwidth of a pair with messages of 1 MiB: half of the cores divided by all cores.
        "half_bandwidth_gain": ("", lambda self: self.gain(self.bandwidths, MAX_MESSAGE_BYTES)),
        "half_message_rate_gain": ("", lambda self: self.gain(self.rates, RATE_BYTES)),
        "one_pair_bandwidth": ("MB/s", lambda self: self.bandwidths[1][MAX_MESSAGE_BYTES]),
    }


def per_pair(curve, pairs):
    return {size: value / pairs for size, value in curve.items()}


class OsuStartup(Scaled, KappaCheck):
    """OSU start-up: measure the time of MPI_Init over the scales, and require that every rank takes part."""

    family = "network/osu-startup"
    needs_partition = ["collectives"]
    needs_environ = ["osu-suite"]
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    repeats = 3
    #: A rank that reads its node's counters would start later and change the measured time.
    watch_load = False
    hint = "check the launcher's PMI, name resolution, and the file system with MPI's libraries"

    def read_processes(self):
        """Return the tables of all repeats.

        :raises SanityError: a repeat did not count every rank of the job.
        """
        tables = self.parsed(osu.parse, self.output_text(), expect_tables=self.repeats)
        for table in tables:
            processes = table.rows[0][[column.name for column in table.columns].index("Processes")]
            if processes != self.num_tasks:
                raise SanityError(f"expected {self.num_tasks} ranks in MPI_COMM_WORLD, found {processes:g}; check PMI")
        return tables


@rfm.simple_test
class OsuInit(OsuStartup):
    descr = "Measures the time of MPI_Init with OSU; finds slow PMI, name resolution or file systems"
    estimated_s = 30
    failure_means = (
        "MPI_Init takes longer than the bound allows, or not all ranks found each other. All nodes load the same "
        "libraries then: look at the shared file system and at name resolution before the network."
    )
    executable = "osu_init"

    @rfmb.sanity_function
    def read_times(self):
        self.slowest_ms = min(table.rows[0][2] for table in self.read_processes())
        return True

    metrics = {"init_slowest_rank": ("ms", lambda self: self.slowest_ms)}


@rfm.simple_test
class OsuHello(OsuStartup):
    descr = "Starts OSU's hello on all ranks; finds ranks that do not take part"
    estimated_s = 10
    failure_means = (
        "Not every rank of the job found the others, so that no MPI program can run as asked. Check that the MPI "
        "library and the launcher fit each other."
    )
    executable = "osu_hello"

    informational = ["processes"]

    @rfmb.sanity_function
    def every_rank(self):
        return bool(self.read_processes())

    metrics = {"processes": ("count", lambda self: self.num_tasks)}
