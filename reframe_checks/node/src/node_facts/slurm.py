"""What Slurm believes of the node: CPUTot, RealMemory and CurrentWatts of `scontrol show node`."""

import os
import subprocess

from node_facts.files import first

ANSWER_SECONDS = 10


def facts():
    node = os.environ.get("SLURMD_NODENAME")
    answer = shown(node) if node else None
    keys = {"slurm.cpus": "CPUTot", "slurm.memory_mib": "RealMemory", "slurm.power_w": "CurrentWatts"}
    found = {name: first(rf"\b{key}=(\d+)\b", answer) for name, key in keys.items()}
    # Where Slurm does not account for energy it says n/s, or 0.
    return {name: (value and int(value)) or None for name, value in found.items()}


def shown(node):
    try:
        done = subprocess.run(
            ["scontrol", "show", "node", node, "-o"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=ANSWER_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace")
