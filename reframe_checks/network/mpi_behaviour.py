"""Behaviour of the MPI library: ``kappa-measure mpi``, one or several steps of it in a job, a result of each.

The library, its version and its settings decide it, rather than cables: a new release, another transport or a changed
default shows here first.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.features import MPI_BEHAVIOUR
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.scaled import Scaled
from reframe_checks.base.steps import with_variables
from reframe_checks.parsers import mpi_behaviour

RESULT_FILE = "result.json"


class MpiBehaviourCheck(Scaled, KappaCheck):
    """``kappa-measure mpi SUBCOMMAND``; leaves say the words of each step and read the results."""

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
        """File of the result -> the subcommand and its options."""
        raise NotImplementedError

    def variables_of(self, name):
        """Environment variables of this step alone."""
        return {}

    @rfmb.sanity_function
    def read_results(self):
        self.results = {name: self.result(name) for name in self.steps()}
        self.record_series()
        return True

    def result(self, name):
        return self.parsed(type(self).parse, self.output_text(name), ranks=self.num_tasks, **self.asked(name))

    def asked(self, name):
        """Return what the parser has to be told of the step, by its parameters."""
        return {}

    def record_series(self):
        """Keep the curves of the results, and complain of what MPI did not give."""
        raise NotImplementedError


PEERS = ("Peers", "")


@rfm.simple_test
class MpiAnySource(MpiBehaviourCheck):
    """``MPI_ANY_SOURCE`` against named sources: what it costs to let a message come from anybody, the more peers there
    are.

    Some libraries look through the queues of all their connections for it, as ParTec MPI did on HPC-FF, where the
    code GENE scaled the worse for it.
    """

    descr = "Latency of receives from MPI_ANY_SOURCE and from named sources"
    parse = staticmethod(mpi_behaviour.AnySourceResult.read)
    family = "network/mpi-any-source"
    measured_s = 3
    scale = rfmb.parameter(["2_ranks", "two_nodes", "whole_partition"], loggable=True)
    hint = (
        "a ratio above 1 that grows with the peers: the library polls every connection for MPI_ANY_SOURCE; let the "
        "application name its sources, or look for a transport with one receive queue for all (UCX: ud, dc)"
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


DEPTHS = (0, 1, 4, 16, 64, 256, 1024)
DEEPEST = DEPTHS[-1]
DEPTH = ("Others in the queue", "")


@rfm.simple_test
class MpiMatching(MpiBehaviourCheck):
    """Depth of matching: how long MPI looks for the message of a receive behind many others."""

    descr = "Round trip of a message behind unexpected messages, and behind receives posted for others"
    parse = staticmethod(mpi_behaviour.MatchingResult.read)
    family = "network/mpi-matching"
    measured_s = 3
    hint = (
        "a time that grows with the depth: MPI looks through lists; post receives before their messages come, keep few "
        "outstanding, or let the adapter match tags"
    )

    def steps(self):
        return {RESULT_FILE: ["matching", f"--depths={','.join(map(str, DEPTHS))}"]}

    def asked(self, name):
        return {"depths": DEPTHS}

    def record_series(self):
        series = self.results[RESULT_FILE].series
        self.unexpected = {one.depth: min(one.unexpected_us) for one in series}
        self.posted = {one.depth: min(one.posted_us) for one in series}
        for name, points in (("unexpected", self.unexpected), ("posted", self.posted)):
            self.record_curve(name, DEPTH, (f"Round trip, {name} queue", "us"), points, {DEEPEST: f"{name}_1024"})

    metrics = {
        # With empty queues.
        "round_trip": ("us", lambda self: min(self.unexpected[0], self.posted[0])),
        "unexpected_1024": ("us", lambda self: self.unexpected[DEEPEST]),
        "posted_1024": ("us", lambda self: self.posted[DEEPEST]),
        "unexpected_per_message": ("ns", lambda self: 1000 * (self.unexpected[DEEPEST] - self.unexpected[0]) / DEEPEST),
        "posted_per_receive": ("ns", lambda self: 1000 * (self.posted[DEEPEST] - self.posted[0]) / DEEPEST),
    }


EAGER_BYTES, RENDEZVOUS_BYTES = 1 << 13, 1 << 20
OVERLAP_SIZES = (EAGER_BYTES, RENDEZVOUS_BYTES)
SIZE = ("Message size", "B")


@rfm.simple_test
class MpiOverlap(MpiBehaviourCheck):
    """The share of a non-blocking operation that goes on while the rank computes, without a call of MPI in between."""

    descr = "Share of messages and of a sum over all ranks that is hidden behind computation"
    parse = staticmethod(mpi_behaviour.OverlapResult.read)
    family = "network/mpi-overlap"
    measured_s = 3
    operation = rfmb.parameter(["isend", "iallreduce"], loggable=True)
    hint = (
        "0 % of large messages: nothing moves outside of MPI's calls; adapters that match tags, a progress thread "
        "(MPICH: MPIR_CVAR_ASYNC_PROGRESS, Intel MPI: I_MPI_ASYNC_PROGRESS) or MPI_Test between parts of the "
        "computation let it"
    )

    iterations = 50

    def steps(self):
        sizes = f"--sizes={','.join(map(str, OVERLAP_SIZES))}"
        return {RESULT_FILE: ["overlap", f"--operation={self.operation}", sizes]}

    def asked(self, name):
        return {"operation": self.operation, "sizes": OVERLAP_SIZES}

    def record_series(self):
        series = self.results[RESULT_FILE].series
        self.hidden = {one.message_bytes: one.hidden_percent for one in series}
        gated = {EAGER_BYTES: "hidden_8KiB", RENDEZVOUS_BYTES: "hidden_1MiB"}
        self.record_curve("hidden", SIZE, ("Hidden share of the communication", "%"), self.hidden, gated)
        for name in ("communication", "computation", "both"):
            points = {one.message_bytes: min(getattr(one, f"{name}_us")) for one in series}
            self.record_curve(name, SIZE, (f"Time of {name}", "us"), points, {})

    metrics = {
        "hidden_8KiB": ("%", lambda self: self.hidden[EAGER_BYTES]),
        "hidden_1MiB": ("%", lambda self: self.hidden[RENDEZVOUS_BYTES]),
    }


SMALL_BYTES, LARGE_BYTES = 8, 1 << 16
PERSISTENT_SIZES = (SMALL_BYTES, LARGE_BYTES)
SIZE = ("Message size", "B")


@rfm.simple_test
class MpiPersistent(MpiBehaviourCheck):
    """Persistent operations against ordinary non-blocking ones."""

    descr = "Time of messages by persistent operations (MPI_Startall) and by ordinary non-blocking ones"
    parse = staticmethod(mpi_behaviour.PersistentResult.read)
    family = "network/mpi-persistent"
    measured_s = 3
    hint = (
        "persistent operations set a message up once and should take no longer: a ratio above 1 says that the library "
        "has a fast path for MPI_Isend that MPI_Start does not take"
    )

    def steps(self):
        return {RESULT_FILE: ["persistent", f"--sizes={','.join(map(str, PERSISTENT_SIZES))}"]}

    def asked(self, name):
        return {"sizes": PERSISTENT_SIZES}

    def record_series(self):
        series = self.results[RESULT_FILE].series
        self.ordinary = {one.message_bytes: min(one.nonblocking_us) for one in series}
        self.persistent = {one.message_bytes: min(one.persistent_us) for one in series}
        for name, points in (("nonblocking", self.ordinary), ("persistent", self.persistent)):
            gated = {SMALL_BYTES: f"{name}_8B", LARGE_BYTES: f"{name}_64KiB"}
            self.record_curve(name, SIZE, (f"Time of a message, {name}", "us"), points, gated)

    metrics = {
        "nonblocking_8B": ("us", lambda self: self.ordinary[SMALL_BYTES]),
        "nonblocking_64KiB": ("us", lambda self: self.ordinary[LARGE_BYTES]),
        "persistent_8B": ("us", lambda self: self.persistent[SMALL_BYTES]),
        "persistent_64KiB": ("us", lambda self: self.persistent[LARGE_BYTES]),
        # Of small messages, where setting them up counts.
        "persistent_over_nonblocking": ("", lambda self: self.persistent[SMALL_BYTES] / self.ordinary[SMALL_BYTES]),
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
    """Collectives of a node through a shared window against MPI's own, and a table that a node holds once.

    What FIPC did with segments of System V, applications do today with ``MPI_Win_allocate_shared``: collectives of
    the ranks of a node as copies into and out of a window, and tables of splines (EZspline) once for a node and not
    once for each rank.
    """

    descr = "Collectives of a node by MPI and through a shared window; memory and speed of a table held once"
    parse = staticmethod(mpi_behaviour.SharedWindowResult.read)
    family = "network/mpi-shared-window"
    measured_s = 6
    scale = rfmb.parameter(["2_ranks", "one_node"], loggable=True)
    informational = ["copied_read"]
    hint = (
        "a ratio far above 1 says that MPI's collectives do not go through shared memory: see its transports of a node "
        "(btl, UCX_TLS, shm); a slow shared table lies in the memory of one NUMA domain"
    )

    table_mib = SiteVariable(64, "whole number", "MiB", "table of splines, held once or by each rank")

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
        # By a table that the node holds once.
        "memory_saved": ("MiB", lambda self: self.found.copies.mib - self.found.shared.mib),
        # Of the slowest rank, all ranks reading the one table at once.
        "shared_read": ("MB/s", lambda self: self.found.read_mb_s(self.found.shared)),
        "copied_read": ("MB/s", lambda self: self.found.read_mb_s(self.found.copies)),
        "shared_over_copied_read": (
            "", lambda self: self.found.read_mb_s(self.found.shared) / self.found.read_mb_s(self.found.copies),
        ),
        **RATIOS,
    }
