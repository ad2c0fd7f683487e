"""Corrected and uncorrected hardware errors: EDAC's counters of memory, machine checks."""

import re

from kappa.node.files import entries, number, read

EDAC = "/sys/devices/system/edac/mc"


def facts():
    controllers = [name for name in entries(EDAC) if name.startswith("mc") and name[2:].isdigit()]
    return {
        "error.memory_corrected": total(controllers, "ce_count"),
        "error.memory_uncorrected": total(controllers, "ue_count"),
        "error.machine_checks": machine_checks(),
    }


def total(controllers, counter):
    values = [number(EDAC, name, counter) for name in controllers]
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def machine_checks():
    """Return MCE of /proc/interrupts, over all cores; None on other processors than x86."""
    found = re.search(r"^\s*MCE:((?:\s+\d+)+)", read("/proc/interrupts") or "", re.MULTILINE)
    return sum(map(int, found.group(1).split())) if found else None
