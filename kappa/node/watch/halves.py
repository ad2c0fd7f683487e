"""Find the nodes that do not work if only groups of nodes can be tried: halve a failing group until it is one node."""

MOST_GROUPS = 32  # more groups that fail at the same time are no fault of single nodes


def not_working(nodes, tried):
    """Return the nodes that failed twice while all other nodes together work; none if that is not the case.

    ``tried(groups, patience)`` tries all groups at once, with ``patience`` times the usual patience, and returns for
    each whether it works. If two nodes work alone, but not together, each is tried beside a node of a working group.
    """
    # If the whole works, both halves do. If the whole fails and both halves work, no node can be named.
    suspects, working, pairs, groups = {}, [], [], halves_of(nodes)
    while groups:
        if len(groups) > MOST_GROUPS:
            return []
        halves = []
        for number, works in enumerate(tried(groups, 1)):
            group = groups[number]
            if works:
                working += group if len(group) > 1 else []
            elif len(group) == 1:
                suspects[group[0]] = group
            else:
                pairs += [group] if len(group) == 2 else []
                halves += halves_of(group)
        groups = halves
    alone = [node for pair in pairs if not set(pair) & set(suspects) for node in pair]
    if alone and working:
        beside = [[node, working[0]] for node in alone]
        work = tried(beside, 1)
        suspects.update((pair[0], pair) for number, pair in enumerate(beside) if not work[number])
    rest = [node for node in nodes if node not in suspects]
    if not suspects or not rest:
        return []
    works, *again = tried([rest, *suspects.values()], 2)
    return [node for number, node in enumerate(suspects) if not again[number]] if works else []


def halves_of(group):
    return [half for half in (group[: len(group) // 2], group[len(group) // 2 :]) if half]
