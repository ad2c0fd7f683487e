"""List and show the fabrics of simulated machines, write SimGrid's files for them, or fit a fabric to a real partition.
A fabric is a file site_configs/simulated/fabrics/NAME.yaml.

Exit status: 0 done, 2 a fabric is broken or unknown, or has fewer nodes or ranks than requested.

examples:
  kappa fabric list
  kappa fabric show hdr-8
  kappa fabric platform hdr-8 --variant shared -o platform.xml
  kappa fabric hosts hdr-8 --nodes 2 --ranks-per-node 6 > hosts.txt
"""

from __future__ import annotations

import argparse
import datetime
import math
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kappa.app.command.arguments import CommandParser, whole
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import aligned, figure
from kappa.core.ground.folders import SIMULATED_SITE, results_folder, site_folder
from kappa.core.ground.processes import stopping
from kappa.core.ground.whole_files import write_atomically

if TYPE_CHECKING:
    from kappa.core.fabrics.schema import SimulatedFabric

TABLES = pathlib.Path("docs/simulated-tables.md")


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__)
    to.add_argument("--folder", metavar="DIR", type=pathlib.Path, help="use the fabrics in DIR")
    to.add_command("list", "list the fabrics, one per line", lambda listing: listing.set_defaults(act=_list))
    to.add_command("show", "show every number of a fabric, and its source", _add_show)
    to.add_command("platform", "write the platform file (XML) for SimGrid", _add_platform)
    to.add_command("hosts", "write the host file for smpirun: the host of each rank, one per line", _add_hosts)
    to.add_command("tables", "simulate the papers' machines and write the tables (5 minutes)", _add_tables)
    to.add_command("calibrate", "fit a fabric to a real partition, and state its error", "calibrate")


def _folder(options: argparse.Namespace) -> pathlib.Path:
    return options.folder or site_folder(SIMULATED_SITE) / "fabrics"


def _fabric(options: argparse.Namespace) -> SimulatedFabric:
    from kappa.core.fabrics.description import find_fabric

    return find_fabric(_folder(options), options.name)


def _add_show(to: CommandParser) -> None:
    to.set_defaults(act=_show)
    to.add_argument("name", metavar="NAME", help="a fabric")


def _show(options: argparse.Namespace) -> int:
    print("\n".join(_shown(_fabric(options))))
    return 0


def _add_hosts(to: CommandParser) -> None:
    to.set_defaults(act=_hosts)
    to.add_argument("name", metavar="NAME", help="a fabric")
    to.add_argument("--nodes", metavar="N", type=whole(1), required=True)
    to.add_argument("--ranks-per-node", metavar="M", type=whole(1), required=True)


def _hosts(options: argparse.Namespace) -> int:
    from kappa.core.fabrics.simgrid_platform import host_slots

    print("\n".join(host_slots(_fabric(options), options.nodes, options.ranks_per_node)))
    return 0


def _add_platform(to: CommandParser) -> None:
    from kappa.core.fabrics.network import VARIANTS

    to.set_defaults(act=_platform)
    to.add_argument("name", metavar="NAME", help="a fabric")
    to.add_argument("--variant", choices=VARIANTS, default="sound", help="default: sound")
    to.add_argument("--nodes", metavar="N", type=whole(1), help="write only the routes of the first N nodes")
    to.add_argument("--node-latency-us", metavar="US", type=float, help="replace the fabric's node latency")
    to.add_argument("-o", dest="output", metavar="FILE", type=pathlib.Path, help="default: standard output")


def _platform(options: argparse.Namespace) -> int:
    from kappa.core.fabrics.simgrid_platform import platform_xml

    fabric = _fabric(options)
    if options.node_latency_us is not None:
        if not 0 <= options.node_latency_us < math.inf:
            raise InputError(f"expected a node latency of 0 us or more, found {options.node_latency_us}")
        fabric = fabric.with_node_latency(options.node_latency_us)
    text = platform_xml(fabric, options.variant, options.nodes)
    if options.output:
        write_atomically(options.output, text, lasting=False)
    else:
        print(text, end="")
    return 0


def _add_tables(to: CommandParser) -> None:
    to.set_defaults(act=_tables)
    to.add_argument("-o", dest="output", metavar="FILE", type=pathlib.Path, default=TABLES)


def _tables(options: argparse.Namespace) -> int:
    from kappa.app.conduct.prediction import write_tables
    from kappa.app.conduct.session import Conductor
    from kappa.app.conduct.validation import using

    results = results_folder(SIMULATED_SITE)
    with stopping() as stop, using(results, None) as lock:
        work = results / "tables" / f"{datetime.datetime.now():%Y%m%dT%H%M%S}"
        write_tables(options.output, _folder(options), work, Conductor(stop, [lock]))
    print(f"written to {options.output}")
    return 0


def _list(options: argparse.Namespace) -> int:
    """List the fabrics. Report broken files last, after all others."""
    from kappa.core.fabrics.description import fabric_names, find_fabric
    from kappa.core.fabrics.network import variants

    folder = _folder(options)
    names = fabric_names(folder)
    if not names:
        raise InputError(f"{folder}: no fabric found: expected files NAME.yaml")
    problems = []
    lines = [("fabric", "topology", "nodes x ranks", "link GB/s", "kind", "variants")]
    for name in names:
        try:
            fabric = find_fabric(folder, name)
        except InputError as err:
            problems.append(str(err))
            continue
        size = f"{fabric.nodes} x {fabric.ranks_per_node}"
        rate = figure(fabric.link.bandwidth_gb_s.value)
        lines.append((name, _title(fabric), size, rate, fabric.kind, ", ".join(variants(fabric))))
    print("\n".join(aligned(lines)))
    if problems:
        raise InputError("\n".join(problems))
    return 0


def _title(fabric: SimulatedFabric) -> str:
    sizes = getattr(fabric.topology, "sizes", None)
    return f"{fabric.topology.title} {'x'.join(map(str, sizes.value))}" if sizes else fabric.topology.title


def _shown(fabric: SimulatedFabric) -> Iterator[str]:
    from kappa.core.fabrics.description import numbers
    from kappa.core.fabrics.simgrid_platform import settings

    yield f"{fabric.name}: {fabric.descr}"
    yield f"{_title(fabric)}, {fabric.nodes} nodes x {fabric.ranks_per_node} ranks, {fabric.kind}"
    yield f"MPI: {fabric.software.mpi}; algorithms of collectives: SimGrid's for {fabric.software.collectives}"
    for variant in (fabric.variants.degraded, fabric.variants.shared):
        if variant:
            yield f"{type(variant).__name__.lower()}: {variant.descr}"
    yield ""
    rows = [
        (".".join(map(str, path)), _figure(number.value), number.origin, number.source)
        for path, number in numbers(fabric)
    ]
    yield from aligned(rows)
    by_size = fabric.software.by_size
    if by_size:
        yield ""
        yield f"software.by_size: {by_size.source}"
        for key in ("bytes", "send_us", "isend_us", "receive_us"):
            yield f"  {key:<10}  {'  '.join(f'{value:>9.6g}' for value in getattr(by_size, key))}"
    for each in fabric.calibration.held_out if fabric.calibration else ():
        yield (
            f"not used by the fit: {each.check}, {each.figures} figures: off by a factor of {each.median_factor:.3g} in"
            f" the median and {each.largest_factor:.3g} at most"
        )
    yield ""
    yield "SimGrid's settings: " + ", ".join(f"{key}={value}" for key, value in settings(fabric).items())


def _figure(value: float | list[int]) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else f"{value:g}"
