"""The share of a non-blocking operation that goes on while the rank computes, without a call of MPI in between."""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.network.mpi_behaviour_base import RESULT_FILE, MpiBehaviourCheck
from reframe_checks.parsers import mpi_behaviour

EAGER_BYTES, RENDEZVOUS_BYTES = 1 << 13, 1 << 20
SIZES = (EAGER_BYTES, RENDEZVOUS_BYTES)
SIZE = ("Message size", "B")


@rfm.simple_test
class MpiOverlap(MpiBehaviourCheck):
    descr = "Share of messages and of a sum over all ranks that is hidden behind computation"
    parse = staticmethod(mpi_behaviour.overlap)
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
        sizes = f"--sizes={','.join(map(str, SIZES))}"
        return {RESULT_FILE: ["overlap", f"--operation={self.operation}", sizes]}

    def asked(self, name):
        return {"expect_operation": self.operation, "expect_sizes": SIZES}

    def record_series(self):
        series = self.results[RESULT_FILE].series
        self.hidden = {one.message_bytes: one.hidden_percent for one in series}
        gated = {EAGER_BYTES: "hidden_8KiB", RENDEZVOUS_BYTES: "hidden_1MiB"}
        self.record_curve("hidden", SIZE, ("Hidden share of the communication", "%"), self.hidden, gated)
        for name in ("communication", "computation", "both"):
            points = {one.message_bytes: min(getattr(one, f"{name}_us")) for one in series}
            self.record_curve(name, SIZE, (f"Time of {name}", "us"), points, {})

    @rfmb.performance_function("%")
    def hidden_8KiB(self):  # noqa: N802 - as OSU's
        return self.hidden[EAGER_BYTES]

    @rfmb.performance_function("%")
    def hidden_1MiB(self):  # noqa: N802
        return self.hidden[RENDEZVOUS_BYTES]
