"""Each check of the example sites' nights is replayed from recordings, runs on the embedded cluster, or says why not.

The embedded site has none of the programs that Spack installs: a run there proves a check only where its program is one
of this repository, or a tool of the nodes.
"""

import json
from collections import Counter
from dataclasses import dataclass, field

import pytest
import yaml

from kappa.core.sites.load import Site
from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.scales import LAYOUTS, PLACEMENTS
from tests.replay.composed_site import table
from tests.replay.machines import MACHINES
from tests.sites.dry_run import SITES

NIGHTLY = "nightly"
# Environments with the same programs on every site: of this repository, and of the nodes' own packages.
SAME_PROGRAMS = {"system", "app"}
LAYOUT_OF = {"scale": LAYOUTS, "placement": PLACEMENTS}

IN_FULL = "a program of this repository, which `make validate MODE=full` runs on the embedded cluster"
#: Check, and parameter=value of those of its cases that the reason is for: why no test and no run holds them.
UNPROVED = {
    ("OsuDeviceLatency", ""): "no recording of OSU with buffers on two GPUs",
    ("OsuDeviceBandwidth", ""): "no recording of OSU with buffers on two GPUs",
    ("HplNvidia", "scale=one_node"): "no recording of NVIDIA's HPL on one node",
    ("NumaAffinity", ""): "a program of this repository that needs nodes of several NUMA domains",
    ("BitSweepDose", ""): IN_FULL,
    ("EmtIoNode", ""): IN_FULL,
}


@dataclass(frozen=True)
class SiteCase:
    site: str
    check: str
    partition: str
    environ: str
    parameters: tuple[tuple[str, str], ...]
    entry: dict = field(compare=False, repr=False)
    """ReFrame's."""

    @property
    def nightly(self):
        return NIGHTLY in self.entry["tags"]


def cases_of(site):
    """Return cases of a site's shared dry run in the mode of everything."""
    for case in json.loads(site.report.read_text("utf-8"))["runs"][-1]["testcases"]:
        if case.get("check_class"):
            words = [word[1:] for word in case["display_name"].split() if word.startswith("%")]
            parameters = tuple(tuple(word.split("=", 1)) for word in words)
            yield SiteCase(site.name, case["check_class"], case["partition"], case["environ"], parameters, case)


@pytest.fixture(scope="module")
def nights(ibisco_like, cpu_infiniband):
    return [case for site in (ibisco_like, cpu_infiniband) for case in cases_of(site) if case.nightly]


@pytest.fixture(scope="module")
def validated(embedded):
    """The checks that `make validate` runs on the embedded cluster."""
    # A partition of the mode `full` alone has cases of other tags, too.
    partitions = {name for of_family in Site(SITES / "embedded").modes[NIGHTLY].values() for name in of_family}
    return {case.check for case in cases_of(embedded) if case.nightly and case.partition in partitions}


def row_of(case):
    """The row of the table with the same program and in the same form, or none; where it writes decides nothing."""
    machines, asked = {machine.name: machine for machine in MACHINES}, dict(case.parameters)
    layouts = {LAYOUT_OF[name][asked[name]].feature for name in LAYOUT_OF if name in asked}
    fits = (
        row
        for row in table()
        if (row.check, machines[row.machine].environ) == (case.check, case.environ)
        and layouts <= {*machines[row.machine].features}
        and (not row.parameter or asked[row.parameter] == row.value)
    )
    return next(fits, None)


def is_run(case, validated):
    """Its program is the same on the embedded cluster, or it needs none of an environment."""
    same = case.environ in SAME_PROGRAMS or not catalogue()[case.check].needs_environ
    return same and case.check in validated


def reasons(case):
    """The keys of ``UNPROVED`` that are for the case."""
    return {key for key in UNPROVED if key[0] == case.check and key[1] in ("", *map("=".join, case.parameters))}


def test_every_case_of_a_night_is_replayed_or_run_or_says_why_not(nights, validated):
    counts, checks, used, left = Counter(), {}, set(), set()
    for case in nights:
        how = "replayed" if row_of(case) else "run by `make validate`" if is_run(case, validated) else "with a reason"
        counts[case.site, how] += 1
        checks.setdefault(how, set()).add(case.check)
        if how == "with a reason":
            used |= reasons(case)
            left |= set() if reasons(case) else {(case.check, case.environ, case.parameters)}
    print(*(f"{site}: {number} cases {how}" for (site, how), number in sorted(counts.items())), sep="\n")
    print(*(f"{len(names)} checks {how}" for how, names in sorted(checks.items())), sep="\n")
    assert not left, "record its output and add it to tests/replay, or say in UNPROVED why not"
    assert used == set(UNPROVED), "UNPROVED has an entry that no case needs"


def test_what_is_left_to_full_runs_there(embedded):
    offered = {case.check for case in cases_of(embedded)}
    assert {check for (check, _), why in UNPROVED.items() if why == IN_FULL} <= offered


def referenced(case):
    """The metrics that the site has references of for this case."""
    folder = catalogue()[case.check].family.partition("/")[0]
    found = yaml.safe_load((SITES / case.site / f"references/{folder}.yaml").read_text("utf-8")).get(case.check, {})
    values = {"$partition": f"{case.site}:{case.partition}", "$environ": case.environ, **dict(case.parameters)}
    for key in found.get("$index", []):
        found = found.get(values.get(key, case.entry.get(key)), {})
    return {*found} - {"$index"}


def test_sites_name_metrics_that_their_programs_give(nights):
    """With a reference but no metric, the verdict is INCOMPLETE."""
    rows = [(case, row) for case in nights if (row := row_of(case))]
    unknown = {(case.site, case.check, case.parameters): referenced(case) - {*row.metrics} for case, row in rows}
    assert not {key: metrics for key, metrics in unknown.items() if metrics}
    assert any(referenced(case) for case, _ in rows)
