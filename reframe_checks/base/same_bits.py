"""A plug-in for checks in which every core does the same work: it compares the resulting bits and names odd cores."""

import datetime

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.localise.bits import golden_bits, judge
from reframe_checks.localise.finding import ranked
from reframe_checks.parsers import core_programs

#: Number of sets of initial data; each night uses the next set.
VARIANTS = 8
#: The hint of a check that found wrong bits.
WRONG_BITS = "take the node out of service: check EDAC and MCE counts, test its memory, replace the processor"


def tonight():
    """Return the number of the day."""
    return datetime.date.today().toordinal()


class SameBits(rfm.RegressionTestPlugin):
    """Compare the bits in the file ``result``, which the leaf's program writes and ``read_bits`` parses."""

    result = "bit_sweep.json"
    read_bits = staticmethod(core_programs.BitSweepResult.read)
    variant = rfmb.variable(int, value=tonight() % VARIANTS)

    @rfmb.run_after("init")
    def judge_by_bits_alone(self):
        self.informational = ["rounds", "works_on_record"]

    @rfmb.sanity_function
    def compare(self):
        sweep = self.parsed(self.read_bits, self.output_text(self.result))
        judgement = judge(sweep.bits, sweep.variant, golden_bits())
        self.record_findings(ranked(list(judgement.findings)))
        self.total_rounds = sum(count for bits in sweep.bits for _, count in bits.rounds)
        self.held = len(judgement.golden)
        wrong = [f"{found.name}: {found.evidence} ended with other {found.quantity}" for found in judgement.findings]
        if wrong or judgement.unplaced:
            raise SanityError("; ".join([*wrong, *judgement.unplaced]))
        cores = {(bits.node, bits.core) for bits in sweep.bits}
        nodes = sorted({node for node, _ in cores})
        few = [node for node in nodes if sum(node == other for other, _ in cores) != self.cores_per_node]
        if few:
            raise SanityError(
                f"expected results of {self.cores_per_node} cores on {', '.join(few)}; check the binding of tasks"
            )
        return self.require_all_nodes(nodes)

    metrics = {
        # Compared rounds of all works and cores.
        "rounds": ("rounds", lambda self: self.total_rounds),
        # Works that were also compared with a recorded value for the instruction set or library.
        "works_on_record": ("works", lambda self: self.held),
    }
