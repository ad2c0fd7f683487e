"""Throttling events of the processor since boot, and its power (RAPL)."""

import glob
import time

from kappa.node.files import entries, number, read

CPUS = "/sys/devices/system/cpu"
POWERCAP = "/sys/class/powercap"
# The counter of energy moves about every millisecond.
MEASURED_S = 0.1


def facts():
    return {
        "power.cores_throttled": throttled("core_throttle_count", "die_id", "core_id"),
        "power.packages_throttled": throttled("package_throttle_count"),
        "power.package_w": package_w(),
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


def package_w():
    """Return the power of all packages in W, without their parts (intel-rapl:0:0) and the platform, or None.

    The energy itself tells nothing: its counter wraps every few minutes.
    """
    zones = [name for name in entries(POWERCAP) if name.startswith("intel-rapl:") and name.count(":") == 1]
    packages = [name for name in zones if (read(POWERCAP, name, "name") or "").startswith("package")]
    began, before = time.monotonic(), counters(packages)
    if not before:
        return None
    time.sleep(MEASURED_S)
    passed_s, after = time.monotonic() - began, counters(packages)
    used = [spent_uj(name, before[name], after.get(name)) for name in before]
    return None if None in used else round(sum(used) / 1e6 / passed_s)


def counters(packages):
    """Return the counters of energy in uJ by package; only root can read them since Linux 5.10."""
    read_uj = {name: number(POWERCAP, name, "energy_uj") for name in packages}
    return {name: value for name, value in read_uj.items() if value is not None}


def spent_uj(package, before, after):
    """Return the energy between two readings of a counter that starts again after its range, or None."""
    wrapped = 0 if after is None or after >= before else number(POWERCAP, package, "max_energy_range_uj")
    return None if after is None or wrapped is None else after - before + wrapped
