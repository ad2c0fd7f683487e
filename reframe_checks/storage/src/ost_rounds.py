#!/usr/bin/env python3
"""Usage: ost_rounds.py OSTS CONNECTIONS PASSES NODE…

Print lines `ROUND NODE INDEX`: in ROUND, NODE writes to the object storage target INDEX. In each pass, every target has
one turn, with another node than before. Targets of a round share neither server nor node. OSTS is the output of
`lfs osts`, CONNECTIONS of `lctl get_param osc.*.ost_conn_uuid`.

Runs on Python 3.6, which old systems bring.
"""

import re
import sys


def rounds_of(server_of, nodes, passes):
    """Return a list of [(node, target)] for each round.

    Each round takes one target of each of the servers with the most targets left, up to the number of nodes.
    """
    waiting = {}
    for target, server in server_of.items():
        waiting.setdefault(server, []).append(target)
    groups = []
    while any(waiting.values()):
        longest = sorted((server for server in waiting if waiting[server]), key=lambda one: (-len(waiting[one]), one))
        groups.append([waiting[server].pop(0) for server in longest[: len(nodes)]])
    return [
        [(nodes[(place + number + turn) % len(nodes)], target) for place, target in enumerate(group)]
        for turn in range(passes)
        for number, group in enumerate(groups)
    ]


def server_of_index(osts, connections):
    """Return index of each active target -> address of its server."""
    servers = dict(re.findall(r"^osc\.(\S+-OST[0-9a-f]{4})-osc-\w+\.ost_conn_uuid=(\S+)$", connections, re.MULTILINE))
    found = re.findall(r"^(\d+): (\S+-OST[0-9a-f]{4})_UUID ACTIVE\s*$", osts, re.MULTILINE)
    unknown = [name for _, name in found if name not in servers]
    if unknown or not found:
        sys.exit("ost_rounds.py: unknown server of " + (", ".join(unknown) or "any target"))
    return {int(index): servers[name] for index, name in found}


def main(osts, connections, passes, *nodes):
    texts = []
    for name in (osts, connections):
        with open(name, encoding="utf-8") as file:
            texts.append(file.read())
    for number, measured in enumerate(rounds_of(server_of_index(*texts), nodes, int(passes)), start=1):
        for node, index in measured:
            print(number, node, index)


if __name__ == "__main__":
    main(*sys.argv[1:])
