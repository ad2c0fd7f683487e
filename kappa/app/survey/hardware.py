"""Describe the CPUs of a node for ``site.yaml``, with the peak of a core and the memory bandwidth from data sheets."""

import itertools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from kappa.app.survey.probe import Cpu, Probe

_BYTES = 8
# The firmware's name of the processor comes first: several makers use the core names of lscpu.
_NAMES = ("BIOS Model name", "Model name")
_XEON = r"xeon\(r\) (?:platinum|gold|silver|bronze) "
_EPYC = r"epyc "
ARK, INTEL_GUIDE, AMD_GUIDE = "Intel ARK", "Intel's Optimization Reference Manual", "AMD's Software Optimization Guide"
ARM_GUIDE = "Arm's Software Optimization Guide"
_INTEL, _AMD = "GenuineIntel", "AuthenticAMD"
# Their clocks fall by a third to a half under AVX-512. Intel's Specification Update 336065 has the values by model.
_SKYLAKE_SP = (85,)
# If a hypervisor hides wide vectors in the flags, units of 256 or 128 bits remain.
_NARROWER = (("avx512f", 16), ("fma", 8), ("avx", 4))
# An SMT8 core is two of SMT4.
_POWER_THREADS = 4


def cores_or_processor(cpus: Sequence[Cpu]) -> tuple[str, dict[str, Any]]:
    """Return the key and value for site.yaml: ``cores`` if cores are numbered in equal parts, else ``processor``."""
    by_core = _groups(cpus, lambda cpu: (cpu.socket, cpu.core))
    sockets, domains = _groups(cpus, lambda cpu: cpu.socket), _groups(cpus, lambda cpu: cpu.numa)
    if len(by_core) == len(cpus) and _one_after_the_other(sockets) and _one_after_the_other(domains):
        return "cores", {"per_node": len(cpus), "sockets": len(sockets), "numa_domains": len(domains)}
    groups = {"cores": by_core, "sockets": sockets, "numa_nodes": domains}
    masks = {name: [hex(sum(1 << number for number in part)) for part in parts] for name, parts in groups.items()}
    return "processor", {
        "num_cpus": len(cpus),
        "num_cpus_per_core": max(len(part) for part in by_core),
        "num_sockets": len(sockets),
        "num_cpus_per_socket": len(cpus) // len(sockets),
        "topology": masks,
    }


def for_jobs(cpus: Sequence[Cpu], reserved: int, numbers: Collection[int]) -> list[Cpu]:
    """Return the CPUs of the cores that Slurm gives to jobs.

    :param numbers: the reserved cores, counted socket by socket. If Slurm does not state them, the last cores of all
        sockets in turn are reserved, from the last socket on (Slurm's core_spec.html).
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


# Pattern of the model's name -> memory channels of a socket, and million transfers a second of each.
_MEMORY = (
    # Intel Xeon Scalable: the second digit is the generation.
    (_XEON + r"(?:81|61)\d\d", 6, 2666),
    (_XEON + r"(?:51|41)\d\d", 6, 2400),
    (_XEON + r"31\d\d", 6, 2133),
    (_XEON + r"92\d\d", 12, 2933),
    (_XEON + r"(?:82|62)\d\d(?!v)", 6, 2933),
    (_XEON + r"52\d\d", 6, 2666),
    (_XEON + r"42\d\d", 6, 2400),
    (_XEON + r"32\d\d", 6, 2133),
    # Without the four-socket models of the third generation (H), whose speeds differ.
    (_XEON + r"(?:83(?!51n|52v)|63(?!30))\d\d(?![hn])", 8, 3200),
    (_XEON + r"(?:53\d\d|6330)(?![hn])", 8, 2933),
    (_XEON + r"(?:43\d\d|63\d\dn|5318n)", 8, 2666),
    (_XEON + r"(?:84\d\d|64\d\d(?!n))", 8, 4800),
    (_XEON + r"54\d\d(?!n)", 8, 4400),
    (_XEON + r"(?:44|34)\d\d", 8, 4000),
    (r"xeon\(r\) (?:cpu )?max 94\d\d", 8, 4800),
    (_XEON + r"(?:8592\+|8580|8568y\+|8562y\+|8593q|8558p)", 8, 5600),
    (_XEON + r"65(?:26y|38y\+|42y|44y|48y\+)", 8, 5200),
    (_XEON + r"(?:6530|6534|55\d\d)", 8, 4800),
    (_XEON + r"45\d\d", 8, 4400),
    (r"xeon\(r\) 69\d\dp", 12, 6400),
    (r"xeon\(r\) 67\d\dp", 8, 6400),
    # AMD EPYC, without models with two core chiplets: their links carry less than the memory channels.
    (_EPYC + r"7(?!251)\d\d1", 8, 2666),
    (_EPYC + r"7(?!232|252|272|282)[\dfh]\d2", 8, 3200),
    (_EPYC + r"7(?!203|303)[\da]\d3", 8, 3200),
    (_EPYC + r"7\df3", 8, 3200),
    (_EPYC + r"9\d\d4", 12, 4800),
    (_EPYC + r"9(?!015|115|135)\d\d5", 12, 6000),
    # Others.
    (r"altra(?:\(r\))?", 8, 3200),
    (r"graviton2", 8, 3200),
    (r"graviton3e?", 8, 4800),
    (r"graviton4", 12, 5600),
    (r"grace", 8, 8000),
    (r"a64fx", 64, 2000),
)


def memory_gb_per_s(probe: Probe) -> float | None:
    """Return the memory bandwidth of a node in GB/s (10^9 bytes); ``None`` if the processor is not in the table."""
    sockets = len({cpu.socket for cpu in probe.cpus})
    for name in (probe.lscpu.get(key, "").lower() for key in _NAMES):
        for pattern, channels, mt_s in _MEMORY:
            if re.search(rf"(?<![a-z0-9]){pattern}(?![0-9])", name):
                return round(channels * mt_s * _BYTES / 1000 * sockets, 1)
    return None


class CoreKind(NamedTuple):
    """A kind of core: ``pattern`` of the model's name, or ``vendor``, ``family`` and ``models`` of lscpu, or both.

    ``ghz``: the clock, if lscpu's clock does not apply; 0 if it is unknown; ``None`` for lscpu's clock.
    """

    flop: int
    source: str
    pattern: str = ""
    vendor: str = ""
    family: int = 0
    models: Collection[int] = ()
    ghz: float | None = None


def _intel(flop: int, source: str, models: Collection[int], pattern: str = "", ghz: float | None = None) -> CoreKind:
    return CoreKind(flop, source, pattern, _INTEL, 6, models, ghz)


ROWS = (
    # Skylake and Cascade Lake: two units in Platinum, Gold 6000 and two models of Gold 5000, else one; Cooper Lake two.
    _intel(32, ARK, _SKYLAKE_SP, _XEON + r"(?:8[12]\d\d|92\d\d|6[12]\d\d|5[12]22|[568]3\d\dh)", ghz=0.0),
    _intel(16, ARK, _SKYLAKE_SP, _XEON + r"(?:5[12]\d\d|4[12]\d\d|3[12]\d\d)", ghz=0.0),
    # Sapphire Rapids' Bronze has one unit. The next generation's Bronze is not known.
    _intel(16, ARK, (143,), _XEON + r"3408u"),
    # Ice Lake, Sapphire Rapids, Emerald Rapids, Granite Rapids: two units in all other models.
    _intel(32, ARK, (106, 143, 207, 173), r"xeon(?!\(r\) bronze)"),
    # Knights Landing: its clock falls under AVX-512, too.
    _intel(32, INTEL_GUIDE, (87,), ghz=0.0),
    # Haswell and Broadwell, servers and Xeon D and E3: two units of 256 bits; Sandy and Ivy Bridge, and those before.
    _intel(16, INTEL_GUIDE, (60, 61, 63, 71, 79, 86)),
    _intel(8, INTEL_GUIDE, (42, 45, 58, 62)),
    _intel(4, INTEL_GUIDE, (26, 30, 37, 44, 46, 47)),
    # Zen and Zen+ have units of 128 bits, Zen 2 to 4 of 256, Zen 5 of 512 except in mobile processors.
    CoreKind(8, AMD_GUIDE, vendor=_AMD, family=23, models=(1, 8, 17, 24, 32)),
    CoreKind(16, AMD_GUIDE, vendor=_AMD, family=23, models=(49, 71, 96, 104, 113, 144, 152, 160)),
    CoreKind(16, AMD_GUIDE, vendor=_AMD, family=25, models=range(256)),
    CoreKind(32, AMD_GUIDE, vendor=_AMD, family=26, models=(*range(0x20), 68)),
    # Arm. Firmware states the highest clock of Grace, its datasheet 3.1 GHz.
    CoreKind(16, "NVIDIA's datasheet of Grace", r"\bgrace\b", ghz=3.1),
    CoreKind(8, f"{ARM_GUIDE} of Neoverse N1; AWS", r"graviton2\b", ghz=2.5),
    CoreKind(16, f"{ARM_GUIDE} of Neoverse V1; AWS", r"graviton3e?\b", ghz=2.6),
    CoreKind(16, f"{ARM_GUIDE} of Neoverse V2; AWS", r"graviton4\b", ghz=2.8),
    CoreKind(8, f"{ARM_GUIDE} of Neoverse N1", r"\b(?:ampere\(r\) )?altra\b|neoverse-n1\b"),
    CoreKind(16, f"{ARM_GUIDE} of Neoverse V1 and V2", r"neoverse-v[12]\b"),
    CoreKind(32, "Fujitsu's A64FX Microarchitecture Manual", r"\ba64fx\b"),
    CoreKind(8, "IBM's POWER9 Processor User's Manual", r"\bpower9\b", ghz=0.0),
)


class Peak(NamedTuple):
    """The peak of one core. ``ghz`` and ``gflops`` are 0 if the clock is unknown. ``why``: source, or reason."""

    flop: int
    ghz: float
    why: str

    @property
    def gflops(self) -> float:
        return round(self.flop * self.ghz, 1)


def peak(probe: Probe) -> Peak:
    """Return the peak of a core of the node in double precision."""
    names = [name for key in _NAMES if (name := probe.lscpu.get(key, "").lower())]
    model = probe.lscpu.get("Model name", "") or "this processor"
    row = next((row for row in ROWS if _is(row, names, probe)), None)
    if row is None:
        return Peak(0, 0.0, f"{model} is not in Kappa's table")
    if "power9" in row.pattern and int(probe.lscpu.get("Thread(s) per core", "0") or 0) > _POWER_THREADS:
        return Peak(0, 0.0, f"{model}: cores of eight threads are not in the table")
    flop = _by_flags(row, probe)
    ghz = _clock(probe, names) if row.ghz is None else row.ghz
    if not ghz:
        known = f"{flop} operations per cycle ({row.source})"
        return Peak(flop, 0.0, f"{model}: {known}, but the clock under load is not known")
    return Peak(flop, ghz, f"{row.source}: {flop} operations per cycle at {ghz:g} GHz")


def _is(row: CoreKind, names: Collection[str], probe: Probe) -> bool:
    if row.pattern and not any(re.search(row.pattern, name) for name in names):
        return False
    family, model = (probe.lscpu.get(key, "") for key in ("CPU family", "Model"))
    return not row.vendor or (
        probe.lscpu.get("Vendor ID") == row.vendor
        and family == str(row.family)
        and model.isdecimal()
        and int(model) in row.models
    )


def _by_flags(row: CoreKind, probe: Probe) -> int:
    flags = set(probe.lscpu.get("Flags", "").split())
    if row.vendor != _INTEL or not flags:
        return row.flop
    return min([row.flop, *(narrower for flag, narrower in _NARROWER if flag not in flags)])


def _clock(probe: Probe, names: Collection[str]) -> float:
    """Return the stated clock in GHz; for A64FX, which states none, lscpu's highest clock."""
    if any("a64fx" in name for name in names):
        said = re.fullmatch(r"[\d.]+", probe.lscpu.get("CPU max MHz", ""))
        return float(said[0]) / 1000 if said else 0.0
    stated = next((float(found[1]) for name in names if (found := re.search(r"@ ([\d.]+)ghz", name))), 0.0)
    return probe.base_ghz or stated
