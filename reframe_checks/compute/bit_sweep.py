"""Wrong bits: every core of every node does the same work, and all must get the same bits.

The works are dense linear algebra, a chaotic map over integers that keeps every error, and copies and pattern walks
through memory (own program, ``kappa-measure bits``). Each core runs them. The bits are compared with those of all other
cores, and with the recorded bits for the instruction set (``localise/golden_bits.json``). The initial data change from
night to night.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.same_bits import WRONG_BITS, SameBits, tonight
from reframe_checks.base.scaled import AllCores, OnEachNode

WORKS = ["dense", "map", "memory"]


class BitSweepCheck(SameBits, AllCores, OnEachNode, KappaCheck):
    family = "compute/bits"
    needs_partition = ["cores"]
    needs_environ = ["sweep-build"]
    hint = WRONG_BITS
    failure_means = (
        "A core ended with bits that differ from those of the other cores or from those on record: it computes or "
        "remembers wrongly. Keep users' jobs off the named node until its memory and processor are tested."
    )
    build = rfmb.fixture(MeasureProgram, scope="environment")

    seconds = SiteVariable(1.0, "number", "s", "time of each work, on all cores at once")
    mib_per_core = SiteVariable(64, "whole number", "MiB", "memory that each core walks through")
    works = rfmb.variable(typ.List[str], value=WORKS)

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable_opts = [
            "bits", f"--output={self.result}", f"--seconds={self.seconds}", f"--mib-per-core={self.mib_per_core}",
            f"--works={','.join(self.works)}", f"--variant={self.variant}",
        ]  # fmt: skip


@rfm.simple_test
class BitSweep(BitSweepCheck):
    descr = "Runs the same work on every core and compares the bits; finds cores and memory with wrong results"
    measured_s = 5
    tags = {"smoke"}


@rfm.simple_test
class BitSweepDose(BitSweepCheck):
    descr = "Runs one work of BitSweep each night for a longer time; finds rare wrong results of cores and memory"
    estimated_s = 65
    seconds = 60.0
    works = [WORKS[tonight() % len(WORKS)]]
