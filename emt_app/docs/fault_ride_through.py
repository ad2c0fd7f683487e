"""Draws fault-ride-through.svg: ``python3 emt_app/docs/fault_ride_through.py EMT`` with the built program.

The reference network with all machines and controllers (seed 1); a bus at 735 kV is shorted from 1 s to 1.1 s.
"""

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

FAULT_BUS, OTHER_BUSES = "S30", ("S5", "S20", "S50")
SECONDS, STEP_S = 10.0, 50e-6
PICTURE = Path(__file__).with_name("fault-ride-through.svg")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444")
WIDTH, HEIGHT, LEFT, TOP, GAP = 860, 180, 70, 40, 58

Columns = dict[str, list[float]]


@dataclass(frozen=True)
class SvgPanel:
    title: str
    unit: str
    x: Sequence[float]
    curves: Sequence[tuple[str, Sequence[float]]]  # with a legend where the name is not empty


def simulate(emt: str, case: Path, probes: Sequence[str], steps: int, every: int) -> Columns:
    out = case.with_suffix(".csv")
    words = [word for probe in probes for word in ("--probe", probe)]
    command = [emt, "run", str(case), "--steps", str(steps), "--every", str(every), "--no-replay", "--csv", str(out)]
    subprocess.run(["mpirun", "-n", "1", *command, *words], check=True, stdout=subprocess.DEVNULL)
    rows = list(csv.reader(out.read_text(encoding="utf-8").splitlines()))
    complete = [row for row in rows[1:] if all(row)]  # signals have no value before the first step
    return {name: [float(row[i]) for row in complete] for i, name in enumerate(rows[0])}


def panels(emt: str) -> list[SvgPanel]:
    with tempfile.TemporaryDirectory() as folder:
        case = Path(folder, "case.json")
        generate = [emt, "generate", "hq", "--fault", FAULT_BUS, "-o", str(case)]
        subprocess.run(generate, check=True, stdout=subprocess.DEVNULL)
        content = json.loads(case.read_text(encoding="utf-8"))
        elements = content["elements"]
        machines = [e["name"] for e in elements if e["type"] == "synchronous_machine" and "p" in e]
        compensators = [e["name"] for e in elements if e["type"] == "svc"]
        peak = 735e3 * (2 / 3) ** 0.5
        for bus in (FAULT_BUS, *OTHER_BUSES):
            magnitude = {"quantity": "magnitude", "bus": bus, "base": peak}
            elements.append({"type": "measurement", "name": f"V_{bus}"} | magnitude)
        case.write_text(json.dumps(content), encoding="utf-8")
        voltages = [f"V_{bus}" for bus in (FAULT_BUS, *OTHER_BUSES)]
        speeds, orders = [f"{name}.speed" for name in machines], [f"{name}.b" for name in compensators]
        phases = [f"{FAULT_BUS}.{phase}" for phase in "abc"]
        slow = simulate(emt, case, [*voltages, *speeds, *orders], round(SECONDS / STEP_S), 200)
        fast = simulate(emt, case, phases, round(1.25 / STEP_S), 2)
    begin = next(i for i, t in enumerate(fast["time"]) if t >= 0.95)  # s
    return [
        SvgPanel(f"Phases of the bus {FAULT_BUS}", "per unit", fast["time"][begin:],
                 [(f"phase {phase[-1]}", [v / peak for v in fast[phase][begin:]]) for phase in phases]),
        SvgPanel("Voltages at 735 kV", "per unit", slow["time"], [(name[2:], slow[name]) for name in voltages]),
        SvgPanel(f"Speeds of the {len(speeds)} machines with a given power", "Hz", slow["time"],
                 [("", [60 * w for w in slow[name]]) for name in speeds]),
        SvgPanel(f"Susceptances that the regulators of the {len(orders)} SVCs order", "per unit", slow["time"],
                 [("", slow[name]) for name in orders]),
    ]  # fmt: skip


def ticks(low: float, high: float) -> list[float]:
    span = high - low
    step = min((m * 10.0**e for e in range(-6, 4) for m in (1, 2, 5)), key=lambda s: abs(span / s - 5))
    first = -(-low // step)
    return [step * (first + i) for i in range(round(span / step) + 2) if step * (first + i) <= high + 1e-9 * span]


def visible(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Without points that are hardly apart from the last one kept, in pixels."""
    kept = points[:1]
    for before, point in pairwise(points[:-1]):
        if point[0] - kept[-1][0] > 4 or abs(point[1] - kept[-1][1]) > 0.7:
            kept += [point] if kept[-1] == before else [before, point]
    return [*kept, points[-1]]


def drawn(panel: SvgPanel, top: float) -> list[str]:
    low = min(min(values) for _, values in panel.curves)
    high = max(max(values) for _, values in panel.curves)
    margin = 0.05 * (high - low)
    low, high = low - margin, high + margin
    start, end = panel.x[0], panel.x[-1]

    def scale(begin: float, finish: float, at: float, length: float) -> Callable[[float], float]:
        return lambda value: at + (value - begin) / (finish - begin) * length

    x, y = scale(start, end, LEFT, WIDTH), scale(low, high, top + HEIGHT, -HEIGHT)
    out = [f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{panel.title} ({panel.unit})</text>']
    for value in ticks(low, high):
        out.append(f'<path d="M{LEFT},{y(value):.1f}h{WIDTH}" stroke="#e4e7eb"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    for value in ticks(start, end):
        out.append(f'<text x="{x(value):.1f}" y="{top + HEIGHT + 16}" text-anchor="middle">{value:.6g} s</text>')
    named = 0
    for number, (name, values) in enumerate(panel.curves):
        colour = COLOURS[number % len(COLOURS)]
        pixels = visible([(x(t), y(v)) for t, v in zip(panel.x, values, strict=True)])
        points = " ".join(f"{right:.1f},{down:.1f}" for right, down in pixels)
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1"/>')
        if name:
            place = f'x="{LEFT + WIDTH - 8 - 70 * named}" y="{top - 8}" text-anchor="end"'
            out.append(f'<text {place} fill="{colour}">{name}</text>')
            named += 1
    out.append(f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#1f2933"/>')
    return out


def main() -> None:
    drawings = [line for i, panel in enumerate(panels(sys.argv[1])) for line in drawn(panel, TOP + i * (HEIGHT + GAP))]
    size = f'width="{LEFT + WIDTH + 20}" height="{TOP + 4 * (HEIGHT + GAP)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    background = '<rect width="100%" height="100%" fill="white"/>'
    PICTURE.write_text("\n".join([head, background, *drawings, "</svg>\n"]), encoding="utf-8")


if __name__ == "__main__":
    main()
