"""Parse the answers of nodes to ``kappa-node facts``, of one node or of several with ``srun --label``."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import DecodeError, ValidationError, convert, json

from kappa.app.survey.records import SurveyError
from kappa.core.ground.clean_text import clean, one_line
from kappa.node import packed

#: The facts that describe a site.
FACTS = (
    "site.*", "identity.host_name", "identity.boot_id", "system.release", "memory.total_kib", "cpu.base_khz", "limit.*",
    "net.*", "ib.*", "gpu.*", "program.*", "needed_to_build.*",
)  # fmt: skip
_LABEL = re.compile(r"^ *(\d+): ?(.*)$")
_ADAPTER = re.compile(r"ib\.(.+)\.(\d+)\.state")
_INTERFACE = re.compile(r"net\.(.+)\.state")
_GPU = re.compile(r"gpu\.(\d+)\.name")
_END = "end"
# Limit -> the fact that states it, and its factor.
_LIMITS = {
    "memlock": ("limit.locked_memory_bytes", 2**-10), "nofile": ("limit.open_files", 1),
    "nproc": ("limit.processes", 1), "stack_kib": ("limit.stack_bytes", 2**-10),
    "core_kib": ("limit.core_bytes", 2**-10), "as_kib": ("limit.address_space_bytes", 2**-10),
    "shm_kib": ("limit.shared_memory_kib", 1), "group_memory_kib": ("limit.group_memory_mib", 1024),
    "slurm_mib_per_cpu": ("site.promised_memory_mib_per_cpu", 1),
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


def question(programs: Sequence[str], headers: Sequence[str]) -> tuple[list[str], str]:
    """Return the command that asks a node, and its standard input."""
    options = [*(f"--program={name}" for name in programs), *(f"--to-build={name}" for name in headers)]
    return packed.from_input("facts", *FACTS, *options)


def parse_labelled(text: str) -> list[Probe]:
    """Parse the output of several tasks. Each line begins with the number of its task.

    :raises SurveyError: a task did not finish, or its output is not the program's.
    """
    tasks: dict[int, list[str]] = {}
    for line in clean(text).splitlines():
        if match := _LABEL.match(line):
            tasks.setdefault(int(match[1]), []).append(match[2])
    return [parse("\n".join(lines)) for _, lines in sorted(tasks.items())]


def parse(text: str) -> Probe:
    """Parse the output of one node.

    :raises SurveyError: it is not the complete output of the program, or a fact does not fit. The message names it.
    """
    facts = _facts(text.splitlines())
    name = facts.text("identity.host_name")
    cpus = facts.items("site.cpus", Cpu)
    if not cpus:
        raise SurveyError(f"the probe of {name}: expected CPU, CORE, SOCKET and NODE of `lscpu -p`, found none")
    processor = dict(facts.items("site.processor", tuple[str, str]))
    return Probe(
        name,
        facts.text("identity.boot_id"),
        facts.text("system.release"),
        facts.number("memory.total_kib"),
        _base_ghz(facts.number("cpu.base_khz"), processor),
        processor,
        cpus,
        tuple(_gpu(match[1], facts) for fact in facts.values if (match := _GPU.fullmatch(fact))),
        facts.items("site.mig_slices", str),
        facts.number("site.amd_gpus"),
        tuple(_adapter(match[1], match[2], facts) for fact in facts.values if (match := _ADAPTER.fullmatch(fact))),
        tuple(_interface(match[1], facts) for fact in facts.values if (match := _INTERFACE.fullmatch(fact))),
        facts.items("site.mounts", Mount),
        {folder: identity for identity, folder in facts.items("site.folders", tuple[str, str])},
        {point: LustreDefault(*rest) for point, *rest in facts.items("site.lustre", tuple[str, int, int, int])},
        _limits(facts),
        facts.places("program."),
        dict(facts.items("site.versions", tuple[str, str])),
        tuple(facts.places("needed_to_build.")),
        facts.items("site.modules", str),
        dict(facts.items("site.hwloc", tuple[str, int])),
    )


class Facts(NamedTuple):
    """The facts of a node: name -> each value that a line stated, in order."""

    values: Mapping[str, list[Any]]

    def items(self, name: str, kind: Any) -> tuple[Any, ...]:
        """Return the items of a list.

        :raises SurveyError: one is not of this kind.
        """
        try:
            return convert(self.values.get(name, []), tuple[kind, ...])
        except ValidationError as err:
            raise SurveyError(f"the probe of {self.text('identity.host_name') or 'a node'}: {name}: {err}") from None

    def text(self, name: str) -> str:
        """Return a value as text; empty if the node does not state it."""
        value = self.values.get(name, [None])[-1]
        return "" if value is None else str(value)

    def number(self, name: str) -> int:
        said = self.text(name)
        return int(said) if said.isdecimal() else 0

    def places(self, beginning: str) -> dict[str, str]:
        """Return the path of each program or header whose fact has this beginning, and that the node has."""
        return {name.removeprefix(beginning): self.text(name) for name in self.values
                if name.startswith(beginning) and self.text(name)}  # fmt: skip


def _facts(lines: Sequence[str]) -> Facts:
    """Parse the lines NAME JSON.

    :raises SurveyError: there are other lines, for instance of a shell without Python; the node's name or the last line
        is missing; a reader of facts failed.
    """
    values: dict[str, list[Any]] = {}
    ended = _END in lines[-1:]
    try:
        for name, _, text in (line.partition(" ") for line in lines[: len(lines) - ended]):
            values.setdefault(name, []).append(_cleaned(json.decode(text)))
    except DecodeError:
        values = {}
    facts = Facts(values)
    host = facts.text("identity.host_name")
    if not host:
        said = one_line(" ".join(lines[-2:]), 160) or "nothing"
        raise SurveyError(
            f"the probe of a node: expected facts, as lines NAME JSON, found {said!r}:"
            " install Python 3.6 or later as `/usr/bin/python3` on the nodes"
        )
    if not ended:
        raise SurveyError(f"the probe of {host} did not finish: expected the last line `{_END}`, found {lines[-1]!r}")
    if failed := [f"{name}: {facts.text(name)}" for name in values if name.startswith("failed.")]:
        raise SurveyError(f"the probe of {host}: {failed[0]}: run `kappa-node facts` on the node by hand")
    return facts


def _cleaned(value: Any) -> Any:
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def _gpu(index: str, facts: Facts) -> ProbedGpu:
    capability = facts.text(f"gpu.{index}.compute_capability")
    arch = f"sm_{capability.replace('.', '')}" if re.fullmatch(r"\d{1,2}\.\d", capability) else ""
    is_split = facts.text(f"gpu.{index}.mig") == "Enabled"
    return ProbedGpu(facts.text(f"gpu.{index}.name"), facts.number(f"gpu.{index}.memory_mib"), arch, is_split)


def _limits(facts: Facts) -> dict[str, str]:
    limits = {}
    for hard in ("", "_hard"):
        for limit, (name, times) in _LIMITS.items():
            if said := facts.text(name + hard):
                limits[limit + hard] = str(int(int(said) * times)) if said.isdecimal() else said
    return limits


def _adapter(device: str, port: str, facts: Facts) -> AdapterPort:
    state, rate, layer = (facts.text(f"ib.{device}.{port}.{of}") for of in ("state", "rate", "link_layer"))
    number = re.match(r"(\d+(?:\.\d+)?) Gb/sec", rate)
    return AdapterPort(f"{device}:{port}", state == "ACTIVE", float(number[1]) if number else 0.0, layer)


def _interface(name: str, facts: Facts) -> Interface:
    """Return an interface. A virtual one has no device driver."""
    gbit_per_s = facts.number(f"net.{name}.speed_mbit") / 1000
    return Interface(name, facts.text(f"net.{name}.state") == "up", gbit_per_s, not facts.text(f"net.{name}.driver"))


def _base_ghz(base_khz: int, processor: Mapping[str, str]) -> float:
    """Return the base clock (not boost) in GHz; 0 if it is unknown.

    Sources in this order: the kernel, the model's name, the time stamp counter (half of BogoMIPS).
    """
    if base_khz:
        return base_khz / 1e6
    if match := re.search(r"@ ([\d.]+)GHz", processor.get("Model name", "")):
        return float(match[1])
    x86 = processor.get("Architecture") == "x86_64"
    bogomips = re.fullmatch(r"[\d.]+", processor.get("BogoMIPS", ""))
    return float(bogomips[0]) / 2000 if x86 and bogomips else 0.0
