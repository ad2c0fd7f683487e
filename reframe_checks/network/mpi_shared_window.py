"""Collectives of a node through a shared window against MPI's own, and a table that a node holds once.

What FIPC did with segments of System V, applications do today with ``MPI_Win_allocate_shared``: collectives of the
ranks of a node as copies into and out of a window, and tables of splines (EZspline) once for a node and
not once for each rank.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.utility import sanity as sn

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.network.mpi_behaviour_base import RESULT_FILE, MpiBehaviourCheck
from reframe_checks.parsers import mpi_behaviour

SIZES = (8, 1 << 10, 1 << 16, 1 << 20)
GATED = {8: "8B", 1 << 20: "1MiB"}
SIZE, TIMES = ("Bytes of a rank", "B"), ("Time by MPI over time through the window", "")


@rfm.simple_test
class MpiSharedWindow(MpiBehaviourCheck):
    descr = "Collectives of a node by MPI and through a shared window; memory and speed of a table held once"
    parse = staticmethod(mpi_behaviour.shared_window)
    family = "network/mpi-shared-window"
    measured_s = 6
    scale = rfmb.parameter(["2_ranks", "one_node"], loggable=True)
    informational = ["copied_read"]
    hint = (
        "a ratio far above 1 says that MPI's collectives do not go through shared memory: see its transports of a node "
        "(btl, UCX_TLS, shm); a slow shared table lies in the memory of one NUMA domain"
    )

    table_mib = rfmb.variable(int, value=64)
    tunable = {
        **MpiBehaviourCheck.tunable,
        "table_mib": Tunable("whole number", "MiB", "of splines, held once or by each rank"),
    }

    @rfmb.run_after("init")
    def declare_ratios(self):
        self.perf_variables |= {
            f"{operation}_mpi_over_shared_{suffix}": sn.make_performance_function(self.ratio_of(operation, size), "")
            for operation in mpi_behaviour.COLLECTIVES
            for size, suffix in GATED.items()
        }

    @rfmb.deferrable
    def ratio_of(self, operation, size):
        return self.ratios[operation][size]

    def steps(self):
        sizes = ",".join(map(str, SIZES))
        return {RESULT_FILE: ["shared-window", f"--sizes={sizes}", f"--table-mib={self.table_mib}"]}

    def asked(self, name):
        return {"expect_sizes": SIZES, "expect_table_mib": self.table_mib}

    def record_series(self):
        self.found = self.results[RESULT_FILE]
        self.ratios = {}
        for operation in mpi_behaviour.COLLECTIVES:
            series = [one for one in self.found.series if one.operation == operation]
            self.ratios[operation] = {one.message_bytes: one.mpi_over_shared for one in series}
            gated = {size: f"{operation}_mpi_over_shared_{suffix}" for size, suffix in GATED.items()}
            self.record_curve(f"{operation}, mpi over shared", SIZE, TIMES, self.ratios[operation], gated)
            for way in ("mpi", "shared"):
                times = {one.message_bytes: min(getattr(one, f"{way}_us")) for one in series}
                self.record_curve(f"{operation}, {way}", SIZE, (f"Time of a {operation}, {way}", "us"), times, {})

    @rfmb.performance_function("MiB")
    def memory_saved(self):
        """By a table that the node holds once."""
        return self.found.copies.mib - self.found.shared.mib

    @rfmb.performance_function("MB/s")
    def shared_read(self):
        """Of the slowest rank, all ranks reading the one table at once."""
        return self.found.read_mb_s(self.found.shared)

    @rfmb.performance_function("MB/s")
    def copied_read(self):
        return self.found.read_mb_s(self.found.copies)

    @rfmb.performance_function("")
    def shared_over_copied_read(self):
        return self.found.read_mb_s(self.found.shared) / self.found.read_mb_s(self.found.copies)
