"""From messages that did not arrive as they were sent to the nodes and links that can have changed them.

One is enough: what is compared is equal or not. The fewest nodes and links are named that explain every wrong pair.
Of collectives, an all-to-all of large blocks tells its pairs, as each block is sent from its sender to its receiver;
others pass blocks on: there the node is named that alone of three or more got wrong data.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from kappa.record.evidence import Finding
from reframe_checks.localise.finding import Floats, ranked
from reframe_checks.localise.losses import blamed, cover
from reframe_checks.parsers.pair_sweep import Collective, Payloads

QUANTITY = "wrong payload"
SENT_DIRECTLY = "all-to-all"


def suspects_of_payloads(
    nodes: Sequence[str], payloads: Iterable[Payloads], collectives: Iterable[Collective]
) -> list[Finding]:
    """Findings, the most wrong messages first; ``score`` is their number."""
    wrong = np.zeros((len(nodes), len(nodes)))
    for each in payloads:
        i, j = each.pair
        wrong[i, j] += each.wrong
        wrong[j, i] += each.wrong
    findings = []
    for collective in collectives:
        if collective.operation != SENT_DIRECTLY:
            findings += _alone(nodes, collective)
            continue
        for sender, receiver in collective.wrong_blocks:
            if sender != receiver:
                wrong[sender, receiver] += 1
                wrong[receiver, sender] += 1
    findings += [
        Finding(*blamed(nodes, members), QUANTITY, float(wrong[explained].sum()), None, _told(wrong[explained]))
        for members, explained in cover(wrong > 0, wrong)
    ]
    return ranked(findings)


def _alone(nodes: Sequence[str], collective: Collective) -> list[Finding]:
    receivers = {receiver for _, receiver in collective.wrong_blocks}
    if len(receivers) != 1 or len(nodes) < 3:
        return []
    (node,) = (nodes[receiver] for receiver in receivers)
    evidence = f"alone got wrong data of {collective.operation}"
    return [Finding("node", node, (node,), QUANTITY, float(len(collective.wrong_blocks)), None, evidence)]


def _told(wrong: Floats) -> str:
    return f"in {wrong.sum():.0f} of all messages" + (f", with {len(wrong)} nodes" if len(wrong) > 1 else "")


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
