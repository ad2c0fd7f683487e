"""Speed of the simulator on one node, beside its bounds and beside ngspice and DPsim, in one run.

Usage: python3 run.py --build BUILD_DIRECTORY [--output bench.json] [--repeats 7] [--scales 1,10,100] [--bpa PROGRAM]
Medians over the repeats. Uses DPsim and ngspice if they are installed, else says that they are missing. The output says
where it was made (`provenance`) and holds each target with the value measured (`targets`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common_network import CircuitPart, as_bpa_cards, as_case, as_netlist, part_with, reduce_case

sys.path.append(str(Path(__file__).resolve().parents[2]))

from kappa.core.ground.whole_files import write_atomically
from tests.emt import dpsim_machine

dpsimpy: Any
try:
    import dpsimpy
except ImportError:
    dpsimpy = None

DT_S = 50e-6
STEP_LIMIT_US = {"serial": 7.0, "full": 10.0}
NAMES = {"serial": "network alone", "full": "full network"}
DPSIM_FACTOR = 50.0
MACHINES = (1, 41)  # one, and as many as the reference network has
BPA_MOST_PARTS = 950  #: it reads 1000 cards
BOUND_FACTOR = 2.0
RING_LIMIT_US = 0.3
PINGPONG_FACTOR = 2.0
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def call(*command: str | Path) -> str:
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, env=os.environ | MPI_ENVIRONMENT, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


class Bench:
    def __init__(self, build: Path, work: Path, repeats: int, bpa: Path | None = None) -> None:
        self.build, self.work, self.repeats, self.bpa = build, work, repeats, bpa
        self.provenance: dict[str, Any] = {}

    def run(self, case: Path, steps: int, *arguments: str, ranks: int = 0) -> list[dict[str, Any]]:
        """Results of `repeats` runs."""
        out = []
        launcher = ["mpirun", "-n", str(ranks)] if ranks else []
        for _ in range(self.repeats):
            result = self.work / "result.json"
            call(*launcher, self.build / "emt", "run", case, "--steps", str(steps), "--warm-up", str(steps // 10),
                 "--result", result, *arguments)  # fmt: skip
            out.append(json.loads(result.read_text()))
        self.provenance = self.provenance or out[0]["provenance"]
        return out

    def hq(self, scale: int, *, full: bool = False) -> Path:
        path = self.work / f"{'full' if full else 'hq'}{scale}.json"
        if not path.exists():
            kind = [] if full else ["--network-only"]
            call(self.build / "emt", "generate", "hq", *kind, "--scale", str(scale), "-o", path)
        return path

    def bandwidth_gb_s(self, size_bytes: float, updated: float) -> float:
        return float(call(self.build / "bench" / "emt_bandwidth", str(int(size_bytes)), f"{updated:.4f}"))

    def serial(self, scale: int, *, full: bool = False) -> dict[str, Any]:
        """Time per step on one core beside the time to read and update what a step touches where it lives."""
        results = self.run(self.hq(scale, full=full), max(200, 100000 // scale), "--profile")
        step = statistics.median(r["step_us"]["p50"] for r in results)
        touched, rings = results[0]["bytes_touched"], results[0]["ring_bytes"]
        written = results[0]["bytes_written"]
        bandwidth = self.bandwidth_gb_s(touched + rings, written / touched)
        bound = touched / bandwidth / 1e3
        return {
            "step_us": step,
            "step_mean_us": statistics.median(r["step_us"]["mean"] for r in results),
            "phi_us": statistics.median(r["phi_us"] for r in results),
            "phi_cached_us": statistics.median(r["phi_cached_us"] for r in results),
            "bytes_touched": touched,
            "bytes_written": written,
            "bytes_held": touched + rings,
            "bandwidth_gb_s": bandwidth,
            "bound_us": bound,
            "times_bound": step / bound,
            "isa": results[0]["isa"],
            "profile": sorted(results, key=lambda r: r["phi_us"])[len(results) // 2]["profile"],
        }

    def pair(self, exchange: str, transport: str) -> dict[str, Any]:
        """κ′ of two ranks (also in the wider sense, with φ in cache), and the ping-pong of the same message size."""
        results = self.run(self.hq(1), 100000, "--exchange", exchange, "--transport", transport, ranks=2)
        size = round(results[0]["bytes_per_step"]["total"] / results[0]["messages_per_step"])
        pingpong = ("mpirun", "-n", "2", self.build / "bench" / "emt_pingpong", str(size))
        return {
            "kappa_block_p50_us": statistics.median(r["kappa_block_p50_us"] for r in results),
            "kappa_p50_us": statistics.median(r["kappa_p50_us"] for r in results),
            "kappa_cached_p50_us": statistics.median(
                r["step_us"]["p50"] - r["sigma_us"] - r["phi_cached_us"] / 2 for r in results
            ),
            "imbalance_us": statistics.median(r["imbalance_us"] for r in results),
            "exchange_p50_us": statistics.median(r["exchange_p50_us"] for r in results),
            "step_us": statistics.median(r["step_us"]["p50"] for r in results),
            "message_bytes": size,
            "pingpong_us": statistics.median(float(call(*pingpong)) for _ in range(self.repeats)),
        }

    def common(self) -> dict[str, Any]:
        """The common network in this program, DPsim and ngspice."""
        nodes, parts = reduce_case(json.loads(self.hq(1).read_text()))
        case = self.work / "common.json"
        case.write_text(json.dumps(as_case(nodes, parts, DT_S)))
        ours = statistics.median(r["step_us"]["p50"] for r in self.run(case, 50000))
        out: dict[str, Any] = {"nodes": len(nodes), "parts": len(parts), "emt_us": ours}
        dpsim = dpsim_step_us(nodes, parts, self.work)
        out["dpsim_us"] = dpsim if dpsim is not None else "not provided here"
        out["times_faster_than_dpsim"] = dpsim / ours if dpsim is not None else None
        spice = ngspice_step_us(parts, self.work)
        out["ngspice_us"] = spice if spice is not None else "not provided here"
        out["bpa"] = self.beside_bpa(nodes, parts)
        return out

    def machines(self, count: int) -> dict[str, Any]:
        """So many generators, each with its load, in this program and in DPsim's full-order model."""
        case = self.work / "machines.json"
        settings = {"format": "kappa-emt-case", "version": 1, "frequency": dpsim_machine.FREQUENCY_HZ, "dt": DT_S}
        elements = [e for k in range(count) for e in dpsim_machine.elements(0, str(k))]
        case.write_text(json.dumps(settings | {"buses": [f"B{k}" for k in range(count)], "elements": elements}))
        ours = statistics.median(r["step_us"]["p50"] for r in self.run(case, 50000))
        if dpsimpy is None:
            return {"emt_us": ours, "dpsim_us": "not provided here", "times_faster_than_dpsim": None}
        with contextlib.chdir(self.work):  # DPsim writes its logs where it stands
            simulation, _, _ = dpsim_machine.set_up(dpsimpy, DT_S, count)
            theirs = median_step_us(simulation, round(dpsim_machine.STOP_S / DT_S) - 20)
        return {"emt_us": ours, "dpsim_us": theirs, "times_faster_than_dpsim": theirs / ours}

    def beside_bpa(self, nodes: list[str], parts: list[CircuitPart]) -> dict[str, Any] | str:
        """The part of the common network that the BPA EMTP can read."""
        if self.bpa is None:
            return "not provided here"
        few_nodes, few = part_with(nodes, parts, BPA_MOST_PARTS)
        case = self.work / "bpa.json"
        case.write_text(json.dumps(as_case(few_nodes, few, DT_S)))
        theirs = bpa_step_us(self.bpa, few_nodes, few, self.work, self.repeats)
        ours = statistics.median(r["step_us"]["p50"] for r in self.run(case, 50000))
        return {
            "nodes": len(few_nodes),
            "parts": len(few),
            "bpa_us": theirs,
            "emt_us": ours,
            "times_faster": theirs / ours,
        }


def dpsim_step_us(nodes: Sequence[str], parts: Sequence[CircuitPart], work: Path, steps: int = 400) -> float | None:
    if dpsimpy is None:
        return None
    emt = dpsimpy.emt
    ground = emt.SimNode.gnd
    node = {name: emt.SimNode(name) for name in nodes}
    kinds = {"resistor": emt.ph1.Resistor, "inductor": emt.ph1.Inductor, "capacitor": emt.ph1.Capacitor}
    made = []
    for part in parts:
        ends = [ground if n == "0" else node[n] for n in (part.p, part.q)]
        if part.kind == "current_source":
            element = emt.ph1.CurrentSource(part.name)
            element.set_parameters(complex(part.value, 0), 60)
        else:
            element = kinds[part.kind](part.name)
            element.set_parameters(part.value)
        element.connect(ends)
        made.append(element)
    with contextlib.chdir(work):  # DPsim writes its logs where it stands
        simulation = dpsimpy.Simulation("common", loglevel=dpsimpy.LogLevel.off)
        simulation.set_system(dpsimpy.SystemTopology(60, [ground, *node.values()], made))
        simulation.set_domain(dpsimpy.Domain.EMT)
        simulation.set_time_step(DT_S)
        simulation.set_final_time(DT_S * (steps + 20))
        simulation.start()
        return median_step_us(simulation, steps)


def median_step_us(simulation: Any, steps: int) -> float:
    """Return the median time of a step of a DPsim simulation that has begun."""
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        simulation.next()
        times.append((time.perf_counter() - start) * 1e6)
    simulation.stop()
    return statistics.median(times)


def ngspice_step_us(parts: Sequence[CircuitPart], work: Path, steps: int = 400) -> float | None:
    if shutil.which("ngspice") is None:
        return None
    times = []
    for count in (steps, 2 * steps):  # the difference leaves out reading the netlist
        netlist = work / "common.cir"
        netlist.write_text(as_netlist(parts, DT_S, DT_S * count))
        start = time.perf_counter()
        call("ngspice", "-b", netlist)
        times.append(time.perf_counter() - start)
    return (times[1] - times[0]) / steps * 1e6


def bpa_step_us(
    program: Path, nodes: list[str], parts: list[CircuitPart], work: Path, repeats: int, steps: int = 20000
) -> float:
    def seconds(count: int) -> float:
        cards = work / "bpa.dat"
        cards.write_text(as_bpa_cards(nodes, parts, DT_S, count))
        start = time.perf_counter()
        shown = call(program, cards)
        took = time.perf_counter() - start
        if "exception" in shown:
            raise SystemExit(f"{program} {cards} failed:\n{shown}")
        return took

    # The difference leaves out reading the cards.
    return statistics.median((seconds(2 * steps) - seconds(steps)) / steps * 1e6 for _ in range(repeats))


# [value measured or None, limit, met or None]
Target = tuple[float | None, float, bool | None]


def targets(out: dict[str, Any]) -> dict[str, Target]:
    """Return each target of README, Speed, with the measured value; None without a measurement."""

    def at_most(value: float | None, limit: float) -> Target:
        return value, limit, None if value is None else value <= limit

    def at_least(value: float | None, limit: float) -> Target:
        return value, limit, None if value is None else value >= limit

    found = {}
    for kind, step_limit_us in STEP_LIMIT_US.items():
        serial = out[kind]
        found[f"step of the {NAMES[kind]}, us"] = at_most(serial.get("1", {}).get("step_us"), step_limit_us)
        for scale, result in serial.items():
            name = f"{NAMES[kind]} x {scale}: step over the time to move its memory"
            found[name] = at_most(result["times_bound"], BOUND_FACTOR)
    beside_dpsim = {"common network": out["common_network"]}
    beside_dpsim |= {f"{count} generators": result for count, result in out["machines"].items()}
    for name, result in beside_dpsim.items():
        found[f"{name}: times as fast as DPsim, at least"] = at_least(result["times_faster_than_dpsim"], DPSIM_FACTOR)
    for exchange in ("step", "slack"):
        ring, message = (out["two_ranks"][f"{exchange}/{transport}"] for transport in ("shared", "message"))
        found[f"kappa' through the ring, {exchange}, us"] = at_most(ring["kappa_block_p50_us"], RING_LIMIT_US)
        found[f"kappa' with messages, {exchange}, us"] = at_most(
            message["kappa_block_p50_us"], PINGPONG_FACTOR * message["pingpong_us"]
        )
    return found


def table(found: dict[str, Target]) -> str:
    """The targets for people."""
    words = {True: "met", False: "not met", None: "not measured"}
    rows = [f"{'target':<58} {'measured':>9} {'limit':>9}"]
    for name, (value, limit, met) in found.items():
        rows.append(f"{name:<58} {'-' if value is None else f'{value:.3g}':>9} {limit:>9.3g}  {words[met]}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="CMake build directory")
    parser.add_argument("--output", type=Path, default=Path("bench.json"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--scales", default="1,10,100", help="copies of the reference network")
    parser.add_argument("--bpa", type=Path, help="program of the BPA EMTP's translation to C++, to be timed beside")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options.build.resolve(), Path(work), options.repeats, options.bpa and options.bpa.resolve())
        out: dict[str, Any] = {}
        out["serial"] = {scale: bench.serial(int(scale)) for scale in options.scales.split(",")}
        out["full"] = {scale: bench.serial(int(scale), full=True) for scale in options.scales.split(",")}
        out["two_ranks"] = {
            f"{exchange}/{transport}": bench.pair(exchange, transport)
            for exchange in ("step", "slack")
            for transport in ("shared", "message")
        }
        out["common_network"] = bench.common()
        out["machines"] = {count: bench.machines(count) for count in MACHINES}
        out["provenance"] = bench.provenance
    out["targets"] = targets(out)
    text = json.dumps(out, indent=2)
    write_atomically(options.output, text + "\n", 0o644)
    print(text)
    print(table(out["targets"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
