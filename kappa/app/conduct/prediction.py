"""Run checks of the suite on simulated fabrics made for one question, and write the tables of the papers."""

import os
import pathlib
from collections.abc import Iterable, Sequence

from kappa.app.conduct.leftovers import NoReportError
from kappa.app.conduct.session import Conductor, ReframeSession
from kappa.core.fabrics.description import fabric_yaml, find_fabric
from kappa.core.fabrics.schema import SimulatedFabric
from kappa.core.ground.folders import SIMULATED_SITE, site_folder
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.record.load import load_session
from kappa.core.record.model import Case
from kappa.core.sites.load import Site
from kappa.core.sites.site_file import MORE_FABRICS
from reports.predicted import tables

REPORT = "run-report.json"
# Fabric -> checks whose figures are in the tables.
SIMULATED = {
    "nsim-ace-16": ("RandomRing", "PutBarrier"),
    "nsim-ace-256": ("RandomRing", "PutBarrier", "ParticleExchange"),
    "edr-sharp": ("PatternAllreduce",),
    "roce": ("PatternAllreduce",),
    **dict.fromkeys(("hdr-8", "hdr-3", "numalink-7", "flex-grid", "qdr-8"), ("EmtSeries.*step",)),
}
#: NSIM-ACE, figure 2. A node with two ranks does two puts one after the other, so each waits twice as long.
NODE_LATENCIES_US, PUTS_OF_A_NODE = (0.6, 0.7, 0.8, 0.9), 2
_DOCUMENT = """\
# The papers' tables, simulated

`make tables-simulated` writes this page. Each table states which values are fitted and which are predicted.
[simulated.md](simulated.md) states how far to trust them. Two runs give the same figures; only the wall times differ.

## NSIM-ACE (SIMULTECH 2016)

### Random ring: bandwidth of a process

The paper (figure 1): measured and simulated values agree at 4 and 8 processes, where all nodes are on one switch. With
more processes, its simulation is below the machine. On 256 nodes the bandwidth falls slowly above 32 processes.

{random_ring}
### Barriers

The paper (figure 2): recursive doubling is faster than the ring, and fastest if the number of processes is a power of
two. The time of the ring grows with the number of processes, the time of recursive doubling with its logarithm.

{barriers}
### Barriers over the node latency, 16 nodes

The paper fits the node latency: of 0.6, 0.7, 0.8 and 0.9 us, 0.6 us fits the machine best. A node's adapter performs
the puts of its two processes one after the other. SimGrid does not, so each put waits for both.

Ring:

{swept_ring}
Recursive doubling:

{swept_doubling}
### Particle exchange, 256 nodes: time to put

The paper (figure 3): the error is below 10 % at 32 processes. The barrier before packing is better up to 128 processes.
Traffic inside nodes and between nodes both count. Message sizes here follow a model of the decomposition; the paper
uses recorded sizes.

{particles}
### Wall time of the simulation

{wall_times}
NSIM-ACE simulates puts as special events and moves no data. Here the same MPI program runs as on a machine: every rank
is a thread with its own memory, which opens windows, checks the barrier, and polls the word that a put writes. This
takes seconds at 512 ranks, even for a barrier of few steps.

## EMT application (IPST 2023)

Each pair of ranks sends one message per step. φ = 100 us in 172 tasks; nodes are filled one after the other.

{kappas}
## Sums in the network (SHARP talk)

One rank on each node, 8 bytes. At 32 nodes the talk states sums in the network 109 % faster than by the hosts (2.09
times) and 210 % faster than RoCE (3.1 times). The time of a switch and RoCE's overhead are **fitted** to these two
values, for sums of up to 1 KiB. The other rows follow from the fit. Use them for "what if" questions, not as evidence.

{in_network}"""


def simulate(
    fabrics: Iterable[SimulatedFabric], checks: Sequence[str], folder: pathlib.Path, conductor: Conductor
) -> dict[str, list[Case]]:
    """Run checks on fabrics that exist in no file, and keep all results in ``folder``.

    :param checks: ReFrame's patterns of names.
    :returns: the cases of each fabric. All have passed.
    :raises InputError: a case failed, or there is no simulator; also as in ``ReframeSession.run``.
    """
    make_folder(folder / "fabrics")
    fabrics = list(fabrics)
    for fabric in fabrics:
        path = folder / "fabrics" / f"{fabric.name}.yaml"
        write_atomically(path, fabric_yaml(fabric, "Made for one run; see the folder's report."))
    os.environ[MORE_FABRICS] = str((folder / "fabrics").absolute())
    found: dict[str, list[Case]] = {}
    site = Site(site_folder(SIMULATED_SITE))
    selected = [word for check in checks for word in ("-n", check)]
    for fabric in fabrics:
        conductor.say(f"simulating {', '.join(checks)} on {fabric.name}")
        report = folder / fabric.name / REPORT
        make_folder(report.parent)
        # One after the other, so that no simulation disturbs another's wall time.
        options = ["-r", "--exec-policy=serial", f"--system={SIMULATED_SITE}:{fabric.name}", *selected]
        session = ReframeSession(site, report, options)
        session.run(conductor)
        cases = [case for run in load_session(report).runs for case in run]
        failed = [case for case in cases if case.result == "fail"]
        if failed or not cases:
            why = f"{failed[0].title} failed: {failed[0].fail_reason}" if failed else "no case ran"
            raise NoReportError(f"{fabric.name}: {why}; see {session.printed}")
        found[fabric.name] = [case for case in cases if case.simulation]
    return found


def write_tables(path: pathlib.Path, fabrics: pathlib.Path, work: pathlib.Path, conductor: Conductor) -> None:
    """Run the simulations for the tables in ``work``, and write the tables to ``path``.

    :raises InputError: as in ``simulate``.
    """
    found: dict[str, list[Case]] = {}
    for name, checks in SIMULATED.items():
        found |= simulate([find_fabric(fabrics, name)], checks, work / name, conductor)
    base = find_fabric(fabrics, "nsim-ace-16")
    sweeps: dict[str, float] = {}
    for us in NODE_LATENCIES_US:
        fabric = base.with_node_latency(PUTS_OF_A_NODE * us).called(f"nsim-ace-16-{1000 * us:g}ns")
        sweeps[fabric.name] = us
        found |= simulate([fabric], ["PutBarrier"], work / fabric.name, conductor)
    document = _DOCUMENT.format(
        random_ring=tables.random_ring(found),
        barriers=tables.barriers(found),
        swept_ring=tables.swept(found, sweeps, "ring"),
        swept_doubling=tables.swept(found, sweeps, "recursive-doubling"),
        particles=tables.particles(found),
        wall_times=tables.wall_times(found),
        kappas=tables.kappas(found),
        in_network=tables.in_network(found),
    )
    write_atomically(path, document, 0o644)
