"""fio: reads and writes of one node on each target, and of every node on its own storage at the same time."""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.record.evidence import Finding
from kappa.core.vocabulary.features import stated_folder
from kappa.core.vocabulary.scales import SCALES
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.job_files import staged
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.on_storage import JobFolder, OnStorage
from reframe_checks.base.scaled import OnEachNode
from reframe_checks.parsers import file_benchmarks, node_times
from reframe_checks.parsers.text import ParseError

# Job start, fio's start and the first allocation of the file.
START_S = 4


class FioPhases(rfm.RegressionTestPlugin):
    """Run the ``PHASES`` of the leaf one after the other: phase -> fio's pattern and block size.

    A phase ends after ``runtime_s`` or ``phase_mib``, whichever comes first. Direct I/O avoids the client's cache, so a
    phase needs only seconds, and the bytes that a device moves in this time.
    """

    file_size_mib = SiteVariable(1024, "whole number", "MiB", "size of each file")
    runtime_s = SiteVariable(10, "whole number", "s", "longest time of each pattern")
    #: 16 GiB: 10 s of a device of 1.7 GB/s, and 2.5 s, still enough, of one of 7 GB/s.
    phase_mib = SiteVariable(16384, "whole number", "MiB", "most data that each pattern moves")
    queue_depth = SiteVariable(16, "whole number", "", "requests in flight")

    def fio_options(self):
        options = [
            "--output-format=json", f"--size={self.file_size_mib}M", f"--io_size={self.phase_mib}M",
            "--direct=1", "--ioengine=libaio", f"--iodepth={self.queue_depth}", "--randrepeat=1",
            f"--runtime={self.runtime_s}", "--group_reporting",
        ]  # fmt: skip
        for phase, (pattern, block) in self.PHASES.items():
            options += [f"--name={phase}", "--stonewall", f"--rw={pattern}", f"--bs={block}"]
        return options

    def expected_s(self):
        return START_S + len(self.PHASES) * self.runtime_s

    def most_bytes(self):
        writing = sum("write" in pattern for pattern, _ in self.PHASES.values())
        # fio first writes the whole file, even if it is larger than the data of a phase.
        return self.num_nodes_used * writing * max(self.phase_mib, self.file_size_mib) << 20


# Phase -> fio's pattern and block size.
PHASES = {
    "sequential_write": ("write", "1M"),
    "sequential_read": ("read", "1M"),
    "random_write": ("randwrite", "4k"),
    "random_read": ("randread", "4k"),
}


@rfm.simple_test
class Fio(ManyNodes, FioPhases, OnStorage, KappaCheck):
    """Measure sequential and random reads and writes of one node on each storage target, with fio and direct I/O.

    One job runs four phases, one after the other: 1 MiB sequential write and read, 4 KiB random write and read. Direct
    I/O avoids the page cache; the check confirms it from fio's result. Time and data of a phase are limited.
    """

    descr = "Measures sequential and random I/O of one node with fio; finds slow, full or busy storage targets"
    family = "storage/fio"
    measured_s = 6
    needs_environ = ["fio"]
    tags = {"smoke"}
    cache_defeat = "direct I/O, read back from fio's result"
    hint = "check whether the file system is full, degraded or busy; compare with another node on the same target"
    failure_means = (
        "One node reads or writes the target more slowly than the bound allows. If other nodes are fast on the same "
        "target, look at the node; otherwise the target is full, degraded or busy."
    )

    PHASES = PHASES

    def chosen_scale(self):
        return SCALES["one_core"]

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = "fio"
        self.executable_opts = ['--filename="$folder/fio"', *self.fio_options()]

    @rfmb.sanity_function
    def read_result(self):
        self.require_striping()
        result = self.parsed(file_benchmarks.fio, self.output_text())
        jobs = {job.name: job for job in result}
        if list(jobs) != list(PHASES):
            raise SanityError(f"expected fio's phases {', '.join(PHASES)}, found {', '.join(jobs)}")
        cached = [name for name, job in jobs.items() if not job.direct]
        if cached:
            raise SanityError(f"fio did not use direct I/O in {', '.join(cached)}")
        self.side = {name: jobs[name].write if "write" in name else jobs[name].read for name in PHASES}
        return True

    def wrote_bytes(self):
        return sum(side.io_bytes for name, side in self.side.items() if "write" in name)

    metrics = {
        "sequential_write": ("MB/s", lambda self: self.side["sequential_write"].bandwidth_mb_s),
        "sequential_read": ("MB/s", lambda self: self.side["sequential_read"].bandwidth_mb_s),
        "random_write": ("IOPS", lambda self: self.side["random_write"].iops),
        "random_read": ("IOPS", lambda self: self.side["random_read"].iops),
        "random_write_p99": ("us", lambda self: self.side["random_write"].clat_p99_us),
        "random_read_p99": ("us", lambda self: self.side["random_read"].clat_p99_us),
    }


# Phase -> fio's pattern and block size.
SCRATCH_PHASES = {"write": ("write", "1M"), "read": ("read", "1M"), "random_write": ("randwrite", "4k")}
TARGET = "scratch"
CALLS = "file_calls.txt"
#: Metric -> field of a node's calls, and its name for readers.
OF_CALLS = {"fsync_excess": ("fsync_ms", "a write with fsync"), "file_excess": ("file_ms", "create, stat and unlink")}


@rfm.simple_test
class NodeScratch(FioPhases, JobFolder, OnEachNode, KappaCheck):
    """Run fio on every node's own storage at the same time, in one job, to name the node with a slow disk.

    The phases are sequential write and read and random write, with direct I/O. A node's figure is compared with the
    median node of the same run, so a busy site blames no node. A node on which fio fails, for instance on a full disk,
    is a suspect. Before fio, each node times other calls (``src/file_calls.py``): fsync; create, stat and unlink;
    buffered reads. None of them may fail.
    """

    descr = "Compares fio and file calls on the own storage of all nodes; finds nodes with slow, full or failing disks"
    family = "storage/node-scratch"
    relative = ["uniformity"]
    measured_s = 9
    sourcesdir = "src"
    needs_partition = ["storage_scratch"]
    needs_environ = ["fio"]
    tags = {"smoke"}
    hint = "check whether the named node's disk is full, degraded (`smartctl -a`) or busy, and errors in `dmesg`"
    failure_means = (
        "A node's own disk is slower than those of the others or than the bound, is full, or fails calls on files. "
        "After failed calls, keep jobs off the named node and look for disk errors in its kernel log."
    )

    PHASES = SCRATCH_PHASES
    #: A quarter of the value for one node alone, because all nodes write.
    phase_mib = 4096
    #: A node below this share of the median node is a suspect.
    suspect_share = SiteVariable(0.5, "number", "", "share of the median node's rate below which a node is a suspect")
    calls_s = SiteVariable(1, "number", "s", "time for which each kind of file call is repeated")
    #: If one read in a thousand fails, all go well only one time in 160,000.
    reads = SiteVariable(12000, "whole number", "", "number of reads of 4 KiB on each node")

    programs = ["fio"]

    @rfmb.run_after("setup")
    def command_line(self):
        stated = stated_folder(self.current_partition.extras, TARGET)
        path = self.stated(f"extras/storage/{TARGET}, an absolute path", stated)
        self.prerun_cmds = [*self.prerun_cmds, self.folder_by("node_folder.sh", path)]
        self.executable = "fio"
        self.executable_opts = ['--filename="$folder/file"', *self.fio_options()]
        # A node on which fio fails must not end it on the others (hold_nodes.sh).
        self.job.launcher.options += ["--output=fio-%N.json", "--kill-on-bad-exit=0"]

    # First: fio's exit status is the job's.
    def command_lines(self):
        words = ["python3", "-s", staged(self, "file_calls.py"), '"$folder"', f"{self.calls_s:g}", str(self.reads)]
        # The launcher takes the last of its options.
        return [self.launched(f"--output={CALLS}", *words), *super().command_lines()]

    def read_fio(self):
        """Read fio's results, and return node -> why it has none."""
        self.figures, self.written_on, problems = {}, {}, {}
        for node in self.provenance["nodelist"]:
            try:
                self.figures[node] = self.figures_of(node)
            except (ParseError, SanityError) as err:
                problems[node] = str(err)
        return problems

    def why_failed(self):
        """Name the nodes that have no folder or on which fio failed."""
        return self.blamed(self.not_made() or self.read_fio()) or super().why_failed()

    @rfmb.sanity_function
    def read_nodes(self):
        problems = self.read_fio()
        calls = self.parsed(node_times.file_calls, self.output_text(CALLS), expect_nodes=self.provenance["nodelist"])
        for node, told in calls.items():
            if told.failed:
                said = ", ".join(f"{call}, {count} times" for call, count in told.failed.items())
                said += f" (of {told.reads} reads, {told.fsyncs} fsyncs, {told.files} files)"
                problems[node] = f"file calls failed: {said}; {problems.get(node, '')}".strip("; ")
        if problems:
            self.suspects = sorted(problems)
            raise SanityError("; ".join(f"{node}: {problem}" for node, problem in sorted(problems.items())))
        self.shares = {node: self.share_of_median(node) for node in self.figures}
        for phase in SCRATCH_PHASES:
            self.record_per_node(phase, "MB/s", {node: values[phase] for node, values in self.figures.items()})
        self.calls_ms = {
            metric: {node: getattr(told, field) for node, told in calls.items()}
            for metric, (field, _) in OF_CALLS.items()
        }
        self.record_findings([finding for metric in OF_CALLS for finding in self.slow_calls(metric)])
        slow = {node for node, share in self.shares.items() if share < self.suspect_share}
        self.suspects = sorted({*self.suspects, *slow})
        return True

    def slow_calls(self, metric):
        """Return a finding for each node whose calls are out of bounds; none if this is half of the nodes or more."""
        field, quantity = OF_CALLS[metric]
        took = self.calls_ms[metric]
        self.record_per_node(field.removesuffix("_ms"), "ms", took)
        usual = statistics.median_low(took.values())
        slow = [node for node, ms in took.items() if self.out_of_bounds(metric, ms - usual)]
        if 2 * len(slow) >= len(took):
            return []
        ranking = sorted(slow, key=took.__getitem__, reverse=True)
        said = {node: f"takes {took[node]:.3g} ms, the median node {usual:.3g} ms" for node in ranking}
        return [Finding("node", node, (node,), quantity, None, None, said[node]) for node in ranking]

    def excess_ms(self, metric):
        """Return the slowest node's time minus the median node's, in ms."""
        took = self.calls_ms[metric].values()
        return max(took) - statistics.median_low(took)

    def figures_of(self, node):
        """Return the rate of each phase on a node, in MB/s.

        :raises SanityError: fio's result has other phases, or no direct I/O.
        """
        result = file_benchmarks.fio(self.output_text(f"fio-{node}.json"))
        jobs = {job.name: job for job in result}
        if list(jobs) != list(SCRATCH_PHASES) or not all(job.direct for job in jobs.values()):
            raise SanityError(f"expected the phases {', '.join(SCRATCH_PHASES)} with direct I/O")
        self.written_on[node] = sum(job.write.io_bytes for job in jobs.values() if job.write)
        return {name: (job.read if name == "read" else job.write).bandwidth_mb_s for name, job in jobs.items()}

    def wrote_bytes(self):
        return sum(self.written_on.values())

    def share_of_median(self, node):
        """Return the node's rate divided by the median node's, for its worst phase."""
        return min(
            self.figures[node][phase] / statistics.median(values[phase] for values in self.figures.values())
            for phase in SCRATCH_PHASES
        )

    metrics = {
        "slowest_node_write": ("MB/s", lambda self: min(values["write"] for values in self.figures.values())),
        "slowest_node_read": ("MB/s", lambda self: min(values["read"] for values in self.figures.values())),
        # Slowest node and phase divided by the median node.
        "uniformity": ("", lambda self: min(self.shares.values())),
        "fsync_excess": ("ms", lambda self: self.excess_ms("fsync_excess")),
        "file_excess": ("ms", lambda self: self.excess_ms("file_excess")),
    }
