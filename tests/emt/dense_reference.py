"""Networks of an EMT case by another method than the simulator's: a descriptor system E·x' + A·x = b(t), to high order.

The unknowns are voltages of nodes, currents of inductances, sources and lines, voltages of capacitances, flux linkages.
Between events the system is linear and is integrated by the three-stage Radau IIA method (order 5; E. Hairer,
G. Wanner, Solving Ordinary Differential Equations II, 1996, ch. IV.8). Whatever bends or breaks a solution is stepped
to exactly: operations and starts of sources, corners of characteristics, current zeros, arrivals of what has happened
at the other end of a line. Nothing is shared with the simulator: no companion models, no merged elements, no tasks, no
interpolation.
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Vector = NDArray[np.float64]
Element = dict[str, Any]

_S6 = math.sqrt(6.0)
_C = np.array([(4 - _S6) / 10, (4 + _S6) / 10, 1.0])
_A = np.array(
    [
        [(88 - 7 * _S6) / 360, (296 - 169 * _S6) / 1800, (-2 + 3 * _S6) / 225],
        [(296 + 169 * _S6) / 1800, (88 + 7 * _S6) / 360, (-2 - 3 * _S6) / 225],
        [(16 - _S6) / 36, (16 + _S6) / 36, 1 / 9],
    ]
)
_A_INVERSE = np.linalg.inv(_A)
#: A⁻¹ = T·diag(λ)·T⁻¹ with one real eigenvalue and a pair: the stages of a step decouple into two systems.
_LAMBDA, _T = np.linalg.eig(_A_INVERSE)
_REAL = int(np.argmin(np.abs(_LAMBDA.imag)))
_PAIR = int(np.argmax(_LAMBDA.imag))
_T_INVERSE = np.linalg.inv(_T)
#: Coefficients of the parabola through the stages, by powers of θ.
_STAGE_POWERS = np.linalg.inv(np.vander(_C, 3, increasing=True))

#: Fraction of the largest voltage or flux at which a boundary counts as reached.
_REACHED = 1e-10
_CLARKE = np.array(
    [
        [1 / math.sqrt(3)] * 3,
        [math.sqrt(2 / 3), -math.sqrt(1 / 6), -math.sqrt(1 / 6)],
        [0, math.sqrt(0.5), -math.sqrt(0.5)],
    ]
)


def wave(keys: Element, frequency_hz: float) -> tuple[Callable[[float], float], float]:
    """A source as a function of time while it is on, and when that begins."""
    amplitude = keys["amplitude"]
    start = keys.get("start", -1.0)
    shape = keys.get("shape", "sine")
    if shape == "sine":
        omega, phase = 2 * math.pi * keys.get("frequency", frequency_hz), math.radians(keys.get("phase", 0))
        return lambda t: amplitude * math.cos(omega * t + phase), start
    start = max(start, 0.0)
    if shape == "step":
        return lambda t: amplitude, start
    front, tail = keys["tau_front"], keys["tau_tail"]
    return lambda t: amplitude * (math.exp(-(t - start) / tail) - math.exp(-(t - start) / front)), start


@dataclass
class _Source:
    row: int
    value: Callable[[float], float]
    start_s: float
    phasor: complex  # of a sine that is always on, at the case's frequency


@dataclass
class _Device:
    """Something with states: on each it is a conductance and an offset, both in terms of its argument."""

    argument: Vector
    """Row that gives the argument (a voltage, a flux linkage) from x."""
    inject: Vector
    """Column that the current enters."""
    bounds: list[tuple[float, float]]
    slope: list[float]
    offset: list[float]
    now: int = 0
    armed: float | None = None
    """A pole that waits for its current zero: the sign of its current."""
    diode: bool = False


@dataclass
class _Operation:
    device: int
    close: bool
    at_zero: bool


@dataclass
class _Line:
    node: tuple[list[int], list[int]]
    current: tuple[list[int], list[int]]  # rows of the modes' currents
    z: list[float]
    r: list[float]
    tau: list[float]


@dataclass
class _History:
    """Waves that have left the ends of all lines, as parabolas."""

    begin: list[float] = field(default_factory=list)
    length: list[float] = field(default_factory=list)
    powers: list[NDArray[np.float64]] = field(default_factory=list)

    def at(self, t: float, later: bool) -> NDArray[np.float64] | None:
        """All waves at a time, on the side of what comes ``later`` where there are two; None before the first."""
        slack = 1e-13
        k = (bisect.bisect_right if later else bisect.bisect_left)(self.begin, t + (slack if later else -slack)) - 1
        if k < 0:
            return None
        theta = (t - self.begin[k]) / self.length[k]
        a, b, c = self.powers[k]
        out: NDArray[np.float64] = a + theta * (b + theta * c)
        return out


class DenseReference:
    """Voltages of the nodes of one case. ``step_s`` is the grid on which they are kept; events lie where they lie."""

    def __init__(self, case: dict[str, Any], step_s: float) -> None:
        self._frequency = float(case["frequency"])
        self._steady = case.get("start", "steady") == "steady"
        self._step = step_s
        self.names = [f"{b}.{p}" for b in case.get("buses", []) for p in "abc"] + list(case.get("nodes", []))
        self._node = {name: i for i, name in enumerate(self.names)}
        self._entries: list[tuple[str, int, int, float]] = []
        self._size = len(self.names)
        self._sources: list[_Source] = []
        self._devices: list[_Device] = []
        self._operations: list[tuple[float, int, _Operation]] = []
        self._lines: list[_Line] = []
        self._initial: dict[int, float] = {}
        self._late: list[Callable[[], None]] = []
        self._starts: list[Callable[[dict[int, float]], None]] = []
        for element in case["elements"]:
            getattr(self, "_" + element["type"])(element)
        n = self._size
        self._e, self._a = np.zeros((n, n)), np.zeros((n, n))
        for kind, i, k, value in self._entries:
            (self._e if kind == "e" else self._a)[i, k] += value
        for make in self._late:
            make()
        given = {self._node[name]: v for name, v in case.get("initial_voltage", {}).items()}
        self._x = np.zeros(n)
        for i, v in {**given, **self._initial}.items():
            self._x[i] = v
        for start in self._starts:
            start(given)
        self._history = _History()
        self._breaks: list[tuple[float, int]] = []
        self._met: set[int] = set()
        self._scale = 0.0
        self._factors: dict[tuple[float, tuple[int, ...]], Any] = {}
        self._system: dict[tuple[int, ...], tuple[NDArray[np.float64], Vector]] = {}

    # Equations. Rows of nodes are sums of currents that leave them.

    def _put(self, row: int, column: int, value: float, kind: str = "a") -> None:
        if row >= 0 and column >= 0:
            self._entries.append((kind, row, column, value))

    def _number(self, name: str) -> int:
        return -1 if name == "0" else self._node[name]

    def _bus(self, name: str) -> list[int]:
        if name == "0":
            return [-1] * 3
        return [self._node[name]] * 3 if name in self._node else [self._node[f"{name}.{p}"] for p in "abc"]

    def _ends(self, e: Element) -> list[tuple[int, int]]:
        if "nodes" in e:
            return [(self._number(e["nodes"][0]), self._number(e["nodes"][1]))]
        return list(zip(self._bus(e["buses"][0]), self._bus(e["buses"][1]), strict=True))

    def _unknown(self) -> int:
        self._size += 1
        return self._size - 1

    def _pair(self, p: int, q: int, value: float, kind: str = "a") -> None:
        for i, k, s in ((p, p, 1), (q, q, 1), (p, q, -1), (q, p, -1)):
            self._put(i, k, s * value, kind)

    def _through(self, p: int, q: int, i: int) -> None:
        """The unknown current i flows from p to q, and its own row begins with the voltage across."""
        self._put(p, i, 1)
        self._put(q, i, -1)
        self._put(i, p, 1)
        self._put(i, q, -1)

    def _resistor(self, e: Element) -> None:
        for p, q in self._ends(e):
            self._pair(p, q, 1 / e["r"])

    def _inductor(self, e: Element) -> None:
        for p, q in self._ends(e):
            i = self._unknown()
            self._through(p, q, i)
            self._put(i, i, -e.get("r", 0))
            self._put(i, i, -e["l"], "e")
            self._initial[i] = e.get("i0", 0)

    def _capacitor(self, e: Element) -> None:
        for p, q in self._ends(e):
            if "r" not in e:
                self._pair(p, q, e["c"], "e")
                continue
            self._charged(p, q, e["r"], 0.0, e["c"])

    def _charged(self, p: int, q: int, r: float, inductance: float, c: float) -> None:
        """R, L and C in series. A start from zero has no current: the whole voltage lies across the inductance, if
        there is one, and otherwise across the capacitance."""
        i, w = self._unknown(), self._unknown()
        self._through(p, q, i)
        self._put(i, i, -r)
        self._put(i, i, -inductance, "e")
        self._put(i, w, -1)
        self._put(w, i, 1)
        self._put(w, w, -c, "e")

        def start(given: dict[int, float]) -> None:
            self._x[w] = 0.0 if inductance > 0 else given.get(p, 0.0) - given.get(q, 0.0)

        self._starts.append(start)

    def _series_rlc(self, e: Element) -> None:
        for p, q in self._ends(e):
            self._charged(p, q, e["r"], e["l"], e["c"])

    def _coupled(self, p: list[int], q: list[int], r: Any, inductance: Any) -> list[int]:
        rows = [self._unknown() for _ in p]
        for k, i in enumerate(rows):
            self._through(p[k], q[k], i)
            for m, other in enumerate(rows):
                self._put(i, other, -r[k][m])
                self._put(i, other, -inductance[k][m], "e")
        return rows

    def _coupled_rl(self, e: Element) -> None:
        self._coupled(self._bus(e["from"]), self._bus(e["to"]), e["r"], e["l"])

    def _drive(self, row: int, keys: Element, sign: float = 1.0) -> None:
        value, start = wave(keys, self._frequency)
        phasor = 0j
        if (
            keys.get("shape", "sine") == "sine"
            and start < 0
            and keys.get("frequency", self._frequency) == self._frequency
        ):
            phasor = sign * keys["amplitude"] * np.exp(1j * math.radians(keys.get("phase", 0)))
        self._sources.append(_Source(row, lambda t: sign * value(t), start, phasor))

    def _voltage_source(self, e: Element) -> None:
        to, away = self._number(e["to"]), self._number(e.get("from", "0"))
        row = self._coupled([to], [away], [[e.get("r", 0)]], [[e.get("l", 0)]])[0]
        self._drive(row, e)  # v_to - v_from = e + r·i + l·i'

    def _current_source(self, e: Element) -> None:
        for name, sign in ((e["to"], 1), (e.get("from", "0"), -1)):
            if (row := self._number(name)) >= 0:
                self._drive(row, e, sign)

    def _source(self, e: Element) -> None:
        def matrix(zero: float, positive: float) -> list[list[float]]:
            own, mutual = (zero + 2 * positive) / 3, (zero - positive) / 3
            return [[own if i == k else mutual for k in range(3)] for i in range(3)]

        r = matrix(e["r0"] if "r0" in e else e["r1"], e["r1"])
        inductance = matrix(e["l0"] if "l0" in e else e["l1"], e["l1"])
        for k, row in enumerate(self._coupled(self._bus(e["bus"]), [-1] * 3, r, inductance)):
            self._drive(row, e | {"phase": e.get("phase", 0) - 120 * k})

    _machine = _condenser = _source

    def _row(self, *places: tuple[int, float]) -> dict[int, float]:
        out: dict[int, float] = {}
        for i, value in places:
            if i >= 0:
                out[i] = out.get(i, 0.0) + value
        return out

    def _device(self, argument: dict[int, float], inject: dict[int, float], device: _Device) -> int:
        def make() -> None:
            device.argument, device.inject = np.zeros(self._size), np.zeros(self._size)
            for i, value in argument.items():
                device.argument[i] = value
            for i, value in inject.items():
                device.inject[i] = value

        self._late.append(make)
        self._devices.append(device)
        return len(self._devices) - 1

    def _curve(self, argument: dict[int, float], inject: dict[int, float], points: Sequence[Sequence[float]]) -> int:
        xs, ys = [0.0, *(p[0] for p in points)], [0.0, *(p[1] for p in points)]
        slopes = [(ys[k + 1] - ys[k]) / (xs[k + 1] - xs[k]) for k in range(len(points))]
        offsets = [ys[k] - slopes[k] * xs[k] for k in range(len(points))]
        corners = [*xs[1:-1], math.inf]
        upper = [(xs[k], corners[k]) for k in range(1, len(points))]
        bounds = [(-b, -a) for a, b in reversed(upper)] + [(-corners[0], corners[0])] + upper
        slope = slopes[:0:-1] + slopes
        offset = [-o for o in offsets[:0:-1]] + offsets
        empty = np.zeros(0)
        return self._device(argument, inject, _Device(empty, empty, bounds, slope, offset, len(points) - 1))

    def _arrester(self, e: Element) -> None:
        for p, q in self._ends(e):
            self._curve(self._row((p, 1), (q, -1)), self._row((p, 1), (q, -1)), e["curve"])

    def _core(self, p: int, q: int, points: Sequence[Sequence[float]], flux0: float) -> None:
        flux = self._unknown()
        self._put(flux, p, 1)
        self._put(flux, q, -1)
        self._put(flux, flux, -1, "e")
        self._initial[flux] = flux0
        self._curve({flux: 1.0}, self._row((p, 1), (q, -1)), points)

    def _saturable_inductor(self, e: Element) -> None:
        ends = self._ends(e)
        fluxes = _per_phase(e.get("flux", 0.0), len(ends))
        for (p, q), flux in zip(ends, fluxes, strict=True):
            self._core(p, q, e["curve"], flux)

    def _pole(self, p: int, q: int, g_on: float, g_off: float, closed: bool) -> int:
        empty = np.zeros(0)
        everywhere = [(-math.inf, math.inf)] * 2
        at = self._row((p, 1), (q, -1))
        return self._device(at, at, _Device(empty, empty, everywhere, [g_off, g_on], [0, 0], int(closed)))

    def _operate(self, t: float, device: int, close: bool, at_zero: bool) -> None:
        self._operations.append((t, len(self._operations), _Operation(device, close, at_zero)))

    def _switch(self, e: Element) -> None:
        for p, q in self._ends(e):
            off = 1 / e["r_off"] if "r_off" in e else 0.0
            pole = self._pole(p, q, 1 / e.get("r_on", 1e-3), off, e.get("closed", False))
            for o in e.get("operations", []):
                close = o["action"] == "close"
                self._operate(o["time"], pole, close, not close and e.get("current_zero", False))

    def _diode(self, e: Element) -> None:
        for p, q in self._ends(e):
            pole = self._pole(p, q, 1 / e.get("r_on", 1e-3), 1 / e["r_off"] if "r_off" in e else 0.0, False)
            self._devices[pole].bounds = [(-math.inf, 0.0), (0.0, math.inf)]
            self._devices[pole].diode = True

    def _fault(self, e: Element) -> None:
        bus = self._bus(e["bus"])
        phases = [bus["abc".index(c)] for c in e["kind"] if c != "g"]
        grounded = e["kind"].endswith("g")
        for k in range(1 if not grounded and len(phases) == 2 else len(phases)):
            pole = self._pole(
                phases[k], -1 if grounded else phases[(k + 1) % len(phases)], 1 / e.get("r", 0.1), 0.0, False
            )
            self._operate(e["start"], pole, True, False)
            if "stop" in e:
                self._operate(e["stop"], pole, False, True)

    def _transformer(self, e: Element) -> None:
        delta = [e["connection"].startswith("D"), e["connection"].endswith("D")]
        p, s = self._bus(e["primary"]), self._bus(e["secondary"])
        turns = [v / (1.0 if d else math.sqrt(3)) for v, d in zip((e["v1"], e["v2"]), delta, strict=True)]
        ratio = turns[0] / turns[1]
        fluxes = _per_phase(e.get("flux", 0.0), 3)
        for k in range(3):
            ends = [(bus[k], bus[(k + 1) % 3] if d else -1) for bus, d in zip((p, s), delta, strict=True)]
            i = self._unknown()
            for (a, b), weight in zip(ends, (1.0, -ratio), strict=True):
                for node, sign in ((a, weight), (b, -weight)):
                    self._put(node, i, sign)
                    self._put(i, node, sign)
            self._put(i, i, -e["r"])
            self._put(i, i, -e["l"], "e")
            a, b = ends[0]
            if "lm" in e:
                m = self._unknown()
                self._through(a, b, m)
                self._put(m, m, -e["lm"], "e")
            if "rc" in e:
                self._pair(a, b, 1 / e["rc"])
            if "saturation" in e:
                self._core(a, b, e["saturation"], fluxes[k])

    def _line(self, e: Element) -> None:
        """In modes, with u = v - (R/4)·i inside of either end and the wave w = u + Z·i that leaves it:
        u - Z·i = T·w(far end) + Γ·w(this one), both τ ago. Half of the resistance is in the middle of the line; it lets
        T = Z/(Z + R/4) through and reflects Γ = 1 - T."""
        ends = (self._bus(e["from"]), self._bus(e["to"]))
        line = _Line(ends, ([], []), [], [], [])
        for mode in range(3):
            s = "0" if mode == 0 else "1"
            line.z.append(math.sqrt(e["l" + s] / e["c" + s]))
            line.r.append(e["r" + s] * e["length"])
            line.tau.append(e["length"] * math.sqrt(e["l" + s] * e["c" + s]))
            for end in range(2):
                i = self._unknown()
                line.current[end].append(i)
                for phase in range(3):
                    self._put(ends[end][phase], i, _CLARKE[mode, phase])
                    self._put(i, ends[end][phase], _CLARKE[mode, phase])
                self._put(i, i, -(line.z[mode] + line.r[mode] / 4))
        self._lines.append(line)

    # Steps.

    def _topology(self) -> tuple[int, ...]:
        return tuple(d.now for d in self._devices)

    def _matrix(self) -> tuple[NDArray[np.float64], Vector]:
        key = self._topology()
        if key not in self._system:
            a, b = self._a.copy(), np.zeros(self._size)
            for d in self._devices:
                a += d.slope[d.now] * np.outer(d.inject, d.argument)
                b -= d.offset[d.now] * d.inject
            self._system[key] = (a, b)
        return self._system[key]

    def _factorised(self, h: float) -> Any:
        key = (h, self._topology())
        if key not in self._factors:
            a, _ = self._matrix()
            real = lapack.dgetrf(_LAMBDA[_REAL].real / h * self._e + a)
            pair = lapack.zgetrf(_LAMBDA[_PAIR] / h * self._e + a)
            if len(self._factors) > 4000:
                self._factors.clear()
            self._factors[key] = (real, pair)
        return self._factors[key]

    def _waves_rows(self) -> None:
        """Return the waves that left each end as rows of x, and the arriving ones as places in the right-hand side."""
        rows: list[Vector] = []
        self._arrivals: list[tuple[float, int, int, float, int, float]] = []
        for line in self._lines:
            first = len(rows)
            for end in range(2):
                for mode in range(3):
                    row = np.zeros(self._size)
                    row[line.node[end]] += _CLARKE[mode]
                    row[line.current[end][mode]] += line.z[mode] - line.r[mode] / 4
                    rows.append(row)
            for end in range(2):
                for mode in range(3):
                    through = line.z[mode] / (line.z[mode] + line.r[mode] / 4)
                    far, own = first + 3 * (1 - end) + mode, first + 3 * end + mode
                    self._arrivals.append((line.tau[mode], line.current[end][mode], far, through, own, 1 - through))
        self._outgoing = np.array(rows) if rows else np.zeros((0, self._size))
        self._delays = sorted({round(a[0], 15) for a in self._arrivals})

    def _right_side(self, t0: float, h: float) -> NDArray[np.float64]:
        _, constant = self._matrix()
        b = np.repeat(constant[:, None], 3, axis=1)
        for stage in range(3):
            t = t0 + _C[stage] * h
            for s in self._sources:
                if s.start_s < 0 or t0 >= s.start_s - 1e-12:
                    b[s.row, stage] += s.value(t)
            for delay in self._delays:
                past = self._past(t - delay, t0 - delay, t0 + h - delay)
                if past is None:
                    continue
                for tau, row, far, through, own, back in self._arrivals:
                    if abs(tau - delay) < 1e-14:
                        b[row, stage] += through * past[far] + back * past[own]
        return b

    def _past(self, t: float, begin: float, end: float) -> NDArray[np.float64] | None:
        past = self._history.at(t, later=t - begin < end - t)  # on the side of the step's inside
        if past is not None or not self._steady:
            return past
        out: NDArray[np.float64] = (self._outgoing @ self._phasor * np.exp(2j * math.pi * self._frequency * t)).real
        return out

    def _stages(self, t0: float, h: float) -> NDArray[np.float64]:
        """x at the three stages of a step, as columns."""
        real, pair = self._factorised(h)
        b = self._right_side(t0, h)
        # E·Σ_j A⁻¹_ij·(X_j - x0)/h + A·X_i = b_i with X = Z·Tᵀ.
        b += np.outer(self._e @ self._x, _A_INVERSE.sum(axis=1) / h)
        w = b @ _T_INVERSE.T
        z0 = lapack.dgetrs(real[0], real[1], np.ascontiguousarray(w[:, _REAL].real))[0]
        z1 = lapack.zgetrs(pair[0], pair[1], np.ascontiguousarray(w[:, _PAIR]))[0]
        out: NDArray[np.float64] = (np.outer(z0, _T[:, _REAL].real) + 2 * np.outer(z1, _T[:, _PAIR])).real
        return out

    def _left(self, stages: NDArray[np.float64], h: float) -> tuple[float, int, int] | None:
        """The first device that leaves its state within a step: when (θ), which, and its next state."""
        first: tuple[float, int, int] | None = None
        for k, d in enumerate(self._devices):
            low, high = d.bounds[d.now]
            if d.armed is not None:
                low, high = (0.0, math.inf) if d.armed > 0 else (-math.inf, 0.0)
            elif low == -math.inf and high == math.inf:
                continue
            y = d.argument @ stages
            slack = _REACHED * self._scale
            if (y >= low - slack).all() and (y <= high + slack).all():
                continue
            bound = low if (y < low - slack).any() else high
            a, b, c = _STAGE_POWERS @ y
            outside = int(np.argmax((y < low - slack) | (y > high + slack)))
            theta = _first_root(a - bound, b, c, _C[outside])
            if d.armed is not None:
                target = 0
            elif len(d.bounds) == 2 and d.diode:
                target = 1 - d.now
            else:
                target = d.now + (1 if bound == high else -1)
            if first is None or theta < first[0]:
                first = (theta, k, target)
        return first

    def _advance(self, t: float, until: float) -> float:
        """One step, to `until` or to the first instant before at which a device changes; returns the time reached."""
        for _ in range(400):
            h = until - t
            stages = self._stages(t, h)
            self._scale = max(self._scale, float(np.abs(stages[: len(self.names)]).max(initial=0.0)))
            event = self._left(stages, h)
            if event is None:
                self._accept(t, h, stages)
                return until
            theta, k, target = event
            if theta * h > 1e-12:
                # Nearer and nearer to the instant, from below where it can be had.
                x = self._approach(t, h, theta, k)
                if x is not None and x > 1e-12:
                    stages = self._stages(t, x)
                    other = self._left(stages, x)
                    if other is not None and other[0] * x < x * (1 - 1e-6) and other[1] != k:
                        until = t + x  # another one is earlier
                        continue
                    self._accept(t, x, stages)
                    self._change(t + x, k, target)
                    return t + x
                if h > 1e-4 * self._step:
                    until = t + h / 2  # there and back within a step
                    continue
            self._change(t, k, target)
        raise RuntimeError(f"no consistent state at t = {t}")

    def _approach(self, t: float, h: float, theta: float, k: int) -> float | None:
        d = self._devices[k]
        low, high = d.bounds[d.now] if d.armed is None else (0.0, 0.0)
        x = theta * h
        for _ in range(6):
            stages = self._stages(t, x)
            y = d.argument @ stages
            bound = low if abs(y[2] - low) < abs(y[2] - high) else high
            if abs(y[2] - bound) < 0.1 * _REACHED * self._scale:
                return x
            _, b, c = _STAGE_POWERS @ y
            slope = (b + 2 * c) / x
            if slope == 0:
                return x
            x -= (y[2] - bound) / slope
            if not 0 < x <= 1.5 * h:
                return None
        return x

    def _change(self, t: float, k: int, target: int) -> None:
        d = self._devices[k]
        d.now = target
        jumps = len(d.bounds) == 2
        d.armed = None
        if jumps:
            self._announce(t, 2)

    def _announce(self, t: float, generations: int) -> None:
        """Follow a present change: it arrives elsewhere later, and returns to its origin, always on the grid."""
        for delay in self._delays:
            arrival = t + delay
            number = round(arrival / self._step)
            if abs(arrival - number * self._step) < 1e-9 * self._step:
                if number in self._met:
                    continue
                self._met.add(number)
                generations = max(generations, 1)
            heapq.heappush(self._breaks, (arrival, generations))

    def _accept(self, t: float, h: float, stages: NDArray[np.float64]) -> None:
        self._history.begin.append(t)
        self._history.length.append(h)
        self._history.powers.append(_STAGE_POWERS @ (self._outgoing @ stages).T)
        if t == self._broken:
            self._happens[-1] = True
            self._after[-1] = (_STAGE_POWERS @ stages[: len(self.names)].T)[0]
        self._x = stages[:, 2].copy()

    def run(self, steps: int) -> NDArray[np.float64]:
        """Voltages of ``names`` at t = 0 and after each of ``steps`` steps."""
        self._waves_rows()
        if self._steady:
            self._solve_phasors()
        out = [self._x[: len(self.names)].copy()]
        self._after, self._happens, self._broken = [out[0]], [False], 0.0
        operations = sorted(self._operations, key=lambda o: o[:2])
        if not self._steady:
            heapq.heappush(self._breaks, (0.0, 2))
        for s in self._sources:
            if s.start_s >= 0:
                heapq.heappush(self._breaks, (s.start_s, 2))
        for t, _, _ in operations:
            heapq.heappush(self._breaks, (t, 2))
        t, near = 0.0, 1e-12
        for n in range(1, steps + 1):
            end = n * self._step
            while t < end - near:
                while operations and operations[0][0] <= t + near:
                    _, _, operation = operations.pop(0)
                    self._act(t, operation)
                while self._breaks and self._breaks[0][0] <= t + near:
                    _, generations = heapq.heappop(self._breaks)
                    self._broken = t if t == (n - 1) * self._step else self._broken
                    if generations > 0:
                        self._announce(t, generations - 1)
                until = end
                if self._breaks and self._breaks[0][0] < end - near:
                    until = self._breaks[0][0]
                t = self._advance(t, until)
            t = end
            out.append(self._x[: len(self.names)].copy())
            self._after.append(out[-1])
            self._happens.append(False)
        return np.array(out)

    @property
    def after(self) -> NDArray[np.float64]:
        """The same just after these instants, by extrapolation, where something happens or arrives: if voltages jump,
        other values."""
        return np.array(self._after)

    @property
    def happens(self) -> NDArray[np.bool_]:
        """Whether something happens or arrives at these instants."""
        return np.array(self._happens)

    def _act(self, t: float, operation: _Operation) -> None:
        d = self._devices[operation.device]
        if operation.at_zero and d.now == 1:
            y = float(d.argument @ self._x)
            d.armed = math.copysign(1.0, y)
            if y == 0.0:
                self._change(t, operation.device, 0)
        else:
            d.armed = None
            d.now = int(operation.close)

    def _solve_phasors(self) -> None:
        """The steady state at t = 0: devices on the state they begin with."""
        omega = 2 * math.pi * self._frequency
        a, _ = self._matrix()
        y = a + 1j * omega * self._e
        for tau, row, far, through, own, back in self._arrivals:
            y[row] -= np.exp(-1j * omega * tau) * (through * self._outgoing[far] + back * self._outgoing[own])
        b = np.zeros(self._size, dtype=complex)
        for s in self._sources:
            b[s.row] += s.phasor
        self._phasor = np.linalg.solve(y, b)
        self._x = self._phasor.real.copy()


def _per_phase(value: Any, count: int) -> list[float]:
    return list(value) if isinstance(value, list) else [float(value)] * count


def _first_root(a: float, b: float, c: float, before: float) -> float:
    """The first θ > 0 with a + b·θ + c·θ² = 0, not after `before`; 0 if there is none."""
    roots = [] if c == 0 and b == 0 else [-a / b] if c == 0 else []
    if c != 0:
        d = b * b - 4 * a * c
        if d >= 0:
            q = -0.5 * (b + math.copysign(math.sqrt(d), b))
            roots = [q / c] + ([a / q] if q != 0 else [])
    good = [r for r in roots if 0 < r <= before * (1 + 1e-9)]
    return min(good) if good else 0.0
