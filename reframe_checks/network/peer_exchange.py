"""Lost, late, repeated and reordered packets between every two nodes, over TCP and UDP, without MPI.

A fault that MPI and TCP repair costs no bandwidth. A fault that stops MPI gives no figure. So every node sends long
messages to every other node, and then datagrams, segments and new connections for ten seconds
(``kappa-node exchange``). Datagrams have numbers, so losses, outages, duplicates and reordering are counted
exactly, and a busy processor causes none of them. With more than 65 nodes, each node exchanges with 64 others.
"""

import numpy as np
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import SystemCheck
from reframe_checks.base.node_program import node_program
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
    descr = (
        "Sends packets between every two nodes without MPI; finds lost, late, repeated and reordered packets, outages "
        "and duplicate addresses"
    )
    family = "network/peer-exchange"
    measured_s = 13
    needs_partition = ["links"]
    tags = {"smoke"}
    hint = "check cable, switch port, firewall (`nft list ruleset`) and routes of the named node or link"
    failure_means = (
        "Packets between some nodes get lost, late, doubled or out of order, or long messages do not arrive. MPI may "
        "hide this until a job hangs: check the named node's cable, port, firewall and address."
    )
    programs = ["./kappa-node"]

    seconds = SiteVariable(10.5, "number", "s", "time for which nodes send to each other; one outage in it is enough")
    least_share = SiteVariable(0.5, "number", "%", "share of a pair's packets or connections at which it is named")
    least_outage = SiteVariable(100.0, "number", "ms", "least time without a packet at which a pair is named")

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = f"{node_program(self)} exchange"
        self.executable_opts = [f"--seconds={self.seconds}"]

    @rfmb.sanity_function
    def read_exchange(self):
        found = self.parsed(exchanged, self.output_text(), expect_nodes=self.num_tasks)
        nodes = sorted({one.node for one in found})
        if takers := address_takers(found):
            self.suspects = [*takers]
            self.hint = "check `ip addr` on the node and who else answers (`arping -D`); give each node its own address"
            told = (f"{node} answers for the address of {', '.join(others)}" for node, others in takers.items())
            raise SanityError("; ".join(told))
        if failed := [f"{one.node} to {one.peer}: {one.failure}" for one in found if one.failure]:
            self.record_findings(suspects_of_failures(found, nodes))
            raise SanityError(f"long messages do not arrive: {'; '.join(failed[:8])}")
        self.worst = {}
        # Outages first, because they also lose packets.
        findings = []
        for name, (unit, figure, quantity) in FIGURES.items():
            values = matrix_of(found, nodes, figure)
            self.record_matrix(name, unit, nodes, values)
            self.worst[name] = float(np.nanmax(values))
            limit = self.least_outage if unit == "ms" else self.least_share
            findings += suspects_of_figures(quantity, unit, nodes, values, limit)
        self.record_findings(findings)
        return self.require_all_nodes(nodes)

    # Figures of the worst pair.
    metrics = {
        # Time without a packet, or without one in time.
        "longest_outage": ("ms", lambda self: self.worst["longest_outage"]),
        # The worst of datagrams, datagrams that fill a packet, and segments.
        "lost_packets": ("%", lambda self: self.worst["lost_packets"]),
        "packets_out_of_order": ("%", lambda self: self.worst["packets_out_of_order"]),
        "duplicate_packets": ("%", lambda self: self.worst["duplicate_packets"]),
        # Connections that failed, or that TCP had to ask for again after a second.
        "slow_connections": ("%", lambda self: self.worst["slow_connections"]),
    }
