"""Group nodes into kinds: nodes that are equal in Slurm, and that a job can select.

A Slurm feature that names a place (exactly the nodes of a switch) makes no kind. Every other difference does, if a job
can select the kind. Equal machines that no job option tells apart are one kind.
"""

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kappa.app.survey.slurm import SERIES_ASK_S, Caller, Gres, SlurmNode, SlurmPartition, Switch
from kappa.core.ground.node_lists import folded

#: Largest number of kinds by features. With more, the features name places, and only the hardware makes kinds.
MOST_KINDS = 24
#: A smaller difference, as a share, is the same memory.
MEMORY_STEP = 0.03
# Largest length of a list of nodes in a job option, in characters.
_MOST_NAMED = 1000
# Most checks need one or two nodes.
_FEW = 2
# A feature that may be part of a partition's name.
_PLAIN = re.compile(r"\w+", re.ASCII)


class Part(NamedTuple):
    """Equal nodes of one Slurm partition, which become a partition of the site.

    ``options``: the job options, besides ``--partition``, that select these nodes alone; ``None`` if there are none.
    ``whole``: the Slurm partition has no other nodes. ``others``: other partitions with some of the nodes.
    """

    name: str
    partition: SlurmPartition
    nodes: tuple[SlurmNode, ...]
    options: tuple[str, ...] | None = None
    whole: bool = False
    others: tuple[SlurmPartition, ...] = ()

    def to_probe(self, most: int) -> tuple[SlurmNode, ...]:
        """Return nodes for a probe: idle nodes first, then nodes that Slurm must wake, then busy ones.

        :param most: wanted number of nodes. The partition's limits of a job come first. Return none if too few nodes
            accept jobs.
        """
        usable = sorted(
            (node for node in self.nodes if node.condition.takes_jobs),
            key=lambda node: 0 if node.condition.idle else 1 if node.condition.can_be_woken else 2,
        )
        least, allowed = self.partition.least_nodes, self.partition.most_nodes
        idle = [node for node in usable if node.condition.idle]
        chosen = idle if len(idle) >= least else usable
        return tuple(chosen[: max(least, min(most, allowed or most))]) if len(chosen) >= least else ()

    @property
    def gres(self) -> tuple[Gres, ...]:
        """Return the generic resources that all nodes have."""
        shared = frozenset.intersection(*(frozenset(node.gres) for node in self.nodes))
        return tuple(one for one in self.nodes[0].gres if one in shared)


def is_usable(node: SlurmNode) -> bool:
    """Return whether jobs can get the node, perhaps after Slurm has woken it."""
    return node.condition.takes_jobs or node.condition.can_be_woken


def place_features(nodes: Sequence[SlurmNode], switches: Iterable[Switch]) -> frozenset[str]:
    """Return the features that exactly the nodes of a switch have."""
    holders: dict[str, set[str]] = {}
    for node in nodes:
        for feature in node.features:
            holders.setdefault(feature, set()).add(node.name)
    names = {node.name for node in nodes}
    groups = {frozenset(switch.nodes & names) for switch in switches}
    return frozenset(feature for feature, names in holders.items() if frozenset(names) in groups)


def kinds(nodes: Sequence[SlurmNode], switches: Sequence[Switch]) -> list[tuple[SlurmNode, ...]]:
    """Return the nodes in groups of equal nodes, the largest first."""
    places = place_features(nodes, switches)
    nodes = _with_arch(nodes)
    finest = _grouped(nodes, places, by_feature=True)
    return finest if len(finest) <= MOST_KINDS else _grouped(nodes, places, by_feature=False)


def _with_arch(nodes: Sequence[SlurmNode]) -> list[SlurmNode]:
    """Fill in the architecture of nodes that have not registered yet, from equal nodes."""
    of_shape: dict[object, set[str]] = {}
    for node in nodes:
        of_shape.setdefault(_machine(node)[1:], set()).update({node.arch} - {""})
    known = {shape: min(archs) for shape, archs in of_shape.items() if len(archs) == 1}
    return [node if node.arch else node._replace(arch=known.get(_machine(node)[1:], "")) for node in nodes]


def _grouped(nodes: Sequence[SlurmNode], places: Collection[str], *, by_feature: bool) -> list[tuple[SlurmNode, ...]]:
    found: dict[object, list[SlurmNode]] = {}
    for node in nodes:
        features = frozenset(node.features) - frozenset(places) if by_feature else frozenset()
        found.setdefault((*_machine(node), node.gres, features), []).append(node)
    groups = [group for alike in found.values() for group in _by_memory(alike)]
    return sorted(groups, key=lambda group: (-len(group), group[0].name))


def _machine(node: SlurmNode) -> tuple[object, ...]:
    """Return what checks see of a node, without its memory."""
    gpus = tuple(one for one in node.gres if one.name == "gpu")
    shape = (node.sockets, node.cores_per_socket, node.threads_per_core, node.reserved_cores, node.reserved_numbers)
    return node.arch, *shape, gpus


def _by_memory(nodes: Iterable[SlurmNode]) -> Iterator[tuple[SlurmNode, ...]]:
    """Split the nodes where the memory makes a step. Slurm's values vary slightly with each node's kernel."""
    group: list[SlurmNode] = []
    for node in sorted(nodes, key=lambda node: node.memory_mib):
        if group and node.memory_mib > (1 + MEMORY_STEP) * group[-1].memory_mib:
            yield tuple(group)
            group = []
        group.append(node)
    yield tuple(group)


class PartitionChoice(NamedTuple):
    """Each kind of nodes with its partition.

    ``unreachable``: nodes in no partition of the caller. ``why_not``: why each other partition was not chosen.
    """

    parts: list[Part]
    unreachable: list[SlurmNode]
    why_not: dict[str, str]


# The advantage of the chosen partition in each value of its `_worth`, with its value and the other one.
_ADVANTAGES = (
    "surely admits you",
    f"gives a job {_FEW} nodes or fewer",
    "gives a job {} nodes, not {}",
    "has {} of the nodes, not {}",
    "needs no further option",
    "gives these nodes alone",
    "has no jobs that others preempt",
    "gives a job fewer nodes",
    "has a longer time limit",
    "gives a core to one job",
    "has fewer other nodes",
    "is the default",
    "has a longer time limit",
)


def parts(
    groups: Sequence[tuple[SlurmNode, ...]],
    nodes: Sequence[SlurmNode],
    partitions: Sequence[SlurmPartition],
    caller: Caller,
) -> PartitionChoice:
    """Assign each kind to partitions that the caller may use, by `_worth`, then by name.

    :param groups: the kinds, as `kinds` returns them. :param nodes: all nodes, also those that no job of the caller
        gets.
    """
    usable = [one for one in partitions if not one.bars(caller)]
    by_title = sorted(usable, key=lambda one: one.name)
    by_name = {node.name: node for group in groups for node in group}
    chosen: list[Part] = []
    unreachable: list[SlurmNode] = []
    lost: dict[str, tuple[int, str]] = {}
    for group in groups:
        left = {node.name: node for node in group}
        while left:
            candidates = [one for one in by_title if not left.keys().isdisjoint(one.nodes)]
            if not candidates:
                unreachable += left.values()
                break
            worths = [_worth(one, left, by_name, caller) for one in candidates]
            of_best = max(worths)
            best = candidates[worths.index(of_best)]
            held = [name for name in left if name in {*best.nodes}]
            chosen.append(Part(best.name, best, tuple(left.pop(name) for name in held)))
            for worth, one in zip(worths, candidates, strict=True):
                # The reason comes from the partition that gets most of its nodes.
                shared = len({*held} & {*one.nodes})
                if shared > lost.get(one.name, (0, ""))[0]:
                    lost[one.name] = shared, _why_not(worth, best.name, of_best)
    chosen = _told_apart(chosen, by_name)
    why_not = {
        one.name: one.bars(caller) or lost.get(one.name, (0, "has no node for your jobs"))[1]
        for one in partitions
        if one not in [part.partition for part in chosen]
    }
    existing = frozenset(node.name for node in nodes)
    return PartitionChoice(list(_named(chosen, by_name, usable, existing)), unreachable, why_not)


def _worth(
    partition: SlurmPartition, left: Mapping[str, SlurmNode], nodes: Mapping[str, SlurmNode], caller: Caller
) -> tuple[float, ...]:
    """Return what counts between partitions for the nodes ``left`` of a kind, most important first.

    The larger value is better. ``nodes``: all nodes that the caller's jobs get.
    """
    held = [left[name] for name in partition.nodes if name in left]
    others = [nodes[name] for name in partition.nodes if name in nodes and name not in left]
    longest = float("inf") if partition.longest_s is None else partition.longest_s
    usable = sum(map(is_usable, held))
    of_job = min(usable, partition.most_nodes or usable)
    return (
        partition.surely_admits(caller),
        partition.least_nodes <= _FEW,
        of_job if of_job >= partition.least_nodes else 0,
        len(held),
        not partition.wants(caller),
        _by_features(held, others) is not None,
        "PreemptMode" not in partition.settings,
        -partition.least_nodes,
        min(longest, SERIES_ASK_S),
        not shares_cores(partition),
        len(held) / len(partition.nodes),
        partition.default,
        longest,
    )


def _why_not(worth: tuple[float, ...], best: str, of_best: tuple[float, ...]) -> str:
    for advantage, value, best_value in zip(_ADVANTAGES, worth, of_best, strict=True):
        if value != best_value:
            return f"{best} {advantage.format(best_value, value)}"
    return f"{best} is equal, and first by name"


def shares_cores(partition: SlurmPartition) -> bool:
    """Return whether Slurm always gives cores to several jobs at a time (OverSubscribe=FORCE)."""
    return partition.settings.get("OverSubscribe", partition.settings.get("Shared", "")).startswith("FORCE")


def _told_apart(parts_left: Sequence[Part], nodes: Mapping[str, SlurmNode]) -> list[Part]:
    """Join kinds of equal machines in one partition if no job option selects one of them alone.

    Start with the largest kind. Kinds that its features cannot exclude join it, if all of them are equal to it.
    """
    left = list(parts_left)
    joined = []
    while left:
        part = left.pop(0)
        if _by_features(part.nodes, _beside(part, nodes)) is None:
            shared = _shared_features(part.nodes)
            more = [
                other
                for other in left
                if other.partition is part.partition
                and _equal(other.nodes, part.nodes)
                and any(shared <= {*node.features} for node in other.nodes)
            ]
            together = part._replace(nodes=(*part.nodes, *(node for other in more for node in other.nodes)))
            if more and _by_features(together.nodes, _beside(together, nodes)) is not None:
                part, left = together, [other for other in left if other not in more]
        joined.append(part)
    return sorted(joined, key=lambda part: -len(part.nodes))


def _beside(part: Part, nodes: Mapping[str, SlurmNode]) -> list[SlurmNode]:
    """Return the other nodes of the part's Slurm partition."""
    names = {node.name for node in part.nodes}
    return [nodes[name] for name in part.partition.nodes if name in nodes and name not in names]


def _shared_features(nodes: Sequence[SlurmNode]) -> frozenset[str]:
    return frozenset.intersection(*(frozenset(node.features) for node in nodes))


def _equal(some: Sequence[SlurmNode], others: Sequence[SlurmNode]) -> bool:
    """Return whether two kinds of nodes are equal for checks."""
    memories = sorted(node.memory_mib for node in (*some, *others))
    steps = itertools.pairwise(memories)
    return _machine(some[0]) == _machine(others[0]) and all(more <= (1 + MEMORY_STEP) * less for less, more in steps)


def _named(
    chosen: Sequence[Part],
    nodes: Mapping[str, SlurmNode],
    partitions: Sequence[SlurmPartition],
    existing: frozenset[str],
) -> Iterator[Part]:
    """Yield each part with its name, its job options, and its other partitions."""
    of_partition = Counter(part.partition.name for part in chosen)
    used: set[str] = set()
    for part in chosen:
        name, names = part.partition.name, {node.name for node in part.nodes}
        options = _options(part.nodes, _beside(part, nodes))
        feature = options[0].removeprefix("--constraint=") if options else ""
        title = name if of_partition[name] == 1 else f"{name}-{feature}" if _PLAIN.fullmatch(feature) else name
        number = 1
        while title in used:
            number += 1
            title = f"{name}-{number}"
        used.add(title)
        others = tuple(one for one in partitions if one.name != name and names & {*one.nodes})
        whole = names.issuperset(existing & {*part.partition.nodes})
        yield part._replace(name=title, options=options, whole=whole, others=others)


def _options(held: Sequence[SlurmNode], others: Sequence[SlurmNode]) -> tuple[str, ...] | None:
    """Return job options that select ``held``: features and excluded nodes; ``None`` if these are too many."""
    if (by_features := _by_features(held, others)) is not None:
        return by_features
    shared = _shared_features(held)
    names = folded(node.name for node in others if shared <= frozenset(node.features))
    constraint = [f"--constraint={'&'.join(sorted(shared))}"] if shared else []
    return (*constraint, f"--exclude={names}") if len(names) <= _MOST_NAMED else None


def _by_features(held: Sequence[SlurmNode], others: Sequence[SlurmNode]) -> tuple[str, ...] | None:
    """Return the features that select ``held`` alone, one if possible; ``None`` if there are none."""
    if not others:
        return ()
    shared = sorted(_shared_features(held))
    for feature in shared:
        if not any(feature in node.features for node in others):
            return (f"--constraint={feature}",)
    if shared and not any(set(shared) <= set(node.features) for node in others):
        return (f"--constraint={'&'.join(shared)}",)
    return None
