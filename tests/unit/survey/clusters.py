"""Clusters as their commands would show them.

``Recorded`` is the embedded cluster, in the shape in which it was recorded; the others are written after Slurm's manual
pages (scontrol(1), topology.conf(5), gres.conf(5), mpi_guide; versions 22.05 to 25.05), lscpu(1), proc(5) for
mountinfo, and the documentation of nvidia-smi.
"""

import datetime
import json
import pathlib
from dataclasses import dataclass, field

import yaml

from kappa.app.conduct.surveying import survey
from kappa.app.survey.kinds import Part
from kappa.app.survey.probe import parse, parse_labelled
from kappa.app.survey.records import SurveyError
from kappa.app.survey.site_files import site_files
from kappa.app.survey.slurm import CONFIG, MPI_TYPES, NODES, PARTITIONS, QOS, TOPOLOGY
from kappa.core.ground.errors import InputError
from kappa.core.sites.load import Site
from kappa.core.vocabulary.scales import DERIVED_FEATURES

DAY = datetime.date(2026, 1, 1)
DATA = pathlib.Path(__file__).parents[2] / "data/survey"
CONFIG_TEXT = """\
Configuration data as of 2026-01-01T00:00:00
ClusterName             = shape
MpiDefault              = {mpi}
SLURM_VERSION           = 24.05.4
TaskPlugin              = task/cgroup,task/affinity
TopologyPlugin          = {topology}
AccountingStorageType   = {accounting}
"""
MPI_TEXT = (
    "MPI plugin types are...\n\tnone\n\tcray_shasta\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n"
)
ROOT = "20 1 8:1 / / rw - xfs /dev/sda1 rw"


def node(
    name, partitions="batch", sockets=2, cores=32, threads=1, memory=257000, gres="(null)", features="", state="IDLE"
):
    said = features or "(null)"
    return (
        f"NodeName={name} Arch=x86_64 CoresPerSocket={cores}  CPUAlloc=0 CPUEfctv=1 CPUTot=1 CPULoad=0.10"
        f" AvailableFeatures={said} ActiveFeatures={said} Gres={gres} NodeAddr={name} NodeHostName={name}"
        f" Version=24.05.4 OS=Linux 5.14.0 #1 SMP RealMemory={memory} AllocMem=0 FreeMem=1 Sockets={sockets} Boards=1"
        f" State={state} ThreadsPerCore={threads} TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A"
        f" Partitions={partitions}  BootTime=None"
        + (" Reason=disk a=b failed [root@2026-01-01T00:00:00]" if "DRAIN" in state else "")
    )


def partition(name, nodes, **more):
    said = {"Default": "YES", "MaxTime": "1-00:00:00", "MaxNodes": "UNLIMITED", "State": "UP", **more}
    return f"PartitionName={name} AllowGroups=ALL " + " ".join(f"{k}={v}" for k, v in said.items()) + f" Nodes={nodes}"


def told(facts):
    """Lines of ``kappa-node facts``: one for each fact, and for each item of a list."""
    items = ((name, item) for name, value in facts.items() for item in (value if isinstance(value, list) else [value]))
    return [f"{name} {json.dumps(item)}" for name, item in items]


def mounted(line):
    """A mount, from a line of proc(5), mountinfo."""
    _, _, device, root, point, *_, kind, source, _ = line.split()
    return [device, root, point, kind, source]


def gpu(index, name, memory_mib, capability, mig="Disabled"):
    """The facts of a GPU."""
    facts = {"name": name, "memory_mib": memory_mib, "compute_capability": capability, "mig": mig}
    return {f"gpu.{index}.{field}": value for field, value in facts.items()}


def probe(
    name,
    sockets=2,
    cores=32,
    threads=1,
    domains=2,
    adapters=(),
    mounts=(),
    folders=(),
    programs=(),
    facts=None,
):
    """``adapters`` as (DEVICE.PORT, RATE), or (DEVICE.PORT, RATE, LINK LAYER) for others than InfiniBand.

    ``facts``: further facts, and other values of those that all have.

    Cores are numbered socket by socket, second threads after all of them, as Linux does."""
    total = sockets * cores
    cpus = [[t * total + c, c, c // cores, c * domains // total] for t in range(threads) for c in range(total)]
    told_by_all = {
        "identity.host_name": name, "identity.boot_id": name, "system.release": "Rocky Linux 9.4 (Blue Onyx)",
        "cpu.base_khz": None, "memory.total_kib": 263000000, "limit.locked_memory_bytes": "unlimited",
        "net.eno1.state": "up", "net.eno1.speed_mbit": 25000, "net.eno1.driver": "ice",
        "site.processor": [
            ["Architecture", "x86_64"], ["Vendor ID", "GenuineIntel"], ["Model name", "Intel(R) Xeon(R) CPU @ 2.00GHz"],
            ["CPU family", "6"], ["Model", "106"], ["Flags", "fma avx2 avx512f"],
        ],
        "site.cpus": cpus, "site.mounts": [mounted(line) for line in (ROOT, *mounts)], "site.amd_gpus": 0,
        "site.folders": [["8:1", folder] for folder in folders],
        "site.versions": [["mpirun", "mpirun (Open MPI) 5.0.3"]],
    }  # fmt: skip
    for port, rate, *layer in adapters:
        said = {"state": "ACTIVE", "rate": rate, "link_layer": layer[0] if layer else "InfiniBand"}
        told_by_all |= {f"ib.{port}.{name}": value for name, value in said.items()}
    told_by_all |= {f"program.{program}": f"/usr/bin/{program}" for program in programs}
    return "\n".join([*told(told_by_all | (facts or {})), "end"])


@dataclass
class Cluster:
    """Answers as the commands on it would; a partition whose kind has no probe fails as a job would."""

    nodes: str
    partitions: str
    probes: dict[str, str] = field(default_factory=dict)
    topology: str | None = None
    mpi: str = "none"
    login: str = ""
    accounting: str = "accounting_storage/slurmdbd"
    sacct_fails: str = ""
    qos: str = ""
    more: dict[str, str] = field(default_factory=dict)

    def slurm(self, command):
        plug_in = "topology/default" if self.topology is None else "topology/tree"
        config = CONFIG_TEXT.format(mpi=self.mpi, topology=plug_in, accounting=self.accounting)
        said = {
            CONFIG: config,
            NODES: self.nodes,
            PARTITIONS: self.partitions,
            TOPOLOGY: self.topology or "No topology information available\n",
            MPI_TYPES: MPI_TEXT,
            QOS: self.qos,
            **self.more,
        }
        if command not in said:
            raise InputError(f"`{command}` ended with status 1")
        return said[command]

    def no_accounting(self):
        return self.sacct_fails

    def probed(self, part: Part):
        nodes = part.to_probe(2)
        if not nodes:
            raise SurveyError("none of its nodes takes jobs now")
        text = self.probes[part.name]
        lines = [
            f"{rank}: {line}" for rank, one in enumerate(nodes) for line in text.replace("NAME", one.name).splitlines()
        ]
        return parse_labelled("\n".join(lines))

    def here(self):
        return parse(self.login) if self.login else None


class Recorded(Cluster):
    """``shape``: what the names of the recorded files begin with."""

    def __init__(self, shape="embedded-"):
        self.shape = shape
        self.said = {
            command: self.text(name)
            for name, command in {
                "config": CONFIG,
                "node": NODES,
                "partition": PARTITIONS,
                "topology": TOPOLOGY,
                "mpi": MPI_TYPES,
            }.items()
        }

    def text(self, name):
        return (DATA / f"{self.shape}{name}.txt").read_text()

    def slurm(self, command):
        return self.said[command]

    def probed(self, part):
        if not part.to_probe(2):
            raise SurveyError("none of its nodes takes jobs now")
        return parse_labelled(self.text(f"probe-{part.name}"))

    def here(self):
        return parse(self.text("probe-login"))


def surveyed(cluster, path=(), access=()):
    return survey(cluster, path, access, lambda _: None)


def one_node(text, **limits):
    """Return the findings for a partition of one node, of 2 sockets with 32 cores each, that reports ``text``."""
    return surveyed(Cluster(node("n1"), partition("batch", "n1", **limits), {"batch": text}))


def files_of(found):
    return site_files("made", found, DAY)


def site_in(folder, found):
    """The site that is made of what was found, written and loaded."""
    for path, text in files_of(found).items():
        (folder / "made" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "made" / path).write_text(text)
    made = Site(folder / "made")
    made.require_sound()
    return made


def scales_left_out(files):
    """Partition -> the scales and placements that its nodes allow and that ``expected.yaml`` leaves out."""
    left: dict[str, set[str]] = {}
    for entry in yaml.safe_load(files["expected.yaml"]).get("left_out", []):
        if scales := DERIVED_FEATURES.intersection(entry["features"]):
            for title in entry["partitions"]:
                left.setdefault(title, set()).update(scales)
    return left


def with_facts(text, facts):
    """The output of a node with more facts, and more items of its lists."""
    return "\n".join([*told(facts), text])


def part_of(text):
    return one_node(text).parts["batch"]
