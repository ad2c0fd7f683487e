"""The table of modes: the part of the suite that a run uses.

ReFrame's options, and the cases that a site must run in a mode, are both made from this table.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_END_OF_NAME = "(?![A-Za-z0-9_])"


@dataclass(frozen=True)
class NamedCases:
    """The cases of a check: all cases, or only the cases with these parameters."""

    check: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def pattern(self) -> str:
        """A regular expression for ReFrame's names of these cases; ReFrame removes the blanks before it compares."""
        asked = (f"(?=.*%{name}={value}{_END_OF_NAME})" for name, value in self.parameters.items())
        return self.check + _END_OF_NAME + "".join(asked)


@dataclass(frozen=True)
class Mode:
    """Select the checks with the tag ``tag`` except the checks in ``without``; or only the cases in ``only``, if any.

    ``options`` are more options of ReFrame, which do not select cases.
    """

    meaning: str
    tag: str = ""
    without: tuple[str, ...] = ()
    only: tuple[NamedCases, ...] = ()
    options: tuple[str, ...] = ()

    def takes(self, check: str, tags: Collection[str], parameters: Mapping[str, str]) -> bool:
        """Return whether the mode contains a case of the class ``check`` with these tags and parameters."""
        if self.only:
            return any(one.check == check and one.parameters.items() <= parameters.items() for one in self.only)
        return self.takes_some(check, tags)

    def takes_some(self, check: str, tags: Collection[str]) -> bool:
        """Return whether the mode contains any case of the class ``check`` with these tags."""
        if self.only:
            return any(one.check == check for one in self.only)
        return self.tag in tags and check not in self.without

    @property
    def reframe_options(self) -> tuple[str, ...]:
        if self.only:
            return (f"--name=^({'|'.join(one.pattern for one in self.only)})", *self.options)
        without = (f"--exclude=^({'|'.join(self.without)}){_END_OF_NAME}",) if self.without else ()
        return (f"--tag={self.tag}", *without, *self.options)


FULL = "full"
"""The mode that runs everything the site provides: a site cannot exclude a check from it."""

# No time limit for HPL on all memory and for the site's class of BT-IO. Other modes limit them.
_UNBOUNDED = tuple(
    f"--setvar={name}=0" for name in ("Hpl.solve_s", "HplNvidia.solve_s", "BtIo.most_gib", "BtIoSeries.most_gib")
)

MODES = {
    "smoke": Mode("the quickest check of each kind, in a few minutes", tag="smoke"),
    "nightly": Mode("all checks, except checks that take an hour or answer only one question", tag="nightly"),
    "acceptance": Mode("checks that a contract may require, series over nodes", tag="acceptance", options=_UNBOUNDED),
    FULL: Mode("all checks that the site provides", tag=FULL, options=_UNBOUNDED),
    "calibrate": Mode(
        "only the speed checks of nightly, to repeat for the first references (`--repeat 20`)",
        tag="nightly",
        # PartitionState stays, because it does the census of the suite.
        without=(
            "GpuInventory", "PartitionHealth", "JobTurnaround", "SoftwareInventory", "Affinity", "NumaAffinity",
            "TransportUsed", "PeerExchange", "BitSweep", "BitSweepDose", "EmtBits", "EmtCorrectness", "StressNg",
        ),
    ),
    "links": Mode(
        "a few checks of the nodes and their links, to try out faults and nights",
        only=(
            NamedCases("PartitionState"), NamedCases("PartitionHealth"), NamedCases("NodeLinks"),
            NamedCases("OsuLatency", {"placement": "same_node"}),
        ),
    ),
}  # fmt: skip


def modes_here(
    check: str,
    own: Iterable[str],
    also_in: Iterable[Mapping[str, Sequence[str]]],
    not_in: Iterable[Mapping[str, Sequence[str]]],
) -> set[str]:
    """Return the modes in which the class ``check`` runs on a site.

    :param own: the modes that the check itself names.
    :param also_in: for each partition, by mode, the checks that the site adds; ``not_in``: the checks that it removes.
    """
    return {*own, *_naming(check, also_in)} - _naming(check, not_in) | {FULL}


def _naming(check: str, listed: Iterable[Mapping[str, Sequence[str]]]) -> set[str]:
    return {mode for modes in listed for mode, names in modes.items() if check in names}


def reframe_modes() -> list[dict[str, object]]:
    """Return the ``modes`` of a ReFrame configuration."""
    return [
        {"name": name, "options": [*mode.reframe_options, f"--session-extras=mode={name}"]}
        for name, mode in MODES.items()
    ]
