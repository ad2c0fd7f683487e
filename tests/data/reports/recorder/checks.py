"""Small ReFrame tests, one for each outcome that a report can hold, with the fields that Kappa's base adds."""

import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.utility import sanity as sn

from reframe_checks.base.evidence import EvidenceRecorder
from reframe_checks.base.measure import Strictness

SOURCE = {"source": "vendor", "date": "2026-11-21", "samples": 3, "method": "data sheet"}


class Recorded(rfm.RunOnlyRegressionTest, EvidenceRecorder, Strictness):
    """The part of Kappa's base class that the reports read, without a site."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    check_class = rfmb.variable(str, value="", loggable=True)
    family = rfmb.variable(str, value="network/osu-pt2pt", loggable=True)
    reference_sources = rfmb.variable(dict, value={}, loggable=True)
    reference_problem = rfmb.variable(str, value="", loggable=True)
    provenance = rfmb.variable(dict, value={}, loggable=True)
    hint = "look at the cable"
    executable = "echo"
    executable_opts = ["bandwidth 100"]
    reference = {"*": {"bandwidth": (100, -0.1, None, "MB/s")}}

    @rfmb.run_after("init")
    def name_the_class(self):
        self.check_class = type(self).__name__

    @rfmb.run_before("performance")
    def name_the_sources(self):
        self.reference_sources = {name: SOURCE for name in self.perf_variables}
        self.provenance = {"hostname": "node1", "kernel": "Linux 6.1.0", "sha256": "0" * 64, "executable": "/bin/echo"}

    @rfmb.sanity_function
    def printed(self):
        self.record_curve(
            "bandwidth", ("Message size", "B"), ("Bandwidth", "MB/s"),
            {1: 0.5, 1024: 60.0, 1048576: 100.0}, gated={1048576: "bandwidth"},
        )  # fmt: skip
        self.record_per_node("bandwidth", "MB/s", {"node1": 100.0, "node2": 98.5})
        return sn.assert_found(r"^\w+ \S+$", self.stdout)

    @rfmb.performance_function("MB/s")
    def bandwidth(self):
        return sn.extractsingle(r"bandwidth (\S+)", self.stdout, 1, float)


@rfm.simple_test
class Passes(Recorded):
    placement = rfmb.parameter(["same_node", "two_nodes"], loggable=True)


@rfm.simple_test
class TooSlow(Recorded):
    executable_opts = ["bandwidth 40"]


@rfm.simple_test
class Insane(Recorded):
    executable_opts = ["'Segmentation fault (core dumped)'"]


@rfm.simple_test
class Crashes(Recorded):
    executable = "false"
    executable_opts = []

    @rfmb.sanity_function
    def printed(self):
        return sn.assert_eq(self.job.exitcode, 0, msg="the job ended with exit status {0}")


@rfm.simple_test
class NegativeReference(Recorded):
    """A level in dB: more negative is better, and the bounds turn round with the sign."""

    executable_opts = ["bandwidth -52"]
    reference = {"*": {"bandwidth": (-50, -0.1, 0.2, "MB/s")}}


@rfm.simple_test
class ZeroReference(Recorded):
    """Bounds of a zero reference are absolute."""

    executable_opts = ["bandwidth 4"]
    reference = {"*": {"bandwidth": (0, None, 5, "MB/s")}}


@rfm.simple_test
class NoReference(Recorded):
    reference = {}


@rfm.simple_test
class Informational(Recorded):
    reference = {}
    informational = ["bandwidth"]


@rfm.simple_test
class KnownSlow(Recorded):
    executable_opts = ["bandwidth 40"]
    reference = {"*": {"bandwidth": rfmb.xfail("cable ordered", (100, -0.1, None, "MB/s"))}}


@rfm.simple_test
class MendedMeanwhile(Recorded):
    reference = {"*": {"bandwidth": rfmb.xfail("cable ordered", (100, -0.1, None, "MB/s"))}}


@rfm.simple_test
class Skipped(Recorded):
    @rfmb.run_after("setup")
    def no_such_device(self):
        self.skip("the partition has no such device")


@rfm.simple_test
class Flaky(Recorded):
    """Slow the first time, good on the retry."""

    @rfmb.run_before("run")
    def slow_at_first(self):
        trace = pathlib.Path(self.prefix, "flaky.trace")
        self.executable_opts = ["bandwidth 100" if trace.exists() else "bandwidth 40"]
        trace.touch()


@rfm.simple_test
class Sleeps(Recorded):
    """Still running when another case stops the session."""

    executable = "sleep"
    executable_opts = ["30"]


class Ready(rfm.RunOnlyRegressionTest):
    """A fixture: not Kappa's, judged by its result."""

    executable = "true"

    @rfmb.sanity_function
    def ended(self):
        return True


@rfm.simple_test
class ForeignGood(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"
    ready = rfmb.fixture(Ready, scope="partition")
    # A variable of its own that has the name, but not the type, of one of Kappa's.
    hint = rfmb.variable(int, value=3, loggable=True)

    @rfmb.sanity_function
    def ended(self):
        return True


@rfm.simple_test
class ForeignBad(ForeignGood):
    @rfmb.sanity_function
    def ended(self):
        return sn.assert_true(False, msg="no licence")
