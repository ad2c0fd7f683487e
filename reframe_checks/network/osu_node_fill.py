"""Network bandwidth and message rate of a rank when others of its node rest: a pair of ranks for each core of two
nodes, for half of them, and one pair.

One job runs all three in turn. A gain is the figure of a pair over that with all cores: 1 where a core is its own
limit, as many times as there are fewer pairs where the adapter is.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.scaled import Scaled
from reframe_checks.network.osu_base import BANDWIDTH, MAX_MESSAGE_BYTES, OsuCheck
from reframe_checks.network.osu_multi_pair import RATE_BYTES
from reframe_checks.parsers import osu

PAIRS_SAID = "# [ pairs: "
PAIRS, SIZE = ("Pairs of ranks", ""), ("Message size", "B")


@rfm.simple_test
class OsuNodeFill(Scaled, OsuCheck):
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

    @staticmethod
    def output_of(pairs):
        return f"pairs-{pairs}.txt"

    @rfmb.run_before("run")
    def run_fewer_pairs(self):
        command = " ".join([self.executable, *self.executable_opts])
        self.prerun_cmds = [
            *self.prerun_cmds,
            *(
                f"for repeat in {{1..{self.repeats}}}; do {self.launch_on(2 * pairs, pairs)} {command}; done"
                f" > {self.output_of(pairs)}"
                for pairs in self.fewer
            ),
        ]

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
        name = self.output_of(pairs)
        text = self.output_text(name)
        tables = self.parsed(osu.parse, text, expect_sizes=self.expected_sizes(), expect_tables=self.repeats)
        if self.validation_demanded() and not all(table.validated for table in tables):
            raise SanityError(f"{name}: no Validation column, although the data should have been checked (-c)")
        self.require_pairs(pairs, text)
        return tables

    def require_pairs(self, pairs, text):
        said = [line for line in text.splitlines() if line.startswith(PAIRS_SAID)]
        if len(said) != self.repeats or not all(line.startswith(f"{PAIRS_SAID}{pairs} ]") for line in said):
            raise SanityError(f"{self.repeats} runs of {pairs} pairs were asked for, found {said}")

    def gain(self, figures, size):
        every = self.num_tasks_per_node
        return figures[max(every // 2, 1)][size] / figures[every][size]

    @rfmb.performance_function("")
    def half_bandwidth_gain(self):
        """Of a pair, messages of 1 MiB: half of the cores against all."""
        return self.gain(self.bandwidths, MAX_MESSAGE_BYTES)

    @rfmb.performance_function("")
    def half_message_rate_gain(self):
        return self.gain(self.rates, RATE_BYTES)

    @rfmb.performance_function("MB/s")
    def one_pair_bandwidth(self):
        return self.bandwidths[1][MAX_MESSAGE_BYTES]


def per_pair(curve, pairs):
    return {size: value / pairs for size, value in curve.items()}
