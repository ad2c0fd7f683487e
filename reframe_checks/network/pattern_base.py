"""What the checks of communication patterns share: our own program, a series over ranks in one job, its curves.

The same program runs on real machines and on simulated fabrics. The largest number of ranks is gated on real ones; on
a fabric, whose figures are predictions, a series over ranks shows where traffic gets in its own way.
"""

import itertools
import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.ground.whole_files import write_atomically
from kappa.core.vocabulary.features import LARGE_PUTS, PATTERNS
from kappa.core.vocabulary.scales import ONE_NODE
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import CMakeProgram
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute.hpl_input import doublings

RANKS = ("Ranks", "")
SERIES_FILE = "series.sh"
CLOCK_FILE = "wall_clock.txt"
# On a fabric: ranks of the series and on each node, unless the site says otherwise; as NSIM-ACE has them.
FABRIC_RANKS, FABRIC_PER_NODE = 32, 2

# Iterations on a fabric, where one is as another: as many as show that.
ALIKE = 2


class PatternProgram(CMakeProgram):
    source = str(pathlib.Path(__file__).parent / "src/patterns")
    program = "pattern"


class PatternCheck(Scaled, KappaCheck):
    """``pattern SUBCOMMAND`` on each number of ranks; leaves say the subcommand and read its results."""

    needs_partition = [PATTERNS]
    needs_environ = ["sweep-build"]
    on_fabrics = True
    #: The parser of a result, of ``reframe_checks.parsers.patterns``.
    parse = None
    build = rfmb.fixture(PatternProgram, scope="environment")
    scale = rfmb.parameter(["each_node", "whole_partition"], loggable=True)

    iterations = rfmb.variable(int, value=20)
    #: Of the series; by default all ranks of the job.
    ranks = rfmb.variable(typ.List[int], value=[])
    tunable = {
        "iterations": Tunable("whole number", "", "timed"),
        "ranks": Tunable("whole numbers", "", "of the series, instead of all ranks of the job; on a fabric 2, 4, … 32"),
    }

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
        self.program = self.executable = self.build.command
        self.programs = [self.program]

    @rfmb.run_before("run")
    def take_series(self):
        """One step for each number of ranks, the largest as ReFrame's own."""
        tick = f'echo "$EPOCHREALTIME" >> {CLOCK_FILE}'
        *before, last = self.series
        steps = [
            line
            for ranks in before
            for line in (*self.prepared(ranks), f"{self.launched(ranks)} {self.words_of(ranks)}", tick)
        ]
        write_atomically(pathlib.Path(self.stagedir, SERIES_FILE), "".join(f"{step}\n" for step in [tick, *steps]))
        self.prerun_cmds = [*self.prerun_cmds, f". ./{SERIES_FILE}", *self.prepared(last)]
        self.postrun_cmds = [tick, *self.postrun_cmds]
        self.job.launcher.options = [*self.job.launcher.options, *self.launcher_options(last)]
        self.executable, self.executable_opts = shlex.quote(self.program), [self.words_of(last, program=False)]

    def prepared(self, ranks):
        """Commands before the step on so many ranks."""
        return []

    def launched(self, ranks):
        return " ".join([self.launch_on(ranks), *self.launcher_options(ranks)])

    def launcher_options(self, ranks):
        return []

    def words_of(self, ranks, *, program=True):
        words = [
            *([self.program] if program else []),
            f"--ranks-per-node={self.num_tasks_per_node}",
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
        found = self.parsed(type(self).parse, self.output_text(name), expect_ranks=ranks)
        if found.simulated != self.simulated:
            raise SanityError(f"{name}: simulated is {found.simulated}, was the program built for another MPI?")
        for option, asked in self.asked().items():
            if getattr(found, option) != asked:
                raise SanityError(f"{name}: {option} is {getattr(found, option)}, asked for {asked}")
        return found

    def asked(self):
        """What a result has to say of the options, by the parser's names."""
        raise NotImplementedError

    def record_series(self):
        """Keep the curves of the results."""
        raise NotImplementedError

    def over_ranks(self, metric, title, unit, figure):
        """Keep ``figure`` of each result over ranks; the largest number of ranks is the metric's."""
        points = {ranks: figure(result) for ranks, result in self.results.items()}
        self.record_curve(metric, RANKS, (title, unit), points, {self.series[-1]: metric})

    def wall_s(self):
        """What each step took where the simulator ran, s."""
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
