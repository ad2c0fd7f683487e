"""A synchronous generator, the load that it feeds and one that is added, in DPsim's full-order model and as a case."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.polynomial import polynomial as poly
from numpy.typing import NDArray

Axis = tuple[float, float, float, list[float]]

S_VA, V, FREQUENCY_HZ = 555e6, 24e3, 60.0
OMEGA = 2 * math.pi * FREQUENCY_HZ
#: Circuit of the machine, per unit (P. Kundur, Power System Stability and Control, 1994, example 3.2).
RS, LL, LMD, LMQ, H_S = 0.003, 0.15, 1.6599, 1.61, 3.7
FIELD, DAMPER, Q1, Q2 = (0.0006, 0.1648), (0.0284, 0.1713), (0.0062, 0.7252), (0.0237, 0.125)
#: Initial and added load, ohm per phase; time of the addition and of the end.
LOAD_OHM, ADDED_OHM, LOADED_S, STOP_S = V * V / 300e6, 2.0, 0.1, 0.3
PER_UNIT_A = 2 * S_VA / (3 * V * math.sqrt(2 / 3))


def operational(main: float, windings: tuple[tuple[float, float], ...]) -> Axis:
    """X, X', X'' and [T'0, T''0] of an axis from its circuit: with z(s) windings and main inductance in parallel,
    X(s) = Xl + z(s)/s, and 1/X(s) = 1/X + (1/X' - 1/X)·sT'/(1 + sT') + (1/X'' - 1/X')·sT''/(1 + sT'') (Canay 1983)."""
    product = np.array([1.0])
    for r, x in windings:
        product = poly.polymul(product, [r, x])
    below = product / main
    for k in range(len(windings)):
        others = np.array([0.0, 1.0])
        for r, x in windings[:k] + windings[k + 1 :]:
            others = poly.polymul(others, [r, x])
        below = poly.polyadd(below, others)
    above = poly.polyadd(LL * below, product)
    open_circuit, short_circuit = (sorted(-1 / poly.polyroots(p).real, reverse=True) for p in (below, above))
    at = np.array([0.1, 3.0])  # any two points
    matrix = np.array([[s * t / (1 + s * t) for t in short_circuit] for s in at])
    x = LL + main
    first, second = np.linalg.solve(matrix, poly.polyval(at, below) / poly.polyval(at, above) - 1 / x)
    return x, 1 / (1 / x + first), 1 / (1 / x + first + second), [float(t / OMEGA) for t in open_circuit]


def elements(angle_deg: float, number: str = "") -> list[dict[str, Any]]:
    """The same as elements of a case; the terminal voltage has this angle at t = 0. Names end with the number."""
    xd, xd1, xd2, (td10, td20) = operational(LMD, (FIELD, DAMPER))
    xq, xq1, xq2, (tq10, tq20) = operational(LMQ, (Q1, Q2))
    machine = {"type": "synchronous_machine", "name": f"G{number}", "rated_power": S_VA, "rated_voltage": V}
    machine |= {
        "bus": f"B{number}",
        "ra": RS,
        "xl": LL,
        "xd": xd,
        "xd1": xd1,
        "xd2": xd2,
        "td10": td10,
        "td20": td20,
        "xq": xq,
        "xq1": xq1,
    }
    machine |= {"xq2": xq2, "tq10": tq10, "tq20": tq20, "h": H_S, "v": V, "angle": angle_deg}
    ends = [f"B{number}", "0"]
    closes = [{"time": LOADED_S, "action": "close"}]
    return [
        machine,
        {"type": "resistor", "name": f"R{number}", "buses": ends, "r": LOAD_OHM},
        {"type": "switch", "name": f"S{number}", "buses": ends, "r_on": ADDED_OHM, "operations": closes},
    ]


def space_vector(a: Any, b: Any, c: Any) -> NDArray[np.complex128]:
    turn = np.exp(2j * math.pi / 3)
    out: NDArray[np.complex128] = 2 / 3 * (np.asarray(a) + turn * np.asarray(b) + np.conj(turn) * np.asarray(c))
    return out


def set_up(dpsim: Any, step_s: float, machines: int = 1) -> tuple[Any, Any, Any]:
    """Begin the simulation of several separate machines; return node and machine of the first."""
    power = V * V / LOAD_OHM
    losses = RS * (power / S_VA) ** 2 * S_VA
    initial = {"init_active_power": power, "init_reactive_power": 0.0, "init_mech_power": power + losses}
    initial |= {"init_terminal_volt": V * math.sqrt(2 / 3), "init_volt_angle": -math.pi / 2}
    circuit = {"Rs": RS, "Ll": LL, "Lmd": LMD, "Lmq": LMQ, "Rfd": FIELD[0], "Llfd": FIELD[1], "Rkd": DAMPER[0]}
    circuit |= {"Llkd": DAMPER[1], "Rkq1": Q1[0], "Llkq1": Q1[1], "Rkq2": Q2[0], "Llkq2": Q2[1], "inertia": H_S}
    rating = {"nom_power": S_VA, "nom_volt": V, "nom_freq": FREQUENCY_HZ, "pole_number": 2, "nom_field_cur": 1300}
    ph3 = dpsim.emt.ph3
    ground, nodes, all_parts, switches = dpsim.emt.SimNode.gnd, [], [], []
    for k in range(machines):
        node = dpsim.emt.SimNode(f"n{k}", dpsim.PhaseType.ABC)
        machine = ph3.SynchronGeneratorDQTrapez(f"G{k}", dpsim.LogLevel.off)
        machine.set_parameters_fundamental_per_unit(**rating, **circuit, **initial)
        load, switch = ph3.Resistor(f"R{k}"), ph3.Switch(f"S{k}")
        load.set_parameters(np.eye(3) * LOAD_OHM)
        switch.set_parameters(np.eye(3) * 1e9, np.eye(3) * ADDED_OHM, False)
        machine.connect([node])
        load.connect([node, ground])
        switch.connect([node, ground])
        nodes.append(node)
        all_parts += [machine, load, switch]
        switches.append(switch)
    simulation = dpsim.Simulation("machine", dpsim.LogLevel.off)
    simulation.set_system(dpsim.SystemTopology(FREQUENCY_HZ, nodes, all_parts))
    simulation.set_domain(dpsim.Domain.EMT)
    simulation.set_time_step(step_s)
    simulation.set_final_time(STOP_S + step_s)
    for switch in switches:
        simulation.add_event(dpsim.event.SwitchEvent3Ph(LOADED_S, switch, True))
    simulation.start()
    return simulation, nodes[0], all_parts[0]


def simulate(dpsim: Any, step_s: float) -> tuple[NDArray[np.intp], NDArray[np.complex128], NDArray[np.complex128]]:
    """Steps by DPsim's clock, and there space vectors of the terminal voltage and the current that is delivered."""
    simulation, node, machine = set_up(dpsim, step_s)
    n, v, i = [], [], []
    for _ in range(round(STOP_S / step_s)):
        n.append(round(simulation.next() / step_s))
        v.append(np.ravel(node.attr("v").get())[:3])
        i.append(np.ravel(machine.attr("i_intf").get())[:3])
    simulation.stop()
    return np.array(n), space_vector(*np.array(v).T), -space_vector(*np.array(i).T)
