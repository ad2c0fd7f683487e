"""What is wrong with the places of ranks and threads: unbound, elsewhere, two in one place, memory in the wrong one."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from reframe_checks.parsers.affinity import Rank

#: Of a thread's pages, in another NUMA domain than it ran in; some are the libraries' and the stack's neighbours.
FAR_SHARE = 0.1


@dataclass(frozen=True)
class Misplaced:
    node: str
    text: str

    def __str__(self) -> str:
        return f"{self.node}: {self.text}"


def misplaced(ranks: Sequence[Rank], asked: Sequence[Sequence[Sequence[int]]]) -> Iterator[Misplaced]:
    """Every rank and thread that is not where the layout asks for it.

    :param asked: of each rank of a node, in the order of ranks, its cores, each as the numbers of its CPUs. A thread
        is to have one core of its rank to itself, whichever of them.
    """
    of_node = defaultdict(list)
    for rank in ranks:
        of_node[rank.node].append(rank)
    for node, own in of_node.items():
        for place, rank in enumerate(own):
            if place < len(asked):
                yield from (Misplaced(node, text) for text in _wrong(rank, asked[place]))
        pairs = combinations(own, 2)
        doubled = [(one.rank, other.rank) for one, other in pairs if set(one.cpus) & set(other.cpus)]
        if doubled:
            text = ", ".join(f"{one} and {other}" for one, other in doubled[:4])
            yield Misplaced(node, f"ranks {text} share CPUs")


def _wrong(rank: Rank, cores: Sequence[Sequence[int]]) -> Iterator[str]:
    wanted = {cpu for core in cores for cpu in core}
    if set(rank.cpus) > wanted:
        yield f"rank {rank.rank} is not bound: it may run on {_shown(rank.cpus)}, the layout asks for {_shown(wanted)}"
        return
    if set(rank.cpus) != wanted:
        yield f"rank {rank.rank} may run on {_shown(rank.cpus)}, the layout asks for {_shown(wanted)}"
        return
    places = [frozenset({*thread.cpus, *thread.ran_on}) for thread in rank.threads]
    if len(places) != len(cores):
        yield f"rank {rank.rank} has {len(places)} threads, the layout asks for {len(cores)}"
    for cpus, count in Counter(places).items():
        if cpus not in map(frozenset, cores):
            yield f"{_threads(count)} of rank {rank.rank} may run, or ran, on {_shown(cpus)}, not on one core"
        elif count > 1:
            yield f"{_threads(count)} of rank {rank.rank} share the core {_shown(cpus)}"


def far_memory(ranks: Sequence[Rank]) -> Iterator[Misplaced]:
    """Every thread whose memory is in another NUMA domain than it ran in."""
    for rank in ranks:
        for number, thread in enumerate(rank.threads):
            far = sum(count for domain, count in thread.pages.items() if domain not in thread.domains)
            if far > FAR_SHARE * sum(thread.pages.values()):
                elsewhere = _shown(set(thread.pages) - set(thread.domains))
                text = f"thread {number} of rank {rank.rank} ran in NUMA domain {_shown(thread.domains)}, and "
                yield Misplaced(rank.node, f"{text}{far} of {sum(thread.pages.values())} pages are in {elsewhere}")


def _threads(count: int) -> str:
    return "a thread" if count == 1 else f"{count} threads"


def _shown(numbers: object) -> str:
    """As the kernel writes lists of CPUs: ``0-3,8``."""
    ordered = sorted(numbers)  # type: ignore[call-overload]
    parts: list[list[int]] = []
    for number in ordered:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)
