"""Read references that need no measurement: from a model of the hardware, with its formula, or from a contract.

The file is a YAML list::

    - file: compute.yaml
      reference: [Stream, one_node, triad]      # class, index values, metric
      unit: MB/s
      model: memory_channels                    # or link_rate, fma_peak, contract
      inputs: {sockets: 2, channels: 12, mega_transfers_per_s: 4800}
      at_least: 0.8                             # or at_most; a share of the value
"""

import math
import pathlib
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.documents import YamlFile, fit
from kappa.core.ground.errors import InputError
from reports.learn.limits import Limits
from reports.learn.proposals import Proposal
from reports.learn.samples import ReferencePath

_Positive = Annotated[float, msgspec.Meta(gt=0)]


class _LinkRate(msgspec.Struct, forbid_unknown_fields=True):
    """Compute the data rate of a link in MB/s; ``directions`` is 2 for a bidirectional test."""

    unit: ClassVar[str] = "MB/s"
    gbit_per_s: _Positive
    directions: Literal[1, 2] = 1

    def model(self) -> tuple[float, str]:
        value = self.gbit_per_s * self.directions * 1000 / 8
        return value, f"{self.gbit_per_s:g} Gbit/s x {self.directions:g} direction(s) / 8 bit = {value:g} MB/s"


class _MemoryChannels(msgspec.Struct, forbid_unknown_fields=True):
    """Compute the peak memory bandwidth in MB/s; a DDR channel is 64 bits wide (JEDEC JESD79)."""

    unit: ClassVar[str] = "MB/s"
    sockets: _Positive
    channels: _Positive
    mega_transfers_per_s: _Positive

    def model(self) -> tuple[float, str]:
        value = self.sockets * self.channels * self.mega_transfers_per_s * 8
        return value, (
            f"{self.sockets:g} socket(s) x {self.channels:g} channels x "
            f"{self.mega_transfers_per_s:g} MT/s x 8 B = {value:g} MB/s"
        )


class _FmaPeak(msgspec.Struct, forbid_unknown_fields=True):
    """Compute the peak of double-precision fused multiply-adds, Gflop/s; ``ghz`` is the clock under vector load."""

    unit: ClassVar[str] = "Gflop/s"
    cores: _Positive
    ghz: _Positive
    fma_units: _Positive
    vector_bits: _Positive

    def model(self) -> tuple[float, str]:
        lanes = self.vector_bits / 64
        value = self.cores * self.ghz * self.fma_units * lanes * 2
        return value, (
            f"{self.cores:g} cores x {self.ghz:g} GHz x {self.fma_units:g} FMA units x "
            f"{lanes:g} doubles x 2 flop = {value:g} Gflop/s"
        )


class _Contract(msgspec.Struct, forbid_unknown_fields=True):
    """Take the value from a contract, in any unit."""

    unit: ClassVar[str] = ""
    value: float
    document: str
    clause: str

    def model(self) -> tuple[float, str]:
        return self.value, f"{self.document}, {self.clause}: {self.value:g}"


_Inputs = _LinkRate | _MemoryChannels | _FmaPeak | _Contract
_MODELS: dict[str, type[_Inputs]] = {
    "link_rate": _LinkRate,
    "memory_channels": _MemoryChannels,
    "fma_peak": _FmaPeak,
    "contract": _Contract,
}


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    file: Annotated[str, msgspec.Meta(pattern=r"^[\w-]+\.yaml$", description="the name of a YAML file")]
    reference: Annotated[tuple[str, ...], msgspec.Meta(min_length=2)]
    unit: str
    model: Literal["link_rate", "memory_channels", "fma_peak", "contract"]
    inputs: dict[str, Any]
    at_least: _Positive | None = None
    at_most: _Positive | None = None

    def __post_init__(self) -> None:
        if self.at_least is None and self.at_most is None:
            raise ValueError("expected at_least, at_most or both")


def modelled(path: pathlib.Path) -> list[Proposal]:
    """Return the references of a file of models.

    :raises InputError: the file is unreadable or an entry is incomplete; the message names the entry and the key.
    """
    file = YamlFile(path)
    kept = fit(file.value, list[_Entry], file.source)
    return [_proposal(entry, f"{file.source}: [{number}]") for number, entry in enumerate(kept)]


def _proposal(entry: _Entry, where: str) -> Proposal:
    inputs: _Inputs = fit(entry.inputs, _MODELS[entry.model], f"{where}.inputs")
    if inputs.unit and entry.unit != inputs.unit:
        raise InputError(f"{where}.unit: {entry.model} gives {inputs.unit}, found {one_line(entry.unit, 40)!r}")
    value, formula = inputs.model()
    lower, upper = entry.at_least, entry.at_most
    limits = Limits(value, lower * value if lower else -math.inf, upper * value if upper else math.inf)
    shares = [f"at {way} {share:.0%}" for way, share in (("least", lower), ("most", upper)) if share]
    kind = "contract" if entry.model == "contract" else "theoretical"
    place = ReferencePath(entry.file, entry.reference)
    return Proposal(place, limits, entry.unit, kind, 0, f"{formula}; {' and '.join(shares)}")
