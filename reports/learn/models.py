"""References that need no measurement: from a model of the hardware, with its formula, or from a contract.

A file of them is a YAML list::

    - file: compute.yaml
      reference: [Stream, one_node, triad]      # class, index values, metric
      unit: MB/s
      model: memory_channels                    # or link_rate, fma_peak, contract
      inputs: {sockets: 2, channels: 12, mega_transfers_per_s: 4800}
      at_least: 0.8                             # or at_most; a share of the value
"""

import math
import pathlib
from collections.abc import Callable
from typing import Any

import yaml

from kappa.ground.bounded_file import read_text
from kappa.ground.bounded_yaml import load_yaml
from kappa.ground.clean_text import clean, one_line
from kappa.ground.errors import InputError
from kappa.ground.yaml_lines import SIZE_LIMIT
from kappa.record.schema import NUMBER, STRING, STRINGS, Schema, check
from reports.learn.limits import Limits
from reports.learn.patch import Proposal
from reports.learn.samples import Place

Inputs = dict[str, Any]


def _link_rate(inputs: Inputs) -> tuple[float, str]:
    """Data rate of a link in MB/s; ``directions`` is 2 for a bidirectional test."""
    directions = inputs.get("directions", 1)
    value = inputs["gbit_per_s"] * directions * 1000 / 8
    return value, f"{inputs['gbit_per_s']:g} Gbit/s x {directions:g} direction(s) / 8 bit = {value:g} MB/s"


def _memory_channels(inputs: Inputs) -> tuple[float, str]:
    """Peak memory bandwidth in MB/s: a DDR channel is 64 bits wide (JEDEC JESD79)."""
    value = inputs["sockets"] * inputs["channels"] * inputs["mega_transfers_per_s"] * 8
    return value, (
        f"{inputs['sockets']:g} socket(s) x {inputs['channels']:g} channels x "
        f"{inputs['mega_transfers_per_s']:g} MT/s x 8 B = {value:g} MB/s"
    )


def _fma_peak(inputs: Inputs) -> tuple[float, str]:
    """Peak of fused multiply-adds in double precision, Gflop/s; ``ghz`` is the clock under vector load."""
    lanes = inputs["vector_bits"] / 64
    value = inputs["cores"] * inputs["ghz"] * inputs["fma_units"] * lanes * 2
    return value, (
        f"{inputs['cores']:g} cores x {inputs['ghz']:g} GHz x {inputs['fma_units']:g} FMA units x "
        f"{lanes:g} doubles x 2 flop = {value:g} Gflop/s"
    )


def _contract(inputs: Inputs) -> tuple[float, str]:
    return inputs["value"], f"{inputs['document']}, {inputs['clause']}: {inputs['value']:g}"


_POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
# model -> (function, unit of its value, inputs, optional inputs); a contract may state any unit.
_MODELS: dict[str, tuple[Callable[[Inputs], tuple[float, str]], str, dict[str, Schema], dict[str, Schema]]] = {
    "link_rate": (_link_rate, "MB/s", {"gbit_per_s": _POSITIVE}, {"directions": {"enum": [1, 2]}}),
    "memory_channels": (
        _memory_channels, "MB/s", dict.fromkeys(("sockets", "channels", "mega_transfers_per_s"), _POSITIVE), {},
    ),
    "fma_peak": (_fma_peak, "Gflop/s", dict.fromkeys(("cores", "ghz", "fma_units", "vector_bits"), _POSITIVE), {}),
    "contract": (_contract, "", {"value": NUMBER, "document": STRING, "clause": STRING}, {}),
}  # fmt: skip


def _schema() -> Schema:
    """One alternative for each model, so that an input that is missing or misspelt is named."""
    entry: Schema = {
        "type": "object",
        "required": ["file", "reference", "unit", "model", "inputs"],
        "properties": {
            "file": {"type": "string", "pattern": r"^[\w-]+\.yaml$"},
            "reference": {**STRINGS, "minItems": 2},
            "unit": STRING,
            "model": {"enum": list(_MODELS)},
            "inputs": {"type": "object"},
            "at_least": _POSITIVE,
            "at_most": _POSITIVE,
        },
        "additionalProperties": False,
        "anyOf": [{"required": ["at_least"]}, {"required": ["at_most"]}],
        "allOf": [
            {
                "if": {"properties": {"model": {"const": name}}},
                "then": {
                    "properties": {
                        "inputs": {
                            "properties": {**needed, **optional},
                            "required": list(needed),
                            "additionalProperties": False,
                        }
                    }
                },
            }
            for name, (_, _, needed, optional) in _MODELS.items()
        ],
    }
    return {"type": "array", "items": entry}


def modelled(path: pathlib.Path) -> list[Proposal]:
    """The references of a file of models.

    :raises InputError: it cannot be read, or an entry is incomplete; names the entry, the key and what was expected.
    """
    source = clean(str(path))
    try:
        entries = load_yaml(read_text(path, SIZE_LIMIT))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as err:
        raise InputError(f"cannot read {source}: {clean(str(err))}") from err
    check(entries, _schema(), source)
    return [_proposal(entry, f"{source}: [{number}]") for number, entry in enumerate(entries)]


def _proposal(entry: dict[str, Any], where: str) -> Proposal:
    function, unit, _, _ = _MODELS[entry["model"]]
    if unit and entry["unit"] != unit:
        raise InputError(f"{where}.unit: {entry['model']} gives {unit}, found {one_line(entry['unit'], 40)!r}")
    value, formula = function(entry["inputs"])
    lower, upper = entry.get("at_least"), entry.get("at_most")
    limits = Limits(value, lower * value if lower else -math.inf, upper * value if upper else math.inf)
    shares = [f"at {way} {share:.0%}" for way, share in (("least", lower), ("most", upper)) if share]
    kind = "contract" if entry["model"] == "contract" else "theoretical"
    place = Place(entry["file"], tuple(entry["reference"]))
    return Proposal(place, limits, entry["unit"], kind, 0, f"{formula}; {' and '.join(shares)}")
