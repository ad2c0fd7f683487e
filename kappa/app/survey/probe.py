"""Parse the answer of a node: the output of ``src/probe.sh``, of one node or of several with ``srun --label``."""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from shlex import quote
from typing import NamedTuple

from msgspec import DecodeError, json

from kappa.app.survey.records import SurveyError
from kappa.core.ground.clean_text import clean, one_line

_LABEL = re.compile(r"^ *(\d+): ?(.*)$")
_SECTION = re.compile(r"^## (\w+)$")
# A module such as `gcc/12.2(default)`, not a folder of modules or a heading.
_MODULE = re.compile(r"([\w.+-]+(?:/[\w.+-]+)*)(?:\(\w+\))?")
# The kernel's sector size, which does not depend on the disk.
_SECTOR_BYTES = 512
_ADAPTER = re.compile(r"ib\.(.+)\.(\d+)\.state")
_INTERFACE = re.compile(r"net\.(.+)\.state")
# Limit -> the fact that states it, and its factor.
_LIMITS = {
    "memlock": ("locked_memory_bytes", 2**-10), "nofile": ("open_files", 1), "nproc": ("processes", 1),
    "stack_kib": ("stack_bytes", 2**-10), "core_kib": ("core_bytes", 2**-10), "as_kib": ("address_space_bytes", 2**-10),
    "shm_kib": ("shared_memory_kib", 1), "group_memory_kib": ("group_memory_mib", 1024),
    "slurm_mib_per_cpu": ("promised_memory_mib_per_cpu", 1),
}  # fmt: skip


class Cpu(NamedTuple):
    """A logical CPU, with the kernel's numbers."""

    number: int
    core: int
    socket: int
    numa: int


class Mount(NamedTuple):
    """A mount. ``device``: ``major:minor``. ``root``: the folder of the file system that is mounted at ``point``."""

    device: str
    root: str
    point: str
    type: str
    source: str


class ProbedGpu(NamedTuple):
    """A GPU by nvidia-smi. ``memory_mib`` is 0 and ``arch`` empty if nvidia-smi does not state them."""

    name: str
    memory_mib: int
    arch: str
    mig: bool


class AdapterPort(NamedTuple):
    """A port of an RDMA adapter, for instance ``mlx5_0:1``. ``gbit_per_s``: the rate of its link."""

    port: str
    active: bool
    gbit_per_s: float
    link_layer: str


class Interface(NamedTuple):
    """A network interface. ``gbit_per_s`` is 0 if the driver does not state it, and arbitrary for a virtual one."""

    name: str
    up: bool
    gbit_per_s: float
    virtual: bool


class LustreDefault(NamedTuple):
    """The default striping of a Lustre file system, and the number of its active object storage targets."""

    stripe_count: int
    stripe_size: int
    osts: int


class BlockDevice(NamedTuple):
    """A disk, or a partition such as ``sda/sda1``. ``number``: ``major:minor``.

    ``busy``: LVM, RAID, multipath or swap uses it. ``content``: the file system or volume on it, by udev.
    """

    name: str
    number: str
    size_bytes: int
    rotational: bool
    removable: bool
    busy: bool
    content: str
    model: str


class MpiPlace(NamedTuple):
    """An MPI library in a usual place. ``source``: how it was found. ``said``: what its files say about it."""

    source: str
    said: str
    place: str


class Probe(NamedTuple):
    """The answer of one node.

    ``folders``: the folders that the user can write to, each with its DEVICE:INODE. ``hwloc``: its number of objects of
    each type; empty without hwloc.
    """

    name: str
    boot_id: str
    os: str
    memory_kib: int
    base_ghz: float
    lscpu: Mapping[str, str]
    cpus: tuple[Cpu, ...]
    gpus: tuple[ProbedGpu, ...]
    migs: tuple[str, ...]
    amd_gpus: int
    adapters: tuple[AdapterPort, ...]
    interfaces: tuple[Interface, ...]
    mounts: tuple[Mount, ...]
    folders: Mapping[str, str]
    lustre: Mapping[str, LustreDefault]
    limits: Mapping[str, str]
    programs: Mapping[str, str]
    versions: Mapping[str, str]
    headers: tuple[str, ...]
    modules: tuple[str, ...] = ()
    hwloc: Mapping[str, int] = {}
    devices: tuple[BlockDevice, ...] = ()
    mpi_places: tuple[MpiPlace, ...] = ()


def script() -> str:
    """Return the script, for a shell. It shares code with the checks GpuInventory and PartitionHealth."""
    checks, own = resources.files("reframe_checks.node") / "src", resources.files(__package__) / "src"
    rooms = [room for room in (checks / "node_facts").iterdir() if room.name.endswith(".py")]
    modules = {f"node_facts.{room.name.removesuffix('.py')}": room.read_text("utf-8") for room in rooms}
    modules["node_facts"] = modules.pop("node_facts.__init__")
    modules["node_probe"] = (checks / "node_probe.py").read_text("utf-8")
    texts, loader = quote(json.encode(modules).decode()), quote((own / "from_texts.py").read_text("utf-8"))
    probe = f'node_probe() {{ printf %s {texts} | python3 -I -c {loader} "$@"; }}'
    return "\n".join([(checks / "gpu_fields.sh").read_text("utf-8"), probe, (own / "probe.sh").read_text("utf-8")])


def parse_labelled(text: str) -> list[Probe]:
    """Parse the output of several tasks. Each line begins with the number of its task.

    :raises SurveyError: a task did not finish, or its output is not the script's.
    """
    tasks: dict[int, list[str]] = {}
    for line in clean(text).splitlines():
        if match := _LABEL.match(line):
            tasks.setdefault(int(match[1]), []).append(match[2])
    return [parse("\n".join(lines)) for _, lines in sorted(tasks.items())]


def parse(text: str) -> Probe:
    """Parse the output of one node.

    :raises SurveyError: it is not the complete output of the script. The message names the missing part.
    """
    sections = _sections(text)
    facts, mounts = _facts(sections["facts"])
    name = facts["identity.host_name"]
    cpus = tuple(cpu for line in sections["cpus"] if (cpu := _cpu(line)))
    if not cpus:
        raise SurveyError(f"the probe of {name}: expected CPU,CORE,SOCKET,NODE of `lscpu -p`, found none")
    lscpu = dict(_split(line, ":") for line in sections["lscpu"] if ":" in line)
    return Probe(
        name,
        facts.get("identity.boot_id", ""),
        facts.get("system.release", ""),
        _number(facts, "memory.total_kib"),
        _base_ghz(facts.get("cpu.base_khz", ""), lscpu),
        lscpu,
        cpus,
        _gpus(sections["gpus"]),
        tuple(match[1] for line in sections["migs"] if (match := re.match(r"\s*MIG (\S+)", line))),
        len(sections["amd_gpus"]),
        tuple(_adapter(match[1], match[2], facts) for fact in facts if (match := _ADAPTER.fullmatch(fact))),
        tuple(_interface(match[1], facts) for fact in facts if (match := _INTERFACE.fullmatch(fact))),
        mounts,
        {folder: identity for identity, folder in (_split(line, "|") for line in sections["folders"] if "|" in line)},
        _lustre(sections["lustre"]),
        _limits(facts),
        {fact.removeprefix("program."): place for fact, place in facts.items() if fact.startswith("program.")},
        {name: said for name, said in _named(sections["versions"]) if name != "header"},
        tuple(said for name, said in _named(sections["versions"]) if name == "header"),
        tuple(match[1] for line in sections.get("modules", ()) if (match := _MODULE.fullmatch(line.strip()))),
        {key: int(said) for key, said in (_split(line, "=") for line in sections.get("hwloc", ())) if said.isdecimal()},
        tuple(device for line in sections.get("disks", ()) if (device := _device(line))),
        tuple(MpiPlace(*words) for line in sections.get("mpi", ()) if len(words := line.split("|", 2)) == 3),
    )


def _sections(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if match := _SECTION.match(line):
            lines = found.setdefault(match[1], [])
        elif line.strip():
            lines.append(line)
    missing = [name for name in _SECTION_NAMES if name not in found]
    if missing:
        said = one_line(text, 80) or "nothing"
        raise SurveyError(f"the probe of a node did not finish: no section `{missing[0]}`; its output is {said!r}")
    return found


_SECTION_NAMES = ("facts", "lscpu", "cpus", "gpus", "migs", "amd_gpus", "folders", "lustre", "versions", "end")


def _split(line: str, sign: str) -> tuple[str, str]:
    before, _, after = line.partition(sign)
    return before.strip(), after.strip()


def _named(lines: Sequence[str]) -> list[tuple[str, str]]:
    return [_split(line, "|") for line in lines if "|" in line]


def _cpu(line: str) -> Cpu | None:
    """Parse a line of ``lscpu -p``. A field is empty if the kernel has no NUMA, or the core is off."""
    match = re.match(r"(\d+),(\d+),(\d*),(\d*)", line)
    return Cpu(int(match[1]), int(match[2]), int(match[3] or 0), int(match[4] or 0)) if match else None


def _gpus(lines: Sequence[str]) -> tuple[ProbedGpu, ...]:
    """Parse GPUs from ``INDEX, NAME, MEMORY in MiB, COMPUTE CAPABILITY, MODE OF MIG``.

    An unknown value is `[N/A]`, `[Not Supported]`, `[Unknown Error]` or the like.
    """
    found = []
    for line in lines:
        words = [word.strip() for word in line.split(",")]
        if len(words) != 5 or not words[0].isdecimal():
            continue
        _, name, memory, capability, mig = words
        arch = f"sm_{capability.replace('.', '')}" if re.fullmatch(r"\d{1,2}\.\d", capability) else ""
        found.append(ProbedGpu(name, int(memory) if memory.isdecimal() else 0, arch, mig == "Enabled"))
    return tuple(found)


def _facts(lines: Sequence[str]) -> tuple[dict[str, str], tuple[Mount, ...]]:
    """Parse the lines NAME JSON of node_probe.py: the node's facts by name, and its mounts.

    :raises SurveyError: there are other lines, for instance of a shell without Python; the node's name is missing; a
        part of node_probe.py failed.
    """
    facts: dict[str, str] = {}
    mounts: list[Mount] = []
    try:
        for name, _, text in (line.partition(" ") for line in lines):
            if name == "mounted":
                mounts.append(Mount(*map(clean, json.decode(text, type=tuple[str, str, str, str, str]))))
            elif (value := json.decode(text, type=bool | int | float | str | None)) is not None:
                facts[name] = clean(str(value))
    except DecodeError:
        facts = {}
    host = facts.get("identity.host_name")
    if not host:
        said = one_line(" ".join(lines[-2:]), 160)
        raise SurveyError(
            f"the probe of a node: expected lines NAME JSON in its section `facts`, found {said!r}:"
            " install Python 3.6 or later as `python3` on the nodes"
        )
    if failed := [f"{name}: {facts[name]}" for name in facts if name.startswith("failed.")]:
        raise SurveyError(f"the probe of {host}: {failed[0]}: run `node_probe.py --survey` on the node by hand")
    return facts, tuple(mounts)


def _number(facts: Mapping[str, str], name: str) -> int:
    said = facts.get(name, "")
    return int(said) if said.isdecimal() else 0


def _limits(facts: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for hard in ("", "_hard"):
        for limit, (name, times) in _LIMITS.items():
            if said := facts.get(f"limit.{name}{hard}"):
                found[limit + hard] = str(int(int(said) * times)) if said.isdecimal() else said
    return found


def _adapter(device: str, port: str, facts: Mapping[str, str]) -> AdapterPort:
    state, rate, layer = (facts.get(f"ib.{device}.{port}.{of}", "") for of in ("state", "rate", "link_layer"))
    number = re.match(r"(\d+(?:\.\d+)?) Gb/sec", rate)
    return AdapterPort(f"{device}:{port}", state == "ACTIVE", float(number[1]) if number else 0.0, layer)


def _interface(name: str, facts: Mapping[str, str]) -> Interface:
    """Return an interface. A virtual one has no device driver."""
    gbit_per_s = _number(facts, f"net.{name}.speed_mbit") / 1000
    return Interface(name, facts[f"net.{name}.state"] == "up", gbit_per_s, f"net.{name}.driver" not in facts)


def _device(line: str) -> BlockDevice | None:
    words = line.split("|", 7)
    if len(words) != 8 or not words[2].isdecimal():
        return None
    name, number, sectors, rotational, removable, busy, content, model = words
    size = int(sectors) * _SECTOR_BYTES
    return BlockDevice(name, number, size, rotational == "1", removable == "1", bool(busy), content, model.strip())


def _lustre(lines: Sequence[str]) -> dict[str, LustreDefault]:
    """Parse ``POINT|COUNT|SIZE``, and ``POINT|OST LINE`` for each line of ``lfs osts``. Only ACTIVE targets count.

    Older probes have the number of targets after the size.
    """
    found: dict[str, LustreDefault] = {}
    for line in lines:
        if match := re.fullmatch(r"(/[^|]*)\|(-?\d+)\|(\d+)(?:\|(\d+))?", line):
            found[match[1]] = LustreDefault(int(match[2]), int(match[3]), int(match[4] or 0))
        elif (match := re.fullmatch(r"(/[^|]*)\|OST \d+: \S+ ACTIVE\s*", line)) and match[1] in found:
            found[match[1]] = found[match[1]]._replace(osts=found[match[1]].osts + 1)
    return found


def _base_ghz(base_khz: str, lscpu: Mapping[str, str]) -> float:
    """Return the base clock (not boost) in GHz; 0 if it is unknown.

    Sources in this order: the kernel, the model's name, the time stamp counter (half of BogoMIPS).
    """
    if base_khz.isdecimal():
        return int(base_khz) / 1e6
    if match := re.search(r"@ ([\d.]+)GHz", lscpu.get("Model name", "")):
        return float(match[1])
    x86 = lscpu.get("Architecture") == "x86_64"
    bogomips = re.fullmatch(r"[\d.]+", lscpu.get("BogoMIPS", ""))
    return float(bogomips[0]) / 2000 if x86 and bogomips else 0.0
