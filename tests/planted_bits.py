"""How many of single flipped bits are seen, and the right core or pair named: ``python -m tests.planted_bits``.

Half of the trials in `bits` of kappa-measure, which has three works, a quarter each in the EMT application and in
messages of `pairs`; a quarter as many again in the kernels of `node`, which know their right result. Each trial flips
one bit of 64 at a random instant in data that is still needed; the programs define this data. The suite's own parsers
and localisation name the place. The programs that the checks run contain no fault.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator

from reframe_checks.localise.bits import judge
from reframe_checks.localise.messages import suspects_of_payloads
from reframe_checks.parsers import core_programs, pair_sweep
from tests.mpi_environment import MPI_ENVIRONMENT
from tests.programs import built

RANKS = 3
# Ranks that take themselves for nodes.
LAUNCH = ["mpirun", "-n", str(RANKS), "sh", "-c", 'SLURMD_NODENAME=node$OMPI_COMM_WORLD_RANK exec "$0" "$@"']
ENVIRONMENT = os.environ | MPI_ENVIRONMENT
OUTPUT = "pairs.json"
SHORT = [
    "pairs", f"--output={OUTPUT}", "--round-trips=5", "--repeats=2", "--window=2", "--bandwidth-bytes=65536",
    "--block-bytes=4096",
]  # fmt: skip

#: The planted fault, whether any check saw it, and whether the check named only the right place.
Outcome = tuple[str, bool, bool]


def run(*command: str | pathlib.Path, cwd: pathlib.Path, **variables: str) -> str:
    """Standard error of the command, which has to succeed."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=ENVIRONMENT | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def planted_bits(program: pathlib.Path, trials: int, seed: int, folder: pathlib.Path) -> Iterator[Outcome]:
    """Run trials of ``kappa-measure-planted-bits`` and ``emt_planted``."""
    of_emt = program.name == "emt_planted"
    read = core_programs.EmtAlikeResult.read if of_emt else core_programs.BitSweepResult.read
    launch = [] if of_emt else LAUNCH
    run(*launch, program, str(trials), str(seed), cwd=folder)
    for trial in json.loads((folder / "planted.json").read_text(encoding="utf-8"))["trials"]:
        planted = trial["planted"]
        sweep = read(json.dumps(trial["result"], indent=1) + "\n")
        judgement = judge(sweep.bits, sweep.variant, {})
        named = [(finding.name, finding.evidence) for finding in judgement.findings]
        right = [(planted["node"], f"core {planted['core']} in 1 of 1 rounds")]
        yield f"{planted['work']}, {planted['what']}", bool(named or judgement.unplaced), named == right


def planted_payloads(program: pathlib.Path, trials: int, seed: int, folder: pathlib.Path) -> Iterator[Outcome]:
    """Run trials of ``kappa-measure-planted-receiver``."""
    draw = random.Random(seed)
    healthy = run(*LAUNCH, program, *SHORT, cwd=folder)
    received = {int(rank): int(count) for rank, count in re.findall(r"received (\d) (\d+)", healthy)}
    assert len(received) == RANKS
    while trials > 0:
        rank = draw.randrange(RANKS)
        plan = f"{rank} {draw.randrange(received[rank])} {draw.randrange(1 << 16)} {draw.randrange(8)}"
        told = re.search(r"planted ([\w-]+) (\d) (\d)", run(*LAUNCH, program, *SHORT, cwd=folder, PLANTED=plan))
        if told is None:
            continue  # a busy link sends fewer messages, and nothing was flipped
        trials -= 1
        sweep = pair_sweep.PairSweepResult.read((folder / OUTPUT).read_text(encoding="utf-8"))
        findings = suspects_of_payloads(sweep.nodes, sweep.payloads, sweep.collectives)
        operation, sender, receiver = told[1], f"node{told[2]}", f"node{told[3]}"
        direct = operation in ("pair", "all-to-all")
        right = [tuple(sorted((sender, receiver))) if direct else (receiver,)]
        yield f"message, {operation}", bool(findings), [finding.nodes for finding in findings] == right


def planted_kernels(program: pathlib.Path, trials: int, seed: int, folder: pathlib.Path) -> Iterator[Outcome]:
    """Run trials of ``kappa-measure-planted-kernels``, whose cores report their own wrong results."""
    done = subprocess.run([program, str(trials), str(seed)], cwd=folder, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        kernel, core, _, *wrong = line.split()
        yield f"node, {kernel}", bool(wrong), wrong == [core]


def table(outcomes: list[Outcome]) -> str:
    lines = ["| flipped in | trials | seen | right one named, no other |", "|---|---|---|---|"]
    of_kind = {kind: [o for o in outcomes if o[0] == kind] for kind in sorted(Counter(o[0] for o in outcomes))}
    for kind, some in {**of_kind, "**all**": outcomes}.items():
        lines.append(f"| {kind} | {len(some)} | {sum(o[1] for o in some)} | {sum(o[2] for o in some)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.planted_bits", description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    quarter = options.trials // 4
    measure = built("measure")
    bits, pairs, kernels = (measure / f"kappa-measure-planted-{name}" for name in ("bits", "receiver", "kernels"))
    emt = built("emt") / "tests/emt_planted"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        outcomes = [
            *planted_bits(bits, options.trials - 2 * quarter, options.seed, folder),
            *planted_bits(emt, quarter, options.seed, folder),
            *planted_payloads(pairs, quarter, options.seed, folder),
            *planted_kernels(kernels, quarter, options.seed, folder),
        ]
    print(table(outcomes))
    return 0 if sum(named for _, _, named in outcomes) >= 0.99 * len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
