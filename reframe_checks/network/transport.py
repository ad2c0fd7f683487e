"""Transport of MPI: the network, adapter and protocol that it really uses.

A fall back to TCP or to fewer rails is a failure that says so.
"""

import fnmatch
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.scaled import OnEachNode
from reframe_checks.parsers import transport
from reframe_checks.parsers.transport import Lane

#: An adapter with less than the first share of what MPI sent, or of many rails with less than half of its part, carries
#: something else; all together carry at least the second.
LEAST_SHARE, WHOLE_SHARE, LEAST_PART = 0.1, 0.9, 0.5


def unlike_any(
    payload_bytes: int,
    sent_bytes: Mapping[str, Mapping[str, int]],
    stated: bool,
    ip_over_infiniband: Collection[str] = (),
) -> str | None:
    """Return a fault of all nodes alike, where the site names no adapters; ``None`` if there is none.

    :param stated: the site says what MPI has to use, if not by which adapters: then that may be TCP beside RDMA.
    :param ip_over_infiniband: interfaces that count no RDMA, while the port below counts their traffic, too.
    """
    usual = _usual(payload_bytes, sent_bytes)
    if not usual:
        sets = Counter(", ".join(sorted(_used(_shares(payload_bytes, own)))) for own in sent_bytes.values())
        listed = "; ".join(f"{count} nodes {names or 'none'}" for names, count in sorted(sets.items()))
        return f"there are no adapters that most nodes use: {listed}"
    if not stated and (over := usual.intersection(ip_over_infiniband)):
        return f"MPI fell back to TCP: IP over InfiniBand ({', '.join(sorted(over))}) carried what MPI sent, no RDMA"
    having = [node for node, counted in sent_bytes.items() if any(map(_is_rdma, counted))]
    if not stated and 2 * len(having) > len(sent_bytes) and not any(map(_is_rdma, usual)):
        ports = ", ".join(sorted({name for counted in sent_bytes.values() for name in counted if _is_rdma(name)}))
        used = ", ".join(sorted(usual))
        return f"MPI fell back to TCP: it used {used}, and {ports} carried less than {LEAST_SHARE:.0%}"
    return None


def wrong_adapters(
    payload_bytes: int,
    sent_bytes: Mapping[str, Mapping[str, int]],
    expected: Sequence[str],
    ip_over_infiniband: Collection[str] = (),
) -> Iterator[tuple[str, str]]:
    """(node, what is wrong).

    :param sent_bytes: by node and adapter.
    :param expected: names or shell patterns of the adapters that share the traffic; of a pattern each that there is.
        Without any, those that most nodes use; nobody where there are none.
    :param ip_over_infiniband: interfaces whose traffic the port below counts, too.
    """
    usual = _usual(payload_bytes, sent_bytes)
    if not expected and not usual:
        return
    for node, counted in sent_bytes.items():
        shares = _shares(payload_bytes, counted)
        wanted = {name for name in shares if any(fnmatch.fnmatchcase(name, one) for one in expected)}
        if not expected:
            wanted = usual
        least = _least(len(wanted))
        used = {name for name, share in shares.items() if share >= (least if name in wanted else LEAST_SHARE)}
        if wanted.intersection(ip_over_infiniband):
            used = {name for name in used if name in wanted or not _is_rdma(name)}
        gone = [pattern for pattern in expected if not fnmatch.filter(shares, pattern)]
        if gone:
            yield node, f"there is no adapter {', '.join(gone)}: MPI used {_shown(shares, used)}"
        elif used - wanted:
            yield node, f"fell back to {_shown(shares, used - wanted)} in place of {', '.join(sorted(wanted))}"
        elif wanted - used:
            yield node, f"fewer rails: {_shown(shares, wanted & shares.keys())} of what MPI sent"
        elif sum(shares[name] for name in wanted) < WHOLE_SHARE:
            yield node, f"no adapter counted most of what MPI sent: {_shown(shares, shares)}"


def _usual(payload_bytes: int, sent_bytes: Mapping[str, Mapping[str, int]]) -> set[str]:
    """Return the adapters that more than half of the nodes use."""
    used = Counter(frozenset(_used(_shares(payload_bytes, counted))) for counted in sent_bytes.values())
    names, count = used.most_common(1)[0]
    return set(names) if 2 * count > len(sent_bytes) else set()


def _used(shares: Mapping[str, float]) -> set[str]:
    """As many of the adapters, those with the most first, as each carry what is to be expected of one of so many."""
    ranked = sorted(shares, key=lambda name: shares[name], reverse=True)
    counts = (count for count in range(len(ranked), 0, -1) if shares[ranked[count - 1]] >= _least(count))
    return set(ranked[: next(counts, 0)])


def _least(count: int) -> float:
    """Return the least share of one of so many adapters that share the traffic."""
    return min(LEAST_SHARE, LEAST_PART / max(1, count))


def _shares(payload_bytes: int, counted: Mapping[str, int]) -> dict[str, float]:
    return {name: count / payload_bytes for name, count in counted.items()}


def _is_rdma(name: str) -> bool:
    """Ports are called ADAPTER:NUMBER, network interfaces are not."""
    return ":" in name


def silent_hosts(said: Mapping[str, object], nodes: Collection[str]) -> str | None:
    """Name the nodes whose MPI says nothing of itself; ``None`` where all hosts tell, or none."""
    hosts = {host for host in said if host}
    if not hosts or len(hosts) >= len(nodes):
        return None
    short = {host.partition(".")[0] for host in hosts}
    missing = sorted(node for node in nodes if node.partition(".")[0] not in short)
    return f"MPI says on {len(hosts)} of {len(nodes)} nodes what it uses, and nothing on {', '.join(missing[:8])}"


def wrong_protocols(said: Mapping[str, frozenset[Lane]], expected: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(host, which lanes are none of the protocols ``expected``, names or shell patterns)."""
    for host, lanes in said.items():
        others = {lane for lane in lanes if not any(fnmatch.fnmatchcase(lane.protocol, one) for one in expected)}
        if others:
            used = ", ".join(sorted(map(str, others)))
            yield host, f"MPI uses {used}, the site expects {' or '.join(expected)}"


def _shown(shares: Mapping[str, float], names: object) -> str:
    chosen = sorted(names)  # type: ignore[call-overload]
    return ", ".join(f"{name} ({100 * shares[name]:.0f} %)" for name in chosen) or "none"


RESULT = "ring_traffic.json"
EXAMPLE = "`{adapters: [eth0]}` for TCP on purpose"
# How each library is asked what it uses; the others ignore it.
ASKED = [
    "OMPI_MCA_pml_base_verbose=10", "OMPI_MCA_bml_base_verbose=10", "OMPI_MCA_btl_base_verbose=30",
    "UCX_LOG_LEVEL=info", "I_MPI_DEBUG=5",
]  # fmt: skip


@rfm.simple_test
class TransportUsed(OnEachNode, KappaCheck):
    """Which network, adapter and protocol MPI really uses: a fall back to TCP or to fewer rails is a failure that says
    so.

    Every node sends to both of its neighbours (``kappa-measure ring-traffic``) while the adapters' own counters
    are read, and the library is asked to say what it chose (Open MPI, UCX, Intel MPI). The site says what it
    expects (``transport`` of a partition); without that all nodes have to use the same adapters, of RDMA where
    there is RDMA.
    """

    descr = "Network, adapter and protocol that MPI uses, by the adapters' counters and its own report"
    family = "network/transport"
    measured_s = 3
    needs_partition = ["links"]
    needs_environ = ["sweep-build"]
    tags = {"smoke"}
    informational = ["carried_share"]
    hint = "look at `ucx_info -d`, `ompi_info`, UCX_TLS, UCX_NET_DEVICES, OMPI_MCA_* and the adapters of the node"
    build = rfmb.fixture(MeasureProgram, scope="environment")

    mib = SiteVariable(32, "whole number", "MiB", "data that each node sends to each of two others")

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = " ".join(["env", *ASKED, self.executable])
        self.executable_opts = ["ring-traffic", f"--output={RESULT}", f"--mib={self.mib}"]

    @rfmb.sanity_function
    def transport_is_right(self):
        expected = self.current_partition.extras.get("transport", {})
        traffic = self.parsed(transport.ring_traffic, self.output_text(RESULT), expect_nodes=self.num_tasks)
        said = transport.lanes(self.output_text() + self.output_text(str(self.stderr)))
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

    metrics = {
        # What all adapters of a node counted as sent, of what MPI sent from it; of the node with the least.
        "carried_share": ("", lambda self: self.least_carried),
    }
