"""The one table of modes: how much of the suite a run takes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mode:
    """``options``: ReFrame's, if it is not the tag of the mode's name that selects its checks."""

    meaning: str
    options: tuple[str, ...] = ()


FULL = "full"
"""The mode of all that the site provides: no check can leave it."""

# A matrix of all memory and the site's class of BT-IO, for as long as they take; other modes bound them.
_UNBOUNDED = tuple(
    f"--setvar={name}=0" for name in ("Hpl.solve_s", "HplNvidia.solve_s", "BtIo.most_gib", "BtIoSeries.most_gib")
)

MODES = {
    "smoke": Mode("a few minutes: the quickest check of each kind"),
    "nightly": Mode("all but what takes an hour or answers one question only"),
    "acceptance": Mode("what a contract may ask for, and series over nodes", ("--tag=acceptance", *_UNBOUNDED)),
    FULL: Mode("all that the site provides", (f"--tag={FULL}", *_UNBOUNDED)),
    "calibrate": Mode(
        "what nightly measures of speed, and nothing else: repeated, for the first references (`--repeat 20`)",
        (
            "--tag=nightly",
            # PartitionState stays: it has the census of the suite.
            "--exclude=^(GpuInventory|PartitionHealth|SoftwareInventory|Affinity|NumaAffinity|TransportUsed|BitSweep|BitSweepDose|"
            "EmtBits|EmtCorrectness|StressNg)(?![A-Za-z])",
        ),
    ),
    "links": Mode(
        "for trying out faults and nights: a few checks of the nodes and their links",
        ("--name=^(PartitionState|PartitionHealth|NodeLinks|OsuLatency.*same_node)",),
    ),
}


def reframe_modes() -> list[dict[str, object]]:
    """The ``modes`` of a ReFrame configuration."""
    return [
        {"name": name, "options": [*(mode.options or (f"--tag={name}",)), f"--session-extras=mode={name}"]}
        for name, mode in MODES.items()
    ]
