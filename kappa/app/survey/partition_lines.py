"""Write a partition of ``site.yaml`` from the survey: lines, each value with its source."""

import json
import re
from collections.abc import Iterator
from shlex import quote
from typing import Any, NamedTuple

import yaml

from kappa.app.survey.fabric import described
from kappa.app.survey.features import (
    CONTAINERS,
    ENVIRONMENT,
    mpi_of,
    partition_features,
    placements,
)
from kappa.app.survey.found import FoundPart, NodeKind, Survey
from kappa.app.survey.limits import too_small
from kappa.app.survey.slurm import NODES, PARTITIONS, SERIES_ASK_S, TOPOLOGY, UNSTATED_MEMORY_MIB, max_time
from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import counted
from kappa.core.vocabulary.features import OF_ONE_NODE

#: Marks a value that was not found.
MARK = "FILL IN"
_PLAIN = re.compile(r"[A-Za-z_/][\w./+-]*( [\w./+-]+)*")
# The largest load by others on a shared machine before a measurement counts as disturbed.
_SHARED_HOST = {"cores_share": 0.15, "disk_mb_per_s": 20}
# Explanations of settings of a Slurm partition.
_MEANING = {
    "QoS": ": this QOS may allow fewer nodes, jobs and minutes: see `sacctmgr show qos`",
    "PreemptMode": ": jobs of a partition with a higher PriorityTier end jobs here, and then a check fails",
    "AllocNodes": ": Slurm accepts jobs only from these machines",
    "Exclusive": ": NODE and TOPO give whole nodes, TOPO whole switches or blocks",
    "OverSubscribe": ": EXCLUSIVE gives whole nodes; with FORCE other jobs run on the same cores and disturb checks",
}
# Small files for a share of a disk. By default they have gigabytes.
_TUNING = {check: {"file_size_mib": 64, "runtime_s": 1, "phase_mib": 512} for check in ("NodeScratch", "Fio")}


class SiteLine(NamedTuple):
    """A line of the file. ``source``: the value's source, as a comment at the end."""

    depth: int
    text: str
    source: str = ""

    def __str__(self) -> str:
        return "  " * self.depth + self.text + (f"  # {_folded(self.source)}" if self.source else "")


def ask(depth: int, words: str) -> SiteLine:
    return SiteLine(depth, f"# {MARK}: {_folded(words)}")


def _folded(words: str) -> str:
    """Return the words on one line, because a YAML comment ends with its line."""
    return " ".join(words.split())


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        # `no` and `1e3` are strings only in quotes. A JSON string is a YAML string, too.
        plain = _PLAIN.fullmatch(value) and yaml.safe_load(value) == value
        return value if plain else json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value)


def partition_lines(title: str, part: FoundPart, survey: Survey) -> Iterator[SiteLine]:
    told, probe = part.told, f"probe of {', '.join(part.told.by)}" if part.told else ""
    yield SiteLine(1, f"{flow(title)}:")
    if told is None:
        yield ask(
            2,
            f"{title}: {part.why_not_told}: these values come from Slurm only; run `kappa site new` again when nodes "
            "are in service",
        )
    yield SiteLine(2, f"descr: {flow(f'{part.nodes}: {told.model}' if told and told.model else part.nodes)}", NODES)
    yield SiteLine(
        2,
        f"nodes: {part.count}",
        NODES + (f"; out of service now: {part.out_of_service}" if part.out_of_service else ""),
    )
    if title != part.slurm_partition:
        yield SiteLine(2, f"slurm_partition: {flow(part.slurm_partition)}", PARTITIONS)
    if not part.whole:
        yield SiteLine(2, f"slurm_nodes: {flow(part.nodes)}", f"{NODES}: the Slurm partition has other nodes, too")
    if part.options is None:
        yield ask(
            2,
            f"{title}: no Slurm feature selects these nodes of {part.slurm_partition} alone: add `access` that does, "
            "then `features`",
        )
    if access := [*(part.options or ()), *survey.access]:
        yield SiteLine(2, f"access: {flow(access)}", "--access" if survey.access else f"{NODES}: features")
    if survey.why_squeue:
        yield SiteLine(2, "scheduler: squeue", survey.why_squeue)
    if part.longest_s is not None and part.longest_s < SERIES_ASK_S:
        yield SiteLine(2, f"max_time: {max_time(part.longest_s)}", f"{PARTITIONS}: MaxTime; some checks ask for more")
    yield from _limits(title, part)
    yield SiteLine(2, f"environments: [{ENVIRONMENT}]")
    if told and mpi_of(told, survey).launcher:
        yield SiteLine(2, f"launcher: {mpi_of(told, survey).launcher}", mpi_of(told, survey).why)
    if told and (runtime := next((CONTAINERS[one] for one in CONTAINERS if one in told.programs), None)):
        yield SiteLine(2, f"container: {runtime}", f"{probe}: PATH")
    yield from _cpus(part, probe)
    yield SiteLine(2, f"features: {flow(partition_features(survey, part))}")
    if ways := placements(part):
        yield SiteLine(2, f"placements: {flow(ways)}", f"{TOPOLOGY}: {part.switches} leaf switches")
    if survey.login.shares_machine:
        yield SiteLine(2, f"shared_host: {flow(_SHARED_HOST)}", "boot_id of nodes and of this machine: one kernel")
        yield SiteLine(2, "max_jobs: 1")
        yield SiteLine(2, f"tuning: {flow(_TUNING)}", "nodes share one machine and its disk")
    yield from _gpus(title, part, probe)
    yield from _network(title, part, probe)
    yield from _storage(title, part, probe)
    yield from (SiteLine(2, f"# Too small: {limit}", probe) for limit in too_small(part))
    for mpi in told.further_mpi if told else ():
        yield SiteLine(2, f"# Not on PATH: {mpi.library} {mpi.version or 'of unknown version'}: {quote(mpi.place)}",
                   f"{probe}: {mpi.source}")  # fmt: skip


def _limits(title: str, part: FoundPart) -> Iterator[SiteLine]:
    """Yield the limits of the Slurm partition for which site.yaml has no key."""
    if part.wants:
        named = " and ".join(part.wants)
        yield ask(2, f"{title}: Slurm accepts only jobs with {named}: `kappa site new --access=…`")
    bounds = [f"at most {counted(part.most_nodes, 'node')}"] if part.most_nodes is not None else []
    bounds += [f"at least {counted(part.least_nodes, 'node')}"] if part.least_nodes > 1 else []
    if bounds:
        yield SiteLine(2, f"# A job gets {', '.join(bounds)}.", f"{PARTITIONS}: MaxNodes, MinNodes")
    for name, said in part.limits.items():
        yield SiteLine(2, f"# {name}={one_line(said, 100)}{_MEANING.get(name, '')}.", PARTITIONS)
    if part.others:
        yield SiteLine(2, f"# Not used, has some of these nodes: {one_line('; '.join(part.others), 300)}.", PARTITIONS)
    for node in part.strange:
        yield ask(2, f"{title}: Slurm's documentation does not list the state of {node}: does it accept jobs?")


def _cpus(part: FoundPart, probe: str) -> Iterator[SiteLine]:
    told = part.told
    all_cores = part.sockets * part.cores_per_socket
    reserved = all_cores - (part.cores_for_jobs or all_cores)
    if reserved:
        yield SiteLine(
            2, f"# Jobs get {all_cores - reserved} of {all_cores} cores.", f"{NODES}: CPUEfctv, CoreSpecCount"
        )
    if told:
        yield SiteLine(2, f"{told.cpu_key}: {flow(told.processor)}", f"{probe}: lscpu{' and hwloc' * bool(told.hwloc)}")
        if other := _otherwise_by_hwloc(told):
            yield SiteLine(2, f"# {other}: which is right? Check the firmware and disabled cores.")
        by_slurm = round(part.memory_mib / 1024, 1) if part.memory_mib > UNSTATED_MEMORY_MIB else told.memory_gib
        fewer = by_slurm < told.memory_gib
        source = f"{NODES}: RealMemory less MemSpecLimit" if fewer else f"{probe}: MemTotal"
        yield SiteLine(2, f"memory_gib_per_node: {flow(min(told.memory_gib, by_slurm))}", source)
        if told.peak_gflops_per_core:
            why = told.peak_why + (f", under {told.hypervisor}" if told.hypervisor else "")
            yield SiteLine(2, f"peak_gflops_per_core: {flow(told.peak_gflops_per_core)}", f"{probe}: {why}")
        else:
            yield ask(
                2,
                f"peak_gflops_per_core: clock in GHz under load x double-precision operations per cycle of one core: "
                f"{told.peak_why}; without it HPL's fraction of peak is INCOMPLETE",
            )
        return
    cores = all_cores - reserved
    sockets = part.sockets_of_jobs or part.sockets
    sockets = sockets if cores % sockets == 0 else 1
    if part.threads_per_core == 1:
        yield SiteLine(2, f"cores: {flow({'per_node': cores, 'sockets': sockets})}", NODES)
    else:
        threads = part.threads_per_core
        shape = {
            "num_cpus": cores * threads,
            "num_cpus_per_core": threads,
            "num_sockets": sockets,
            "num_cpus_per_socket": cores * threads // sockets,
        }
        yield SiteLine(2, f"processor: {flow(shape)}", NODES)
    if part.memory_mib > UNSTATED_MEMORY_MIB:
        yield SiteLine(2, f"memory_gib_per_node: {flow(round(part.memory_mib / 1024, 1))}", NODES)


def _otherwise_by_hwloc(told: NodeKind) -> str:
    """Return the counts in which hwloc differs from lscpu."""
    by_lscpu = {"core": told.cores, "numanode": told.numa_domains}
    return ", ".join(
        f"lscpu counts {number} x {name}, hwloc {told.hwloc[name]}"
        for name, number in by_lscpu.items()
        if told.hwloc.get(name, number) != number
    )


def _gpus(title: str, part: FoundPart, probe: str) -> Iterator[SiteLine]:
    gpus = part.told.gpus if part.told else None
    if gpus and part.whole_gpus:
        yield SiteLine(2, f"gpus_per_node: {gpus.count}", f"{probe}: nvidia-smi, {', '.join(gpus.models)}")
        yield SiteLine(
            2, f"gpu_options: {flow(['--gres=gpu:{num_gpus_per_node}'])}", f"{NODES}: Gres={','.join(part.gres)}"
        )
        if gpus.arch:
            yield SiteLine(2, f"gpu_arch: {gpus.arch}", f"{probe}: nvidia-smi")
        if gpus.memory_gib:
            yield SiteLine(2, f"gpu_memory_gib: {flow(gpus.memory_gib)}", f"{probe}: nvidia-smi")
        else:
            yield ask(2, f"{title}: gpu_memory_gib: nvidia-smi does not state it")
        if gpus.count != part.gpus_by_slurm:
            yield ask(
                2,
                f"{title}: Slurm has {part.gpus_by_slurm} GPUs per node, nvidia-smi lists {gpus.count}: which is "
                "right?",
            )
    elif gpus:
        yield SiteLine(2, f"# {gpus.count} GPUs in {gpus.slices} slices (MIG): the checks need whole GPUs.", probe)
    elif part.gpus_by_slurm:
        amd = (
            f", and the node has {part.told.amd_gpus} AMD GPUs, which no check supports"
            if part.told and part.told.amd_gpus
            else ""
        )
        yield ask(
            2,
            f"{title}: Slurm has Gres={','.join(part.gres)}, nvidia-smi lists no GPU{amd}: add gpus_per_node and the "
            "feature nvidia, or give the reason in expected.yaml",
        )


def _network(title: str, part: FoundPart, probe: str) -> Iterator[SiteLine]:
    told = part.told
    if told and told.adapters:
        yield SiteLine(
            2,
            f"transport: {flow({'adapters': told.adapters})}",
            f"{probe}: {described(told.link, told.link_gbit_per_s)} each",
        )
        if len(told.adapters) > 1:
            yield SiteLine(2, f"rails: {flow(told.adapters)}", f"{probe}: without the ports of other links and rates")
    if told and told.unclear_adapters:
        groups = "; ".join(f"{words}: {' '.join(ports)}" for words, ports in told.unclear_adapters.items())
        yield ask(
            2,
            f"{title}: transport: which of the node's RDMA ports carry MPI: {groups}? Others may be storage's. Add "
            "`transport: {adapters: [...]}`, for several ports `rails`, and the features large_puts and rails, or "
            "give the reasons in expected.yaml",
        )


def _storage(title: str, part: FoundPart, probe: str) -> Iterator[SiteLine]:
    chosen = part.storage
    usable = {target: one for target, one in chosen.items() if one.folder}
    if usable:
        yield SiteLine(2, "storage:")
    for target, one in usable.items():
        entry: dict[str, Any] = {"path": one.folder}
        if one.shared and target not in OF_ONE_NODE:
            entry["parallel"] = True
        if one.stripe_size:
            entry["lustre"] = {"stripe_count": one.stripe_count or -1, "stripe_size": one.stripe_size}
        osts = f", {one.osts} object storage targets" if one.osts else ""
        yield SiteLine(
            3, f"{target}: {flow(entry)}", f"{probe}: {one.kind} {one.source} at {one.point}{osts}; {one.why}"
        )
    for target, one in chosen.items():
        if not one.folder:
            yield ask(
                2,
                f"{title}: storage {target}: name a folder on {one.point} ({one.kind}) in which you can write; none "
                "was found",
            )
    if part.told and not chosen:
        yield ask(
            2,
            f"{title}: storage: no file system for jobs was found: name a path that all nodes share, or a node's disk",
        )
    left = [one for one in part.told.file_systems if one not in chosen.values()] if part.told else []
    for one in left:
        yield SiteLine(2, f"# Not measured: {one.kind} at {one.point}; another one is the storage target.", probe)
    for disk in part.told.unmounted_disks if part.told else ():
        yield SiteLine(2, f"# Not mounted: {disk.name}, {disk.words}; a mounted disk can be a storage target.",
                   f"{probe}: /sys/block")  # fmt: skip
