"""Facts of a site that can only be read on the machine.

A site names its provider (``facts: NAME``) and writes ``{fact: NAME}`` instead of a value. If the fact is a list and
the place is in a list, the fact's items are inserted one by one.
"""

import json
import os
import pathlib
import re
import shutil
from collections.abc import Callable
from typing import Any

Provider = Callable[[pathlib.Path], dict[str, Any]]

# Names in Debian 12, and other names in Debian 13 and Ubuntu 24.04.
_LIBRARIES = (
    ("libc.so.6",), ("libmpi.so.40",), ("libopen-pal.so.40", "libopen-pal.so.80"), ("libopenblas.so.0",),
    ("libaio.so.1", "libaio.so.1t64"),
)  # fmt: skip


def embedded_cluster(base: pathlib.Path) -> dict[str, Any]:
    """Return facts of the cluster that ``site_configs/embedded/cluster up`` started, or would start by default."""
    state = pathlib.Path(os.environ.get("KAPPA_CLUSTER_STATE", base / ".kappa/cluster"))
    try:
        options = json.loads((state / "run/instance.json").read_text(encoding="utf-8"))["options"]
        # Clusters of older versions do not state the number of adapters; they have one.
        nodes, cores, adapters = options["nodes"], options["cpus_per_node"], options.get("adapters", 1)
        light = options.get("light", False)
    except FileNotFoundError:
        nodes, cores, adapters, light = 4, os.cpu_count(), 2, False
    return {
        "nodes": nodes,
        "half_of_nodes": nodes // 2,
        # Light nodes run no measurements.
        "jobs_at_once": nodes if light else 8,
        "cores_per_node": cores,
        # The whole machine's memory: each node may use all of it, and Slurm has the same value.
        "memory_gib_per_node": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30,
        "adapters": [f"eth{number}" for number in range(adapters)] if adapters > 1 else None,
        "rails": ["rails"] if adapters > 1 else [],
        "peak_gflops_per_core": _peak_gflops_per_core(),
        "gpu_features": ["nvidia"] if pathlib.Path("/dev/nvidia0").exists() else [],
        # From packages that only mode full needs and installs.
        "applications": ["applications"] if all(map(shutil.which, ("lmp", "icoFoam"))) else [],
        # Libraries that jobs with Debian's packages load.
        "debian_libraries": _debian_libraries(),
        "slurm_commands": str(state / "bin"),
    }


def _debian_libraries() -> list[str]:
    """Return each library's path with its name in this release; if none exists, the name in the first release."""
    folder = pathlib.Path(f"/usr/lib/{os.uname().machine}-linux-gnu")
    return [
        str(next((folder / name for name in names if (folder / name).exists()), folder / names[0]))
        for names in _LIBRARIES
    ]


def _peak_gflops_per_core() -> float:
    """Return the theoretical peak: clock x FLOP per cycle of two FMA units of the widest vectors (double precision)."""
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    clock = re.search(r"^cpu MHz\s*: ([\d.]+)", cpuinfo, re.MULTILINE)
    flop_per_cycle = 32 if " avx512f" in cpuinfo else 16 if " fma" in cpuinfo else 4
    return float(clock[1] if clock else 2000) / 1000 * flop_per_cycle


PROVIDERS: dict[str, Provider] = {"embedded-cluster": embedded_cluster}
