"""The two CPUs of a placement within one node, from the topology that a site states for its processor."""

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


def _lowest(mask: int) -> int:
    if mask <= 0:
        raise ValueError("processor/topology/cores: a mask without a CPU")
    return (mask & -mask).bit_length() - 1
