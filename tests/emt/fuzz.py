"""``make fuzz``: ``emt check`` and ``emt run`` with cases that a coverage-guided fuzzer makes.

The program is ``emt_app/tests/fuzz_case.cpp``. It begins with the teaching cases and with random networks of all
elements. An input that crashes, hangs or violates a sanitizer stays below ``artifacts`` in the folder. libFuzzer stops
at the first one, and gives the exit status.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .random_networks import random_case

ROOT = Path(__file__).resolve().parents[2]
NETWORKS = 300
#: Small cases are quick: some dozens a second.
LONGEST_SEED_BYTES, LONGEST_CASE_BYTES = 14000, 20000


def _build(folder: Path) -> Path:
    if shutil.which("clang++") is None:
        sys.exit("fuzz: clang++ is not there (Debian: clang)")
    options = ["-DEMT_FUZZ=ON", "-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    subprocess.run(["cmake", "-S", ROOT / "emt_app", "-B", folder, *options], check=True)
    subprocess.run(["cmake", "--build", folder, "-j", str(os.cpu_count() or 1)], check=True)
    return folder / "emt_fuzz"


def _write_seeds(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for case in (ROOT / "emt_app/cases").glob("*.json"):
        shutil.copy(case, folder / case.name)
    for seed in range(NETWORKS):
        if len(text := json.dumps(random_case(seed))) <= LONGEST_SEED_BYTES:
            (folder / f"random_{seed}.json").write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.emt.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=3600, help="how long to fuzz (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the mutations (default: %(default)s)")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / ".kappa/fuzz", help="build, corpus and findings (default: .kappa/fuzz)"
    )
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    program = _build(folder / "build")
    _write_seeds(folder / "seeds")
    for name in ("corpus", "artifacts"):
        (folder / name).mkdir(exist_ok=True)
    arguments = [f"-max_total_time={options.seconds}", f"-seed={options.seed}", "-print_final_stats=1"]
    arguments += ["-timeout=20", "-rss_limit_mb=4096", f"-max_len={LONGEST_CASE_BYTES}"]
    arguments += [f"-artifact_prefix={folder}/artifacts/", f"{folder}/corpus", f"{folder}/seeds"]
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment = os.environ | as_root | {"ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([program, *arguments], env=environment, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
