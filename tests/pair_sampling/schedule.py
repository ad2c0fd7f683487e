"""The rounds of a sample of pairs as the program itself has them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.pair_sampling.fabric import Schedule


def schedule_of(program: Path, leaf_of: Sequence[int], rounds: int, seed: int, folder: Path) -> Schedule:
    """By ``kappa-measure pairs --schedule-only``, of nodes on the leaf switches; ``folder`` takes the file of these."""
    leaves = folder / f"leaves-{len(leaf_of)}.txt"
    leaves.write_text("".join(f"{node} leaf{leaf}\n" for node, leaf in enumerate(leaf_of)))
    options = [f"--schedule-only={len(leaf_of)}", f"--rounds={rounds}", f"--seed={seed}", f"--leaves={leaves}"]
    text = subprocess.run([program, "pairs", *options], capture_output=True, text=True, check=True).stdout
    lines = text.replace("-", " ").splitlines()
    return [np.array(line.split(), dtype=np.int64).reshape(-1, 2) for line in lines]
