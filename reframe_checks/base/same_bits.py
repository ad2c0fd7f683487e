"""A check in which every core does the same work: the bits that come out are compared, the core that differs named."""

import datetime

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.localise.bits import golden_bits, judge
from reframe_checks.localise.finding import ranked
from reframe_checks.parsers import core_programs

#: Sets of data that the works begin with; each night has the next one.
VARIANTS = 8
#: The hint of a check that has seen them.
WRONG_BITS = "take the node out of service: look at EDAC and MCE counts, test its memory, swap the processor"


def tonight():
    """Number of the day."""
    return datetime.date.today().toordinal()


class SameBits(rfm.RegressionTestPlugin):
    """Leaves write a file of the name ``result``, which ``read_bits`` reads."""

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
        if wrong or judgement.nobody:
            raise SanityError("; ".join([*wrong, *judgement.nobody]))
        cores = {(bits.node, bits.core) for bits in sweep.bits}
        nodes = sorted({node for node, _ in cores})
        few = [node for node in nodes if sum(node == other for other, _ in cores) != self.cores_per_node]
        if few:
            raise SanityError(f"not {self.cores_per_node} cores on {', '.join(few)}: see the binding of tasks")
        return self.require_all_nodes(nodes)

    metrics = {
        # Compared, of all works and cores.
        "rounds": ("rounds", lambda self: self.total_rounds),
        # Held against a value on record for the instruction set or library, besides the comparison of cores.
        "works_on_record": ("works", lambda self: self.held),
    }
