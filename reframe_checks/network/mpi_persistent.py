"""Persistent operations against ordinary non-blocking ones."""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.network.mpi_behaviour_base import RESULT_FILE, MpiBehaviourCheck
from reframe_checks.parsers import mpi_behaviour

SMALL_BYTES, LARGE_BYTES = 8, 1 << 16
SIZES = (SMALL_BYTES, LARGE_BYTES)
SIZE = ("Message size", "B")


@rfm.simple_test
class MpiPersistent(MpiBehaviourCheck):
    descr = "Time of messages by persistent operations (MPI_Startall) and by ordinary non-blocking ones"
    parse = staticmethod(mpi_behaviour.persistent)
    family = "network/mpi-persistent"
    measured_s = 3
    hint = (
        "persistent operations set a message up once and should take no longer: a ratio above 1 says that the library "
        "has a fast path for MPI_Isend that MPI_Start does not take"
    )

    def steps(self):
        return {RESULT_FILE: ["persistent", f"--sizes={','.join(map(str, SIZES))}"]}

    def asked(self, name):
        return {"expect_sizes": SIZES}

    def record_series(self):
        series = self.results[RESULT_FILE].series
        self.ordinary = {one.message_bytes: min(one.nonblocking_us) for one in series}
        self.persistent = {one.message_bytes: min(one.persistent_us) for one in series}
        for name, points in (("nonblocking", self.ordinary), ("persistent", self.persistent)):
            gated = {SMALL_BYTES: f"{name}_8B", LARGE_BYTES: f"{name}_64KiB"}
            self.record_curve(name, SIZE, (f"Time of a message, {name}", "us"), points, gated)

    @rfmb.performance_function("us")
    def nonblocking_8B(self):  # noqa: N802 - as OSU's
        return self.ordinary[SMALL_BYTES]

    @rfmb.performance_function("us")
    def nonblocking_64KiB(self):  # noqa: N802
        return self.ordinary[LARGE_BYTES]

    @rfmb.performance_function("us")
    def persistent_8B(self):  # noqa: N802
        return self.persistent[SMALL_BYTES]

    @rfmb.performance_function("us")
    def persistent_64KiB(self):  # noqa: N802
        return self.persistent[LARGE_BYTES]

    @rfmb.performance_function("")
    def persistent_over_nonblocking(self):
        """Of small messages, where setting them up counts."""
        return self.persistent[SMALL_BYTES] / self.ordinary[SMALL_BYTES]
