"""Wrong bits: every core of every node does the same work, and all have to end with the same bits.

Dense linear algebra, a chaotic map over integers that forgets nothing, copies and pattern walks through memory (own
program, ``kappa-measure bits``), bound to each core in turn and compared with all others and with the bits on record
for the instruction set (``localise/golden_bits.json``). Which data the works begin with changes from night to night.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ

from reframe_checks.base.cases import SiteVariable
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
    descr = "Every core computes and remembers the same bits"
    measured_s = 5
    tags = {"smoke"}


@rfm.simple_test
class BitSweepDose(BitSweepCheck):
    descr = "The same for longer, with one of the works each night"
    estimated_s = 65
    seconds = 60.0
    works = [WORKS[tonight() % len(WORKS)]]
