"""Group nodes into kinds: nodes that are equal in Slurm, and that a job can select.

A Slurm feature that names a place (exactly the nodes of a switch) makes no kind. Every other difference does, if a job
can select the kind. Equal machines that no job option tells apart are one kind.
"""

import itertools
import re
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
    ``whole``: the Slurm partition has no other nodes.
    """

    name: str
    slurm_partition: str
    nodes: tuple[SlurmNode, ...]
    options: tuple[str, ...] | None
    whole: bool
    limits: SlurmPartition | None = None
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
        least, allowed = (self.limits.least_nodes, self.limits.most_nodes) if self.limits else (1, None)
        number = max(least, min(most, allowed or most))
        idle = [node for node in usable if node.condition.idle]
        chosen = idle if len(idle) >= least else usable
        return tuple(chosen[:number]) if len(chosen) >= least else ()

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


class Worth(NamedTuple):
    """What counts between partitions that have the same nodes, most important first. The larger value is better."""

    surely_admits: bool
    few_nodes: bool
    nodes_of_job: int
    nodes: int
    no_option: bool
    alone: bool
    not_preempted: bool
    least: int
    check_s: float
    own_cores: bool
    share: float
    default: bool
    longest_s: float


# The field of ``Worth`` in which the chosen partition is better -> its advantage, with its value and the other one.
_BETTER = {
    "surely_admits": "surely admits you",
    "few_nodes": f"gives a job {_FEW} nodes or fewer",
    "nodes_of_job": "gives a job {} nodes, not {}",
    "nodes": "has {} of the nodes, not {}",
    "no_option": "needs no further option",
    "alone": "gives these nodes alone",
    "not_preempted": "has no jobs that others preempt",
    "least": "gives a job fewer nodes",
    "check_s": "has a longer time limit",
    "own_cores": "gives a core to one job",
    "share": "has fewer other nodes",
    "default": "is the default",
    "longest_s": "has a longer time limit",
}


def parts(
    groups: Sequence[tuple[SlurmNode, ...]],
    nodes: Sequence[SlurmNode],
    partitions: Sequence[SlurmPartition],
    caller: Caller,
) -> PartitionChoice:
    """Assign each kind to partitions that the caller may use, by `Worth`, then by name.

    :param groups: the kinds, as `kinds` returns them. :param nodes: all nodes, also those that no job of the caller
        gets.
    """
    usable = [one for one in partitions if not one.bars(caller)]
    by_name = {node.name: node for group in groups for node in group}
    found: list[tuple[str, tuple[SlurmNode, ...], SlurmPartition]] = []
    unreachable: list[SlurmNode] = []
    lost: dict[str, tuple[int, str]] = {}
    for group in groups:
        left = {node.name: node for node in group}
        while left:
            ranked = [(worth, one) for one in usable if (worth := _worth(one, left, by_name, caller)).nodes]
            if not ranked:
                unreachable += left.values()
                break
            ranked.sort(key=lambda pair: pair[1].name)
            of_best, best = max(ranked, key=lambda pair: pair[0])
            names = set(best.nodes)
            held = tuple(node for name, node in left.items() if name in names)
            found.append((best.name, held, best))
            for worth, one in ranked:
                # The reason comes from the partition that gets most of its nodes.
                shared = len(names & {*one.nodes} & {*left})
                if shared > lost.get(one.name, (0, ""))[0]:
                    lost[one.name] = shared, _why_not(worth, best.name, of_best)
            left = {name: node for name, node in left.items() if name not in names}
    found = _told_apart(found, by_name)
    chosen = {name for name, _, _ in found}
    why_not = {
        one.name: one.bars(caller) or lost.get(one.name, (0, "has no node for your jobs"))[1]
        for one in partitions
        if one.name not in chosen
    }
    existing = frozenset(node.name for node in nodes)
    return PartitionChoice(list(_named(found, by_name, usable, existing)), unreachable, why_not)


def _worth(
    partition: SlurmPartition, left: Mapping[str, SlurmNode], nodes: Mapping[str, SlurmNode], caller: Caller
) -> Worth:
    """Return the partition's worth for the nodes ``left`` of a kind, of all ``nodes`` that the caller's jobs get."""
    names = {*partition.nodes}
    held = [node for name, node in left.items() if name in names]
    others = [nodes[name] for name in partition.nodes if name in nodes and name not in left]
    longest = float("inf") if partition.longest_s is None else partition.longest_s
    usable = sum(map(is_usable, held))
    of_job = min(usable, partition.most_nodes or usable)
    return Worth(
        partition.surely_admits(caller),
        partition.least_nodes <= _FEW,
        of_job if of_job >= partition.least_nodes else 0,
        len(held),
        not partition.wants(caller),
        bool(held) and _by_features(held, others) is not None,
        "PreemptMode" not in partition.settings,
        -partition.least_nodes,
        min(longest, SERIES_ASK_S),
        not shares_cores(partition),
        len(held) / max(len(partition.nodes), 1),
        partition.default,
        longest,
    )


def _why_not(mine: Worth, best: str, of_best: Worth) -> str:
    for key, value, best_value in zip(Worth._fields, mine, of_best, strict=True):
        if value != best_value:
            return f"{best} {_BETTER[key].format(best_value, value)}"
    return f"{best} is equal, and first by name"


def shares_cores(partition: SlurmPartition) -> bool:
    """Return whether Slurm always gives cores to several jobs at a time (OverSubscribe=FORCE)."""
    return partition.settings.get("OverSubscribe", partition.settings.get("Shared", "")).startswith("FORCE")


def _told_apart(
    found: Sequence[tuple[str, tuple[SlurmNode, ...], SlurmPartition]], nodes: Mapping[str, SlurmNode]
) -> list[tuple[str, tuple[SlurmNode, ...], SlurmPartition]]:
    """Join kinds of equal machines in one partition if no job option selects one of them alone.

    Start with the largest kind. Kinds that its features cannot exclude join it, if all of them are equal to it.
    """
    left = list(found)
    joined = []
    while left:
        name, held, partition = left.pop(0)
        beside = [nodes[one] for one in partition.nodes if one in nodes]
        if _by_features(held, _without(beside, held)) is None:
            shared = frozenset.intersection(*(frozenset(node.features) for node in held))
            equal = [one for one in left if one[2] is partition and _equal(one[1], held)]
            more = [one for one in equal if any(shared <= frozenset(node.features) for node in one[1])]
            together = (*held, *(node for one in more for node in one[1]))
            if more and _by_features(together, _without(beside, together)) is not None:
                held, left = together, [one for one in left if one not in more]
        joined.append((name, held, partition))
    return sorted(joined, key=lambda one: -len(one[1]))


def _equal(some: Sequence[SlurmNode], others: Sequence[SlurmNode]) -> bool:
    """Return whether two kinds of nodes are equal for checks."""
    memories = sorted(node.memory_mib for node in (*some, *others))
    steps = itertools.pairwise(memories)
    return _machine(some[0]) == _machine(others[0]) and all(more <= (1 + MEMORY_STEP) * less for less, more in steps)


def _without(nodes: Sequence[SlurmNode], held: Sequence[SlurmNode]) -> list[SlurmNode]:
    names = {node.name for node in held}
    return [node for node in nodes if node.name not in names]


def _named(
    found: Sequence[tuple[str, tuple[SlurmNode, ...], SlurmPartition]],
    nodes: Mapping[str, SlurmNode],
    partitions: Sequence[SlurmPartition],
    existing: frozenset[str],
) -> Iterator[Part]:
    of_partition: dict[str, int] = {}
    for name, _, _ in found:
        of_partition[name] = of_partition.get(name, 0) + 1
    used: set[str] = set()
    for name, held, partition in found:
        names = {node.name for node in held}
        others = [nodes[one] for one in partition.nodes if one in nodes and one not in names]
        options = _options(held, others)
        feature = options[0].removeprefix("--constraint=") if options else ""
        title = name if of_partition[name] == 1 else f"{name}-{feature}" if _PLAIN.fullmatch(feature) else name
        number = 1
        while title in used:
            number += 1
            title = f"{name}-{number}"
        used.add(title)
        more = tuple(one for one in partitions if one.name != name and names & {*one.nodes})
        yield Part(title, name, held, options, names >= existing & {*partition.nodes}, partition, more)


def _options(held: Sequence[SlurmNode], others: Sequence[SlurmNode]) -> tuple[str, ...] | None:
    """Return job options that select ``held``: features and excluded nodes; ``None`` if these are too many."""
    if (by_features := _by_features(held, others)) is not None:
        return by_features
    shared = frozenset.intersection(*(frozenset(node.features) for node in held))
    names = folded(node.name for node in others if shared <= frozenset(node.features))
    constraint = [f"--constraint={'&'.join(sorted(shared))}"] if shared else []
    return (*constraint, f"--exclude={names}") if len(names) <= _MOST_NAMED else None


def _by_features(held: Sequence[SlurmNode], others: Sequence[SlurmNode]) -> tuple[str, ...] | None:
    """Return the features that select ``held`` alone, one if possible; ``None`` if there are none."""
    if not others:
        return ()
    shared = sorted(frozenset.intersection(*(frozenset(node.features) for node in held)))
    for feature in shared:
        if not any(feature in node.features for node in others):
            return (f"--constraint={feature}",)
    if shared and not any(set(shared) <= set(node.features) for node in others):
        return (f"--constraint={'&'.join(shared)}",)
    return None
