"""Memory of a rank over the number of its peers, and the extrapolation to a job on the whole partition.

A library with buffers for each connection needs more memory per rank if there are more ranks. ParTec MPI on HPC-FF took
0.55 MB per connection: 2.2 GB of 3 GB with 4096 ranks. With connections on demand, only actual peers take memory.
"""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.network.mpi_behaviour import MpiBehaviourCheck
from reframe_checks.parsers import mpi_behaviour

PEERS = ("Peers", "")
RUNS = 3


class MpiMemoryCheck(MpiBehaviourCheck):
    parse = staticmethod(mpi_behaviour.MemoryResult.read)
    family = "network/mpi-memory"
    scale = rfmb.parameter(["2_ranks", "two_nodes", "whole_partition"], loggable=True)
    not_tunable = ("iterations",)

    @property
    def full_ranks(self):
        """The number of ranks with one rank for each core of the partition."""
        return self.partition_nodes * self.cores_per_node

    @staticmethod
    def files_of(kind):
        return [f"{kind}-{run}.json" for run in range(RUNS)]

    def steps(self):
        return {name: ["memory"] for name in self.files_of("on_demand")}

    def over_runs(self, kind, figure):
        """Return the median of a figure over the runs."""
        return statistics.median(figure(self.results[name]) for name in self.files_of(kind))

    def start_kib(self, kind):
        return self.over_runs(kind, lambda found: found.start_kib)

    def per_peer_kib(self, kind):
        """Return the slope over peers, in KiB; about 0, with any sign, if connections take no memory."""
        return self.over_runs(kind, lambda found: found.per_peer_kib)

    def record_memory(self, kind):
        series = zip(*(self.results[name].series for name in self.files_of(kind)), strict=True)
        points = {readings[0].peers: statistics.median(one.median_kib for one in readings) for readings in series}
        title = kind.replace("_", " ")
        self.record_curve(title, PEERS, (f"Memory of a rank, {title}", "KiB"), points, {})


@rfm.simple_test
class MpiMemory(MpiMemoryCheck):
    descr = (
        "Measures the memory that MPI takes per peer of a rank; finds MPI libraries too large for the whole partition"
    )
    measured_s = 3
    hint = (
        "if the memory per peer is high, use fewer or smaller buffers per connection (UCX: the transports dc or ud "
        "instead of rc; shared receive queues), or fewer ranks with more threads; if the memory at start is high, "
        "check whether MPI connects all ranks in MPI_Init"
    )
    failure_means = (
        "MPI takes more memory of a rank than the bound allows, so that a job on all nodes may run out of memory. This "
        "comes from the transport that MPI chose: see what changed since it passed."
    )

    def record_series(self):
        self.record_memory("on_demand")

    def memory_of_full_machine(self):
        """Extrapolate to a rank that has exchanged messages with all others, with a rank for each core; in MiB."""
        peers = self.full_ranks - 1
        return self.over_runs("on_demand", lambda found: found.start_kib + peers * max(0, found.per_peer_kib)) / 1024

    metrics = {
        "memory_at_start": ("MiB", lambda self: self.start_kib("on_demand") / 1024),
        "memory_per_peer": ("KiB", lambda self: self.per_peer_kib("on_demand")),
        "memory_of_full_machine": ("MiB", memory_of_full_machine),
    }


class MpiMemoryUnderSetting(MpiMemoryCheck):
    """Compare memory with and without a setting; leaves name the ``setting``, a key of the environment, and results."""

    setting = ""
    kind = ""

    def steps(self):
        return {name: ["memory"] for name in self.files_of(self.kind)} | super().steps()

    def variables_of(self, name):
        return self.current_environ.extras[self.setting] if name in self.files_of(self.kind) else {}

    def record_series(self):
        for kind in ("on_demand", self.kind):
            self.record_memory(kind)
        if len({found.mpi for found in self.results.values()}) > 1:
            raise SanityError("the steps ran with different MPI libraries")


@rfm.simple_test
class MpiMemoryPreconnected(MpiMemoryUnderSetting):
    descr = (
        "Compares the memory of a rank with all connections at the start and with connections on demand; finds costly "
        "connections"
    )
    measured_s = 4
    needs_environ = ["sweep-build", "mpi-preconnect"]
    setting, kind = "preconnect", "preconnected"
    hint = "leave connections to be made on demand, if programs exchange messages with few ranks"
    failure_means = (
        "Connecting all ranks at the start takes more memory than the bound allows. Do not use this setting for large "
        "jobs until the memory of a connection is smaller."
    )

    def connection_kib(self):
        """Return the memory per other rank that MPI_Init takes beyond connections on demand, in KiB."""
        return (self.start_kib("preconnected") - self.start_kib("on_demand")) / (self.num_tasks - 1)

    def memory_of_full_machine(self):
        """Extrapolate the memory of a rank that is connected with all others, with a rank for each core; in MiB."""
        return (self.start_kib("on_demand") + (self.full_ranks - 1) * max(0, self.connection_kib())) / 1024

    metrics = {
        "memory_at_start": ("MiB", lambda self: self.start_kib("preconnected") / 1024),
        "memory_per_connection": ("KiB", connection_kib),
        "memory_of_full_machine": ("MiB", memory_of_full_machine),
    }


@rfm.simple_test
class MpiMemoryUnreliable(MpiMemoryUnderSetting):
    descr = (
        "Compares the memory per peer with unreliable datagrams and with MPI's default; finds a transport that is not "
        "used"
    )
    estimated_s = 10
    needs_environ = ["sweep-build", "mpi-unreliable"]
    setting, kind = "unreliable", "unreliable"
    informational = ["memory_saved_per_peer"]
    hint = (
        "datagrams have one queue for all peers; memory that grows with the peers means that MPI uses another transport"
    )
    failure_means = (
        "With unreliable datagrams, MPI takes more memory for each peer than the bound allows, so that the setting may "
        "not do what it is for. Check that MPI uses datagrams at all (UnreliableDatagrams)."
    )

    metrics = {
        "memory_per_peer": ("KiB", lambda self: self.per_peer_kib("unreliable")),
        "memory_saved_per_peer": ("KiB", lambda self: self.per_peer_kib("on_demand") - self.per_peer_kib("unreliable")),
    }
