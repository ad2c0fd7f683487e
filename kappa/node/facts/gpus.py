"""NVIDIA's GPUs by ``nvidia-smi``, and the number of AMD's by the kernel."""

import re

from kappa.node.children import output
from kappa.node.files import entries, read

PATIENCE_S = 30
AMD = "/sys/class/kfd/kfd/topology/nodes"
# Fact -> names of the field, of newer drivers last. Every driver knows the fields of the first table. The others have
# queries of their own, because an unknown field fails the query: with a message on standard output.
REQUIRED = {"index": "index", "name": "name", "driver_version": "driver_version", "memory_mib": "memory.total"}
OPTIONAL = {
    "ecc": ("ecc.mode.current",),
    "pcie_gen": ("pcie.link.gen.max",),
    "pcie_width": ("pcie.link.width.current",),
    "slowed_down_by": ("clocks_throttle_reasons.active", "clocks_event_reasons.active"),
    "compute_capability": ("compute_cap",),
    "mig": ("mig.mode.current",),
}
# `[N/A]`, `[Not Supported]`, `[Unknown Error]`, `[GPU requires reset]` and the like.
NONE = re.compile(r"\[[A-Za-z][A-Za-z/ ]{1,40}\]")
SLICE = re.compile(r"^ +MIG +(\S+)", re.MULTILINE)


def facts():
    """Yield ``gpu.INDEX.FIELD``: a text, or a whole number if the text is one; None if the device does not state it."""
    rows = query(*REQUIRED.values())
    columns = {name: column(fields, len(rows)) for name, fields in OPTIONAL.items()} if rows else {}
    for place, row in enumerate(rows):
        gpu = dict(zip(REQUIRED, row))
        gpu.update((name, values[place]) for name, values in columns.items())
        for name, text in gpu.items():
            if name != "index":
                yield "gpu.{}.{}".format(gpu["index"], name), value(text)


def query(*fields):
    """Return the values of each GPU; an empty list without GPUs, or if a field is unknown."""
    listed = output(PATIENCE_S, "nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits")
    rows = [[text.strip() for text in line.split(",", len(fields) - 1)] for line in (listed or "").splitlines()]
    return [row for row in rows if len(row) == len(fields) and row[0]]


def column(fields, gpus):
    """Return the value for each GPU of the first of these names of a field that the driver knows."""
    for field in fields:
        rows = query(field)
        if len(rows) == gpus:
            return [row[0] for row in rows]
    return [None] * gpus


def value(text):
    if text is None or NONE.fullmatch(text):
        return None
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else text


def slices():
    """Return the profile of each MIG slice."""
    yield "site.mig_slices", SLICE.findall(output(PATIENCE_S, "nvidia-smi", "-L") or "")


def of_amd():
    # The kernel lists processors, too; their version is 0.
    versions = (re.search(r"^gfx_target_version [1-9]", read(AMD, node, "properties") or "", re.M)
                for node in entries(AMD))  # fmt: skip
    yield "site.amd_gpus", sum(map(bool, versions))
