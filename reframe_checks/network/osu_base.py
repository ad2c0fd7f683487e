"""What every OSU benchmark shares: the command line, repeats in one job, and the curve over message sizes.

OSU Micro-Benchmarks print the mean over their iterations. One slow iteration on a busy machine moves it by
orders of magnitude, so every benchmark runs ``repeats`` times in the same job and the best repeat of each
message size counts (the minimum latency, the maximum bandwidth).
"""

from dataclasses import dataclass

import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError
from reframe.utility import sanity as sn

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.parsers import osu

MAX_MESSAGE_BYTES = 1 << 20
HEADLINE_BYTES = {8: "8B", 1 << 20: "1MiB"}
# Of an environment that has OSU's own programs in C; `osu` alone may be another implementation of them.
C_SUITE = {"osu-suite", "osu-cuda"}


@dataclass(frozen=True)
class Quantity:
    """What is measured: its title and unit, the prefix of its metrics, and which repeat counts."""

    title: str
    unit: str
    metric: str
    pick: str


LATENCY = Quantity("Latency", "us", "latency", "min")
BANDWIDTH = Quantity("Bandwidth", "MB/s", "bandwidth", "max")


class OsuCheck(KappaCheck):
    """``<benchmark> -i ITERATIONS -x WARM-UP -m SMALLEST:1048576``, three times."""

    needs_partition = ["network"]
    needs_environ = ["osu"]

    #: Name of the OSU program; a class for several programs has a parameter ``program`` instead.
    benchmark = rfmb.variable(str)
    #: Timed iterations per message size, and untimed ones before them.
    iterations = rfmb.variable(int, value=200)
    warmup = rfmb.variable(int, value=20)
    repeats = 3
    tunable = {
        "iterations": Tunable("whole number", "", "timed, of each message size"),
        "warmup": Tunable("whole number", "", "untimed ones before them"),
        "repeats": Tunable("whole number", "", "runs in the job, of which the best counts"),
    }

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
        self.perf_variables |= {
            self.metric_of(size): sn.make_performance_function(self.measured_at(size), self.quantity.unit)
            for size in self.gated_sizes()
        }

    @rfmb.deferrable
    def measured_at(self, size):
        return self.measured[size]

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
        """What else a family demands of its output."""
