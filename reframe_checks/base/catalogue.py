"""The catalogue of checks in the README, made from what ReFrame says of the suite.

Usage: ``python -m reframe_checks.base.catalogue [README]`` rewrites the table between the two marker lines of the
file (``make catalogue``); with ``--check`` it only says, by exit status 1, that the table is out of date.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

from kappa.ground.whole_files import write_atomically

SUITE = pathlib.Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- catalogue: make catalogue -->", "<!-- end of catalogue -->"
HEADER = ("check", "what it validates", "metrics", "needs of a partition", "needs of an environment", "a case takes")


def described_cases() -> list[dict]:
    """Every case of the suite as ``reframe --describe`` gives it, whatever a site offers."""
    reframe = pathlib.Path(sysconfig.get_path("scripts"), "reframe")
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            [
                str(reframe), "-c", str(SUITE), "-R", "--prefix", elsewhere, "--describe",
                "--skip-system-check", "--skip-prgenv-check",
            ],
            cwd=elsewhere, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0 or not done.stdout.startswith("["):
        raise RuntimeError(f"reframe --describe failed: {done.stderr or done.stdout}")
    return [case for case in json.loads(done.stdout) if case.get("check_class")]


def rows(cases: list[dict]) -> list[tuple[str, ...]]:
    """A row for each class, sorted by family: cells as in ``HEADER``."""
    by_class: dict[str, list[dict]] = {}
    for case in cases:
        by_class.setdefault(case["@class"], []).append(case)
    table = []
    for name, group in by_class.items():
        units = {metric: unit for case in group for metric, unit in case["metric_units"].items()}
        metrics = (f"`{metric}` {unit}".strip() for metric, unit in units.items())
        needs = (sorted({need for case in group for need in case[key]}) for key in ("needs_partition", "needs_environ"))
        ticked = (", ".join(f"`{feature}`" for feature in need) for need in needs)
        row = (f"`{name}`", group[0]["descr"], ", ".join(metrics), *ticked, duration(group[0]))
        table.append((group[0]["family"], row))
    return [row for _, row in sorted(table)]


def duration(case: dict) -> str:
    """What a case takes, as the table shows it; ``≈`` marks an estimate."""
    measured_s, estimated_s = case["measured_s"], case["estimated_s"]
    return f"{measured_s:g} s" if measured_s else f"≈ {estimated_s:g} s"


def as_markdown(table: list[tuple[str, ...]]) -> str:
    lines = [HEADER, ("---",) * len(HEADER), *(tuple(cell.replace("|", r"\|") for cell in row) for row in table)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def with_table(text: str, table: str) -> str:
    """``text`` with what stands between the markers replaced.

    :raises ValueError: the markers are not there, once each and in order.
    """
    head, begin, rest = text.partition(BEGIN + "\n")
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"expected the lines `{BEGIN}` and `{END}`")
    return head + begin + table + "\n" + end + tail


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readme", nargs="?", type=pathlib.Path, default=SUITE.parent / "README.md")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when the table is out of date")
    options = parser.parse_args()
    text = options.readme.read_text(encoding="utf-8")
    try:
        wanted = with_table(text, as_markdown(rows(described_cases())))
    except ValueError as err:
        sys.exit(f"{options.readme}: {err}")
    if wanted == text:
        return 0
    if options.check:
        sys.exit(f"{options.readme}: the catalogue is out of date: run `make catalogue`")
    write_atomically(options.readme, wanted, 0o644)
    return 0


if __name__ == "__main__":
    sys.exit(main())
