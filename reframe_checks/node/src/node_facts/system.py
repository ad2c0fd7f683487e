"""Kernel, firmware, drivers and their options, and the settings of the cores."""

import glob
import os
import re
import socket

from node_facts.files import entries, first, number, read

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


def facts():
    return dict([*general(), *modules()])


def general():
    yield "kernel.release", os.uname().release
    yield "kernel.command_line", read("/proc/cmdline")
    yield "kernel.options", options_alike(read("/proc/cmdline"))
    yield "kernel.tainted", number("/proc/sys/kernel/tainted")
    yield "system.release", first(r'^PRETTY_NAME="?([^"\n]+)', read("/etc/os-release"))
    yield "system.time_zone", os.environ.get("TZ") or read("/etc/timezone") or zone_file()
    yield "firmware.version", read("/sys/class/dmi/id/bios_version")
    yield "firmware.date", read("/sys/class/dmi/id/bios_date")
    yield "cpu.microcode", first(r"^microcode\s*:\s*(\S+)", read("/proc/cpuinfo"))
    yield "cpu.model", first(r"^(?:model name|Model|cpu)\s*:\s*(.+)$", read("/proc/cpuinfo"))
    yield "cpu.online", read(CPUS, "online")
    yield "cpu.count", os.sysconf("SC_NPROCESSORS_ONLN")
    yield "cpu.usable", len(os.sched_getaffinity(0))
    yield "cpu.sockets", distinct(CPUS + "/cpu[0-9]*/topology/physical_package_id")
    yield "cpu.numa_domains", read("/sys/devices/system/node/online")
    yield "cpu.governor", distinct(CPUS + "/cpu[0-9]*/cpufreq/scaling_governor")
    yield "cpu.highest_khz", distinct(CPUS + "/cpu[0-9]*/cpufreq/scaling_max_freq")
    yield "cpu.base_khz", number(CPUS, "cpu0/cpufreq/base_frequency")
    yield "cpu.boost", read(CPUS, "cpufreq/boost") or no_turbo()
    yield "cpu.smt", read(CPUS, "smt/control")


def for_survey():
    """Return the facts that describe a site."""
    return {name: value for name, value in general() if name in ("system.release", "cpu.base_khz")}


def options_alike(command_line):
    """Return the kernel's options without those of a single node."""
    if command_line is None:
        return None
    name = socket.gethostname().partition(".")[0]
    words = command_line.split()
    return " ".join(word for word in words if not OWN_WORD.fullmatch(word) and name not in re.split(r"[^\w-]", word))


def zone_file():
    place = os.path.realpath("/etc/localtime")
    return place.rpartition("zoneinfo/")[2] if "zoneinfo/" in place else None


def no_turbo():
    off = number(CPUS, "intel_pstate/no_turbo")
    return None if off is None else str(1 - off)


def modules():
    for name in MODULES:
        folder = os.path.join("/sys/module", name)
        if not os.path.isdir(folder):
            continue
        yield f"module.{name}.version", read(folder, "version") or read(folder, "srcversion")
        values = (
            (option, read(folder, "parameters", option)) for option in entries(os.path.join(folder, "parameters"))
        )
        yield f"module.{name}.options", " ".join("{}={}".format(*pair) for pair in values if pair[1] is not None)


def distinct(pattern):
    """Return the different texts of the files, or None."""
    return ",".join(sorted({text for text in map(read, glob.glob(pattern)) if text})) or None
