"""fio: sequential and random reads and writes of one node on each storage target, direct I/O.

Four phases in one job, one after the other: 1 MiB sequential write and read, 4 KiB random write and read.
Direct I/O keeps the page cache out and is read back from fio's result. Phases are bounded (``fio_phases.py``).
"""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.scales import SCALES
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.parsers import fio
from reframe_checks.storage.fio_phases import FIO_TUNABLES, FioPhases

# Phase -> fio's pattern and block size.
PHASES = {
    "sequential_write": ("write", "1M"),
    "sequential_read": ("read", "1M"),
    "random_write": ("randwrite", "4k"),
    "random_read": ("randread", "4k"),
}


@rfm.simple_test
class Fio(ManyNodes, FioPhases, OnStorage, KappaCheck):
    descr = "fio: sequential and random I/O of one node"
    family = "storage/fio"
    measured_s = 6
    needs_environ = ["fio"]
    tags = {"smoke"}
    cache_defeat = "direct I/O, read back from fio's result"
    hint = "is the file system full, degraded or busy? compare with another node on the same target"

    PHASES = PHASES
    tunable = FIO_TUNABLES

    def chosen_scale(self):
        return SCALES["one_core"]

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = "fio"
        self.executable_opts = ['--filename="$folder/fio"', *self.fio_options()]

    @rfmb.sanity_function
    def read_result(self):
        self.require_striping()
        result = self.parsed(fio.parse, self.output_text())
        jobs = {job.name: job for job in result.jobs}
        if list(jobs) != list(PHASES):
            raise SanityError(f"expected the phases {', '.join(PHASES)}, fio reports {', '.join(jobs)}")
        cached = [name for name, job in jobs.items() if not job.direct]
        if cached:
            raise SanityError(f"fio did not use direct I/O in {', '.join(cached)}")
        self.side = {name: jobs[name].write if "write" in name else jobs[name].read for name in PHASES}
        return True

    def wrote_bytes(self):
        return sum(side.io_bytes for name, side in self.side.items() if "write" in name)

    @rfmb.performance_function("MB/s")
    def sequential_write(self):
        return self.side["sequential_write"].bandwidth_mb_s

    @rfmb.performance_function("MB/s")
    def sequential_read(self):
        return self.side["sequential_read"].bandwidth_mb_s

    @rfmb.performance_function("IOPS")
    def random_write(self):
        return self.side["random_write"].iops

    @rfmb.performance_function("IOPS")
    def random_read(self):
        return self.side["random_read"].iops

    @rfmb.performance_function("us")
    def random_write_p99(self):
        return self.side["random_write"].clat_p99_us

    @rfmb.performance_function("us")
    def random_read_p99(self):
        return self.side["random_read"].clat_p99_us
