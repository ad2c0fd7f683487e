"""The identity of the machine: Slurm's and the host's name, and numbers that no two machines share."""

import os
import socket
import time

from kappa.node.files import read


def facts():
    uptime_s = float((read("/proc/uptime") or "0").split()[0])
    return {
        "identity.slurm_name": os.environ.get("SLURMD_NODENAME"),
        "identity.host_name": socket.gethostname().partition(".")[0],
        "identity.machine_id": read("/etc/machine-id") or None,
        "identity.boot_id": read("/proc/sys/kernel/random/boot_id"),
        "identity.booted_s": round(time.time() - uptime_s),
    }
