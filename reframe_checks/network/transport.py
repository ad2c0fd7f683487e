"""Transport of MPI: the network, adapter and protocol that MPI really uses.

The check fails if MPI fell back to TCP or to fewer rails.
"""

import fnmatch
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.scaled import OnEachNode
from reframe_checks.parsers import transport
from reframe_checks.parsers.transport import Lane

#: An adapter counts as used if it carries at least ``LEAST_SHARE`` of MPI's data, or with many rails ``LEAST_PART`` of
#: its equal part. All used adapters together must carry ``WHOLE_SHARE``.
LEAST_SHARE, WHOLE_SHARE, LEAST_PART = 0.1, 0.9, 0.5


def unlike_any(
    payload_bytes: int,
    sent_bytes: Mapping[str, Mapping[str, int]],
    stated: bool,
    ip_over_infiniband: Collection[str] = (),
) -> str | None:
    """Return a fault that all nodes share, if the site names no adapters; ``None`` if there is no fault.

    :param stated: the site states the transport, although not the adapters: it may then be TCP beside RDMA.
    :param ip_over_infiniband: interfaces that count no RDMA; the port below counts their traffic, too.
    """
    usual = _usual(payload_bytes, sent_bytes)
    if not usual:
        sets = Counter(", ".join(sorted(_used(_shares(payload_bytes, own)))) for own in sent_bytes.values())
        listed = "; ".join(f"{count} nodes {names or 'none'}" for names, count in sorted(sets.items()))
        return f"nodes use different adapters: {listed}"
    if not stated and (over := usual.intersection(ip_over_infiniband)):
        return f"MPI fell back to TCP: IP over InfiniBand ({', '.join(sorted(over))}) carried its data, and not RDMA"
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
    """Yield (node, problem) for each node with wrong adapters.

    :param sent_bytes: node -> adapter -> bytes.
    :param expected: names or shell patterns of the adapters that share the traffic; a pattern means all its matches. If
        it is empty, nodes are compared with the adapters that most nodes use; without such adapters, no node is
        yielded.
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
            yield node, f"the adapter {', '.join(gone)} does not exist; MPI used {_shown(shares, used)}"
        elif used - wanted:
            yield node, f"fell back to {_shown(shares, used - wanted)} instead of {', '.join(sorted(wanted))}"
        elif wanted - used:
            yield node, f"fewer rails: {_shown(shares, wanted & shares.keys())} of MPI's data"
        elif sum(shares[name] for name in wanted) < WHOLE_SHARE:
            yield node, f"no adapter counted most of MPI's data: {_shown(shares, shares)}"


def _usual(payload_bytes: int, sent_bytes: Mapping[str, Mapping[str, int]]) -> set[str]:
    """Return the adapters that more than half of the nodes use."""
    used = Counter(frozenset(_used(_shares(payload_bytes, counted))) for counted in sent_bytes.values())
    names, count = used.most_common(1)[0]
    return set(names) if 2 * count > len(sent_bytes) else set()


def _used(shares: Mapping[str, float]) -> set[str]:
    """Return the used adapters: the largest number of adapters that each carry the least share for this number."""
    ranked = sorted(shares, key=lambda name: shares[name], reverse=True)
    counts = (count for count in range(len(ranked), 0, -1) if shares[ranked[count - 1]] >= _least(count))
    return set(ranked[: next(counts, 0)])


def _least(count: int) -> float:
    """Return the least share of an adapter, if ``count`` adapters share the traffic."""
    return min(LEAST_SHARE, LEAST_PART / max(1, count))


def _shares(payload_bytes: int, counted: Mapping[str, int]) -> dict[str, float]:
    return {name: count / payload_bytes for name, count in counted.items()}


def _is_rdma(name: str) -> bool:
    """Tell whether the name belongs to an RDMA port, ADAPTER:NUMBER; network interfaces have no colon."""
    return ":" in name


def silent_hosts(said: Mapping[str, object], nodes: Collection[str]) -> str | None:
    """Return a text that names nodes whose MPI prints no transport; ``None`` if all hosts print one, or none does."""
    hosts = {host for host in said if host}
    if not hosts or len(hosts) >= len(nodes):
        return None
    short = {host.partition(".")[0] for host in hosts}
    missing = sorted(node for node in nodes if node.partition(".")[0] not in short)
    return f"MPI printed its transport on {len(hosts)} of {len(nodes)} nodes, but not on {', '.join(missing[:8])}"


def wrong_protocols(said: Mapping[str, frozenset[Lane]], expected: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (host, problem) for each host with lanes of other protocols.

    :param expected: names or shell patterns of the protocols.
    """
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
# Variables that make each library print its transport; the other libraries ignore them.
ASKED = [
    "OMPI_MCA_pml_base_verbose=10", "OMPI_MCA_bml_base_verbose=10", "OMPI_MCA_btl_base_verbose=30",
    "UCX_LOG_LEVEL=info", "I_MPI_DEBUG=5",
]  # fmt: skip


@rfm.simple_test
class TransportUsed(OnEachNode, KappaCheck):
    """Check the network, adapter and protocol that MPI really uses; a fall-back to TCP or to fewer rails fails.

    Every node sends to both neighbours (``kappa-measure ring-traffic``) while the adapters' counters are read. The
    library (Open MPI, UCX, Intel MPI) prints the transport that it uses. The site states the expected transport
    (``transport`` of a partition). Without that, all nodes must use the same adapters, and RDMA if there is RDMA.
    """

    descr = (
        "Compares the network, adapters and protocol that MPI uses with the expected ones; finds fall-backs to TCP or "
        "to fewer rails"
    )
    family = "network/transport"
    measured_s = 3
    needs_partition = ["links"]
    needs_environ = ["sweep-build"]
    tags = {"smoke"}
    informational = ["carried_share"]
    hint = "check `ucx_info -d`, `ompi_info`, UCX_TLS, UCX_NET_DEVICES, OMPI_MCA_* and the node's adapters"
    failure_means = (
        "MPI uses another adapter, network or protocol than it should, for instance TCP in place of RDMA; programs "
        "run, but slowly. Repair the named node's adapter, or MPI's settings if all nodes are wrong."
    )
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
            raise SanityError(f"{text}; if this is right, state `transport` of the partition in site.yaml: {EXAMPLE}")
        wrong = list(wrong_adapters(traffic.payload_bytes, traffic.sent_bytes, adapters, over))
        if protocols := expected.get("protocols"):
            wrong += wrong_protocols(said, protocols)
            if not said:
                raise SanityError(f"MPI did not print whether it uses {' or '.join(protocols)}: see the job's output")
        if wrong:
            self.suspects = sorted({node for node, _ in wrong} & set(traffic.sent_bytes))
            raise SanityError("; ".join(f"{node}: {text}" for node, text in wrong[:8]))
        if protocols and (text := silent_hosts(said, traffic.sent_bytes)):
            raise SanityError(f"{text}: see the job's output")
        return self.require_all_nodes(traffic.sent_bytes)

    metrics = {
        # Bytes that all adapters of a node counted as sent, divided by the bytes that MPI sent; the least of all nodes.
        "carried_share": ("", lambda self: self.least_carried),
    }
