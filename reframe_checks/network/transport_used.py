"""Which network, adapter and protocol MPI really uses: a fall back to TCP or to fewer rails is a failure that says so.

Every node sends to both of its neighbours (own program, ``src/ring_traffic``) while the adapters' own counters are
read, and the library is asked to say what it chose (Open MPI, UCX, Intel MPI). The site says what it expects
(``transport`` of a partition); without that all nodes have to use the same adapters, of RDMA where there is RDMA.
"""

import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import CMakeProgram
from reframe_checks.base.scaled import Scaled
from reframe_checks.network.transport_faults import silent_hosts, unlike_any, wrong_adapters, wrong_protocols
from reframe_checks.parsers import mpi_report, ring_traffic

RESULT = "ring_traffic.json"
EXAMPLE = "`{adapters: [eth0]}` for TCP on purpose"
# How each library is asked what it uses; the others ignore it.
ASKED = [
    "OMPI_MCA_pml_base_verbose=10", "OMPI_MCA_bml_base_verbose=10", "OMPI_MCA_btl_base_verbose=30",
    "UCX_LOG_LEVEL=info", "I_MPI_DEBUG=5",
]  # fmt: skip


class RingTrafficBuild(CMakeProgram):
    source = str(pathlib.Path(__file__).parent / "src/ring_traffic")
    program = "ring_traffic"


@rfm.simple_test
class TransportUsed(Scaled, KappaCheck):
    descr = "Network, adapter and protocol that MPI uses, by the adapters' counters and its own report"
    family = "network/transport"
    measured_s = 3
    needs_partition = ["links"]
    needs_environ = ["sweep-build"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    tags = {"smoke"}
    informational = ["carried_share"]
    hint = "look at `ucx_info -d`, `ompi_info`, UCX_TLS, UCX_NET_DEVICES, OMPI_MCA_* and the adapters of the node"
    build = rfmb.fixture(RingTrafficBuild, scope="environment")

    mib = rfmb.variable(int, value=32)
    tunable = {"mib": Tunable("whole number", "MiB", "that each node sends to each of two others")}

    @rfmb.run_after("setup")
    def command_line(self):
        self.programs = [self.build.command]
        self.executable = " ".join(["env", *ASKED, shlex.quote(self.build.command)])
        self.executable_opts = [f"--output={RESULT}", f"--mib={self.mib}"]

    @rfmb.sanity_function
    def transport_is_right(self):
        expected = self.current_partition.extras.get("transport", {})
        traffic = self.parsed(ring_traffic.parse, self.output_text(RESULT), expect_nodes=self.num_tasks)
        said = mpi_report.parse(self.output_text() + self.output_text(str(self.stderr)))
        for direction, counted in (("sent", traffic.sent_bytes), ("received", traffic.received_bytes)):
            for adapter in sorted({name for own in counted.values() for name in own}):
                shares = {node: own.get(adapter, 0) / traffic.payload_bytes for node, own in counted.items()}
                self.record_per_node(f"{direction}_{adapter}", "", shares)
        self.least_carried = min(sum(own.values()) for own in traffic.sent_bytes.values()) / traffic.payload_bytes
        adapters, over = expected.get("adapters", []), traffic.ip_over_infiniband
        text = None if adapters else unlike_any(traffic.payload_bytes, traffic.sent_bytes, bool(expected), over)
        if text:
            raise SanityError(f"{text}; what is right, `transport` of the partition in site.yaml says: {EXAMPLE}")
        wrong = list(wrong_adapters(traffic.payload_bytes, traffic.sent_bytes, adapters, over))
        if protocols := expected.get("protocols"):
            wrong += wrong_protocols(said, protocols)
            if not said:
                raise SanityError(f"MPI does not say whether it uses {' or '.join(protocols)}: see the job's output")
        if wrong:
            self.suspects = sorted({node for node, _ in wrong} & set(traffic.sent_bytes))
            raise SanityError("; ".join(f"{node}: {text}" for node, text in wrong[:8]))
        if protocols and (text := silent_hosts(said, traffic.sent_bytes)):
            raise SanityError(f"{text}: see the job's output")
        return self.require_all_nodes(traffic.sent_bytes)

    @rfmb.performance_function("")
    def carried_share(self):
        """What all adapters of a node counted as sent, of what MPI sent from it; of the node with the least."""
        return self.least_carried
