"""The EMT application's exchange by itself: each rank with those that it shares lines with, a message for each or for
each line."""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.application.emt_base import EmtProgram
from reframe_checks.network.pattern_base import PatternCheck
from reframe_checks.parsers import patterns


@rfm.simple_test
class NeighbourExchange(PatternCheck):
    descr = "Time of an exchange on the EMT application's task graph"
    parse = staticmethod(patterns.neighbour_exchange)
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

    @rfmb.performance_function("us")
    def time(self):
        return self.largest.median_us
