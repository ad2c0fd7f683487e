"""Every kind of fault, and what is true of it: which checks can see it, and what a diagnosis of it must not say."""

from kappa.tools.fault_campaign import faults, jobs, node_state, packets, started
from kappa.tools.fault_campaign.outcomes import Outcome
from reports.verdict.confirm import Diagnosis

# In the order in which a block of rounds has them before they are drawn: another order
# changes the rounds of a seed.
_ALL = (
    *faults.KINDS, *node_state.KINDS, *jobs.OF_HANGS, *jobs.OF_SOFTWARE, *jobs.OF_USERS, *jobs.OF_RANKS,
    *jobs.OF_NETWORK, *faults.OF_BITS, *node_state.OF_SCRATCH, *node_state.OF_SURROUNDINGS,
    *packets.OF_PACKETS, *packets.OF_TCP,
    *started.OF_TASKS, *started.OF_JOBS, *started.OF_FILES,
)  # fmt: skip
KINDS = {kind.name: kind for kind in _ALL}
# Kind of fault -> checks that measure what it changes. When a node is lost, jobs on all nodes cannot start: that fails
# them, too, but they have measured nothing.
SEEN_BY: dict[str, tuple[str, ...]] = {
    **{kind.name: ("PartitionHealth",) for kind in node_state.KINDS},
    **{kind.name: ("SoftwareInventory",) for kind in jobs.OF_SOFTWARE},
    **{kind.name: ("PartitionHealth",) for kind in jobs.OF_USERS},
    **{kind.name: ("Affinity",) for kind in jobs.OF_RANKS},
    "withheld cores": ("Affinity", "NodeSweep", "PartitionHealth"),
    **{kind.name: ("TransportUsed", "PartitionHealth") for kind in jobs.OF_NETWORK},
    "library not found": ("SoftwareInventory", "PartitionHealth", "NodeScratch"),
    "slow link": ("PairSweep",),
    "bandwidth-limited link": ("PairSweep",),
    "lossy link": ("PairSweep", "PeerExchange"),
    # TCP takes the processor's time.
    "slow CPU": ("NodeSweep", "PairSweep"),
    "slow disk": ("NodeScratch", "EmtIoEachNode"),
    "full disk": ("NodeScratch", "EmtIoEachNode", "PartitionHealth"),
    "dead slurmd": ("PartitionState",),
    "powered-off node": ("PartitionState",),
    "wrong binding": ("NodeSweep", "PartitionHealth"),
    "wrong library": ("PartitionHealth", "SoftwareInventory"),
    "damaged output": ("NodeScratch", "PartitionHealth", "SoftwareInventory"),
    "clock offset": ("PartitionHealth",),
    "stopped rank": ("NodeSweep", "PairSweep"),
    "rank blocked in the kernel": ("NodeSweep", "PairSweep"),
    # What comes after it finds a node less.
    "node dies in a job": ("NodeSweep", "PairSweep", "PartitionState"),
    "MPI does not start": ("NodeSweep", "PairSweep"),
    "wrong arithmetic": ("BitSweep",),
    "flipping memory": ("BitSweep",),
    "wrong payload": ("PairSweep",),
    **{kind.name: ("PartitionHealth", "NodeScratch", "EmtIoEachNode") for kind in node_state.OF_SCRATCH},
    **{kind.name: ("PartitionHealth",) for kind in node_state.OF_SURROUNDINGS},
    "small TCP buffers": ("PartitionHealth", "PairSweep"),
    "no way to a node": ("PartitionHealth", "PairSweep", "PeerExchange"),
    **{kind.name: ("PeerExchange",) for kind in packets.OF_PACKETS},
    # These keep other jobs from their end, too.
    "address taken": ("PeerExchange", "PartitionHealth", "PartitionState", "PairSweep", "NodeSweep"),
    "long packets vanish": (
        "PeerExchange", "PartitionHealth", "PairSweep", "SoftwareInventory", "TransportUsed", "EmtIoEachNode",
    ),
    **{kind.name: ("PartitionHealth",) for kind in packets.OF_TCP},
    **{kind.name: ("PartitionHealth",) for kind in started.OF_TASKS},
    # Every job has tasks there.
    **{name: ("PartitionHealth", "SoftwareInventory", "JobTurnaround", "Affinity", "TransportUsed", "PairSweep",
              "NodeSweep", "BitSweep", "NodeScratch", "EmtIoEachNode")
       for name in ("results not executable", "failing prolog of tasks", "hung home")},
    "slow prolog": ("JobTurnaround",),
    "slow epilog": ("JobTurnaround",),
    **{kind.name: ("NodeScratch",) for kind in started.OF_FILES},
}
# The checks that read what the program says, or look at it, where a kind damages one of several.
READ_BY = {"fio": ("NodeScratch", "SoftwareInventory"), "scontrol": ("PartitionHealth",)}


def can_see(check: str, outcome: Outcome) -> bool:
    """Whether the round had a fault that ``check`` measures."""
    if outcome.kind is None or check not in SEEN_BY.get(outcome.kind, ()):
        return False
    program, bar, _ = outcome.detail.partition(" | ")
    return not bar or check in READ_BY[program]


def false_diagnoses(outcome: Outcome) -> tuple[str, ...]:
    """What was said of a fault that is one node's and lasts: that it is everywhere, or was gone when measured again."""
    return tuple(
        f"{check}: {diagnosis}"
        for check, diagnosis in outcome.diagnoses
        if diagnosis == Diagnosis.SYSTEM_WIDE.value
        or (diagnosis == Diagnosis.TRANSIENT.value and can_see(check, outcome))
    )
