"""Checks of one node that one job may do on many, and how many of them a night's turn gives to a job."""

#: ReFrame's tag of the cases that take all nodes that they are given: on their partition they can do so.
TAG = "many_nodes"
#: A job of more waits long for all of them on a busy partition, and is all measured again for one of them.
MOST_IN_TURN = 64


def shares(nodes: list[str]) -> list[list[str]]:
    """``nodes`` in as few jobs as that allows, equally large but for one node."""
    jobs = -(-len(nodes) // MOST_IN_TURN)
    return [nodes[number::jobs] for number in range(jobs)]
