"""Currents and energies of a case's elements, computed from the output of ``emt run --probe``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Waves = dict[str, NDArray[np.float64]]
Element = dict[str, Any]


@dataclass(frozen=True)
class Path:
    """The current of a channel flows from one node to another."""

    channel: str
    first: str
    second: str = "0"


def names_of(case: dict[str, Any]) -> list[str]:
    return [f"{bus}.{phase}" for bus in case["buses"] for phase in "abc"] + list(case["nodes"])


def _bus(case: dict[str, Any], name: Any) -> list[str]:
    return [f"{name}.{p}" for p in "abc"] if name in case["buses"] else [name] * 3


def paths(case: dict[str, Any], e: Element) -> Iterator[Path]:
    """All that flows through an element, by the channels that ``emt run --help`` names."""
    name, kind = e["name"], e["type"]
    if kind == "line":
        for end in ("from", "to"):
            yield from (Path(f"{name}.{end}.{p}.i", node) for p, node in zip("abc", _bus(case, e[end]), strict=True))
    elif kind == "transformer":
        yield from _of_transformer(case, e)
    elif kind == "fault":
        yield from _of_fault(e)
    elif kind in ("voltage_source", "current_source"):
        yield Path(f"{name}.i", e.get("from", "0"), e["to"])
    elif "nodes" in e:
        yield Path(f"{name}.i", *e["nodes"])
    else:
        keys = {"source": ("", "bus"), "coupled_rl": ("from", "to")}.get(kind)
        first, second = (e.get(key, "0") for key in keys) if keys else e["buses"]
        for p, a, b in zip("abc", _bus(case, first), _bus(case, second), strict=True):
            yield Path(f"{name}.{p}.i", a, b)


def _of_transformer(case: dict[str, Any], e: Element) -> Iterator[Path]:
    for winding, key, delta in (
        ("i1", "primary", e["connection"][0] == "D"),
        ("i2", "secondary", e["connection"][-1] == "D"),
    ):
        nodes = _bus(case, e[key])
        for k, p in enumerate("abc"):
            first, second = nodes[k], nodes[(k + 1) % 3] if delta else "0"
            into = key == "primary"
            yield Path(f"{e['name']}.{p}.{winding}", first if into else second, second if into else first)


def _of_fault(e: Element) -> Iterator[Path]:
    letters = e["kind"].removesuffix("g")
    if e["kind"].endswith("g"):
        yield from (Path(f"{e['name']}.{p}.i", f"{e['bus']}.{p}") for p in letters)
        return
    for p, q in list(zip(letters, letters[1:] + letters[0], strict=True))[: 1 if len(letters) == 2 else 3]:
        yield Path(f"{e['name']}.{p}{q}.i", f"{e['bus']}.{p}", f"{e['bus']}.{q}")


def currents_into_nodes(case: dict[str, Any], waves: Waves) -> Waves:
    """Return the residual of the sum of the currents that leave each node."""
    left = {name: np.zeros_like(waves["time"]) for name in names_of(case)}
    for e in case["elements"]:
        for path in paths(case, e):
            for node, sign in ((path.first, 1), (path.second, -1)):
                if node != "0":
                    left[node] += sign * waves[path.channel]
    return left


class Energies:
    """Energies of a run, J. In a step energy is the product of the means of voltage and current, as the trapezoidal
    rule takes it; in a step that begins with a jump both are what they are at its end."""

    def __init__(self, case: dict[str, Any], waves: Waves, dt_s: float, jumps: set[int]) -> None:
        self._case, self._waves, self._dt = case, waves, dt_s
        self._jumps = np.array(sorted(jumps), dtype=int)

    def _mean(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        out: NDArray[np.float64] = (x[1:] + x[:-1]) / 2
        out[self._jumps] = x[1:][self._jumps]
        return out

    def _across(self, path: Path) -> NDArray[np.float64]:
        zero = np.zeros_like(self._waves["time"])
        return self._waves.get(path.first, zero) - self._waves.get(path.second, zero)

    def _work(self, u: NDArray[np.float64], i: NDArray[np.float64]) -> float:
        return float(np.sum(self._mean(u) * self._mean(i)) * self._dt)

    @staticmethod
    def _stored(form: Any, x: Any) -> float:
        """½·x·form·x at the end less that at the start; x has a row for each branch."""
        form, x = np.atleast_2d(form), np.atleast_2d(x)
        return float(0.5 * (x[:, -1] @ form @ x[:, -1] - x[:, 0] @ form @ x[:, 0]))

    def _lost(self, r: Any, i: Any) -> float:
        r, mean = np.atleast_2d(r), np.array([self._mean(row) for row in np.atleast_2d(i)])
        return float(np.einsum("at,ab,bt->", mean, r, mean) * self._dt)

    def delivered(self) -> float:
        """By the terminals of all sources."""
        return sum(
            -self._work(self._across(p), self._waves[p.channel]) for e in self._sources() for p in paths(self._case, e)
        )

    def turned_over(self) -> float:
        """The same with every step's energy counted as positive."""
        return sum(
            float(np.sum(np.abs(self._mean(self._across(p)) * self._mean(self._waves[p.channel]))) * self._dt)
            for e in self._sources()
            for p in paths(self._case, e)
        )

    def _sources(self) -> list[Element]:
        return [e for e in self._case["elements"] if "source" in e["type"]]

    def taken(self) -> float:
        """Heat of resistances, energy of inductances, capacitances and cores from their currents and voltages, heat of
        arresters as ``NAME.energy`` has it, what goes into lines."""
        return sum(self._of(e) for e in self._case["elements"] if "source" not in e["type"])

    def _of(self, e: Element) -> float:
        through = list(paths(self._case, e))
        i = [self._waves[p.channel] for p in through]
        u = [self._across(p) for p in through]
        by_kind: dict[str, Callable[[], float]] = {
            "resistor": lambda: sum(self._lost(e["r"], x) for x in i),
            "inductor": lambda: sum(self._lost(e.get("r", 0), x) + self._stored(e["l"], x) for x in i),
            "capacitor": lambda: sum(
                self._lost(e.get("r", 0), x) + self._stored(e["c"], y - e.get("r", 0) * x)
                for x, y in zip(i, u, strict=True)
            ),
            "series_rlc": lambda: sum(
                self._lost(e["r"], x) + self._stored(e["l"], x) + self._stored(e["c"], self._charge(x) / e["c"])
                for x in i
            ),
            "coupled_rl": lambda: self._lost(e["r"], i) + self._stored(e["l"], i),
            "arrester": lambda: sum(float(self._waves[p.channel.removesuffix("i") + "energy"][-1]) for p in through),
            "saturable_inductor": lambda: sum(self._core(p.channel.removesuffix("i"), "i") for p in through),
            "transformer": lambda: self._transformer(e),
        }
        return by_kind.get(e["type"], lambda: sum(self._work(y, x) for x, y in zip(i, u, strict=True)))()

    def _charge(self, i: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate(([0.0], np.cumsum(self._mean(i)) * self._dt))

    def _core(self, place: str, current: str) -> float:
        """∫ i dλ"""
        flux, i = self._waves[place + "flux"], self._waves[place + current]
        return float(np.sum(np.diff(flux) * self._mean(i)))

    def _transformer(self, e: Element) -> float:
        windings = list(paths(self._case, e))
        star = [not e["connection"].startswith("D"), not e["connection"].endswith("D")]
        turns = [v / 3**0.5 if is_star else v for v, is_star in zip((e["v1"], e["v2"]), star, strict=True)]
        ratio = turns[0] / turns[1]
        total = 0.0
        for k, phase in enumerate("abc"):
            place = f"{e['name']}.{phase}."
            load = self._waves[place + "i2"] / ratio
            u = self._across(windings[k])
            total += self._lost(e["r"], load) + self._stored(e["l"], load)
            total += self._lost(1 / e["rc"], u) if "rc" in e else 0.0
            total += self._stored(e["lm"], self._waves[place + "im"]) if "lm" in e else 0.0
            total += self._core(place, "im") if "saturation" in e else 0.0
        return total


def channels(case: dict[str, Any]) -> list[str]:
    """All that the sums above need, with the voltages of the nodes."""
    out = names_of(case)
    for e in case["elements"]:
        out += [p.channel for p in paths(case, e)]
        if e["type"] == "arrester":
            out += [p.channel.removesuffix("i") + "energy" for p in paths(case, e)]
        if e["type"] == "saturable_inductor":
            out += [p.channel.removesuffix("i") + "flux" for p in paths(case, e)]
        if e["type"] == "transformer":
            kinds = ["im"] * ("lm" in e or "saturation" in e) + ["flux"] * ("saturation" in e)
            out += [f"{e['name']}.{p}.{kind}" for p in "abc" for kind in kinds]
    return out
