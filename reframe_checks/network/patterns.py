"""Communication patterns: ``kappa-measure pattern``, a series over ranks in one job, its curves.

The same program runs on real machines and on simulated fabrics. The largest number of ranks is gated on real ones. On
a fabric figures are predictions: a series over ranks shows where traffic gets in its own way.
"""

import itertools
import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.fabrics.simgrid_platform import aggregators, tree_text
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.vocabulary.features import LARGE_PUTS, PATTERNS, SHARP
from kappa.core.vocabulary.scales import ONE_NODE
from reframe_checks.application.emt import EmtProgram
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute.hpl import doublings
from reframe_checks.parsers import patterns

RANKS = ("Ranks", "")
CLOCK_FILE = "wall_clock.txt"
# On a fabric: ranks of the series and on each node, unless the site says otherwise; as NSIM-ACE has them.
FABRIC_RANKS, FABRIC_PER_NODE = 32, 2

# Iterations on a fabric, where one is as another: as many as show that.
ALIKE = 2


class PatternCheck(Scaled, KappaCheck):
    """``kappa-measure pattern SUBCOMMAND`` on each number of ranks; leaves say the subcommand and read its results."""

    needs_partition = [PATTERNS]
    needs_environ = ["sweep-build"]
    on_fabrics = True
    #: The parser of a result, of ``reframe_checks.parsers.patterns``.
    parse = None
    build = rfmb.fixture(MeasureProgram, scope="environment")
    scale = rfmb.parameter(["each_node", "whole_partition"], loggable=True)

    iterations = SiteVariable(20, "whole number", "", "number of timed iterations")
    ranks = SiteVariable(
        [],
        "whole numbers",
        "",
        "numbers of ranks in the series, instead of all ranks of the job; on a fabric 2, 4, … 32",
    )

    @rfmb.run_after("setup")
    def lay_out_series(self):
        most, per_node = self.num_tasks, self.num_tasks_per_node
        if self.simulated:
            per_node = min(per_node, FABRIC_PER_NODE)
            most = min(self.num_nodes_used * per_node, FABRIC_RANKS)
        self.series = sorted(self.ranks) or (doublings(most)[1:] if self.simulated else [most])
        if not self.series or self.series[0] < 2:
            raise ReframeError(f"{type(self).__name__}: a pattern needs two ranks or more, found {self.series}")
        self.num_tasks, self.num_tasks_per_node = self.series[-1], min(per_node, self.series[-1])

    def command_lines(self):
        """A step for each number of ranks, and the time before the first and after each."""
        tick = f'echo "$EPOCHREALTIME" >> {CLOCK_FILE}'
        lines = [tick]
        for ranks in self.series:
            step = [self.launch_on(ranks), *self.launcher_options(ranks), self.words_of(ranks)]
            lines += [*self.prepared(ranks), " ".join(step), tick]
        return lines

    def prepared(self, ranks):
        """Commands before the step on so many ranks."""
        return []

    def launcher_options(self, ranks):
        return []

    def words_of(self, ranks):
        words = [
            self.program, "pattern", f"--ranks-per-node={self.num_tasks_per_node}",
            f"--iterations={ALIKE if self.simulated else self.iterations}",
            f"--output={self.result_file(ranks)}", *self.pattern_words(ranks),
        ]  # fmt: skip
        return shlex.join(words)

    def pattern_words(self, ranks):
        """The subcommand and its options."""
        raise NotImplementedError

    @staticmethod
    def result_file(ranks):
        return f"result-{ranks}.json"

    @rfmb.sanity_function
    def read_results(self):
        self.results = {ranks: self.result(ranks) for ranks in self.series}
        self.largest = self.results[self.series[-1]]
        if self.simulated:
            self.record_curve("wall time", RANKS, ("Wall time of the simulation", "s"), self.wall_s(), {})
        self.record_series()
        return True

    def result(self, ranks):
        name = self.result_file(ranks)
        found = self.parsed(type(self).parse, self.output_text(name), ranks=ranks)
        if found.simulated != self.simulated:
            raise SanityError(f"{name}: simulated is {found.simulated}, was the program built for another MPI?")
        for option, asked in self.asked().items():
            if getattr(found, option) != asked:
                raise SanityError(f"{name}: {option} is {getattr(found, option)}, asked for {asked}")
        return found

    def asked(self):
        """Return the options that a result has to repeat, by the parser's names."""
        raise NotImplementedError

    def record_series(self):
        """Keep the curves of the results."""
        raise NotImplementedError

    def over_ranks(self, metric, title, unit, figure):
        """Keep ``figure`` of each result over ranks; the largest number of ranks is the metric's."""
        points = {ranks: figure(result) for ranks, result in self.results.items()}
        self.record_curve(metric, RANKS, (title, unit), points, {self.series[-1]: metric})

    def wall_s(self):
        """Return the seconds of each step where the simulator ran."""
        try:
            ticks = [float(line) for line in self.output_text(CLOCK_FILE).split()]
            took = [after - before for before, after in itertools.pairwise(ticks)]
            return dict(zip(self.series, took, strict=True))
        except ValueError:
            raise SanityError(f"{CLOCK_FILE}: expected {len(self.series) + 1} times, a line each") from None


class LargePuts(rfm.RegressionTestPlugin):
    """Puts of megabytes: each MPI has them within a node, not each between nodes. It goes before the base class."""

    #: Of leaves, which name it themselves.
    SCALES = ("one_node", "each_node", "whole_partition")
    #: Where not, ``puts`` tells of a case.
    each_case_puts = True

    @classmethod
    def alternative_features(cls):
        choices = [[LARGE_PUTS]] if cls.each_case_puts else [[], [LARGE_PUTS]]
        return [
            [*features, *more]
            for features in super().alternative_features()
            for more in ([[]] if features == [ONE_NODE] else choices)
        ]

    def chosen_features(self):
        return [*super().chosen_features(), *([LARGE_PUTS] if self.puts() and self.scale != "one_node" else [])]

    def puts(self):
        return True


@rfm.simple_test
class PutBarrier(PatternCheck):
    """Barriers made of one-sided puts of one word and polling: by the ring, and by recursive doubling."""

    descr = "Time of a barrier by puts"
    parse = staticmethod(patterns.PutBarrierResult.read)
    family = "network/put-barrier"
    measured_s = 4
    algorithm = rfmb.parameter(["ring", "recursive-doubling"], loggable=True)
    hint = "compare with OSU's put latency: a barrier takes as many of them, one after the other, as it has steps"

    iterations = 100

    def pattern_words(self, ranks):
        return ["barrier", f"--algorithm={self.algorithm}"]

    def asked(self):
        return {"algorithm": self.algorithm}

    def record_series(self):
        self.over_ranks("latency", "Time of a barrier", "us", lambda result: result.shortest_us)

    metrics = {"latency": ("us", lambda self: self.largest.shortest_us)}


@rfm.simple_test
class RandomRing(LargePuts, PatternCheck):
    """Random ring of HPC Challenge, with messages, puts or gets: the bandwidth that is left when all ranks talk at
    once.
    """

    descr = "Bandwidth of each rank in a ring of random order"
    parse = staticmethod(patterns.RandomRingResult.read)
    family = "network/random-ring"
    measured_s = 4
    each_case_puts = False
    scale = rfmb.parameter(LargePuts.SCALES, loggable=True)
    way = rfmb.parameter(["isend", "put", "get"], loggable=True)
    hint = "compare with the bandwidth of one pair: what is lost is contention, by routing or a tapered network"

    iterations = 5
    message_bytes = SiteVariable(2_000_000, "whole number", "B", "message to each of both neighbours")

    def puts(self):
        return self.way == "put"

    def pattern_words(self, ranks):
        return ["random-ring", f"--way={self.way}", f"--bytes={self.message_bytes}"]

    def asked(self):
        return {"way": self.way, "message_bytes": self.message_bytes}

    def record_series(self):
        self.over_ranks("bandwidth", "Bandwidth of a rank", "MB/s", lambda result: result.bandwidth_mb_s)

    metrics = {"bandwidth": ("MB/s", lambda self: self.largest.bandwidth_mb_s)}


@rfm.simple_test
class ParticleExchange(LargePuts, PatternCheck):
    """Exchange of particles after a domain decomposition: irregular puts, with the barrier before or after packing."""

    descr = "Time to pack and put particles after a domain decomposition"
    parse = staticmethod(patterns.ParticleExchangeResult.read)
    family = "network/particle-exchange"
    measured_s = 4
    scale = rfmb.parameter(LargePuts.SCALES, loggable=True)
    barrier = rfmb.parameter(["before", "after"], loggable=True)
    within_nodes = rfmb.parameter(["yes", "no"], loggable=True)
    informational = ["pack_time"]
    hint = "compare the barrier before with the barrier after packing, and without the traffic inside nodes"

    iterations = 5
    drawn = SiteVariable(1 << 18, "whole number", "", "number of drawn particles; each stands for 1512 B")
    #: Of a node of NSIM-ACE's machine, estimated; a fabric has no memory that a program could copy in.
    pack_gb_s = SiteVariable(1, "number", "GB/s", "rate at which a rank on a fabric packs")

    @rfmb.run_after("init")
    def leave_out_what_puts_nothing(self):
        if self.scale == "one_node" and self.within_nodes == "no":
            self.valid_systems = []

    def pattern_words(self, ranks):
        packing = [f"--pack-gb-s={self.pack_gb_s:g}"] if self.simulated else []
        within = f"--within-nodes={self.within_nodes}"
        return ["particles", f"--barrier={self.barrier}", within, f"--drawn={self.drawn}", *packing]

    def asked(self):
        return {"barrier": self.barrier, "within_nodes": self.within_nodes == "yes"}

    def record_series(self):
        self.over_ranks("put_time", "Time to put", "us", lambda result: result.put_us[result.best])
        self.over_ranks("pack_time", "Time to pack", "us", lambda result: result.pack_us[result.best])

    metrics = {
        "put_time": ("us", lambda self: self.largest.put_us[self.largest.best]),
        "pack_time": ("us", lambda self: self.largest.pack_us[self.largest.best]),
    }


HOST, IN_NETWORK = "host", "in-network"
LARGEST_BYTES = 1 << 20


@rfm.simple_test
class PatternAllreduce(PatternCheck):
    """Sums over all ranks, by the hosts and in the network.

    On a real machine both are MPI_Allreduce: in the network with the library's offload, which the environment's
    variables switch on where the partition has the feature ``sharp``. On a fabric switches that reduce are ranks of
    their own.
    """

    descr = "Time of sums over all ranks, by the hosts or in the network"
    parse = staticmethod(patterns.AllreduceResult.read)
    family = "network/pattern-allreduce"
    measured_s = 4
    where = rfmb.parameter([HOST, IN_NETWORK], loggable=True)
    hint = "compare with OSU's allreduce; in the network, is the offload on, and does the fabric's manager run?"

    iterations = 10

    @classmethod
    def alternative_features(cls):
        return [[*features, *more] for features in super().alternative_features() for more in ([], [SHARP])]

    def chosen_features(self):
        return [*super().chosen_features(), *([SHARP] if self.where == IN_NETWORK else [])]

    @rfmb.run_after("setup")
    def one_rank_a_node(self):
        """Switches reduce over nodes; what a node's ranks add up among themselves is another pattern, so that hosts are
        compared with one rank each, too."""
        if self.simulated:
            self.series = sorted({min(ranks, self.partition_nodes) for ranks in self.series})
            self.num_tasks, self.num_tasks_per_node = self.series[-1], 1

    def prepared(self, ranks):
        if not self.of_switches:
            return []
        stage = pathlib.Path(self.stagedir)
        try:
            tree = aggregators(self.fabric, ranks, self.fabric_variant)
            hosts = [*self.hosts(ranks, 1), *(one.host for one in tree)]
            write_atomically(stage / f"tree-{ranks}.txt", tree_text(tree, ranks))
            write_atomically(stage / f"hosts-{ranks}.txt", "".join(f"{host}\n" for host in hosts))
        except InputError as err:
            raise ReframeError(str(err)) from None
        self.keep_files = [*self.keep_files, f"tree-{ranks}.txt", f"hosts-{ranks}.txt"]
        return []

    @property
    def of_switches(self):
        return self.simulated and self.where == IN_NETWORK

    def launcher_options(self, ranks):
        """The last of several counts and host files is smpirun's."""
        if not self.of_switches:
            return []
        processes = ranks + len(aggregators(self.fabric, ranks, self.fabric_variant))
        return ["-np", str(processes), "-hostfile", f"hosts-{ranks}.txt"]

    def pattern_words(self, ranks):
        words = ["allreduce", f"--where={self.where if self.simulated else HOST}", f"--largest-bytes={LARGEST_BYTES}"]
        if self.of_switches:
            level_us = self.fabric.in_network.level_latency_us.value
            words += [f"--tree=tree-{ranks}.txt", f"--level-latency-us={level_us:g}"]
        return words

    def asked(self):
        return {"where": self.where if self.simulated else HOST}

    def record_series(self):
        self.over_ranks("latency_8B", "Time of a sum of 8 B", "us", lambda result: result.median_of_sizes_us[8])
        points = self.largest.median_of_sizes_us
        gated = {8: "latency_8B", LARGEST_BYTES: "latency_1MiB"}
        self.record_curve("latency", ("Message size", "B"), ("Time of a sum", "us"), points, gated)

    metrics = {
        "latency_8B": ("us", lambda self: self.largest.median_of_sizes_us[8]),
        "latency_1MiB": ("us", lambda self: self.largest.median_of_sizes_us[LARGEST_BYTES]),
    }


@rfm.simple_test
class NeighbourExchange(PatternCheck):
    """The EMT application's exchange by itself: each rank with those that it shares lines with, a message for each or
    for each line.
    """

    descr = "Time of an exchange on the EMT application's task graph"
    parse = staticmethod(patterns.NeighbourExchangeResult.read)
    family = "network/neighbour-exchange"
    measured_s = 4
    message = rfmb.parameter(["pair", "line"], loggable=True)
    #: Installed, or built beside the pattern: it needs Eigen more.
    emt = rfmb.fixture(EmtProgram, scope="environment")
    hint = "compare with kappa' of the EMT application, of which this is the communication alone"

    iterations = 200

    @rfmb.run_after("setup")
    def generate_network(self):
        self.prerun_cmds = [*self.prerun_cmds, f"{self.emt_command()} generate hq --network-only -o network.json"]

    def emt_command(self):
        # What is built for simulations runs in no other way.
        launch = [self.launch_on(1)] if self.simulated else []
        return " ".join([*launch, shlex.quote(self.emt.command)])

    def prepared(self, ranks):
        return [f"{self.emt_command()} graph network.json --ranks={ranks} > graph-{ranks}.txt"]

    def pattern_words(self, ranks):
        return ["neighbour", f"--message={self.message}", f"--graph=graph-{ranks}.txt"]

    def asked(self):
        return {"message": self.message}

    def record_series(self):
        self.over_ranks("time", "Time of an exchange", "us", lambda result: result.median_us)

    metrics = {"time": ("us", lambda self: self.largest.median_us)}
