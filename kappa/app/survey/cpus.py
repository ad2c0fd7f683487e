"""The CPUs of a node as ``site.yaml`` has them."""

import itertools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from kappa.app.survey.probe import Cpu


def cores_or_processor(cpus: Sequence[Cpu]) -> tuple[str, dict[str, Any]]:
    """``cores`` where physical cores are numbered one after the other in equal parts, else ``processor``."""
    by_core = _groups(cpus, lambda cpu: (cpu.socket, cpu.core))
    sockets, domains = _groups(cpus, lambda cpu: cpu.socket), _groups(cpus, lambda cpu: cpu.numa)
    if len(by_core) == len(cpus) and _one_after_the_other(sockets) and _one_after_the_other(domains):
        return "cores", {"per_node": len(cpus), "sockets": len(sockets), "numa_domains": len(domains)}
    masks = {name: [_mask(part) for part in parts] for name, parts in
             (("cores", by_core), ("sockets", sockets), ("numa_nodes", domains))}  # fmt: skip
    return "processor", {
        "num_cpus": len(cpus),
        "num_cpus_per_core": max(len(part) for part in by_core),
        "num_sockets": len(sockets),
        "num_cpus_per_socket": len(cpus) // len(sockets),
        "topology": masks,
    }


def for_jobs(cpus: Sequence[Cpu], reserved: int, numbers: Collection[int]) -> list[Cpu]:
    """The CPUs of the cores that Slurm does not keep from jobs.

    :param numbers: cores that it keeps, counted socket by socket; where it does not say, the last ones of all sockets
        in turn, from the last socket on, as core_spec.html of Slurm has it.
    """
    cores = [key for key, _ in sorted({(cpu.socket, cpu.core): None for cpu in cpus}.items())]
    if not numbers:
        sockets = sorted({socket for socket, _ in cores}, reverse=True)
        of_socket = [[key for key in cores if key[0] == socket][::-1] for socket in sockets]
        in_turn = [key for row in itertools.zip_longest(*of_socket) for key in row if key]
        kept = set(in_turn[:reserved])
    else:
        kept = {key for number, key in enumerate(cores) if number in numbers}
    return [cpu for cpu in cpus if (cpu.socket, cpu.core) not in kept] or list(cpus)


def numa_domains(cpus: Sequence[Cpu]) -> int:
    return len({cpu.numa for cpu in cpus})


def cores_of(cpus: Sequence[Cpu]) -> int:
    return len({(cpu.socket, cpu.core) for cpu in cpus})


def _groups(cpus: Sequence[Cpu], key: Callable[[Cpu], Any]) -> list[list[int]]:
    found: dict[Any, list[int]] = {}
    for cpu in cpus:
        found.setdefault(key(cpu), []).append(cpu.number)
    return [sorted(numbers) for _, numbers in sorted(found.items())]


def _one_after_the_other(parts: Sequence[Sequence[int]]) -> bool:
    numbers = [number for part in parts for number in part]
    return numbers == list(range(len(numbers))) and len({len(part) for part in parts}) == 1


def _mask(numbers: Sequence[int]) -> str:
    return hex(sum(1 << number for number in numbers))
