"""What Slurm believes of the node: CPUTot and RealMemory of `scontrol show node`."""

import os
import subprocess

from node_facts.files import first

ANSWER_SECONDS = 10


def facts():
    node = os.environ.get("SLURMD_NODENAME")
    answer = shown(node) if node else None
    cpus, memory_mib = (first(rf"\b{key}=(\d+)\b", answer) for key in ("CPUTot", "RealMemory"))
    return {"slurm.cpus": cpus and int(cpus), "slurm.memory_mib": memory_mib and int(memory_mib)}


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
