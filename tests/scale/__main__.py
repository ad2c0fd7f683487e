"""How the suite's own time and memory grow with the nodes: ``python -m tests.scale`` prints docs/scaling.md's tables.

``make scale-table`` writes them. The light embedded cluster gives real Slurm nodes; one check runs on each of them. The
suite's own writer of reports makes larger runs, and the output of PairSweep, too.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.programs import built
from tests.scale import real, synthetic, synthetic_pairs
from tests.scale.processes import Took
from tests.tables import Place

# Steps in the order of the table's columns; of few nodes some are left out.
OF_REAL = ("verdict", "html", "pdf", "ingest", "history", "localise", "drain", "return", "night")


def cell(took: Took) -> str:
    return f"{took.wall_s:.1f} s ({took.cpu_s:.1f}), {took.peak_mib:.0f} MiB"


def calls(one: real.Real, counts: Callable[[str], bool]) -> str:
    """How many commands of Slurm, and how long they took together."""
    took_s = [seconds for name, seconds in one.calls if counts(name)]
    return f"{len(took_s)} in {sum(took_s):.2f} s"


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def real_table(found: Sequence[real.Real]) -> list[str]:
    head = ["nodes", "cluster up", "plan", "session", "Kappa's CPU time per check", "submitted by `sbatch`",
            "polled by `sacct`", "`squeue` and others", "verdict", "HTML", "PDF by Chromium", "into the history",
            "history judged", "bad nodes named", "drained", "resumed", "night", "down"]  # fmt: skip
    lines = [row(*head), row(*["---:"] * len(head))]
    for one in found:
        steps = one.steps
        lines.append(
            row(
                one.nodes, f"{steps['up'].wall_s:.1f} s", cell(steps["plan"]), cell(steps["session"]),
                f"{steps['session'].cpu_s / one.nodes:.3f} s",
                calls(one, lambda name: name == "sbatch"), calls(one, lambda name: name == "sacct"),
                calls(one, lambda name: name not in ("sbatch", "sacct")),
                *(cell(steps[name]) if name in steps else "–" for name in OF_REAL),
                f"{steps['down'].wall_s:.1f} s",
            )
        )  # fmt: skip
    return lines


def synthetic_table(found: Sequence[synthetic.Synthetic]) -> list[str]:
    head = ["nodes", "report", "slow node named", "verdict", "HTML", "page", "opens: first paint, loaded",
            "PDF by Chromium", "into the history", "history judged"]  # fmt: skip
    lines = [row(*head), row(*["---:"] * len(head))]
    for one in found:
        cells = {name: cell(took) for name, took in one.steps.items()}
        opens = f"{one.opened.first_paint_s:.1f} s, {one.opened.load_s:.1f} s" if one.opened else "no Chromium"
        lines.append(
            row(one.nodes, f"{one.report_mib:.0f} MiB", cells["localise"], cells["verdict"], cells["html"],
                f"{one.page_mb:.1f} MB", opens, cells.get("pdf", "no Chromium"), cells["ingest"], cells["history"])
        )  # fmt: skip
    return lines


def pairs_table(found: Sequence[synthetic_pairs.SyntheticPairs]) -> list[str]:
    head = ["nodes", "pairs", "output", "check judged", "report", "matrices", "verdict", "HTML", "page",
            "into the history", "history judged"]  # fmt: skip
    lines = [row(*head), row(*["---:"] * len(head))]
    for one in found:
        cells = {name: cell(took) for name, took in one.steps.items()}
        lines.append(
            row(one.nodes, one.pairs, f"{one.output_mib:.0f} MiB", cells["judge"], f"{one.report_mib:.1f} MiB",
                f"{one.beside_mib:.1f} MiB", cells["verdict"], cells["html"], f"{one.page_mb:.1f} MB", cells["ingest"],
                cells["history"])
        )  # fmt: skip
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--real", type=int, nargs="*", default=[4, 32, 128, 512], metavar="N")
    options.add_argument("--synthetic", type=int, nargs="*", default=[512, 2000, 10000], metavar="N")
    options.add_argument("--pairs", type=int, nargs="*", default=[512, 2000, 10000], metavar="N")
    options.add_argument("--page", type=Path, help="write the tables into this page")
    chosen = options.parse_args()
    tables = {}
    with tempfile.TemporaryDirectory(prefix="kappa-scale-") as folder:
        program = built("release/kappa-measure") / "kappa-measure" if chosen.pairs else None
        pairs = partial(synthetic_pairs.measure, program=program)
        for name, sizes, measure, table in (
            ("real nodes", chosen.real, real.measure, real_table),
            ("synthetic results", chosen.synthetic, synthetic.measure, synthetic_table),
            ("pairs of nodes", chosen.pairs, pairs, pairs_table),
        ):
            found = []
            for nodes in sizes:
                print(f"{name}: {nodes}", file=sys.stderr, flush=True)
                found.append(measure(nodes, Path(folder, f"{name.split()[0]}-{nodes}")))
                tables[name] = table(found)
                print(tables[name][-1], file=sys.stderr, flush=True)
            print("\n".join(tables.get(name, ())), flush=True)
    if chosen.page:
        for name, lines in tables.items():
            Place(f"<!-- {name} -->", f"<!-- end of {name} -->").write(chosen.page, "\n".join(lines))


if __name__ == "__main__":
    main()
