"""Which CPUs a placement or a layout means, from the topology that a site states for its processor."""

from collections.abc import Mapping, Sequence

# Placement -> the parts of the node that its two ranks are in, and the index of each rank's part.
BOUND_PLACEMENTS = {
    "same_numa": ("numa_nodes", (0, 0)),
    "other_numa": ("numa_nodes", (0, 1)),
    "other_socket": ("sockets", (0, 1)),
    "gpus_other_socket": ("sockets", (0, 1)),
}


def cpus_of(placement: str, topology: Mapping[str, Sequence[str]]) -> tuple[int, int]:
    """The operating system's numbers of the CPUs for rank 0 and 1, on different cores.

    :param topology: ``processor/topology`` as ReFrame detects it: hexadecimal CPU masks of ``cores`` and of the parts.
    :raises ValueError: the topology lacks the parts, or a part has too few cores.
    """
    kind, indices = BOUND_PLACEMENTS[placement]
    for needed in ("cores", kind):
        if not topology.get(needed):
            raise ValueError(f"{placement}: the site's settings must give processor/topology/{needed}")
    parts = topology[kind]
    if len(parts) <= max(indices):
        raise ValueError(f"{placement}: processor/topology/{kind} has {len(parts)} entry: remove the feature")
    # The first CPU of each core: two ranks never share a core's hardware threads.
    firsts = [_lowest(int(mask, 16)) for mask in topology["cores"]]
    chosen: list[int] = []
    for index in indices:
        inside = [cpu for cpu in sorted(firsts) if int(parts[index], 16) >> cpu & 1 and cpu not in chosen]
        if not inside:
            raise ValueError(f"{placement}: too few cores in processor/topology/{kind} entry {index}")
        chosen.append(inside[0])
    return chosen[0], chosen[1]


def ranks_of_node(hybrid: bool, cores: int) -> int:
    """One rank for each core, or, where ranks have threads, two ranks; one on a node of less than four cores."""
    return (2 if cores >= 4 else 1) if hybrid else cores


def cores_of_ranks(ranks: int, scattered: bool, cores: Sequence[int], domains: Sequence[int]) -> list[list[int]]:
    """The cores of each rank of a node, as masks of their CPUs, in the order of ranks.

    Compact: one core after the other, so that a rank's are neighbours. Scattered: in turn from each NUMA domain, or
    from each half of a node that has one, so that a rank's are far from each other. What a whole number of cores for
    each rank leaves is not used.

    :param cores: masks of all cores of the node; ``domains``: those of its NUMA domains, none if nobody says.
    """
    size = len(cores) // ranks
    order = sorted(cores, key=_lowest)
    if scattered:
        parts = [[core for core in order if core & domain] for domain in domains]
        if len(parts) < 2:
            parts = [order[: len(order) // 2], order[len(order) // 2 :]]
        longest = max(map(len, parts))
        order = [part[number] for number in range(longest) for part in parts if number < len(part)]
    return [order[size * rank : size * (rank + 1)] for rank in range(ranks)]


def cpus_in(mask: int) -> list[int]:
    return [cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1]


def _lowest(mask: int) -> int:
    if mask <= 0:
        raise ValueError("processor/topology/cores: a mask without a CPU")
    return (mask & -mask).bit_length() - 1
