"""EMT application: program and reference network, and checks of one run: correct bits, scaling, real time.

An environment with the feature ``emt`` has ``emt`` on PATH; one with ``emt-build`` builds it from this repository
(``base/cmake_program.py``).
"""

import pathlib
import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError
from reframe.utility import sanity as sn

from kappa.core.record.evidence import Scaling, written
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import CMakeProgram
from reframe_checks.base.same_bits import WRONG_BITS, SameBits
from reframe_checks.base.scaled import OnEachNode, Scaled
from reframe_checks.parsers import core_programs, emt


class EmtProgram(CMakeProgram):
    source = str(pathlib.Path(__file__).resolve().parents[2] / "emt_app")
    program = "emt"
    # All files in a few: less than half of the time, and what the compiler reads of libraries it reads once.
    cmake_options = ["-DEMT_TESTS=OFF", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=16"]
    built_with = "emt-build"
    installed = "emt"


class EmtCheck(KappaCheck):
    """A check of the Hydro-Quebec-like network (IPST 2023, Table I), replicated ``network_scale`` times.

    References and bits on record are those of the network alone, with constant EMFs in place of its machines.
    """

    needs_partition = ["compute"]
    needs_environ = ["emt|emt-build"]
    build = rfmb.fixture(EmtProgram, scope="environment")

    network_scale = SiteVariable(1, "whole number", "", "copies of the reference network")
    #: Of the network's random choices.
    seed = rfmb.variable(int, value=1)
    steps = SiteVariable(20000, "whole number", "", "steps of the simulation")

    @rfmb.run_after("setup")
    def generate_networks(self):
        # What is built for simulations runs in no other way.
        launch = [self.launch_on(1)] if self.simulated else []
        self.prerun_cmds = [
            *self.prerun_cmds,
            *(
                " ".join([
                    *launch, shlex.quote(self.program), "generate hq --network-only", f"--scale {scale}",
                    f"--seed {self.seed} -o {name}",
                ])
                for name, scale in self.networks().items()
            ),
        ]  # fmt: skip

    def networks(self):
        """File -> copies of the reference network in it."""
        return {"network.json": self.network_scale}


@rfm.simple_test
class EmtCorrectness(Scaled, EmtCheck):
    """The EMT application computes the same bits on one rank and on all, in both exchange modes.

    One job runs the network on one rank and then on all ranks of the scale; the checksum over all node voltages at
    all steps has to be the same. A difference means a wrong message, memory error or arithmetic unit.
    """

    descr = "EMT application: same solution for any number of ranks"
    family = "application/emt-correctness"
    measured_s = 2
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    steps = 2000
    hint = "run it on each node alone: a node whose checksum differs computes or transmits wrongly; look at its memory"

    def command_lines(self):
        run = [self.executable, "run", "network.json", f"--steps={self.steps}", f"--exchange={self.exchange}"]
        single = " ".join(["srun --nodes=1 --ntasks=1", *run, "--result=single.json"])
        return [single, self.launched(*run, "--result=all.json")]

    @rfmb.sanity_function
    def read_results(self):
        texts = (self.output_text(name) for name in ("single.json", "all.json"))
        self.single, self.all = (self.parsed(emt.EmtResult.read, text) for text in texts)
        # No figure out of bounds: what is wrong once is not measured again.
        same = "the checksums of one rank and of all differ: {0} and {1}"
        return sn.all([
            sn.assert_eq((self.single.ranks, self.all.ranks), (1, self.num_tasks)),
            sn.assert_eq(self.single.checksum, self.all.checksum, msg=same),
        ])  # fmt: skip

    metrics = {"distinct_checksums": ("", lambda self: len({self.single.checksum, self.all.checksum}))}


# Of a round: values on record are of so many.
STEPS = 1000


@rfm.simple_test
class EmtBits(SameBits, OnEachNode, EmtCheck):
    """Wrong bits: every core of every node simulates the same network by itself, and all have to end with the same
    bits.

    The digest is over all voltages at all steps and all that is left in memory (``emt alike``). It is compared with
    those of all other cores and with the one on record for the version of Eigen (``localise/golden_bits.json``).
    Which network it is changes from night to night.
    """

    descr = "EMT application: same solution on every core"
    family = "application/emt-bits"
    measured_s = 4
    needs_partition = ["cores"]
    hint = WRONG_BITS
    read_bits = staticmethod(core_programs.EmtAlikeResult.read)

    not_tunable = ("network_scale", "steps")
    seconds = SiteVariable(1.0, "number", "s", "time of simulations, on all cores at once")

    @rfmb.run_after("init")
    def choose_network(self):
        self.seed = self.variant + 1

    @rfmb.run_after("setup")
    def command_line(self):
        self.num_tasks, self.num_tasks_per_node = self.num_tasks * self.cores_per_node, self.cores_per_node
        self.use_multithreading = False  # a rank on each core, not on each thread of half of them
        self.executable_opts = [
            "alike", "network.json", f"--steps={STEPS}", f"--seconds={self.seconds}", f"--variant={self.variant}",
            f"--result={self.result}",
        ]  # fmt: skip


@rfm.simple_test
class EmtScaling(Scaled, EmtCheck):
    """Strong scaling of the EMT application: step time and parallelisation cost kappa' over ranks.

    Gated are the medians over the repeats of each run's median block of steps: a mean is moved by one interruption,
    and the median of single steps leaves out the waiting of exchange mode ``slack``. All else is of the median
    repeat; speed-up, efficiency and Karp-Flatt are recorded for the report. The exchange mode ``step`` sends and
    waits at every step, as in the paper; ``slack`` waits only when a wave is needed.
    """

    descr = "EMT application: step time and parallelisation cost"
    family = "application/emt-scaling"
    measured_s = 3
    scale = rfmb.parameter(["one_core", "one_node", "two_nodes", "whole_partition"], loggable=True)
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    informational = ["step_time_p50", "step_time_p99", "phi", "imbalance"]
    hint = "compare kappa' with the OSU latency of the same nodes; a large imbalance points at one slow node or core"
    repeats = 3
    #: ranks and the paper's figures of merit, for plots over ranks.
    scaling = rfmb.variable(dict, type(None), value=None, loggable=True)

    def command_lines(self):
        run = [self.executable, "run", "network.json", f"--steps={self.steps}", f"--exchange={self.exchange}"]
        return [self.launched(*run, f"--result=result-{number}.json") for number in range(1, self.repeats + 1)]

    @rfmb.sanity_function
    def read_results(self):
        results = [
            self.parsed(emt.EmtResult.read, self.output_text(f"result-{number}.json"))
            for number in range(1, self.repeats + 1)
        ]
        for result in results:
            if (result.ranks, result.exchange, result.steps) != (self.num_tasks, self.exchange, self.steps):
                raise SanityError(
                    f"emt ran {result.steps} steps on {result.ranks} ranks in mode {result.exchange}, "
                    f"asked for {self.steps} on {self.num_tasks} in mode {self.exchange}"
                )
        if len({result.checksum for result in results}) != 1:
            raise SanityError("repeats of one case gave different solutions: see EmtCorrectness")
        self.median = sorted(results, key=lambda result: result.step_block_p50_us)[self.repeats // 2]
        # Of an odd number of repeats, the median step time is the median repeat's; kappa' may be another's.
        self.median_kappa_us = statistics.median(result.kappa_block_p50_us for result in results)
        figures = (self.median.speedup, self.median.efficiency, self.median.karp_flatt, self.median_kappa_us)
        self.scaling = written(Scaling(self.exchange, self.num_tasks, *figures))
        return True

    metrics = {
        "step_time": ("us", lambda self: self.median.step_block_p50_us),
        "step_time_p50": ("us", lambda self: self.median.step_p50_us),
        "step_time_p99": ("us", lambda self: self.median.step_p99_us),
        "kappa": ("us", lambda self: self.median_kappa_us),
        "phi": ("us", lambda self: self.median.phi_us),
        "imbalance": ("us", lambda self: self.median.imbalance_us),
    }


RESULT = "result.json"


@rfm.simple_test
class EmtRealTime(Scaled, EmtCheck):
    """Whether a partition can serve hardware in the loop: the EMT application with each step held to its time of wall
    time.

    A step of 50 us is late when it ends behind its time, for whatever reason: its work, a message, or an
    interruption. The paper's tool is an offline one; hardware in the loop needs every step in time. Gated are the
    late steps of the rank with most, per million steps, and how late the worst was. Each node's figures are
    evidence: what holds up one node makes its neighbours late, too, so no node is blamed by them alone.
    """

    descr = "EMT application: steps held to wall time, and those that are late"
    family = "application/emt-real-time"
    estimated_s = 12
    modes = ("acceptance",)
    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)
    exchange = rfmb.parameter(["step"], loggable=True)
    informational = ["episodes", "late_p999"]
    hint = (
        "of the node with most look at what else runs there (`ps -eo psr,comm`), interrupts (/proc/interrupts), "
        "frequency and power limits, whether ranks have cores of their own"
    )
    steps = 200000

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable_opts = [
            "run", "network.json", f"--steps={self.steps}", "--warm-up=2000", "--pace=real-time",
            f"--exchange={self.exchange}", f"--result={RESULT}",
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_paces(self):
        self.result = self.parsed(emt.EmtPace.read, self.output_text(RESULT))
        if (len(self.result.ranks), self.result.steps) != (self.num_tasks, self.steps):
            raise SanityError(
                f"emt ran {self.result.steps} steps on {len(self.result.ranks)} ranks, "
                f"asked for {self.steps} on {self.num_tasks}"
            )
        nodes = {rank.node for rank in self.result.ranks}
        for metric, unit, value in (
            ("overruns", "per million steps", self.per_million),
            ("late_p999", "us", lambda rank: rank.late_p999_us),
            ("late_worst", "us", lambda rank: rank.late_worst_us),
        ):
            worst = {node: max(value(rank) for rank in self.result.ranks if rank.node == node) for node in nodes}
            self.record_per_node(metric, unit, worst)
        return self.require_all_nodes(nodes)

    def per_million(self, rank):
        return 1e6 * rank.overruns / self.result.steps

    metrics = {
        # Late steps in a million, of the rank with most.
        "overruns": ("per million", lambda self: max(map(self.per_million, self.result.ranks))),
        # Rows of late steps in a million steps, of the rank with most.
        "episodes": (
            "per million", lambda self: max(1e6 * rank.episodes / self.result.steps for rank in self.result.ranks),
        ),
        # Of all steps, those in time being 0 late.
        "late_p999": ("us", lambda self: max(rank.late_p999_us for rank in self.result.ranks)),
        "late_worst": ("us", lambda self: max(rank.late_worst_us for rank in self.result.ranks)),
    }
