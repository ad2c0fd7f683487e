"""What a node told of itself: the output of ``src/probe.sh``, of one node or labelled by ``srun --label``."""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import NamedTuple

from kappa.app.survey.records import SurveyError
from kappa.core.ground.clean_text import clean, one_line

_LABEL = re.compile(r"^ *(\d+): ?(.*)$")
_SECTION = re.compile(r"^## (\w+)$")
# `gcc/12.2(default)`, no folder of modules and no heading.
_MODULE = re.compile(r"([\w.+-]+(?:/[\w.+-]+)*)(?:\(\w+\))?")
# The kernel's, whatever the disk's own are.
_SECTOR_BYTES = 512
_OCTAL = re.compile(r"\\([0-7]{3})")


class Cpu(NamedTuple):
    """A logical CPU by the numbers of the kernel."""

    number: int
    core: int
    socket: int
    numa: int


class Mount(NamedTuple):
    """``device`` as ``major:minor``; ``root`` is the folder of the file system that stands at ``point``."""

    device: str
    root: str
    point: str
    type: str
    source: str


class ProbedGpu(NamedTuple):
    """As nvidia-smi has it; ``memory_mib`` and ``arch`` are empty or 0 where it does not say."""

    name: str
    memory_mib: int
    arch: str
    mig: bool


class AdapterPort(NamedTuple):
    """A port of an RDMA adapter, as ``mlx5_0:1``; ``gbit_per_s`` is its link's rate."""

    port: str
    active: bool
    gbit_per_s: float
    link_layer: str


class Interface(NamedTuple):
    """A network interface; ``gbit_per_s`` is 0 where the driver does not say, and means nothing of a virtual one."""

    name: str
    up: bool
    gbit_per_s: float
    virtual: bool


class LustreDefault(NamedTuple):
    """Of a Lustre file system: its default, and the number of its active object storage targets."""

    stripe_count: int
    stripe_size: int
    osts: int


class BlockDevice(NamedTuple):
    """A disk, or a partition as ``sda/sda1``, by the kernel's numbers; ``number`` as ``major:minor``.

    ``busy``: LVM, RAID, multipath or swap uses it. ``content``: the file system or volume on it by udev.
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
    """An MPI library in a usual place: ``source`` is how it was found, ``said`` what its own files say of it."""

    source: str
    said: str
    place: str


class Probe(NamedTuple):
    """``folders``: those that the user may write to, each with what identifies it on this kernel, DEVICE:INODE.

    ``hwloc``: how many objects of a type it counts on the node; empty where it is not there.
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
    """The script, for the standard input of a shell: it asks for GPUs as the check GpuInventory does."""
    parts = (("reframe_checks.node", "src/gpu_fields.sh"), (__package__, "src/probe.sh"))
    return "\n".join(resources.files(place).joinpath(name).read_text(encoding="utf-8") for place, name in parts)


def parse_labelled(text: str) -> list[Probe]:
    """The output of several tasks, each line with the number of its task.

    :raises SurveyError: a task did not come to its end, or told what is no output of the script.
    """
    tasks: dict[int, list[str]] = {}
    for line in clean(text).splitlines():
        if match := _LABEL.match(line):
            tasks.setdefault(int(match[1]), []).append(match[2])
    return [parse("\n".join(lines)) for _, lines in sorted(tasks.items())]


def parse(text: str) -> Probe:
    """:raises SurveyError: it is no whole output of the script; says what is missing."""
    sections = _sections(text)
    host = _pairs(sections["host"])
    if not host.get("name"):
        raise SurveyError("the probe of a node: expected name=HOST in its section `host`")
    cpus = tuple(cpu for line in sections["cpus"] if (cpu := _cpu(line)))
    if not cpus:
        raise SurveyError(f"the probe of {host['name']}: expected CPU,CORE,SOCKET,NODE of `lscpu -p`, found none")
    lscpu = dict(_split(line, ":") for line in sections["lscpu"] if ":" in line)
    memory = re.search(r"MemTotal:\s+(\d+) kB", "\n".join(sections["host"]))
    return Probe(
        host["name"],
        host.get("boot_id", ""),
        host.get("os", ""),
        int(memory[1]) if memory else 0,
        _base_ghz(host.get("base_khz", ""), lscpu),
        lscpu,
        cpus,
        _gpus(sections["gpus"]),
        tuple(match[1] for line in sections["migs"] if (match := re.match(r"\s*MIG (\S+)", line))),
        len(sections["amd_gpus"]),
        tuple(adapter for line in sections["adapters"] if (adapter := _adapter(line))),
        tuple(interface for line in sections["interfaces"] if (interface := _interface(line))),
        tuple(mount for line in sections["mounts"] if (mount := _mount(line))),
        {folder: identity for identity, folder in (_split(line, "|") for line in sections["folders"] if "|" in line)},
        _lustre(sections["lustre"]),
        _pairs(sections["limits"]),
        dict(_split(line, "|") for line in sections["programs"] if "|" in line),
        {name: said for name, said in _named(sections["versions"]) if name != "header"},
        tuple(said for name, said in _named(sections["versions"]) if name == "header"),
        tuple(match[1] for line in sections.get("modules", ()) if (match := _MODULE.fullmatch(line.strip()))),
        {key: int(said) for key, said in _pairs(sections.get("hwloc", ())).items() if said.isdecimal()},
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
    names = _SECTION_NAMES
    missing = [name for name in names if name not in found]
    if missing:
        said = one_line(text, 80) or "nothing"
        raise SurveyError(f"the probe of a node did not come to its end: no section `{missing[0]}`; it said {said!r}")
    return found


_SECTION_NAMES = (
    "host", "lscpu", "cpus", "gpus", "migs", "amd_gpus", "adapters", "interfaces", "mounts", "folders", "lustre",
    "limits", "programs", "versions", "end",
)  # fmt: skip


def _split(line: str, sign: str) -> tuple[str, str]:
    before, _, after = line.partition(sign)
    return before.strip(), after.strip()


def _pairs(lines: Sequence[str]) -> dict[str, str]:
    return dict(_split(line, "=") for line in lines if "=" in line)


def _named(lines: Sequence[str]) -> list[tuple[str, str]]:
    return [_split(line, "|") for line in lines if "|" in line]


def _cpu(line: str) -> Cpu | None:
    """An empty field is a kernel without NUMA, or a core that is off."""
    match = re.match(r"(\d+),(\d+),(\d*),(\d*)", line)
    return Cpu(int(match[1]), int(match[2]), int(match[3] or 0), int(match[4] or 0)) if match else None


def _gpus(lines: Sequence[str]) -> tuple[ProbedGpu, ...]:
    """GPUs as ``INDEX, NAME, MEMORY in MiB, COMPUTE CAPABILITY, MODE OF MIG``.

    What a GPU does not say is `[N/A]`, `[Not Supported]`, `[Unknown Error]` or the like.
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


def _adapter(line: str) -> AdapterPort | None:
    words = line.split("|")
    if len(words) != 4:
        return None
    port, state, rate, layer = words
    number = re.match(r"([\d.]+) Gb/sec", rate)
    return AdapterPort(port, re.search(r"\bACTIVE\b", state) is not None, float(number[1]) if number else 0.0, layer)


def _interface(line: str) -> Interface | None:
    words = line.split("|")
    if len(words) != 4:
        return None
    name, state, speed, kind = words
    # Mbit/s; -1 of an interface without a link.
    return Interface(name, state == "up", int(speed) / 1000 if speed.isdecimal() else 0.0, kind == "virtual")


def _device(line: str) -> BlockDevice | None:
    words = line.split("|", 7)
    if len(words) != 8 or not words[2].isdecimal():
        return None
    name, number, sectors, rotational, removable, busy, content, model = words
    size = int(sectors) * _SECTOR_BYTES
    return BlockDevice(name, number, size, rotational == "1", removable == "1", bool(busy), content, model.strip())


def _mount(line: str) -> Mount | None:
    """A line of /proc/self/mountinfo, proc(5)."""
    before, sign, after = line.partition(" - ")
    words, more = before.split(), after.split()
    if not sign or len(words) < 6 or len(more) < 2:
        return None
    device, root, point = words[2:5]
    return Mount(device, _plain(root), _plain(point), more[0], _plain(more[1]))


def _plain(path: str) -> str:
    """Blanks and backslashes are octal there."""
    return clean(_OCTAL.sub(lambda match: chr(int(match[1], 8)), path))


def _lustre(lines: Sequence[str]) -> dict[str, LustreDefault]:
    """``POINT|COUNT|SIZE``, and ``POINT|OST LINE`` for each line of ``lfs osts``, of which only ACTIVE targets count.

    Older probes have the number of targets behind the size.
    """
    found: dict[str, LustreDefault] = {}
    for line in lines:
        if match := re.fullmatch(r"(/[^|]*)\|(-?\d+)\|(\d+)(?:\|(\d+))?", line):
            found[match[1]] = LustreDefault(int(match[2]), int(match[3]), int(match[4] or 0))
        elif (match := re.fullmatch(r"(/[^|]*)\|OST \d+: \S+ ACTIVE\s*", line)) and match[1] in found:
            found[match[1]] = found[match[1]]._replace(osts=found[match[1]].osts + 1)
    return found


def _base_ghz(base_khz: str, lscpu: Mapping[str, str]) -> float:
    """The clock that the maker states, not that of its boost; 0 where nothing tells it.

    The kernel's, else the one in the model's name, else that of the time stamp counter, of which BogoMIPS is twice.
    """
    if base_khz.isdecimal():
        return int(base_khz) / 1e6
    if match := re.search(r"@ ([\d.]+)GHz", lscpu.get("Model name", "")):
        return float(match[1])
    x86 = lscpu.get("Architecture") == "x86_64"
    bogomips = re.fullmatch(r"[\d.]+", lscpu.get("BogoMIPS", ""))
    return float(bogomips[0]) / 2000 if x86 and bogomips else 0.0
