"""Which node has the slow disk: fio on every node's own storage at the same time, in one job.

Sequential write and read and random write, direct I/O. A node's figure is compared with the median node of the same
run, so that a busy site blames nobody. A node on which fio fails, for instance on a full disk, is a suspect.
"""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.storage_targets import stated_folder
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.job_files import sourced
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import fio
from reframe_checks.parsers.errors import ParseError
from reframe_checks.storage.fio_phases import FIO_TUNABLES, FioPhases

# Phase -> fio's pattern and block size.
PHASES = {"write": ("write", "1M"), "read": ("read", "1M"), "random_write": ("randwrite", "4k")}
TARGET = "scratch"


@rfm.simple_test
class NodeScratch(FioPhases, Scaled, KappaCheck):
    descr = "fio on every node's own storage at once, node against node"
    family = "storage/node-scratch"
    relative = ["uniformity"]
    measured_s = 6
    needs_partition = ["storage_scratch"]
    needs_environ = ["fio"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    tags = {"smoke"}
    hint = "is the named node's disk full, degraded (`smartctl -a`) or busy? are there errors in `dmesg`?"

    PHASES = PHASES
    #: A quarter of that of one node alone: all nodes write.
    phase_mib = 4096
    #: A node below this share of the median node is a suspect.
    suspect_share = rfmb.variable(float, value=0.5)
    tunable = {
        **FIO_TUNABLES,
        "suspect_share": Tunable("number", "", "of the median node, below which a node is a suspect"),
    }

    programs = ["fio"]

    @rfmb.run_after("setup")
    def command_line(self):
        stated = stated_folder(self.current_partition.extras, TARGET)
        path = self.stated(f"extras/storage/{TARGET}, an absolute path", stated)
        self.prerun_cmds = [*self.prerun_cmds, sourced(self, "node_folder.sh", path)]
        self.executable = "fio"
        self.executable_opts = ['--filename="$folder/file"', *self.fio_options()]
        self.job.launcher.options += ["--output=fio-%N.json"]

    @rfmb.sanity_function
    def read_nodes(self):
        self.figures, self.written_on, problems = {}, {}, {}
        for node in self.provenance["nodelist"]:
            try:
                self.figures[node] = self.figures_of(node)
            except (ParseError, SanityError) as err:
                problems[node] = str(err)
        if problems:
            self.suspects = sorted(problems)
            raise SanityError("; ".join(f"{node}: {problem}" for node, problem in sorted(problems.items())))
        self.shares = {node: self.share_of_median(node) for node in self.figures}
        for phase in PHASES:
            self.record_per_node(phase, "MB/s", {node: values[phase] for node, values in self.figures.items()})
        self.suspects = sorted(node for node, share in self.shares.items() if share < self.suspect_share)
        return True

    def figures_of(self, node):
        """MB/s of each phase on a node."""
        result = fio.parse(self.output_text(f"fio-{node}.json"))
        jobs = {job.name: job for job in result.jobs}
        if list(jobs) != list(PHASES) or not all(job.direct for job in jobs.values()):
            raise SanityError(f"expected the phases {', '.join(PHASES)} with direct I/O")
        self.written_on[node] = sum(job.write.io_bytes for job in jobs.values() if job.write)
        return {name: (job.read if name == "read" else job.write).bandwidth_mb_s for name, job in jobs.items()}

    def wrote_bytes(self):
        return sum(self.written_on.values())

    def share_of_median(self, node):
        """The node's worst phase against the median node's."""
        return min(
            self.figures[node][phase] / statistics.median(values[phase] for values in self.figures.values())
            for phase in PHASES
        )

    @rfmb.performance_function("MB/s")
    def slowest_node_write(self):
        return min(values["write"] for values in self.figures.values())

    @rfmb.performance_function("MB/s")
    def slowest_node_read(self):
        return min(values["read"] for values in self.figures.values())

    @rfmb.performance_function("")
    def uniformity(self):
        """The slowest node and phase against the median node."""
        return min(self.shares.values())
