"""Communication patterns: ``kappa-measure pattern`` as a series over ranks in one job, with its curves.

The same program runs on real machines and on simulated fabrics. On real machines, the largest number of ranks has a
bound. On a fabric, the figures are predictions, and the series over ranks shows contention.
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
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute.hpl import doublings
from reframe_checks.parsers import patterns

RANKS = ("Ranks", "")
CLOCK_FILE = "wall_clock.txt"
# On a fabric: default ranks of the series and ranks on each node, as in NSIM-ACE.
FABRIC_RANKS, FABRIC_PER_NODE = 32, 2

# Iterations on a fabric: all are equal there, and two show that.
ALIKE = 2


class PatternCheck(Scaled, KappaCheck):
    """Run ``kappa-measure pattern SUBCOMMAND`` on each number of ranks; leaves define it and read its results."""

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
            raise ReframeError(f"{type(self).__name__}: a pattern needs 2 ranks or more, found {self.series}")
        self.num_tasks, self.num_tasks_per_node = self.series[-1], min(per_node, self.series[-1])

    def command_lines(self):
        """Return a step for each number of ranks, with a time stamp before the first step and after each."""
        tick = f'echo "$EPOCHREALTIME" >> {CLOCK_FILE}'
        lines = [tick]
        for ranks in self.series:
            step = [self.launch_on(ranks), *self.launcher_options(ranks), self.words_of(ranks)]
            lines += [*self.prepared(ranks), " ".join(step), tick]
        return lines

    def prepared(self, ranks):
        """Return the commands before the step on this number of ranks."""
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
        """Return the subcommand and its options."""
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
            raise SanityError(
                f"{name}: simulated is {found.simulated}, expected {self.simulated}: the program is built for another "
                "MPI"
            )
        for option, asked in self.asked().items():
            if getattr(found, option) != asked:
                raise SanityError(f"{name}: {option} is {getattr(found, option)}, expected {asked}")
        return found

    def asked(self):
        """Return the options that a result must repeat: name in the parser -> value."""
        raise NotImplementedError

    def record_series(self):
        """Record the curves of the results."""
        raise NotImplementedError

    def over_ranks(self, metric, title, unit, figure):
        """Record ``figure`` of each result over ranks; the largest number of ranks gives the metric."""
        points = {ranks: figure(result) for ranks, result in self.results.items()}
        self.record_curve(metric, RANKS, (title, unit), points, {self.series[-1]: metric})

    def wall_s(self):
        """Return the wall time of the simulator for each step: ranks -> s."""
        try:
            ticks = [float(line) for line in self.output_text(CLOCK_FILE).split()]
            took = [after - before for before, after in itertools.pairwise(ticks)]
            return dict(zip(self.series, took, strict=True))
        except ValueError:
            raise SanityError(f"{CLOCK_FILE}: expected {len(self.series) + 1} times, one on each line") from None


class LargePuts(rfm.RegressionTestPlugin):
    """A plug-in for puts of megabytes, which some MPI libraries support only within a node. Put it before the base."""

    #: The scales that leaves use.
    SCALES = ("one_node", "each_node", "whole_partition")
    #: False if only some cases put; ``puts`` then decides.
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
    """Measure barriers made of one-sided puts of one word and polling: by a ring, and by recursive doubling."""

    descr = "Measures the time of a barrier made of one-sided puts; finds slow puts"
    parse = staticmethod(patterns.PutBarrierResult.read)
    family = "network/put-barrier"
    measured_s = 4
    algorithm = rfmb.parameter(["ring", "recursive-doubling"], loggable=True)
    hint = "compare with OSU's put latency: each step of the barrier takes one put latency"
    failure_means = (
        "A barrier made of one-sided puts takes longer than the bound allows. If OsuOneSidedLatency is slow on the "
        "same nodes too, MPI's puts are; otherwise look for one slow node among the ranks."
    )

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
    """Measure HPC Challenge's random ring with messages, puts or gets: a rank's bandwidth while all communicate."""

    descr = "Measures the bandwidth of each rank in a ring of random order; finds contention by routing or tapering"
    parse = staticmethod(patterns.RandomRingResult.read)
    family = "network/random-ring"
    measured_s = 4
    each_case_puts = False
    scale = rfmb.parameter(LargePuts.SCALES, loggable=True)
    way = rfmb.parameter(["isend", "put", "get"], loggable=True)
    hint = "compare with the bandwidth of one pair: the difference is contention, by routing or a tapered network"
    failure_means = (
        "Ranks get too little bandwidth when all of them talk at once in random order. If OsuBandwidth passes on the "
        "same nodes, look at routing and at the uplinks that they share."
    )

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
    """Measure an exchange of particles after a domain decomposition: irregular puts, a barrier before or after packing.
    """

    descr = "Measures the time to pack and put particles after a domain decomposition; finds slow irregular puts"
    parse = staticmethod(patterns.ParticleExchangeResult.read)
    family = "network/particle-exchange"
    measured_s = 4
    scale = rfmb.parameter(LargePuts.SCALES, loggable=True)
    barrier = rfmb.parameter(["before", "after"], loggable=True)
    within_nodes = rfmb.parameter(["yes", "no"], loggable=True)
    informational = ["pack_time"]
    hint = "compare the cases: barrier before and after packing, with and without traffic inside nodes"
    failure_means = (
        "Irregular puts between all ranks take longer than the bound allows. If RandomRing is slow on the same nodes "
        "too, look at the network; otherwise look at MPI's one-sided component."
    )

    iterations = 5
    drawn = SiteVariable(1 << 18, "whole number", "", "number of drawn particles; each stands for 1512 B")
    #: Estimated for a node of NSIM-ACE's machine; a fabric does not simulate memory.
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
    """Measure sums over all ranks, by the hosts and in the network.

    On a real machine, both are MPI_Allreduce. If the partition has the feature ``sharp``, the environment's variables
    switch on the library's offload. On a fabric, each switch that reduces is an additional rank.
    """

    descr = (
        "Measures sums over all ranks by the hosts or in the network; finds slow collectives and an offload that is off"
    )
    parse = staticmethod(patterns.AllreduceResult.read)
    family = "network/pattern-allreduce"
    measured_s = 4
    where = rfmb.parameter([HOST, IN_NETWORK], loggable=True)
    hint = "compare with OsuAllreduce; for sums in the network, check that the offload is on and its manager runs"
    failure_means = (
        "Sums over all ranks take longer than the bound allows. If OsuAllreduce is slow on the same nodes too, look "
        "there first; if only sums in the network are slow, look at the fabric's reduction service."
    )

    iterations = 10

    @classmethod
    def alternative_features(cls):
        return [[*features, *more] for features in super().alternative_features() for more in ([], [SHARP])]

    def chosen_features(self):
        return [*super().chosen_features(), *([SHARP] if self.where == IN_NETWORK else [])]

    @rfmb.run_after("setup")
    def one_rank_a_node(self):
        """Use one rank per node on a fabric: its switches reduce over nodes only, and both kinds must be comparable."""
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
        """Return further options of the launcher: smpirun takes the last of several counts and host files."""
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
    """Measure the EMT application's exchange without its computation.

    Each rank exchanges with the ranks that it shares lines with: one message per rank, or one message per line.
    """

    descr = "Measures one exchange on the EMT application's task graph; finds slow messages between neighbours"
    parse = staticmethod(patterns.NeighbourExchangeResult.read)
    family = "network/neighbour-exchange"
    measured_s = 4
    message = rfmb.parameter(["pair", "line"], loggable=True)
    #: Installed, or built in addition to the pattern; it also needs Eigen.
    emt = rfmb.fixture(EmtProgram, scope="environment")
    hint = "compare with kappa' of the EMT application: this check measures only its communication"
    failure_means = (
        "The message exchange of the EMT application takes longer than the bound allows. If OsuLatency passes on the "
        "same nodes, look for one slow node, or for ranks that share cores."
    )

    iterations = 200

    @rfmb.run_after("setup")
    def generate_network(self):
        self.prerun_cmds = [*self.prerun_cmds, f"{self.emt_command()} generate hq --network-only -o network.json"]

    def emt_command(self):
        # A program that is built for simulations runs with the simulator's launcher only.
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
