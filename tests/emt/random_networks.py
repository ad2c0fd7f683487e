"""Random networks by seed, as cases: every element, event, wave shape and start, tasks of one node to more than forty.

Every node has a path to ground of its own, so that a case stays valid whatever opens. The events of a network take
place at a few instants, so that several of its tasks switch in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from .random_elements import Bus, RandomElements, Study, between, of_phases
from .random_machines import diagram, strong_source, synchronous
from .random_thyristors import compensator, firing

Case = dict[str, Any]

#: Steps within which all events of a network take place.
STEPS = 80
FREQUENCIES_HZ = (50.0, 60.0)
#: None is a power of two: times of steps are rounded.
DTS_S = (2e-5, 5e-5, 1e-4, 2e-4, 1e-3 / 6)


def random_study(draw: Random, start: str | None = None) -> Study:
    return Study(draw.choice(DTS_S), draw.choice(FREQUENCIES_HZ), start or draw.choice(("steady", "zero")))


def random_case(
    seed: int, *, study: Study | None = None, like: int | None = None, prefix: str = "", steps: int = STEPS
) -> Case:
    """A case that is a function of the arguments alone.

    ``like`` is the seed of a network with the same structure and other values and times. ``prefix`` begins all names.
    """
    structure = Random(f"structure {seed if like is None else like}")
    return _Network(structure, Random(f"values {seed}"), study or random_study(structure), prefix, steps).case()


def side_by_side(cases: Sequence[Case]) -> Case:
    """One case of several of the same study, which nothing joins; their names must differ."""
    first = cases[0]
    assert all(case[key] == first[key] for case in cases for key in ("dt", "frequency", "start"))
    together = {key: [item for case in cases for item in case[key]] for key in ("buses", "nodes", "elements")}
    given = {name: value for case in cases for name, value in case.get("initial_voltage", {}).items()}
    return first | together | ({"initial_voltage": given} if given else {})


class _Network:
    def __init__(self, structure: Random, values: Random, study: Study, prefix: str, steps: int) -> None:
        self._structure = structure
        self._values = values
        self._study = study
        self._prefix = prefix
        self._buses: list[str] = []
        self._nodes: list[str] = []
        self._usual_v: dict[str, float] = {}
        instants = values.sample(range(1, max(8, 3 * steps // 4)), 6)
        self._elements = RandomElements(values, study, instants, prefix)

    def case(self) -> Case:
        self._three_phase_islands()
        # Machines start from a power flow.
        for number in range(self._structure.randint(0, 2) if self._study.start == "steady" else 0):
            self._machine_island(number)
        for number in range(self._structure.randint(0, 3)):
            self._one_phase_island(number)
        elements = self._elements.all
        if self._structure.random() < 0.5:
            self._structure.shuffle(elements)
        case: Case = {"format": "kappa-emt-case", "version": 1, "dt": self._study.dt_s}
        case |= {"frequency": self._study.frequency_hz, "start": self._study.start}
        case |= {"buses": self._buses, "nodes": self._nodes, "elements": elements}
        if self._study.start == "zero":
            charged = self._values.sample(sorted(self._usual_v), min(len(self._usual_v), self._structure.randint(1, 6)))
            case["initial_voltage"] = {node: self._elements.near(self._usual_v[node]) for node in charged}
        return case

    # Buses and nodes, each with its path to ground.

    def _new_bus(self, peak_v: float, z_ohm: float) -> Bus:
        bus = Bus(f"{self._prefix}B{len(self._buses)}", peak_v, z_ohm)
        self._buses.append(bus.name)
        for letter in "abc":
            self._usual_v[bus.phase(letter)] = peak_v
        if self._elements.shape.random() < 0.8:
            self._shunt(of_phases(bus.name), bus)
        else:
            for letter in "abc":
                self._shunt(between(bus.phase(letter)), bus)
        return bus

    def _new_node(self, peak_v: float, z_ohm: float) -> Bus:
        node = Bus(f"{self._prefix}n{len(self._nodes)}", peak_v, z_ohm)
        self._nodes.append(node.name)
        self._usual_v[node.name] = peak_v
        self._shunt(between(node.name), node)
        return node

    def _shunt(self, ends: dict[str, list[str]], at: Bus) -> None:
        self._two_terminals(ends, at, 5 * at.z_ohm)

    def _two_terminals(self, ends: dict[str, list[str]], at: Bus, z_ohm: float) -> None:
        kind = self._elements.shape.choice(("resistor", "inductor", "capacitor", "series_rlc"))
        if kind == "resistor":
            self._elements.resistor(ends, z_ohm)
        elif kind == "inductor":
            self._elements.inductor(ends, z_ohm, at.peak_v)
        elif kind == "capacitor":
            self._elements.capacitor(ends, z_ohm)
        else:
            self._elements.series_rlc(ends, z_ohm)

    # Islands of tasks that lines join.

    def _three_phase_islands(self) -> None:
        draw = self._structure
        patterns = [draw.getrandbits(32) for _ in range(draw.randint(1, 3))]
        islands: list[list[list[Bus]]] = [[] for _ in range(draw.choice((1, 1, 2, 3)))]
        large = draw.random() < 0.25
        for number in range(draw.randint(4, 14)):
            # Tasks of one pattern look alike, and come into one batch.
            alike = draw.random() < 0.6
            self._elements.shape = Random(draw.choice(patterns) if alike else draw.getrandbits(32))
            count = self._elements.shape.choice((1, 1, 1, 2, 2, 3, 4))
            if large and number == 0:
                count = draw.randint(14, 16)
            island = islands[number % len(islands)]
            task = self._task(count, island[0][0] if island else Bus("", *self._level()))
            self._elements.shape = draw
            if not island:
                # The excitation of the island, and always an element that switches.
                self._elements.three_phase_source("source", task[0], ("steady",))
                self._switched_load(task[0])
            else:
                self._elements.line((draw.choice(draw.choice(island)), draw.choice(task)))
            island.append(task)
        for island in islands:
            buses = [bus for task in island for bus in task]
            for _ in range(draw.randint(0, len(buses) // 3)):
                first, second = draw.sample(buses, 2)  # also within a task, and beside other lines
                self._elements.line((first, second))

    def _level(self) -> tuple[float, float]:
        return self._values.uniform(1e4, 3e5), self._values.uniform(20, 300)

    def _task(self, count: int, like: Bus) -> list[Bus]:
        shape = self._elements.shape
        buses = [self._new_bus(like.peak_v, like.z_ohm)]
        while len(buses) < count:
            buses.append(self._joined(shape.choice(buses)))
        for _ in range(shape.randint(0, 2 + 2 * count)):
            shape.choice(self._extras())(shape.choice(buses))
        return buses

    def _joined(self, bus: Bus) -> Bus:
        """Another bus behind a series element."""
        kind = self._elements.shape.choice(("two terminals", "coupled_rl", "transformer", "switch"))
        ahead = self._new_bus(bus.peak_v, bus.z_ohm)
        if kind == "transformer":
            return self._elements.transformer(bus, ahead.name)
        if kind == "coupled_rl":
            self._elements.coupled_rl(bus, ahead.name, 0.1 * bus.z_ohm)
        elif kind == "switch":
            closed = self._elements.shape.random() < 0.7
            self._elements.switch(of_phases(bus.name, ahead.name), bus.z_ohm, closed)
        else:
            self._two_terminals(of_phases(bus.name, ahead.name), bus, 0.1 * bus.z_ohm)
        return ahead

    # Optional elements at a bus.

    def _extras(self) -> tuple[Callable[[Bus], None], ...]:
        add = self._elements
        return (
            lambda bus: add.three_phase_source(add.shape.choice(("source", "machine", "condenser")), bus),
            lambda bus: add.coupled_rl(bus, "0", 2 * bus.z_ohm),
            lambda bus: add.arrester(self._phase_or_phases(bus), bus.peak_v, bus.z_ohm),
            lambda bus: add.saturable_inductor(self._phase_or_phases(bus), bus.peak_v, bus.z_ohm),
            lambda bus: add.meter(self._phase_or_phases(bus)),
            lambda bus: add.voltage_source(self._phase(bus), bus.peak_v, bus.z_ohm),
            lambda bus: add.voltage_source(bus.phase("a"), bus.peak_v, bus.z_ohm, bus.phase("b")),
            lambda bus: add.current_source(self._phase(bus), bus.peak_v / bus.z_ohm),
            lambda bus: add.current_source(bus.phase("c"), bus.peak_v / bus.z_ohm, bus.phase("b")),
            add.fixed_svc,
            self._compensator,
            add.fault,
            add.fault,
            self._switched_load,
            lambda bus: self._rectified(bus, "diode"),
            lambda bus: self._rectified(bus, "thyristor"),
            lambda bus: self._rectified(bus, "thyristor_pair"),
            self._neutral,
            self._diagram,
        )

    def _phase(self, bus: Bus) -> str:
        return bus.phase(self._elements.shape.choice("abc"))

    def _phase_or_phases(self, bus: Bus) -> dict[str, list[str]]:
        return of_phases(bus.name) if self._elements.shape.random() < 0.5 else between(self._phase(bus))

    def _switched_load(self, bus: Bus) -> None:
        closed = self._elements.shape.random() < 0.5
        if self._elements.shape.random() < 0.5:
            load = self._new_bus(bus.peak_v, bus.z_ohm)
            self._elements.switch(of_phases(bus.name, load.name), bus.z_ohm, closed)
        else:
            load = self._new_node(bus.peak_v, bus.z_ohm)
            self._elements.switch(between(self._phase(bus), load.name), bus.z_ohm, closed)

    def _rectified(self, bus: Bus, kind: str) -> None:
        gate = ""
        if kind != "diode" and self._elements.shape.random() < 0.6:
            gate = f"{self._prefix}F{len(self._elements.all)}"
            self._elements.all += firing(self._elements.shape, self._values, bus, gate)
        if self._elements.shape.random() < 0.5:
            load = self._new_bus(bus.peak_v, bus.z_ohm)
            self._elements.valve(kind, of_phases(bus.name, load.name), bus.z_ohm, gate)
        else:
            load = self._new_node(bus.peak_v, bus.z_ohm)
            self._elements.valve(kind, between(self._phase(bus), load.name), bus.z_ohm, gate)

    def _compensator(self, bus: Bus) -> None:
        name = f"{self._prefix}SVC{len(self._elements.all)}"
        self._elements.all += compensator(self._elements.shape, self._values, self._study, bus, name)

    def _neutral(self, bus: Bus) -> None:
        point = self._new_node(bus.peak_v, bus.z_ohm)
        self._two_terminals(of_phases(bus.name, point.name), bus, 3 * bus.z_ohm)

    def _diagram(self, bus: Bus) -> None:
        name = f"{self._prefix}D{len(self._elements.all)}"
        self._elements.driven_source(len(self._elements.all), bus, f"{name}_source")
        self._elements.all += diagram(self._elements.shape, self._values, self._study, bus, name)

    # Machines behind transformers or impedances at a strong source, and a line to one of its own.

    def _machine_island(self, number: int) -> None:
        draw, add = self._structure, self._elements
        add.shape = draw
        source = self._new_bus(*self._level())
        strong = strong_source(self._values, self._study, source, f"{self._prefix}E{number}")
        add.all.append(strong)
        for place in range(draw.randint(1, 2)):
            terminal = self._new_bus(source.peak_v, source.z_ohm)
            add.coupled_rl(source, terminal.name, 0.1 * source.z_ohm)
            add.all += synchronous(draw, self._values, terminal, f"{self._prefix}G{number}{place}", strong["phase"])
            draw.choice((add.fault, self._switched_load, self._diagram))(terminal)
        far = self._new_bus(source.peak_v, source.z_ohm)
        add.line((source, far))
        add.fault(far)

    # Tasks without lines.

    def _one_phase_island(self, number: int) -> None:
        add = self._elements
        shape = add.shape = Random(self._structure.getrandbits(2))  # four patterns: some look alike
        peak_v, z_ohm = self._level()
        nodes = [self._new_node(peak_v, z_ohm)]
        for _ in range(shape.randint(0, 4)):
            before = shape.choice(nodes)
            nodes.append(self._new_node(peak_v, z_ohm))
            self._two_terminals(between(before.name, nodes[-1].name), before, 0.2 * z_ohm)
        if number % 2 == 0:
            add.voltage_source(nodes[0].name, peak_v, z_ohm)
        add.current_source(nodes[-1].name, peak_v / z_ohm)
        at = shape.choice(nodes).name
        kind = shape.choice(("switch", "arrester", "saturable_inductor", "meter"))
        if kind == "switch":
            add.switch(between(at), z_ohm, closed=False)
        elif kind == "arrester":
            add.arrester(between(at), peak_v, z_ohm)
        elif kind == "saturable_inductor":
            add.saturable_inductor(between(at), peak_v, z_ohm)
        else:
            add.meter(between(at))
