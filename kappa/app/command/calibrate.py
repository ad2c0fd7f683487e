"""Fit a simulated fabric to a real partition. Latency, bandwidth and software overhead come from the ping-pong
(OsuLatency) and the bursts (OsuBandwidth) of a run.

Kappa then simulates the allreduce and the exchange of the EMT application, which the fit did not use, and states the
error of the prediction. It writes the fabric where `kappa validate simulated` finds it. With `predicted_by: NAME` in
the site's partition, reports show each prediction beside the measured value.

Exit status: 0 fitted; 2 the run lacks a measurement, or the simulation is not possible.

examples:
  kappa fabric calibrate embedded cpu
  kappa fabric calibrate mycluster cpu --run results/mycluster/runs/20261121T020000-full
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
from typing import TYPE_CHECKING

from kappa.app.command.arguments import RUN_HELP, CommandParser, add_site, add_stored, name
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.figures import counted, figure, moment
from kappa.core.ground.folders import SIMULATED_SITE, results_folder, site_folder
from kappa.core.ground.processes import stopping
from kappa.core.ground.whole_files import write_atomically

if TYPE_CHECKING:
    from kappa.core.fabrics.schema import SimulatedFabric
    from kappa.core.record.model import Case, Session
    from kappa.core.sites.site_file import SiteDescription
    from reports.predicted.calibrate import Machine
    from reports.predicted.pairs import PredictedPair


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_site(to)
    to.add_argument("partition", metavar="PARTITION", type=name, help="a partition of the site")
    add_stored(to, "--run", f"fit to this run: {RUN_HELP}; default: the newest run of SITE")
    to.add_argument("--name", metavar="NAME", type=name, help="name of the fabric (default: SITE-PARTITION)")
    to.add_argument("-o", "--output", metavar="FILE", type=pathlib.Path, help="write the fabric to FILE")


def run(options: argparse.Namespace) -> int:
    import msgspec

    from kappa.app.conduct.prediction import simulate
    from kappa.app.conduct.session import Conductor
    from kappa.app.conduct.validation import using
    from kappa.core.fabrics.description import fabric_yaml
    from kappa.core.record.load import load_session
    from kappa.core.record.runs import newest_run
    from kappa.core.sites.site_file import describe
    from reports.predicted.calibrate import HELD_OUT, calibrated, held_out
    from reports.predicted.pairs import pairs

    folder, results = site_folder(options.site), results_folder(options.site)
    site = describe(folder)
    if options.partition not in site.described.partitions:
        known = suggestion(options.partition, site.described.partitions)
        raise InputError(f"{options.site} has no partition {options.partition!r}, {known}")
    session = load_session(options.run or newest_run(options.site))
    cases = [case for cases in session.runs for case in cases if case.partition == options.partition]
    title = options.name or f"{options.site}-{options.partition}"
    fabric = calibrated(title, _machine(site, options.partition, session, cases), cases)
    others = results.parent / SIMULATED_SITE
    with stopping() as stop, using(others, None) as lock:
        conductor = Conductor(stop, [lock])
        work = others / "calibrations" / f"{datetime.datetime.now():%Y%m%dT%H%M%S}-{title}"
        predicted = simulate([fabric], HELD_OUT, work, conductor)[title]
        found = pairs(cases, {options.partition: predicted}, {title: 1.0})
        fabric = msgspec.structs.replace(fabric, calibration=held_out(found))
        path = options.output or site_folder(SIMULATED_SITE) / "fabrics" / f"{title}.yaml"
        heading = f"Made by `kappa fabric calibrate {options.site} {options.partition}`."
        write_atomically(path, fabric_yaml(fabric, heading), 0o644)
        _tell(fabric, found, path)
    return 0


def _machine(site: SiteDescription, partition: str, session: Session, cases: list[Case]) -> Machine:
    from reports.predicted.calibrate import Machine

    stated = site.described.partitions[partition]
    cores = stated.cores.per_node if stated.cores else stated.processor.num_cpus if stated.processor else 1
    window = stated.tuning.get("OsuBandwidth", {}).get("window", 64)
    mpi = next((case.provenance.mpi for case in cases if case.provenance.mpi), "")
    return Machine(site.name, partition, stated.nodes, cores, window, mpi, moment(session.time_start))


def _tell(fabric: SimulatedFabric, found: list[PredictedPair], path: pathlib.Path) -> None:
    software, link = fabric.software, fabric.link
    print(f"{fabric.name}: latency {figure(2 * link.cable_latency_us.value)} us between nodes,", end=" ")
    print(f"bandwidth {figure(link.bandwidth_gb_s.value)} GB/s,", end=" ")
    print(f"overhead {figure(software.send_us.value)} us to send and {figure(software.receive_us.value)} us to receive")
    print("not used by the fit:")
    for pair in found:
        off = f"{figure(pair.measured)} {pair.unit} measured, {figure(pair.predicted)} predicted"
        print(f"  {pair.name}: {off}, {figure(pair.worse_by)} times worse than predicted")
    for entry in fabric.calibration.held_out if fabric.calibration else ():
        print(f"  {entry.check}: off by {figure(entry.median_factor)} times in the median of", end=" ")
        print(f"{counted(entry.figures, 'figure')}, {figure(entry.largest_factor)} times at most")
    print(f"written to {clean(str(path))}")
