"""Phases of fio, one after the other, each bounded: it ends after ``runtime_s`` or ``phase_mib``, what comes first.

Direct I/O leaves nothing to a client's cache, so a phase needs seconds, and no more bytes than a device moves in them.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.tunables import Tunable

# Job start, fio's start and the first allocation of the file.
START_S = 4
FIO_TUNABLES = {
    "file_size_mib": Tunable("whole number", "MiB", "each file"),
    "runtime_s": Tunable("whole number", "s", "of each pattern, at most"),
    "phase_mib": Tunable("whole number", "MiB", "moved by each pattern, at most"),
    "queue_depth": Tunable("whole number", "", "requests in flight"),
}


class FioPhases(rfm.RegressionTestPlugin):
    """``PHASES`` of the leaf: phase -> fio's pattern and block size."""

    file_size_mib = rfmb.variable(int, value=1024)
    runtime_s = rfmb.variable(int, value=10)
    #: 16 GiB: 10 s of a device of 1.7 GB/s, and 2.5 s, still enough, of one of 7 GB/s.
    phase_mib = rfmb.variable(int, value=16384)
    queue_depth = rfmb.variable(int, value=16)

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
        # fio lays the whole file out, should it be larger than what a phase moves.
        return self.num_nodes_used * writing * max(self.phase_mib, self.file_size_mib) << 20
