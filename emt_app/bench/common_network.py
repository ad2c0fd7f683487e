"""The part of the reference network that general circuit simulators can solve too: R, L, C and current sources.

Breakers become resistors, transformers the leakage inductance between equal voltages, sources their Norton current
and inductance, line ends their surge impedance. Lines, non-linear elements and meters are left out: 1098 nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

FREQUENCY_HZ = 60


@dataclass(frozen=True)
class CircuitPart:
    kind: str  # "resistor" (ohm), "inductor" (H), "capacitor" (F) or "current_source" (A peak)
    name: str
    p: str
    q: str  # "0" is ground
    value: float
    phase_deg: float = 0


def reduce_case(case: dict[str, Any]) -> tuple[list[str], list[CircuitPart]]:
    """Node names and parts of a generated case."""
    parts: list[CircuitPart] = []

    def add(kind: str, name: str, p: str, q: str, value: float, *, phase_deg: float = 0) -> None:
        parts.append(CircuitPart(kind, f"{kind[0]}{len(parts)}_{name}".replace(".", "_"), p, q, value, phase_deg))

    for e in case["elements"]:
        kind, name = e["type"], e["name"]
        if name.endswith("_N") or name.endswith("X_N_PHASES"):
            continue  # the neutral
        for index, x in enumerate("abc"):
            shift = -120 * index
            if kind in ("resistor", "inductor", "capacitor"):
                p, q = (n if n == "0" else f"{n}.{x}" for n in e["buses"])
                add(kind, name, p, q, e[kind[0]] if kind != "inductor" else e["l"])
            elif kind == "switch":
                add("resistor", name, f"{e['buses'][0]}.{x}", f"{e['buses'][1]}.{x}", e["r_on"])
            elif kind == "transformer":
                add("inductor", name, f"{e['primary']}.{x}", f"{e['secondary']}.{x}", e["l"])
            elif kind in ("machine", "condenser"):
                bus = f"{e['bus']}.{x}"
                add("inductor", name, bus, "0", e["l1"])
                current = e["amplitude"] / (2 * math.pi * FREQUENCY_HZ * e["l1"])
                add("current_source", name, bus, "0", current, phase_deg=e["phase"] - 90 + shift)
            elif kind == "line":
                for end in (e["from"], e["to"]):
                    add("resistor", name, f"{end}.{x}", "0", math.sqrt(e["l1"] / e["c1"]))
    return [f"{b}.{x}" for b in case["buses"] for x in "abc"], parts


def as_case(nodes: list[str], parts: list[CircuitPart], dt_s: float) -> dict[str, Any]:
    """The simulator's own format. Node names keep their dots, so nodes rather than buses."""
    key = {"resistor": "r", "inductor": "l", "capacitor": "c"}
    elements: list[dict[str, Any]] = []
    for part in parts:
        if part.kind == "current_source":
            elements.append(
                {"type": part.kind, "name": part.name, "to": part.p, "amplitude": part.value, "phase": part.phase_deg}
            )
        else:
            ends = [part.p, part.q]
            elements.append({"type": part.kind, "name": part.name, "nodes": ends, key[part.kind]: part.value})
    alive = {n for part in parts for n in (part.p, part.q)}
    # The islands have no source each: an initial voltage gives them something to do.
    return {
        "format": "kappa-emt-case", "version": 1, "title": "common network", "dt": dt_s, "frequency": FREQUENCY_HZ,
        "start": "zero", "nodes": nodes, "initial_voltage": {n: 1.0 for n in nodes if n in alive}, "elements": elements,
    }  # fmt: skip


def as_netlist(parts: list[CircuitPart], dt_s: float, stop_s: float) -> str:
    """ngspice netlist with the step held near dt_s."""
    lines = ["* common network"]
    for i, part in enumerate(parts):
        if part.kind == "current_source":
            wave = f"SIN(0 {part.value} {FREQUENCY_HZ} 0 0 {part.phase_deg + 90})"
            lines.append(f"I{i} 0 {part.p} {wave}")
        else:
            letter = {"resistor": "R", "inductor": "L", "capacitor": "C"}[part.kind]
            lines.append(f"{letter}{i} {part.p} {part.q} {part.value}")
    lines += [".options method=trap", f".tran {dt_s} {stop_s} 0 {dt_s} uic"]
    lines += [".control", "run", "quit 0", ".endc", ".end"]
    return "\n".join(lines) + "\n"


def part_with(nodes: list[str], parts: list[CircuitPart], most_parts: int) -> tuple[list[str], list[CircuitPart]]:
    """The first nodes of a network and what joins them, and joins them to ground: as many as have `most_parts` at most.

    Parallel parts of one kind are one: R and L add as 1/x, C as x.
    """
    sums: dict[tuple[str, str, str], float] = {}
    sources = []
    for part in parts:
        if part.kind == "current_source":
            sources.append(part)
            continue
        key = (part.kind, *sorted((part.p, part.q)))
        sums[key] = sums.get(key, 0) + (part.value if part.kind == "capacitor" else 1 / part.value)
    merged = [
        CircuitPart(kind, f"{kind[0]}{i}", p, q, value if kind == "capacitor" else 1 / value)
        for i, ((kind, p, q), value) in enumerate(sums.items())
    ]
    order = {name: i for i, name in enumerate(nodes)} | {"0": -1}

    def last_node(part: CircuitPart) -> int:
        return max(order[part.p], order[part.q])

    by_node = sorted(merged + sources, key=last_node)
    count = last_node(by_node[most_parts]) if len(by_node) > most_parts else len(nodes)
    return nodes[:count], [part for part in by_node if last_node(part) < count]


def as_bpa_cards(nodes: list[str], parts: list[CircuitPart], dt_s: float, steps: int) -> str:
    """Input of the BPA EMTP: wide fields for R, ohm, L, mH, and C, uF; no output but the first node."""
    name = {node: f"N{i}" for i, node in enumerate(nodes)} | {"0": ""}
    cards = ["BEGIN NEW DATA CASE", f"{dt_s:8.1E}{dt_s * steps:8.1E}"]
    cards += ["".join(f"{n:8d}" for n in (10**7, 1, 0, 0, 0, 0, 0, 0)), "$VINTAGE, 1"]
    for part in parts:
        if part.kind != "current_source":
            units = {"resistor": 1, "inductor": 1e3, "capacitor": 1e6}
            values = "".join(f"{part.value * unit if part.kind == kind else 0:16.8E}" for kind, unit in units.items())
            cards.append(f"  {name[part.p]:<6}{name[part.q]:<6}{'':12}{values}")
    cards += ["$VINTAGE, 0", "BLANK CARD ENDING BRANCHES", "BLANK CARD ENDING SWITCHES"]
    cards += [
        f"14{name[part.p]:<6}-1{part.value:10.4E}{FREQUENCY_HZ:10.4f}{part.phase_deg:10.3f}{0:10.3f}{-1:10.3f}{9999:10.2f}"
        for part in parts
        if part.kind == "current_source"
    ]
    cards += ["BLANK CARD ENDING SOURCES", f"  {name[nodes[0]]}", "BLANK CARD ENDING NODE VOLTAGE OUTPUT"]
    cards += ["BLANK CARD ENDING PLOTS", "BEGIN NEW DATA CASE", "BLANK CARD ENDING THE CASE"]
    return "\n".join(cards) + "\n"
