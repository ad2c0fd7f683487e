"""How large a run's page is, how fast it is made, how many sheets it fills: ``python -m tests.benchmarks.pages``.

The run is made of the recorded one: checks of a whole partition have figures of every node, and of every pair; three
checks run on each node alone, as ``--distribute=all`` makes them. One node computes everything 45 % slower.
"""

import argparse
import io
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pypdf
from msgspec.structs import replace

from kappa.core.record.evidence import Figure, Finding, Matrix, PerNode, ReferenceSource
from kappa.core.record.reframe_report import RecordedCase, Report, Run
from tests.benchmarks.history import timed
from tests.integration.browser import without_policy

RECORDED = pathlib.Path(__file__).parents[1] / "data/reports/campaign.json"
SLOW, SLOW_NODE = 0.55, 300
NOISE = 0.01
LEARNED = ReferenceSource("learned", "2026-11-01", 24, "median of 24 nights", 0.08, 0.03)
# The healthy figure of a node in each metric, with its unit and the lowest share of it that is allowed.
SWEEPS = {
    "NodeSweep": ("compute/node-sweep", {"triad": (195_000.0, "MB/s"), "multiply_add": (2400.0, "Gflop/s")}),
    "NodeScratch": ("storage/node-scratch", {"write": (1900.0, "MB/s"), "read": (3100.0, "MB/s")}),
    "NodeLinks": ("network/node-links", {"bandwidth_1MiB": (24_000.0, "MB/s")}),
}
EACH_NODE = {
    "Stream": ("compute/stream", {"triad": (195_000.0, "MB/s")}),
    "Hpl": ("compute/hpl", {"gflops": (2900.0, "Gflop/s"), "fraction_of_peak": (0.8, "")}),
    "OsuBandwidth": ("network/osu-pt2pt", {"bandwidth_8B": (21.0, "MB/s"), "bandwidth_1MiB": (14_000.0, "MB/s")}),
}
LOWEST = 0.9
# The slow node is slow in these; its disk and links are normal.
COMPUTES = ("NodeSweep", "Stream", "Hpl")


def large_report(nodes: int, seed: int = 1, pairs: bool = True) -> Report:
    """A run of a partition ``cpu`` of so many nodes, named ``node0001`` on; ``SLOW_NODE`` computes ``SLOW`` as fast.

    :param pairs: with figures of every pair, which grow with the square of the nodes.
    """
    rng = np.random.default_rng(seed)
    recorded = msgspec.json.decode(RECORDED.read_bytes(), type=Report)
    names = tuple(f"node{number:04}" for number in range(1, nodes + 1))
    # The builds and checks of a few ranks, as they were recorded, on the first nodes.
    few = [_renamed(case) for case in recorded.runs[0].testcases if case.check_class not in {*SWEEPS, *EACH_NODE}]
    sweeps = [_sweep(check, family, metrics, names, rng) for check, (family, metrics) in SWEEPS.items()]
    single = [
        _single(check, family, metrics, names, number, rng)
        for check, (family, metrics) in EACH_NODE.items()
        for number in range(nodes)
    ]
    info = replace(recorded.session_info, user="operator", hostname="login1", command_line="reframe -r")
    return Report(info, (Run((*few, *sweeps, *([_pairs(names, rng)] if pairs else []), *single)),))


def slow_node(names: Sequence[str]) -> str:
    return names[SLOW_NODE - 1]


def _renamed(case: RecordedCase) -> RecordedCase:
    """With the numbers of its nodes as wide as those of the large partition."""
    nodes = tuple(f"node{int(node[-1]):04}" if node.startswith("node") else node for node in case.job_nodelist or ())
    return replace(case, job_nodelist=nodes, provenance=replace(case.provenance, nodelist=nodes))


def _slowed(check: str, number: int) -> float:
    return SLOW if number == SLOW_NODE - 1 and check in COMPUTES else 1.0


def recorded_case(
    check: str, family: str, nodes: tuple[str, ...], figures: dict[str, Figure], **more: object
) -> RecordedCase:
    failed = any(figure.result == "fail" for figure in figures.values())
    return RecordedCase(
        **{
            "name": check,
            "display_name": check,
            "system": "embedded",
            "partition": "cpu",
            "environ": "packaged",
            "result": "fail" if failed else "pass",
            "fail_phase": "performance" if failed else None,
            "job_nodelist": nodes,
            "job": "4711",
            "job_stdout": "rfm_job.out",
            "outputdir": f"results/output/{check}",
            "stagedir": f"results/stage/{check}",
            "run_time_s": 12.0,
            "check_class": check,
            "family": family,
            "partition_size": len(nodes),
            "declared_metrics": tuple(key.rpartition(":")[2] for key in figures),
            "reference_sources": {key.rpartition(":")[2]: LEARNED for key in figures},
            "perfvalues": figures,
            **more,
        }
    )


def _figure(value: float, healthy: float, unit: str) -> Figure:
    return Figure(value, healthy, LOWEST - 1, None, unit, "pass" if value >= LOWEST * healthy else "fail")


def _sweep(check: str, family: str, metrics: dict[str, tuple[float, str]], nodes: tuple[str, ...],
           rng: np.random.Generator) -> RecordedCase:  # fmt: skip
    per_node = {
        metric: PerNode(unit, {node: float(healthy * _slowed(check, number) * rng.normal(1, NOISE))
                               for number, node in enumerate(nodes)})
        for metric, (healthy, unit) in metrics.items()
    }  # fmt: skip
    figures = {}
    for metric, (healthy, unit) in metrics.items():
        values = per_node[metric].values.values()
        figures[f"embedded:cpu:slowest_node_{metric}"] = _figure(min(values), healthy, unit)
    slow = (nodes[SLOW_NODE - 1],) if check in COMPUTES else ()
    found = [Finding("node", node, slow, "triad", 45.0, 1 / SLOW, "1.82 times slower than the median node")
             for node in slow]  # fmt: skip
    more = {"name": f"{check} %scale=each_node", "parameters": {"scale": "each_node"}}
    return recorded_case(check, family, nodes, figures, per_node=per_node, suspects=slow, findings=tuple(found), **more)


def _pairs(nodes: tuple[str, ...], rng: np.random.Generator) -> RecordedCase:
    matrices, figures = {}, {}
    for name, unit, healthy in (("latency", "us", 1.9), ("bandwidth", "MB/s", 24_000.0)):
        values = healthy * rng.normal(1, 3 * NOISE, (len(nodes), len(nodes)))
        rows = tuple(tuple(None if i == j else float(value) for j, value in enumerate(row))
                     for i, row in enumerate(values))  # fmt: skip
        matrices[name] = Matrix(unit, nodes, rows)
    figures["embedded:cpu:worst_bandwidth"] = Figure(21_000.0, 20_000.0, 0, None, "MB/s", "pass")
    more = {"name": "PairSweep %scale=each_node", "parameters": {"scale": "each_node"}}
    return recorded_case("PairSweep", "network/pair-sweep", nodes, figures, matrices=matrices, **more)


def _single(check: str, family: str, metrics: dict[str, tuple[float, str]], nodes: tuple[str, ...], number: int,
            rng: np.random.Generator) -> RecordedCase:  # fmt: skip
    figures = {
        f"embedded:cpu:{metric}": _figure(float(healthy * _slowed(check, number) * rng.normal(1, NOISE)), healthy, unit)
        for metric, (healthy, unit) in metrics.items()
    }
    scale = f"{check} %scale=one_node"
    more = {"name": scale, "display_name": f"{scale} %.nid={nodes[number]}", "parameters": {"scale": "one_node"}}
    ran = {"job": str(5000 + number), "partition_size": len(nodes)}
    return recorded_case(check, family, (nodes[number],), figures, **more, **ran)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--nodes", type=int, default=512)
    options.add_argument("-o", "--output", type=pathlib.Path, help="keep the page here")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "run-report.json").write_bytes(msgspec.json.encode(large_report(chosen.nodes)))
        page = folder / "page.html"
        site = pathlib.Path(__file__).parents[2] / "site_configs/embedded"
        timed("page", name, "show", "--format=page", "run-report.json", "--site", str(site), "-o", str(page))
        print(f"{page.stat().st_size / 1e6:.2f} MB")
        if chromium := shutil.which("chromium"):
            print(f"{sheets(chromium, page)} sheets of A4")
            seen = opened(chromium, page)
            print(f"opens: something is seen after {seen.first_paint_s:.2f} s, all after {seen.load_s:.2f} s")
        if chosen.output:
            shutil.copyfile(page, chosen.output)


def sheets(chromium: str, page: pathlib.Path) -> int:
    """How many sheets of A4 Chromium prints the page on."""
    subprocess.run(print_command(chromium, page), check=True, capture_output=True)
    return len(pypdf.PdfReader(io.BytesIO(page.with_suffix(".pdf").read_bytes())).pages)


@dataclass(frozen=True)
class Opened:
    """Seconds after the browser began to read the page: something is seen, and all is there (``load``)."""

    first_paint_s: float
    load_s: float


_TELLS = """<script>addEventListener("load", () => requestAnimationFrame(() => setTimeout(() => {
  const [page] = performance.getEntriesByType("navigation");
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  console.log("opened " + JSON.stringify([paint.startTime, page.loadEventEnd]) + " ms");
}, 0)));</script>"""


def opened(chromium: str, page: pathlib.Path) -> Opened:
    """How long Chromium takes to open the page from a file.

    :raises RuntimeError: it did not say so.
    """
    with tempfile.TemporaryDirectory() as folder:
        told = pathlib.Path(folder, "page.html")
        told.write_text(without_policy(page.read_text(encoding="utf-8")) + _TELLS, encoding="utf-8")
        done = subprocess.run(
            [
                chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--timeout=60000",
                "--enable-logging=stderr", f"--user-data-dir={folder}/profile", f"--screenshot={folder}/seen.png",
                told.as_uri(),
            ],
            capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
    found = re.search(r"opened (\[.*\]) ms", done.stderr)
    if not found:
        raise RuntimeError(f"Chromium: {done.stderr[-3000:]}")
    first_paint_ms, load_ms = json.loads(found[1])
    return Opened(first_paint_ms / 1000, load_ms / 1000)


def print_command(chromium: str, page: pathlib.Path) -> list[str]:
    """Has Chromium print the page into a PDF beside it."""
    return [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000",
        f"--user-data-dir={page.parent / 'profile'}", "--no-pdf-header-footer",
        f"--print-to-pdf={page.with_suffix('.pdf')}", page.as_uri(),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
