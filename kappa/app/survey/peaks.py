"""What one core can do by its maker's word: double-precision operations a cycle, and the clock that holds for them.

A fused multiply-add is two operations, for each number of a vector and each unit. A peak is only as good as its table:
of a processor without a row, or of which a row's clock is not known, there is none, and the reason is told.

Sources: Intel ARK ("# of AVX-512 FMA Units"); Intel 64 and IA-32 Optimization Reference Manual; AMD, Software
Optimization Guides of families 17h, 19h and 1Ah; Arm, Software Optimization Guides of Neoverse N1, V1 and V2; Fujitsu,
A64FX Microarchitecture Manual; NVIDIA, datasheet of the Grace CPU (7.1 Tflop/s of 144 cores); AWS, instance types;
IBM, POWER9 Processor User's Manual (an SMT4 core has two pipes of 128 bits).
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from kappa.app.survey.probe import Probe

ARK, INTEL_GUIDE, AMD_GUIDE = "Intel ARK", "Intel's Optimization Reference Manual", "AMD's Software Optimization Guide"
ARM_GUIDE = "Arm's Software Optimization Guide"
# Before lscpu's names of cores, which several makers use, stands what the firmware calls the processor.
_NAMES = ("BIOS Model name", "Model name")
_SCALABLE = r"xeon\(r\) (?:platinum|gold|silver|bronze) "


class Row(NamedTuple):
    """A kind of cores: ``pattern`` of the model's name, or ``vendor``, ``family`` and ``models`` of lscpu, or both.

    ``ghz``: the clock where lscpu's is not the one that holds, 0 where none is known; ``None``: the stated one.
    """

    flop: int
    source: str
    pattern: str = ""
    vendor: str = ""
    family: int = 0
    models: Collection[int] = ()
    ghz: float | None = None


_INTEL, _AMD = "GenuineIntel", "AuthenticAMD"
# Their clocks fall by a third to a half under AVX-512, to what Intel's Specification Update 336065 has by model.
_SKYLAKE_SP = (85,)


def _intel(flop: int, source: str, models: Collection[int], pattern: str = "", ghz: float | None = None) -> Row:
    return Row(flop, source, pattern, _INTEL, 6, models, ghz)


ROWS = (
    # Skylake and Cascade Lake: two units in Platinum, Gold 6000 and two models of Gold 5000, else one; Cooper Lake two.
    _intel(32, ARK, _SKYLAKE_SP, _SCALABLE + r"(?:8[12]\d\d|92\d\d|6[12]\d\d|5[12]22|[568]3\d\dh)", ghz=0.0),
    _intel(16, ARK, _SKYLAKE_SP, _SCALABLE + r"(?:5[12]\d\d|4[12]\d\d|3[12]\d\d)", ghz=0.0),
    # Sapphire Rapids' Bronze has one unit; that of the next generation is not known.
    _intel(16, ARK, (143,), _SCALABLE + r"3408u"),
    # Ice Lake, Sapphire Rapids, Emerald Rapids, Granite Rapids: two units in all other models.
    _intel(32, ARK, (106, 143, 207, 173), r"xeon(?!\(r\) bronze)"),
    # Knights Landing: its clock falls under AVX-512, too.
    _intel(32, INTEL_GUIDE, (87,), ghz=0.0),
    # Haswell and Broadwell, servers and Xeon D and E3: two units of 256 bits; Sandy and Ivy Bridge, and those before.
    _intel(16, INTEL_GUIDE, (60, 61, 63, 71, 79, 86)),
    _intel(8, INTEL_GUIDE, (42, 45, 58, 62)),
    _intel(4, INTEL_GUIDE, (26, 30, 37, 44, 46, 47)),
    # Zen and Zen+ have units of 128 bits, Zen 2 to 4 of 256, Zen 5 of 512 but in mobile processors.
    Row(8, AMD_GUIDE, vendor=_AMD, family=23, models=(1, 8, 17, 24, 32)),
    Row(16, AMD_GUIDE, vendor=_AMD, family=23, models=(49, 71, 96, 104, 113, 144, 152, 160)),
    Row(16, AMD_GUIDE, vendor=_AMD, family=25, models=range(256)),
    Row(32, AMD_GUIDE, vendor=_AMD, family=26, models=(*range(0x20), 68)),
    # Arm. Firmware states the highest clock of Grace, its datasheet 3.1 GHz.
    Row(16, "NVIDIA's datasheet of Grace", r"\bgrace\b", ghz=3.1),
    Row(8, f"{ARM_GUIDE} of Neoverse N1; AWS", r"graviton2\b", ghz=2.5),
    Row(16, f"{ARM_GUIDE} of Neoverse V1; AWS", r"graviton3e?\b", ghz=2.6),
    Row(16, f"{ARM_GUIDE} of Neoverse V2; AWS", r"graviton4\b", ghz=2.8),
    Row(8, f"{ARM_GUIDE} of Neoverse N1", r"\b(?:ampere\(r\) )?altra\b|neoverse-n1\b"),
    Row(16, f"{ARM_GUIDE} of Neoverse V1 and V2", r"neoverse-v[12]\b"),
    Row(32, "Fujitsu's A64FX Microarchitecture Manual", r"\ba64fx\b"),
    Row(8, "IBM's POWER9 Processor User's Manual", r"\bpower9\b", ghz=0.0),
)  # fmt: skip

# Without wide vectors in the flags, as a hypervisor may take them away, units of 256 or 128 bits are left.
_NARROWER = (("avx512f", 16), ("fma", 8), ("avx", 4))
# An SMT8 core is two of SMT4.
_POWER_THREADS = 4


class Peak(NamedTuple):
    """Of one core; ``ghz`` and ``gflops`` are 0 where the clock is not known. ``why``: source, or why there is none."""

    flop: int
    ghz: float
    why: str

    @property
    def gflops(self) -> float:
        return round(self.flop * self.ghz, 1)


def peak(probe: Probe) -> Peak:
    """Return what a core of the node does in double precision."""
    names = [name for key in _NAMES if (name := probe.lscpu.get(key, "").lower())]
    model = probe.lscpu.get("Model name", "") or "this processor"
    row = next((row for row in ROWS if _is(row, names, probe)), None)
    if row is None:
        return Peak(0, 0.0, f"no table has the units of {model}")
    if "power9" in row.pattern and int(probe.lscpu.get("Thread(s) per core", "0") or 0) > _POWER_THREADS:
        return Peak(0, 0.0, f"{model}: cores of eight threads are not in the table")
    flop = _by_flags(row, probe)
    ghz = _clock(probe, names) if row.ghz is None else row.ghz
    if not ghz:
        known = f"{flop} operations a cycle ({row.source})"
        return Peak(flop, 0.0, f"{model}: {known}, but the clock under load is not known")
    return Peak(flop, ghz, f"{row.source}: {flop} operations a cycle at {ghz:g} GHz")


def _is(row: Row, names: Collection[str], probe: Probe) -> bool:
    if row.pattern and not any(re.search(row.pattern, name) for name in names):
        return False
    family, model = (probe.lscpu.get(key, "") for key in ("CPU family", "Model"))
    return not row.vendor or (
        probe.lscpu.get("Vendor ID") == row.vendor
        and family == str(row.family)
        and model.isdecimal()
        and int(model) in row.models
    )


def _by_flags(row: Row, probe: Probe) -> int:
    flags = set(probe.lscpu.get("Flags", "").split())
    if row.vendor != _INTEL or not flags:
        return row.flop
    flop = row.flop
    for flag, narrower in _NARROWER:
        if flag not in flags and flop >= narrower:
            flop = min(flop, narrower)
    return flop


def _clock(probe: Probe, names: Collection[str]) -> float:
    """The stated clock; of A64FX, which has no other, the highest that lscpu has."""
    if any("a64fx" in name for name in names):
        said = re.fullmatch(r"[\d.]+", probe.lscpu.get("CPU max MHz", ""))
        return float(said[0]) / 1000 if said else 0.0
    stated = next((float(found[1]) for name in names if (found := re.search(r"@ ([\d.]+)ghz", name))), 0.0)
    return probe.base_ghz or stated
