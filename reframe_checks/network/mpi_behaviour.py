"""Behaviour of the MPI library: ``kappa-measure mpi``, in one or several steps of a job, each with a result.

The figures depend on the library, its version and its settings, and hardly on cables. A new release, another transport
or a changed default shows here first.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.features import MPI_BEHAVIOUR
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.measure import with_variables
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import mpi_behaviour

RESULT_FILE = "result.json"


class MpiBehaviourCheck(Scaled, KappaCheck):
    """Run ``kappa-measure mpi SUBCOMMAND``; leaves define the words of each step and read the results."""

    needs_partition = [MPI_BEHAVIOUR]
    needs_environ = ["sweep-build"]
    # A library changes with software, not overnight.
    modes = ("acceptance",)
    #: The parser of a result, of ``reframe_checks.parsers.mpi_behaviour``.
    parse = None
    build = rfmb.fixture(MeasureProgram, scope="environment")
    scale = rfmb.parameter(["2_ranks", "2_nodes"], loggable=True)

    iterations = SiteVariable(200, "whole number", "", "iterations of each repeat; their median counts")

    def command_lines(self):
        return [
            self.launched(with_variables(self.variables_of(name), [
                self.program, "mpi", f"--iterations={self.iterations}", f"--output={name}", *words,
            ]))
            for name, words in self.steps().items()
        ]  # fmt: skip

    def steps(self):
        """Return the steps: file of the result -> the subcommand and its options."""
        raise NotImplementedError

    def variables_of(self, name):
        """Return the environment variables of this step only."""
        return {}

    @rfmb.sanity_function
    def read_results(self):
        self.results = {name: self.result(name) for name in self.steps()}
        self.record_series()
        return True

    def result(self, name):
        return self.parsed(type(self).parse, self.output_text(name), ranks=self.num_tasks, **self.asked(name))

    def asked(self, name):
        """Return the arguments of the parser for this step: name of the parameter -> value."""
        return {}

    def record_series(self):
        """Record the curves of the results.

        :raises SanityError: MPI did not give what the check asks for.
        """
        raise NotImplementedError


PEERS = ("Peers", "")


@rfm.simple_test
class MpiAnySource(MpiBehaviourCheck):
    """Compare receives from ``MPI_ANY_SOURCE`` with receives from named sources, over the number of peers.

    For such a receive, some libraries search the queues of all connections. ParTec MPI did so on HPC-FF, where the code
    GENE scaled worse because of it.
    """

    descr = (
        "Compares receives from MPI_ANY_SOURCE with receives from named sources; finds MPI libraries that poll every "
        "connection"
    )
    parse = staticmethod(mpi_behaviour.AnySourceResult.read)
    family = "network/mpi-any-source"
    measured_s = 3
    scale = rfmb.parameter(["2_ranks", "two_nodes", "whole_partition"], loggable=True)
    hint = (
        "if the ratio grows with the peers, the library polls every connection for MPI_ANY_SOURCE; name the sources in "
        "the application, or use a transport with one receive queue for all peers (UCX: ud, dc)"
    )
    failure_means = (
        "A receive takes too long, or a receive from MPI_ANY_SOURCE costs too much more than one from a named source. "
        "This comes from the MPI library and its settings more often than from a node: see what changed since it "
        "passed."
    )

    def steps(self):
        return {RESULT_FILE: ["any-source"]}

    def record_series(self):
        series = self.results[RESULT_FILE].series
        self.most = series[-1]
        for kind, title in (("expected", "Latency"), ("unexpected", "Time of a receive")):
            for source in ("named", "any"):
                points = {one.peers: self.best(one, kind, source) for one in series}
                self.record_curve(
                    f"{kind}, {source} source", PEERS, (f"{title}, {source} source", "us"), points,
                    {self.most.peers: f"{kind}_{source}_latency"},
                )  # fmt: skip

    @staticmethod
    def best(one, kind, source):
        """Return the least time of the repeats."""
        return min(getattr(one, f"{kind}_{source}_us"))

    def ratio(self, kind):
        return self.best(self.most, kind, "any") / self.best(self.most, kind, "named")

    metrics = {
        "expected_named_latency": ("us", lambda self: self.best(self.most, "expected", "named")),
        "expected_any_latency": ("us", lambda self: self.best(self.most, "expected", "any")),
        "unexpected_named_latency": ("us", lambda self: self.best(self.most, "unexpected", "named")),
        "unexpected_any_latency": ("us", lambda self: self.best(self.most, "unexpected", "any")),
        "expected_any_over_named": ("", lambda self: self.ratio("expected")),
        "unexpected_any_over_named": ("", lambda self: self.ratio("unexpected")),
    }


WINDOW_SIZES = (8, 1 << 10, 1 << 16, 1 << 20)
GATED = {8: "8B", 1 << 20: "1MiB"}
RANK_BYTES, TIMES = ("Bytes of a rank", "B"), ("Time by MPI over time through the window", "")
RATIOS = {
    f"{operation}_mpi_over_shared_{suffix}": (
        "", lambda self, operation=operation, size=size: self.ratios[operation][size],
    )
    for operation in mpi_behaviour.COLLECTIVES
    for size, suffix in GATED.items()
}


@rfm.simple_test
class MpiSharedWindow(MpiBehaviourCheck):
    """Compare collectives of a node through a shared window with MPI's own, and measure a table that a node has once.

    FIPC used segments of System V; applications today use ``MPI_Win_allocate_shared``. Then collectives of a node's
    ranks are copies into and out of a window, and a node has a table of splines (EZspline) once, instead of once per
    rank.
    """

    descr = (
        "Compares collectives of a node by MPI and through a shared window, and reads a shared table; finds MPI "
        "without shared memory"
    )
    parse = staticmethod(mpi_behaviour.SharedWindowResult.read)
    family = "network/mpi-shared-window"
    measured_s = 6
    scale = rfmb.parameter(["2_ranks", "one_node"], loggable=True)
    informational = ["copied_read"]
    hint = (
        "a ratio far above 1 means that MPI's collectives do not use shared memory: check its transports within a node "
        "(btl, UCX_TLS, shm); if the shared table is slow, all of it is in one NUMA domain"
    )
    failure_means = (
        "MPI's collectives within a node, or reads from a table that the node holds once, are too slow, or the table "
        "saves too little memory. Look at MPI's shared-memory transport first, then at the node's memory with "
        "NodeSweep."
    )

    table_mib = SiteVariable(64, "whole number", "MiB", "size of the table of splines, once per node or once per rank")

    def steps(self):
        sizes = ",".join(map(str, WINDOW_SIZES))
        return {RESULT_FILE: ["shared-window", f"--sizes={sizes}", f"--table-mib={self.table_mib}"]}

    def asked(self, name):
        return {"sizes": WINDOW_SIZES, "table_mib": self.table_mib}

    def record_series(self):
        self.found = self.results[RESULT_FILE]
        self.ratios = {}
        for operation in mpi_behaviour.COLLECTIVES:
            series = [one for one in self.found.series if one.operation == operation]
            self.ratios[operation] = {one.message_bytes: one.mpi_over_shared for one in series}
            gated = {size: f"{operation}_mpi_over_shared_{suffix}" for size, suffix in GATED.items()}
            self.record_curve(f"{operation}, mpi over shared", RANK_BYTES, TIMES, self.ratios[operation], gated)
            for way in ("mpi", "shared"):
                times = {one.message_bytes: min(getattr(one, f"{way}_us")) for one in series}
                self.record_curve(f"{operation}, {way}", RANK_BYTES, (f"Time of a {operation}, {way}", "us"), times, {})

    metrics = {
        # Memory that a node saves with one shared table.
        "memory_saved": ("MiB", lambda self: self.found.copies.mib - self.found.shared.mib),
        # Rate of the slowest rank, while all ranks read the shared table.
        "shared_read": ("MB/s", lambda self: self.found.read_mb_s(self.found.shared)),
        "copied_read": ("MB/s", lambda self: self.found.read_mb_s(self.found.copies)),
        "shared_over_copied_read": (
            "", lambda self: self.found.read_mb_s(self.found.shared) / self.found.read_mb_s(self.found.copies),
        ),
        **RATIOS,
    }
