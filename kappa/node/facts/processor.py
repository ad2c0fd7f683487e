"""The processor's cores, by ``lscpu`` and hwloc, for the description of a site."""

import os

from kappa.node.children import output

PATIENCE_S = 20
FIELDS = (
    "Architecture", "Vendor ID", "Model name", "BIOS Model name", "CPU family", "Model", "Stepping",
    "Thread(s) per core", "CPU max MHz", "BogoMIPS", "Hypervisor vendor", "Flags",
)  # fmt: skip
OBJECTS = ("package", "numanode", "core", "pu", "l3cache")


def facts():
    environment = dict(os.environ, LC_ALL="C")
    # util-linux, which every distribution has, knows the vendors' and cores' names.
    lines = (output(PATIENCE_S, "lscpu", environment=environment) or "").splitlines()
    pairs = [[word.strip() for word in line.split(":", 1)] for line in lines]
    yield "site.processor", [pair for pair in pairs if pair[0] in FIELDS]
    listed = output(PATIENCE_S, "lscpu", "-p=CPU,CORE,SOCKET,NODE", environment=environment) or ""
    yield "site.cpus", [numbers(line) for line in listed.splitlines() if line[:1].isdigit()]
    yield "site.hwloc", by_hwloc()


def numbers(line):
    """Return CPU, core, socket and NUMA domain; a field is empty if the kernel has no NUMA, or the core is off."""
    return [int(field or 0) for field in line.split(",")[:4]]


def by_hwloc():
    """Return [object, number on the node] of each type, not only of those that the job may use."""
    # Version 1 of hwloc has another option for the whole node.
    for whole in ("--disallowed", "--whole-system"):
        counts = []
        for name in OBJECTS:
            count = output(PATIENCE_S, "hwloc-calc", whole, "--number-of", name, "machine:0")
            if count is not None and count.strip().isdigit():
                counts.append([name, int(count)])
        if counts:
            return counts
    return []
