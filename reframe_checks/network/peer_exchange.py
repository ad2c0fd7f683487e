"""What gets lost, late, twice or out of order between every two nodes, over TCP and UDP, without MPI.

A fault that MPI and TCP repair costs no bandwidth, and one that stops MPI says nothing of itself: so every node sends
long messages to every other, then for ten seconds a train of datagrams, segments and new connections
(``base/src/job/exchange.py``). Datagrams bear their number, so that losses, outages, repetitions and their order are
counted as such; a busy processor makes none of them. Of more nodes than 65 each exchanges with 64.
"""

import numpy as np
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import SystemCheck
from reframe_checks.base.job_files import in_stage
from reframe_checks.base.scaled import OncePerPartition, OnEachNode
from reframe_checks.localise.exchange import (
    FIGURES,
    address_takers,
    matrix_of,
    suspects_of_failures,
    suspects_of_figures,
)
from reframe_checks.parsers.exchange import exchanged


@rfm.simple_test
class PeerExchange(OncePerPartition, OnEachNode, SystemCheck):
    descr = "Lost, late, repeated and reordered packets, outages and addresses taken, between every two nodes"
    family = "network/peer-exchange"
    measured_s = 13
    needs_partition = ["links"]
    tags = {"smoke"}
    hint = "look at cable, switch port, firewall (`nft list ruleset`) and routes of what is named"
    programs = ["./exchange.py"]

    seconds = SiteVariable(10.5, "number", "s", "for which nodes send to each other; an outage that comes once is seen")
    least_share = SiteVariable(0.5, "number", "%", "of a pair's packets or connections, for it to be named")
    least_outage = SiteVariable(100.0, "number", "ms", "without a packet between a pair, for it to be named")

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = f"python3 {in_stage(self, 'exchange.py')}"
        self.executable_opts = [f"--seconds={self.seconds}"]

    @rfmb.sanity_function
    def read_exchange(self):
        found = self.parsed(exchanged, self.output_text(), expect_nodes=self.num_tasks)
        nodes = sorted({one.node for one in found})
        if takers := address_takers(found):
            self.suspects = [*takers]
            self.hint = "`ip addr` there; give each node an address of its own, and see who else answers (`arping -D`)"
            told = (f"{node} answers for the address of {', '.join(others)}" for node, others in takers.items())
            raise SanityError("; ".join(told))
        if failed := [f"{one.node} to {one.peer}: {one.failure}" for one in found if one.failure]:
            self.record_findings(suspects_of_failures(found, nodes))
            raise SanityError(f"long messages do not arrive, {'; '.join(failed[:8])}")
        self.worst = {}
        # An outage first: packets get lost in it.
        findings = []
        for name, (unit, figure, quantity) in FIGURES.items():
            values = matrix_of(found, nodes, figure)
            self.record_matrix(name, unit, nodes, values)
            self.worst[name] = float(np.nanmax(values))
            limit = self.least_outage if unit == "ms" else self.least_share
            findings += suspects_of_figures(quantity, unit, nodes, values, limit)
        self.record_findings(findings)
        return self.require_all_nodes(nodes)

    # Of the worst pair.
    metrics = {
        # Without a packet, or with none in time.
        "longest_outage": ("ms", lambda self: self.worst["longest_outage"]),
        # Datagrams, those that fill a packet, or segments.
        "lost_packets": ("%", lambda self: self.worst["lost_packets"]),
        "packets_out_of_order": ("%", lambda self: self.worst["packets_out_of_order"]),
        "duplicate_packets": ("%", lambda self: self.worst["duplicate_packets"]),
        # Which TCP had to ask for again after a second, or that failed.
        "slow_connections": ("%", lambda self: self.worst["slow_connections"]),
    }
