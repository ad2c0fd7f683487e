"""Throttling events of the processor, and its energy (RAPL), both since boot."""

import glob

from node_facts.files import entries, number, read

CPUS = "/sys/devices/system/cpu"
POWERCAP = "/sys/class/powercap"


def facts():
    return {
        "power.cores_throttled": throttled("core_throttle_count", "die_id", "core_id"),
        "power.packages_throttled": throttled("package_throttle_count"),
        "power.energy_j": energy_j(),
    }


def throttled(counter, *parts):
    """Return the sum over all packages, or over these parts of them, or None: all CPUs of a package report the same."""
    counts = {}
    for cpu in glob.glob(CPUS + "/cpu[0-9]*"):
        count = number(cpu, "thermal_throttle", counter)
        if count is not None:
            place = tuple(number(cpu, "topology", name) for name in ("physical_package_id", *parts))
            counts[cpu if place[0] is None else place] = count
    return sum(counts.values()) if counts else None


def energy_j():
    """Return the sum over packages, without their parts (intel-rapl:0:0) and the platform; it may have wrapped."""
    zones = [name for name in entries(POWERCAP) if name.startswith("intel-rapl:") and name.count(":") == 1]
    packages = [name for name in zones if (read(POWERCAP, name, "name") or "").startswith("package")]
    known = [value for value in (number(POWERCAP, name, "energy_uj") for name in packages) if value is not None]
    return sum(known) // 10**6 if known else None
