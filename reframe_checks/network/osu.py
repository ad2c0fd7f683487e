"""OSU Micro-Benchmarks on host memory, without collectives: between two ranks, between many, one-sided, start-up.

OSU prints the mean over its iterations. One slow iteration on a busy machine moves it by orders of magnitude, so every
benchmark runs ``repeats`` times in the same job, and the best repeat of each message size counts (the minimum latency,
the maximum bandwidth).
"""

from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Placed, Scaled
from reframe_checks.parsers import osu

MAX_MESSAGE_BYTES = 1 << 20
HEADLINE_BYTES = {8: "8B", 1 << 20: "1MiB"}
# Of an environment that has OSU's own programs in C; `osu` alone may be another implementation of them.
C_SUITE = {"osu-suite", "osu-cuda"}


@dataclass(frozen=True)
class OsuQuantity:
    """Measured quantity: its title and unit, the prefix of its metrics, and which repeat counts."""

    title: str
    unit: str
    metric: str
    pick: str


LATENCY = OsuQuantity("Latency", "us", "latency", "min")
BANDWIDTH = OsuQuantity("Bandwidth", "MB/s", "bandwidth", "max")


class OsuCheck(KappaCheck):
    """``<benchmark> -i ITERATIONS -x WARM-UP -m SMALLEST:1048576``, three times."""

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
    #: Whether the program can check the data that it moved (``-c``); the suite in C then has to.
    validates = True

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = self.benchmark
        # OSU stops reading options at the first operand, which the names of the buffers are.
        validation = ["-c"] if self.validation_demanded() else []
        options = ["-i", str(self.iterations), "-x", str(self.warmup), *validation, *self.size_options()]
        self.executable_opts = options

    def validation_demanded(self):
        return self.validates and self.of_c_suite()

    def of_c_suite(self):
        return bool(C_SUITE & set(self.current_environ.features))

    def smallest_message(self):
        """In bytes. OSU prints bandwidth with two decimals: on a loaded machine that of 1 B is 0.00 MB/s, no figure."""
        return min(HEADLINE_BYTES) if self.quantity is BANDWIDTH else 1

    def size_options(self):
        return ["-m", f"{self.smallest_message()}:{MAX_MESSAGE_BYTES}"]

    def expected_sizes(self):
        sizes = [1 << exponent for exponent in range(MAX_MESSAGE_BYTES.bit_length())]
        return [size for size in sizes if size >= self.smallest_message()]

    def gated_sizes(self):
        """Message size in bytes -> suffix of the metric that gates it."""
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
            raise SanityError("no Validation column, although the data should have been checked (-c)")
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
        """Check the tables further; for families that demand more of their output."""


class OsuPointToPoint(ManyNodes, Placed, OsuCheck):
    """OSU point-to-point between two ranks: latency, bandwidth and bidirectional bandwidth, by placement.

    The curve over message sizes is kept whole; 8 B and 1 MiB are gated. Latency is half the round-trip time.
    """

    family = "network/osu-pt2pt"

    def check_tables(self, tables):
        self.require_placement()


@rfm.simple_test
class OsuLatency(OsuPointToPoint):
    descr = "OSU latency between two ranks"
    measured_s = 4
    benchmark = "osu_latency"
    tags = {"smoke"}
    hint = "look at the route between the nodes, CPU frequency and binding, and the transport that MPI chose"


class OsuStream(OsuPointToPoint):
    """A window of messages in flight: few iterations move enough data."""

    quantity = BANDWIDTH
    iterations = 10
    warmup = 2
    window = SiteVariable(64, "whole number", "messages", "messages in flight")
    hint = "compare with the same check on other nodes; look at link width and speed, errors on the port, and the MTU"

    def size_options(self):
        return [*super().size_options(), "-W", str(self.window)]


@rfm.simple_test
class OsuBandwidth(OsuStream):
    descr = "OSU bandwidth between two ranks"
    measured_s = 3
    benchmark = "osu_bw"
    tags = {"smoke"}


@rfm.simple_test
class OsuBidirectionalBandwidth(OsuStream):
    descr = "OSU bidirectional bandwidth between two ranks"
    measured_s = 3
    benchmark = "osu_bibw"
    # Inside a node, and between switches, it follows from bandwidth.
    placement = rfmb.parameter(["same_node", "two_nodes"], loggable=True)


class OsuOneSided(ManyNodes, Placed, OsuCheck):
    """OSU one-sided communication between two ranks, by placement; windows and synchronisation as OSU chooses them.

    These programs cannot validate their data (they refuse ``-c``). They are for acceptance: the link is what
    changes from night to night, and point-to-point shows it; where inside a node the ranks sit is left to
    point-to-point too.
    """

    family = "network/osu-onesided"
    needs_environ = ["osu-suite"]
    modes = ("acceptance",)
    placement = rfmb.parameter(["same_node", "two_nodes"], loggable=True)
    validates = False
    hint = "if point-to-point passes on these nodes, look at the one-sided component that MPI chose"

    def check_tables(self, tables):
        self.require_placement()


@rfm.simple_test
class OsuOneSidedLatency(OsuOneSided):
    descr = "OSU one-sided latency"
    estimated_s = 20
    program = rfmb.parameter(
        ["osu_put_latency", "osu_get_latency", "osu_acc_latency", "osu_get_acc_latency"], loggable=True
    )


@rfm.simple_test
class OsuAtomicLatency(OsuOneSided):
    descr = "OSU latency of an atomic operation on one element"
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
    descr = "OSU one-sided bandwidth"
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
    hint = "if one pair alone is fast, look at the adapter's queues and at ranks that share cores"


@rfm.simple_test
class OsuMultiLatency(OsuMultiPair):
    descr = "OSU latency of all pairs at once"
    estimated_s = 30
    benchmark = "osu_multi_lat"


@rfm.simple_test
class OsuMessageRate(OsuMultiPair):
    descr = "OSU bandwidth and message rate of all pairs together"
    estimated_s = 30
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
    """Network bandwidth and message rate of a rank when others of its node rest: a pair of ranks for each core of two
    nodes, for half of them, and one pair.

    One job runs all three in turn. A gain is the figure of a pair over that with all cores: 1 where a core is its
    own limit, as many times as there are fewer pairs where the adapter is.
    """

    descr = "OSU bandwidth and message rate of a pair on full and on half-filled nodes"
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
    hint = "a pair that gains nothing has its own limit, as a slow core or PCIe path; compare with OsuMessageRate"

    @property
    def fewer(self):
        """Numbers of pairs besides one for each core."""
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
        #: Pairs -> message size -> MB/s, and messages a second, of one pair.
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
            raise SanityError(f"{pairs} pairs: no Validation column, although the data should have been checked (-c)")
        self.require_pairs(pairs, text)
        return tables

    def require_pairs(self, pairs, text):
        said = [line for line in text.splitlines() if line.startswith(PAIRS_SAID)]
        if len(said) != self.repeats or not all(line.startswith(f"{PAIRS_SAID}{pairs} ]") for line in said):
            raise SanityError(f"{self.repeats} runs of {pairs} pairs were asked for, found {said}")

    def gain(self, figures, size):
        every = self.num_tasks_per_node
        return figures[max(every // 2, 1)][size] / figures[every][size]

    metrics = {
        # Of a pair, messages of 1 MiB: half of the cores against all.
        "half_bandwidth_gain": ("", lambda self: self.gain(self.bandwidths, MAX_MESSAGE_BYTES)),
        "half_message_rate_gain": ("", lambda self: self.gain(self.rates, RATE_BYTES)),
        "one_pair_bandwidth": ("MB/s", lambda self: self.bandwidths[1][MAX_MESSAGE_BYTES]),
    }


def per_pair(curve, pairs):
    return {size: value / pairs for size, value in curve.items()}


class OsuStartup(Scaled, KappaCheck):
    """OSU start-up: the time of MPI_Init over the scales, and that every rank of a job takes part."""

    family = "network/osu-startup"
    needs_partition = ["collectives"]
    needs_environ = ["osu-suite"]
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    repeats = 3
    #: The rank that looks at its node would come later than the others, which is what is measured.
    watch_load = False
    hint = "look at the PMI of the launcher, name resolution, and the file system that holds MPI's libraries"

    def read_processes(self):
        """The tables of all repeats, each of which counted every rank of the job."""
        tables = self.parsed(osu.parse, self.output_text(), expect_tables=self.repeats)
        for table in tables:
            processes = table.rows[0][[column.name for column in table.columns].index("Processes")]
            if processes != self.num_tasks:
                raise SanityError(f"{self.num_tasks} ranks were started, {processes:g} found each other")
        return tables


@rfm.simple_test
class OsuInit(OsuStartup):
    descr = "OSU time of MPI_Init"
    estimated_s = 30
    executable = "osu_init"

    @rfmb.sanity_function
    def read_times(self):
        self.slowest_ms = min(table.rows[0][2] for table in self.read_processes())
        return True

    metrics = {"init_slowest_rank": ("ms", lambda self: self.slowest_ms)}


@rfm.simple_test
class OsuHello(OsuStartup):
    descr = "OSU hello: every rank takes part"
    estimated_s = 10
    executable = "osu_hello"

    informational = ["processes"]

    @rfmb.sanity_function
    def every_rank(self):
        return bool(self.read_processes())

    metrics = {"processes": ("count", lambda self: self.num_tasks)}
