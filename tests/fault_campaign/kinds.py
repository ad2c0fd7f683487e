"""List every kind of fault, with the checks that can see it, and the diagnoses that would be wrong."""

from reports.verdict.confirm import Diagnosis
from tests.fault_campaign import faults, jobs, node_state, packets, started
from tests.fault_campaign.outcomes import Outcome

# The order of the kinds in a block before the random draw. Another order changes the rounds of a seed.
_ALL = (
    *faults.KINDS, *node_state.KINDS, *jobs.OF_HANGS, *jobs.OF_SOFTWARE, *jobs.OF_USERS, *jobs.OF_RANKS,
    *jobs.OF_NETWORK, *faults.OF_BITS, *node_state.OF_SCRATCH, *node_state.OF_SURROUNDINGS,
    *packets.OF_PACKETS, *packets.OF_TCP,
    *started.OF_TASKS, *started.OF_JOBS, *started.OF_FILES, *faults.OF_SPEED, *started.OF_SHARED_FILES,
)  # fmt: skip
KINDS = {kind.name: kind for kind in _ALL}
# Kind of fault -> checks that measure what it changes. If a node is lost, jobs on all nodes cannot start. Their checks
# fail, too, but they have measured nothing.
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
    # TCP needs processor time.
    "slow CPU": ("NodeSweep", "PairSweep", "EmtIoEachNode"),
    "slow at first": ("NodeSweep",),
    "slow disk": ("NodeScratch", "EmtIoEachNode"),
    "full disk": ("NodeScratch", "EmtIoEachNode", "PartitionHealth"),
    "dead slurmd": ("PartitionState",),
    "powered-off node": ("PartitionState",),
    "wrong binding": ("NodeSweep", "PartitionHealth"),
    "wrong library": ("PartitionHealth", "SoftwareInventory"),
    "damaged output": ("NodeScratch", "SoftwareInventory"),
    "clock offset": ("PartitionHealth",),
    "stopped rank": ("NodeSweep", "PairSweep"),
    "rank blocked in the kernel": ("NodeSweep", "PairSweep"),
    # Later checks find one node less.
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
    # These make other jobs hang, too.
    "address taken": ("PeerExchange", "PartitionHealth", "PartitionState", "PairSweep", "NodeSweep"),
    "long packets vanish": (
        "PeerExchange", "PartitionHealth", "PairSweep", "SoftwareInventory", "TransportUsed", "EmtIoEachNode",
    ),
    **{kind.name: ("PartitionHealth",) for kind in packets.OF_TCP},
    **{kind.name: ("PartitionHealth",) for kind in started.OF_TASKS},
    # Every job has tasks on the node.
    **{name: ("PartitionHealth", "SoftwareInventory", "JobTurnaround", "Affinity", "TransportUsed", "PairSweep",
              "NodeSweep", "BitSweep", "NodeScratch", "EmtIoEachNode")
       for name in ("results not executable", "failing prolog of tasks", "hung home")},
    "slow prolog": ("JobTurnaround",),
    "slow epilog": ("JobTurnaround",),
    **{kind.name: ("NodeScratch",) for kind in started.OF_FILES},
    "locks without effect": ("SharedSemantics",),
    "old copy of shared files": ("SharedSemantics", "PartitionHealth"),
}
# For a kind that damages one of several programs: the checks that read the program's output or examine the program.
READ_BY = {"fio": ("NodeScratch", "SoftwareInventory"), "scontrol": ("SoftwareInventory",)}


def can_see(check: str, outcome: Outcome) -> bool:
    """Return whether the round had a fault that ``check`` measures."""
    if outcome.kind is None or check not in SEEN_BY.get(outcome.kind, ()):
        return False
    program, bar, _ = outcome.detail.partition(" | ")
    return not bar or check in READ_BY[program]


def false_diagnoses(outcome: Outcome) -> tuple[str, ...]:
    """Return the wrong diagnoses of a lasting fault of one node: system-wide, or transient."""
    return tuple(
        f"{check}: {diagnosis}"
        for check, diagnosis in outcome.diagnoses
        if diagnosis == Diagnosis.SYSTEM_WIDE.value
        or (diagnosis == Diagnosis.TRANSIENT.value and can_see(check, outcome))
    )
