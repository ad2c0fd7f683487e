"""Memory: its size, its users, and the kernel's settings."""

import re

from kappa.node.files import first, number, read

# Entries of /proc/meminfo for used and free memory. The rest of the memory is unaccounted for.
OWNED = (
    "MemFree", "Buffers", "Cached", "SwapCached", "AnonPages", "Slab", "KernelStack", "PageTables", "SecPageTables",
    "Percpu", "Hugetlb", "KReclaimable",
)  # fmt: skip


def facts():
    said = dict(re.findall(r"^(\w+(?:\(\w+\))?):\s+(\d+)", read("/proc/meminfo") or "", re.MULTILINE))
    kib = {name: int(value) for name, value in said.items()}
    total = kib["MemTotal"]
    # KReclaimable counts the reclaimable part of Slab once more.
    owned = sum(kib.get(name, 0) for name in OWNED) - kib.get("SReclaimable", 0)
    return {
        "memory.total_kib": total,
        "memory.available_kib": kib.get("MemAvailable"),
        "memory.of_nobody_kib": max(total - owned, 0),
        "memory.swap_kib": kib.get("SwapTotal"),
        "memory.huge_pages": kib.get("HugePages_Total"),
        "memory.huge_page_kib": kib.get("Hugepagesize"),
        "memory.transparent_huge_pages": first(r"\[(\w+)\]", read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "memory.numa_balancing": number("/proc/sys/kernel/numa_balancing"),
        "memory.overcommit": number("/proc/sys/vm/overcommit_memory"),
        "memory.zone_reclaim": number("/proc/sys/vm/zone_reclaim_mode"),
    }
