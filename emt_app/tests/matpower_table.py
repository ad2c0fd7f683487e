"""Print a table of public cases of MATPOWER or PSS/E: import, voltage error after the start, drift, step time.

`matpower_cases.txt` names the cases by their SHA-256. The program looks for them in a folder and downloads nothing.

    python3 emt_app/tests/matpower_table.py FOLDER --emt build/emt
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

LISTED = Path(__file__).with_name("matpower_cases.txt")
#: Options of the import: the first that succeed count. Published voltages have few digits, so each case is solved.
WAYS: dict[str, list[str]] = {
    "solved": ["--solve"],
    "solved without limits": ["--solve", "--reactive-limits", "ignore"],
}
ERROR = re.compile(r"voltages after the start, lines as (\w+): at most (\S+) per unit off")
TARGET_V, TARGET_DRIFT = 1e-8, 1e-9


@dataclass
class Row:
    """One case; errors and drift are per unit, times in microseconds, None if not measured."""

    sha: str
    nodes: int | None = None
    way: str = "not found"
    pi: float | None = None
    waves: float | None = None
    drift: float | None = None
    step_us: float | None = None

    def good(self) -> bool:
        return self.pi is not None and self.pi < TARGET_V and self.drift is not None and self.drift < TARGET_DRIFT

    def cells(self) -> list[str]:
        def small(x: float | None) -> str:
            return "" if x is None else f"{x:.1e}"

        step = "" if self.step_us is None else f"{self.step_us:.2f}"
        numbers = [small(self.pi), small(self.waves), small(self.drift), step]
        return [self.sha[:12], str(self.nodes or ""), self.way, *numbers]


class Maker:
    """Make rows with a program: simulate `seconds`, and stop each of its runs after `patience_s`."""

    def __init__(self, program: Path, seconds: float, patience_s: float) -> None:
        self._program, self._seconds, self._patience_s = program, seconds, patience_s

    def row(self, sha: str, source: Path) -> Row:
        row = Row(sha)
        with tempfile.TemporaryDirectory() as folder:
            case = Path(folder) / "case.json"
            for way, words in WAYS.items():
                told = self._run("import", source, "-o", case, "--lines", "pi", *words)
                if told is not None and told.returncode == 0:
                    row.way = way
                    self._imported(told.stdout, row)
                    self._simulate(case, Path(folder), row)
                    break
                why = told.stderr.strip().splitlines()[0] if told and told.stderr else "took too long"
                row.way = "refused: " + why.replace("emt: error: ", "").replace(str(source), "the case")
        return row

    @staticmethod
    def _imported(told: str, row: Row) -> None:
        errors = {lines: float(error) for lines, error in ERROR.findall(told)}
        row.pi, row.waves = errors.get("pi"), errors.get("waves")
        row.nodes = int(told.partition(": ")[2].split()[0])

    def _simulate(self, case: Path, folder: Path, row: Row) -> None:
        shown, result = folder / "v.csv", folder / "result.json"
        every = max(1, round(self._seconds / json.loads(case.read_text())["dt"]))
        probes: list[str | Path] = ["--every", str(every), "--probe", "B*.[abc]", "--csv", shown]
        told = self._run("run", case, "--no-replay", "--time", str(self._seconds), *probes, "--result", result)
        if told is None or told.returncode != 0:
            row.way += ", does not run"
            return
        with shown.open(newline="") as file:
            _, first, *_, last = csv.reader(file)
        before, after = [float(x) for x in first[1:]], [float(x) for x in last[1:]]
        # The phases of a bus follow each other: two of three squares in its amplitude.
        amplitude = [sum(v * v for v in before[3 * (i // 3) : 3 * (i // 3) + 3]) / 1.5 for i in range(len(before))]
        row.drift = max(abs(a - b) / square**0.5 for a, b, square in zip(after, before, amplitude, strict=True))
        row.step_us = json.loads(result.read_text())["step_us"]["p50"]

    def _run(self, *words: str | Path) -> subprocess.CompletedProcess[str] | None:
        environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = [str(self._program), *map(str, words)]
        try:
            return subprocess.run(
                command, capture_output=True, text=True, timeout=self._patience_s, env=environment, check=False
            )
        except subprocess.TimeoutExpired:
            return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="in which the cases are looked for")
    parser.add_argument("--emt", type=Path, default=Path("build/emt"), help="the program")
    parser.add_argument("--seconds", type=float, default=1, help="simulated; whole periods of 60 Hz")
    parser.add_argument("--patience", type=float, default=3600, help="seconds for each run of the program")
    parser.add_argument("--all", action="store_true", help="every .m and .raw of the folder, not only those listed")
    given = parser.parse_args()
    paths = sorted(path for path in given.folder.rglob("*") if path.suffix.lower() in {".m", ".raw"})
    found = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in paths}
    listed = [line for line in LISTED.read_text().split("\n") if line and not line.startswith("#")]
    maker = Maker(given.emt.resolve(), given.seconds, given.patience)
    print("| SHA-256 | nodes | imported | voltage error, pi | waves | drift | step, us |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for sha in found if given.all else listed:
        rows.append(maker.row(sha, found[sha]) if sha in found else Row(sha))
        print("| " + " | ".join(rows[-1].cells()) + " |", flush=True)
    present = [row for row in rows if row.way != "not found"]
    imported = [row for row in present if row.nodes]
    good = sum(row.good() for row in rows)
    print(f"\n{len(present)} of {len(rows)} cases found, {len(imported)} imported, {good} with a voltage error below")
    print(f"{TARGET_V:.0e} and a drift below {TARGET_DRIFT:.0e} per unit in {given.seconds:g} s")


if __name__ == "__main__":
    main()
