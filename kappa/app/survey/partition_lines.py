"""Write a partition of ``site.yaml`` from the survey, each value with its source."""

from typing import Any

from kappa.app.survey.fabric import described
from kappa.app.survey.features import CONTAINERS, ENVIRONMENT, mpi_of, partition_features, placements
from kappa.app.survey.found import FoundPart, Survey
from kappa.app.survey.limits import too_small
from kappa.app.survey.site_text import SiteText, UnquotedText, flow
from kappa.app.survey.slurm import NODES, PARTITIONS, SERIES_ASK_S, TOPOLOGY, UNSTATED_MEMORY_MIB, max_time
from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import counted
from kappa.core.vocabulary.features import OF_ONE_NODE

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


def write_partition(site: SiteText, title: str, part: FoundPart, survey: Survey) -> None:
    """Add a partition with the name ``title`` to the site."""
    node = part.node
    site.add(f"{flow(title)}:", depth=1)
    if part.told is None:
        site.ask(f"{title}: {part.why_not_told}: these values come from Slurm only; run `kappa site new` again when "
                 "nodes are in service")  # fmt: skip
    site.key("descr", f"{part.nodes}: {node.model}" if node.model else part.nodes, NODES)
    out_of_service = f"; out of service now: {part.out_of_service}" if part.out_of_service else ""
    site.key("nodes", part.count, NODES + out_of_service)
    site.key("slurm_partition", part.slurm_partition if title != part.slurm_partition else None, PARTITIONS)
    site.key("slurm_nodes", None if part.whole else part.nodes, f"{NODES}: the Slurm partition has other nodes, too")
    if part.options is None:
        site.ask(f"{title}: no Slurm feature selects these nodes of {part.slurm_partition} alone: add `access` that "
                 "does, then `features`")  # fmt: skip
    access = [*(part.options or ()), *survey.access]
    site.key("access", access or None, "--access" if survey.access else f"{NODES}: features")
    site.key("scheduler", "squeue" if survey.why_squeue else None, survey.why_squeue)
    if part.longest_s is not None and part.longest_s < SERIES_ASK_S:
        longest = UnquotedText(max_time(part.longest_s))
        site.key("max_time", longest, f"{PARTITIONS}: MaxTime; some checks ask for more")
    _limits(site, title, part)
    site.key("environments", [ENVIRONMENT])
    mpi = mpi_of(node, survey)
    site.key("launcher", mpi.launcher or None, mpi.why)
    runtime = next((name for command, name in CONTAINERS.items() if command in node.programs), None)
    site.key("container", runtime, f"{part.probe}: PATH")
    _cpus(site, part)
    site.key("features", partition_features(survey, part))
    site.key("placements", placements(part) or None, f"{TOPOLOGY}: {part.switches} leaf switches")
    if survey.login.shares_machine:
        site.key("shared_host", _SHARED_HOST, "boot_id of nodes and of this machine: one kernel")
        site.key("max_jobs", 1)
        site.key("tuning", _TUNING, "nodes share one machine and its disk")
    _gpus(site, title, part)
    _network(site, title, part)
    _storage(site, title, part)
    for limit in too_small(part):
        site.note(f"Too small: {limit}", part.probe)


def _limits(site: SiteText, title: str, part: FoundPart) -> None:
    """Add the limits of the Slurm partition for which site.yaml has no key."""
    if part.wants:
        named = " and ".join(part.wants)
        site.ask(f"{title}: Slurm accepts only jobs with {named}: `kappa site new --access=…`")
    bounds = [f"at most {counted(part.most_nodes, 'node')}"] if part.most_nodes is not None else []
    bounds += [f"at least {counted(part.least_nodes, 'node')}"] if part.least_nodes > 1 else []
    if bounds:
        site.note(f"A job gets {', '.join(bounds)}.", f"{PARTITIONS}: MaxNodes, MinNodes")
    for name, value in part.limits.items():
        site.note(f"{name}={one_line(value, 100)}{_MEANING.get(name, '')}.", PARTITIONS)
    if part.others:
        site.note(f"Not used, has some of these nodes: {one_line('; '.join(part.others), 300)}.", PARTITIONS)
    for node in part.strange:
        site.ask(f"{title}: Slurm's documentation does not list the state of {node}: does it accept jobs?")


def _cpus(site: SiteText, part: FoundPart) -> None:
    all_cores = part.sockets * part.cores_per_socket
    cores = part.cores_for_jobs or all_cores
    if cores != all_cores:
        site.note(f"Jobs get {cores} of {all_cores} cores.", f"{NODES}: CPUEfctv, CoreSpecCount")
    memory_gib = round(part.memory_mib / 1024, 1) if part.memory_mib > UNSTATED_MEMORY_MIB else None
    if part.told:
        _cpus_by_probe(site, part, part.node.memory_gib if memory_gib is None else memory_gib)
        return
    sockets, threads = part.sockets_of_jobs or part.sockets, part.threads_per_core
    sockets = sockets if cores % sockets == 0 else 1
    if threads == 1:
        site.key("cores", {"per_node": cores, "sockets": sockets}, NODES)
    else:
        shape = {"num_cpus": cores * threads, "num_cpus_per_core": threads, "num_sockets": sockets}
        site.key("processor", {**shape, "num_cpus_per_socket": cores * threads // sockets}, NODES)
    site.key("memory_gib_per_node", memory_gib, NODES)


def _cpus_by_probe(site: SiteText, part: FoundPart, by_slurm_gib: float) -> None:
    node, probe = part.node, part.probe
    site.key(node.cpu_key, node.processor, f"{probe}: lscpu{' and hwloc' * bool(node.hwloc)}")
    by_lscpu = {"core": node.cores, "numanode": node.numa_domains}
    differ = [f"lscpu counts {number} x {name}, hwloc {node.hwloc[name]}" for name, number in by_lscpu.items()
              if node.hwloc.get(name, number) != number]  # fmt: skip
    if differ:
        site.note(f"{', '.join(differ)}: which is right? Check the firmware and disabled cores.")
    source = f"{NODES}: RealMemory less MemSpecLimit" if by_slurm_gib < node.memory_gib else f"{probe}: MemTotal"
    site.key("memory_gib_per_node", min(node.memory_gib, by_slurm_gib), source)
    if node.peak_gflops_per_core:
        why = node.peak_why + (f", under {node.hypervisor}" if node.hypervisor else "")
        site.key("peak_gflops_per_core", node.peak_gflops_per_core, f"{probe}: {why}")
    else:
        site.ask("peak_gflops_per_core: clock in GHz under load x double-precision operations per cycle of one core: "
                 f"{node.peak_why}; without it HPL's fraction of peak is INCOMPLETE")  # fmt: skip


def _gpus(site: SiteText, title: str, part: FoundPart) -> None:
    gpus, probe, gres = part.node.gpus, part.probe, f"Gres={','.join(part.gres)}"
    if gpus and part.whole_gpus:
        site.key("gpus_per_node", gpus.count, f"{probe}: nvidia-smi, {', '.join(gpus.models)}")
        site.key("gpu_options", ["--gres=gpu:{num_gpus_per_node}"], f"{NODES}: {gres}")
        site.key("gpu_arch", gpus.arch or None, f"{probe}: nvidia-smi")
        site.key("gpu_memory_gib", gpus.memory_gib or None, f"{probe}: nvidia-smi")
        if not gpus.memory_gib:
            site.ask(f"{title}: gpu_memory_gib: nvidia-smi does not state it")
        if gpus.count != part.gpus_by_slurm:
            site.ask(f"{title}: Slurm has {part.gpus_by_slurm} GPUs per node, nvidia-smi lists {gpus.count}: which is "
                     "right?")  # fmt: skip
    elif gpus:
        site.note(f"{gpus.count} GPUs in {gpus.slices} slices (MIG): the checks need whole GPUs.", probe)
    elif part.gpus_by_slurm:
        of_amd = part.node.amd_gpus
        amd = f", and the node has {of_amd} AMD GPUs, which no check supports" if of_amd else ""
        site.ask(f"{title}: Slurm has {gres}, nvidia-smi lists no GPU{amd}: add gpus_per_node and the feature nvidia, "
                 "or give the reason in expected.yaml")  # fmt: skip


def _network(site: SiteText, title: str, part: FoundPart) -> None:
    node, probe = part.node, part.probe
    if node.adapters:
        link = described(node.link, node.link_gbit_per_s)
        site.key("transport", {"adapters": node.adapters}, f"{probe}: {link} each")
    if len(node.adapters) > 1:
        site.key("rails", node.adapters, f"{probe}: without the ports of other links and rates")
    if node.unclear_adapters:
        groups = "; ".join(f"{link}: {' '.join(ports)}" for link, ports in node.unclear_adapters.items())
        site.ask(f"{title}: transport: which of the node's RDMA ports carry MPI: {groups}? Others may be storage's. "
                 "Add `transport: {adapters: [...]}`, for several ports `rails`, and the features large_puts and "
                 "rails, or give the reasons in expected.yaml")  # fmt: skip


def _storage(site: SiteText, title: str, part: FoundPart) -> None:
    chosen, probe = part.storage, part.probe
    usable = {target: found for target, found in chosen.items() if found.folder}
    if usable:
        site.add("storage:", depth=2)
    for target, found in usable.items():
        entry: dict[str, Any] = {"path": found.folder}
        if found.shared and target not in OF_ONE_NODE:
            entry["parallel"] = True
        if found.stripe_size:
            entry["lustre"] = {"stripe_count": found.stripe_count or -1, "stripe_size": found.stripe_size}
        osts = f", {found.osts} object storage targets" if found.osts else ""
        site.key(target, entry, f"{probe}: {found.kind} {found.source} at {found.point}{osts}; {found.why}", depth=3)
    for target, found in chosen.items():
        if not found.folder:
            site.ask(f"{title}: storage {target}: name a folder on {found.point} ({found.kind}) in which you can "
                     "write; none was found")  # fmt: skip
    if part.told and not chosen:
        site.ask(f"{title}: storage: no file system for jobs was found: name a path that all nodes share, or a node's "
                 "disk")  # fmt: skip
    for found in part.node.file_systems:
        if found not in chosen.values():
            site.note(f"Not measured: {found.kind} at {found.point}; another one is the storage target.", probe)
