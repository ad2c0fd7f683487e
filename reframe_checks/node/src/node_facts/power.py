"""How often the processor slowed itself down, and the energy that it took (RAPL), both since the node was booted."""

import glob
import os

from node_facts.files import entries, number

THROTTLES = "/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle"
POWERCAP = "/sys/class/powercap"


def facts():
    # Each package once, without its parts: intel-rapl:0, and not intel-rapl:0:0. The counter may have begun anew.
    packages = [name for name in entries(POWERCAP) if name.startswith("intel-rapl:") and name.count(":") == 1]
    energy_uj = total([os.path.join(POWERCAP, name, "energy_uj") for name in packages])
    return {
        "power.cores_throttled": total(glob.glob(THROTTLES + "/core_throttle_count")),
        "power.packages_throttled": total(glob.glob(THROTTLES + "/package_throttle_count")),
        "power.energy_j": None if energy_uj is None else energy_uj // 10**6,
    }


def total(paths):
    """Sum of those that tell, or None."""
    known = [value for value in map(number, paths) if value is not None]
    return sum(known) if known else None
