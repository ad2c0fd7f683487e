"""Stress-ng's stressors that verify their results, on every core of every node at the same time.

They complement the suite's own works (``BitSweep``): BitSweep names the core, stress-ng only the node. stress-ng ends
with status 2 if a stressor found a wrong result or was killed. Its log is kept with the result.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.record.evidence import Finding
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.job_files import KILLABLE, in_stage, staged
from reframe_checks.base.same_bits import WRONG_BITS
from reframe_checks.base.scaled import AllCores, OnEachNode
from reframe_checks.parsers import job_scripts

# Stressors of stress-ng 0.15 and newer that honour --verify and need neither devices nor privileges.
STRESSORS = ["cpu", "vm", "matrix", "memcpy", "zlib"]
NOT_SUCCESS = 2


@rfm.simple_test
class StressNg(AllCores, OnEachNode, KappaCheck):
    descr = "Runs stress-ng's stressors that verify their results on every core; finds nodes that compute wrong results"
    family = "compute/stress-ng"
    measured_s = 4
    needs_partition = ["cores"]
    needs_environ = ["stress-ng"]
    hint = WRONG_BITS
    failure_means = (
        "A stressor found a wrong result on the named node, or it did not end well. A wrong result means a bad "
        "processor or memory: test the node. A stressor that was killed or did not finish says nothing about the "
        "hardware."
    )
    informational = ["stressors_verified"]
    sourcesdir = "src"
    programs = ["stress-ng"]

    seconds = SiteVariable(2, "whole number", "s", "time of all stressors together")
    vm_mib = SiteVariable(32, "whole number", "MiB", "memory that stress-ng's `vm` checks")

    @rfmb.run_after("setup")
    def command_line(self):
        in_stage(self, KILLABLE)
        self.executable = f"bash {staged(self, 'stress_on_node.sh')}"
        self.executable_opts = [shlex.quote(",".join(STRESSORS)), str(self.seconds), str(self.vm_mib)]

    @rfmb.sanity_function
    def all_verified(self):
        nodes = self.parsed(job_scripts.stressed, self.output_text(), expect_nodes=self.num_nodes_used)
        said = {node: self.wrong_result(node) for node, told in nodes.items() if told.status == NOT_SUCCESS}
        wrong = {node: line for node, line in said.items() if line}
        self.record_findings(
            [Finding("node", node, (node,), "stress-ng", None, None, said) for node, said in wrong.items()]
        )
        if wrong:
            raise SanityError("; ".join(f"{node}: {said}" for node, said in wrong.items()))
        failed = [f"{node} ended with status {told.status}" for node, told in nodes.items() if told.status]
        # On a busy machine, a stressor may not complete its first operation.
        failed += [f"{node} verified nothing" for node, told in nodes.items() if not told.stressors]
        if failed:
            raise SanityError(f"stress-ng on {'; '.join(failed)}: see stress-ng-NODE.log")
        self.fewest = min(len(told.stressors) for told in nodes.values())
        return self.require_all_nodes(nodes)

    def wrong_result(self, node):
        return job_scripts.wrong_result(self.output_text(f"stress-ng-{node}.log"))

    metrics = {
        # Stressors that completed an operation, on the node with the fewest.
        "stressors_verified": ("stressors", lambda self: self.fewest),
    }
