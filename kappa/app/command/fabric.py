"""``kappa fabric``: list the fabrics of simulated machines, show the source of each number, write SimGrid's files."""

import argparse
import datetime
import math
import pathlib
from collections.abc import Iterator

from kappa.app.command.arguments import parser
from kappa.core.fabrics.description import fabric_names, find_fabric, numbers
from kappa.core.fabrics.network import VARIANTS, variants
from kappa.core.fabrics.schema import SimulatedFabric
from kappa.core.fabrics.simgrid_platform import host_slots, platform_xml, settings
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import aligned, figure
from kappa.core.ground.folders import SIMULATED_SITE, results_folder, site_folder
from kappa.core.ground.processes import stopping
from kappa.core.ground.whole_files import write_atomically

TABLES = pathlib.Path("docs/simulated-tables.md")

_DESCRIPTION = """\
List and show the fabrics of simulated machines, and write SimGrid's files for them. A fabric is a file
site_configs/simulated/fabrics/NAME.yaml.

Exit status: 0 done, 2 a fabric is broken or unknown, or has fewer nodes or ranks than requested."""
_EXAMPLES = """\
  kappa fabric list
  kappa fabric show hdr-8
  kappa fabric platform hdr-8 --variant shared -o platform.xml
  kappa fabric hosts hdr-8 --nodes 2 --ranks-per-node 6 > hosts.txt
"""


def run(arguments: list[str]) -> int:
    words = parser("fabric", _DESCRIPTION, _EXAMPLES)
    words.add_argument("--folder", metavar="DIR", type=pathlib.Path, help="use the fabrics in DIR")
    actions = words.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the fabrics, one per line")
    of_tables = actions.add_parser("tables", help="simulate the papers' machines and write the tables (5 minutes)")
    of_tables.add_argument("-o", dest="output", metavar="FILE", type=pathlib.Path, default=TABLES)
    for name, summary in (
        ("show", "show every number of a fabric, and its source"),
        ("platform", "write the platform file (XML) for SimGrid"),
        ("hosts", "write the host file for smpirun: the host of each rank, one per line"),
    ):
        actions.add_parser(name, help=summary).add_argument("name", metavar="NAME", help="a fabric")
    _add_options(actions.choices["platform"], actions.choices["hosts"])
    options = words.parse_args(arguments)
    folder = options.folder or site_folder(SIMULATED_SITE) / "fabrics"
    if options.action == "list":
        return _list(folder)
    if options.action == "tables":
        return _tables(folder, options.output)
    fabric = find_fabric(folder, options.name)
    if options.action == "show":
        print("\n".join(_shown(fabric)))
    elif options.action == "hosts":
        print("\n".join(host_slots(fabric, options.nodes, options.ranks_per_node)))
    else:
        _write_platform(fabric, options)
    return 0


def _write_platform(fabric: SimulatedFabric, options: argparse.Namespace) -> None:
    if options.node_latency_us is not None:
        if not 0 <= options.node_latency_us < math.inf:
            raise InputError(f"expected a node latency of 0 us or more, found {options.node_latency_us}")
        fabric = fabric.with_node_latency(options.node_latency_us)
    text = platform_xml(fabric, options.variant, options.nodes)
    if options.output:
        write_atomically(options.output, text, lasting=False)
    else:
        print(text, end="")


def _tables(folder: pathlib.Path, output: pathlib.Path) -> int:
    from kappa.app.conduct.prediction import write_tables
    from kappa.app.conduct.session import Conductor
    from kappa.app.conduct.validation import using

    results = results_folder(SIMULATED_SITE)
    with stopping() as stop, using(results, None) as lock:
        work = results / "tables" / f"{datetime.datetime.now():%Y%m%dT%H%M%S}"
        write_tables(output, folder, work, Conductor(stop, [lock]))
    print(f"written to {output}")
    return 0


def _add_options(platform: argparse.ArgumentParser, hosts: argparse.ArgumentParser) -> None:
    platform.add_argument("--variant", choices=VARIANTS, default="sound", help="default: sound")
    platform.add_argument("--nodes", metavar="N", type=_positive, help="write only the routes of the first N nodes")
    platform.add_argument("--node-latency-us", metavar="US", type=float, help="replace the fabric's node latency")
    platform.add_argument("-o", dest="output", metavar="FILE", type=pathlib.Path, help="default: standard output")
    hosts.add_argument("--nodes", metavar="N", type=_positive, required=True)
    hosts.add_argument("--ranks-per-node", metavar="M", type=_positive, required=True)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _list(folder: pathlib.Path) -> int:
    """List the fabrics. Report broken files last, after all others."""
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
