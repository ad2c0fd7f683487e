"""OSU collectives over the scales and on few ranks.

The latency is OSU's mean over ranks; the best repeat counts. For a non-blocking collective, it is the overall time,
with the overlapping computation.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary import programs as osu_programs
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import OnRanks, Scaled
from reframe_checks.network.osu import OsuCheck

SMALLEST_FLOAT = 4


class OsuCollectiveCheck(OsuCheck):
    """An OSU collective. Reductions use 4-byte floats, so their smallest message is 4 B; barriers have no message."""

    family = "network/osu-collective"
    needs_partition = ["collectives"]
    iterations = 50
    warmup = 5
    hint = (
        "if the point-to-point checks pass on these nodes, check MPI's collective algorithm, and noise on single nodes"
    )
    failure_means = (
        "A collective takes longer than the bound allows, or data arrived wrong. If OsuLatency and OsuBandwidth pass "
        "on the same nodes, look for one slow node among the ranks, then at MPI's choice of algorithm."
    )

    @rfmb.run_after("init")
    def validate_messages(self):
        self.validates = osu_programs.has_sizes(self.benchmark)

    def smallest_message(self):
        """Return the smallest message in bytes. OSU's block variants need at least one element for each rank."""
        if osu_programs.divides_into_blocks(self.benchmark):
            return SMALLEST_FLOAT << (self.num_tasks - 1).bit_length()
        return SMALLEST_FLOAT if osu_programs.reduces(self.benchmark) else 1

    def size_options(self):
        if not osu_programs.has_sizes(self.benchmark):
            return []
        # OSU's default type, one-byte characters, overflows in sums, and then the validation fails.
        floats = ["-T", "mpi_float"] if osu_programs.reduces(self.benchmark) and self.of_c_suite() else []
        return [*super().size_options(), *floats]

    def expected_sizes(self):
        return super().expected_sizes() if osu_programs.has_sizes(self.benchmark) else [0]

    def gated_sizes(self):
        if not osu_programs.has_sizes(self.benchmark):
            return {0: ""}
        only_large = osu_programs.divides_into_blocks(self.benchmark)
        return {size: suffix for size, suffix in super().gated_sizes().items() if size > 8 or not only_large}


class OsuCollective(ManyNodes, Scaled, OsuCollectiveCheck):
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)


@rfm.simple_test
class OsuBarrier(OsuCollective):
    descr = "Measures the time of a barrier with OSU; finds slow collectives and noise on single nodes"
    measured_s = 3
    failure_means = (
        "A barrier takes longer than the bound allows. If OsuLatency passes on the same nodes, look for one slow or "
        "interrupted node among the ranks."
    )
    benchmark = "osu_barrier"
    tags = {"smoke"}
    iterations = 1000


@rfm.simple_test
class OsuBcast(OsuCollective):
    descr = "Measures the time of a broadcast with OSU; finds slow collectives and slow links"
    measured_s = 3
    benchmark = "osu_bcast"


@rfm.simple_test
class OsuGather(OsuCollective):
    descr = "Measures the time of a gather with OSU; finds slow collectives and slow links"
    measured_s = 3
    benchmark = "osu_gather"


@rfm.simple_test
class OsuAlltoall(OsuCollective):
    descr = "Measures the time of an all-to-all with OSU; finds slow collectives and low bisection bandwidth"
    measured_s = 4
    benchmark = "osu_alltoall"


@rfm.simple_test
class OsuReduce(OsuCollective):
    descr = "Measures the time of a reduce (sum of floats) with OSU; finds slow collectives and wrong sums"
    measured_s = 3
    benchmark = "osu_reduce"


@rfm.simple_test
class OsuAllreduce(OsuCollective):
    descr = "Measures the time of an allreduce (sum of floats) with OSU; finds slow collectives, noise and wrong sums"
    measured_s = 3
    benchmark = "osu_allreduce"
    tags = {"smoke"}


class OsuSuiteCollective(OsuCollective):
    """A collective that needs the complete suite; for acceptance.

    It has one scale, the smallest with a network. The collectives above, with the same algorithms, show how nodes
    scale. OSU's ring of neighbours needs three ranks, which two nodes have.
    """

    needs_environ = ["osu-suite"]
    modes = ("acceptance",)
    scale = rfmb.parameter(["two_nodes"], loggable=True)


@rfm.simple_test
class OsuBlockingCollective(OsuSuiteCollective):
    descr = "Measures the time of the other blocking collectives with OSU; finds slow collective algorithms"
    estimated_s = 20
    program = rfmb.parameter(osu_programs.BLOCKING, loggable=True)


@rfm.simple_test
class OsuNonBlockingCollective(OsuSuiteCollective):
    descr = "Measures the overall time of non-blocking collectives with OSU; finds slow algorithms and missing overlap"
    estimated_s = 20
    program = rfmb.parameter(osu_programs.NON_BLOCKING, loggable=True)


@rfm.simple_test
class OsuPersistentCollective(OsuSuiteCollective):
    descr = "Measures the time of persistent collectives with OSU; finds slow collective algorithms"
    estimated_s = 20
    # OSU builds these programs only on an MPI of version 4.
    needs_environ = ["osu-suite", "osu-persistent"]
    program = rfmb.parameter(osu_programs.PERSISTENT, loggable=True)


@rfm.simple_test
class OsuNeighbourCollective(OsuSuiteCollective):
    descr = "Measures the time of neighbourhood collectives with OSU; finds slow collective algorithms"
    estimated_s = 20
    program = rfmb.parameter(osu_programs.NEIGHBOUR, loggable=True)


@rfm.simple_test
class OsuCollectiveOnRanks(OnRanks, OsuCollectiveCheck):
    descr = "Measures OSU collectives on few ranks, within a node and one on each node; finds slow nodes and algorithms"
    estimated_s = 20
    needs_environ = ["osu-suite"]
    modes = ("acceptance",)
    program = rfmb.parameter(osu_programs.ON_RANKS, loggable=True)
