"""From messages that did not arrive as they were sent to the nodes and links that can have changed them.

One is enough: what is compared is equal or not. The fewest nodes and links are named that explain every wrong pair.
Of collectives, an all-to-all of large blocks tells its pairs, as each block is sent from its sender to its receiver;
others pass blocks on: there the node is named that alone of three or more got wrong data.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from kappa.core.record.evidence import Finding
from reframe_checks.localise.cover import Pair, blamed, cover
from reframe_checks.localise.finding import ranked
from reframe_checks.parsers.pair_sweep import Collective, Payloads

QUANTITY = "wrong payload"
SENT_DIRECTLY = "all-to-all"


def suspects_of_payloads(
    nodes: Sequence[str],
    payloads: Iterable[Payloads],
    collectives: Iterable[Collective],
    partners: Sequence[int] | None = None,
) -> list[Finding]:
    """Findings, the most wrong messages first; ``score`` is their number.

    :param partners: with how many others each node was measured; all, if not given.
    """
    wrong: Counter[Pair] = Counter()
    for each in payloads:
        wrong[each.pair] += each.wrong
    findings = []
    for collective in collectives:
        if collective.operation != SENT_DIRECTLY:
            findings += _alone(nodes, collective)
            continue
        for sender, receiver in collective.wrong_blocks:
            if sender != receiver:
                wrong[min(sender, receiver), max(sender, receiver)] += 1
    for members, explained in cover(+wrong, partners or [len(nodes) - 1] * len(nodes)):
        count = sum(wrong[pair] for pair in explained)
        findings.append(Finding(*blamed(nodes, members), QUANTITY, float(count), None, _told(count, len(explained))))
    return ranked(findings)


def _alone(nodes: Sequence[str], collective: Collective) -> list[Finding]:
    receivers = {receiver for _, receiver in collective.wrong_blocks}
    if len(receivers) != 1 or len(nodes) < 3:
        return []
    (node,) = (nodes[receiver] for receiver in receivers)
    evidence = f"alone got wrong data of {collective.operation}"
    return [Finding("node", node, (node,), QUANTITY, float(len(collective.wrong_blocks)), None, evidence)]


def _told(wrong: int, pairs: int) -> str:
    return f"in {wrong} of all messages" + (f", with {pairs} nodes" if pairs > 1 else "")


def complaints(nodes: Sequence[str], payloads: Iterable[Payloads], collectives: Iterable[Collective]) -> list[str]:
    """What is wrong, for the operator: the pairs, and the collectives with who got wrong data."""
    pairs = [
        f"{'-'.join(nodes[node] for node in each.pair)}: {each.wrong} of {each.messages} messages have another content"
        for each in payloads
        if each.wrong
    ]
    return pairs + [
        f"{each.operation}: wrong data on {', '.join(sorted({nodes[receiver] for _, receiver in each.wrong_blocks}))}"
        for each in collectives
        if each.wrong_blocks
    ]
