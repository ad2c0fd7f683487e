"""Kinds of nodes: those that are alike by what Slurm says, and how a job asks for them.

Features of Slurm that name a place, all nodes of a switch and no other, make no kind; what else differs does.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from kappa.survey.slurm import Node, SlurmPartition, Switch

#: As many are told apart by features; with more, features name places, and only the hardware tells kinds apart.
MOST_KINDS = 24
#: Less is the same memory, as a share.
MEMORY_STEP = 0.03


class Part(NamedTuple):
    """Alike nodes that one partition of Slurm holds: a partition of the site.

    ``options``: of a job, besides ``--partition``, that gets these nodes alone; ``None`` when Slurm has no words for
    them. ``whole``: the partition holds no others.
    """

    name: str
    slurm_partition: str
    nodes: tuple[Node, ...]
    options: tuple[str, ...] | None
    whole: bool

    def to_probe(self, most: int) -> tuple[Node, ...]:
        """Idle nodes before others; none that takes no job."""
        usable = sorted((node for node in self.nodes if node.usable), key=lambda node: not node.idle)
        idle = [node for node in usable if node.idle]
        return tuple((idle or usable)[:most])


def place_features(nodes: Sequence[Node], switches: Iterable[Switch]) -> frozenset[str]:
    """Features that all nodes of a switch have and no other node."""
    holders: dict[str, set[str]] = {}
    for node in nodes:
        for feature in node.features:
            holders.setdefault(feature, set()).add(node.name)
    names = {node.name for node in nodes}
    groups = {frozenset(switch.nodes & names) for switch in switches}
    return frozenset(feature for feature, names in holders.items() if frozenset(names) in groups)


def kinds(nodes: Sequence[Node], switches: Sequence[Switch]) -> list[tuple[Node, ...]]:
    """The nodes in groups that are alike, the largest first."""
    places = place_features(nodes, switches)
    finest = _grouped(nodes, places, by_feature=True)
    return finest if len(finest) <= MOST_KINDS else _grouped(nodes, places, by_feature=False)


def _grouped(nodes: Sequence[Node], places: Collection[str], *, by_feature: bool) -> list[tuple[Node, ...]]:
    found: dict[object, list[Node]] = {}
    for node in nodes:
        features = frozenset(node.features) - frozenset(places) if by_feature else frozenset()
        shape = (node.arch, node.sockets, node.cores_per_socket, node.threads_per_core)
        found.setdefault((*shape, node.gres, features), []).append(node)
    groups = [group for alike in found.values() for group in _by_memory(alike)]
    return sorted(groups, key=lambda group: (-len(group), group[0].name))


def _by_memory(nodes: Iterable[Node]) -> Iterator[tuple[Node, ...]]:
    """Split where the memory makes a step: Slurm has what each node's kernel left at some time."""
    group: list[Node] = []
    for node in sorted(nodes, key=lambda node: node.memory_mib):
        if group and node.memory_mib > (1 + MEMORY_STEP) * group[-1].memory_mib:
            yield tuple(group)
            group = []
        group.append(node)
    yield tuple(group)


def parts(
    groups: Sequence[tuple[Node, ...]], nodes: Sequence[Node], partitions: Sequence[SlurmPartition]
) -> tuple[list[Part], list[Node]]:
    """Each kind in as few partitions of Slurm as hold it, and the nodes that no partition open to users holds."""
    found: list[tuple[str, tuple[Node, ...], SlurmPartition]] = []
    unreachable: list[Node] = []
    for group in groups:
        left = {node.name: node for node in group}
        while left:
            best = max(partitions, key=lambda one: _worth(one, left), default=None)
            if best is None or not _worth(best, left)[0]:
                unreachable += left.values()
                break
            names = set(best.nodes)
            held = tuple(node for name, node in left.items() if name in names)
            found.append((best.name, held, best))
            left = {name: node for name, node in left.items() if name not in names}
    return list(_named(found, {node.name: node for node in nodes})), unreachable


def _worth(partition: SlurmPartition, left: Collection[str]) -> tuple[int, float, bool, float]:
    """What to compare partitions by: the nodes that they hold, how few others, the default one, the longest jobs."""
    held = len(set(partition.nodes) & set(left)) if partition.open_to_users else 0
    longest = float("inf") if partition.longest_s is None else partition.longest_s
    return held, held / max(len(partition.nodes), 1), partition.default, longest


def _named(found: Sequence[tuple[str, tuple[Node, ...], SlurmPartition]], nodes: dict[str, Node]) -> Iterator[Part]:
    of_partition: dict[str, int] = {}
    for name, _, _ in found:
        of_partition[name] = of_partition.get(name, 0) + 1
    used: set[str] = set()
    for name, held, partition in found:
        names = {node.name for node in held}
        others = [nodes[one] for one in partition.nodes if one in nodes and one not in names]
        options = _options(held, others)
        feature = options[0].partition("=")[2] if options else ""
        title = name if of_partition[name] == 1 else f"{name}-{feature}" if feature.isalnum() else name
        number = 1
        while title in used:
            number += 1
            title = f"{name}-{number}"
        used.add(title)
        yield Part(title, name, held, options, not others)


def _options(held: Sequence[Node], others: Sequence[Node]) -> tuple[str, ...] | None:
    """By features that all of them have and no other, one if one will do."""
    if not others:
        return ()
    shared = sorted(frozenset.intersection(*(frozenset(node.features) for node in held)))
    for feature in shared:
        if not any(feature in node.features for node in others):
            return (f"--constraint={feature}",)
    if shared and not any(set(shared) <= set(node.features) for node in others):
        return (f"--constraint={'&'.join(shared)}",)
    return None
