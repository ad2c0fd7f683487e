"""Find the nodes that ``kappa-node exchange`` gives evidence against: nodes with another node's address, or whose long
messages do not arrive. Each message was sent twice, the second time with twice the patience.
"""


def speaking_against(told):
    """Return findings from the records that ``kappa-node exchange`` printed; none if all nodes are alike."""
    nodes, found = {one["node"] for one in told}, {}
    takers = {one["answered_by"]: one["peer"] for one in told if one["answered_by"]}
    if takers:
        return [
            {"node": node, "reason": "address", "peer": peer, "said": "it answers for the address of " + peer}
            for node, peer in sorted(takers.items())
        ]
    failed = [one for one in told if one["failure"]]
    for one in [each for each in failed if each["refused"]]:
        why = f"its kernel does not send to {one['peer']}: {one['refused']}"
        found[one["node"]] = ("link", f"{why}; a long message: {one['failure']}")
    left = [one for one in failed if not {one["node"], one["peer"]} & set(found)]
    while left:
        partners = {node: {end for one in left if node in ends(one) for end in ends(one)} - {node} for node in nodes}
        node = max(sorted(nodes), key=lambda each: len(partners[each]))
        count, most = len(partners[node]), sum(one["node"] == node for one in told)
        if count < 2 or 2 * count <= most:
            break
        found[node] = ("link", f"long messages do not arrive between it and {count} of {most} nodes")
        left = [one for one in left if node not in ends(one)]
    named = [{"node": node, "reason": reason, "said": said} for node, (reason, said) in sorted(found.items())]
    # In a job of two nodes that cannot reach each other, nothing shows which one is faulty, or if either is.
    links = {frozenset(ends(one)): one for one in left if len(nodes) > 2}
    for one in links.values():
        said = f"long messages from {one['node']} do not arrive at {one['peer']}: {one['failure']}"
        named.append({"node": one["node"], "reason": "link", "peer": one["peer"], "said": said})
    return named if 2 * len(named) <= len(nodes) else []


def ends(one):
    return one["node"], one["peer"]


def with_address_of_others(nodes, told, address_of):
    """Return findings of nodes that also have the address of another node.

    :param told: node -> the record of ``kappa-node look``, for each node of ``nodes`` that answers.
    :param address_of: returns the address of a name, or ``None``.
    """
    holders = {}
    for node, look in told.items():
        for address in look["addresses"]:
            holders.setdefault(address, []).append(node)
    shared = {node for having in holders.values() if len(having) > 1 for node in having}
    found = []
    for node in sorted(shared | set(nodes).difference(told)):
        for other in holders.get(address_of(node), ()):
            # Two Slurm nodes may be one machine.
            if other != node and told[other]["addresses"] != told.get(node, {}).get("addresses"):
                said = f"it has the address of {node}, {address_of(node)}"
                found.append({"node": other, "reason": "address", "peer": node, "said": said})
    return found
