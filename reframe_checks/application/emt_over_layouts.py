"""What the series of the EMT application over layouts share: a step on a layout, and its result."""

import shlex

import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.emt_base import EmtCheck
from reframe_checks.application.layout_series import LayoutSeries
from reframe_checks.parsers import emt

RANKS, KAPPA = ("Ranks", ""), ("Parallelisation cost κ′", "us")


class EmtOverLayouts(LayoutSeries, EmtCheck):
    time_limit = "1h"
    modes = ("acceptance",)
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    #: `message` for MPI libraries to be compared: within a node `auto` does without them.
    transport = rfmb.variable(str, value="auto")
    tunable = {
        **EmtCheck.tunable,
        **LayoutSeries.series_tunable,
        "transport": Tunable("auto or message", "", "`message` for ranks of a node to exchange by MPI, too"),
    }
    scaling = rfmb.variable(list, value=[], loggable=True)

    def step(self, layout, network, result, *, steps, options="", injected=()):
        """Command line of a run of ``network`` on a layout; ``options`` are the launcher's besides its own."""
        words = [
            self.launch_on(layout.ranks, layout.per_node), options, shlex.quote(self.program), "run", network,
            f"--steps={steps}", f"--warm-up={steps // 10}", f"--exchange={self.exchange}",
            f"--transport={shlex.quote(self.transport)}", *injected, f"--result={result}",
        ]  # fmt: skip
        return " ".join(filter(None, words))

    def result(self, name, layout, steps):
        result = self.parsed(emt.parse, self.output_text(name))
        found = (result.ranks, result.exchange, result.steps, result.simulated)
        if found != (layout.ranks, self.exchange, steps, self.simulated):
            raise SanityError(
                f"{name}: {result.steps} steps on {result.ranks} ranks in mode {result.exchange}, "
                f"asked for {steps} on {layout.ranks} in mode {self.exchange}"
            )
        return result


def middle(results):
    """The one with the median step time; of an even number, the slower of two."""
    return sorted(results, key=lambda result: result.step_block_p50_us)[len(results) // 2]
