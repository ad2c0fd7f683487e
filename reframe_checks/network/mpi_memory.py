"""Memory of a rank over the number of its peers, and what that makes of a job on the whole partition.

A library that keeps buffers for each connection needs more memory for each rank the more ranks there are: 0.55 MB a
connection with ParTec MPI on HPC-FF, which were 2.2 GB of 3 GB with 4096 ranks. Connected on demand, only peers cost.
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
        """A rank for each core of the partition."""
        return self.partition_nodes * self.cores_per_node

    @staticmethod
    def files_of(kind):
        return [f"{kind}-{run}.json" for run in range(RUNS)]

    def steps(self):
        return {name: ["memory"] for name in self.files_of("on_demand")}

    def over_runs(self, kind, figure):
        """The median of the runs."""
        return statistics.median(figure(self.results[name]) for name in self.files_of(kind))

    def start_kib(self, kind):
        return self.over_runs(kind, lambda found: found.start_kib)

    def per_peer_kib(self, kind):
        """The slope over peers; about 0, and then of either sign, where connections cost nothing."""
        return self.over_runs(kind, lambda found: found.per_peer_kib)

    def record_memory(self, kind):
        series = zip(*(self.results[name].series for name in self.files_of(kind)), strict=True)
        points = {readings[0].peers: statistics.median(one.median_kib for one in readings) for readings in series}
        title = kind.replace("_", " ")
        self.record_curve(title, PEERS, (f"Memory of a rank, {title}", "KiB"), points, {})


@rfm.simple_test
class MpiMemory(MpiMemoryCheck):
    descr = "Memory that MPI takes of a rank for each peer, and for all ranks of the partition"
    measured_s = 3
    hint = (
        "memory for each peer: fewer or smaller buffers for a connection (UCX: the transports dc or ud in place of rc; "
        "shared receive queues), or fewer ranks with more threads; at start: are all ranks connected there already?"
    )
    failure_means = (
        "MPI takes more memory of a rank than the bound allows, so that a job on all nodes may run out of memory. This "
        "comes from the transport that MPI chose: see what changed since it passed."
    )

    def record_series(self):
        self.record_memory("on_demand")

    def memory_of_full_machine(self):
        """Extrapolate to a rank that has exchanged messages with all others, one for each core of the partition."""
        peers = self.full_ranks - 1
        return self.over_runs("on_demand", lambda found: found.start_kib + peers * max(0, found.per_peer_kib)) / 1024

    metrics = {
        "memory_at_start": ("MiB", lambda self: self.start_kib("on_demand") / 1024),
        "memory_per_peer": ("KiB", lambda self: self.per_peer_kib("on_demand")),
        "memory_of_full_machine": ("MiB", memory_of_full_machine),
    }


class MpiMemoryUnderSetting(MpiMemoryCheck):
    """Leaves say the ``setting``, a key of the environment, and how results under it are called."""

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
    descr = "Memory of a rank when MPI connects all ranks at the start, against connections on demand"
    measured_s = 4
    needs_environ = ["sweep-build", "mpi-preconnect"]
    setting, kind = "preconnect", "preconnected"
    hint = "what connecting all ranks costs a program that talks with few: leave connections to be made on demand"
    failure_means = (
        "Connecting all ranks at the start takes more memory than the bound allows. Do not use this setting for large "
        "jobs until the memory of a connection is smaller."
    )

    def connection_kib(self):
        """Return the memory for each other rank that MPI_Init takes beyond connections on demand."""
        return (self.start_kib("preconnected") - self.start_kib("on_demand")) / (self.num_tasks - 1)

    def memory_of_full_machine(self):
        """Extrapolate the memory of a rank that is connected with all others, one for each core of the partition."""
        return (self.start_kib("on_demand") + (self.full_ranks - 1) * max(0, self.connection_kib())) / 1024

    metrics = {
        "memory_at_start": ("MiB", lambda self: self.start_kib("preconnected") / 1024),
        "memory_per_connection": ("KiB", connection_kib),
        "memory_of_full_machine": ("MiB", memory_of_full_machine),
    }


@rfm.simple_test
class MpiMemoryUnreliable(MpiMemoryUnderSetting):
    descr = "Memory of a rank for each peer with unreliable datagrams, against MPI's own choice"
    estimated_s = 10
    needs_environ = ["sweep-build", "mpi-unreliable"]
    setting, kind = "unreliable", "unreliable"
    informational = ["memory_saved_per_peer"]
    hint = "datagrams share one queue among all peers: memory for each of them points at another transport being used"
    failure_means = (
        "With unreliable datagrams, MPI takes more memory for each peer than the bound allows, so that the setting may "
        "not do what it is for. Check that MPI uses datagrams at all (UnreliableDatagrams)."
    )

    metrics = {
        "memory_per_peer": ("KiB", lambda self: self.per_peer_kib("unreliable")),
        "memory_saved_per_peer": ("KiB", lambda self: self.per_peer_kib("on_demand") - self.per_peer_kib("unreliable")),
    }
