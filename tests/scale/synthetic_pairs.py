"""Cost of PairSweep for synthetic results: every pair up to ``sample_above`` nodes, a sample of more.

``measure`` starts this module anew for each step, so that a step's memory is its own.
"""

import argparse
import json
import subprocess
import sys
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kappa.core.record.evidence import Figure
from kappa.core.record.reframe_report import RecordedCase, Run
from reframe_checks.network.pair_sweep import FIGURES, RESULT, PairSweep, rounds_of_sample
from reframe_checks.parsers.pair_sweep import PAIR, nodes_crc32
from tests.benchmarks.pages import SLOW_NODE, large_report, recorded_case
from tests.measured import measured
from tests.pair_sampling.fabric import Fabric, Schedule
from tests.pair_sampling.schedule import schedule_of
from tests.scale.processes import REPOSITORY, Took, reports_took, took
from tests.stand_in import StandIn

LEAF_SIZE = 20
SAMPLE_ABOVE = PairSweep.sample_above
SWITCHES = "switches.json"
_METRICS = ("bandwidth_across_switches", "leaf_uniformity", "worst_loss")


def write_output(nodes: int, folder: Path, program: Path | None = None) -> Fabric:
    """Write the program's output of a sweep of this many nodes, one of them 1.5 times slower, into ``folder``.

    :param program: ``kappa-measure``, which gives the rounds where pairs are sampled.
    """
    fabric = Fabric(nodes, LEAF_SIZE, "adaptive", np.random.default_rng(1))
    fabric.plant("node")
    if nodes > SAMPLE_ABOVE:
        if program is None:
            raise ValueError(f"more than {SAMPLE_ABOVE} nodes are sampled: the program gives the rounds")
        schedule = schedule_of(program, fabric.leaf, rounds_of_sample(nodes), 1, folder)
        _write_sample(fabric, schedule, folder)
    else:
        _write_all(fabric, folder)
    return fabric


def _document(fabric: Fabric, pairs: str, figures: dict[str, Any]) -> dict[str, Any]:
    own = {
        "pairs": pairs, "nodes": fabric.names, "ranks_per_node": 1, "latency_bytes": 8, "bandwidth_bytes": 1 << 20,
        "window": 16, "alone_pairs": 0, "alone": [], "operations": 0, "collectives": [], **figures,
    }  # fmt: skip
    return measured("pairs", own, ranks=fabric.nodes, nodes=fabric.nodes)


def _write_sample(fabric: Fabric, schedule: Schedule, folder: Path) -> None:
    _, pairs, there, back = fabric.sweep(schedule)
    records = np.zeros(len(pairs), dtype=PAIR)
    records["first"], records["second"] = pairs.T
    records["to_second_mbps"], records["to_first_mbps"] = there, back
    records["latency_us"] = 1.9 * np.exp(fabric.rng.normal(0, 0.03, len(pairs)))
    records["sent"], records["messages"] = 200_000, 1200
    (folder / FIGURES).write_bytes(records.tobytes())
    rounds = [{"round": number, "pairs": len(pairs), "seconds": 0.2} for number, pairs in enumerate(schedule, start=1)]
    within = sum(bool(fabric.leaf[pairs[0, 0]] == fabric.leaf[pairs[0, 1]]) for pairs in schedule)
    figures = {"seed": "1", "rounds_within_leaves": within, "rounds": rounds,
               "figures_crc32": zlib.crc32(records.tobytes()), "nodes_crc32": nodes_crc32(fabric.names)}  # fmt: skip
    document = _document(fabric, "sample", figures)
    (folder / RESULT).write_text(_in_lines(document, ("nodes", "rounds")))


def _write_all(fabric: Fabric, folder: Path) -> None:
    """By the circle method, with an even number of nodes."""
    ring, pairs_of = fabric.nodes - 1, []
    for turn in range(ring):
        steps = np.arange(1, fabric.nodes // 2)
        pairs = np.column_stack([(turn + steps) % ring, (turn - steps) % ring])
        pairs_of.append(np.sort(np.vstack([[turn, ring], pairs]), axis=1))
    _, pairs, there, back = fabric.sweep(pairs_of)
    bandwidth, latency = np.full((2, fabric.nodes, fabric.nodes), np.nan)
    first, second = pairs.T
    bandwidth[first, second], bandwidth[second, first] = there, back
    latency[first, second] = latency[second, first] = 1.9 * np.exp(fabric.rng.normal(0, 0.03, len(pairs)))
    rounds = []
    for number, pairs in enumerate(pairs_of, start=1):
        counts = {"packets_sent": 200_000, "packets_lost": 0, "messages": 1200, "wrong_messages": 0}
        rounds.append({"round": number, "pairs": pairs.tolist(), "idle": None, "seconds": 0.2}
                      | {key: [count] * len(pairs) for key, count in counts.items()})  # fmt: skip
    figures = {"rounds": rounds, "latency_us": _rows(latency), "bandwidth_MBps": _rows(bandwidth)}
    document = _document(fabric, "all", figures)
    (folder / RESULT).write_text(_in_lines(document, ("rounds", "latency_us", "bandwidth_MBps")))


def _rows(matrix: Any) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(f"{value:.6g}") for value in row] for row in matrix]


def _in_lines(document: dict[str, Any], lists: Iterable[str]) -> str:
    """As ``common/run.cpp`` writes it."""
    parts = []
    for key, value in document.items():
        text = ",\n  ".join(map(json.dumps, value)).join(("[\n  ", "]")) if key in lists else json.dumps(value)
        parts.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def pair_sweep_case(folder: Path, switch_of: dict[str, str]) -> RecordedCase:
    """Return the check's result for the output in ``folder``, as in a report; large matrices go into ``matrices``."""
    nodes = len(switch_of)
    check: Any = StandIn(
        PairSweep, matrices={}, hint="", switch_of=switch_of, least_slowdown=1.25, least_loss=0.001, count_packets=True,
        num_nodes_used=nodes, sample_above=SAMPLE_ABOVE, perf_variables=dict.fromkeys(_METRICS), stagedir=folder,
        keep_files=[], provenance={"nodelist": list(switch_of)}, matrix_folder=folder / "matrices",
    )  # fmt: skip
    for name in ("record_per_node", "record_findings", "require_all_nodes"):
        setattr(check, name, getattr(PairSweep, name).__get__(check))
    assert check.read_sample() if check.samples else check.read_all_pairs()
    slowest = float(np.nanmin(check.slower_mbps))
    figures = {"embedded:cpu:slowest_pair_bandwidth": Figure(slowest, 20_000.0, -0.1, None, "MB/s", "fail")}
    more = {"name": "PairSweep %scale=each_node", "parameters": {"scale": "each_node"}}
    evidence = {"matrices": check.matrices, "findings": tuple(check.findings), "suspects": tuple(check.suspects),
                "per_node": check.per_node, "hint": check.hint}  # fmt: skip
    case = recorded_case("PairSweep", "network/pair-sweep", tuple(switch_of), figures, **more, **evidence)
    return msgspec.json.decode(msgspec.json.encode(case), type=RecordedCase)


@dataclass(frozen=True)
class SyntheticPairs:
    """``output_mib``: the program's output. ``beside_mib``: files beside the report."""

    nodes: int
    pairs: int
    output_mib: float
    report_mib: float
    beside_mib: float
    page_mb: float
    steps: dict[str, Took]


def measure(nodes: int, folder: Path, program: Path) -> SyntheticPairs:
    """:raises RuntimeError: a command could not be done; it says why."""
    folder.mkdir(parents=True)
    itself = (sys.executable, "-m", "tests.scale.synthetic_pairs")
    # In a separate process: a process that a large one starts counts as large.
    subprocess.run(
        [*itself, "--write", folder, "--nodes", str(nodes), "--program", program], cwd=REPOSITORY, check=True
    )
    output = sum(path.stat().st_size for path in (folder / RESULT, folder / FIGURES) if path.exists())
    environment = {"PATH": "/usr/bin:/bin", "KAPPA_RESULTS": str(folder), "PYTHONPATH": str(REPOSITORY)}
    report, page, log = folder / "run-report.json", folder / "page.html", folder / "log.txt"
    judged = took([*itself, "--judge", folder], environment, folder, log)
    if judged.status:
        raise RuntimeError(log.read_text()[-3000:])
    steps = {"judge": judged, **reports_took(report, page, environment, folder, log)}
    beside = sum(path.stat().st_size for path in (folder / "matrices").glob("*"))
    pairs = nodes * (nodes - 1) // 2
    if nodes > SAMPLE_ABOVE:
        pairs = (folder / FIGURES).stat().st_size // PAIR.itemsize
    mib = 2**20
    return SyntheticPairs(nodes, pairs, output / mib, report.stat().st_size / mib, beside / mib,
                          page.stat().st_size / 1e6, steps)  # fmt: skip


def _judge(folder: Path) -> None:
    case = pair_sweep_case(folder, json.loads((folder / SWITCHES).read_text()))
    report = replace(large_report(SLOW_NODE, pairs=False), runs=(Run((case,)),))
    (folder / "run-report.json").write_bytes(msgspec.json.encode(report))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--judge", type=Path, metavar="FOLDER", help="what was written there")
    options.add_argument("--write", type=Path, metavar="FOLDER", help="the output of a sweep of --nodes")
    options.add_argument("--nodes", type=int, metavar="N")
    options.add_argument("--program", type=Path, help="kappa-measure, as CMake built it")
    chosen = options.parse_args()
    if chosen.judge:
        _judge(chosen.judge)
    if chosen.write:
        fabric = write_output(chosen.nodes, chosen.write, chosen.program)
        (chosen.write / SWITCHES).write_text(json.dumps(fabric.switch_of))


if __name__ == "__main__":
    main()
