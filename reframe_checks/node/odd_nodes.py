"""Odd nodes: nodes whose facts differ from the other nodes', or from the values that the site expects."""

import fnmatch
import math
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kappa.core.vocabulary.node_facts import Bound, Value
from kappa.node.table import Rule, fact_of

#: One fact: node -> value.
Column = Mapping[str, Value]

#: Facts about other nodes; not every node reports them about every other node.
OF_OTHERS = ("host.", "way.", "taken.")
CLOSE_SHARE = 0.02
FEW_TIMES, FEW = 10, 10
#: 1 GiB, and 1 s, in the units of facts.
MUCH = {"KiB": 1 << 20, "MiB": 1 << 10, "ms": 1000}
SCARCE_SHARE = 0.05


@dataclass(frozen=True)
class Oddity:
    """A difference. ``nodes`` is empty if it is unknown which nodes are wrong, for instance if halves differ."""

    name: str
    nodes: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        where = ", ".join(self.nodes)
        return f"{where}: {self.text}" if where else self.text


def oddities(
    facts: Mapping[str, Mapping[str, Value]],
    expected: Mapping[str, Value | Bound],
    on_login: Mapping[str, Value] = MappingProxyType({}),
    shared: Collection[str] = (),
) -> Iterator[Oddity]:
    """Yield the oddities of each fact.

    :param facts: node -> name of the fact -> value. A node that lacks a fact of other nodes is odd.
    :param expected: name or shell pattern of a fact -> value that the site expects, instead of the usual value.
    :param on_login: name of a fact -> value on the login node; nodes that have the fact must have the same value.
    :param shared: paths that must be the same on all nodes: their sources are compared, too, and no node may have them
        on its root disk.
    """
    told: dict[str, dict[str, Value]] = {}
    for node, of_node in facts.items():
        for name, value in of_node.items():
            told.setdefault(name, {})[node] = value
    sources = {f"mount.{path}.source" for path in shared}
    points = {f"mount.{path}.point" for path in shared if path != "/"}
    unseen = [pattern for pattern in expected if not fnmatch.filter(told, pattern)]
    for name in (*told, *unseen):
        asked: Iterable[str] = told[name] if name.startswith(OF_OTHERS) else facts
        column = {node: facts[node].get(name) for node in asked}
        stated = [value for pattern, value in expected.items() if fnmatch.fnmatchcase(name, pattern) or pattern == name]
        for value in stated:
            yield from _not_as_expected(name, column, value)
        if not stated and name in on_login:
            yield from _not_as_on_login(name, column, on_login[name])
        elif name in sources:
            yield from _equal(name, column)
        elif not stated and name in points:
            yield from _not_of_the_root_disk(name, column)
        elif not stated and (fact := fact_of(name)) is not None:
            yield from _RULES[fact.rule](name, column)
    yield from _misnamed(facts)
    yield from _not_as_slurm_believes(facts)


def _not_as_expected(name: str, column: Column, expected: Value | Bound) -> Iterator[Oddity]:
    for value, nodes in _by_value(column).items():
        one = column[nodes[0]]
        if not (expected.holds(one) if isinstance(expected, Bound) else one == expected):
            wanted = str(expected) if isinstance(expected, Bound) else _text(expected)
            yield Oddity(name, nodes, f"{name} is {value}, the site expects {wanted}")


def _not_as_on_login(name: str, column: Column, there: Value) -> Iterator[Oddity]:
    found = _by_value(column)
    for value, nodes in found.items():
        if value != _text(there):
            # If all nodes agree, the login node may be wrong.
            yield Oddity(name, nodes if len(found) > 1 else (), f"{name} is {value}, on the login node {_text(there)}")


def _not_of_the_root_disk(name: str, column: Column) -> Iterator[Oddity]:
    """Yield nodes where a shared path is on the root disk: the folder exists, but nothing is mounted on it."""
    lost = tuple(node for node, value in column.items() if value == "/")
    if lost:
        yield Oddity(name, lost, f"{name} is '/': the shared file system is not mounted")
    yield from _equal(name, {node: value for node, value in column.items() if node not in lost})


def _equal(name: str, column: Column) -> Iterator[Oddity]:
    found = _by_value(column)
    if len(found) < 2:
        return
    (usual, nodes), (_, next_nodes) = sorted(found.items(), key=lambda item: -len(item[1]))[:2]
    if len(nodes) == len(next_nodes):
        said = "; ".join(f"{value} on {_listed(nodes)}" for value, nodes in found.items())
        yield Oddity(name, (), f"{name} differs: {said}")
        return
    for value, nodes in found.items():
        if value != usual:
            yield Oddity(name, nodes, f"{name} is {value}, most nodes have {usual}")


def _there(name: str, column: Column) -> Iterator[Oddity]:
    missing = tuple(node for node, value in column.items() if value is None)
    if missing:
        yield Oddity(name, missing, f"{name} is missing")
    yield from _alike(name, column)


def _alike(name: str, column: Column) -> Iterator[Oddity]:
    yield from _equal(name, {node: value for node, value in column.items() if value is not None})


def _close(name: str, column: Column) -> Iterator[Oddity]:
    numbers = _numbers(column)
    if not numbers:
        return
    usual = statistics.median(numbers.values())
    far = {node: value for node, value in numbers.items() if abs(value - usual) > CLOSE_SHARE * abs(usual)}
    if far and 2 * len(far) >= len(numbers):
        (least, at_least), *_, (most, at_most) = sorted((value, node) for node, value in numbers.items())
        yield Oddity(name, (), f"{name} differs: from {least:g} on {at_least} to {most:g} on {at_most}")
        return
    for node, value in far.items():
        yield Oddity(name, (node,), f"{name} is {value:g}, the median is {usual:g}")


def _true(name: str, column: Column) -> Iterator[Oddity]:
    for node, value in column.items():
        if value is False:
            yield Oddity(name, (node,), f"{name} is false")


def _alien(name: str, column: Column) -> Iterator[Oddity]:
    having = {node: value for node, value in column.items() if value}
    if 2 * len(having) <= len(column):
        for node, value in having.items():
            yield Oddity(name, (node,), f"{name} is {value}, most nodes have none")


def _half(name: str, column: Column, below: float = math.inf) -> Iterator[Oddity]:
    numbers = _numbers(column)
    usual = statistics.median(numbers.values()) if numbers else 0
    for node, value in numbers.items():
        if value < min(usual / 2, below):
            yield Oddity(name, (node,), f"{name} is {value:g}, the median is {usual:g}")


def _scarce(name: str, column: Column) -> Iterator[Oddity]:
    yield from _half(name, column, SCARCE_SHARE)


def _none(name: str, column: Column) -> Iterator[Oddity]:
    for node, value in column.items():
        if value:
            listed = "; ".join(value) if isinstance(value, list) else value
            yield Oddity(name, (node,), f"{name}: {listed}")


def _few(name: str, column: Column) -> Iterator[Oddity]:
    yield from _many_times(name, column, FEW)


def _much(name: str, column: Column) -> Iterator[Oddity]:
    fact = fact_of(name)
    assert fact is not None
    yield from _many_times(name, column, MUCH[fact.unit])


def _many_times(name: str, column: Column, granted: float) -> Iterator[Oddity]:
    numbers = _numbers(column)
    usual = statistics.median(numbers.values()) if numbers else 0
    for node, value in numbers.items():
        if value > max(granted, FEW_TIMES * usual):
            yield Oddity(name, (node,), f"{name} is {value:g}, the median is {usual:g}")


def _distinct(name: str, column: Column) -> Iterator[Oddity]:
    for value, nodes in _by_value(column).items():
        if len(nodes) > 1 and value != _text(None):
            yield Oddity(name, nodes, f"{name} is {value} on each of them, expected different values")


def _cloned(name: str, column: Column) -> Iterator[Oddity]:
    for odd in _distinct(name, column):
        # One value on all nodes means a common image, which is no fault; one on most nodes may be intended.
        if len(odd.nodes) < len(column):
            yield odd if 2 * len(odd.nodes) <= len(column) else Oddity(name, (), f"{odd}, not on the others")


def _told(name: str, column: Column) -> Iterator[Oddity]:
    yield from ()


_RULES: dict[Rule, Callable[[str, Column], Iterator[Oddity]]] = {
    Rule.EQUAL: _equal, Rule.THERE: _there, Rule.ALIKE: _alike, Rule.TRUE: _true, Rule.CLOSE: _close,
    Rule.ALIEN: _alien, Rule.HALF: _half, Rule.NONE: _none, Rule.FEW: _few, Rule.MUCH: _much, Rule.SCARCE: _scarce,
    Rule.DISTINCT: _distinct, Rule.CLONED: _cloned, Rule.TOLD: _told,
}  # fmt: skip


def _misnamed(facts: Mapping[str, Mapping[str, Value]]) -> Iterator[Oddity]:
    for node, of_node in facts.items():
        slurm, own = of_node.get("identity.slurm_name"), of_node.get("identity.host_name")
        if slurm is not None and own != slurm:
            yield Oddity("identity.host_name", (node,), f"its host name is {own!r}, its name in Slurm {slurm!r}")


def _not_as_slurm_believes(facts: Mapping[str, Mapping[str, Value]]) -> Iterator[Oddity]:
    for node, of_node in facts.items():
        cpus, believed = of_node.get("cpu.count"), of_node.get("slurm.cpus")
        if believed is not None and cpus != believed:
            yield Oddity("slurm.cpus", (node,), f"Slurm states {believed} CPUs, the machine has {cpus}")
        promised, kib = of_node.get("slurm.memory_mib"), of_node.get("memory.total_kib")
        if isinstance(promised, int) and isinstance(kib, int) and promised * 1024 > kib:
            yield Oddity("slurm.memory_mib", (node,), f"Slurm states {promised} MiB, the machine has {kib // 1024}")
        promised, group = of_node.get("limit.promised_memory_mib"), of_node.get("limit.group_memory_mib")
        if isinstance(promised, int) and isinstance(group, int) and group < promised:
            text = f"Slurm gave the job {promised} MiB, its control group has {group} MiB"
            yield Oddity("limit.group_memory_mib", (node,), text)


def figures(facts: Mapping[str, Mapping[str, Value]]) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield (name, unit, node -> number) for each fact that is a figure and that every node has."""
    for name in dict.fromkeys(name for of_node in facts.values() for name in of_node):
        fact = fact_of(name)
        if fact is None or not fact.is_figure:
            continue
        numbers = _numbers({node: of_node.get(name) for node, of_node in facts.items()})
        if len(numbers) == len(facts):
            yield name, fact.unit, numbers


def _by_value(column: Column) -> dict[str, tuple[str, ...]]:
    """Return the nodes by value: text of the value -> nodes."""
    found: dict[str, list[str]] = {}
    for node, value in column.items():
        found.setdefault(_text(value), []).append(node)
    return {value: tuple(nodes) for value, nodes in found.items()}


def _text(value: Value) -> str:
    return "none" if value is None else repr(value)


def _numbers(column: Column) -> dict[str, float]:
    return {node: value for node, value in column.items() if isinstance(value, int | float)}


def _listed(nodes: tuple[str, ...], most: int = 4) -> str:
    return ", ".join(nodes[:most]) + (f" and {len(nodes) - most} more" if len(nodes) > most else "")
