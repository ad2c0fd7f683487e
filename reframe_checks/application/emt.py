"""EMT application: the program, the reference network, and checks of one run: correct bits, scaling, real time.

An environment with the feature ``emt`` has ``emt`` on PATH. An environment with ``emt-build`` builds it from this
repository (``base/cmake_program.py``).
"""

import pathlib
import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError
from reframe.utility import sanity as sn

from kappa.core.record.evidence import Scaling, written
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import CMakeProgram
from reframe_checks.base.same_bits import WRONG_BITS, SameBits
from reframe_checks.base.scaled import OnEachNode, Scaled
from reframe_checks.parsers import core_programs, emt


class EmtProgram(CMakeProgram):
    source = str(pathlib.Path(__file__).resolve().parents[2] / "emt_app")
    program = "emt"
    # A unity build takes less than half of the time, because the compiler reads the headers of libraries once.
    cmake_options = ["-DEMT_TESTS=OFF", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=16"]
    built_with = "emt-build"
    installed = "emt"


class EmtCheck(KappaCheck):
    """A check that simulates the Hydro-Quebec-like network (IPST 2023, Table I), replicated ``network_scale`` times.

    References and recorded bits are for the network alone, with constant EMFs instead of its machines.
    """

    needs_partition = ["compute"]
    needs_environ = ["emt|emt-build"]
    build = rfmb.fixture(EmtProgram, scope="environment")

    network_scale = SiteVariable(1, "whole number", "", "copies of the reference network")
    #: Seed of the network's random choices.
    seed = rfmb.variable(int, value=1)
    steps = SiteVariable(20000, "whole number", "", "steps of the simulation")

    @rfmb.run_after("setup")
    def generate_networks(self):
        # A program that is built for simulations runs with the simulator's launcher only.
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
        """Return the networks to generate: file -> copies of the reference network in it."""
        return {"network.json": self.network_scale}


@rfm.simple_test
class EmtCorrectness(Scaled, EmtCheck):
    """Compare the bits that the EMT application computes on one rank and on all ranks, in both exchange modes.

    One job runs the network on one rank, and then on all ranks of the scale. The checksum over all node voltages at all
    steps must be the same. A difference means a wrong message, a memory error or a faulty arithmetic unit.
    """

    descr = (
        "Compares the EMT application's solution on one rank and on all ranks; finds wrong messages, memory errors and "
        "faulty arithmetic units"
    )
    family = "application/emt-correctness"
    measured_s = 2
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    steps = 2000
    hint = (
        "run the check on each node alone; a node with another checksum computes or sends wrong data: test its memory"
    )
    failure_means = (
        "One rank and all ranks computed different bits from the same network: a message, a memory module or a core is "
        "wrong. Run the one-node case on each node, and test the memory of the node that fails."
    )

    def command_lines(self):
        run = [self.executable, "run", "network.json", f"--steps={self.steps}", f"--exchange={self.exchange}"]
        single = " ".join(["srun --nodes=1 --ntasks=1", *run, "--result=single.json"])
        return [single, self.launched(*run, "--result=all.json")]

    @rfmb.sanity_function
    def read_results(self):
        texts = (self.output_text(name) for name in ("single.json", "all.json"))
        self.single, self.all = (self.parsed(emt.EmtResult.read, text) for text in texts)
        # As an error, so that the job does not re-measure: one wrong result is enough.
        same = "the checksums of one rank and of all ranks differ: {0} and {1}"
        return sn.all([
            sn.assert_eq((self.single.ranks, self.all.ranks), (1, self.num_tasks)),
            sn.assert_eq(self.single.checksum, self.all.checksum, msg=same),
        ])  # fmt: skip

    metrics = {"distinct_checksums": ("", lambda self: len({self.single.checksum, self.all.checksum}))}


# Steps of a round; recorded values are for this number of steps.
STEPS = 1000


@rfm.simple_test
class EmtBits(SameBits, OnEachNode, EmtCheck):
    """Find wrong bits: every core of every node simulates the same network alone, and all must get the same bits.

    The digest covers all voltages at all steps and the final memory (``emt alike``). It is compared with the digests of
    all other cores, and with the recorded digest for the version of Eigen (``localise/golden_bits.json``). The network
    changes from night to night.
    """

    descr = "Simulates the same network with the EMT application on every core; finds cores that compute wrong bits"
    family = "application/emt-bits"
    measured_s = 4
    needs_partition = ["cores"]
    hint = WRONG_BITS
    failure_means = (
        "A core ended with bits that differ from those of the other cores or from those on record: it computes or "
        "remembers wrongly. Keep users' jobs off the named node until its memory and processor are tested."
    )
    read_bits = staticmethod(core_programs.EmtAlikeResult.read)

    not_tunable = ("network_scale", "steps")
    seconds = SiteVariable(1.0, "number", "s", "time of simulations, on all cores at once")

    @rfmb.run_after("init")
    def choose_network(self):
        self.seed = self.variant + 1

    @rfmb.run_after("setup")
    def command_line(self):
        self.num_tasks, self.num_tasks_per_node = self.num_tasks * self.cores_per_node, self.cores_per_node
        self.use_multithreading = False  # else Slurm puts two ranks on each of half of the cores
        self.executable_opts = [
            "alike", "network.json", f"--steps={STEPS}", f"--seconds={self.seconds}", f"--variant={self.variant}",
            f"--result={self.result}",
        ]  # fmt: skip


@rfm.simple_test
class EmtScaling(Scaled, EmtCheck):
    """Measure the strong scaling of the EMT application: step time and parallelisation cost kappa' over ranks.

    Step time and kappa' have bounds. Each is the median over the repeats of the run's median block of steps: one
    interruption would move a mean, and the median of single steps would miss the waiting of exchange mode ``slack``.
    All other figures come from the median repeat. Speed-up, efficiency and Karp-Flatt's figure are recorded for the
    report. The exchange mode ``step`` sends and waits at every step, as in the paper. ``slack`` waits only when it
    needs a wave.
    """

    descr = (
        "Measures step time and parallelisation cost of the EMT application over ranks; finds slow cores and slow "
        "messages"
    )
    family = "application/emt-scaling"
    measured_s = 3
    scale = rfmb.parameter(["one_core", "one_node", "two_nodes", "whole_partition"], loggable=True)
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    informational = ["step_time_p50", "step_time_p99", "phi", "imbalance"]
    hint = "compare kappa' with the OSU latency of the same nodes; a large imbalance means one slow node or core"
    failure_means = (
        "A step, or its parallelisation cost kappa', takes longer than the bound allows. If the case of one node fails "
        "too, look for a slow core or node; if only the larger cases fail, look at the network."
    )
    repeats = 3
    #: Ranks and the paper's figures of merit, for plots over ranks.
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
                    f"expected {self.steps} on {self.num_tasks} in mode {self.exchange}"
                )
        if len({result.checksum for result in results}) != 1:
            raise SanityError("repeats of one case gave different solutions: run EmtCorrectness")
        self.median = sorted(results, key=lambda result: result.step_block_p50_us)[self.repeats // 2]
        # With an odd number of repeats, the median step time is from this repeat; the median kappa' may be another's.
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
    """Run the EMT application in real time: can the partition serve hardware in the loop?

    A step of 50 us is late if it ends after its wall time, whether because of its work, a message or an interruption.
    The paper's tool runs offline, but hardware in the loop needs every step in time. Bounds apply to the late steps of
    the rank with most of them, per million steps, and to the worst delay. The figures of each node are evidence only:
    a delay of one node makes its neighbours late, too.
    """

    descr = "Runs the EMT application in real time and counts late steps; finds interruptions and slow cores"
    family = "application/emt-real-time"
    estimated_s = 12
    modes = ("acceptance",)
    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)
    exchange = rfmb.parameter(["step"], loggable=True)
    informational = ["episodes", "late_p999"]
    load_allowed = 0.1  # a short interruption makes many steps late
    hint = (
        "on the node with most late steps, check other processes (`ps -eo psr,comm`), interrupts (/proc/interrupts), "
        "frequency and power limits, and that each rank has its own core"
    )
    failure_means = (
        "Too many steps of 50 us ended late, or one ended too late, for hardware in the loop. Find what interrupts the "
        "rank with most late steps; the check names no node, because a late node makes its neighbours late."
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
                f"expected {self.steps} on {self.num_tasks}"
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
        # Late steps per million, for the rank with most of them.
        "overruns": ("per million", lambda self: max(map(self.per_million, self.result.ranks))),
        # Sequences of late steps per million steps, for the rank with most of them.
        "episodes": (
            "per million", lambda self: max(1e6 * rank.episodes / self.result.steps for rank in self.result.ranks),
        ),
        # Percentile over all steps; a step in time is 0 late.
        "late_p999": ("us", lambda self: max(rank.late_p999_us for rank in self.result.ranks)),
        "late_worst": ("us", lambda self: max(rank.late_worst_us for rank in self.result.ranks)),
    }
