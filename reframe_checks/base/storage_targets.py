"""The one table of storage targets. A partition that has one lists its feature and gives its path in
``extras: {storage: {TARGET: PATH}}``."""

# Target -> feature of a partition that has it.
STORAGE_TARGETS = {
    "scratch": "storage_scratch",
    "shared": "storage_shared",
}
