"""The kernel's options, drivers, time zone and the boost of the cores."""

import os
import re
import socket

from kappa.node.files import entries, number, read

CPUS = "/sys/devices/system/cpu"
# Drivers that jobs use: adapters, GPUs, parallel file systems, shared memory of MPI.
MODULES = (
    "mlx5_core", "mlx5_ib", "ib_core", "hfi1", "irdma", "bnxt_en", "ice", "efa", "nvidia", "nvidia_peermem", "gdrdrv",
    "amdgpu", "lustre", "lnet", "ko2iblnd", "mmfs26", "beegfs", "knem", "xpmem",
)  # fmt: skip
# Words of the kernel's command line that differ between nodes: by their key, or by a UUID or address in them.
OWN_WORD = re.compile(
    r"(?:root|rootflags|resume|initrd|BOOT_IMAGE|BOOTIF|MAC|ip|ifname|bootdev|nfsroot|netroot|nfsaddrs|wwid|hostname|"
    r"systemd\.(?:hostname|machine_id)|rd\.(?:luks|lvm|md|iscsi|znet)\..*)=.*"
    r"|.*(?:UUID=|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|\d+(?:\.\d+){3}).*",
    re.IGNORECASE,
)


def modules():
    """Yield version and options of the drivers."""
    for name in MODULES:
        folder = os.path.join("/sys/module", name)
        if not os.path.isdir(folder):
            continue
        yield f"module.{name}.version", read(folder, "version") or read(folder, "srcversion")
        values = (
            (option, read(folder, "parameters", option)) for option in entries(os.path.join(folder, "parameters"))
        )
        yield f"module.{name}.options", " ".join("{}={}".format(*pair) for pair in values if pair[1] is not None)


def options():
    return options_alike(read("/proc/cmdline"))


def options_alike(command_line):
    """Return the kernel's options without those of a single node."""
    if command_line is None:
        return None
    name = socket.gethostname().partition(".")[0]
    words = command_line.split()
    return " ".join(word for word in words if not OWN_WORD.fullmatch(word) and name not in re.split(r"[^\w-]", word))


def time_zone():
    zone = os.path.realpath("/etc/localtime")
    linked = zone.rpartition("zoneinfo/")[2] if "zoneinfo/" in zone else None
    return os.environ.get("TZ") or read("/etc/timezone") or linked


def boost():
    """Return "1" if cores may exceed their base frequency, "0" if not, by the driver that the kernel uses."""
    off = number(CPUS, "intel_pstate/no_turbo")
    return read(CPUS, "cpufreq/boost") or (None if off is None else str(1 - off))
