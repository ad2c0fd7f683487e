"""Which of ReFrame's options hold also for what is measured again."""

from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.record.model import REMAINING_NODES, SAME_NODES

# For how long each job waits for a quieter machine, where nodes share one.
QUIET_WAIT_S = 20
_VARIABLE, _JOB = ("-S", "--setvar"), ("-J", "--job-option")
_TAKEN, _AVOIDED = ("nodelist=", "w="), ("exclude=", "x=")


@dataclass(frozen=True)
class OptionsKept:
    """What was set by ``-S`` and told to Slurm by ``-J``, but for the nodes to take; ``avoided`` are those to leave."""

    options: tuple[str, ...]
    avoided: tuple[str, ...]

    @classmethod
    def of(cls, options: Sequence[str]) -> "OptionsKept":
        kept: list[str] = []
        avoided: list[str] = []
        for option, value in _pairs(options):
            if option == "-S" or not value.startswith((*_TAKEN, *_AVOIDED)):
                kept += [option, value]
            elif value.startswith(_AVOIDED):
                avoided.append(value.partition("=")[2])
        return cls(tuple(kept), tuple(avoided))

    def for_nodes(self, purpose: str, nodes: Sequence[str]) -> list[str]:
        """With these nodes to take, or to leave, when it is quieter; a check is not held to be measured once more."""
        fewer = ["-S", f"without_nodes={','.join(nodes)}"] if purpose == REMAINING_NODES else []
        if purpose == SAME_NODES:
            place = f"nodelist={','.join(nodes)}"
        else:
            place = f"exclude={','.join((*nodes, *self.avoided))}"
        return ["-S", f"quiet_wait_s={QUIET_WAIT_S}", *self.options, "-J", place, "-S", "hold_s=0", *fewer]


def _pairs(options: Sequence[str]) -> list[tuple[str, str]]:
    """``-S`` or ``-J`` and the value, in whatever way ReFrame lets them be written."""
    found = []
    words = iter(options)
    for word in words:
        for short, long in (_VARIABLE, _JOB):
            if word in (short, long):
                found.append((short, next(words, "")))
            elif word.startswith(f"{long}="):
                found.append((short, word.partition("=")[2]))
            elif word.startswith(short):
                found.append((short, word.removeprefix(short)))
    return found
