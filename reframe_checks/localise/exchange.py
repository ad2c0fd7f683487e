"""Find faulty nodes and links from the packets that nodes exchanged over TCP and UDP."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from kappa.node.watch.exchange import MOST_PEERS
from reframe_checks.localise.finding import Finding, Floats, ranked
from reframe_checks.localise.pairs import Pair, blamed, cover
from reframe_checks.parsers.exchange import Exchanged

#: Fewer packets of a pair are chance, or belong to other programs on the same adapter.
LEAST_COUNT = 3
LONG = "long messages"


def _percent(count: int, whole: int) -> float:
    return 100 * count / whole if whole and count >= LEAST_COUNT else 0.0


def missing_percent(one: Exchanged) -> float:
    """Return the share of lost packets, %: the largest of datagrams, datagrams that fill a packet, and TCP segments.

    A segment that arrived twice was not lost, only late.
    """
    lost_segments = max(0, one.retransmitted - one.duplicate_segments)
    return max(
        _percent(one.missing, one.datagrams),
        _percent(one.missing_long, one.long_datagrams),
        _percent(lost_segments, one.segments),
    )


def out_of_order_percent(one: Exchanged) -> float:
    """Return the share of packets out of order, %. Segments that TCP reordered after a loss count as lost instead."""
    late = max(one.reordered_segments, one.out_of_order_segments - one.retransmitted)
    return max(_percent(one.out_of_order, one.datagrams), _percent(late, one.segments))


def duplicate_percent(one: Exchanged) -> float:
    again = max(0, one.duplicate_segments - one.retransmitted)
    return max(_percent(one.twice, one.datagrams), _percent(again, one.segments))


def slow_connects_percent(one: Exchanged) -> float:
    return _percent(one.slow_connects, one.connects)


def outage_ms(one: Exchanged) -> float:
    return one.longest_outage_ms


#: Name of the figure -> unit, the function of one node's report about a pair, and the figure in words.
FIGURES: Mapping[str, tuple[str, Callable[[Exchanged], float], str]] = {
    "longest_outage": ("ms", outage_ms, "an outage"),
    "lost_packets": ("%", missing_percent, "packet loss"),
    "packets_out_of_order": ("%", out_of_order_percent, "packets out of order"),
    "duplicate_packets": ("%", duplicate_percent, "packets that come twice"),
    "slow_connections": ("%", slow_connects_percent, "connections that TCP had to request again"),
}


def matrix_of(exchanged: Sequence[Exchanged], nodes: Sequence[str], figure: Callable[[Exchanged], float]) -> Floats:
    """Return the figure of each pair, the larger of its two nodes' reports: n x n, symmetric; NaN without a report."""
    place = {node: number for number, node in enumerate(nodes)}
    values = np.full((len(nodes), len(nodes)), np.nan)
    for one in exchanged:
        i, j = place[one.node], place[one.peer]
        values[i, j] = values[j, i] = np.fmax(values[i, j], figure(one))
    return values


def suspects_of_figures(quantity: str, unit: str, nodes: Sequence[str], values: Floats, limit: float) -> list[Finding]:
    """Return the fewest nodes and links that explain every pair above ``limit``, the worst first.

    A node is blamed if more than half of its pairs are above it; else the link.

    :param values: as :func:`matrix_of` returns them.
    """
    bad = {(int(i), int(j)): float(values[i, j]) for i, j in np.argwhere(np.triu(np.nan_to_num(values) > limit))}
    partners = [int(count) for count in np.isfinite(values).sum(axis=1)]
    findings = []
    for members, explained in cover(bad, partners):
        typical = statistics.median(bad[pair] for pair in explained)
        pairs = f" with {len(explained)} of {partners[members[0]]} nodes" if len(members) == 1 else ""
        evidence = f"{typical:.3g} {unit}{pairs}"
        findings.append(Finding(*blamed(nodes, members), quantity, typical / limit, None, evidence))
    return _of_few(ranked(findings), nodes, len(bad))


def suspects_of_failures(exchanged: Sequence[Exchanged], nodes: Sequence[str]) -> list[Finding]:
    """Return the nodes and links to blame for long messages that do not arrive; nodes whose kernel refuses first."""
    failed = [one for one in exchanged if one.failure]
    refusing = sorted({one.node for one in failed if one.refused})
    findings = [
        Finding("node", node, (node,), LONG, None, None, "; ".join(_said(failed, node)))
        for node in refusing
    ]
    place = {node: number for number, node in enumerate(nodes)}
    bad: dict[Pair, float] = {}
    for one in failed:
        if not {one.node, one.peer} & {*refusing}:
            i, j = sorted((place[one.node], place[one.peer]))
            bad[i, j] = bad.get((i, j), 0) + 1
    partners = [sum(one.node == node for one in exchanged) for node in nodes]
    for members, explained in cover(bad, partners):
        kind, name, names = blamed(nodes, members)
        text = f"do not arrive between {len(explained)} pairs" if kind == "node" else "; ".join(_said(failed, *names))
        findings.append(Finding(kind, name, names, LONG, None, None, text))
    return _of_few(findings, nodes, len({frozenset((one.node, one.peer)) for one in failed}))


def _of_few(findings: list[Finding], nodes: Sequence[str], bad_pairs: int) -> list[Finding]:
    """Return the findings; none if they blame more than half of the nodes, or no pair is sound: the cause is common."""
    named = sum(finding.kind == "node" for finding in findings)
    most_pairs = len(nodes) * min(len(nodes) - 1, MOST_PEERS) // 2
    return findings if 2 * named <= len(nodes) and (bad_pairs < most_pairs or len(nodes) == 2) else []


def _said(failed: Sequence[Exchanged], *nodes: str) -> Iterator[str]:
    for one in failed:
        if one.node in nodes and (len(nodes) == 1 or one.peer in nodes):
            refused = f", because its kernel does not send: {one.refused}" if one.refused else ""
            yield f"{one.node} to {one.peer}: {one.failure}{refused}"


def address_takers(exchanged: Sequence[Exchanged]) -> dict[str, list[str]]:
    """Return the nodes that have the address of other nodes, or answer for it: node -> the other nodes."""
    found: dict[str, set[str]] = {}
    for one in exchanged:
        if one.answered_by is not None:
            found.setdefault(one.answered_by, set()).add(one.peer)
    return {node: sorted(others) for node, others in sorted(found.items())}
