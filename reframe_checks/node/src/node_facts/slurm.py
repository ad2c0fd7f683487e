"""What Slurm believes of the node: CPUTot, RealMemory and Gres of `scontrol show node`."""

import os
import re
import subprocess

ANSWER_SECONDS = 10


def facts():
    node = os.environ.get("SLURMD_NODENAME")
    answer = shown(node) if node else None
    if answer is None:
        return {"slurm.cpus": None, "slurm.memory_mib": None}
    return {
        "slurm.cpus": number(r"\bCPUTot=(\d+)\b", answer),
        "slurm.memory_mib": number(r"\bRealMemory=(\d+)\b", answer),
    }


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


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else None
